// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fused: on one host, a rank reads the memory of the others, and no payload is sent.
 *
 * All frames are signals, in barriers.  After the first one all ranks take part, and each reduces
 * its own chunk from all inputs at once.  After the second one all chunks are final, and each rank
 * copies those of the others.  After the last one no memory is read any more.  An allreduce of n
 * vectors loads and stores (n + 1) V to reduce, and 2 (n - 1) V to copy.
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

/*
 * A barrier of few ranks is a dissemination: log2(n) rounds of a signal each.  One of more ranks
 * goes up a tree to rank 0 and down again.  That takes two signals a rank, of which at most
 * 2 log4(n) wait for one another.  The parent of a rank has the same number but for its lowest
 * digit to the base of four that is not 0, which it has cleared.  So most signals stay among ranks
 * with near numbers, which share a CPU or a part of the caches.
 */
#define FUSED_FLAT_RANKS	8
#define FUSED_DIGIT		2	/* bits */

static u32 fused_behind(const struct coll_plan *plan, u32 k)
{
	return (plan->rank + k) % plan->nranks;
}

static bool fused_flat(const struct coll_plan *plan)
{
	return plan->nranks <= FUSED_FLAT_RANKS;
}

/* Rounds of a dissemination. */
static u32 fused_rounds(const struct coll_plan *plan)
{
	u32 k = 0;

	while (1U << k < plan->nranks)
		k++;
	return k;
}

/* From a rank to its child @k, if it has so many: 1, 2, 3, 4, 8, 12, 16, 32, 48, ... */
static u32 fused_distance(u32 k)
{
	const u32 each = (1U << FUSED_DIGIT) - 1;

	return (k % each + 1) << FUSED_DIGIT * (k / each);
}

/* The lowest digit of a rank that is not 0, in its place; 0 of rank 0. */
static u32 fused_digit(u32 rank)
{
	u32 mask = (1U << FUSED_DIGIT) - 1;

	while (rank && !(rank & mask))
		mask <<= FUSED_DIGIT;
	return rank & mask;
}

static u32 fused_parent(const struct coll_plan *plan)
{
	return plan->rank - fused_digit(plan->rank);
}

static u32 fused_children(const struct coll_plan *plan)
{
	u32 k = 0;

	while (plan->rank + fused_distance(k) < plan->nranks &&
	       fused_digit(plan->rank + fused_distance(k)) == fused_distance(k))
		k++;
	return k;
}

/* Steps of a barrier. */
static u32 fused_barrier_steps(const struct coll_plan *plan)
{
	if (fused_flat(plan))
		return fused_rounds(plan);
	return 2 * fused_children(plan) + !!plan->rank;
}

/* Up: signals of all children, then one to the parent.  Down: one of the parent, then to all. */
static void fused_tree_step(const struct coll_plan *plan, u32 k, struct coll_step *step)
{
	u32 children = fused_children(plan);

	if (k < children) {
		step->from = plan->rank + fused_distance(k);
	} else if (k == children && plan->rank) {
		step->to = fused_parent(plan);
		step->from = fused_parent(plan);
	} else {
		step->to = plan->rank + fused_distance(k - children - !!plan->rank);
	}
}

/* Step @i is step @k of barrier @number; it sends after all steps before it. */
static void fused_barrier_step(const struct coll_plan *plan, u64 i, u32 k, u32 number,
			       struct coll_step *step)
{
	step->depends_on = i;
	step->signal = true;
	if (fused_flat(plan)) {
		step->to = fused_behind(plan, 1U << k);
		step->from = fused_behind(plan, plan->nranks - (1U << k));
		return;
	}
	fused_tree_step(plan, k, step);
	step->tag = number;
}

/* The step of a barrier that receives from @peer; U64_MAX: none. */
static u64 fused_barrier_from(const struct coll_plan *plan, u32 peer)
{
	u32 steps = fused_barrier_steps(plan), k;

	for (k = 0; k < steps; k++) {
		struct coll_step step = { .from = COLL_NO_RANK };

		fused_barrier_step(plan, k, k, 0, &step);
		if (step.from == peer)
			return k;
	}
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
	return coll_plan_moves(plan) ? 3 * fused_barrier_steps(plan) + plan->nranks : 0;
}

static void fused_allreduce_step(const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	u32 steps = fused_barrier_steps(plan);
	u32 copies = 2 * steps + 1, last = 2 * steps + plan->nranks;

	if (i < steps) {
		fused_barrier_step(plan, i, i, 0, step);
	} else if (i == steps) {
		fused_reduce(plan, coll_plan_chunk(plan, plan->rank), plan->rank, step);
	} else if (i < copies) {
		fused_barrier_step(plan, i, i - steps - 1, 1, step);
	} else if (i < last) {
		step->from = fused_behind(plan, 1 + i - copies);
		step->read = true;
		step->in = coll_plan_span(plan, coll_plan_chunk(plan, step->from), COLL_AREA_RECV);
		step->hazard = COLL_HAZARD_COVERED;
	} else {
		fused_barrier_step(plan, i, i - last, 2, step);
	}
}

static u64 fused_allreduce_last_from(const struct coll_plan *plan, u32 peer)
{
	u64 k = fused_barrier_from(plan, peer);

	return k == U64_MAX ? k : 2 * fused_barrier_steps(plan) + plan->nranks + k;
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
	return coll_plan_moves(plan) ? 2 * fused_barrier_steps(plan) + 1 : 0;
}

static void fused_reduce_scatter_step(const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	/* The order is that of the rounds of a direct one; of the ring, if sums are wide. */
	bool ring = plan->reproducible || coll_plan_wide(plan);
	u32 steps = fused_barrier_steps(plan);

	if (i != steps) {
		fused_barrier_step(plan, i, i < steps ? i : i - steps - 1, i > steps, step);
		/* Neither the call nor the count tells that the lengths of blocks are given. */
		if (plan->vector)
			step->tag |= FUSED_TAG_VECTOR;
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
	u64 k = fused_barrier_from(plan, peer);

	return k == U64_MAX ? k : fused_barrier_steps(plan) + 1 + k;
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
