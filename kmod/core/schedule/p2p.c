// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages: one rank sends, another receives, and nobody else knows of it.
 *
 * One step of the whole vector, on one lane.  As no rank announces a message, its
 * frames say how long it is: what is eager comes in one frame, and for what is not
 * the sender asks for a grant, telling the length.  A receiver that has room for it
 * and no more to say (@varlen) takes any length.
 *
 * Hazards: nothing is written that is sent.
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
