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
/* What a data frame tells of credit is never more than there is: stream_tell(). */
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
	INIT_LIST_HEAD(&stream->lent);
	INIT_LIST_HEAD(&stream->node);
}

/* A peer has called something else than what is in progress here. */
void coll_stream_mismatch(const struct coll_stream *stream, struct coll_task *inst)
{
	inst->odd = true;
	stream->engine->ops->mismatch(stream->engine->ctx, inst, stream->peer);
}

/* Has the peer called something else, which he granted? */
static bool stream_differs(const struct coll_stream *stream, struct coll_task *inst)
{
	const struct coll_grant *grant = coll_grants_get(&stream->grants, inst->args.instance);

	if (!grant->limit || grant->digest == inst->args.digest)
		return false;
	coll_stream_mismatch(stream, inst);
	return true;
}

/* How much more of the present run the peer can take. */
static u64 stream_granted(const struct coll_stream *stream, struct coll_task *inst)
{
	u64 limit = coll_grants_get(&stream->grants, inst->args.instance)->limit;

	return limit <= inst->tx_run || stream_differs(stream, inst) ? 0 : limit - inst->tx_run;
}

/**
 * coll_stream_compare() - see whether a peer has granted something else
 * @stream: the stream
 * @inst: an operation in progress, which may have nothing to send there
 */
void coll_stream_compare(const struct coll_stream *stream, struct coll_task *inst)
{
	/* With a key it may be the next use of it that is granted. */
	if (!inst->error && !inst->odd && inst->args.digest &&
	    coll_instance_is_counted(inst->args.instance))
		stream_differs(stream, inst);
}

/*
 * Credit: a CREDIT frame wakes somebody up at the other end, a data frame comes anyhow.
 * They overtake each other, so each tells what none of either kind told before, and the
 * two are added up.
 */

/* A data frame leaves: in it. */
static u8 stream_tell(struct coll_stream *stream)
{
	u8 units = (stream->rx_consumed - stream->rx_returned) / COLL_CREDIT_UNIT;

	stream->rx_returned += units * COLL_CREDIT_UNIT;
	return units;
}

/* The peer has consumed so much more. */
int coll_stream_repaid(struct coll_stream *stream, u64 bytes)
{
	struct coll_engine *engine = stream->engine;
	struct coll_task *inst, *next;

	if (bytes > stream->tx_eager - (stream->tx_credit - COLL_CREDIT))
		return -EPROTO;
	if (!bytes)
		return 0;
	stream->tx_credit += bytes;
	/* Few: there is credit kept to ask for grants for all that may be in progress. */
	list_for_each_entry_safe(inst, next, &stream->starving, tx_node)
		coll_task_ready(inst);
	engine->ops->kick(engine->ctx, stream);
	return 0;
}

/*
 * What arrives in small pieces is not forwarded in small frames: each rank would
 * cut it smaller yet.  The end of a step, or of what is granted, never waits, nor
 * does what takes up much of a window.
 */
static bool worthwhile(const struct coll_task *inst, u64 ready, u64 granted)
{
	u64 enough = COLL_DATA_MIN;

	if (inst->tx.out.area == COLL_AREA_SCRATCH)
		enough = min(enough, inst->args.area[COLL_AREA_SCRATCH]->length / 4);
	return inst->tx.signal || ready >= enough || ready == granted ||
	       inst->tx_off + ready == inst->tx.out.len;
}

/*
 * May an eager frame go, or one that asks for a grant?  Frames of operations that the peer has not
 * submitted use up the credit, and what it has submitted may be behind them: so
 * a part of the credit is kept for asking for a grant, with a header alone, and
 * it is enough for all that we may have in progress.
 */
static bool stream_eager(struct coll_stream *stream, struct coll_task *inst,
			 struct coll_data *data)
{
	u64 kept = (u64)COLL_DATA_SIZE * stream->engine->nhash;
	u64 room = stream->tx_credit - stream->tx_eager;

	if (inst->rts_sent)
		return false;
	data->flags = COLL_DATA_EAGER;
	if (!inst->args.eager || room < coll_eager_cost(data->length) + kept) {
		if (room < COLL_DATA_SIZE)
			return false;
		data->flags |= COLL_DATA_REQUEST;
		data->length = 0;
		if (inst->tx.single_frame)
			data->offset = inst->tx.out.len;
		inst->rts_sent = true;
	}
	stream->tx_eager += coll_eager_cost(data->length);
	return true;
}

/* It is looked at again when something has happened: coll_task_ready(). */
static void stream_park(struct coll_task *inst, struct list_head *list)
{
	inst->tx_parked = true;
	list_move_tail(&inst->tx_node, list);
}

