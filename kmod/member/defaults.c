// SPDX-License-Identifier: GPL-2.0-only
/* What can be changed of members while they run. */
#include <linux/cpumask.h>
#include <linux/jiffies.h>

#include "lane/lane.h"
#include "member/defaults.h"
#include "member/group.h"
#include "member/member.h"

/**
 * coll_member_set_lane_cpu() - have a lane's work item run on another CPU from now on
 * @member: in its group
 * @lane: number of the lane; the control runner goes with the first one
 * @cpu: CPU that has been online
 *
 * Context: process.
 */
void coll_member_set_lane_cpu(struct coll_member *member, u32 lane, int cpu)
{
	if (!lane)
		WRITE_ONCE(member->control.runner.cpu, cpu);
	coll_cpu_move(&member->lanes[lane].cpu_user, cpu);
}

/**
 * coll_member_set_cpus() - distribute the lanes over CPUs in turn
 * @member: in its group
 * @cpus: CPUs that have been online; at least one
 *
 * Context: process.
 */
void coll_member_set_cpus(struct coll_member *member, const struct cpumask *cpus)
{
	int cpu = cpumask_first(cpus);
	u32 i;

	for (i = 0; i < member->id.nlanes; i++) {
		coll_member_set_lane_cpu(member, i, cpu);
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
