// SPDX-License-Identifier: GPL-2.0-only
/*
 * Streams: data frames out of instances and back into them.
 *
 * Out: a frame is begun only for bytes that are final, and covers only them, so
 * that once begun it can always be finished.  Eager frames need credit, others a
 * grant.  In: a stream can always be read.  A frame either fits an instance in
 * progress (granted, or eager), or is eager and early and is staged, within the
 * credit that was given, or belongs to what has failed here and is discarded.
 * Anything else is no honest peer's.
 */
#include "core/engine/task.h"

#include <linux/collective.h>

static_assert(COLL_DATA_FULL <= COLL_DATA_MAX);
/* What a data frame tells of credit is never more than there is: stream_piggyback_credit(). */
static_assert(COLL_CREDIT / COLL_CREDIT_UNIT <= U8_MAX);

/**
 * coll_stream_init() - make a stream out of zeroed memory
 * @stream: the stream
 * @engine: that it belongs to
 * @peer: rank at the other end
 * @stage: COLL_UNEXP_SIZE bytes
 * @grants: COLL_GRANTS(engine->nhash) of them, zeroed
 */
void coll_stream_init(struct coll_stream *stream, struct coll_engine *engine,
		      u32 peer, u8 *stage, struct coll_grant *grants)
{
	stream->engine = engine;
	stream->peer = peer;
	stream->lease = ~0ULL;
	stream->tx_credit = COLL_CREDIT;
	stream->unexp_buf = stage;
	stream->grants.entry = grants;
	stream->grants.size = COLL_GRANTS(engine->nhash);
	INIT_LIST_HEAD(&stream->sending);
	INIT_LIST_HEAD(&stream->waiting);
	INIT_LIST_HEAD(&stream->starving);
	INIT_LIST_HEAD(&stream->zc_refs);
	INIT_LIST_HEAD(&stream->node);
}

/* A peer has called something else than what is in progress here. */
void coll_stream_mismatch(const struct coll_stream *stream, struct coll_task *task)
{
	task->mismatched = true;
	stream->engine->ops->mismatch(stream->engine->ctx, task, stream->peer);
}

/* Has the peer called something else, which he granted? */
static bool stream_granted_other_call(const struct coll_stream *stream, struct coll_task *task)
{
	const struct coll_grant *grant = coll_grants_get(&stream->grants, task->args.instance);

	if (!grant->limit || grant->digest == task->args.digest)
		return false;
	coll_stream_mismatch(stream, task);
	return true;
}

/* How much more of the present run the peer can take. */
static u64 stream_granted(const struct coll_stream *stream, struct coll_task *task)
{
	u64 limit = coll_grants_get(&stream->grants, task->args.instance)->limit;

	return limit <= task->tx_run ||
		stream_granted_other_call(stream, task) ? 0 : limit - task->tx_run;
}

/**
 * coll_stream_check_granted_call() - see whether a peer has granted something else
 * @stream: the stream
 * @task: an operation in progress, which may have nothing to send there
 */
void coll_stream_check_granted_call(const struct coll_stream *stream, struct coll_task *task)
{
	/* With a key it may be the next use of it that is granted. */
	if (!task->error && !task->mismatched && task->args.digest &&
	    coll_instance_is_counted(task->args.instance))
		stream_granted_other_call(stream, task);
}

/*
 * Credit: a CREDIT frame wakes somebody up at the other end, a data frame comes anyhow.
 * They overtake each other, so each tells what none of either kind told before, and the
 * two are added up.
 */

/* A data frame leaves: in it. */
static u8 stream_piggyback_credit(struct coll_stream *stream)
{
	u8 units = (stream->rx_consumed - stream->rx_returned) / COLL_CREDIT_UNIT;

	stream->rx_returned += units * COLL_CREDIT_UNIT;
	return units;
}

