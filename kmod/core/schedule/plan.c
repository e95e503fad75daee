// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
#include "core/schedule/plan.h"
#include "core/reduce/reduce.h"
#include "core/data/sink.h"

#include <linux/collective.h>

bool coll_plan_reduces(const struct coll_plan *plan)
{
	switch (plan->collective) {
	case COLLECTIVE_ALLREDUCE:
	case COLLECTIVE_REDUCE:
	case COLLECTIVE_REDUCE_SCATTER:
	case COLLECTIVE_SCAN:
	case COLLECTIVE_EXSCAN:
		return true;
	}
	return false;
}

/**
 * coll_plan_wide() - are sums passed on wider than their operands?
 * @plan: the operation
 *
 * Return: true if that is asked for and makes a difference.
 */
bool coll_plan_wide(const struct coll_plan *plan)
{
	return plan->wide && coll_plan_reduces(plan) &&
	       coll_reduce_wide_valid(plan->type, plan->reduction);
}

/**
 * coll_plan_total() - the size that decides whether an operation is small
 * @plan: the operation
 *
 * Return: elements of the vector or of a block; for an allgather, of all blocks.
 */
u64 coll_plan_total(const struct coll_plan *plan)
{
	if (plan->collective != COLLECTIVE_ALLGATHER)
		return plan->count;
	return plan->recv_first ? plan->recv_first[plan->nranks] : plan->nranks * plan->count;
}

/**
 * coll_plan_result() - size of a rank's result
 * @plan: the operation
 *
 * Return: bytes; any number for a rank without a result.
 */
u64 coll_plan_result(const struct coll_plan *plan)
{
	switch (plan->collective) {
	case COLLECTIVE_ALLGATHER:
	case COLLECTIVE_ALLTOALL:
	case COLLECTIVE_GATHER:
		return coll_plan_first(plan, plan->recv_first, plan->nranks) * plan->size;
	default:
		return plan->count * plan->size;
	}
}

/**
 * coll_plan_exposed() - size of a buffer that a rank exposes
 * @plan: an operation whose schedule reads
 * @area: COLL_AREA_SEND or COLL_AREA_RECV
 *
 * Only the result of an allreduce is read by other ranks.
 *
 * Return: bytes.
 */
u64 coll_plan_exposed(const struct coll_plan *plan, u32 area)
{
	if (plan->collective == COLLECTIVE_ALLREDUCE)
		return plan->count * plan->size;
	if (area != COLL_AREA_SEND)
		return 0;
	if (plan->collective == COLLECTIVE_REDUCE_SCATTER)
		return coll_plan_first(plan, plan->send_first, plan->nranks) * plan->size;
	return plan->count * plan->size;
}

/**
 * coll_plan_scratch_elem_size() - bytes of an element in scratch
 * @plan: the operation
 */
u32 coll_plan_scratch_elem_size(const struct coll_plan *plan)
{
	return plan->size << coll_plan_wide(plan);
}

/**
 * coll_plan_segments() - number of segments in which elements go through scratch
 * @plan: the operation
 * @count: number of elements; for places of equal size, of the longest block
 */
u64 coll_plan_segments(const struct coll_plan *plan, u64 count)
{
	return div_u64(count * coll_plan_scratch_elem_size(plan) + coll_plan_segment_size(plan) - 1,
		       coll_plan_segment_size(plan));
}

/**
 * coll_plan_segment() - one segment
 * @plan: the operation
 * @range: the elements that are cut into segments
 * @index: number of the segment
 *
 * Return: its elements; none if there are fewer segments.
 */
struct coll_range coll_plan_segment(const struct coll_plan *plan, struct coll_range range,
				    u64 index)
{
	u64 each = div_u64(coll_plan_segment_size(plan), coll_plan_scratch_elem_size(plan));
	u64 from = min(index * each, range.count);

	return (struct coll_range){
		.first = range.first + from,
		.count = min(each, range.count - from),
	};
}

/**
 * coll_plan_scratch_slot() - position of a segment in scratch
 * @plan: the operation
 * @count: elements of the longest block
 * @index: number of segments that go through scratch before it
 *
 * Return: a span without length.
 */
struct coll_span coll_plan_scratch_slot(const struct coll_plan *plan, u64 count, u64 index)
{
	u64 each = coll_plan_segment_size(plan);

	while (each / 2 >= count * coll_plan_scratch_elem_size(plan) && each > COLL_ELEMENT_MAX)
		each /= 2;
	return (struct coll_span){ .area = COLL_AREA_SCRATCH, .off = index * each };
}

/**
 * coll_plan_first() - first element of a block
 * @plan: the operation
 * @first: @send_first or @recv_first of the plan
 * @block: number of the block; @nranks: the end of the last block
 *
 * Return: index of the element.
 */
u64 coll_plan_first(const struct coll_plan *plan, const u64 *first, u32 block)
{
	return first ? first[block] : block * plan->count;
}

/* The part of some elements that this lane carries. */
static struct coll_range plan_piece(const struct coll_plan *plan, u64 from, u64 count)
{
	u32 lanes = coll_partition_lanes(count * plan->size, plan->nlanes);
	struct coll_range range = { 0 };

	if (plan->lane < lanes)
		range = coll_partition_piece(count, plan->size, lanes, plan->lane);
	range.first += from;
	return range;
}

