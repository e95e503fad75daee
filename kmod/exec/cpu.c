// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where lanes run: an administrator may say so, by sysfs.  A lane's work item moves
 * there the next time that it is queued; the threads that wait for their own operation
 * run it where they are, as ever.
 *
 * Of each CPU is known whether the lanes that run there are of one process, and how many
 * threads of ranks are in the middle of submitting there, or have been told that what they
 * wait for is complete and have not come to it.
 */
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <net/net_namespace.h>

#include "coll.h"

/**
 * struct cpu_lanes - the lanes that run on a CPU
 * @lanes: protected by cpus_lock
 * @shared: they are of several processes; whoever only looks does without the lock
 * @awake: threads that run there, or are about to
 */
struct cpu_lanes {
	struct hlist_head lanes;
	bool shared;
	atomic_t awake;
};

static DEFINE_PER_CPU(struct cpu_lanes, cpu_lanes);
static DEFINE_SPINLOCK(cpus_lock);

static void cpus_look(struct cpu_lanes *there)
{
	const struct mm_struct *mm = NULL;
	const struct coll_lane *lane;
	bool shared = false;

	hlist_for_each_entry(lane, &there->lanes, cpu_node) {
		shared |= mm && lane->member->mm != mm;
		mm = lane->member->mm;
	}
	WRITE_ONCE(there->shared, shared);
}

static void cpus_enter(struct coll_lane *lane, int cpu)
{
	struct cpu_lanes *there = per_cpu_ptr(&cpu_lanes, cpu);

	hlist_add_head(&lane->cpu_node, &there->lanes);
	cpus_look(there);
	WRITE_ONCE(lane->runner.cpu, cpu);
}

static void cpus_leave(struct coll_lane *lane)
{
	hlist_del(&lane->cpu_node);
	cpus_look(per_cpu_ptr(&cpu_lanes, lane->runner.cpu));
}

/**
 * coll_cpu_enter() - a lane runs on a CPU from now on
 * @lane: a new one
 * @cpu: which has been online
 */
void coll_cpu_enter(struct coll_lane *lane, int cpu)
{
	spin_lock(&cpus_lock);
	cpus_enter(lane, cpu);
	spin_unlock(&cpus_lock);
}

/**
 * coll_cpu_leave() - a lane does not run any more
 * @lane: the lane
 */
void coll_cpu_leave(struct coll_lane *lane)
{
	spin_lock(&cpus_lock);
	cpus_leave(lane);
	spin_unlock(&cpus_lock);
}

/**
 * coll_cpu_exclusive() - are the lanes of a lane's CPU all of one process?
 * @lane: the lane
 *
 * Context: any.
 * Return: true if so, and until another one comes.
 */
bool coll_cpu_exclusive(const struct coll_lane *lane)
{
	return !READ_ONCE(per_cpu_ptr(&cpu_lanes, READ_ONCE(lane->runner.cpu))->shared);
}

/**
 * coll_cpu_waiter_running() - a thread whose work items are on a CPU runs, or is about to
 * @cpu: that one
 *
 * Context: any.
 */
void coll_cpu_waiter_running(int cpu)
{
	atomic_inc(&per_cpu_ptr(&cpu_lanes, cpu)->awake);
}

/**
 * coll_cpu_waiter_idle() - it sleeps, or is back in its program
 * @cpu: as it rose
 */
void coll_cpu_waiter_idle(int cpu)
{
	atomic_dec(&per_cpu_ptr(&cpu_lanes, cpu)->awake);
}

/**
 * coll_cpu_yield_to_waiters() - let threads go first that have something to submit
 *
 * Where ranks share a CPU one after the other begins an operation, and all wait for the
 * last.  The scheduler prefers the worker, which sleeps a lot, and it would move megabytes
 * for the first of them meanwhile.  cond_resched() asks for nothing: the worker's
 * slice is not over.  To yield gives a part of its share away, to programs that
 * compute as well, and so it is done where such threads are only.
 *
 * Context: work item.
 */
void coll_cpu_yield_to_waiters(void)
{
	if (atomic_read(&raw_cpu_ptr(&cpu_lanes)->awake) && !single_task_running())
		yield();
}

static ssize_t cpus_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct coll_member *member = container_of(kobj, struct coll_member, kobj);
	ssize_t len = 0;
	u32 i;

	for (i = 0; i < member->nlanes; i++)
		len += sysfs_emit_at(buf, len, "%s%d", i ? "," : "",
				     READ_ONCE(member->lanes[i].runner.cpu));
	return len + sysfs_emit_at(buf, len, "\n");
}

/* Deal the lanes out over them, in turn. */
static void cpus_set(struct coll_member *member, const struct cpumask *cpus)
{
	int cpu = cpumask_first(cpus);
	u32 i;

	spin_lock(&cpus_lock);
	WRITE_ONCE(member->control_runner.cpu, cpu);
	for (i = 0; i < member->nlanes; i++) {
		cpus_leave(&member->lanes[i]);
		cpus_enter(&member->lanes[i], cpu);
		cpu = cpumask_next(cpu, cpus);
		if (cpu >= nr_cpu_ids)
			cpu = cpumask_first(cpus);
	}
	spin_unlock(&cpus_lock);
}

static ssize_t cpus_store(struct kobject *kobj, struct kobj_attribute *attr, const char *buf,
			  size_t count)
{
	struct coll_member *member = container_of(kobj, struct coll_member, kobj);
	cpumask_var_t cpus;
	int err = 0;

	if (!ns_capable(member->group->net->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	if (!alloc_cpumask_var(&cpus, GFP_KERNEL))
		return -ENOMEM;
	/* Work items only run on CPUs that have been online. */
	if (cpulist_parse(buf, cpus) || cpumask_empty(cpus) ||
	    !cpumask_subset(cpus, cpu_online_mask))
		err = -EINVAL;
	else
		cpus_set(member, cpus);
	free_cpumask_var(cpus);
	return err ? err : count;
}

struct kobj_attribute coll_cpus_attr = __ATTR_RW(cpus);
