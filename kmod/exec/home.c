// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where the runners of a process may run: on the CPUs that the process may use, as they are when a
 * work item is queued.  No interface of the kernel tells that a process is bound to other CPUs,
 * that its cpuset changes, or that CPUs go offline, so they are looked at each time.
 *
 * The CPUs of a process are those of the thread that joined, which a program binds to the CPUs of
 * its rank.  Once that thread has ended they are those of any other thread that lives.
 */
#include <linux/cpumask.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>

#include "exec/cpu.h"
#include "exec/runner.h"

static bool task_lives(const struct task_struct *task)
{
	return task && !(READ_ONCE(task->flags) & PF_EXITING);
}

/*
 * Under RCU.  Not cpus_ptr, which has one CPU while the thread must not migrate.
 *
 * Return: NULL if no thread lives.
 */
static const struct cpumask *process_cpus(const struct coll_cpu_owner *owner)
{
	struct task_struct *task = pid_task(owner->thread, PIDTYPE_PID), *leader;

	if (task_lives(task))
		return &task->cpus_mask;
	leader = pid_task(owner->process, PIDTYPE_TGID);
	if (!leader)
		return NULL;
	for_each_thread(leader, task)
		if (task_lives(task))
			return &task->cpus_mask;
	return NULL;
}

/**
 * coll_cpu_owner_get() - refer to the calling thread and its process
 * @owner: out
 */
void coll_cpu_owner_get(struct coll_cpu_owner *owner)
{
	owner->thread = get_pid(task_pid(current));
	owner->process = get_pid(task_tgid(current));
}

/**
 * coll_cpu_owner_put() - undo coll_cpu_owner_get()
 * @owner: no runner has a home there any more
 */
void coll_cpu_owner_put(struct coll_cpu_owner *owner)
{
	put_pid(owner->thread);
	put_pid(owner->process);
	owner->thread = NULL;
	owner->process = NULL;
}

/**
 * coll_cpu_owner_may_use() - may a process use CPUs?
 * @owner: the process
 * @cpus: the CPUs
 *
 * Return: true if it may use all of them.
 */
bool coll_cpu_owner_may_use(const struct coll_cpu_owner *owner, const struct cpumask *cpus)
{
	const struct cpumask *allowed;
	bool may;

	rcu_read_lock();
	allowed = process_cpus(owner);
	may = allowed && cpumask_subset(cpus, allowed);
	rcu_read_unlock();
	return may;
}

/**
 * coll_cpu_home_init() - let a runner run on the CPUs of a process
 * @home: of the runner
 * @owner: the process; outlasts the runner
 * @place: of the runner
 * @places: number of places that are dealt out over the CPUs
 */
void coll_cpu_home_init(struct coll_cpu_home *home, const struct coll_cpu_owner *owner,
			u32 place, u32 places)
{
	home->owner = owner;
	home->place = place;
	home->places = places;
	home->wish = -1;
	home->beyond = -1;
}

/**
 * coll_cpu_home_set() - choose a CPU for a runner
 * @home: of the runner
 * @cpu: the CPU; the runner leaves it when its process has to
 * @any: true if an administrator chooses it: it stays there if the process may not use it now
 */
void coll_cpu_home_set(struct coll_cpu_home *home, int cpu, bool any)
{
	bool beyond = any && !coll_cpu_owner_may_use(home->owner, cpumask_of(cpu));

	WRITE_ONCE(home->beyond, beyond ? cpu : -1);
	/* After @beyond; pairs with the load of @wish in choosing a CPU. */
	smp_store_release(&home->wish, cpu);
}

static bool may_use_wish(const struct coll_cpu_home *home, int wish, const struct cpumask *allowed)
{
	return wish >= 0 && cpu_online(wish) &&
	       (cpumask_test_cpu(wish, allowed) || wish == READ_ONCE(home->beyond));
}

/* The places are dealt out over the CPUs in order, neighbours together. */
static int deal(const struct coll_cpu_home *home, const struct cpumask *allowed)
{
	u32 weight = cpumask_weight_and(allowed, cpu_online_mask);
	u32 nth = (u64)home->place * weight / home->places;

	return cpumask_nth_and(nth, allowed, cpu_online_mask);
}

/**
 * coll_cpu_pick() - the CPU on which a runner's work item is to run now
 * @runner: the runner
 *
 * Context: any.
 * Return: a CPU that has been online; a workqueue has no workers on others.
 */
int coll_cpu_pick(const struct coll_runner *runner)
{
	int cpu = READ_ONCE(runner->cpu), wish;
	const struct cpumask *allowed;

	if (!runner->home)
		return cpu;
	rcu_read_lock();
	allowed = process_cpus(runner->home->owner);
	if (allowed) {
		/* Before @beyond; pairs with the store of @wish. */
		wish = smp_load_acquire(&runner->home->wish);
		cpu = may_use_wish(runner->home, wish, allowed) ? wish :
								  deal(runner->home, allowed);
	}
	rcu_read_unlock();
	/* A CPU may have gone offline between two looks. */
	return (u32)cpu < nr_cpu_ids ? cpu : raw_smp_processor_id();
}

/**
 * coll_cpu_note() - a work item runs: count its runner among those of the CPU
 * @runner: the runner
 * @cpu: CPU of the calling worker
 *
 * Context: process.
 */
void coll_cpu_note(struct coll_runner *runner, int cpu)
{
	if (READ_ONCE(runner->cpu) == cpu)
		return;
	if (runner->user)
		coll_cpu_move(runner->user, cpu);
	else
		WRITE_ONCE(runner->cpu, cpu);
}
