// SPDX-License-Identifier: GPL-2.0-only
/*
 * The chain: rank 0 to rank 1 to rank 2, each adding its own to what comes.
 *
 * The elements are reduced in the order of ranks, ((x0 op x1) op x2) and so on,
 * whatever the lanes and the sizes of messages.  That is what a scan needs, and
 * what makes an allreduce reproducible: there, the last rank's result goes on
 * around the ring to all others.  Every rank sends the vector twice (the last
 * two but once), where the ring sends 2 (n - 1) / n of it.
 *
 * Hazards: the first pass writes what was never sent.  The second overwrites
 * the partial result that was sent in the first; the value that arrives was
 * computed from it, so the next rank has consumed it, byte by byte.
 */
#include "core/schedule/schedule.h"

static struct coll_span chain_vector(const struct coll_plan *plan, u8 area)
{
	return coll_plan_span(plan, coll_plan_vector(plan), area);
}

static bool chain_first(const struct coll_plan *plan)
{
	return !plan->rank;
}

static bool chain_last(const struct coll_plan *plan)
{
	return plan->rank + 1 == plan->nranks;
}

/* Up the chain: what comes is reduced with our own, and goes on as it is stored. */
static void chain_up(const struct coll_plan *plan, struct coll_step *step)
{
	if (!chain_last(plan))
		step->to = plan->rank + 1;
	if (!chain_first(plan))
		step->from = plan->rank - 1;
	step->out = chain_vector(plan, chain_first(plan) ? COLL_AREA_SEND : COLL_AREA_RECV);
	step->in = chain_vector(plan, COLL_AREA_RECV);
	step->depends_on = chain_first(plan) ? 0 : 1;
	step->cut_through = !chain_first(plan);
	step->reduce = true;
	step->own = COLL_AREA_SEND;
	step->own_off = step->in.off;
	step->hazard = COLL_HAZARD_NEVER_SENT;
}

static u64 chain_scan_steps(const struct coll_plan *plan)
{
	return coll_plan_moves(plan) ? 1 : 0;
}

static void chain_scan_step(const struct coll_plan *plan, u64 i __maybe_unused,
			    struct coll_step *step)
{
	chain_up(plan, step);
}

const struct coll_schedule coll_chain_scan = {
	.name	= "chain scan",
	.algorithm = COLLECTIVE_ALGORITHM_RING,
	.ring	= true,
	.steps	= chain_scan_steps,
	.step	= chain_scan_step,
	.local_copy = coll_local_first,
};

static u64 chain_allreduce_steps(const struct coll_plan *plan)
{
	return coll_plan_moves(plan) ? 2 : 0;
}

/* From the last rank to rank 0 and on, up to the last but one. */
static void chain_around(const struct coll_plan *plan, struct coll_step *step)
{
	u32 n = plan->nranks;

	step->out = chain_vector(plan, COLL_AREA_RECV);
	step->in = chain_vector(plan, COLL_AREA_RECV);
	step->hazard = COLL_HAZARD_COVERED;
	if (plan->rank + 2 != n)
		step->to = (plan->rank + 1) % n;
	if (chain_last(plan)) {
		step->depends_on = 1;
	} else {
		step->from = (plan->rank + n - 1) % n;
		step->depends_on = 2;
	}
	step->cut_through = true;
}

static void chain_allreduce_step(const struct coll_plan *plan, u64 i,
				 struct coll_step *step)
{
	if (i) {
		chain_around(plan, step);
		return;
	}
	chain_up(plan, step);
	step->last = chain_last(plan);
}

const struct coll_schedule coll_chain_allreduce = {
	.name	= "chain allreduce",
	.algorithm = COLLECTIVE_ALGORITHM_RING,
	.ring	= true,
	.covers_all = true,
	.steps	= chain_allreduce_steps,
	.step	= chain_allreduce_step,
	.local_copy = coll_local_alone,
};

/*
 * Chains whose partial results are not ours to keep: they go through scratch, and on
 * as they are stored.  Sums that are to be rounded once are wide there; what the
 * first rank sends is its input, and what the last one stores is rounded.
 */

/**
 * coll_chain_link() - take from the one before us, reduce with our own, pass on
 * @plan: the operation
 * @place: ours in the chain
 * @own: span of our own operand
 * @at: where in scratch the partial result has its place
 * @step: filled in, but for the peers, and where the last one stores the result
 */
void coll_chain_link(const struct coll_plan *plan, u32 place, struct coll_span own,
		     struct coll_span at, struct coll_step *step)
{
	bool wide = coll_plan_wide(plan);