/* The peer has consumed so much more. */
int coll_stream_add_credit(struct coll_stream *stream, u64 bytes)
{
	struct coll_engine *engine = stream->engine;
	struct coll_task *task, *next;

	if (bytes > stream->tx_eager - (stream->tx_credit - COLL_CREDIT))
		return -EPROTO;
	if (!bytes)
		return 0;
	stream->tx_credit += bytes;
	/* Few: there is credit kept to ask for grants for all that may be in progress. */
	list_for_each_entry_safe(task, next, &stream->starving, tx_node)
		coll_task_ready(task);
	engine->ops->kick(engine->ctx, stream);
	return 0;
}

/*
 * What arrives in small pieces is not forwarded in small frames: each rank would
 * cut it smaller yet.  The end of a step, or of what is granted, never waits, nor
 * does what takes up much of a window.
 */
static bool frame_is_worthwhile(const struct coll_task *task, u64 ready, u64 granted)
{
	u64 enough = COLL_DATA_MIN;

	if (task->tx.out.area == COLL_AREA_SCRATCH)
		enough = min(enough, task->args.area[COLL_AREA_SCRATCH]->length / 4);
	return task->tx.signal || ready >= enough || ready == granted ||
	       task->tx_off + ready == task->tx.out.len;
}

/*
 * May an eager frame go, or one that asks for a grant?  Frames of operations that the peer has not
 * submitted use up the credit, and what it has submitted may be behind them: so
 * a part of the credit is kept for asking for a grant, with a header alone, and
 * it is enough for all that we may have in progress.
 */
static bool stream_charge_credit(struct coll_stream *stream, struct coll_task *task,
				 struct coll_data *data)
{
	u64 kept = (u64)COLL_DATA_SIZE * stream->engine->nhash;
	u64 room = stream->tx_credit - stream->tx_eager;

	if (task->rts_sent)
		return false;
	data->flags = COLL_DATA_EAGER;
	if (!task->args.eager || room < coll_eager_cost(data->length) + kept) {
		if (room < COLL_DATA_SIZE)
			return false;
		data->flags |= COLL_DATA_REQUEST;
		data->length = 0;
		if (task->tx.single_frame)
			data->offset = task->tx.out.len;
		task->rts_sent = true;
	}
	stream->tx_eager += coll_eager_cost(data->length);
	return true;
}

/* It is looked at again when something has happened: coll_task_ready(). */
static void stream_park(struct coll_task *task, struct list_head *list)
{
	task->tx_parked = true;
	list_move_tail(&task->tx_node, list);
}

/* Begin a frame of @task, if there is something final that may go; else it is parked. */
static void stream_open_tx_frame(struct coll_stream *stream, struct coll_task *task)
{
	struct coll_engine *engine = stream->engine;
	const struct coll_span *out = &task->tx.out;
	u64 ready = coll_task_sendable(task);
	u64 granted = stream_granted(stream, task);
	struct coll_data data = {
		.lane = engine->lane,
		.call = coll_plan_call(&task->args.plan),
		.step = task->tx.tag,
		.instance = task->args.instance,
		.offset = task->tx_off,
	};
	bool ask;

	granted &= ~(u64)(task->tx.signal ? 0 : task->args.plan.size - 1);
	ask = task->tx.single_frame && !granted;
	if (!task->args.eager && !ask)
		ready = min(ready, granted);
	if (!ready || !frame_is_worthwhile(task, ready, granted) ||
	    !coll_task_may_zerocopy(task, stream)) {
		stream_park(task, &stream->waiting);
		return;
	}
	data.length = task->tx.signal ? 0 : min_t(u64, ready, COLL_DATA_FULL);

	if (ask || (task->args.eager && granted < ready)) {
		if (!stream_charge_credit(stream, task, &data)) {
			stream_park(task, task->rts_sent ? &stream->waiting :
					  &stream->starving);
			return;
		}
	} else if (!task->args.eager && out->area != COLL_AREA_SCRATCH) {
		data.flags = COLL_DATA_BORROWED;
	}

	data.credit = stream_piggyback_credit(stream);
	coll_wire_put_data(stream->tx_hdr, &data, engine->incarnation);
	stream->tx_hdr_left = COLL_DATA_SIZE;
	stream->tx_left = data.length;
	stream->tx_mem = task->args.area[out->area];
	stream->tx_off = task->args.area_off[out->area] + out->off + task->tx_off;
	stream->tx_scratch = out->area == COLL_AREA_SCRATCH;
	stream->tx_copy = task->args.eager || stream->tx_scratch;
	stream->tx_task = task;
	stream->tx_position += data.length;
	task->open_frames++;
	if (!(data.flags & COLL_DATA_REQUEST))
		coll_task_tx_advance(task, stream, data.length);
}

