// SPDX-License-Identifier: GPL-2.0-only
#include "schedule.h"

#include <linux/collective.h>

static const struct coll_schedule * const rings[COLLECTIVE_OPCODE_COUNT] = {
	[COLLECTIVE_BARRIER]	= &coll_ring_barrier,
	[COLLECTIVE_ALLREDUCE]	= &coll_ring_allreduce,
	[COLLECTIVE_BROADCAST]	= &coll_ring_broadcast,
	[COLLECTIVE_ALLGATHER]	= &coll_ring_allgather,
	[COLLECTIVE_SCAN]	= &coll_chain_scan,
};

/* Only rounding makes the order of operands show. */
static bool order_matters(const struct coll_plan *plan)
{
	return plan->type >= COLLECTIVE_FLOAT16 &&
	       (plan->reduction == COLLECTIVE_SUM || plan->reduction == COLLECTIVE_PROD ||
		plan->reduction == COLLECTIVE_AVG);
}

/**
 * coll_schedule_find() - the schedule for a call
 * @plan: the call; collective, type, reduction, algorithm and reproducible are
 *	looked at
 *
 * Return: the schedule, or NULL when there is none.
 */
const struct coll_schedule *coll_schedule_find(const struct coll_plan *plan)
{
	if (plan->collective >= COLLECTIVE_OPCODE_COUNT)
		return NULL;
	if (plan->algorithm != COLLECTIVE_ALGORITHM_AUTO &&
	    plan->algorithm != COLLECTIVE_ALGORITHM_RING)
		return NULL;
	if (plan->collective == COLLECTIVE_ALLREDUCE && plan->reproducible &&
	    order_matters(plan))
		return &coll_chain_allreduce;
	return rings[plan->collective];
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
	*step = (struct coll_step){ .to = COLL_NOBODY, .from = COLL_NOBODY };
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
