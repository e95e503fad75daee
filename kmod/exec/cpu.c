// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPU placement: which runners run on which CPU.
 *
 * A runner moves to another CPU the next time that its work item is queued.  A thread that waits
 * for its own operation runs the runner on the CPU of the thread.
 *
 * A lane works in small portions if lanes of another process run on its CPU
 * (coll_cpu_exclusive()).
 */
#include <linux/percpu.h>
#include <linux/spinlock.h>

#include "exec/cpu.h"
#include "exec/runner.h"

/**
 * struct cpu_users - the runners of a CPU
 * @users: struct coll_cpu_user; protected by cpus_lock
 * @processes: number of processes that they belong to, see count_processes(); written under
 *	cpus_lock [a]
 */
struct cpu_users {
	struct hlist_head users;
	u32 processes;
};

static DEFINE_PER_CPU(struct cpu_users, cpu_users);
static DEFINE_SPINLOCK(cpus_lock);

/* 3 stands for three or more. */
static u32 count_processes(const struct cpu_users *on)
{
	const struct mm_struct *first = NULL, *second = NULL;
	const struct coll_cpu_user *user;

	hlist_for_each_entry(user, &on->users, node) {
		if (!first || user->owner == first)
			first = user->owner;
		else if (!second || user->owner == second)
			second = user->owner;
		else
			return 3;
	}
	return !!first + !!second;
}

static void update_processes(struct cpu_users *on)
{
	WRITE_ONCE(on->processes, count_processes(on));
}

static void add_user(struct coll_cpu_user *user, int cpu)
{
	struct cpu_users *on = per_cpu_ptr(&cpu_users, cpu);

	hlist_add_head(&user->node, &on->users);
	update_processes(on);
	WRITE_ONCE(user->runner->cpu, cpu);
}

static void remove_user(struct coll_cpu_user *user)
{
	hlist_del(&user->node);
	update_processes(per_cpu_ptr(&cpu_users, user->runner->cpu));
}

/**
 * coll_cpu_enter() - count a runner among those of its CPU
 * @user: entry for the runner
 * @runner: the runner; its CPU has been online
 * @owner: memory of its process
 *
 * Context: process.
 */
void coll_cpu_enter(struct coll_cpu_user *user, struct coll_runner *runner,
		    const struct mm_struct *owner)
{
	user->runner = runner;
	user->owner = owner;
	spin_lock(&cpus_lock);
	add_user(user, runner->cpu);
	spin_unlock(&cpus_lock);
}

/**
 * coll_cpu_leave() - undo coll_cpu_enter()
 * @user: entry of a runner that is stopped
 *
 * Context: process.
 */
void coll_cpu_leave(struct coll_cpu_user *user)
{
	spin_lock(&cpus_lock);
	remove_user(user);
	spin_unlock(&cpus_lock);
}

/**
 * coll_cpu_move() - have a runner's work item queued on another CPU from now on
 * @user: entry of the runner
 * @cpu: CPU that has been online; a workqueue has no workers on others
 *
 * Context: process.
 */
void coll_cpu_move(struct coll_cpu_user *user, int cpu)
{
	spin_lock(&cpus_lock);
	remove_user(user);
	add_user(user, cpu);
	spin_unlock(&cpus_lock);
}

/**
 * coll_cpu_processes() - number of processes that the runners of a CPU belong to
 * @user: entry of one of the runners
 *
 * Context: any.
 * Return: 1, 2, or 3 for more; a runner of another process may be added at any time.
 */
u32 coll_cpu_processes(const struct coll_cpu_user *user)
{
	return READ_ONCE(per_cpu_ptr(&cpu_users, READ_ONCE(user->runner->cpu))->processes);
}

/**
 * coll_cpu_exclusive() - do all runners of the same CPU belong to one process?
 * @user: entry of one of them
 *
 * Context: any.
 * Return: true if they do; a runner of another process may be added at any time.
 */
bool coll_cpu_exclusive(const struct coll_cpu_user *user)
{
	return coll_cpu_processes(user) <= 1;
}
