// SPDX-License-Identifier: GPL-2.0-only
#include "schedule.h"

#include <linux/collective.h>

static const struct coll_schedule * const schedules[COLLECTIVE_OPCODE_COUNT] = {
	[COLLECTIVE_BARRIER]		= &coll_ring_barrier,
	[COLLECTIVE_ALLREDUCE]		= &coll_ring_allreduce,
	[COLLECTIVE_REDUCE]		= &coll_direct_reduce,
	[COLLECTIVE_BROADCAST]		= &coll_ring_broadcast,
	[COLLECTIVE_ALLGATHER]		= &coll_ring_allgather,
	[COLLECTIVE_REDUCE_SCATTER]	= &coll_direct_reduce_scatter,
	[COLLECTIVE_GATHER]		= &coll_direct_gather,
	[COLLECTIVE_SCATTER]		= &coll_direct_scatter,
	[COLLECTIVE_ALLTOALL]		= &coll_direct_alltoall,
	[COLLECTIVE_SCAN]		= &coll_chain_scan,
	[COLLECTIVE_SEND]		= &coll_pair_send,
	[COLLECTIVE_RECV]		= &coll_pair_recv,
};

static const struct coll_schedule * const trees[COLLECTIVE_OPCODE_COUNT] = {
	[COLLECTIVE_BARRIER]		= &coll_tree_barrier,
	[COLLECTIVE_BROADCAST]		= &coll_tree_broadcast,
};

/* Only rounding makes the order of operands show. */
static bool order_matters(const struct coll_plan *plan)
{
	return plan->type >= COLLECTIVE_FLOAT16 &&
	       (plan->reduction == COLLECTIVE_SUM || plan->reduction == COLLECTIVE_PROD ||
		plan->reduction == COLLECTIVE_AVG);
}

static const struct coll_schedule *reproducible(u8 collective)
{
	switch (collective) {
	case COLLECTIVE_ALLREDUCE:
		return &coll_chain_allreduce;
	case COLLECTIVE_SCAN:
		return &coll_chain_scan;
	}
	return NULL;
}

/**
 * coll_schedule_find() - the schedule for a call
 * @plan: the call; its rank, root and lane do not matter
 *
 * Return: the schedule, or NULL when there is none.
 */
const struct coll_schedule *coll_schedule_find(const struct coll_plan *plan)
{
	const struct coll_schedule *large, *small;
	bool few = plan->count <= COLLECTIVE_EAGER_LIMIT / plan->size;

	if (plan->collective >= COLLECTIVE_OPCODE_COUNT)
		return NULL;
	large = schedules[plan->collective];
	small = trees[plan->collective];
	/* Then the order decides, not the algorithm. */
	if (large && plan->reproducible && order_matters(plan))
		return reproducible(plan->collective);
	switch (plan->algorithm) {
	case COLLECTIVE_ALGORITHM_AUTO:
		return small && few ? small : large;
	case COLLECTIVE_ALGORITHM_RING:
		return large && large->ring ? large : NULL;
	case COLLECTIVE_ALGORITHM_TREE:
		return small;
	case COLLECTIVE_ALGORITHM_DIRECT:
		return large && !large->ring ? large : NULL;
	}
	return NULL;
}

/**
 * coll_schedule_algorithm() - by which name all ranks know a call's schedule
 * @plan: the call; its rank, root and lane do not matter
 *
 * Ranks that name it differently, or leave it to AUTO, do the same.
 *
 * Return: enum collective_algorithm, the first that finds the same schedule; AUTO
 * only if there is none.
 */
u8 coll_schedule_algorithm(const struct coll_plan *plan)
{
	const struct coll_schedule *schedule = coll_schedule_find(plan);
	struct coll_plan other = *plan;

	other.algorithm = COLLECTIVE_ALGORITHM_AUTO;
	while (++other.algorithm < COLLECTIVE_ALGORITHM_COUNT)
		if (schedule && coll_schedule_find(&other) == schedule)
			return other.algorithm;
	return COLLECTIVE_ALGORITHM_AUTO;
}

/**
 * coll_schedule_step() - one step of a plan
 * @schedule: the algorithm
 * @plan: the operation
 * @i: which step
 * @step: filled in
 */
void coll_schedule_step(const struct coll_schedule *schedule,
			const struct coll_plan *plan, u32 i, struct coll_step *step)
{
	*step = (struct coll_step){ .to = COLL_NOBODY, .from = COLL_NOBODY, .tag = i };
	schedule->step(plan, i, step);
}

/**
 * coll_plan_block() - what this lane carries of a block
 * @plan: the operation
 * @block: which one; a vector is block 0
 *
 * Return: elements, counted from the beginning of block 0.
 */
struct coll_range coll_plan_block(const struct coll_plan *plan, u32 block)
{
	u32 lanes = coll_layout_lanes(plan->count * plan->size, plan->nlanes);
	struct coll_range range = { 0 };

	if (plan->lane < lanes)
		range = coll_layout_piece(plan->count, plan->size, lanes, plan->lane);
	range.first += block * plan->count;
	return range;
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
 * coll_plan_local() - a block of the input is one of the result
 * @plan: the operation
 * @from: block of COLL_AREA_SEND
 * @to: block of COLL_AREA_RECV
 * @local: filled in
 */
void coll_plan_local(const struct coll_plan *plan, u32 from, u32 to,
		     struct coll_local *local)
{
	struct coll_range range = coll_plan_block(plan, from);

	local->from = range.first * plan->size;
	local->to = coll_plan_block(plan, to).first * plan->size;
	local->len = range.count * plan->size;
}

/**
 * coll_plan_moves() - is there anything to send on this lane?
 * @plan: an operation that has elements
 */
bool coll_plan_moves(const struct coll_plan *plan)
{
	return plan->nranks > 1 && coll_plan_block(plan, 0).count;
}

/**
 * coll_local_alone() - of one rank, the result is the input
 * @plan: the operation
 * @local: filled in
 */
void coll_local_alone(const struct coll_plan *plan, struct coll_local *local)
{
	if (plan->nranks == 1)
		coll_plan_local(plan, 0, 0, local);
}

/**
 * coll_local_root() - what the root sends to all is its own result too
 * @plan: the operation
 * @local: filled in
 */
void coll_local_root(const struct coll_plan *plan, struct coll_local *local)
{
	if (plan->rank == plan->root)
		coll_plan_local(plan, 0, 0, local);
}
