// SPDX-License-Identifier: GPL-2.0-only
#include "core/schedule/ring.h"

/*
 * Reduce_scatter: in round s rank r sends block r - 1 - s and receives block r - 2 - s.  The last
 * block received is its own, which it has sent to no rank.
 */
static u64 ring_reduce_scatter_steps(const struct coll_plan *plan)
{
	return (plan->nranks - 1) * coll_plan_segments(plan, coll_plan_max_block(plan));
}

static struct coll_range ring_block_of(const struct coll_plan *plan, u32 back)
{
	u32 n = plan->nranks;

	return coll_plan_block(plan, plan->send_first, (plan->rank + n - back % n) % n);
}

static void ring_reduce_scatter_step(const struct coll_plan *plan, u64 i,
				     struct coll_step *step)
{
	struct coll_range in;
	u32 round;

	div_u64_rem(i, plan->nranks - 1, &round);
	in = ring_block_of(plan, round + 2);
	coll_ring_round(plan, coll_plan_max_block(plan), i, ring_block_of(plan, round + 1), in,
			step);
	if (step->last) {
		step->in.area = COLL_AREA_RECV;
		step->in.off = step->own_off - coll_plan_before(plan, plan->rank);
	}
}

static u64 ring_reduce_scatter_next(const struct coll_plan *plan, u64 i, bool sends)
{
	return coll_ring_next_round(plan, i, sends ? 1 : 2, ring_block_of);
}

static u64 ring_reduce_scatter_scratch(const struct coll_plan *plan)
{
	return coll_ring_scratch(plan, coll_plan_max_block(plan));
}

const struct coll_schedule coll_ring_reduce_scatter = {
	.name	= "ring reduce_scatter",
	.algorithm = COLLECTIVE_ALGORITHM_RING,
	.ring	= true,
	.covers_all = true,
	.windowed = true,
	.steps	= ring_reduce_scatter_steps,
	.step	= ring_reduce_scatter_step,
	.next	= ring_reduce_scatter_next,
	.local_copy = coll_local_alone,
	.scratch = ring_reduce_scatter_scratch,
};
