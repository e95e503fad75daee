// SPDX-License-Identifier: GPL-2.0-only
/* Streams: data frames back into tasks. */
#include "core/engine/task.h"

#include <linux/collective.h>

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
	stream->rx_consumed += coll_eager_cost(data->length);
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
		coll_stream_mismatch(stream, inst);
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
	    coll_stream_repaid(stream, data->credit * COLL_CREDIT_UNIT))
		return -EPROTO;

	if (data->flags & COLL_DATA_EAGER) {
		stream->rx_eager += coll_eager_cost(data->length);
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
