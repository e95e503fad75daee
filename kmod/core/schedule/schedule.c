// SPDX-License-Identifier: GPL-2.0-only
#include "core/schedule/schedule.h"
#include "core/reduce/reduce.h"
#include "core/data/sink.h"

#include <linux/collective.h>

/* Bits that coll_plan_call() has for each. */
static_assert(COLLECTIVE_OPCODE_COUNT <= 1 << 4);
static_assert(COLLECTIVE_TYPE_COUNT <= 1 << 4);
static_assert(COLLECTIVE_REDUCTION_COUNT <= 1 << 4);
static_assert(COLLECTIVE_ALGORITHM_COUNT <= 1 << 2);

/* Each rank has a connection to every other one. */
#define COLL_NEAR_RANKS		16
/* Of this size a rank's second-level cache holds one chunk and no two, or none. */
#define COLL_NEAR_CHUNK		(1024 * 1024U)

/**
 * struct schedule_row - the schedules of a collective
 * @ring: along the ring
 * @tree: in few steps
 * @direct: from where it is to where it belongs
 */
struct schedule_row {
	const struct coll_schedule *ring;
	const struct coll_schedule *tree;
	const struct coll_schedule *direct;
};

static const struct schedule_row schedules[COLLECTIVE_OPCODE_COUNT] = {
	[COLLECTIVE_BARRIER]	= {
		.ring	= &coll_ring_barrier,
		.tree	= &coll_tree_barrier,
	},
	[COLLECTIVE_ALLREDUCE]	= {
		.ring	= &coll_ring_allreduce,
		.tree	= &coll_tree_allreduce,
		.direct	= &coll_direct_allreduce,
	},
	[COLLECTIVE_REDUCE]	= {
		.ring	= &coll_chain_reduce,
		.tree	= &coll_tree_reduce,
		.direct	= &coll_direct_reduce,
	},
	[COLLECTIVE_BROADCAST]	= {
		.ring	= &coll_ring_broadcast,
		.tree	= &coll_tree_broadcast,
	},
	[COLLECTIVE_ALLGATHER]	= {
		.ring	= &coll_ring_allgather,
		.tree	= &coll_tree_allgather,
	},
	[COLLECTIVE_REDUCE_SCATTER] = {
		.ring	= &coll_ring_reduce_scatter,
		.direct	= &coll_direct_reduce_scatter,
	},
	[COLLECTIVE_GATHER]	= {
		.direct	= &coll_direct_gather,
	},
	[COLLECTIVE_SCATTER]	= {
		.direct	= &coll_direct_scatter,
	},
	[COLLECTIVE_ALLTOALL]	= {
		.direct	= &coll_direct_alltoall,
	},
	[COLLECTIVE_SCAN]	= {
		.ring	= &coll_chain_scan,
		.tree	= &coll_tree_scan,
	},
	[COLLECTIVE_EXSCAN]	= {
		.ring	= &coll_chain_exscan,
		.tree	= &coll_tree_exscan,
	},
	[COLLECTIVE_SEND]	= {
		.direct	= &coll_pair_send,
	},
	[COLLECTIVE_RECV]	= {
		.direct	= &coll_pair_recv,
	},
};

static bool reduces(const struct coll_plan *plan)
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

/* Only rounding makes the order of operands show. */
static bool order_matters(const struct coll_plan *plan)
{
	return reduces(plan) && plan->type >= COLLECTIVE_FLOAT16 &&
	       (plan->reduction == COLLECTIVE_SUM || plan->reduction == COLLECTIVE_PROD ||
		plan->reduction == COLLECTIVE_AVG);
}

static const struct coll_schedule *reproducible(const struct coll_plan *plan)
{
	switch (plan->collective) {
	case COLLECTIVE_ALLREDUCE:
		return coll_plan_wide(plan) ? &coll_chain_allreduce_wide :
					      &coll_chain_allreduce;
	case COLLECTIVE_REDUCE:
		return &coll_ordered_reduce;
	case COLLECTIVE_REDUCE_SCATTER:
		return &coll_ordered_reduce_scatter;
	case COLLECTIVE_SCAN:
		return &coll_chain_scan;
	case COLLECTIVE_EXSCAN:
		return &coll_chain_exscan;
	}
	return NULL;
}

/* Wide sums go along the ring, whatever is asked for. */
static const struct coll_schedule *wide(const struct coll_plan *plan)
{
	switch (plan->collective) {
	case COLLECTIVE_ALLREDUCE:
		return &coll_ring_allreduce_wide;
	case COLLECTIVE_REDUCE:
		return &coll_chain_reduce;
	case COLLECTIVE_REDUCE_SCATTER:
		return &coll_ring_reduce_scatter;
	}
	return NULL;
}

