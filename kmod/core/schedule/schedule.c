// SPDX-License-Identifier: GPL-2.0-only
/* Questions about a plan and its schedule together. */
#include "core/schedule/schedule.h"

#include <linux/collective.h>

/**
 * coll_plan_eager() - is an operation sent on credit, by copy?
 * @plan: a plan that has a schedule
 *
 * Signals are, whatever the size.
 *
 * Return: the same on every rank; with @varlen only the sender's answer matters.
 */
bool coll_plan_eager(const struct coll_plan *plan)
{
	if (coll_plan_schedule(plan)->reads || coll_plan_schedule(plan)->board)
		return true;
	/* Not every rank knows the lengths of all blocks. */
	if (plan->vector && plan->collective != COLLECTIVE_ALLGATHER &&
	    plan->collective != COLLECTIVE_REDUCE_SCATTER)
		return false;
	return plan->count <= COLLECTIVE_EAGER_LIMIT / plan->size &&
	       !coll_plan_schedule(plan)->windowed;
}

/**
 * coll_plan_implicit_match() - do the frames and grants of an operation tell the call of every
 *	rank?
 * @plan: a plan that has a schedule
 *
 * If so, a rank that has received everything knows that all ranks called the same: eager frames
 * tell the call, and other frames are sent only to a rank that told its call in a grant.  Neither
 * tells the lengths of blocks.  Slots of the board tell the digest of the whole call.
 *
 * Return: the same on every rank that calls the same.
 */
bool coll_plan_implicit_match(const struct coll_plan *plan)
{
	const struct coll_schedule *schedule = coll_plan_schedule(plan);

	if (schedule->board)
		return true;
	if (!schedule->covers_all || plan->vector ||
	    (coll_plan_eager(plan) && !schedule->implicit_match))
		return false;
	return plan->collective == COLLECTIVE_BARRIER || plan->count;
}

static u64 window_of(const struct coll_plan *plan, u64 bytes)
{
	u64 window = 4 * coll_plan_segment_size(plan);

	while (window / 2 >= bytes)
		window /= 2;
	return window;
}

/**
 * coll_plan_scratch() - scratch memory that an operation needs on a lane
 * @plan: a plan that has a schedule, with its lane
 *
 * Return: bytes; a power of two if the scratch is windowed.
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
 * @i: number of the step
 * @step: filled in
 */
void coll_schedule_step(const struct coll_schedule *schedule,
			const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	*step = (struct coll_step){ .to = COLL_NO_RANK, .from = COLL_NO_RANK, .tag = i };
	schedule->step(plan, i, step);
}

/**
 * coll_schedule_next() - the next step with a half that moves something
 * @schedule: the algorithm
 * @plan: the operation
 * @i: first step to look at
 * @end: number of steps
 * @sends: true for the half that sends, false for the half that receives
 * @step: filled in if there is such a step
 *
 * Looks at COLL_STEPS_MAX() steps at most: there are no more, or @schedule->next skips those that
 * move nothing.
 *
 * Return: number of the step, or @end if there is none.
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
