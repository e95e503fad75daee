// SPDX-License-Identifier: GPL-2.0-only
/*
 * Streams, receiving: data frames go to tasks.
 *
 * A stream can always be read.  A frame fits a task in progress (granted, or eager), or is eager
 * and unexpected and is kept within the credit that was given, or belongs to a failed operation
 * and is discarded.  A correct peer sends no other frame.
 */
#include "core/engine/task.h"

#include <linux/collective.h>

/* Return credit in a control frame, because a data frame may not follow soon. */
static void stream_send_credit(struct coll_stream *stream, u8 reply)
{
	struct coll_engine *engine = stream->engine;
	struct coll_control control = {
		.kind = COLL_CONTROL_CREDIT,
		.lane = engine->lane,
		.credit_reply = reply,
	};

	stream->rx_credited += stream->rx_consumed - stream->rx_returned;
	stream->rx_returned = stream->rx_consumed;
	control.position = stream->rx_credited;
	engine->ops->control(engine->ctx, stream->peer, &control);
}

/*
 * Requests must always find credit, because the operation of one of them may be the next that this
 * rank submits.  So one that comes early, and would use up what the peer keeps for requests, is
 * dropped: its credit goes back, and the peer is asked to repeat it when its run starts.  Data
 * frames leave COLL_CREDIT_KEPT bytes of credit, and requests that are kept half of that.
 */
static bool stream_drops_request(struct coll_stream *stream, const struct coll_data *data)
{
	u32 most = stream->rx_credit - COLL_CREDIT_KEPT / 2;

	if (!(data->flags & COLL_DATA_REQUEST))
		return false;
	if (stream->rx_eager - stream->rx_returned > most &&
	    stream->rx_consumed != stream->rx_returned)
		stream_send_credit(stream, COLL_CREDIT_UNASKED);
	if (stream->rx_eager - stream->rx_returned <= most)
		return false;
	coll_dropped_add(&stream->dropped, data->instance);
	stream->engine->credit_wanted = true;
	stream->rx_wanted = max(stream->rx_wanted, min(2 * stream->rx_credit, COLL_CREDIT));
	return true;
}

/*
 * Early frames should not need more than a quarter of the credit: @len bytes.  Whatever a peer
 * sends, it gets COLL_CREDIT at most.
 */
static void stream_want_credit(struct coll_stream *stream, u64 len)
{
	u32 wanted = stream->rx_credit;

	while (wanted < COLL_CREDIT && wanted / 4 < len)
		wanted *= 2;
	if (wanted == stream->rx_credit)
		return;
	stream->rx_wanted = max(stream->rx_wanted, wanted);
	stream->engine->credit_wanted = true;
}

/*
 * An eager frame is consumed.  The next data frame returns its credit, unless much credit is
 * owed; so there should be enough of it to owe a unit of what data frames return.  The credit of a
 * request is returned at once, because others may wait for it.
 */
static void stream_return_credit(struct coll_stream *stream, const struct coll_data *data)
{
	u32 untold = COLL_CREDIT_UNTOLD(stream->rx_credit);
	bool request = data->flags & COLL_DATA_REQUEST;

	stream->rx_consumed += coll_eager_cost(data->length);
	if (stream->rx_consumed - stream->rx_returned < untold && !request)
		return;
	stream_send_credit(stream, COLL_CREDIT_UNASKED);
	if (untold <= COLL_CREDIT_UNIT && !request)
		stream_want_credit(stream, stream->rx_credit / 4 + 1);
}

/* A sender asks for so much at most beyond its credit: for one frame. */
#define STREAM_BLOCKED_MOST	(COLLECTIVE_EAGER_LIMIT + COLL_DATA_SIZE + COLL_CREDIT_KEPT)

/**
 * coll_stream_blocked() - the peer has sent BLOCKED
 * @stream: the stream
 * @position: eager bytes, headers included, up to which it wants credit
 *
 * It should have twice the credit at least, so that it seldom asks.
 *
 * Return: 0, or -EPROTO if it has not had the reply to the one before, or wants too much.
 */
