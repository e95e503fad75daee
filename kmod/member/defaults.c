// SPDX-License-Identifier: GPL-2.0-only
/* What can be changed of members while they run. */
#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/sched.h>

#include "lane/lane.h"
#include "member/defaults.h"
#include "member/group.h"
#include "member/member.h"

/**
 * coll_member_may_use_cpus() - may the calling thread have lanes run on CPUs?
 * @member: in its group
 * @cpus: the CPUs
 *
 * CPUs belong to no network namespace, so an administrator of one has no right to them.  A caller
 * without another right gives a lane CPUs that both itself and the process that joined may use.
 *
 * Return: true if it may, also without CAP_SYS_NICE in the initial user namespace.
 */
bool coll_member_may_use_cpus(const struct coll_member *member, const struct cpumask *cpus)
{
	/* Not cpus_ptr: see home.c. */
	return cpumask_subset(cpus, &current->cpus_mask) &&
	       coll_cpu_owner_may_use(&member->owner.cpus, cpus);
}

/**
 * coll_member_set_lane_cpu() - have a lane's work item run on another CPU from now on
 * @member: in its group
 * @lane: number of the lane; the control runner goes with the first one
 * @cpu: CPU that is online, and that the caller may choose: see coll_member_may_use_cpus()
 * @any: true if the caller has CAP_SYS_NICE in the initial user namespace
 *
 * Context: process.
 */
void coll_member_set_lane_cpu(struct coll_member *member, u32 lane, int cpu, bool any)
{
	if (!lane)
		coll_cpu_home_set(&member->control.home, cpu, any);
	coll_cpu_home_set(&member->lanes[lane].home, cpu, any);
	coll_cpu_move(&member->lanes[lane].cpu_user, coll_cpu_pick(&member->lanes[lane].runner));
}

/**
 * coll_member_set_cpus() - distribute the lanes over CPUs in turn
 * @member: in its group
 * @cpus: as @cpu of coll_member_set_lane_cpu(); at least one
 * @any: likewise
 *
 * Context: process.
 */
void coll_member_set_cpus(struct coll_member *member, const struct cpumask *cpus, bool any)
{
	int cpu = cpumask_first(cpus);
	u32 i;

	for (i = 0; i < member->id.nlanes; i++) {
		coll_member_set_lane_cpu(member, i, cpu, any);
		cpu = cpumask_next(cpu, cpus);
		if (cpu >= nr_cpu_ids)
			cpu = cpumask_first(cpus);
	}
}

/**
 * coll_member_set_defaults() - let operations that are submitted from now on have other defaults
 * @member: that joins, or in its group
 * @defaults: those that are set apply
 */
void coll_member_set_defaults(struct coll_member *member, const struct coll_defaults *defaults)
{
	if (defaults->has_timeout)
		WRITE_ONCE(member->id.timeout, msecs_to_jiffies(defaults->timeout_ms));
	if (defaults->slow_percent != COLL_DEFAULT_UNSET)
		WRITE_ONCE(member->id.slow_percent, defaults->slow_percent);
}

/**
 * coll_group_set_defaults() - set defaults of all members on this host, also of those that come
 * @group: the group; locked
 * @defaults: those that are set apply; others stay
 */
void coll_group_set_defaults(struct coll_group *group, const struct coll_defaults *defaults)
{
	struct coll_member *member;

	if (defaults->has_timeout) {
		group->defaults.has_timeout = true;
		group->defaults.timeout_ms = defaults->timeout_ms;
	}
	if (defaults->slow_percent != COLL_DEFAULT_UNSET)
		group->defaults.slow_percent = defaults->slow_percent;
	list_for_each_entry(member, &group->members, group_node)
		coll_member_set_defaults(member, defaults);
}
