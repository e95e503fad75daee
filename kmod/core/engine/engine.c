// SPDX-License-Identifier: GPL-2.0-only
/* The engine: finds tasks by instance, and applies events to all of them. */
#include "core/engine/task.h"

/**
 * coll_engine_init() - initialise an engine in zeroed memory
 * @engine: the engine; ops, ctx, impl, rank, nranks, lane and incarnation are set
 * @most: operations that a rank may have in progress
 */
void coll_engine_init(struct coll_engine *engine, u32 most)
{
	engine->most = most;
	INIT_LIST_HEAD(&engine->active);
	INIT_LIST_HEAD(&engine->leased);
	INIT_LIST_HEAD(&engine->unexp_ready);
	INIT_LIST_HEAD(&engine->moving);
	INIT_LIST_HEAD(&engine->boarding);
	INIT_LIST_HEAD(&engine->streams);
}

static u32 task_bucket(u64 instance)
{
	return coll_instance_hash(instance, COLL_TASK_HASH);
}

/**
 * coll_task_find() - find a task
 * @engine: the engine
 * @instance: instance of the operation
 *
 * Return: the task, or NULL if it is not in progress.
 */
struct coll_task *coll_task_find(const struct coll_engine *engine, u64 instance)
{
	struct coll_task *task = engine->hash[task_bucket(instance)];

	/* Tasks of this rank only, at most @most. */
	while (task && task->args.instance != instance)
		task = task->hash_next;
	return task;
}

static void task_hash_add(struct coll_task *task)
{
	struct coll_task **bucket = &task->engine->hash[task_bucket(task->args.instance)];

	task->hash_next = *bucket;
	*bucket = task;
}

static void task_hash_remove(struct coll_task *task)
{
	struct coll_task **link = &task->engine->hash[task_bucket(task->args.instance)];

	while (*link != task)
		link = &(*link)->hash_next;
	*link = task->hash_next;
}

/**
 * coll_engine_remove() - remove a task from the engine
 * @task: the task
 */
void coll_engine_remove(struct coll_task *task)
{
	list_del(&task->node);
	if (task->schedule->board)
		coll_task_leave_board(task);
	list_del_init(&task->leased);
	list_del_init(&task->unexp_ready);
	list_del_init(&task->moving);
	task_hash_remove(task);
}

/**
 * coll_engine_queue_move() - let coll_engine_move() look at a task
 * @task: the task
 */
void coll_engine_queue_move(struct coll_task *task)
{
	if (list_empty(&task->moving))
		list_add_tail(&task->moving, &task->engine->moving);
}

/**
 * coll_engine_queue_unexpected() - queue a task for delivery of its unexpected frames
 * @task: the task
 */
void coll_engine_queue_unexpected(struct coll_task *task)
{
	if (list_empty(&task->unexp_ready))
		list_add_tail(&task->unexp_ready, &task->engine->unexp_ready);
}

/**
 * coll_engine_expects() - may an operation that is not in progress still be submitted?
 * @engine: the engine
 * @instance: instance of the operation
 *
 * Return: true if it may be submitted later, false if it is complete or has failed.
 */
bool coll_engine_expects(const struct coll_engine *engine, u64 instance)
{
	if (engine->failed || (coll_instance_is_counted(instance) && instance < engine->next))
		return false;
	return !engine->ops->failed(engine->ctx, instance);
}

/**
 * coll_engine_begin() - start an operation
 * @engine: the engine
 * @task: zeroed memory with @args set; the engine owns it until the task completes. The
 *	instance of a collective without a key must exceed all earlier ones
 *
 * The task may complete inside this call.  The caller must call coll_engine_deliver_some()
 * afterwards.
 *
 * Return: 0, -EEXIST if the instance is in progress, or -EOPNOTSUPP if there is no schedule.
 */
int coll_engine_begin(struct coll_engine *engine, struct coll_task *task)
{
	u64 instance = task->args.instance;

	if (coll_task_find(engine, instance))
		return -EEXIST;

	task->engine = engine;
	task->args.plan.lane = engine->lane;
	task->schedule = coll_plan_schedule(&task->args.plan);
	if (!task->schedule)
		return -EOPNOTSUPP;
	if (coll_instance_is_counted(instance))
		engine->next = instance + 1;
	task_hash_add(task);
	list_add_tail(&task->node, &engine->active);
	coll_task_start(task);
	return 0;
}

/**
 * coll_engine_move() - move some of the bytes that no frame brings or takes: copies, and reads of
 *	the memory of other ranks
 * @engine: the engine
 * @budget: approximate limit in bytes; a short piece of memory counts as COLL_PIECE_COST
 *
 * The lane calls this when it can neither send nor receive.  The caller must call
 * coll_engine_deliver_some() afterwards, because a saved input may let an operation start.
 *
 * Context: the FPU registers are not in use.
 * Return: false if there were none.
 */
bool coll_engine_move(struct coll_engine *engine, u64 budget)
{
	struct coll_task *task;
	bool any = false;

	while (budget && (task = list_first_entry_or_null(&engine->moving, struct coll_task,
							  moving))) {
		budget -= min(coll_task_move(task, budget), budget);
		any = true;
	}
	return any;
}

