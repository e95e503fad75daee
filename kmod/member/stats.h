/* SPDX-License-Identifier: GPL-2.0-only */
/* The counters of a member, for sysfs and netlink: one function reads each. */
#ifndef COLL_STATS_H
#define COLL_STATS_H

#include <linux/types.h>

struct coll_lane;
struct coll_link;
struct coll_member;
struct coll_transport;

/* Counters; Documentation/ABI/sysfs-class-collective describes each. */
enum coll_stat {
	/* of lanes */
	COLL_STAT_BYTES_SENT,
	COLL_STAT_BYTES_RECEIVED,
	COLL_STAT_BYTES_REDUCED,
	COLL_STAT_BYTES_PLACED,
	COLL_STAT_BYTES_READ,
	COLL_STAT_BYTES_READ_OWN,
	COLL_STAT_BYTES_STORED,
	COLL_STAT_ZERO_COPY_BYTES,
	COLL_STAT_NONTEMPORAL_BYTES,
	COLL_STAT_LANES,
	/* of members only */
	COLL_STAT_OPS_SUBMITTED = COLL_STAT_LANES,
	COLL_STAT_OPS_COMPLETED,
	COLL_STAT_OPS_FAILED,
	COLL_STAT_PINNED_BYTES,
	COLL_STAT_MEMORY_BYTES,
	COLL_STAT_REFUSED_CONNECTIONS,
};

u64 coll_stat_lane(const struct coll_lane *lane, enum coll_stat stat);
u64 coll_stat_member(struct coll_member *member, enum coll_stat stat);
u64 coll_stat_errors(const struct coll_member *member, u32 kind);
const struct coll_transport *coll_stat_transport(const struct coll_link *link);

#endif /* COLL_STATS_H */
