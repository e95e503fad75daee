// SPDX-License-Identifier: GPL-2.0-only
/*
 * Trees and doubling: few steps, for what is small.
 *
 * Barrier: in round k rank r signals rank r + 2^k, which has then heard, itself or
 * through others, of the 2^(k + 1) ranks behind it (dissemination).
 *
 * Broadcast: who has the vector passes it on to the ranks 2^k, ... 4, 2, 1 further
 * (counted from the root) that are in nobody else's care: a binomial tree.
 *
 * Hazard: a broadcast writes what was never sent.
 */
#include "schedule.h"

/* Rounds of doubling until @n are reached. */
static u32 rounds(u32 n)
{
	u32 k = 0;

	while ((1U << k) < n)
		k++;
	return k;
}

static u32 tree_barrier_steps(const struct coll_plan *plan)
{
	return rounds(plan->nranks);
}

static void tree_barrier_step(const struct coll_plan *plan, u32 i, struct coll_step *step)
{
	u32 n = plan->nranks, far = 1U << i;

	step->to = (plan->rank + far) % n;
	step->from = (plan->rank + n - far) % n;
	step->need = i;
	step->token = true;
}

const struct coll_schedule coll_tree_barrier = {
	.name	= "dissemination barrier",
	.steps	= tree_barrier_steps,
	.step	= tree_barrier_step,
};

static u32 tree_broadcast_steps(const struct coll_plan *plan)
{
	return coll_plan_moves(plan) ? 1 + rounds(plan->nranks) : 0;
}

static void tree_broadcast_step(const struct coll_plan *plan, u32 i, struct coll_step *step)
{
	u32 n = plan->nranks, top = rounds(n);
	u32 me = (plan->rank + n - plan->root) % n;
	u32 low = me ? me & -me : 1U << top;
	u32 far = i ? 1U << (top - i) : 0;

	step->in = coll_plan_span(plan, coll_plan_block(plan, 0), COLL_AREA_RECV);
	step->out = coll_plan_span(plan, coll_plan_block(plan, 0),
				   me ? COLL_AREA_RECV : COLL_AREA_SEND);
	if (!i && me)
		step->from = (me - low + plan->root) % n;
	else if (i && far < low && me + far < n)
		step->to = (me + far + plan->root) % n;
	step->tag = plan->root;
	step->need = 1;
	step->forward = true;
}

const struct coll_schedule coll_tree_broadcast = {
	.name	= "binomial broadcast",
	.steps	= tree_broadcast_steps,
	.step	= tree_broadcast_step,
	.local	= coll_local_root,
};
