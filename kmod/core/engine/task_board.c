// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tasks on the board (core/board/board.h).
 *
 * They publish in the order of their instances, as far ahead of the other ranks as there are slots.
 * The oldest one takes its result when all ranks have published, then the next.  So a task that is
 * stopped keeps back all others until it is aborted.
 */
#include "core/engine/task.h"

static struct coll_task *oldest_of(struct coll_engine *engine)
{
	return list_first_entry_or_null(&engine->boarding, struct coll_task, boarding);
}

/*
 * Publish a task, unless the process has done so before it handed the operation over.  Return:
 * false if there is no space for it yet.
 */
static bool task_publish(struct coll_task *task)
{
	const struct coll_task_args *args = &task->args;
	const u64 len = coll_board_published(&args->plan, args->plan.rank);
	const enum coll_board_place place = coll_board_place(&args->plan, args->plan.rank);
	struct coll_board *board = task->engine->board;

	if (coll_board_has(board, board->rank, args->instance)) {
		WRITE_ONCE(task->tx_step, task->nsteps);
		return true;
	}
	if (!coll_board_reserve(board, args->instance, place)) {
		WRITE_ONCE(task->rx.from, coll_board_slowest(board));
		return false;
	}
	coll_mem_load(task->engine->impl->copy,
		      coll_board_payload(board, board->rank, args->instance, place),
		      args->area[COLL_AREA_SEND], args->area_off[COLL_AREA_SEND], len);
	coll_board_publish_call(board, &args->plan, args->instance, args->signature,
				task_digest(task));
	WRITE_ONCE(task->tx_step, task->nsteps);
	return true;
}

/*
 * Publish tasks, COLL_BOARD_SLOTS of them at most, and wake ranks that may go on.  Return: true if
 * there were any.
 */
static bool board_publish(struct coll_engine *engine)
{
	struct coll_task *task;
	bool any = false;

	list_for_each_entry(task, &engine->boarding, boarding) {
		if (!task_runs(task) || task_tx_done(task))
			continue;
		if (!task_publish(task))
			break;
		any = true;
	}
	if (any && coll_board_wakes(engine->board))
		engine->ops->wake(engine->ctx, engine->rank);
	return any;
}

static void task_take(struct coll_task *task)
{
	const struct coll_task_args *args = &task->args;
	const bool reduces = coll_plan_reduces(&args->plan);
	struct coll_engine *engine = task->engine;
	struct coll_board_out out = {
		.mem = args->area[COLL_AREA_RECV],
		.off = args->area_off[COLL_AREA_RECV],
		.input = args->area[COLL_AREA_SEND],
		.input_off = args->area_off[COLL_AREA_SEND],
		.impl = engine->impl,
		.stats = &engine->stats.read,
	};

	if (reduces)
		engine->ops->fpu(engine->ctx, true);
	out.part = engine->fuse.part;
	coll_board_take(engine->board, &args->plan, args->instance, &out);
	if (reduces)
		engine->ops->fpu(engine->ctx, false);
}

/* Take the result of the oldest task.  Return: true if it is complete; it may be gone. */
static bool task_arrive(struct coll_task *task)
{
	struct coll_engine *engine = task->engine;
	enum coll_board_found found;
	u32 rank = task->rx_off;

	if (!task_runs(task) || !task_tx_done(task))
		return false;
	found = coll_board_scan(engine->board, task->args.instance, task_digest(task),
				coll_board_needs(&task->args.plan), &rank);
	task->rx_off = rank;
	switch (found) {
	case COLL_BOARD_COMPLETE:
		task_take(task);
		WRITE_ONCE(task->rx_step, task->nsteps);
		coll_task_try_complete(task);
		return true;
	case COLL_BOARD_DIFFERS:
		engine->ops->mismatch(engine->ctx, task, rank);
		coll_task_stop(task, rank);
		return false;
	case COLL_BOARD_MISSING:
	case COLL_BOARD_PASSED:
		/* A rank that has given the operation up tells it, and why. */
		break;
	}
	WRITE_ONCE(task->rx.from, rank);
	return false;
}

/**
 * coll_engine_board() - publish tasks on the board, and take the results of those that all ranks
 *	have published
 * @engine: the engine
 *
 * A result that is taken may make space for another publication.
 *
 * Context: the FPU registers are not in use.
 * Return: true if there were any, and it is to be called again.
 */
bool coll_engine_board(struct coll_engine *engine)
{
	bool any = board_publish(engine);
	struct coll_task *task;

	while ((task = oldest_of(engine)) && task_arrive(task))
		any = true;
	return any;
}

/**
 * coll_engine_board_needs() - the ranks that the oldest task waits for
 * @engine: an engine with a task on the board
 *
 * For space it waits for all.
 */
u64 coll_engine_board_needs(struct coll_engine *engine)
{
	const struct coll_task *oldest = oldest_of(engine);

	return task_tx_done(oldest) ? coll_board_needs(&oldest->args.plan) : COLL_BOARD_ALL;
}

/*
 * All instances below that of the oldest task are over, whether or not they were on the board.
 * @latest: the rank that was the last one to publish
 */
static void board_finish(struct coll_engine *engine, u32 latest)
{
	const struct coll_task *oldest = oldest_of(engine);
	const u64 end = oldest ? oldest->args.instance : engine->next;

	if (end > engine->board->done && coll_board_finish(engine->board, end - 1))
		engine->ops->wake(engine->ctx, latest);
}

/* A peer that has sent frames of the operation has called something else. */
static void board_check_early_frames(struct coll_task *task)
{
	const u64 instance = task->args.instance;
	struct coll_stream *stream;

	/* One look at each stream, once per operation. */
	list_for_each_entry(stream, &task->engine->streams, node) {
		struct coll_unexp_place place = { 0 };
		struct coll_data data;

		if (coll_unexp_holds(stream, instance) &&
		    coll_unexp_next(stream, instance, &place, &data)) {
			coll_stream_mismatch(stream, task);
			return;
		}
	}
}

/**
 * coll_task_board() - start a task on the board
 * @task: the task; it may be gone afterwards
 */
void coll_task_board(struct coll_task *task)
{
	/* No frame is awaited. */
	task->rx.read = true;
	list_add_tail(&task->boarding, &task->engine->boarding);
	board_finish(task->engine, task->engine->rank);
	board_check_early_frames(task);
	coll_engine_board(task->engine);
}

/**
 * coll_task_leave_board() - a task that leaves the engine reads nothing on the board any more
 * @task: the task
 */
void coll_task_leave_board(struct coll_task *task)
{
	/* A task that has found all slots at once was the last one, unless others were as late. */
	const u32 latest = task->rx.from == COLL_NO_RANK ? task->engine->rank : task->rx.from;

	list_del_init(&task->boarding);
	board_finish(task->engine, latest);
}

/**
 * coll_task_awaited_on_board() - a rank that has kept a task back until now
 * @task: started, on the board, and not complete
 *
 * Other ranks publish without waking this one, so what its lane has found before is no answer.
 *
 * Context: any; outside the lane's runner the answer may mix two moments.
 * Return: a rank, or COLL_NO_RANK: all have published.
 */
u32 coll_task_awaited_on_board(const struct coll_task *task)
{
	const struct coll_board *board = task->engine->board;
	u32 rank = 0;

	if (READ_ONCE(task->tx_step) < READ_ONCE(task->nsteps))
		return coll_board_slowest(board);
	if (coll_board_scan(board, task->args.instance, task_digest(task),
			    coll_board_needs(&task->args.plan), &rank) == COLL_BOARD_COMPLETE)
		return COLL_NO_RANK;
	return rank;
}