int coll_stream_blocked(struct coll_stream *stream, u64 position)
{
	u64 limit = stream->rx_returned + stream->rx_credit;
	u32 wanted = stream->rx_credit;

	if (stream->rx_blocked || (position > limit && position - limit > STREAM_BLOCKED_MOST))
		return -EPROTO;
	do {
		wanted = min(2 * wanted, COLL_CREDIT);
	} while (wanted < COLL_CREDIT && stream->rx_consumed + wanted < position);
	stream->rx_blocked = true;
	stream->rx_wanted = max(stream->rx_wanted, wanted);
	stream->engine->credit_wanted = true;
	return 0;
}

/* Answer a BLOCKED, if there is one, with all the credit that can be given. */
static void stream_reply(struct coll_stream *stream, u8 reply)
{
	if (!stream->rx_blocked)
		reply = COLL_CREDIT_UNASKED;
	else if (stream->rx_credit == COLL_CREDIT)
		reply = COLL_CREDIT_MOST;
	stream->rx_blocked = false;
	stream->rx_wanted = 0;
	stream_send_credit(stream, reply);
}

/**
 * coll_stream_raise_credit() - give the peer more credit
 * @stream: the stream
 * @buf: coll_unexp_bytes(@credit)
 * @credit: the new credit, more than before and at most COLL_CREDIT; a power of two
 *
 * Return: the old unexpected buffer.
 */
u8 *coll_stream_raise_credit(struct coll_stream *stream, u8 *buf, u32 credit)
{
	u8 *old = coll_unexp_move(stream, buf);

	stream->rx_credited += credit - stream->rx_credit;
	stream->rx_credit = credit;
	stream_reply(stream, COLL_CREDIT_RAISED);
	return old;
}

/**
 * coll_stream_refuse_credit() - give a peer that has asked for it no more credit
 * @stream: the stream
 */
void coll_stream_refuse_credit(struct coll_stream *stream)
{
	stream_reply(stream, COLL_CREDIT_REFUSED);
}

/**
 * coll_stream_discard_rest() - discard the rest of the open frame
 * @stream: the stream, in the middle of a frame of a task
 */
void coll_stream_discard_rest(struct coll_stream *stream)
{
	stream->rx_task->rx_stream = NULL;
	stream->rx_task = NULL;
	stream->sink.kind = COLL_SINK_DISCARD;
}

/* Is it an eager frame that has to wait for its operation, or for the run of this peer? */
static bool stream_is_early(const struct coll_stream *stream, const struct coll_data *data)
{
	const struct coll_engine *engine = stream->engine;
	const struct coll_task *task;

	task = coll_task_find(engine, data->instance);
	if (!task)
		return coll_engine_expects(engine, data->instance);
	if (!task_runs(task) || !(data->flags & COLL_DATA_EAGER) ||
	    coll_task_receives(task, stream->peer))
		return false;
	/*
	 * The run of this peer is still to come, or is over and the frame is for the next use of
	 * the key.
	 */
	if (!coll_instance_is_counted(data->instance))
		return true;
	return data->call == coll_plan_call(&task->args.plan) &&
	       coll_task_awaits(task, stream->peer);
}

/* The run of this peer has started, but earlier frames are still in the unexpected buffer. */
static bool stream_is_behind(const struct coll_stream *stream, const struct coll_data *data)
{
	const struct coll_task *task;

	if (!stream->unexp_len || !(data->flags & COLL_DATA_EAGER) ||
	    !coll_unexp_holds(stream, data->instance))
		return false;
	task = coll_task_find(stream->engine, data->instance);
	return task && !task->error && !list_empty(&task->unexp_ready) &&
	       coll_task_receives(task, stream->peer);
}

/*
 * Find the task that takes the payload of a frame.  A frame that does not fit its task is
 * reported as a mismatch.  A request for a grant is answered.  A frame beyond the grant is an
 * error.
 */
