// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ring: each rank sends to the next rank and receives from the previous one.
 *
 * Allreduce cuts the elements into as many chunks as there are ranks.  In step s rank r sends
 * chunk r - s and receives chunk r - s - 1 (modulo n).  The first n - 1 steps reduce the received
 * chunk with the own one.  Then rank r holds the finished chunk r + 1, and n - 1 more steps carry
 * the finished chunks around.  Step s > 0 forwards what step s - 1 receives, with cut-through.
 *
 * Hazards: the reducing steps write chunks that this rank has not sent.  The gathering steps
 * overwrite, in place, the partial sum sent n - 1 steps earlier; the finished value was computed
 * from it, so the next rank has consumed it, byte by byte.
 */
#include "core/schedule/schedule.h"

static u32 ring_next(const struct coll_plan *plan)
{
	return plan->rank + 1 == plan->nranks ? 0 : plan->rank + 1;
}

static u32 ring_previous(const struct coll_plan *plan)
{
	return (plan->rank ? plan->rank : plan->nranks) - 1;
}

/* The chunk that @back steps around the ring behind ours, in elements. */
static struct coll_range ring_piece(const struct coll_plan *plan, u32 back)
{
	u32 n = plan->nranks;

	return coll_plan_chunk(plan, (plan->rank + n - back % n) % n);
}

/* The same, in bytes. */
static struct coll_span ring_chunk(const struct coll_plan *plan, u32 back, u8 area)
{
	return coll_plan_span(plan, ring_piece(plan, back), area);
}

static u64 ring_allreduce_steps(const struct coll_plan *plan)
{
	return coll_plan_vector(plan).count ? 2 * (plan->nranks - 1) : 0;
}

static void ring_allreduce_step(const struct coll_plan *plan, u64 i,
				struct coll_step *step)
{
	u32 reducing = plan->nranks - 1;

	step->to = ring_next(plan);
	step->from = ring_previous(plan);
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
	step->to = ring_next(plan);
	step->from = ring_previous(plan);
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

	if (ring_next(plan) != plan->root)
		step->to = ring_next(plan);
	if (!root)
		step->from = ring_previous(plan);
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
	step->to = ring_next(plan);
	step->from = ring_previous(plan);
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

/*
 * Reductions through scratch.  In each of n - 1 rounds the received elements are reduced with the
 * own ones.  All but the last round store them in scratch, from where the next round sends them.
 * All rounds of one segment come before those of the next segment.
 */
static void ring_round(const struct coll_plan *plan, u64 longest, u64 i,
		       struct coll_range out, struct coll_range in, struct coll_step *step)
{
	u32 last = plan->nranks - 2, round;
	u64 segment = div_u64_rem(i, last + 1, &round);
	u64 place = segment * last + round;
	bool wide = coll_plan_wide(plan);

	out = coll_plan_segment(plan, out, segment);
	in = coll_plan_segment(plan, in, segment);
	step->to = ring_next(plan);
	step->from = ring_previous(plan);
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

/*
 * The first step from @i on in which the block has elements in the segment; the block is that of
 * its round plus @first.  Later segments have no more elements of any block than earlier ones, so
 * one look at each block is enough.
 */
static u64 ring_next_round(const struct coll_plan *plan, u64 i, u32 first,
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

/* Every round but the last stores one segment. */
static u64 ring_scratch(const struct coll_plan *plan, u64 longest)
{
	u64 places = coll_plan_segments(plan, longest) * (plan->nranks - 2);

	return plan->nranks > 2 ? coll_plan_scratch_slot(plan, longest, places).off : 0;
}

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
	ring_round(plan, coll_plan_max_block(plan), i, ring_block_of(plan, round + 1), in, step);
	if (step->last) {
		step->in.area = COLL_AREA_RECV;
		step->in.off = step->own_off - coll_plan_before(plan, plan->rank);
	}
}

static u64 ring_reduce_scatter_next(const struct coll_plan *plan, u64 i, bool sends)
{
	return ring_next_round(plan, i, sends ? 1 : 2, ring_block_of);
}

static u64 ring_reduce_scatter_scratch(const struct coll_plan *plan)
{
	return ring_scratch(plan, coll_plan_max_block(plan));
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
		ring_round(plan, ring_longest_chunk(plan), i, ring_piece(plan, round),
			   ring_piece(plan, round + 1), step);
		if (step->last) {
			step->in.area = COLL_AREA_RECV;
			step->in.off = step->own_off;
		}
		return;
	}
	round = i - reducing;
	step->to = ring_next(plan);
	step->from = ring_previous(plan);
	step->out = coll_plan_span(plan, ring_piece(plan, n - 1 + round), COLL_AREA_RECV);
	step->in = coll_plan_span(plan, ring_piece(plan, n + round), COLL_AREA_RECV);
	step->depends_on = i;
	step->cut_through = round > 0;
	step->hazard = COLL_HAZARD_COVERED;
}

static u64 ring_allreduce_wide_next(const struct coll_plan *plan, u64 i, bool sends)
{
	u64 reducing = ring_wide_reducing(plan);

	return i < reducing ? min(ring_next_round(plan, i, !sends, ring_piece), reducing) : i;
}

static u64 ring_allreduce_wide_scratch(const struct coll_plan *plan)
{
	return ring_scratch(plan, ring_longest_chunk(plan));
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
