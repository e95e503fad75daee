// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages: one rank sends and one receives; no other rank takes part.
 *
 * A message is one step with the whole vector, on one lane.  No rank announces it, so its frames
 * tell its length: an eager message is one frame, and for a larger one the sender requests a
 * grant, which tells the length.  With @varlen, the receiver accepts any length up to its
 * capacity.
 *
 * Hazards: nothing is written that was sent.
 *
 * A message of a rank to itself has no step: the receive copies what the send has.
 */
#include "core/schedule/schedule.h"

#include <linux/collective.h>

static struct coll_span p2p_vector(const struct coll_plan *plan, u8 area)
{
	struct coll_range all = { .count = plan->count };

	return coll_plan_span(plan, all, area);
}

static u64 p2p_steps(const struct coll_plan *plan __maybe_unused)
{
	return 1;
}

static void send_step(const struct coll_plan *plan, u64 i __maybe_unused,
		      struct coll_step *step)
{
	step->to = plan->root;
	step->out = p2p_vector(plan, COLL_AREA_SEND);
	step->signal = !plan->count;
	step->single_frame = true;
}

const struct coll_schedule coll_p2p_send = {
	.name	= "send",
	.algorithm = COLLECTIVE_ALGORITHM_DIRECT,
	.steps	= p2p_steps,
	.step	= send_step,
};

static void recv_step(const struct coll_plan *plan, u64 i __maybe_unused,
		      struct coll_step *step)
{
	step->from = plan->root;
	step->in = p2p_vector(plan, COLL_AREA_RECV);
	step->signal = !plan->count;
	step->single_frame = true;
	step->length_from_sender = plan->varlen;
}

const struct coll_schedule coll_p2p_recv = {
	.name	= "receive",
	.algorithm = COLLECTIVE_ALGORITHM_DIRECT,
	.steps	= p2p_steps,
	.step	= recv_step,
};

static u64 self_steps(const struct coll_plan *plan __maybe_unused)
{
	return 0;
}

/* All on one lane, as a message between two ranks. */
static void self_copy(const struct coll_plan *plan, struct coll_local_copy *local)
{
	struct coll_range all = { .count = plan->count };

	coll_plan_local_copy(plan, all, all, local);
}

const struct coll_schedule coll_p2p_self = {
	.name	= "self",
	.algorithm = COLLECTIVE_ALGORITHM_DIRECT,
	.steps	= self_steps,
	.local_copy = self_copy,
};
