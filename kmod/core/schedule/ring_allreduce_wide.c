// SPDX-License-Identifier: GPL-2.0-only
#include "core/schedule/ring.h"

/* The first chunk is the longest. */
static u64 ring_longest_chunk(const struct coll_plan *plan)
{
	return coll_plan_chunk(plan, 0).count;
}

static u64 ring_wide_reducing(const struct coll_plan *plan)
{
	return (plan->nranks - 1) * coll_plan_segments(plan, ring_longest_chunk(plan));
}

static u64 ring_allreduce_wide_steps(const struct coll_plan *plan)
{
	return coll_plan_moves(plan) ? ring_wide_reducing(plan) + plan->nranks - 1 : 0;
}

/*
 * Allreduce of wide sums: the chunks are reduced in segments, and the last round rounds them.
 * The finished chunks go around as in any allreduce.
 */
static void ring_allreduce_wide_step(const struct coll_plan *plan, u64 i,
				     struct coll_step *step)
{
	u64 reducing = ring_wide_reducing(plan);
	u32 n = plan->nranks, round;

	if (i < reducing) {
		div_u64_rem(i, n - 1, &round);
		coll_ring_round(plan, ring_longest_chunk(plan), i, coll_ring_piece(plan, round),
				coll_ring_piece(plan, round + 1), step);
		if (step->last) {
			step->in.area = COLL_AREA_RECV;
			step->in.off = step->own_off;
		}
		return;
	}
	round = i - reducing;
	step->to = coll_ring_next(plan);
	step->from = coll_ring_previous(plan);
	step->out = coll_plan_span(plan, coll_ring_piece(plan, n - 1 + round), COLL_AREA_RECV);
	step->in = coll_plan_span(plan, coll_ring_piece(plan, n + round), COLL_AREA_RECV);
	step->depends_on = i;
	step->cut_through = round > 0;
	step->hazard = COLL_HAZARD_COVERED;
}

static u64 ring_allreduce_wide_next(const struct coll_plan *plan, u64 i, bool sends)
{
	u64 reducing = ring_wide_reducing(plan);

	if (i >= reducing)
		return i;
	return min(coll_ring_next_round(plan, i, !sends, coll_ring_piece), reducing);
}

static u64 ring_allreduce_wide_scratch(const struct coll_plan *plan)
{
	return coll_ring_scratch(plan, ring_longest_chunk(plan));
}

const struct coll_schedule coll_ring_allreduce_wide = {
	.name	= "wide ring allreduce",
	.algorithm = COLLECTIVE_ALGORITHM_RING,
	.ring	= true,
	.covers_all = true,
	.windowed = true,
	.steps	= ring_allreduce_wide_steps,
	.step	= ring_allreduce_wide_step,
	.next	= ring_allreduce_wide_next,
	.local_copy = coll_local_alone,
	.scratch = ring_allreduce_wide_scratch,
};
