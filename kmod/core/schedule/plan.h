/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/* The plan of an operation: everything that its schedule depends on. */
#ifndef COLL_PLAN_H
#define COLL_PLAN_H

#include "core/schedule/partition.h"
#include "core/schedule/step.h"

#include <linux/collective.h>

struct coll_schedule;

/**
 * struct coll_plan - everything that a schedule may depend on
 * @collective: enum collective_opcode
 * @type: enum collective_type
 * @reduction: enum collective_reduction
 * @algorithm: enum collective_algorithm
 * @reproducible: true if the reduction follows the order of ranks
 * @wide: true if sums of 16-bit floats are kept and passed on as binary32
 * @in_place: true if the input is where the result goes
 * @reads: true if each rank can read what every other rank exposes it; the same on every rank
 * @board: true if the ranks have a board and the operation no key; likewise
 * @nosync: true if this rank may complete before it has heard of ranks whose input it does not need
 * @vector: true if the blocks differ in length (a v form); the same on every rank
 * @varlen: true if the sender tells the length of the payload; a receiver's @count is its
 *	capacity
 * @size: bytes of an element
 * @rank: our rank
 * @nranks: number of ranks of the group
 * @root: root of a rooted collective; the other end of a message
 * @lane: lane that carries this part of the operation
 * @nlanes: number of lanes of the group
 * @segment: bytes of a block that go around at a time if they go through scratch; the same
 *	on every rank; a power of two, 0: COLL_SEGMENT
 * @count: elements of the whole vector, or of the block of one rank.  If blocks differ: of
 *	the longest block that all ranks know (ALLGATHER, REDUCE_SCATTER), else of our own block
 *	(GATHER, SCATTER); ALLTOALL: 0
 * @send_first: first element of each block of COLL_AREA_SEND, and the end of the last one:
 *	@nranks + 1 numbers; NULL: all blocks have @count elements
 * @recv_first: likewise for COLL_AREA_RECV
 * @schedule: result of coll_schedule_find() for this plan, or NULL if it was not called
 *
 * If blocks differ (@vector), @recv_first is set for ALLGATHER on every rank and for GATHER at
 * the root, @send_first for REDUCE_SCATTER on every rank and for SCATTER at the root, and both
 * for ALLTOALL.  Each block is cut into lanes by its own size, which both of its ends know.
 */
struct coll_plan {
	u8 collective;
	u8 type;
	u8 reduction;
	u8 algorithm;
	bool reproducible;
	bool wide;
	bool in_place;
	bool reads;
	bool board;
	bool nosync;
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

/*
 * Default size of a segment, in bytes.  A scratch window is four segments: struct coll_schedule.
 */
#define COLL_SEGMENT	(128 * 1024U)

/**
 * coll_plan_call() - the call in sixteen bits
 * @plan: the operation
 *
 * Every data frame carries this number; otherwise two calls that differ only in these arguments
 * would take each other's bytes.  Only reductions are ever wide.  For other collectives the same
 * bit says that the sender tells lengths, or that the blocks of an allgather differ; for a
 * message only the receiver knows that, so it is left out.
 *
 * Return: a number that no other call has; a message has the same number at both ends.
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
 * coll_plan_is_p2p() - is it a message, which only two ranks know?
 * @plan: the operation
 */
static inline bool coll_plan_is_p2p(const struct coll_plan *plan)
{
	return plan->collective == COLLECTIVE_SEND || plan->collective == COLLECTIVE_RECV;
}

/**
 * coll_plan_is_self() - is it the send or the receive of a message of this rank to itself?
 * @plan: the operation
 */
static inline bool coll_plan_is_self(const struct coll_plan *plan)
{
	return coll_plan_is_p2p(plan) && plan->root == plan->rank;
}

/**
 * coll_plan_is_root() - is this rank the root?
 * @plan: a rooted operation
 */
static inline bool coll_plan_is_root(const struct coll_plan *plan)
{
	return plan->rank == plan->root;
}

/**
 * coll_plan_may_run_ahead() - may this rank complete an operation before others have called it?
 * @plan: the operation
 *
 * Return: true if the call need not synchronize, and this rank does not need the input of every
 * other one.
 */
static inline bool coll_plan_may_run_ahead(const struct coll_plan *plan)
{
	if (!plan->nosync)
		return false;
	switch (plan->collective) {
	case COLLECTIVE_BROADCAST:
	case COLLECTIVE_SCATTER:
	case COLLECTIVE_SCAN:
	case COLLECTIVE_EXSCAN:
		return true;
	case COLLECTIVE_REDUCE:
	case COLLECTIVE_GATHER:
		return !coll_plan_is_root(plan);
	default:
		return false;
	}
}

/* Size of a segment in bytes. */
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
u64 coll_plan_exposed(const struct coll_plan *plan, u32 area);
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