static int stream_find_receiver(struct coll_stream *stream, const struct coll_data *data,
				struct coll_task **taker)
{
	struct coll_task *task = coll_task_find(stream->engine, data->instance);

	*taker = NULL;
	if (!task || !task_runs(task))
		return 0;
	if (data->call != coll_plan_call(&task->args.plan) ||
	    !coll_task_receives(task, stream->peer) || !coll_task_expects(task, data)) {
		coll_stream_mismatch(stream, task);
		return 0;
	}
	if (!(data->flags & COLL_DATA_EAGER) && !coll_task_is_granted(task, data))
		return -EPROTO;
	coll_task_set_length(task, data);
	if (data->flags & COLL_DATA_REQUEST) {
		coll_task_grant(task);
		return 0;
	}
	if (data->flags & COLL_DATA_ZEROCOPY)
		coll_task_recv_zerocopy(task, stream);
	*taker = task;
	return 0;
}

/* The header is complete: decide where the payload goes. */
static int stream_open_rx_frame(struct coll_stream *stream)
{
	struct coll_engine *engine = stream->engine;
	struct coll_data *data = &stream->rx_data;
	bool early, dropped;
	int err = 0;

	if (coll_wire_get_data(stream->rx_hdr, data, engine->incarnation) ||
	    data->lane != engine->lane ||
	    coll_stream_add_credit(stream, data->credit * COLL_CREDIT_UNIT))
		return -EPROTO;

	if (data->flags & COLL_DATA_EAGER) {
		stream->rx_eager += coll_eager_cost(data->length);
		if (stream->rx_eager - stream->rx_returned > stream->rx_credit)
			return -EPROTO;
	}

	early = stream_is_early(stream, data);
	dropped = early && stream_drops_request(stream, data);
	early |= stream_is_behind(stream, data);
	if (early && (!(data->flags & COLL_DATA_EAGER) ||
		      data->instance == COLL_INSTANCE_GROUP))
		return -EPROTO;

	stream->rx_task = NULL;
	if (!early)
		err = stream_find_receiver(stream, data, &stream->rx_task);
	if (err)
		return err;

	stream->rx_open = true;
	stream->rx_hdr_len = 0;
	stream->sink = (struct coll_sink){ .left = data->length };

	if (early && !dropped) {
		stream->sink.kind = COLL_SINK_UNEXP;
		stream->sink.unexp = coll_unexp_space(stream, data->length);
		return 0;
	}

	if (stream->rx_task) {
		coll_task_sink(stream->rx_task, &stream->sink, data->length);
		stream->rx_task->rx_stream = stream;
	}
	return 0;
}

static void stream_count(struct coll_stream *stream, const struct coll_sink *sink, u64 len)
{
	stream->engine->stats.received += len;
	if (sink->kind == COLL_SINK_REDUCE)
		stream->engine->stats.reduced += len;
}

/* Bytes of the step that are stored after this frame, or after a part of it. */
static u64 stream_stored(const struct coll_data *data, const struct coll_sink *sink)
{
	if (!data->length)
		return 1;
	return data->offset + data->length - coll_sink_pending(sink);
}

/* While the frame arrived, its run may have started, or its operation may have failed. */
static void stream_unexp_added(struct coll_stream *stream, const struct coll_data *data)
{
	struct coll_task *task;

	if (stream_is_early(stream, data))
		return;
	task = coll_task_find(stream->engine, data->instance);
	if (task && coll_task_receives(task, stream->peer))
		coll_engine_queue_unexpected(task);
	else
		coll_stream_deliver_unexpected(stream, data->instance);
}

/**
 * coll_stream_unhold() - the transport stores nothing more in the memory of a task
 * @stream: the stream; all of the open frame has come, or nothing more of it is stored
 */
void coll_stream_unhold(struct coll_stream *stream)
{
	struct coll_task *task = stream->rx_held;

	if (!task)
		return;
	stream->rx_held = NULL;
	task->rx_held = false;
	/* One in progress is not complete yet: its step ends after this. */
	if (task->error)
		coll_task_try_complete(task);
}

