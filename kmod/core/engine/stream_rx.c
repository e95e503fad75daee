// SPDX-License-Identifier: GPL-2.0-only
/* Streams: data frames back into tasks. */
#include "core/engine/task.h"

#include <linux/collective.h>

/* No data frame need come to tell it. */
static void stream_send_credit(struct coll_stream *stream)
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
static void stream_return_credit(struct coll_stream *stream, const struct coll_data *data)
{
	stream->rx_consumed += coll_eager_cost(data->length);
	if (stream->rx_consumed - stream->rx_returned >= COLL_CREDIT_UNTOLD ||
	    data->flags & COLL_DATA_REQUEST)
		stream_send_credit(stream);
}

/**
 * coll_stream_discard_rest() - the rest of the open frame is not wanted any more
 * @stream: the stream, in the middle of a frame of an instance
 */
noinline void coll_stream_discard_rest(struct coll_stream *stream)
{
	stream->rx_task->rx_stream = NULL;
	stream->rx_task = NULL;
	stream->sink.kind = COLL_SINK_DISCARD;
}

/* An eager frame that waits for its instance, or for the turn of this peer. */
static bool stream_is_early(const struct coll_stream *stream, const struct coll_data *data)
{
	const struct coll_engine *engine = stream->engine;
	const struct coll_task *task;

	task = coll_task_find(engine, data->instance);
	if (!task)
		return coll_engine_expects(engine, data->instance);
	if (task->error || task->mismatched || !(data->flags & COLL_DATA_EAGER) ||
	    coll_task_receives(task, stream->peer))
		return false;
	/* Either its turn is to come, or its run is over: for the next use of a key. */
	if (!coll_instance_is_counted(data->instance))
		return true;
	return data->call == coll_plan_call(&task->args.plan) &&
	       coll_task_awaits(task, stream->peer);
}

/* Its turn has come, but what came before it has not been taken: see unexpected.c. */
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
 * Is there an instance that takes the frame's payload?  One it does not fit is
 * told, and one whose sender asks for a grant gives it.  A frame beyond the grant is an
 * error.
 */
static int stream_find_receiver(struct coll_stream *stream, const struct coll_data *data,
				struct coll_task **taker)
{
	struct coll_task *task = coll_task_find(stream->engine, data->instance);

	*taker = NULL;
	if (!task || task->error || task->mismatched)
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
	if (data->flags & COLL_DATA_BORROWED)
		coll_task_recv_zerocopy(task, stream);
	*taker = task;
	return 0;
}

/* The header is complete: where does the payload go? */
static int stream_open_rx_frame(struct coll_stream *stream)
{
	struct coll_engine *engine = stream->engine;
	struct coll_data *data = &stream->rx_data;
	bool early;
	int err = 0;

	if (coll_wire_get_data(stream->rx_hdr, data, engine->incarnation) ||
	    data->lane != engine->lane ||
	    coll_stream_add_credit(stream, data->credit * COLL_CREDIT_UNIT))
		return -EPROTO;

	if (data->flags & COLL_DATA_EAGER) {
		stream->rx_eager += coll_eager_cost(data->length);
		if (stream->rx_eager - stream->rx_returned > COLL_CREDIT)
			return -EPROTO;
	}

	early = stream_is_early(stream, data) || stream_is_behind(stream, data);
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

	if (early) {
		stream->sink.kind = COLL_SINK_UNEXP;
		stream->sink.unexp = coll_unexp_room(stream, data->length);
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

/* How far an instance's step is stored, after a frame or a part of one. */
static u64 stream_stored(const struct coll_data *data, const struct coll_sink *sink)
{
	if (!data->length)
		return 1;
	return data->offset + data->length - coll_sink_pending(sink);
}

/* Meanwhile its turn may have come, or its operation may have failed. */
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

/* The last byte of a frame has come. */
static void stream_close_rx_frame(struct coll_stream *stream)
{
	struct coll_engine *engine = stream->engine;
	struct coll_data data = stream->rx_data;
	struct coll_task *task = stream->rx_task;

	stream->rx_open = false;
	stream->rx_task = NULL;

	if (stream->sink.kind == COLL_SINK_UNEXP) {
		coll_unexp_add(stream, &data);
		stream_unexp_added(stream, &data);
		return;
	}

	if (data.flags & COLL_DATA_EAGER)
		stream_return_credit(stream, &data);

	if (task) {
		stream->rx_step_end = data.offset + data.length == task->rx.in.len;
		task->rx_stream = NULL;
		coll_task_rx_advance(task, stream_stored(&data, &stream->sink));
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
static bool stream_was_rejected(const struct coll_stream *stream)
{
	return stream->rx_hdr_len == COLL_DATA_SIZE;
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
		stream_close_rx_frame(stream);
	stream->rx_step_end = false;
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
 * coll_stream_pause() - no more bytes for now: go on with those that have come
 * @stream: the stream
 *
 * An instance is told here how far it has come, at the end of a frame and in the middle:
 * bytes come in fragments, and it is not worth while for each.
 */
void coll_stream_pause(struct coll_stream *stream)
{
	if (coll_stream_whole(stream))
		stream_close_rx_frame(stream);
	else if (stream->rx_open && stream->rx_task)
		coll_task_rx_advance(stream->rx_task,
				     stream_stored(&stream->rx_data, &stream->sink));
}

/* Give a staged frame to its instance, now that there is one; at what cost. */
static u64 stream_deliver_frame(struct coll_stream *stream, const struct coll_data *data,
				const u8 *payload)
{
	struct coll_engine *engine = stream->engine;
	struct coll_task *task;
	struct coll_sink sink;
	u64 cost = 0;
	u32 done = 0;

	/* Nothing is in the stage that needs a grant. */
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
	} while (stream_is_early(stream, &data));

	coll_unexp_remove(stream, &place);
	cost = stream_deliver_frame(stream, &data, payload);
	stream_return_credit(stream, &data);
	return max_t(u64, cost, COLL_PIECE_COST);
}