/**
 * coll_engine_withdrawn() - no rank reads the memory of an operation any more
 * @engine: the engine
 * @instance: the instance, after @withdraw returned false for it
 */
void coll_engine_withdrawn(struct coll_engine *engine, u64 instance)
{
	struct coll_task *task = coll_task_find(engine, instance);

	if (task)
		coll_task_try_complete(task);
}

/**
 * coll_engine_drop_unexpected() - discard the unexpected frames of a failed operation
 * @engine: the engine
 * @instance: the instance: see struct coll_engine_ops
 *
 * Their credit goes back to the senders, so frames of failed operations never block others.
 * Requests that were dropped before are not asked for again.
 */
void coll_engine_drop_unexpected(struct coll_engine *engine, u64 instance)
{
	struct coll_stream *stream;

	/* One look at each stream, and at each of its unexpected frames of this instance. */
	list_for_each_entry(stream, &engine->streams, node) {
		while (coll_stream_deliver_unexpected(stream, instance))
			;
		coll_dropped_forget(&stream->dropped, instance);
	}
}

/**
 * coll_engine_abort() - abort one task, or all of them
 * @engine: the engine
 * @instance: instance of the operation, or COLL_INSTANCE_GROUP for all
 * @error: negative errno
 *
 * A task completes with @error once its open frames are sent (or their streams are released) and
 * the peers have consumed what they read from our memory.  An operation that is not in progress
 * has its unexpected frames discarded; later frames are discarded as they arrive, because the
 * instance has failed: see struct coll_engine_ops.
 */
void coll_engine_abort(struct coll_engine *engine, u64 instance, int error)
{
	struct coll_task *task, *next;

	if (instance != COLL_INSTANCE_GROUP) {
		task = coll_task_find(engine, instance);
		if (task)
			coll_task_abort(task, error);
		else
			coll_engine_drop_unexpected(engine, instance);
		return;
	}
	engine->failed = true;
	list_for_each_entry_safe(task, next, &engine->active, node)
		coll_task_abort(task, error);
}

/**
 * coll_engine_tick() - update the time and the leases
 * @engine: the engine
 * @now: time in ns, not before that of the last call
 *
 * The caller must call coll_engine_deliver_some() afterwards.
 */
void coll_engine_tick(struct coll_engine *engine, u64 now)
{
	struct coll_task *task, *next;

	engine->now = now;
	/* Only tasks that received bytes by zero copy: at most @most. */
	list_for_each_entry_safe(task, next, &engine->leased, leased)
		coll_task_tick(task);
}

/**
 * coll_engine_connected() - add a stream
 * @engine: the engine
 * @stream: the stream
 */
void coll_engine_connected(struct coll_engine *engine, struct coll_stream *stream)
{
	struct coll_task *task;

	list_add_tail(&stream->node, &engine->streams);
	list_for_each_entry(task, &engine->active, node)
		coll_task_connected(task, stream);
}

/* Deliver one unexpected frame of the current run.  The task may be gone afterwards. */
static u64 task_deliver_unexpected(struct coll_task *task)
{
	struct coll_stream *stream = NULL;

	if (!task_rx_done(task))
		stream = task->engine->ops->stream(task->engine->ctx, task->rx.from);
	return stream ? coll_stream_deliver_unexpected(stream, task->args.instance) : 0;
}

/**
 * coll_engine_deliver_some() - deliver some unexpected frames of runs that have started
 * @engine: the engine
 * @budget: approximate limit in bytes; a frame, or a short piece of memory, has a minimum
 *	cost
 *
 * Context: the FPU registers are not in use.
 * Return: the part of @budget that was used; 0: no frame can be delivered.
 */
u64 coll_engine_deliver_some(struct coll_engine *engine, u64 budget)
{
	struct coll_task *task;
	u64 used = 0;

	while (used < budget &&
	       (task = list_first_entry_or_null(&engine->unexp_ready, struct coll_task,
						unexp_ready))) {
		u64 cost = task_deliver_unexpected(task);

		used += cost;
		if (!cost)
			list_del_init(&task->unexp_ready);
	}
	return used;
}

/**
 * coll_engine_find_lacking() - find a task that needs a departed peer
 * @engine: the engine
 * @failed: true: include failed tasks, which may wait until the peer has consumed their
 *	memory
 * @gone: tells whether a peer has departed, and whether that matters to a task
 *
 * One look at each task and at each stream, however many peers have departed.
 *
 * Return: a peer that is needed, or COLL_NO_RANK.
 */
u32 coll_engine_find_lacking(const struct coll_engine *engine, bool failed, coll_gone_fn gone)
{
	const struct coll_stream *stream;
	const struct coll_task *task;

	list_for_each_entry(stream, &engine->streams, node)
		if (stream->tx_task && (failed || !stream->tx_task->error) &&
		    gone(engine->ctx, stream->tx_task, stream->peer))
			return stream->peer;
	list_for_each_entry(task, &engine->active, node) {
		u32 peer = task->error &&
			!failed ? COLL_NO_RANK : coll_task_find_lacking(task, gone);

		if (peer != COLL_NO_RANK)
			return peer;
	}
	return COLL_NO_RANK;
}
