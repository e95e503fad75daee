// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reductions in the order of ranks, with the result at one rank: ((x0 op x1) op x2) and so on.
 *
 * The partial results go from rank 0 to the last rank, as in a chain, and from there to the owner
 * of the block: the root of a reduce, or every rank in turn in a reduce_scatter.
 *
 * A rank that waits for a result is in the chain, too.  It receives from two ranks alternately
 * and must not stop the chain meanwhile; so the work goes segment by segment.
 *
 * Hazards: the first rank's input is overwritten, in place, by the value computed from it;
 * everything else goes through scratch.
 */
#include "core/schedule/schedule.h"

#include <linux/collective.h>

static bool ordered_rooted(const struct coll_plan *plan)
{
	return plan->collective == COLLECTIVE_REDUCE;
}

/* The elements of a block on this lane; a reduce has one block. */
static struct coll_range ordered_block(const struct coll_plan *plan, u32 owner)
{
	return ordered_rooted(plan) ? coll_plan_vector(plan) :
				      coll_plan_block(plan, plan->send_first, owner);
}

static u64 ordered_segments(const struct coll_plan *plan)
{
	return coll_plan_segments(plan, coll_plan_max_block(plan));
}

/* Number of blocks that go through the chain, one after the other. */
static u32 ordered_blocks(const struct coll_plan *plan)
{
	return ordered_rooted(plan) ? 1 : plan->nranks;
}

static u32 ordered_owner(const struct coll_plan *plan, u32 block)
{
	return ordered_rooted(plan) ? plan->root : block;
}

static u64 ordered_units(const struct coll_plan *plan)
{
	return ordered_segments(plan) * ordered_blocks(plan);
}

static u64 ordered_steps(const struct coll_plan *plan)
{
	return plan->nranks > 1 ? 2 * ordered_units(plan) : 0;
}

/* Does this rank receive in the chain, or send (@sends)? */
static bool ordered_chained(const struct coll_plan *plan, bool sends)
{
	return sends ? plan->rank + 1 < plan->nranks : plan->rank;
}

/* Is this rank the owner of the block, or the last rank, which sends the result (@sends)? */
static bool ordered_results(const struct coll_plan *plan, u32 owner, bool sends)
{
	u32 last = plan->nranks - 1;

	return owner != last && plan->rank == (sends ? last : owner);
}

/* Each iteration skips one block in which this rank moves nothing. */
static u64 ordered_next(const struct coll_plan *plan, u64 i, bool sends)
{
	u64 segments = ordered_segments(plan), segment;
	u32 block = div64_u64_rem(i / 2, segments, &segment);
	bool chained = ordered_chained(plan, sends);
	u32 odd = i & 1;

	for (; block < ordered_blocks(plan); block++, segment = 0, odd = 0) {
		u32 owner = ordered_owner(plan, block);
		bool results = ordered_results(plan, owner, sends);
		u64 end = coll_plan_segments(plan, ordered_block(plan, owner).count);

		/* After the results comes the next segment of the chain. */
		if (odd && !results) {
			odd = 0;
			segment++;
		}
		if (segment >= end || !(chained || results))
			continue;
		return 2 * (block * segments + segment) + (odd || !chained);
	}
	return U64_MAX;
}

/* The neighbours in the chain, and the last rank for the owner of a block that is not empty. */
static bool ordered_has_peer(const struct coll_plan *plan, u32 peer)
{
	u32 last = plan->nranks - 1, owner = plan->rank == last ? peer : plan->rank;

	if (peer + 1 == plan->rank || plan->rank + 1 == peer)
		return true;
	if (plan->rank != last && peer != last)
		return false;
	return ordered_rooted(plan) ? owner == plan->root : ordered_block(plan, owner).count;
}

static void ordered_step(const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	u64 unit = i / 2, segments = ordered_segments(plan), segment;
	u32 last = plan->nranks - 1;
	u32 owner = ordered_owner(plan, div64_u64_rem(unit, segments, &segment));
	struct coll_range elements = coll_plan_segment(plan, ordered_block(plan, owner),
						       segment);
	struct coll_span own = coll_plan_span(plan, elements, COLL_AREA_SEND), result = own;
	struct coll_span at = coll_plan_scratch_slot(plan, coll_plan_max_block(plan), unit);

	result.area = COLL_AREA_RECV;
	if (!ordered_rooted(plan))
		result.off -= coll_plan_before(plan, owner);
	if (!(i & 1)) {
		coll_chain_link(plan, plan->rank, own, at, step);
		if (plan->rank < last)
			step->to = plan->rank + 1;
		if (plan->rank)
			step->from = plan->rank - 1;
		if (plan->rank == last && owner == last) {
			step->in.area = COLL_AREA_RECV;
			step->in.off = result.off;
		}
		step->depends_on = plan->rank ? i + 1 : 0;
	} else if (owner != last) {
		if (plan->rank == last)
			step->to = owner;
		else if (plan->rank == owner)
			step->from = last;
		step->out = at;
		step->out.len = own.len;
		step->in = result;
		step->depends_on = i;
		step->cut_through = true;
		step->hazard = COLL_HAZARD_COVERED;
	}
	step->clear = !plan->rank || (plan->rank == last && owner == last);
	step->tag = ordered_rooted(plan) ? i << 10 | plan->root : i;
}

static u64 ordered_scratch(const struct coll_plan *plan)
{
	if (plan->nranks == 1 || !plan->rank)
		return 0;
	return coll_plan_scratch_slot(plan, coll_plan_max_block(plan), ordered_units(plan)).off;
}

const struct coll_schedule coll_ordered_reduce = {
	.name	= "ordered reduce",
	.algorithm = COLLECTIVE_ALGORITHM_RING,
	.windowed = true,
	.steps	= ordered_steps,
	.step	= ordered_step,
	.next	= ordered_next,
	.has_peer = ordered_has_peer,
	.local_copy = coll_local_alone,
	.scratch = ordered_scratch,
};

const struct coll_schedule coll_ordered_reduce_scatter = {
	.name	= "ordered reduce_scatter",
	.algorithm = COLLECTIVE_ALGORITHM_RING,
	.covers_all = true,
	.windowed = true,
	.steps	= ordered_steps,
	.step	= ordered_step,
	.next	= ordered_next,
	.has_peer = ordered_has_peer,
	.local_copy = coll_local_alone,
	.scratch = ordered_scratch,
};