/* Begin a frame of @inst, if there is something final that may go; else it is parked. */
static void stream_frame(struct coll_stream *stream, struct coll_task *inst)
{
	struct coll_engine *engine = stream->engine;
	const struct coll_span *out = &inst->tx.out;
	u64 ready = coll_task_sendable(inst);
	u64 granted = stream_granted(stream, inst);
	struct coll_data data = {
		.lane = engine->lane,
		.call = coll_plan_call(&inst->args.plan),
		.step = inst->tx.tag,
		.instance = inst->args.instance,
		.offset = inst->tx_off,
	};
	bool ask;

	granted &= ~(u64)(inst->tx.signal ? 0 : inst->args.plan.size - 1);
	ask = inst->tx.single_frame && !granted;
	if (!inst->args.eager && !ask)
		ready = min(ready, granted);
	if (!ready || !worthwhile(inst, ready, granted) || !coll_task_may_zerocopy(inst, stream)) {
		stream_park(inst, &stream->waiting);
		return;
	}
	data.length = inst->tx.signal ? 0 : min_t(u64, ready, COLL_DATA_FULL);

	if (ask || (inst->args.eager && granted < ready)) {
		if (!stream_eager(stream, inst, &data)) {
			stream_park(inst, inst->rts_sent ? &stream->waiting :
					  &stream->starving);
			return;
		}
	} else if (!inst->args.eager && out->area != COLL_AREA_SCRATCH) {
		data.flags = COLL_DATA_BORROWED;
	}

	data.credit = stream_tell(stream);
	coll_wire_put_data(stream->tx_head, &data, engine->incarnation);
	stream->tx_head_left = COLL_DATA_SIZE;
	stream->tx_left = data.length;
	stream->tx_mem = inst->args.area[out->area];
	stream->tx_off = inst->args.area_off[out->area] + out->off + inst->tx_off;
	stream->tx_scratch = out->area == COLL_AREA_SCRATCH;
	stream->tx_copy = inst->args.eager || stream->tx_scratch;
	stream->tx_inst = inst;
	stream->tx_position += data.length;
	inst->open_frames++;
	if (!(data.flags & COLL_DATA_REQUEST))
		coll_task_tx_advance(inst, stream, data.length);
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
	struct coll_task *inst;

	if (stream->released)
		return false;

	/* Each is looked at once, until something happens that may let it send. */
	while (!stream->tx_inst) {
		inst = list_first_entry_or_null(&stream->sending, struct coll_task, tx_node);
		if (!inst)
			return false;
		stream_frame(stream, inst);
	}

	if (stream->tx_head_left)
		*out = (struct coll_out){
			.ptr = stream->tx_head + COLL_DATA_SIZE - stream->tx_head_left,
			.len = stream->tx_head_left,
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
static void stream_unframe(struct coll_stream *stream)
{
	struct coll_task *inst = stream->tx_inst;

	stream->tx_inst = NULL;
	stream->tx_head_left = 0;
	stream->tx_left = 0;
	if (inst)
		coll_task_unframed(inst);
}

/**
 * coll_stream_sent() - the transport has taken some of what may leave
 * @stream: the stream
 * @len: bytes, at most what coll_stream_next() gave and what may go with it
 */
void coll_stream_sent(struct coll_stream *stream, u32 len)
{
	u32 head = min(len, stream->tx_head_left);

	len -= head;
	stream->tx_head_left -= head;
	stream->tx_left -= len;
	stream->tx_off += len;
	stream->engine->stats.sent += len;
	if (stream->tx_scratch && stream->tx_inst->schedule->windowed && len)
		coll_task_left(stream->tx_inst, stream->tx_off);
	if (!stream->tx_head_left && !stream->tx_left)
		stream_unframe(stream);
}

static bool grant_useless(const struct coll_engine *engine, u64 instance)
{
	const struct coll_task *inst = coll_task_find(engine, instance);

	return inst ? inst->error : !coll_engine_expects(engine, instance);
}

/*
 * The peer has failed many operations that have not begun here.  Of those that
 * come in order it has no two in progress that are further apart than nhash.
 */
static bool grant_past(const struct coll_engine *engine, u64 instance, u64 latest)
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
		    (useless ? grant_useless(engine, instance) :
			       grant_past(engine, instance, latest)))
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
	struct coll_task *inst = coll_task_find(engine, instance);
	int err;

	if (instance == COLL_INSTANCE_GROUP)
		return -EPROTO;
	if (grant_useless(engine, instance))
		return 0;
	if (stream->grants.count + 1 == stream->grants.size)
		stream_sweep_grants(stream, instance);
	err = coll_grants_raise(&stream->grants, instance, limit, digest);
	if (err)
		return -EPROTO;
	if (inst) {
		coll_stream_compare(stream, inst);
		if (inst->tx_stream == stream && !list_empty(&inst->tx_node))
			coll_task_ready(inst);
	}
	engine->ops->kick(engine->ctx, stream);
	return 0;
}

/* What was lent up to a position is not read any more. */
static void stream_covered(struct coll_stream *stream, u64 position)
{
	struct coll_zc_ref *mark;

	/* Each was put there by a frame of ours. */
	while ((mark = list_first_entry_or_null(&stream->lent, struct coll_zc_ref, node)) &&
	       mark->position <= position) {
		list_del(&mark->node);
		mark->stream = NULL;
		coll_task_consumed(mark->inst);
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
	stream_covered(stream, position);
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
		err = coll_stream_repaid(stream, position - stream->tx_credited);
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
	stream_unframe(stream);
	stream_covered(stream, U64_MAX);
}

