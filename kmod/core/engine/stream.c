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
static void stream_mismatch(const struct coll_stream *stream, struct coll_task *inst)
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
	stream_mismatch(stream, inst);
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

/* What an eager frame costs of the credit. */
static u32 eager_cost(u32 len)
{
	return COLL_DATA_SIZE + len;
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
static int stream_repaid(struct coll_stream *stream, u64 bytes)
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
 * Out
 */

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
	if (!inst->args.eager || room < eager_cost(data->length) + kept) {
		if (room < COLL_DATA_SIZE)
			return false;
		data->flags |= COLL_DATA_REQUEST;
		data->length = 0;
		if (inst->tx.single_frame)
			data->offset = inst->tx.out.len;
		inst->rts_sent = true;
	}
	stream->tx_eager += eager_cost(data->length);
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
		err = stream_repaid(stream, position - stream->tx_credited);
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

/*
 * In
 */

/* No data frame need come to tell it. */
static void stream_tell_credit(struct coll_stream *stream)
{
	struct coll_engine *engine = stream->engine;
	struct coll_control control = {
		.kind = COLL_CONTROL_CREDIT,
		.lane = engine->lane,
	};

	stream->rx_credited += stream->rx_consumed - stream->rx_returned;
	stream->rx_returned = stream->rx_consumed;
	control.position = stream->rx_credited;
	engine->ops->control(engine->ctx, stream->peer, &control);
}

/*
 * An eager frame is consumed, which the next data frame tells, unless there is much to
 * tell.  A request is told at once: what is kept for them must not shrink by what is not
 * told.
 */
static void stream_credit(struct coll_stream *stream, const struct coll_data *data)
{
	stream->rx_consumed += eager_cost(data->length);
	if (stream->rx_consumed - stream->rx_returned >= COLL_CREDIT_UNTOLD ||
	    data->flags & COLL_DATA_REQUEST)
		stream_tell_credit(stream);
}

/**
 * coll_stream_detach() - the rest of the open frame is not wanted any more
 * @stream: the stream, in the middle of a frame of an instance
 */
noinline void coll_stream_detach(struct coll_stream *stream)
{
	stream->rx_inst->rx_stream = NULL;
	stream->rx_inst = NULL;
	stream->sink.kind = COLL_SINK_DISCARD;
}

/* An eager frame that waits for its instance, or for the turn of this peer. */
static bool stream_early(const struct coll_stream *stream, const struct coll_data *data)
{
	const struct coll_engine *engine = stream->engine;
	const struct coll_task *inst;

	inst = coll_task_find(engine, data->instance);
	if (!inst)
		return coll_engine_expects(engine, data->instance);
	if (inst->error || inst->odd || !(data->flags & COLL_DATA_EAGER) ||
	    coll_task_receives(inst, stream->peer))
		return false;
	/* Either its turn is to come, or its run is over: for the next use of a key. */
	if (!coll_instance_is_counted(data->instance))
		return true;
	return data->call == coll_plan_call(&inst->args.plan) &&
	       coll_task_next_source(inst, stream->peer);
}

/* Its turn has come, but what came before it has not been taken: see unexpected.c. */
static bool stream_behind(const struct coll_stream *stream, const struct coll_data *data)
{
	const struct coll_task *inst;

	if (!stream->unexp_len || !(data->flags & COLL_DATA_EAGER) ||
	    !coll_unexp_holds(stream, data->instance))
		return false;
	inst = coll_task_find(stream->engine, data->instance);
	return inst && !inst->error && !list_empty(&inst->waking) &&
	       coll_task_receives(inst, stream->peer);
}

/*
 * Is there an instance that takes the frame's payload?  One it does not fit is
 * told, and one whose sender asks for a grant gives it.  A frame beyond the grant is an
 * error.
 */
static int stream_taker(struct coll_stream *stream, const struct coll_data *data,
			struct coll_task **taker)
{
	struct coll_task *inst = coll_task_find(stream->engine, data->instance);

	*taker = NULL;
	if (!inst || inst->error || inst->odd)
		return 0;
	if (data->call != coll_plan_call(&inst->args.plan) ||
	    !coll_task_receives(inst, stream->peer) || !coll_task_expects(inst, data)) {
		stream_mismatch(stream, inst);
		return 0;
	}
	if (!(data->flags & COLL_DATA_EAGER) && !coll_task_granted(inst, data))
		return -EPROTO;
	coll_task_size(inst, data);
	if (data->flags & COLL_DATA_REQUEST) {
		coll_task_grant(inst);
		return 0;
	}
	if (data->flags & COLL_DATA_BORROWED)
		coll_task_sent_zerocopy(inst, stream);
	*taker = inst;
	return 0;
}

/* The header is complete: where does the payload go? */
static int stream_begin(struct coll_stream *stream)
{
	struct coll_engine *engine = stream->engine;
	struct coll_data *data = &stream->rx_data;
	bool early;
	int err = 0;

	if (coll_wire_get_data(stream->rx_head, data, engine->incarnation) ||
	    data->lane != engine->lane ||
	    stream_repaid(stream, data->credit * COLL_CREDIT_UNIT))
		return -EPROTO;

	if (data->flags & COLL_DATA_EAGER) {
		stream->rx_eager += eager_cost(data->length);
		if (stream->rx_eager - stream->rx_returned > COLL_CREDIT)
			return -EPROTO;
	}

	early = stream_early(stream, data) || stream_behind(stream, data);
	if (early && (!(data->flags & COLL_DATA_EAGER) ||
		      data->instance == COLL_INSTANCE_GROUP))
		return -EPROTO;

	stream->rx_inst = NULL;
	if (!early)
		err = stream_taker(stream, data, &stream->rx_inst);
	if (err)
		return err;

	stream->rx_open = true;
	stream->rx_head_got = 0;
	stream->sink = (struct coll_sink){ .left = data->length };

	if (early) {
		stream->sink.kind = COLL_SINK_STAGE;
		stream->sink.stage = coll_unexp_room(stream, data->length);
		return 0;
	}

	if (stream->rx_inst) {
		coll_task_sink(stream->rx_inst, &stream->sink, data->length);
		stream->rx_inst->rx_stream = stream;
	}
	return 0;
}

static void stream_count(struct coll_stream *stream, const struct coll_sink *sink, u64 len)
{
	stream->engine->stats.received += len;
	if (sink->kind == COLL_SINK_REDUCE)
		stream->engine->stats.reduced += len;
}

/* How far an instance's step is stored, after a frame or a part of one. */
static u64 stream_stored(const struct coll_data *data, const struct coll_sink *sink)
{
	if (!data->length)
		return 1;
	return data->offset + data->length - coll_sink_pending(sink);
}

/* Meanwhile its turn may have come, or its operation may have failed. */
static void stream_staged(struct coll_stream *stream, const struct coll_data *data)
{
	struct coll_task *inst;

	if (stream_early(stream, data))
		return;
	inst = coll_task_find(stream->engine, data->instance);
	if (inst && coll_task_receives(inst, stream->peer))
		coll_engine_wake(inst);
	else
		coll_stream_deliver_unexpected(stream, data->instance);
}

/* The last byte of a frame has come. */
static void stream_close(struct coll_stream *stream)
{
	struct coll_engine *engine = stream->engine;
	struct coll_data data = stream->rx_data;
	struct coll_task *inst = stream->rx_inst;

	stream->rx_open = false;
	stream->rx_inst = NULL;

	if (stream->sink.kind == COLL_SINK_STAGE) {
		coll_unexp_add(stream, &data);
		stream_staged(stream, &data);
		return;
	}

	if (data.flags & COLL_DATA_EAGER)
		stream_credit(stream, &data);

	if (inst) {
		stream->rx_last = data.offset + data.length == inst->rx.in.len;
		inst->rx_stream = NULL;
		coll_task_rx_advance(inst, stream_stored(&data, &stream->sink));
	} else if (data.flags & COLL_DATA_BORROWED) {
		struct coll_control control = {
			.kind = COLL_CONTROL_CONSUMED,
			.lane = engine->lane,
			.instance = data.instance,
			.position = stream->rx_position,
		};

		engine->ops->control(engine->ctx, stream->peer, &control);
	}
}

/* A header that is complete, and has opened no frame, was refused. */
static bool stream_refused(const struct coll_stream *stream)
{
	return stream->rx_head_got == COLL_DATA_SIZE;
}

/**
 * coll_stream_receive() - take arriving bytes, up to the end of a frame or header
 * @stream: the stream
 * @ptr: the bytes
 * @len: how many, not 0
 *
 * coll_stream_pause() has to follow, not at once; the end of a frame counts then, or when more
 * is taken.
 *
 * What that costs of a budget is @stream->rx_cost: see coll_piece_cost().
 *
 * Context: needs the vector registers when coll_stream_reduces().
 * Return: how many were taken, at least one, or -EPROTO, and from then on always.
 */
int coll_stream_receive(struct coll_stream *stream, const void *ptr, u32 len)
{
	u32 n;
	int err;

	if (coll_stream_whole(stream))
		stream_close(stream);
	stream->rx_last = false;
	if (stream_refused(stream))
		return -EPROTO;
	if (!stream->rx_open) {
		n = min_t(u32, COLL_DATA_SIZE - stream->rx_head_got, len);
		memcpy(stream->rx_head + stream->rx_head_got, ptr, n);
		stream->rx_head_got += n;
		stream->rx_cost = n;
		if (stream->rx_head_got < COLL_DATA_SIZE)
			return n;
		err = stream_begin(stream);
		if (err)
			return err;
		stream->rx_cost = COLL_PIECE_COST;
	} else {
		n = coll_sink(&stream->sink, ptr, len);
		stream->rx_cost = stream->sink.cost;
		stream->rx_position += n;
		stream_count(stream, &stream->sink, n);
	}
	return n;
}

/**
 * coll_stream_pause() - no more bytes for now: go on with those that have come
 * @stream: the stream
 *
 * An instance is told here how far it has come, at the end of a frame and in the middle:
 * bytes come in fragments, and it is not worth while for each.
 */
void coll_stream_pause(struct coll_stream *stream)
{
	if (coll_stream_whole(stream))
		stream_close(stream);
	else if (stream->rx_open && stream->rx_inst)
		coll_task_rx_advance(stream->rx_inst,
				     stream_stored(&stream->rx_data, &stream->sink));
}

/* Give a staged frame to its instance, now that there is one; at what cost. */
static u64 stream_deliver(struct coll_stream *stream, const struct coll_data *data,
			  const u8 *payload)
{
	struct coll_engine *engine = stream->engine;
	struct coll_task *inst;
	struct coll_sink sink;
	u64 cost = 0;
	u32 done = 0;

	/* Nothing is in the stage that needs a grant. */
	if (stream_taker(stream, data, &inst) || !inst)
		return 0;
	coll_task_sink(inst, &sink, data->length);
	while (done < data->length) {
		if (coll_sink_computes(&sink))
			engine->ops->vector(engine->ctx, true);
		done += coll_sink(&sink, payload + done, data->length - done);
		if (coll_sink_computes(&sink))
			engine->ops->vector(engine->ctx, false);
		cost += sink.cost;
	}
	if (sink.kind == COLL_SINK_REDUCE)
		engine->stats.reduced += data->length;
	coll_task_rx_advance(inst, stream_stored(data, &sink));
	return cost;
}

/**
 * coll_stream_deliver_unexpected() - use the next frame of a name that came early, or drop it
 * @stream: the stream
 * @instance: the name
 *
 * Return: what that costs of a budget; 0: there is none whose turn has come, or that nobody
 * waits for any more.
 */
u64 coll_stream_deliver_unexpected(struct coll_stream *stream, u64 instance)
{
	struct coll_unexp_place place = { 0 };
	struct coll_data data;
	const u8 *payload;
	u64 cost;

	/* Those of the name that are not to be taken yet: see coll_unexp_next(). */
	do {
		payload = coll_unexp_next(stream, instance, &place, &data);
		if (!payload)
			return 0;
	} while (stream_early(stream, &data));

	coll_unexp_remove(stream, &place);
	cost = stream_deliver(stream, &data, payload);
	stream_credit(stream, &data);
	return max_t(u64, cost, COLL_PIECE_COST);
}