/* The last byte of a frame has arrived. */
static void stream_close_rx_frame(struct coll_stream *stream)
{
	struct coll_engine *engine = stream->engine;
	struct coll_data data = stream->rx_data;
	struct coll_task *task = stream->rx_task;

	stream->rx_open = false;
	stream->rx_task = NULL;
	coll_stream_unhold(stream);

	if (stream->sink.kind == COLL_SINK_UNEXP) {
		coll_unexp_add(stream, &data);
		stream_want_credit(stream, stream->unexp_len);
		stream_unexp_added(stream, &data);
		return;
	}

	if (data.flags & COLL_DATA_EAGER)
		stream_return_credit(stream, &data);

	if (task) {
		task->rx_stream = NULL;
		coll_task_rx_advance(task, stream_stored(&data, &stream->sink));
	} else if (data.flags & COLL_DATA_ZEROCOPY) {
		struct coll_control control = {
			.kind = COLL_CONTROL_CONSUMED,
			.lane = engine->lane,
			.instance = data.instance,
			.position = stream->rx_position,
		};

		engine->ops->control(engine->ctx, stream->peer, &control);
	}
}

/* A complete header that has not opened a frame was rejected. */
static bool stream_was_rejected(const struct coll_stream *stream)
{
	return stream->rx_hdr_len == COLL_DATA_SIZE;
}

/**
 * coll_stream_receive() - receive bytes, up to the end of a header or frame
 * @stream: the stream
 * @ptr: the bytes
 * @len: number of bytes, not 0
 *
 * The caller must call coll_stream_pause() later.  The end of a frame takes effect there, or when
 * more bytes are received.
 *
 * @stream->rx_cost is the cost of the bytes for a budget: see coll_piece_cost().
 *
 * Context: needs the FPU registers if coll_stream_reduces().
 * Return: number of bytes taken, at least one; -EPROTO, and then for every later call, too.
 */
