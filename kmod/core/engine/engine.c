// SPDX-License-Identifier: GPL-2.0-only
/*
 * Engines: the instances of a lane, by their names, and what is done to all of them or
 * asked about them.
 */
#include "core/engine/task.h"

/**
 * coll_engine_init() - make an engine out of zeroed memory
 * @engine: ops, ctx, impl, rank, nranks, lane and incarnation are set
 * @hash: zeroed memory of a table
 * @nhash: its size, a power of two: instances that any rank may have in progress
 */
void coll_engine_init(struct coll_engine *engine, struct coll_task **hash, u32 nhash)
{
	engine->hash = hash;
	engine->nhash = nhash;
	INIT_LIST_HEAD(&engine->active);
	INIT_LIST_HEAD(&engine->leased);
	INIT_LIST_HEAD(&engine->unexp_ready);
	INIT_LIST_HEAD(&engine->local_copies);
	INIT_LIST_HEAD(&engine->streams);
}

static struct coll_task **engine_bucket(const struct coll_engine *engine, u64 instance)
{
	return &engine->hash[coll_instance_hash(instance, engine->nhash)];
}

/**
 * coll_task_find() - the instance of a name
 * @engine: the engine
 * @instance: the name
 *
 * Return: the instance, or NULL when it is not in progress.
 */
struct coll_task *coll_task_find(const struct coll_engine *engine, u64 instance)
{
	struct coll_task *task = *engine_bucket(engine, instance);

	/* nhash names of ours. */
	while (task && task->args.instance != instance)
		task = task->hash_next;
	return task;
}

static void task_hash_add(struct coll_task *task)
{
	struct coll_task **bucket = engine_bucket(task->engine, task->args.instance);

	task->hash_next = *bucket;
	*bucket = task;
}

static void task_hash_remove(struct coll_task *task)
{
	struct coll_task **link = engine_bucket(task->engine, task->args.instance);

	while (*link != task)
		link = &(*link)->hash_next;
	*link = task->hash_next;
}

/**
 * coll_engine_remove() - an instance is not in progress any more
 * @task: the instance
 */
void coll_engine_remove(struct coll_task *task)
{
	list_del(&task->node);
	list_del_init(&task->leased);
	list_del_init(&task->unexp_ready);
	list_del_init(&task->local_copies);
	task_hash_remove(task);
}

/**
 * coll_engine_queue_copy() - an instance has something to copy, when nothing else is to be done
 * @task: the instance
 */
void coll_engine_queue_copy(struct coll_task *task)
{
	if (list_empty(&task->local_copies))
		list_add_tail(&task->local_copies, &task->engine->local_copies);
}

/**
 * coll_engine_queue_unexpected() - an instance may take what came early
 * @task: the instance
 */
void coll_engine_queue_unexpected(struct coll_task *task)
{
	if (list_empty(&task->unexp_ready))
		list_add_tail(&task->unexp_ready, &task->engine->unexp_ready);
}

/**
 * coll_engine_expects() - may an operation that is not in progress still begin?
 * @engine: the engine
 * @instance: its name
 *
 * Return: true when it is to come, false when it is over.
 */
bool coll_engine_expects(const struct coll_engine *engine, u64 instance)
{
	if (engine->failed || (coll_instance_is_counted(instance) && instance < engine->next))
		return false;
	return !engine->ops->failed(engine->ctx, instance);
}

/**
 * coll_engine_begin() - begin an operation
 * @engine: the engine
 * @task: zeroed memory, the engine's until it is complete; its @call is set.  Without a
 *	key the number of that is above any earlier one's
 *
 * May complete inline.  coll_engine_deliver_some() has to follow.
 *
 * Return: 0, -EEXIST when one of this name is in progress, or -EOPNOTSUPP.
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
 * coll_engine_copy() - copy some of what operations copy here
 * @engine: the engine
 * @budget: bytes at most, roughly; a short piece of memory counts for COLL_PIECE_COST
 *
 * Copying waits until nothing can be sent or received.  coll_engine_deliver_some() has to follow,
 * as what was set saved may let an operation begin.
 *
 * Return: false when there was nothing to copy.
 */
bool coll_engine_copy(struct coll_engine *engine, u64 budget)
{
	struct coll_task *task;
	bool any = false;

	while (budget && (task = list_first_entry_or_null(&engine->local_copies, struct coll_task,
							  local_copies))) {
		budget -= min(coll_task_copy(task, budget), budget);
		any = true;
	}
	return any;
}

