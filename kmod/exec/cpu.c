// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPU placement: which runners run on which CPU.
 *
 * A runner's work item moves to another CPU the next time that it is queued; a thread that waits
 * for its own operation runs it wherever the thread is.  For each CPU it is known whether its
 * runners belong to one process, and how many threads of ranks run there that submit operations
 * or were told of a completion.
 */
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>
#include <linux/spinlock.h>

#include "exec/cpu.h"
#include "exec/runner.h"

/**
 * struct cpu_users - the runners of a CPU
 * @users: struct coll_cpu_user; protected by cpus_lock
 * @shared: true if they belong to several processes; written under cpus_lock [a]
 * @nr_running_waiters: threads of ranks that run there, or are about to [a]
 */
struct cpu_users {
	struct hlist_head users;
	bool shared;
	atomic_t nr_running_waiters;
};

static DEFINE_PER_CPU(struct cpu_users, cpu_users);
static DEFINE_SPINLOCK(cpus_lock);

static void update_shared(struct cpu_users *on)
{
	const struct mm_struct *owner = NULL;
	const struct coll_cpu_user *user;
	bool shared = false;

	hlist_for_each_entry(user, &on->users, node) {
		shared |= owner && user->owner != owner;
		owner = user->owner;
	}
	WRITE_ONCE(on->shared, shared);
}

static void add_user(struct coll_cpu_user *user, int cpu)
{
	struct cpu_users *on = per_cpu_ptr(&cpu_users, cpu);

	hlist_add_head(&user->node, &on->users);
	update_shared(on);
	WRITE_ONCE(user->runner->cpu, cpu);
}

static void remove_user(struct coll_cpu_user *user)
{
	hlist_del(&user->node);
	update_shared(per_cpu_ptr(&cpu_users, user->runner->cpu));
}

/**
 * coll_cpu_enter() - count a runner among those of its CPU
 * @user: of the runner
 * @runner: new; its CPU has been online
 * @owner: memory of its process
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
 * @user: of a runner that does not run any more
 */
void coll_cpu_leave(struct coll_cpu_user *user)
{
	spin_lock(&cpus_lock);
	remove_user(user);
	spin_unlock(&cpus_lock);
}

/**
 * coll_cpu_move() - run on another CPU from the next time that the work item is queued
 * @user: of the runner
 * @cpu: one that has been online, because work items run on no other
 */
void coll_cpu_move(struct coll_cpu_user *user, int cpu)
{
	spin_lock(&cpus_lock);
	remove_user(user);
	add_user(user, cpu);
	spin_unlock(&cpus_lock);
}

/**
 * coll_cpu_exclusive() - do all runners of the same CPU belong to one process?
 * @user: of one of them
 *
 * Context: any.
 * Return: true if so; another process may join at any time.
 */
bool coll_cpu_exclusive(const struct coll_cpu_user *user)
{
	return !READ_ONCE(per_cpu_ptr(&cpu_users, READ_ONCE(user->runner->cpu))->shared);
}

/**
 * coll_cpu_waiter_running() - a thread of a rank runs, or is about to
 * @cpu: of its runners
 *
 * Context: any.
 */
void coll_cpu_waiter_running(int cpu)
{
	atomic_inc(&per_cpu_ptr(&cpu_users, cpu)->nr_running_waiters);
}

/**
 * coll_cpu_waiter_idle() - a thread of a rank sleeps, or has returned to its program
 * @cpu: as given there
 */
void coll_cpu_waiter_idle(int cpu)
{
	atomic_dec(&per_cpu_ptr(&cpu_users, cpu)->nr_running_waiters);
}

/**
 * coll_cpu_yield_to_waiters() - let threads run that may have an operation to submit
 *
 * Where ranks share a CPU, each begins an operation in turn, and all wait for the last.  The
 * scheduler prefers the worker, which sleeps a lot, and the worker would move megabytes for the
 * first ranks meanwhile.  cond_resched() does not help, because the worker's slice is not over.
 * yield() gives up part of the worker's share, to unrelated programs as well; so it is called
 * only where such threads are.
 *
 * Context: work item.
 */
void coll_cpu_yield_to_waiters(void)
{
	if (atomic_read(&raw_cpu_ptr(&cpu_users)->nr_running_waiters) && !single_task_running())
		yield();
}