/**
 * coll_stream_next() - what may leave next
 * @stream: the stream
 * @out: filled in
 *
 * Asking again without coll_stream_sent() gives the same.
 *
 * Return: false when there is nothing to send now.
 */
bool coll_stream_next(struct coll_stream *stream, struct coll_out *out)
{
	struct coll_task *task;

	if (stream->released)
		return false;

	/* Each is looked at once, until something happens that may let it send. */
	while (!stream->tx_task) {
		task = list_first_entry_or_null(&stream->sending, struct coll_task, tx_node);
		if (!task)
			return false;
		stream_open_tx_frame(stream, task);
	}

	if (stream->tx_hdr_left)
		*out = (struct coll_out){
			.ptr = stream->tx_hdr + COLL_DATA_SIZE - stream->tx_hdr_left,
			.len = stream->tx_hdr_left,
			.mem = stream->tx_mem,
			.off = stream->tx_off,
			.more = stream->tx_left,
			.copy = stream->tx_copy,
		};
	else
		*out = (struct coll_out){
			.mem = stream->tx_mem,
			.off = stream->tx_off,
			.len = stream->tx_left,
			.copy = stream->tx_copy,
		};
	return true;
}

/* The transport has taken the whole frame, or will never. */
static void stream_close_tx_frame(struct coll_stream *stream)
{
	struct coll_task *task = stream->tx_task;

	stream->tx_task = NULL;
	stream->tx_hdr_left = 0;
	stream->tx_left = 0;
	if (task)
		coll_task_frame_sent(task);
}

/**
 * coll_stream_sent() - the transport has taken some of what may leave
 * @stream: the stream
 * @len: bytes, at most what coll_stream_next() gave and what may go with it
 */
void coll_stream_sent(struct coll_stream *stream, u32 len)
{
	u32 head = min(len, stream->tx_hdr_left);

	len -= head;
	stream->tx_hdr_left -= head;
	stream->tx_left -= len;
	stream->tx_off += len;
	stream->engine->stats.sent += len;
	if (stream->tx_scratch && stream->tx_task->schedule->windowed && len)
		coll_task_scratch_freed(stream->tx_task, stream->tx_off);
	if (!stream->tx_hdr_left && !stream->tx_left)
		stream_close_tx_frame(stream);
}

static bool grant_is_useless(const struct coll_engine *engine, u64 instance)
{
	const struct coll_task *task = coll_task_find(engine, instance);

	return task ? task->error : !coll_engine_expects(engine, instance);
}

/*
 * The peer has failed many operations that have not begun here.  Of those that
 * come in order it has no two in progress that are further apart than nhash.
 */
static bool grant_is_old(const struct coll_engine *engine, u64 instance, u64 latest)
{
	return coll_instance_is_counted(instance) && coll_instance_is_counted(latest) &&
	       instance + engine->nhash <= latest;
}

