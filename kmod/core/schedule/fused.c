// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fused: on one host, a rank reads the memory of the others, and no payload is sent.
 *
 * All frames are signals, in barriers of log2(n) rounds.  After the first one all ranks take part,
 * and each reduces its own chunk from all inputs at once.  After the second one all chunks are
 * final, and each rank copies those of the others.  After the last one no memory is read any more.
 * An allreduce of n vectors loads and stores (n + 1) V to reduce, and 2 (n - 1) V to copy.
 *
 * A signal tells the whole call of its sender, the count included, but for the lengths of blocks
 * that differ, which are announced.  None is sent before those that it depends on have fitted.  So
 * a rank that has received all signals knows that all ranks called the same.
 *
 * The operands are taken in the order of the ring, or of a direct reduce_scatter, so that the
 * results are the same bit by bit.  Hazards: a chunk of the result is written by its owner before
 * the second barrier, when only its owner reads it, or after it, when no rank reads inputs.
 */
#include "core/schedule/schedule.h"

/* In tags of a reduce_scatter whose calls give the lengths of blocks.  No step has this number. */
#define FUSED_TAG_VECTOR	0x8000U

/* Rounds of a barrier. */
static u32 fused_rounds(const struct coll_plan *plan)
{
	u32 k = 0;

	while (1U << k < plan->nranks)
		k++;
	return k;
}

static u32 fused_behind(const struct coll_plan *plan, u32 k)
{
	return (plan->rank + k) % plan->nranks;
}

/* Step @i is round @k of a barrier, after all steps before it. */
static void fused_round(const struct coll_plan *plan, u64 i, u32 k, struct coll_step *step)
{
	step->to = fused_behind(plan, 1U << k);
	step->from = fused_behind(plan, plan->nranks - (1U << k));
	step->depends_on = i;
	step->signal = true;
}

/* The round of a barrier that receives from @peer; U64_MAX: none. */
static u64 fused_round_of(const struct coll_plan *plan, u32 peer)
{
	u32 rounds = fused_rounds(plan), k;

	for (k = 0; k < rounds; k++)
		if (fused_behind(plan, plan->nranks - (1U << k)) == peer)
			return k;
	return U64_MAX;
}

/* Reduce the elements at @range of the inputs of all ranks, from that of @first on. */
static void fused_reduce(const struct coll_plan *plan, struct coll_range range, u32 first,
			 struct coll_step *step)
{
	step->from = fused_behind(plan, 1);
	step->read = true;
	step->reduce = true;
	step->own = COLL_AREA_SEND;
	step->own_off = range.first * plan->size;
	step->first = plan->reproducible ? 0 : first % plan->nranks;
	step->last = true;
	step->in = coll_plan_span(plan, range, COLL_AREA_RECV);
}

/* Steps: a barrier, the reduction, a barrier, n - 1 copies, a barrier. */
static u64 fused_allreduce_steps(const struct coll_plan *plan)
{
	return coll_plan_moves(plan) ? 3 * fused_rounds(plan) + plan->nranks : 0;
}

static void fused_allreduce_step(const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	u32 rounds = fused_rounds(plan), copies = 2 * rounds + 1, last = 2 * rounds + plan->nranks;

	if (i < rounds) {
		fused_round(plan, i, i, step);
	} else if (i == rounds) {
		fused_reduce(plan, coll_plan_chunk(plan, plan->rank), plan->rank, step);
	} else if (i < copies) {
		fused_round(plan, i, i - rounds - 1, step);
	} else if (i < last) {
		step->from = fused_behind(plan, 1 + i - copies);
		step->read = true;
		step->in = coll_plan_span(plan, coll_plan_chunk(plan, step->from), COLL_AREA_RECV);
		step->hazard = COLL_HAZARD_COVERED;
	} else {
		fused_round(plan, i, i - last, step);
	}
}

static u64 fused_allreduce_last_from(const struct coll_plan *plan, u32 peer)
{
	u64 k = fused_round_of(plan, peer);

	return k == U64_MAX ? k : 2 * fused_rounds(plan) + plan->nranks + k;
}