int coll_stream_receive(struct coll_stream *stream, const void *ptr, u32 len)
{
	u32 n;
	int err;

	if (coll_stream_whole(stream))
		stream_close_rx_frame(stream);
	if (stream_was_rejected(stream))
		return -EPROTO;
	if (!stream->rx_open) {
		n = min_t(u32, COLL_DATA_SIZE - stream->rx_hdr_len, len);
		memcpy(stream->rx_hdr + stream->rx_hdr_len, ptr, n);
		stream->rx_hdr_len += n;
		stream->rx_cost = n;
		if (stream->rx_hdr_len < COLL_DATA_SIZE)
			return n;
		err = stream_open_rx_frame(stream);
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
 * coll_stream_revoked() - the peer has withdrawn the rest of the open frame
 * @stream: the stream
 * @len: payload bytes of the frame that have not been received; all that are left
 *
 * Its task never completes with success: the peer has aborted the operation, and says so on the
 * control connection.  The caller must call coll_stream_pause() later.
 */
void coll_stream_revoked(struct coll_stream *stream, u32 len)
{
	struct coll_task *task = stream->rx_task;

	stream->rx_position += len;
	stream->rx_cost = COLL_PIECE_COST;
	if (task) {
		coll_stream_discard_rest(stream);
		coll_task_stop(task, stream->peer);
	}
	stream->sink.left = 0;
	stream->sink.carried = 0;
}

/**
 * coll_stream_place() - where does payload go that the transport can store itself?
 * @stream: the stream
 * @ahead: bytes of the payload that come before it, and have not been received yet
 * @place: out: where the bytes behind these go, all that are left of the open frame
 *
 * If there is memory for them, it stays until the frame ends: an operation that fails meanwhile
 * completes only then.  So the transport may have told a device to store bytes there, and has to
 * report them by coll_stream_placed() in any case.  It may also pass all of them to
 * coll_stream_receive().
 *
 * Return: 1: @place says it; 0: they must be passed to coll_stream_receive(); -EPROTO: the open
 * frame has no such bytes.
 */
int coll_stream_place(struct coll_stream *stream, u64 ahead, struct coll_place *place)
{
	const struct coll_sink *sink = &stream->sink;

	if (!stream->rx_open || ahead >= sink->left)
		return -EPROTO;
	*place = (struct coll_place){ .len = sink->left - ahead };
	if (sink->kind == COLL_SINK_DISCARD)
		return 1;
	if (sink->kind != COLL_SINK_COPY || sink->tee || sink->excess || sink->carried ||
	    coll_mem_piece(sink->dst, sink->dst_off + ahead) < COLL_PLACE_PIECE_MIN)
		return 0;
	place->mem = sink->dst;
	place->off = sink->dst_off + ahead;
	stream->rx_held = stream->rx_task;
	stream->rx_task->rx_held = true;
	return 1;
}

/**
 * coll_stream_placed() - the transport has stored or dropped payload
 * @stream: the stream
 * @len: number of bytes, the next ones of the open frame
 *
 * The caller must call coll_stream_pause() later.
 */
void coll_stream_placed(struct coll_stream *stream, u32 len)
{
	struct coll_sink *sink = &stream->sink;

	sink->left -= len;
	stream->rx_position += len;
	stream->rx_cost = COLL_PIECE_COST;
	stream_count(stream, sink, len);
	if (sink->kind == COLL_SINK_COPY) {
		sink->dst_off += len;
		stream->rx_placed += len;
		stream->engine->stats.placed += len;
	}
}

/**
 * coll_stream_pause() - process the bytes received so far
 * @stream: the stream; no more bytes are available now
 *
 * The task learns its progress here, at the end of a frame and in the middle of one.  Bytes come
 * in fragments, and an update for each fragment would cost too much.
 */
void coll_stream_pause(struct coll_stream *stream)
{
	if (coll_stream_whole(stream))
		stream_close_rx_frame(stream);
	else if (stream->rx_open && stream->rx_task)
		coll_task_rx_advance(stream->rx_task,
				     stream_stored(&stream->rx_data, &stream->sink));
}

/* Deliver an unexpected frame to its task.  Returns the cost for a budget. */
static u64 stream_deliver_frame(struct coll_stream *stream, const struct coll_data *data,
				const u8 *payload)
{
	struct coll_engine *engine = stream->engine;
	struct coll_task *task;
	struct coll_sink sink;
	u64 cost = 0;
	u32 done = 0;

	/* Frames in the unexpected buffer need no grant. */
	if (stream_find_receiver(stream, data, &task) || !task)
		return 0;
	coll_task_sink(task, &sink, data->length);
	while (done < data->length) {
		if (coll_sink_computes(&sink))
			engine->ops->fpu(engine->ctx, true);
		done += coll_sink(&sink, payload + done, data->length - done);
		if (coll_sink_computes(&sink))
			engine->ops->fpu(engine->ctx, false);
		cost += sink.cost;
	}
	if (sink.kind == COLL_SINK_REDUCE)
		engine->stats.reduced += data->length;
	coll_task_rx_advance(task, stream_stored(data, &sink));
	return cost;
}

/**
 * coll_stream_deliver_unexpected() - deliver or discard the next unexpected frame of an instance
 * @stream: the stream
 * @instance: the instance
 *
 * Return: the cost for a budget; 0: there is no frame that can be received now or is no longer
 * needed.
 */
u64 coll_stream_deliver_unexpected(struct coll_stream *stream, u64 instance)
{
	struct coll_unexp_place place = { 0 };
	struct coll_data data;
	const u8 *payload;
	u64 cost;

	/* Skip frames that cannot be received yet: see coll_unexp_next(). */
	do {
		payload = coll_unexp_next(stream, instance, &place, &data);
		if (!payload)
			return 0;
	} while (stream_is_early(stream, &data));

	coll_unexp_remove(stream, &place);
	cost = stream_deliver_frame(stream, &data, payload);
	stream_return_credit(stream, &data);
	return max_t(u64, cost, COLL_PIECE_COST);
}
