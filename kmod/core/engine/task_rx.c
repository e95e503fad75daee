// SPDX-License-Identifier: GPL-2.0-only
/* Receiving in a task: which peer may send, whether a frame fits the step, and where it goes. */
#include "core/engine/task.h"

#include <linux/collective.h>

/**
 * coll_task_awaits() - is the run of a peer still to come?
 * @task: the task
 * @peer: rank of the peer
 *
 * This is called for every frame sent on credit, and a frame may be as small as 32 bytes.  So it
 * looks at one step, or at COLL_STEPS_FEW.
 *
 * Return: true if a later step receives from @peer.
 */
bool coll_task_awaits(const struct coll_task *task, u32 peer)
{
	const struct coll_schedule *schedule = task->schedule;
	const struct coll_plan *plan = &task->args.plan;
	u64 i = task->rx_step, end = task->nsteps;
	struct coll_step step;

	if (task_rx_done(task))
		return false;
	/* The run of this peer is the current one and has not started. */
	if (task->rx.from == peer && !task->rx.read)
		return true;
	if (!task->args.eager || schedule->ring)
		return false;
	if (schedule->last_from) {
		u64 turn = schedule->last_from(plan, peer);

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
 * coll_task_receives() - is the current run that of a peer?
 * @task: the task
 * @peer: rank of the peer
 *
 * Return: true if frames of @peer are received now.
 */
bool coll_task_receives(const struct coll_task *task, u32 peer)
{
	return !task_rx_done(task) && task->rx_run_state != COLL_TASK_RX_PENDING &&
	       task->rx.from == peer && !task->rx.read;
}

/*
 * The first frame of a step of a length that the two ranks have not agreed on: the whole
 * payload, or a request for a grant that tells the length.
 */
static bool task_expects_single_frame(const struct coll_task *task, const struct coll_data *data)
{
	u64 whole = coll_data_whole(data);

	if (task->rx_off || (data->offset && !(data->flags & COLL_DATA_REQUEST)))
		return false;
	if (task->rx.length_from_sender && !task->length_known)
		return !(whole & (task->args.plan.size - 1));
	return task->rx.in.len == whole;
}

/**
 * coll_task_expects() - does a frame of the current sender fit the step?
 * @task: the task
 * @data: header of the frame
 *
 * Return: true if it fits.
 */
bool coll_task_expects(const struct coll_task *task, const struct coll_data *data)
{
	if (data->step != (u16)task->rx.tag)
		return false;
	/*
	 * Large payloads are never sent on credit, but only the sender of a single frame knows
	 * its size.
	 */
	if (data->flags & COLL_DATA_EAGER && !task->args.eager && !task->rx.single_frame)
		return false;
	if (task->rx.single_frame && data->flags & COLL_DATA_EAGER)
		return task_expects_single_frame(task, data);
	if (data->offset != task_frame_offset(task, task->rx_off) ||
	    (task->rx.length_from_sender && !task->length_known))
		return false;
	if (data->flags & COLL_DATA_REQUEST)
		return true;
	if (task->rx.signal)
		return !data->length;
	return data->length && data->length <= task->rx.in.len - task->rx_off &&
	       !(data->length & ((task->args.plan.size << task->rx.wide_in) - 1));
}

/**
 * coll_task_is_granted() - is a frame within the grant?
 * @task: the task
 * @data: header of a frame that fits and is not eager
 *
 * Return: false if it is not; a correct peer never sends it, whatever it has called.
 */
bool coll_task_is_granted(const struct coll_task *task, const struct coll_data *data)
{
	u64 end = task->rx_off + (task->rx.signal ? 1 : data->length);

	if (task->rx_run_state == COLL_TASK_RX_GRANTED)
		return true;
	if (!task->schedule->windowed)
		return false;
	return task->rx_step < task->grant_step ||
	       (task->rx_step == task->grant_step && end <= task->grant_off);
}

/**
 * coll_task_set_length() - take the length of a step from its first frame
 * @task: the task
 * @data: header of the frame, which fits
 *
 * Does nothing unless the sender decides the length.  From now on the step has that length; bytes
 * beyond the capacity are not stored.
 */
void coll_task_set_length(struct coll_task *task, const struct coll_data *data)
{
	if (!task->rx.length_from_sender || task->length_known)
		return;
	task->length_known = true;
	task->capacity = task->rx.in.len;
	task->received = coll_data_whole(data);
	task->rx.in.len = task->received;
	task->rx.signal = !task->received;
}

/* How many of the next @len bytes of a step are beyond its capacity. */
static u64 task_excess(const struct coll_task *task, u32 len)
{
	u64 end = task->rx_off + len;

	if (!task->rx.length_from_sender || end <= task->capacity)
		return 0;
	return min_t(u64, len, end - task->capacity);
}

/* Number of steps that task_forwards() looks at. */
#define TASK_LOOK_AHEAD	16

/* Is the block that the current step receives forwarded to another rank? */
static bool task_forwards(const struct coll_task *task)
{
	u64 end = min(task->nsteps, task->rx_step + TASK_LOOK_AHEAD), i;

	/* At most TASK_LOOK_AHEAD steps. */
	for (i = task->rx_step; i < end; i++) {
		struct coll_step step;

		coll_schedule_step(task->schedule, &task->args.plan, i, &step);
		if (step.to != COLL_NO_RANK && step.depends_on > task->rx_step)
			return step.cut_through && step.depends_on == task->rx_step + 1;
	}
	return false;
}

/* Hint for the copier: the bytes are part of a large result, or of none. */
static struct coll_copy_hint task_copy_hint(const struct coll_task *task)
{
	struct coll_copy_hint hint = { .volume = coll_plan_result(&task->args.plan) };

	if (task->rx.reduce || task->rx.in.area != COLL_AREA_RECV)
		hint.volume = 0;
	else if (task->rx.length_from_sender)
		hint.volume = task->rx.in.len;
	if (hint.volume >= COLL_NT_MIN)
		hint.source = task_forwards(task) ? COLL_NT_FORWARDED : COLL_NT_RECEIVED;
	return hint;
}

/**
 * coll_task_sink() - prepare the sink of a frame
 * @task: the task
 * @sink: filled in
 * @len: bytes of the frame, which fits
 */
void coll_task_sink(const struct coll_task *task, struct coll_sink *sink, u32 len)
{
	const struct coll_task_args *args = &task->args;
	const struct coll_step *step = &task->rx;
	u64 in = step->in.off + step_stored(step, task->rx_off);
	u64 own = step->own_off + (task->rx_off >> step->wide_in);

	*sink = (struct coll_sink){
		.kind = step->reduce ? COLL_SINK_REDUCE : COLL_SINK_COPY,
		.type = args->plan.type,
		.reduction = args->plan.reduction,
		.own_first = args->plan.rank < step->from,
		.size = args->plan.size << step->wide_in,
		.dst = args->area[step->in.area],
		.own = args->area[step->own],
		.dst_off = args->area_off[step->in.area] + in,
		.own_off = args->area_off[step->own] + own,
		.left = len,
		.hint = task_copy_hint(task),
		.excess = task_excess(task, len),
		.impl = task->engine->impl,
		.copier = task->engine->copier,
	};
	if (step->reduce && coll_plan_wide(&args->plan))
		sink->stored = args->plan.size << step->wide_out;
	if (step->tee.len) {
		sink->tee = args->area[step->tee.area];
		sink->tee_off = args->area_off[step->tee.area] + step->tee.off + task->rx_off;
	}
	if (args->plan.reduction == COLLECTIVE_AVG && step->last)
		sink->divisor = args->plan.nranks;
}
