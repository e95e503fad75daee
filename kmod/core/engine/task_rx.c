// SPDX-License-Identifier: GPL-2.0-only
/* What arrives: whose turn it is, whether a frame fits the step, and where it goes. */
#include "core/engine/task.h"

#include <linux/collective.h>

/**
 * coll_task_next_source() - is a peer's turn still to come?
 * @inst: the instance
 * @peer: the peer
 *
 * Asked for what is sent on credit, of which every 32 bytes may be another frame: so it
 * looks at one step, or at COLL_STEPS_FEW.
 *
 * Return: true when something is taken from there later.
 */
bool coll_task_next_source(const struct coll_task *inst, u32 peer)
{
	const struct coll_schedule *schedule = inst->schedule;
	const struct coll_plan *plan = &inst->args.plan;
	u64 i = inst->rx_step, end = inst->nsteps;
	struct coll_step step;

	if (inst_received(inst))
		return false;
	/* It has not begun. */
	if (inst->rx.from == peer)
		return true;
	if (!inst->args.eager || schedule->ring)
		return false;
	if (schedule->turn) {
		u64 turn = schedule->turn(plan, peer);

		if (turn < i || turn >= end)
			return false;
		i = turn;
		end = turn + 1;
	}
	for (; i < end; i++) {
		coll_schedule_step(schedule, plan, i, &step);
		if (step.from == peer && step_in(&step))
			return true;
	}
	return false;
}

/**
 * coll_task_receives() - is it a peer's turn?
 * @inst: the instance
 * @peer: the peer
 *
 * Return: true when what comes from there is taken now.
 */
bool coll_task_receives(const struct coll_task *inst, u32 peer)
{
	return !inst_received(inst) && inst->run_started && inst->rx.from == peer;
}

/*
 * The first frame of a step whose length has not been agreed on: all of it, or what
 * asks for a grant of as much.
 */
static bool inst_expects_whole(const struct coll_task *inst, const struct coll_data *data)
{
	u64 whole = coll_data_whole(data);

	if (inst->rx_off || (data->offset && !(data->flags & COLL_DATA_REQUEST)))
		return false;
	if (inst->rx.length_from_sender && !inst->sized)
		return !(whole & (inst->args.plan.size - 1));
	return inst->rx.in.len == whole;
}

/**
 * coll_task_expects() - does a frame of the peer whose turn it is fit?
 * @inst: the instance
 * @data: its header
 *
 * Return: true when it does.
 */
bool coll_task_expects(const struct coll_task *inst, const struct coll_data *data)
{
	if (data->step != (u16)inst->rx.tag)
		return false;
	/* Nothing of what is large is sent on credit; of some only the sender knows how large. */
	if (data->flags & COLL_DATA_EAGER && !inst->args.eager && !inst->rx.single_frame)
		return false;
	if (inst->rx.single_frame && data->flags & COLL_DATA_EAGER)
		return inst_expects_whole(inst, data);
	if (data->offset != inst->rx_off || (inst->rx.length_from_sender && !inst->sized))
		return false;
	if (data->flags & COLL_DATA_REQUEST)
		return true;
	if (inst->rx.signal)
		return !data->length;
	return data->length && data->length <= inst->rx.in.len - inst->rx_off &&
	       !(data->length & ((inst->args.plan.size << inst->rx.wide_in) - 1));
}

/**
 * coll_task_granted() - has the sender of a frame that fits been granted it?
 * @inst: the instance
 * @data: its header, which is not of an eager frame
 *
 * Return: false: no honest peer sends it, whatever it has called.
 */
bool coll_task_granted(const struct coll_task *inst, const struct coll_data *data)
{
	u64 end = inst->rx_off + (inst->rx.signal ? 1 : data->length);

	if (inst->granted)
		return true;
	if (!inst->schedule->windowed)
		return false;
	return inst->rx_step < inst->grant_step ||
	       (inst->rx_step == inst->grant_step && end <= inst->grant_off);
}