/* All that are past, or of no use: a look at each entry, and maybe for its operation. */
static void stream_sweep(struct coll_stream *stream, u64 latest, bool useless)
{
	const struct coll_engine *engine = stream->engine;
	u32 i = 0;

	/* COLL_GRANTS(), each seldom moved. */
	while (i < stream->grants.size) {
		u64 instance = stream->grants.entry[i].instance - 1;

		/* Another one may be moved to its place. */
		if (stream->grants.entry[i].instance &&
		    (useless ? grant_is_useless(engine, instance) :
			       grant_is_old(engine, instance, latest)))
			coll_grants_drop(&stream->grants, instance);
		else
			i++;
	}
}

/*
 * What is of no use has become so by operations of ours, which the peer cannot make us
 * begin: so it cannot make us look for that again and again.
 */
static noinline void stream_sweep_grants(struct coll_stream *stream, u64 latest)
{
	u32 count = stream->grants.count;

	stream_sweep(stream, latest, false);
	if (stream->grants.count == count)
		stream_sweep(stream, latest, true);
}

/**
 * coll_stream_granted() - the peer can take an instance, or more of it
 * @stream: the stream
 * @instance: its number; it may not be submitted here yet
 * @limit: how much in all: see struct coll_grant
 * @digest: likewise
 *
 * It may be far ahead of what was submitted here: not all operations use this
 * lane, and some (without elements, or aborted) are complete on the peer before
 * they begin here.  An older one of no use may be left from an operation that
 * was aborted before it sent to this peer.
 *
 * Return: 0 or -EPROTO.
 */
noinline int coll_stream_granted(struct coll_stream *stream, u64 instance, u64 limit, u64 digest)
{
	struct coll_engine *engine = stream->engine;
	struct coll_task *task = coll_task_find(engine, instance);
	int err;

	if (instance == COLL_INSTANCE_GROUP)
		return -EPROTO;
	if (grant_is_useless(engine, instance))
		return 0;
	if (stream->grants.count + 1 == stream->grants.size)
		stream_sweep_grants(stream, instance);
	err = coll_grants_raise(&stream->grants, instance, limit, digest);
	if (err)
		return -EPROTO;
	if (task) {
		coll_stream_check_granted_call(stream, task);
		if (task->tx_stream == stream && !list_empty(&task->tx_node))
			coll_task_ready(task);
	}
	engine->ops->kick(engine->ctx, stream);
	return 0;
}

/* What was lent up to a position is not read any more. */
static void stream_drop_zc_refs(struct coll_stream *stream, u64 position)
{
	struct coll_zc_ref *ref;

	/* Each was put there by a frame of ours. */
	while ((ref = list_first_entry_or_null(&stream->zc_refs, struct coll_zc_ref, node)) &&
	       ref->position <= position) {
		list_del(&ref->node);
		ref->stream = NULL;
		coll_task_consumed(ref->task);
	}
}

/**
 * coll_stream_consumed() - the peer has consumed payload
 * @stream: the stream
 * @position: bytes in all
 *
 * Return: 0 or -EPROTO.
 */
int coll_stream_consumed(struct coll_stream *stream, u64 position)
{
	if (position < stream->tx_consumed || position > stream->tx_position)
		return -EPROTO;
	stream->tx_consumed = position;
	stream_drop_zc_refs(stream, position);
	return 0;
}

/**
 * coll_stream_credited() - the peer has consumed eager frames
 * @stream: the stream
 * @position: bytes of them, headers included, that control frames told in all
 *
 * Return: 0 or -EPROTO.
 */
int coll_stream_credited(struct coll_stream *stream, u64 position)
{
	int err = -EPROTO;

	if (position >= stream->tx_credited)
		err = coll_stream_add_credit(stream, position - stream->tx_credited);
	if (!err)
		stream->tx_credited = position;
	return err;
}

/**
 * coll_stream_release() - nobody at the other end will succeed with our bytes
 * @stream: nothing is sent on it any more
 */
noinline void coll_stream_release(struct coll_stream *stream)
{
	if (stream->released)
		return;
	stream->released = true;
	stream_close_tx_frame(stream);
	stream_drop_zc_refs(stream, U64_MAX);
}