/*
 * Among few ranks on one host what is beyond their caches is moved less often than along
 * the ring, where each rank stores what it passes on.
 */
static bool beyond_caches(const struct coll_plan *plan)
{
	return plan->same_host && plan->nranks > 2 && plan->nranks <= COLL_NEAR_RANKS &&
	       plan->count / plan->nranks >= COLL_NEAR_CHUNK / plan->size;
}

/* The length comes with the elements, from who knows it. */
static const struct coll_schedule *varlen(const struct coll_plan *plan)
{
	if (plan->algorithm != COLLECTIVE_ALGORITHM_AUTO &&
	    plan->algorithm != COLLECTIVE_ALGORITHM_DIRECT)
		return NULL;
	switch (plan->collective) {
	case COLLECTIVE_BROADCAST:
		return &coll_varlen_broadcast;
	case COLLECTIVE_SCATTER:
		return &coll_varlen_scatter;
	case COLLECTIVE_RECV:
		return &coll_pair_recv;
	}
	return NULL;
}

/* From who works in place small blocks are all set aside at once. */
static const struct coll_schedule *direct(const struct coll_plan *plan, bool few)
{
	if (plan->collective == COLLECTIVE_ALLREDUCE && few)
		return NULL;
	if (plan->collective == COLLECTIVE_ALLTOALL && plan->in_place && (plan->vector || !few))
		return &coll_direct_swap;
	return schedules[plan->collective].direct;
}

/**
 * coll_schedule_find() - the schedule for a call
 * @plan: the call; its rank, root and lane do not matter
 *
 * Return: the schedule, or NULL when there is none.
 */
const struct coll_schedule *coll_schedule_find(const struct coll_plan *plan)
{
	bool few = coll_plan_total(plan) <= COLLECTIVE_EAGER_LIMIT / plan->size;
	const struct schedule_row *row;

	if (plan->collective >= COLLECTIVE_OPCODE_COUNT)
		return NULL;
	row = &schedules[plan->collective];
	if (plan->varlen)
		return varlen(plan);
	/* Then the order decides, not the algorithm. */
	if (coll_plan_wide(plan) && (plan->collective == COLLECTIVE_SCAN ||
				     plan->collective == COLLECTIVE_EXSCAN))
		return NULL;
	if (plan->reproducible && order_matters(plan))
		return reproducible(plan);
	if (coll_plan_wide(plan))
		return wide(plan);
	switch (plan->algorithm) {
	case COLLECTIVE_ALGORITHM_AUTO:
		if (row->tree && few)
			return row->tree;
		/* Both send as much, but directly it needs no copy. */
		if (plan->collective == COLLECTIVE_REDUCE_SCATTER)
			return row->direct;
		if (plan->collective == COLLECTIVE_ALLREDUCE && beyond_caches(plan))
			return row->direct;
		return row->ring ? row->ring : direct(plan, few);
	case COLLECTIVE_ALGORITHM_RING:
		return row->ring;
	case COLLECTIVE_ALGORITHM_TREE:
		return row->tree && row->tree->eager && !few ? NULL : row->tree;
	case COLLECTIVE_ALGORITHM_DIRECT:
		return direct(plan, few);
	}
	return NULL;
}

/**
 * coll_plan_wide() - are sums passed on wider than their operands?
 * @plan: the operation
 *
 * Return: true when that is asked for and makes a difference.
 */
bool coll_plan_wide(const struct coll_plan *plan)
{
	return plan->wide && reduces(plan) && coll_reduce_wide_valid(plan->type, plan->reduction);
}

/**
 * coll_plan_total() - what decides whether an operation is small
 * @plan: the operation
 *
 * Return: elements of the vector or of a block; of an allgather, of all blocks.
 */
u64 coll_plan_total(const struct coll_plan *plan)
{
	if (plan->collective != COLLECTIVE_ALLGATHER)
		return plan->count;
	return plan->recv_first ? plan->recv_first[plan->nranks] : plan->nranks * plan->count;
}

/**
 * coll_plan_result() - how large a rank's result is
 * @plan: the operation
 *
 * Return: bytes; of who has none, any.
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
 * coll_plan_eager() - is an operation sent on credit, by copy?
 * @plan: one that has a schedule
 *
 * Return: the same on every rank; with @varlen it matters to who sends only.
 */
bool coll_plan_eager(const struct coll_plan *plan)
{
	/* Not every rank knows how much there is. */
	if (plan->vector && plan->collective != COLLECTIVE_ALLGATHER &&
	    plan->collective != COLLECTIVE_REDUCE_SCATTER)
		return false;
	return plan->count <= COLLECTIVE_EAGER_LIMIT / plan->size &&
	       !coll_plan_schedule(plan)->windowed;
}

