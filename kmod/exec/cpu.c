// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPU placement: which runners run on which CPU.
 *
 * A runner moves to another CPU the next time that its work item is queued (home.c).  A thread that
 * waits for its own operation runs the runner on the CPU of the thread.
 *
 * A lane works in small portions if lanes of another process run on its CPU
 * (coll_cpu_exclusive()).
 */
#include <linux/hashtable.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "exec/cpu.h"
#include "exec/runner.h"

/**
 * struct coll_cpu_process - how many runners a process has on each CPU
 * @node: in @processes, by @mm
 * @mm: memory of the process; compared only
 * @users: members of the process; protected by cpus_lock
 * @runners: by CPU; protected by cpus_lock
 */
struct coll_cpu_process {
	struct hlist_node node;
	const struct mm_struct *mm;
	u32 users;
	u32 runners[];
};

/* Processes that have runners on the CPU; written under cpus_lock, read by any thread. */
static DEFINE_PER_CPU(u32, cpu_processes);
static DEFINE_HASHTABLE(processes, 8);
static DEFINE_SPINLOCK(cpus_lock);

static struct coll_cpu_process *process_find(const struct mm_struct *mm)
{
	struct coll_cpu_process *process;

	lockdep_assert_held(&cpus_lock);
	hash_for_each_possible(processes, process, node, (uintptr_t)mm)
		if (process->mm == mm)
			return process;
	return NULL;
}

/**
 * coll_cpu_process_get() - the counts of a process, for one more member
 * @mm: memory of the process
 *
 * Context: process; may sleep.
 * Return: the counts, or NULL without memory.
 */
struct coll_cpu_process *coll_cpu_process_get(const struct mm_struct *mm)
{
	struct coll_cpu_process *process, *fresh;

	fresh = kvzalloc(struct_size(fresh, runners, nr_cpu_ids), GFP_KERNEL_ACCOUNT);
	if (!fresh)
		return NULL;
	spin_lock(&cpus_lock);
	process = process_find(mm);
	if (!process) {
		process = fresh;
		process->mm = mm;
		hash_add(processes, &process->node, (uintptr_t)mm);
		fresh = NULL;
	}
	process->users++;
	spin_unlock(&cpus_lock);
	kvfree(fresh);
	return process;
}

/**
 * coll_cpu_process_put() - undo coll_cpu_process_get()
 * @process: the counts; the runners of the member have left
 *
 * Context: process; may sleep.
 */
void coll_cpu_process_put(struct coll_cpu_process *process)
{
	bool last;

	spin_lock(&cpus_lock);
	last = !--process->users;
	if (last)
		hash_del(&process->node);
	spin_unlock(&cpus_lock);
	if (last)
		kvfree(process);
}

static void count_process(int cpu, int change)
{
	u32 *count = per_cpu_ptr(&cpu_processes, cpu);

	WRITE_ONCE(*count, *count + change);
}

static void add_user(struct coll_cpu_user *user, int cpu)
{
	if (!user->process->runners[cpu]++)
		count_process(cpu, 1);
	WRITE_ONCE(user->runner->cpu, cpu);
}

static void remove_user(struct coll_cpu_user *user)
{
	int cpu = user->runner->cpu;

	if (!--user->process->runners[cpu])
		count_process(cpu, -1);
}

/**
 * coll_cpu_enter() - count a runner among those of its CPU, now and when it has moved
 * @user: entry for the runner
 * @runner: the runner; its CPU has been online
 * @process: counts of its process
 *
 * Context: process.
 */
void coll_cpu_enter(struct coll_cpu_user *user, struct coll_runner *runner,
		    struct coll_cpu_process *process)
{
	user->runner = runner;
	user->process = process;
	runner->user = user;
	spin_lock(&cpus_lock);
	add_user(user, coll_cpu_pick(runner));
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
 * coll_cpu_move() - count a runner among those of another CPU
 * @user: entry of the runner
 * @cpu: CPU that has been online
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
 * Return: 1 or more, or 0 for a moment while the runner moves; a runner of another process may be
 * added at any time.
 */
u32 coll_cpu_processes(const struct coll_cpu_user *user)
{
	return READ_ONCE(*per_cpu_ptr(&cpu_processes, READ_ONCE(user->runner->cpu)));
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
