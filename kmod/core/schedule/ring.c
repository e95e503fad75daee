// SPDX-License-Identifier: GPL-2.0-only
#include "core/schedule/ring.h"

/**
 * coll_ring_round() - a step of a reduction through scratch, along the ring
 * @plan: the plan
 * @longest: elements of the longest block or chunk
 * @i: number of the step
 * @out: elements of the block that is sent in this round
 * @in: elements of the block that is received and reduced
 * @step: out
 *
 * In each of n - 1 rounds the received elements are reduced with the own ones.  All but the last
 * round store them in scratch, from where the next round sends them.  All rounds of one segment
 * come before those of the next segment.
 */
void coll_ring_round(const struct coll_plan *plan, u64 longest, u64 i,
		     struct coll_range out, struct coll_range in, struct coll_step *step)
{
	u32 last = plan->nranks - 2, round;
	u64 segment = div_u64_rem(i, last + 1, &round);
	u64 place = segment * last + round;
	bool wide = coll_plan_wide(plan);

	out = coll_plan_segment(plan, out, segment);
	in = coll_plan_segment(plan, in, segment);
	step->to = coll_ring_next(plan);
	step->from = coll_ring_previous(plan);
	step->out = coll_plan_span(plan, out, COLL_AREA_SEND);
	if (round) {
		step->out = coll_plan_scratch_slot(plan, longest, place - 1);
		step->out.len = out.count * coll_plan_scratch_elem_size(plan);
		step->depends_on = i;
		step->cut_through = true;
	}
	step->reduce = true;
	step->own = COLL_AREA_SEND;
	step->own_off = in.first * plan->size;
	step->last = round == last;
	step->wide_in = wide && round;
	step->wide_out = wide && !step->last;
	if (!step->last)
		step->in = coll_plan_scratch_slot(plan, longest, place);
	step->in.len = in.count * plan->size << step->wide_in;
	step->clear = !last;
	step->hazard = COLL_HAZARD_NEVER_SENT;
}

/**
 * coll_ring_next_round() - the next step in which the block has elements in the segment
 * @plan: the plan
 * @i: number of the first step that is looked at
 * @first: the block is that of its round plus @first
 * @block: the elements of a block
 *
 * Later segments have no more elements of any block than earlier ones, so one look at each block is
 * enough.
 *
 * Return: number of the step, or U64_MAX.
 */
u64 coll_ring_next_round(const struct coll_plan *plan, u64 i, u32 first,
			 struct coll_range (*block)(const struct coll_plan *plan, u32 back))
{
	u32 rounds = plan->nranks - 1, round, n;
	u64 segment = div_u64_rem(i, rounds, &round);

	for (n = 0; n < rounds; n++, i++) {
		if (segment < coll_plan_segments(plan, block(plan, round + first).count))
			return i;
		if (++round == rounds) {
			round = 0;
			segment++;
		}
	}
	return U64_MAX;
}

/**
 * coll_ring_scratch() - memory of such a reduction
 * @plan: the plan
 * @longest: elements of the longest block or chunk
 *
 * Every round but the last stores one segment.
 *
 * Return: bytes.
 */
u64 coll_ring_scratch(const struct coll_plan *plan, u64 longest)
{
	u64 places = coll_plan_segments(plan, longest) * (plan->nranks - 2);

	return plan->nranks > 2 ? coll_plan_scratch_slot(plan, longest, places).off : 0;
}
