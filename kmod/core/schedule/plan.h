/* SPDX-License-Identifier: GPL-2.0-only */
/* The plan: all that a schedule may depend on. */
#ifndef COLL_PLAN_H
#define COLL_PLAN_H

#include "core/schedule/partition.h"
#include "core/schedule/step.h"

#include <linux/collective.h>

struct coll_schedule;

/**
 * struct coll_plan - all that a schedule may depend on
 * @collective: enum collective_opcode
 * @type: enum collective_type
 * @reduction: enum collective_reduction
 * @algorithm: enum collective_algorithm
 * @reproducible: reduce in the order of ranks
 * @wide: sums of 16-bit floats are kept and passed on as binary32
 * @in_place: the input is where the result goes
 * @same_host: all ranks are on one host, on every rank
 * @vector: blocks differ
 * @varlen: the length of what arrives is told by who sends it, and @count of who
 *	receives is the room that there is
 * @size: bytes of an element
 * @rank: ours
 * @nranks: of the group
 * @root: of rooted collectives
 * @lane: that carries this part of it
 * @nlanes: of the group
 * @segment: bytes of a block that go around at a time where they go through
 *	scratch, the same on every rank; a power of two, 0: COLL_SEGMENT
 * @count: elements: of the whole vector, or of one rank's block.  Where blocks
 *	differ: of the longest that all ranks know of (ALLGATHER, REDUCE_SCATTER),
 *	else of our own (GATHER, SCATTER; of ALLTOALL: 0)
 * @send_first: where each block of COLL_AREA_SEND begins, in elements, and the
 *	last one ends: @nranks + 1 numbers; NULL: all have @count
 * @recv_first: the same of COLL_AREA_RECV
 * @schedule: what coll_schedule_find() finds for it, or NULL: it was not asked
 *
 * Where blocks differ (@vector, on every rank), @recv_first says how of ALLGATHER on
 * every rank and of GATHER at the root, @send_first of REDUCE_SCATTER on every rank
 * and of SCATTER at the root, and both of ALLTOALL.  Each block is cut into lanes by
 * its own size, which both its ends know.
 */
struct coll_plan {
	u8 collective;
	u8 type;
	u8 reduction;
	u8 algorithm;
	bool reproducible;
	bool wide;
	bool in_place;
	bool same_host;
	bool vector;
	bool varlen;
	u32 size;
	u32 rank;
	u32 nranks;
	u32 root;
	u32 lane;
	u32 nlanes;
	u32 segment;
	u64 count;
	const u64 *send_first;
	const u64 *recv_first;
	const struct coll_schedule *schedule;
};

/* Of a scratch window, which is four of these: see struct coll_schedule. */
#define COLL_SEGMENT	(128 * 1024U)

/**
 * coll_plan_call() - collective, type and so on in sixteen bits
 * @plan: the operation
 *
 * Every data frame carries it: two calls that differ in nothing but these would
 * otherwise take each other's bytes.  What is not reduced is never wide: there the
 * same bit says that lengths are told, or of an allgather that they differ.  Of a message
 * only its receiver knows that.
 *
 * Return: a number that no other call has, but that a message has the same at both
 * ends.
 */
static inline u16 coll_plan_call(const struct coll_plan *plan)
{
	u8 collective = plan->collective;
	bool told = (plan->varlen && collective != COLLECTIVE_RECV) ||
		    (plan->vector && collective == COLLECTIVE_ALLGATHER);

	if (collective == COLLECTIVE_RECV)
		collective = COLLECTIVE_SEND;
	return collective | plan->type << 4 | plan->reduction << 8 |
	       plan->algorithm << 12 | (plan->wide || told) << 14 |
	       plan->reproducible << 15;
}

/**
 * coll_plan_is_p2p() - is it a message, of which only two ranks know?
 * @plan: the operation
 */
static inline bool coll_plan_is_p2p(const struct coll_plan *plan)
{
	return plan->collective == COLLECTIVE_SEND || plan->collective == COLLECTIVE_RECV;
}

/**
 * coll_plan_is_root() - is this rank the root?
 * @plan: the operation, of which one rank is
 */
static inline bool coll_plan_is_root(const struct coll_plan *plan)
{
	return plan->rank == plan->root;
}

/* Bytes of a segment: see struct coll_plan. */
static inline u64 coll_plan_segment_size(const struct coll_plan *plan)
{
	return plan->segment ? plan->segment : COLL_SEGMENT;
}

struct coll_range coll_plan_block(const struct coll_plan *plan, const u64 *first, u32 block);
struct coll_range coll_plan_single(const struct coll_plan *plan, const u64 *first, u32 block);
struct coll_range coll_plan_vector(const struct coll_plan *plan);
struct coll_range coll_plan_chunk(const struct coll_plan *plan, u32 index);
u32 coll_plan_lanes(const struct coll_plan *plan);
u64 coll_plan_max_block(const struct coll_plan *plan);
bool coll_plan_reduces(const struct coll_plan *plan);
bool coll_plan_wide(const struct coll_plan *plan);
u64 coll_plan_first(const struct coll_plan *plan, const u64 *first, u32 block);
u64 coll_plan_total(const struct coll_plan *plan);
u64 coll_plan_result(const struct coll_plan *plan);
struct coll_span coll_plan_span(const struct coll_plan *plan, struct coll_range range,
				u8 area);

u64 coll_plan_before(const struct coll_plan *plan, u32 block);
u32 coll_plan_scratch_elem_size(const struct coll_plan *plan);
u64 coll_plan_segments(const struct coll_plan *plan, u64 count);
struct coll_range coll_plan_segment(const struct coll_plan *plan, struct coll_range range,
				    u64 index);
struct coll_span coll_plan_scratch_slot(const struct coll_plan *plan, u64 count, u64 index);

bool coll_plan_moves(const struct coll_plan *plan);
void coll_plan_local_copy(const struct coll_plan *plan, struct coll_range from,
			  struct coll_range to, struct coll_local_copy *local);
void coll_local_alone(const struct coll_plan *plan, struct coll_local_copy *local);
void coll_local_first(const struct coll_plan *plan, struct coll_local_copy *local);
void coll_local_root(const struct coll_plan *plan, struct coll_local_copy *local);

#endif /* COLL_PLAN_H */