/**
 * coll_plan_block() - the part of a block that this lane carries
 * @plan: the operation
 * @first: @send_first or @recv_first of the plan
 * @block: number of the block
 *
 * Return: elements, counted from the beginning of block 0.
 */
struct coll_range coll_plan_block(const struct coll_plan *plan, const u64 *first, u32 block)
{
	u64 from = coll_plan_first(plan, first, block);

	return plan_piece(plan, from, coll_plan_first(plan, first, block + 1) - from);
}

/**
 * coll_plan_single() - the part that this lane carries of a block in a buffer of its own
 * @plan: the operation
 * @first: @send_first or @recv_first of the plan
 * @block: number of the block
 *
 * Return: elements, counted from the beginning of the block.
 */
struct coll_range coll_plan_single(const struct coll_plan *plan, const u64 *first, u32 block)
{
	return plan_piece(plan, 0, coll_plan_first(plan, first, block + 1) -
				   coll_plan_first(plan, first, block));
}

/**
 * coll_plan_vector() - the part of the vector that this lane carries
 * @plan: the operation
 *
 * Return: elements.
 */
struct coll_range coll_plan_vector(const struct coll_plan *plan)
{
	return plan_piece(plan, 0, plan->count);
}

/**
 * coll_plan_chunk() - one chunk of this lane's part of the vector, which has one chunk per rank
 * @plan: the operation
 * @index: number of the chunk
 *
 * Return: elements.
 */
struct coll_range coll_plan_chunk(const struct coll_plan *plan, u32 index)
{
	struct coll_range part = coll_plan_vector(plan);
	struct coll_range chunk = coll_partition_piece(part.count, plan->size, plan->nranks,
						       index);

	chunk.first += part.first;
	return chunk;
}

/**
 * coll_plan_max_block() - length of the longest part of a block on this lane
 * @plan: an operation with blocks that all ranks know
 *
 * Return: elements; if the blocks differ, an upper bound.
 */
u64 coll_plan_max_block(const struct coll_plan *plan)
{
	return plan->vector ? plan->count : coll_plan_vector(plan).count;
}

static u64 blocks_longest(const struct coll_plan *plan, const u64 *first)
{
	u64 longest = 0;
	u32 i;

	for (i = 0; first && i < plan->nranks; i++)
		longest = max(longest, first[i + 1] - first[i]);
	return longest;
}

/**
 * coll_plan_lanes() - number of lanes that carry a part of the operation on this rank
 * @plan: the operation
 *
 * Return: at least 1: the first lanes; for a message, any one lane.  An operation that tells its
 * length uses one lane, because all of its frames tell that length.
 */
u32 coll_plan_lanes(const struct coll_plan *plan)
{
	u64 longest = max(blocks_longest(plan, plan->send_first),
			  blocks_longest(plan, plan->recv_first));

	if (coll_plan_is_p2p(plan) || plan->varlen)
		return 1;
	return coll_partition_lanes(max(longest, plan->count) * plan->size, plan->nlanes);
}

/**
 * coll_plan_before() - bytes of the input before a block
 * @plan: the operation
 * @block: number of the block
 */
u64 coll_plan_before(const struct coll_plan *plan, u32 block)
{
	return coll_plan_first(plan, plan->send_first, block) * plan->size;
}

/**
 * coll_plan_span() - elements as bytes of an area
 * @plan: the operation
 * @range: the elements
 * @area: enum coll_area
 */
struct coll_span coll_plan_span(const struct coll_plan *plan, struct coll_range range,
				u8 area)
{
	return (struct coll_span){
		.area = area,
		.off = range.first * plan->size,
		.len = range.count * plan->size,
	};
}

/**
 * coll_plan_local_copy() - copy a part of the input to the result
 * @plan: the operation
 * @from: elements of COLL_AREA_SEND
 * @to: the same number of elements of COLL_AREA_RECV
 * @local: filled in
 */
void coll_plan_local_copy(const struct coll_plan *plan, struct coll_range from,
			  struct coll_range to, struct coll_local_copy *local)
{
	local->from = from.first * plan->size;
	local->to = to.first * plan->size;
	local->len = from.count * plan->size;
}

/**
 * coll_plan_moves() - does this lane send anything?
 * @plan: an operation that has elements
 */
bool coll_plan_moves(const struct coll_plan *plan)
{
	return plan->nranks > 1 && (plan->send_first || plan->recv_first ||
				    coll_plan_vector(plan).count);
}

/**
 * coll_local_alone() - local copy of a group of one rank: all of the input
 * @plan: the operation
 * @local: filled in
 */
void coll_local_alone(const struct coll_plan *plan, struct coll_local_copy *local)
{
	if (plan->nranks == 1)
		coll_plan_local_copy(plan, coll_plan_vector(plan), coll_plan_vector(plan), local);
}

/**
 * coll_local_first() - local copy of a scan: the first rank's result is its input
 * @plan: the operation
 * @local: filled in
 */
void coll_local_first(const struct coll_plan *plan, struct coll_local_copy *local)
{
	if (!plan->rank)
		coll_plan_local_copy(plan, coll_plan_vector(plan), coll_plan_vector(plan), local);
}

/**
 * coll_local_root() - local copy of a broadcast: the root's result is its input
 * @plan: the operation
 * @local: filled in
 */
void coll_local_root(const struct coll_plan *plan, struct coll_local_copy *local)
{
	if (coll_plan_is_root(plan))
		coll_plan_local_copy(plan, coll_plan_vector(plan), coll_plan_vector(plan), local);
}
