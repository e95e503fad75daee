// SPDX-License-Identifier: GPL-2.0-only
#include "core/schedule/ring.h"

/*
 * Allgather: in step s rank r sends block r - s, its own first, and receives block r - s - 1.
 * Every rank sends n - 1 blocks, the minimum.
 */
static u64 ring_allgather_steps(const struct coll_plan *plan)
{
	return coll_plan_moves(plan) ? plan->nranks - 1 : 0;
}

static struct coll_span ring_block(const struct coll_plan *plan, u32 back)
{
	u32 block = (plan->rank + plan->nranks - back) % plan->nranks;

	return coll_plan_span(plan, coll_plan_block(plan, plan->recv_first, block),
			      COLL_AREA_RECV);
}

static void ring_allgather_step(const struct coll_plan *plan, u64 i,
				struct coll_step *step)
{
	step->to = coll_ring_next(plan);
	step->from = coll_ring_previous(plan);
	step->out = ring_block(plan, i);
	if (!i)
		step->out = coll_plan_span(plan, coll_plan_single(plan, plan->recv_first,
								  plan->rank), COLL_AREA_SEND);
	step->in = ring_block(plan, i + 1);
	step->depends_on = i;
	step->cut_through = i > 0;
	step->hazard = COLL_HAZARD_NEVER_SENT;
}

static void ring_allgather_local(const struct coll_plan *plan, struct coll_local_copy *local)
{
	coll_plan_local_copy(plan, coll_plan_single(plan, plan->recv_first, plan->rank),
			     coll_plan_block(plan, plan->recv_first, plan->rank), local);
}

const struct coll_schedule coll_ring_allgather = {
	.name	= "ring allgather",
	.algorithm = COLLECTIVE_ALGORITHM_RING,
	.ring	= true,
	.covers_all = true,
	.steps	= ring_allgather_steps,
	.step	= ring_allgather_step,
	.local_copy = ring_allgather_local,
};