	step->reduce = true;
	step->own = own.area;
	step->own_off = own.off;
	step->last = place + 1 == plan->nranks;
	step->wide_in = wide && place > 1;
	step->wide_out = wide && !step->last;
	step->in = at;
	step->in.len = own.len << step->wide_in;
	step->out = at;
	step->out.len = own.len << wide;
	if (!place)
		step->out = own;
	step->cut_through = place;
	step->hazard = COLL_HAZARD_NEVER_SENT;
}

/* The vector goes through those in the middle. */
static u64 chain_through(const struct coll_plan *plan, u32 place)
{
	if (!place || place + 1 == plan->nranks)
		return 0;
	return coll_plan_vector(plan).count * coll_plan_scratch_elem_size(plan);
}

static u64 chain_scratch(const struct coll_plan *plan)
{
	return chain_through(plan, plan->rank);
}

/* Reduce: the chain begins behind the root and ends with it. */
static u32 chain_reduce_place(const struct coll_plan *plan)
{
	return (plan->rank + plan->nranks - plan->root - 1) % plan->nranks;
}

static void chain_reduce_step(const struct coll_plan *plan, u64 i __maybe_unused,
			      struct coll_step *step)
{
	u32 n = plan->nranks, place = chain_reduce_place(plan);

	coll_chain_link(plan, place, chain_vector(plan, COLL_AREA_SEND),
			(struct coll_span){ .area = COLL_AREA_SCRATCH }, step);
	if (step->last) {
		step->in.area = COLL_AREA_RECV;
		step->in.off = step->own_off;
	} else {
		step->to = (plan->rank + 1) % n;
	}
	if (place)
		step->from = (plan->rank + n - 1) % n;
	step->depends_on = place ? 1 : 0;
	step->tag = plan->root;
}

static u64 chain_reduce_scratch(const struct coll_plan *plan)
{
	return chain_through(plan, chain_reduce_place(plan));
}

const struct coll_schedule coll_chain_reduce = {
	.name	= "chain reduce",
	.algorithm = COLLECTIVE_ALGORITHM_RING,
	.ring	= true,
	.windowed = true,
	.steps	= chain_scan_steps,
	.step	= chain_reduce_step,
	.local_copy = coll_local_alone,
	.scratch = chain_reduce_scratch,
};

/* The prefix that arrives is our result, and with our own what the next one wants. */
static void chain_exscan_step(const struct coll_plan *plan, u64 i __maybe_unused,
			      struct coll_step *step)
{
	struct coll_span at = { .area = COLL_AREA_SCRATCH };

	coll_chain_link(plan, plan->rank, chain_vector(plan, COLL_AREA_SEND), at, step);
	step->last = false;
	if (!chain_first(plan))
		step->from = plan->rank - 1;
	step->depends_on = chain_first(plan) ? 0 : 1;
	if (chain_last(plan)) {
		step->in = chain_vector(plan, COLL_AREA_RECV);
		step->reduce = false;
	} else {
		step->to = plan->rank + 1;
		step->tee = chain_vector(plan, COLL_AREA_RECV);
	}
}

const struct coll_schedule coll_chain_exscan = {
	.name	= "chain exscan",
	.algorithm = COLLECTIVE_ALGORITHM_RING,
	.ring	= true,
	.windowed = true,
	.steps	= chain_scan_steps,
	.step	= chain_exscan_step,
	.scratch = chain_scratch,
};

static void chain_allreduce_wide_step(const struct coll_plan *plan, u64 i,
				      struct coll_step *step)
{
	struct coll_span at = { .area = COLL_AREA_SCRATCH };

	if (i) {
		chain_around(plan, step);
		return;
	}
	coll_chain_link(plan, plan->rank, chain_vector(plan, COLL_AREA_SEND), at, step);
	if (!chain_first(plan))
		step->from = plan->rank - 1;
	step->depends_on = chain_first(plan) ? 0 : 1;
	if (chain_last(plan)) {
		step->in.area = COLL_AREA_RECV;
		step->in.off = step->own_off;
	} else {
		step->to = plan->rank + 1;
	}
}

const struct coll_schedule coll_chain_allreduce_wide = {
	.name	= "wide chain allreduce",
	.algorithm = COLLECTIVE_ALGORITHM_RING,
	.ring	= true,
	.covers_all = true,
	.windowed = true,
	.steps	= chain_allreduce_steps,
	.step	= chain_allreduce_wide_step,
	.local_copy = coll_local_alone,
	.scratch = chain_scratch,
};