/**
 * coll_task_size() - a frame that fits has come, and may be the first to tell a length
 * @inst: the instance
 * @data: the header of the frame
 *
 * From here on the step that is received has that length; of what is beyond the room
 * that it had nothing is stored.
 */
void coll_task_size(struct coll_task *inst, const struct coll_data *data)
{
	if (!inst->rx.length_from_sender || inst->sized)
		return;
	inst->sized = true;
	inst->room = inst->rx.in.len;
	inst->received = coll_data_whole(data);
	inst->rx.in.len = inst->received;
	inst->rx.signal = !inst->received;
}

/* How many of the next bytes of a step are beyond the room that there is. */
static u64 inst_excess(const struct coll_task *inst, u32 len)
{
	u64 end = inst->rx_off + len;

	if (!inst->rx.length_from_sender || end <= inst->room)
		return 0;
	return min_t(u64, len, end - inst->room);
}

/* So many steps are looked at for the first one that sends after another has received. */
#define INST_AHEAD	16

/* Is what the current step receives sent on? */
static bool inst_relays(const struct coll_task *inst)
{
	u64 end = min(inst->nsteps, inst->rx_step + INST_AHEAD), i;

	/* INST_AHEAD steps. */
	for (i = inst->rx_step; i < end; i++) {
		struct coll_step step;

		coll_schedule_step(inst->schedule, &inst->args.plan, i, &step);
		if (step.to != COLL_NOBODY && step.depends_on > inst->rx_step)
			return step.cut_through && step.depends_on == inst->rx_step + 1;
	}
	return false;
}

/* What the bytes of the current step are part of: a result, or nothing that is large. */
static struct coll_copy_hint inst_haul(const struct coll_task *inst)
{
	struct coll_copy_hint haul = { .volume = coll_plan_result(&inst->args.plan) };

	if (inst->rx.reduce || inst->rx.in.area != COLL_AREA_RECV)
		haul.volume = 0;
	else if (inst->rx.length_from_sender)
		haul.volume = inst->rx.in.len;
	if (haul.volume >= COLL_CACHING_MIN)
		haul.source = inst_relays(inst) ? COLL_CACHING_RELAYED : COLL_CACHING_ARRIVING;
	return haul;
}

/**
 * coll_task_sink() - the sink for a frame that fits
 * @inst: the instance
 * @sink: filled in
 * @len: bytes of the frame
 */
void coll_task_sink(const struct coll_task *inst, struct coll_sink *sink, u32 len)
{
	const struct coll_task_args *call = &inst->args;
	const struct coll_step *step = &inst->rx;
	u64 in = step->in.off + step_stored(step, inst->rx_off);
	u64 own = step->own_off + (inst->rx_off >> step->wide_in);

	*sink = (struct coll_sink){
		.kind = step->reduce ? COLL_SINK_REDUCE : COLL_SINK_COPY,
		.type = call->plan.type,
		.reduction = call->plan.reduction,
		.own_first = call->plan.rank < step->from,
		.size = call->plan.size << step->wide_in,
		.dst = call->area[step->in.area],
		.own = call->area[step->own],
		.dst_off = call->area_off[step->in.area] + in,
		.own_off = call->area_off[step->own] + own,
		.left = len,
		.haul = inst_haul(inst),
		.excess = inst_excess(inst, len),
		.impl = inst->engine->impl,
		.copier = inst->engine->copier,
	};
	if (step->reduce && coll_plan_wide(&call->plan))
		sink->stored = call->plan.size << step->wide_out;
	else if (step->reduce)
		sink->impl = coll_reduce_for(sink->impl, sink->type, sink->reduction, len);
	if (step->tee.len) {
		sink->tee = call->area[step->tee.area];
		sink->tee_off = call->area_off[step->tee.area] + step->tee.off + inst->rx_off;
	}
	if (call->plan.reduction == COLLECTIVE_AVG && step->last)
		sink->divisor = call->plan.nranks;
}
