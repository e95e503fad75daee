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
	struct coll_task *inst = *engine_bucket(engine, instance);

	/* nhash names of ours. */
	while (inst && inst->args.instance != instance)
		inst = inst->namesake;
	return inst;
}

static void inst_hash(struct coll_task *inst)
{
	struct coll_task **bucket = engine_bucket(inst->engine, inst->args.instance);

	inst->namesake = *bucket;
	*bucket = inst;
}

static void inst_unhash(struct coll_task *inst)
{
	struct coll_task **link = engine_bucket(inst->engine, inst->args.instance);

	while (*link != inst)
		link = &(*link)->namesake;
	*link = inst->namesake;
}

/**
 * coll_engine_remove() - an instance is not in progress any more
 * @inst: the instance
 */
void coll_engine_remove(struct coll_task *inst)
{
	list_del(&inst->node);
	list_del_init(&inst->leased);
	list_del_init(&inst->waking);
	list_del_init(&inst->copying);
	inst_unhash(inst);
}

/**
 * coll_engine_copying() - an instance has something to copy, when nothing else is to be done
 * @inst: the instance
 */
void coll_engine_copying(struct coll_task *inst)
{
	if (list_empty(&inst->copying))
		list_add_tail(&inst->copying, &inst->engine->local_copies);
}

/**
 * coll_engine_wake() - an instance may take what came early
 * @inst: the instance
 */
void coll_engine_wake(struct coll_task *inst)
{
	if (list_empty(&inst->waking))
		list_add_tail(&inst->waking, &inst->engine->unexp_ready);
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
 * @inst: zeroed memory, the engine's until it is complete; its @call is set.  Without a
 *	key the number of that is above any earlier one's
 *
 * May complete inline.  coll_engine_deliver_some() has to follow.
 *
 * Return: 0, -EEXIST when one of this name is in progress, or -EOPNOTSUPP.
 */
int coll_engine_begin(struct coll_engine *engine, struct coll_task *inst)
{
	u64 instance = inst->args.instance;

	if (coll_task_find(engine, instance))
		return -EEXIST;

	inst->engine = engine;
	inst->args.plan.lane = engine->lane;
	inst->schedule = coll_plan_schedule(&inst->args.plan);
	if (!inst->schedule)
		return -EOPNOTSUPP;
	if (coll_instance_is_counted(instance))
		engine->next = instance + 1;
	inst_hash(inst);
	list_add_tail(&inst->node, &engine->active);
	coll_task_start_run(inst);
	return 0;
}

/**
 * coll_engine_copy() - copy some of what operations copy here
 * @engine: the engine
 * @budget: bytes at most, roughly; a short piece of memory counts for COLL_PIECE_COST
 *
 * Copying waits until nothing can be sent or received.  coll_engine_deliver_some() has to follow,
 * as what was set aside may let an operation begin.
 *
 * Return: false when there was nothing to copy.
 */
bool coll_engine_copy(struct coll_engine *engine, u64 budget)
{
	struct coll_task *inst;
	bool any = false;

	while (budget && (inst = list_first_entry_or_null(&engine->local_copies, struct coll_task,
							  copying))) {
		budget -= min(coll_task_copy(inst, budget), budget);
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
	struct coll_task *inst, *next;

	if (instance != COLL_INSTANCE_GROUP) {
		inst = coll_task_find(engine, instance);
		if (inst)
			coll_task_abort(inst, error);
		else
			coll_engine_drop_unexpected(engine, instance);
		return;
	}
	engine->failed = true;
	list_for_each_entry_safe(inst, next, &engine->active, node)
		coll_task_abort(inst, error);
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
	struct coll_task *inst, *next;

	engine->now = now;
	/* Those that receive what was sent without a copy: nhash at most. */
	list_for_each_entry_safe(inst, next, &engine->leased, leased)
		coll_task_tick(inst);
}

/**
 * coll_engine_connected() - there is a stream to a peer from now on
 * @engine: the engine
 * @stream: the stream
 */
noinline void coll_engine_connected(struct coll_engine *engine, struct coll_stream *stream)
{
	struct coll_task *inst;

	list_add_tail(&stream->node, &engine->streams);
	list_for_each_entry(inst, &engine->active, node)
		coll_task_connected(inst, stream);
}

/* What the run that is received finds in the stage; @inst may be gone then. */
static u64 inst_unstage(struct coll_task *inst)
{
	struct coll_stream *stream = NULL;

	if (!inst_received(inst))
		stream = inst->engine->ops->stream(inst->engine->ctx, inst->rx.from);
	return stream ? coll_stream_deliver_unexpected(stream, inst->args.instance) : 0;
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
	struct coll_task *inst;
	u64 used = 0;

	while (used < budget &&
	       (inst = list_first_entry_or_null(&engine->unexp_ready, struct coll_task, waking))) {
		u64 cost = inst_unstage(inst);

		used += cost;
		if (!cost)
			list_del_init(&inst->waking);
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
	const struct coll_task *inst;

	list_for_each_entry(stream, &engine->streams, node)
		if (stream->tx_inst && (failed || !stream->tx_inst->error) &&
		    gone(engine->ctx, stream->peer))
			return stream->peer;
	list_for_each_entry(inst, &engine->active, node) {
		u32 peer = inst->error && !failed ? COLL_NOBODY : coll_task_lacks(inst, gone);

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
	const struct coll_task *inst;

	list_for_each_entry(inst, &engine->active, node)
		if (!inst->error && !inst_received(inst))
			return inst->rx.from;
	return COLL_NOBODY;
}
