// SPDX-License-Identifier: GPL-2.0-only
#include "core/schedule/ring.h"

/*
 * A signal that has made s + 1 hops came from the s + 1 ranks before this one.  After n - 1 hops
 * all ranks have entered the barrier.
 */
static u64 ring_barrier_steps(const struct coll_plan *plan)
{
	return plan->nranks - 1;
}

static void ring_barrier_step(const struct coll_plan *plan, u64 i,
			      struct coll_step *step)
{
	step->to = coll_ring_next(plan);
	step->from = coll_ring_previous(plan);
	step->depends_on = i;
	step->signal = true;
}

const struct coll_schedule coll_ring_barrier = {
	.name	= "ring barrier",
	.algorithm = COLLECTIVE_ALGORITHM_RING,
	.ring	= true,
	.covers_all = true,
	.implicit_match = true,
	.steps	= ring_barrier_steps,
	.step	= ring_barrier_step,
};