/**
 * coll_plan_implicit_match() - do an operation's frames and grants say what every rank has called?
 * @plan: one that has a schedule
 *
 * If so then who has received all of his knows that all ranks have called the same: what
 * is sent on credit says it, and everything else is only sent to who has said it in his
 * grant.  The blocks' own lengths are said by neither.
 *
 * Return: the same on every rank that calls the same.
 */
bool coll_plan_implicit_match(const struct coll_plan *plan)
{
	const struct coll_schedule *schedule = coll_plan_schedule(plan);

	if (!schedule->covers_all || plan->vector ||
	    (coll_plan_eager(plan) && !schedule->implicit_match))
		return false;
	return plan->collective == COLLECTIVE_BARRIER || plan->count;
}

static u64 plan_segment(const struct coll_plan *plan)
{
	return plan->segment ? plan->segment : COLL_SEGMENT;
}

/**
 * coll_plan_scratch_elem_size() - bytes of an element that goes through scratch
 * @plan: the operation
 */
u32 coll_plan_scratch_elem_size(const struct coll_plan *plan)
{
	return plan->size << coll_plan_wide(plan);
}

/**
 * coll_plan_segments() - in how many segments something goes through scratch
 * @plan: the operation
 * @count: elements of it, or of the longest of its kind
 */
u64 coll_plan_segments(const struct coll_plan *plan, u64 count)
{
	return div_u64(count * coll_plan_scratch_elem_size(plan) + plan_segment(plan) - 1,
		       plan_segment(plan));
}

/**
 * coll_plan_segment() - one of them
 * @plan: the operation
 * @range: what is cut
 * @index: which segment
 *
 * Return: elements; none, if there are no more.
 */
struct coll_range coll_plan_segment(const struct coll_plan *plan, struct coll_range range,
				    u64 index)
{
	u64 each = div_u64(plan_segment(plan), coll_plan_scratch_elem_size(plan));
	u64 from = min(index * each, range.count);

	return (struct coll_range){
		.first = range.first + from,
		.count = min(each, range.count - from),
	};
}

/**
 * coll_plan_scratch_slot() - where in scratch something has its place
 * @plan: the operation
 * @count: elements of the longest of its kind
 * @index: of those that go through scratch before it
 *
 * Return: a span of no bytes yet.
 */
struct coll_span coll_plan_scratch_slot(const struct coll_plan *plan, u64 count, u64 index)
{
	u64 each = plan_segment(plan);

	while (each / 2 >= count * coll_plan_scratch_elem_size(plan) && each > COLL_ELEMENT_MAX)
		each /= 2;
	return (struct coll_span){ .area = COLL_AREA_SCRATCH, .off = index * each };
}

static u64 window_of(const struct coll_plan *plan, u64 bytes)
{
	u64 window = 4 * plan_segment(plan);

	while (window / 2 >= bytes)
		window /= 2;
	return window;
}

/**
 * coll_plan_scratch() - scratch memory to be provided on a lane
 * @plan: one that has a schedule, with its lane
 *
 * Return: bytes; a power of two of the windowed kind.
 */
u64 coll_plan_scratch(const struct coll_plan *plan)
{
	const struct coll_schedule *schedule = coll_plan_schedule(plan);
	u64 bytes = schedule->scratch ? schedule->scratch(plan) : 0;

	return bytes && schedule->windowed ? window_of(plan, bytes) : bytes;
}

/**
 * coll_schedule_step() - one step of a plan
 * @schedule: the algorithm
 * @plan: the operation
 * @i: which step
 * @step: filled in
 */
void coll_schedule_step(const struct coll_schedule *schedule,
			const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	*step = (struct coll_step){ .to = COLL_NOBODY, .from = COLL_NOBODY, .tag = i };
	schedule->step(plan, i, step);
}

/**
 * coll_schedule_next() - the next step whose half moves something
 * @schedule: the algorithm
 * @plan: the operation
 * @i: from which step on
 * @end: its number of steps
 * @sends: the half that sends, else the one that receives
 * @step: filled in, if there is such a step
 *
 * Looks at COLL_STEPS_MAX() steps at most: there are no more, or @schedule passes over
 * those that move nothing.
 *
 * Return: its number; @end if there is none.
 */
u64 coll_schedule_next(const struct coll_schedule *schedule, const struct coll_plan *plan,
		       u64 i, u64 end, bool sends, struct coll_step *step)
{
	for (; i < end; i++) {
		if (schedule->next)
			i = schedule->next(plan, i, sends);
		if (i >= end)
			break;
		coll_schedule_step(schedule, plan, i, step);
		if (sends ? coll_half_moves(step, step->to, &step->out) :
			    coll_half_moves(step, step->from, &step->in))
			return i;
	}
	return end;
}

