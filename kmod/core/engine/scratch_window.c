// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windowed scratch: received bytes are granted as far as the window has space, and bytes that
 * leave the window make space again (struct coll_schedule).
 */
#include "core/engine/task.h"

/* Offset in scratch of the first byte of a step that is not granted yet. */
static u64 window_grant_offset(const struct coll_task *task, const struct coll_step *step)
{
	return (step->exchange ? step->out.off : step->in.off) + step_stored(step, task->grant_off);
}

/* Number of bytes of a step that fit into scratch, given the bytes that have left it so far. */
static u64 window_space(const struct coll_task *task, const struct coll_step *step)
{
	u64 window = task->args.area[COLL_AREA_SCRATCH]->length;
	u64 from = window_grant_offset(task, step);
	u64 end = (task->scratch_freed & ~(COLL_ELEMENT_MAX - 1ULL)) + window;
	u64 space = end > from ? end - from : 0;

	if (step->wide_out == step->wide_in)
		return space;
	return step->wide_out ? space / 2 : 2 * space;
}

/*
 * Exchange: copy the block that will be overwritten to the place in scratch from which it is
 * sent. At most one window is copied.  Memory in short pieces is copied in parts;
 * coll_window_resume() continues when the lane is idle.
 */
static u64 window_save(struct coll_task *task, const struct coll_step *step, u64 len)
{
	const struct coll_task_args *args = &task->args;
	const struct coll_mem *mem = args->area[step->in.area];
	u64 from = args->area_off[step->in.area] + step->in.off + task->grant_off;
	u64 some = len ? coll_piece_bound(coll_mem_piece(mem, from), len) : 0;

	coll_mem_copy(task->engine->impl->copy, args->area[COLL_AREA_SCRATCH],
		      window_grant_offset(task, step), mem, from, some);
	task->exchanging = some < len;
	return some;
}

/**
 * coll_window_saved() - how much of an exchange step may be sent
 * @task: the task; its @tx is an exchange
 *
 * Return: bytes that are saved in scratch.
 */
u64 coll_window_saved(const struct coll_task *task)
{
	if (task->tx_step == task->grant_step)
		return task->grant_off;
	return task->tx_step < task->grant_step ? task->tx.out.len : 0;
}

/*
 * Extend the grant over the steps of the run, as far as the window has space. At most the steps of
 * one window are visited; if blocks are shorter than a segment, one step per block.
 */
static void window_extend_grant(struct coll_task *task)
{
	struct coll_step step;

	coll_schedule_step(task->schedule, &task->args.plan, task->grant_step, &step);
	/* The window has space for four segments, or for one block per run. */
	while (task->rx_run_state != COLL_TASK_RX_GRANTED) {
		bool scratch = step.exchange || step.in.area == COLL_AREA_SCRATCH;
		u64 more = step_in(&step) - task->grant_off;

		if (step.clear) {
			task->grant_limit = COLL_GRANT_ALL;
			task->rx_run_state = COLL_TASK_RX_GRANTED;
			return;
		}
		if (step_in(&step) && scratch)
			more = min(more, window_space(task, &step));
		if (step_in(&step) && step.exchange)
			more = window_save(task, &step, more);
		task->grant_off += more;
		task->grant_limit += more;
		if (task->grant_off < step_in(&step))
			return;

		task->grant_off = 0;
		task->grant_step = coll_schedule_next(task->schedule, &task->args.plan,
						      task->grant_step + 1, task->nsteps,
						      false, &step);
		if (task->grant_step == task->nsteps || step.from != task->rx.from)
			task->rx_run_state = COLL_TASK_RX_GRANTED;
	}
}

/* Position in scratch at which the granted bytes end.  Steps use scratch in their order. */
static u64 window_granted_end(const struct coll_task *task)
{
	struct coll_step step;

	if (task->rx_run_state == COLL_TASK_RX_GRANTED)
		return ~0ULL;
	coll_schedule_step(task->schedule, &task->args.plan, task->grant_step, &step);
	return window_grant_offset(task, &step);
}

/**
 * coll_window_grant() - grant the free part of the window
 * @task: the task; its run has started
 * @first: true if no grant was sent for this run yet
 *
 * A grant is sent only if it adds at least a quarter of the window.  Less than a quarter is ever
 * held back, so there is always more to grant when all received bytes have left.
 */
void coll_window_grant(struct coll_task *task, bool first)
{
	u64 window = task->args.area[COLL_AREA_SCRATCH] ?
		     task->args.area[COLL_AREA_SCRATCH]->length : 0;
	u64 allowed;

	window_extend_grant(task);
	if (task->exchanging)
		coll_engine_queue_move(task);
	coll_task_kick(task);
	allowed = window_granted_end(task);
	if (!first && task->rx_run_state != COLL_TASK_RX_GRANTED &&
	    allowed - task->grant_scratch < window / 4)
		return;
	task->grant_scratch = allowed;
	coll_task_send_grant(task, task->grant_limit);
}

/**
 * coll_window_resume() - continue saving an exchange block
 * @task: the task; @exchanging is set
 *
 * Return: the cost.
 */
u64 coll_window_resume(struct coll_task *task)
{
	task->exchanging = false;
	list_del_init(&task->moving);
	if (task->local_copy.len)
		coll_engine_queue_move(task);
	if (task->rx_run_state == COLL_TASK_RX_STARTED)
		coll_window_grant(task, false);
	return (u64)COLL_PIECE_COST * COLL_PIECES_MAX;
}
