// SPDX-License-Identifier: GPL-2.0-only
/*
 * The counters of a member.  Runners and operations count without locks, so a reader may see
 * counters of different moments.
 */
#include <linux/atomic.h>
#include <linux/stddef.h>

#include "lane/lane.h"
#include "member/member.h"
#include "member/stats.h"
#include "net/link.h"

static const size_t lane_offsets[COLL_STAT_LANES] = {
	[COLL_STAT_BYTES_SENT]		= offsetof(struct coll_lane, engine.stats.sent),
	[COLL_STAT_BYTES_RECEIVED]	= offsetof(struct coll_lane, engine.stats.received),
	[COLL_STAT_BYTES_REDUCED]	= offsetof(struct coll_lane, engine.stats.reduced),
	[COLL_STAT_BYTES_PLACED]	= offsetof(struct coll_lane, engine.stats.placed),
	[COLL_STAT_BYTES_READ]		= offsetof(struct coll_lane, engine.stats.read.peers),
	[COLL_STAT_BYTES_READ_OWN]	= offsetof(struct coll_lane, engine.stats.read.own),
	[COLL_STAT_BYTES_STORED]	= offsetof(struct coll_lane, engine.stats.read.stored),
	[COLL_STAT_ZERO_COPY_BYTES]	= offsetof(struct coll_lane, zerocopy_bytes),
	[COLL_STAT_NONTEMPORAL_BYTES]	= offsetof(struct coll_lane, nontemporal_bytes),
};

/**
 * coll_stat_lane() - a counter of a lane
 * @lane: of a member that is in its group
 * @stat: below COLL_STAT_LANES
 */
u64 coll_stat_lane(const struct coll_lane *lane, enum coll_stat stat)
{
	return READ_ONCE(*(u64 *)((char *)lane + lane_offsets[stat]));
}

/* Operations that the process has executed itself. */
static u64 stat_executed(struct coll_member *member)
{
	u64 calls;

	spin_lock(&member->state.lock);
	calls = coll_process_calls(&member->requests);
	spin_unlock(&member->state.lock);
	return calls;
}

/* What threads of SUBMIT have moved, without a lane. */
static u64 stat_immediate(const struct coll_member *member, enum coll_stat stat)
{
	const struct coll_fuse_stats *stats = &member->requests.process.stats;

	switch (stat) {
	case COLL_STAT_BYTES_READ:
		return READ_ONCE(stats->peers);
	case COLL_STAT_BYTES_READ_OWN:
		return READ_ONCE(stats->own);
	case COLL_STAT_BYTES_STORED:
		return READ_ONCE(stats->stored);
	default:
		return 0;
	}
}

static u64 failed_sum(const struct coll_member *member)
{
	u64 sum = 0;
	u32 kind;

	for (kind = 0; kind < COLLECTIVE_REASON_COUNT; kind++)
		sum += coll_stat_errors(member, kind);
	return sum;
}

/**
 * coll_stat_member() - a counter of a member
 * @member: in its group
 * @stat: the counter; one of lanes is the sum of all lanes, and of what went without one
 */
u64 coll_stat_member(struct coll_member *member, enum coll_stat stat)
{
	u64 sum = 0;
	u32 i;

	switch (stat) {
	case COLL_STAT_OPS_SUBMITTED:
		return stat_executed(member) +
		       atomic64_read(&member->requests.counters.submitted);
	case COLL_STAT_OPS_COMPLETED:
		return stat_executed(member) +
		       atomic64_read(&member->requests.counters.completed);
	case COLL_STAT_OPS_FAILED:
		return failed_sum(member);
	case COLL_STAT_PINNED_BYTES:
		return atomic64_read(&member->pinned);
	case COLL_STAT_MEMORY_BYTES:
		return atomic64_read(&member->charges.bytes);
	case COLL_STAT_REFUSED_CONNECTIONS:
		return atomic64_read(&member->net.rejected);
	default:
		for (i = 0; i < member->id.nlanes; i++)
			sum += coll_stat_lane(&member->lanes[i], stat);
		return sum + stat_immediate(member, stat);
	}
}

/**
 * coll_stat_errors() - number of operations that have failed for a reason
 * @member: in its group
 * @kind: enum collective_reason_kind
 */
u64 coll_stat_errors(const struct coll_member *member, u32 kind)
{
	return atomic64_read(&member->requests.counters.failed[kind]);
}

/**
 * coll_stat_transport() - transport of a link that is open, or was
 * @link: of a member that is in its group; or NULL
 *
 * Return: the transport, or NULL.
 */
const struct coll_transport *coll_stat_transport(const struct coll_link *link)
{
	return link && READ_ONCE(link->nr_open) ? READ_ONCE(link->transport) : NULL;
}
