// SPDX-License-Identifier: GPL-2.0-only
#include "core/schedule/ring.h"

/*
 * Broadcast: the vector goes around once, from the root to the rank before it.  Every rank but
 * the last sends it once, with cut-through.
 */
static u64 ring_broadcast_steps(const struct coll_plan *plan)
{
	return coll_plan_moves(plan) ? 1 : 0;
}

static void ring_broadcast_step(const struct coll_plan *plan, u64 i __maybe_unused,
				struct coll_step *step)
{
	bool root = coll_plan_is_root(plan);

	if (coll_ring_next(plan) != plan->root)
		step->to = coll_ring_next(plan);
	if (!root)
		step->from = coll_ring_previous(plan);
	step->out = coll_plan_span(plan, coll_plan_vector(plan),
				   root ? COLL_AREA_SEND : COLL_AREA_RECV);
	step->in = coll_plan_span(plan, coll_plan_vector(plan), COLL_AREA_RECV);
	step->tag = plan->root;
	step->depends_on = root ? 0 : 1;
	step->cut_through = !root;
	step->hazard = COLL_HAZARD_NEVER_SENT;
}

const struct coll_schedule coll_ring_broadcast = {
	.name	= "ring broadcast",
	.algorithm = COLLECTIVE_ALGORITHM_RING,
	.ring	= true,
	.steps	= ring_broadcast_steps,
	.step	= ring_broadcast_step,
	.local_copy = coll_local_root,
};
