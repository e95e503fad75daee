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
#include "schedule.h"

static struct coll_span chain_vector(const struct coll_plan *plan, u8 area)
{
	return coll_plan_span(plan, coll_plan_block(plan, 0), area);
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
	step->need = chain_first(plan) ? 0 : 1;
	step->forward = !chain_first(plan);
	step->reduce = true;
	step->own = COLL_AREA_SEND;
	step->own_off = step->in.off;
	step->hazard = COLL_HAZARD_NEVER_SENT;
}

static u32 chain_scan_steps(const struct coll_plan *plan)
{
	return coll_plan_moves(plan) ? 1 : 0;
}

static void chain_scan_step(const struct coll_plan *plan, u32 i __maybe_unused,
			    struct coll_step *step)
{
	chain_up(plan, step);
}

static void chain_scan_local(const struct coll_plan *plan, struct coll_local *local)
{
	if (chain_first(plan))
		coll_plan_local(plan, 0, 0, local);
}

const struct coll_schedule coll_chain_scan = {
	.name	= "chain scan",
	.ring	= true,
	.steps	= chain_scan_steps,
	.step	= chain_scan_step,
	.local	= chain_scan_local,
};

static u32 chain_allreduce_steps(const struct coll_plan *plan)
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
		step->need = 1;
	} else {
		step->from = (plan->rank + n - 1) % n;
		step->need = 2;
	}
	step->forward = true;
}

static void chain_allreduce_step(const struct coll_plan *plan, u32 i,
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
	.ring	= true,
	.steps	= chain_allreduce_steps,
	.step	= chain_allreduce_step,
	.local	= coll_local_alone,
};