/**
 * coll_plan_first() - where a block begins
 * @plan: the operation
 * @first: its @send_first or @recv_first
 * @block: which one; @nranks: where the last one ends
 *
 * Return: elements.
 */
u64 coll_plan_first(const struct coll_plan *plan, const u64 *first, u32 block)
{
	return first ? first[block] : block * plan->count;
}

/* What this lane carries of some elements. */
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
 * coll_plan_block() - what this lane carries of a block
 * @plan: the operation
 * @first: where the blocks begin: its @send_first or @recv_first
 * @block: which one
 *
 * Return: elements, counted from the beginning of block 0.
 */
struct coll_range coll_plan_block(const struct coll_plan *plan, const u64 *first, u32 block)
{
	u64 from = coll_plan_first(plan, first, block);

	return plan_piece(plan, from, coll_plan_first(plan, first, block + 1) - from);
}

/**
 * coll_plan_single() - what this lane carries of a block that is alone
 * @plan: the operation
 * @first: where the blocks begin where they are all
 * @block: which one
 *
 * Return: elements, counted from the beginning of the block.
 */
struct coll_range coll_plan_single(const struct coll_plan *plan, const u64 *first, u32 block)
{
	return plan_piece(plan, 0, coll_plan_first(plan, first, block + 1) -
				   coll_plan_first(plan, first, block));
}

/**
 * coll_plan_vector() - what this lane carries of the vector
 * @plan: the operation
 *
 * Return: elements.
 */
struct coll_range coll_plan_vector(const struct coll_plan *plan)
{
	return plan_piece(plan, 0, plan->count);
}

/**
 * coll_plan_chunk() - what this lane carries of the vector, cut into one chunk a rank
 * @plan: the operation
 * @index: which chunk
 *
 * Return: elements.
 */
struct coll_range coll_plan_chunk(const struct coll_plan *plan, u32 index)
{
	struct coll_range part = coll_plan_vector(plan);
	struct coll_range chunk = coll_partition_chunk(part.count, plan->size, plan->nranks, index,
						       plan->same_host);

	chunk.first += part.first;
	return chunk;
}

/**
 * coll_plan_max_block() - the most that this lane carries of a block
 * @plan: an operation whose blocks all ranks know
 *
 * Return: elements; if blocks differ, not less than it is.
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
 * coll_plan_lanes() - how many lanes have a part of it on this rank
 * @plan: the operation
 *
 * Return: at least 1: the first ones; but a message has any one.  What tells its
 * length has one, whose frames tell all of it.
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
 * coll_plan_before() - bytes of the input before a block of it
 * @plan: the operation
 * @block: which one
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
 *
 * Return: the span.
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
 * coll_plan_local() - some of the input is some of the result
 * @plan: the operation
 * @from: elements of COLL_AREA_SEND
 * @to: as many of COLL_AREA_RECV
 * @local: filled in
 */
void coll_plan_local(const struct coll_plan *plan, struct coll_range from,
		     struct coll_range to, struct coll_local *local)
{
	local->from = from.first * plan->size;
	local->to = to.first * plan->size;
	local->len = from.count * plan->size;
}

/**
 * coll_plan_moves() - is there anything to send on this lane?
 * @plan: an operation that has elements
 */
bool coll_plan_moves(const struct coll_plan *plan)
{
	return plan->nranks > 1 && (plan->send_first || plan->recv_first ||
				    coll_plan_vector(plan).count);
}

/**
 * coll_local_alone() - of one rank, the result is the input: all of it
 * @plan: the operation
 * @local: filled in
 */
void coll_local_alone(const struct coll_plan *plan, struct coll_local *local)
{
	if (plan->nranks == 1)
		coll_plan_local(plan, coll_plan_vector(plan), coll_plan_vector(plan), local);
}

/**
 * coll_local_first() - of the first rank, the result is the input
 * @plan: the operation
 * @local: filled in
 */
void coll_local_first(const struct coll_plan *plan, struct coll_local *local)
{
	if (!plan->rank)
		coll_plan_local(plan, coll_plan_vector(plan), coll_plan_vector(plan), local);
}

/**
 * coll_local_root() - what the root sends to all is its own result too
 * @plan: the operation
 * @local: filled in
 */
void coll_local_root(const struct coll_plan *plan, struct coll_local *local)
{
	if (coll_plan_is_root(plan))
		coll_plan_local(plan, coll_plan_vector(plan), coll_plan_vector(plan), local);
}
