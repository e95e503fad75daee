// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lengths that only the root knows: from it to each rank, in messages.
 *
 * Each of the others has one step, that takes what comes as far as it has room, and
 * is told how long it is by the frames themselves: as in p2p.c.  All goes on
 * one lane, for two could not tell one length.  So the root of a broadcast sends
 * all of it n - 1 times, to one rank after the other, and what is not eager costs a
 * round trip of each.
 *
 * Hazards: nothing is written that is sent.
 */
#include "core/schedule/schedule.h"

static struct coll_range varlen_all(const struct coll_plan *plan)
{
	return (struct coll_range){ .count = plan->count };
}

/* A rank's block where there are all of them: at the root of a scatter. */
static struct coll_range varlen_block(const struct coll_plan *plan, u32 rank)
{
	u64 first = coll_plan_first(plan, plan->send_first, rank);

	return (struct coll_range){
		.first = first,
		.count = coll_plan_first(plan, plan->send_first, rank + 1) - first,
	};
}

static u64 varlen_steps(const struct coll_plan *plan)
{
	return coll_plan_is_root(plan) ? plan->nranks - 1 : 1;
}

static void varlen_send(const struct coll_plan *plan, u32 to, struct coll_range range,
			struct coll_step *step)
{
	step->to = to;
	step->out = coll_plan_span(plan, range, COLL_AREA_SEND);
	step->signal = !range.count;
	step->single_frame = true;
}

static void varlen_receive(const struct coll_plan *plan, struct coll_step *step)
{
	step->from = plan->root;
	step->in = coll_plan_span(plan, varlen_all(plan), COLL_AREA_RECV);
	step->signal = !plan->count;
	step->single_frame = true;
	step->length_from_sender = true;
}

static u64 varlen_last_from(const struct coll_plan *plan, u32 peer)
{
	return !coll_plan_is_root(plan) && peer == plan->root ? 0 : U64_MAX;
}

static void varlen_broadcast_step(const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	step->tag = plan->root;
	if (coll_plan_is_root(plan))
		varlen_send(plan, (plan->root + 1 + i) % plan->nranks, varlen_all(plan), step);
	else
		varlen_receive(plan, step);
}

static void varlen_broadcast_local(const struct coll_plan *plan, struct coll_local_copy *local)
{
	if (coll_plan_is_root(plan))
		coll_plan_local_copy(plan, varlen_all(plan), varlen_all(plan), local);
}

const struct coll_schedule coll_varlen_broadcast = {
	.name	= "broadcast of any length",
	.algorithm = COLLECTIVE_ALGORITHM_DIRECT,
	.steps	= varlen_steps,
	.step	= varlen_broadcast_step,
	.last_from = varlen_last_from,
	.local_copy = varlen_broadcast_local,
};

static void varlen_scatter_step(const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	u32 to = (plan->root + 1 + i) % plan->nranks;

	step->tag = plan->root;
	if (coll_plan_is_root(plan))
		varlen_send(plan, to, varlen_block(plan, to), step);
	else
		varlen_receive(plan, step);
}

static void varlen_scatter_local(const struct coll_plan *plan, struct coll_local_copy *local)
{
	if (coll_plan_is_root(plan))
		coll_plan_local_copy(plan, varlen_block(plan, plan->rank), varlen_all(plan), local);
}

const struct coll_schedule coll_varlen_scatter = {
	.name	= "scatter of any lengths",
	.algorithm = COLLECTIVE_ALGORITHM_DIRECT,
	.steps	= varlen_steps,
	.step	= varlen_scatter_step,
	.last_from = varlen_last_from,
	.local_copy = varlen_scatter_local,
};