/**
 * coll_engine_drop_unexpected() - a name has failed
 * @engine: the engine
 * @instance: the name: see struct coll_engine_ops
 *
 * What was staged for it is dropped, which gives its credit back: frames of what has failed
 * never stand in the way of what has not.
 */
noinline void coll_engine_drop_unexpected(struct coll_engine *engine, u64 instance)
{
	struct coll_stream *stream;

	/* A look at each stream, and at what it has staged of the name. */
	list_for_each_entry(stream, &engine->streams, node)
		while (coll_stream_deliver_unexpected(stream, instance))
			;
}

/**
 * coll_engine_abort() - fail an instance, or all of them
 * @engine: the engine
 * @instance: its name, or COLL_INSTANCE_GROUP
 * @error: negative errno
 *
 * An instance completes with @error, but not before a frame that has begun has
 * left (or its stream is released) and the peer has consumed what it reads from
 * our memory.  It need not be in progress: what came early for it is dropped, and what is
 * still to come will be, because its name has failed: see struct coll_engine_ops.
 */
noinline void coll_engine_abort(struct coll_engine *engine, u64 instance, int error)
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
 * coll_engine_tick() - time has passed, or leases were renewed
 * @engine: the engine
 * @now: ns, not before what was told last
 *
 * coll_engine_deliver_some() has to follow.
 */
noinline void coll_engine_tick(struct coll_engine *engine, u64 now)
{
	struct coll_task *task, *next;

	engine->now = now;
	/* Those that receive what was sent without a copy: nhash at most. */
	list_for_each_entry_safe(task, next, &engine->leased, leased)
		coll_task_tick(task);
}

/**
 * coll_engine_connected() - there is a stream to a peer from now on
 * @engine: the engine
 * @stream: the stream
 */
noinline void coll_engine_connected(struct coll_engine *engine, struct coll_stream *stream)
{
	struct coll_task *task;

	list_add_tail(&stream->node, &engine->streams);
	list_for_each_entry(task, &engine->active, node)
		coll_task_connected(task, stream);
}

/* What the run that is received finds in the stage; @task may be gone then. */
static u64 task_deliver_unexpected(struct coll_task *task)
{
	struct coll_stream *stream = NULL;

	if (!task_rx_done(task))
		stream = task->engine->ops->stream(task->engine->ctx, task->rx.from);
	return stream ? coll_stream_deliver_unexpected(stream, task->args.instance) : 0;
}

/**
 * coll_engine_deliver_some() - take some of what came early for runs that have begun
 * @engine: the engine
 * @budget: bytes at most, roughly; a frame, or a short piece of memory, counts for some
 *
 * Context: see coll_engine_deliver_unexpected().
 * Return: how much of the budget was used; 0: there is no more.
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
 * coll_engine_find_lacking() - does an operation need a peer that is gone?
 * @engine: the engine
 * @failed: also one that has failed, which may need it for memory that it was lent
 * @gone: says which are, given the engine's @ctx
 *
 * One look at each operation and each stream, however many peers are gone.
 *
 * Return: such a peer, or COLL_NOBODY.
 */
noinline u32 coll_engine_find_lacking(const struct coll_engine *engine, bool failed,
				      bool (*gone)(void *ctx, u32 peer))
{
	const struct coll_stream *stream;
	const struct coll_task *task;

	list_for_each_entry(stream, &engine->streams, node)
		if (stream->tx_task && (failed || !stream->tx_task->error) &&
		    gone(engine->ctx, stream->peer))
			return stream->peer;
	list_for_each_entry(task, &engine->active, node) {
		u32 peer = task->error &&
			!failed ? COLL_NOBODY : coll_task_find_lacking(task, gone);

		if (peer != COLL_NOBODY)
			return peer;
	}
	return COLL_NOBODY;
}

/**
 * coll_engine_next_source() - who sends what the oldest instance receives next
 * @engine: the engine
 *
 * Return: the rank, or COLL_NOBODY when nothing is to come.
 */
u32 coll_engine_next_source(const struct coll_engine *engine)
{
	const struct coll_task *task;

	list_for_each_entry(task, &engine->active, node)
		if (!task->error && !task_rx_done(task))
			return task->rx.from;
	return COLL_NOBODY;
}
