// SPDX-License-Identifier: GPL-2.0-only
/*
 * Allreduce cuts the elements into as many chunks as there are ranks.  In step s rank r sends
 * chunk r - s and receives chunk r - s - 1 (modulo n).  The first n - 1 steps reduce the received
 * chunk with the own one.  Then rank r holds the finished chunk r + 1, and n - 1 more steps carry
 * the finished chunks around.  Step s > 0 forwards what step s - 1 receives, with cut-through.
 *
 * Hazards: the reducing steps write chunks that this rank has not sent.  The gathering steps
 * overwrite, in place, the partial sum sent n - 1 steps earlier; the finished value was computed
 * from it, so the next rank has consumed it, byte by byte.
 */
#include "core/schedule/ring.h"

/* The chunk that @back steps around the ring behind ours, in bytes. */
static struct coll_span ring_chunk(const struct coll_plan *plan, u32 back, u8 area)
{
	return coll_plan_span(plan, coll_ring_piece(plan, back), area);
}

static u64 ring_allreduce_steps(const struct coll_plan *plan)
{
	return coll_plan_vector(plan).count ? 2 * (plan->nranks - 1) : 0;
}

static void ring_allreduce_step(const struct coll_plan *plan, u64 i,
				struct coll_step *step)
{
	u32 reducing = plan->nranks - 1;

	step->to = coll_ring_next(plan);
	step->from = coll_ring_previous(plan);
	step->out = ring_chunk(plan, i, i ? COLL_AREA_RECV : COLL_AREA_SEND);
	step->in = ring_chunk(plan, i + 1, COLL_AREA_RECV);
	step->depends_on = i;
	step->cut_through = i > 0;
	step->reduce = i < reducing;
	step->own = COLL_AREA_SEND;
	step->own_off = step->in.off;
	step->last = i + 1 == reducing;
	step->hazard = step->reduce ? COLL_HAZARD_NEVER_SENT : COLL_HAZARD_COVERED;
}

const struct coll_schedule coll_ring_allreduce = {
	.name	= "ring allreduce",
	.algorithm = COLLECTIVE_ALGORITHM_RING,
	.ring	= true,
	.covers_all = true,
	.steps	= ring_allreduce_steps,
	.step	= ring_allreduce_step,
	.local_copy = coll_local_alone,
};