const struct coll_schedule coll_fused_allreduce = {
	.name	= "fused allreduce",
	.algorithm = COLLECTIVE_ALGORITHM_DIRECT,
	.covers_all = true,
	.implicit_match = true,
	.reads	= true,
	.steps	= fused_allreduce_steps,
	.step	= fused_allreduce_step,
	.last_from = fused_allreduce_last_from,
	.local_copy = coll_local_alone,
};

/* Steps: a barrier, the reduction, a barrier. */
static u64 fused_reduce_scatter_steps(const struct coll_plan *plan)
{
	return coll_plan_moves(plan) ? 2 * fused_rounds(plan) + 1 : 0;
}

static void fused_reduce_scatter_step(const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	/* The order is that of the rounds of a direct one; of the ring, if sums are wide. */
	bool ring = plan->reproducible || coll_plan_wide(plan);
	u32 rounds = fused_rounds(plan);

	/* Neither the call nor the count tells that the lengths of blocks are given. */
	if (plan->vector)
		step->tag |= FUSED_TAG_VECTOR;
	if (i != rounds) {
		fused_round(plan, i, i < rounds ? i : i - rounds - 1, step);
		return;
	}
	fused_reduce(plan, coll_plan_block(plan, plan->send_first, plan->rank),
		     ring ? plan->rank + 1 : plan->nranks - plan->rank, step);
	step->own_first = !ring;
	step->in = coll_plan_span(plan, coll_plan_single(plan, plan->send_first, plan->rank),
				  COLL_AREA_RECV);
}

static u64 fused_reduce_scatter_last_from(const struct coll_plan *plan, u32 peer)
{
	u64 k = fused_round_of(plan, peer);

	return k == U64_MAX ? k : fused_rounds(plan) + 1 + k;
}

const struct coll_schedule coll_fused_reduce_scatter = {
	.name	= "fused reduce_scatter",
	.algorithm = COLLECTIVE_ALGORITHM_DIRECT,
	.covers_all = true,
	.implicit_match = true,
	.reads	= true,
	.steps	= fused_reduce_scatter_steps,
	.step	= fused_reduce_scatter_step,
	.last_from = fused_reduce_scatter_last_from,
	.local_copy = coll_local_alone,
};

/*
 * Reduce: the root receives n - 1 signals, reduces, and sends as many.  Another rank sends one and
 * receives one.  The order is that of the chain: the ranks behind the root in turn, the root's own
 * elements last.
 */
static u64 fused_root_steps(const struct coll_plan *plan)
{
	if (!coll_plan_moves(plan))
		return 0;
	return coll_plan_is_root(plan) ? 2 * (u64)(plan->nranks - 1) + 1 : 2;
}

static void fused_root_step(const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	bool root = coll_plan_is_root(plan);
	u32 m = plan->nranks - 1;
	bool begins = i < (root ? m : 1);

	/* The two signals of one pair have different tags, and so have those of another root. */
	step->tag = 2 * plan->root + !begins;
	if (root && i == m) {
		fused_reduce(plan, coll_plan_vector(plan), plan->root + 1, step);
		return;
	}
	step->signal = true;
	if (!root) {
		step->to = begins ? plan->root : COLL_NO_RANK;
		step->from = begins ? COLL_NO_RANK : plan->root;
	} else if (begins) {
		step->from = fused_behind(plan, 1 + i);
	} else {
		step->to = fused_behind(plan, i - m);
		step->depends_on = m + 1;
	}
}

static u64 fused_root_last_from(const struct coll_plan *plan, u32 peer)
{
	u32 k = (peer + plan->nranks - plan->rank) % plan->nranks;

	if (coll_plan_is_root(plan))
		return k - 1;
	return peer == plan->root ? 1 : U64_MAX;
}

const struct coll_schedule coll_fused_reduce = {
	.name	= "fused reduce",
	.algorithm = COLLECTIVE_ALGORITHM_DIRECT,
	.covers_all = true,
	.implicit_match = true,
	.reads	= true,
	.steps	= fused_root_steps,
	.step	= fused_root_step,
	.last_from = fused_root_last_from,
	.local_copy = coll_local_alone,
};
