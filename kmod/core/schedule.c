// SPDX-License-Identifier: GPL-2.0-only
#include "schedule.h"

#include <linux/collective.h>

static const struct coll_schedule * const schedules[COLLECTIVE_OPCODE_COUNT] = {
	[COLLECTIVE_BARRIER]	= &coll_ring_barrier,
	[COLLECTIVE_ALLREDUCE]	= &coll_ring_allreduce,
};

/**
 * coll_schedule_find() - the schedule for a call
 * @collective: enum collective_opcode
 * @algorithm: enum collective_algorithm
 *
 * Return: the schedule, or NULL when there is none.
 */
const struct coll_schedule *coll_schedule_find(u8 collective, u8 algorithm)
{
	if (collective >= COLLECTIVE_OPCODE_COUNT)
		return NULL;
	if (algorithm != COLLECTIVE_ALGORITHM_AUTO &&
	    algorithm != COLLECTIVE_ALGORITHM_RING)
		return NULL;
	return schedules[collective];
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
