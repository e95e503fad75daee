/* SPDX-License-Identifier: GPL-2.0-only */
/* What can be changed of members while they run: CPUs, deadlines. */
#ifndef COLL_DEFAULTS_H
#define COLL_DEFAULTS_H

#include <linux/types.h>

struct coll_group;
struct coll_member;
struct cpumask;

/* Value of a field of struct coll_defaults that decides nothing. */
#define COLL_DEFAULT_UNSET	0xffffffffU

/**
 * struct coll_defaults - what is set for all members of a group on this host
 * @has_timeout: true if @timeout_ms is set
 * @timeout_ms: deadline of operations that name none; ~0: none
 * @slow_percent: an operation is slow after this part of the time to its deadline; 0: never;
 *	COLL_DEFAULT_UNSET: not set
 */
struct coll_defaults {
	bool has_timeout;
	u32 timeout_ms;
	u32 slow_percent;
};

void coll_member_set_cpus(struct coll_member *member, const struct cpumask *cpus, bool any);
bool coll_member_may_use_cpus(const struct coll_member *member, const struct cpumask *cpus);
void coll_member_set_lane_cpu(struct coll_member *member, u32 lane, int cpu, bool any);
void coll_member_set_defaults(struct coll_member *member, const struct coll_defaults *defaults);
void coll_group_set_defaults(struct coll_group *group, const struct coll_defaults *defaults);

#endif /* COLL_DEFAULTS_H */
