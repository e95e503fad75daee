// SPDX-License-Identifier: GPL-2.0-only
/*
 * Streams, sending: tasks become data frames.
 *
 * A frame is begun only for bytes that are final, and covers only them; so once begun, it can
 * always be finished.  Eager frames need credit, other frames need a grant.  The control frames
 * that a peer sends about our data (grants, CONSUMED, CREDIT) are handled here, too.
 */
#include "core/engine/task.h"

#include <linux/collective.h>

/*
 * The credit field of a data frame can hold all the credit there is: stream_piggyback_credit().
 */
static_assert(COLL_CREDIT / COLL_CREDIT_UNIT <= U8_MAX);

/* Something is left for data frames, and for a request behind those that are kept. */
static_assert(COLL_CREDIT_FIRST - COLL_CREDIT_UNTOLD(COLL_CREDIT_FIRST) > COLL_CREDIT_KEPT);
static_assert(COLL_CREDIT_KEPT / 2 >= COLL_DATA_SIZE);

/**
 * coll_stream_init() - initialise a stream in zeroed memory
 * @stream: the stream
 * @engine: engine of the lane
 * @peer: rank at the other end
 * @unexp_buf: coll_unexp_bytes(COLL_CREDIT_FIRST)
 * @grants: zeroed entries
 * @ngrants: number of these entries: see coll_grants_move()
 */
void coll_stream_init(struct coll_stream *stream, struct coll_engine *engine, u32 peer,
		      u8 *unexp_buf, struct coll_grant *grants, u32 ngrants)
{
	stream->engine = engine;
	stream->peer = peer;
	stream->lease = ~0ULL;
	stream->tx_credit = COLL_CREDIT_FIRST;
	stream->rx_credit = COLL_CREDIT_FIRST;
	stream->unexp_buf = unexp_buf;
	stream->grants.entry = grants;
	stream->grants.size = ngrants;
	INIT_LIST_HEAD(&stream->sending);
	INIT_LIST_HEAD(&stream->waiting);
	INIT_LIST_HEAD(&stream->starving);
	INIT_LIST_HEAD(&stream->zc_refs);
	INIT_LIST_HEAD(&stream->node);
}

/* A peer has called something else than the task in progress here. */
void coll_stream_mismatch(const struct coll_stream *stream, struct coll_task *task)
{
	coll_task_stop(task, stream->peer);
	stream->engine->ops->mismatch(stream->engine->ctx, task, stream->peer);
}

/* Has the peer granted a different call? */
static bool stream_granted_other_call(const struct coll_stream *stream, struct coll_task *task)
{
	const struct coll_grant *grant = coll_grants_get(&stream->grants, task->args.instance);

	if (!grant->limit || grant->digest == task_digest(task))
		return false;
	coll_stream_mismatch(stream, task);
	return true;
}

/* How many more bytes of the current run the peer can receive. */
static u64 stream_granted(const struct coll_stream *stream, struct coll_task *task)
{
	u64 limit = coll_grants_get(&stream->grants, task->args.instance)->limit;

	return limit <= task->tx_run ||
		stream_granted_other_call(stream, task) ? 0 : limit - task->tx_run;
}

/**
 * coll_stream_check_granted_call() - check whether the peer has granted a different call
 * @stream: the stream
 * @task: a task in progress; it need not send to this peer
 */
void coll_stream_check_granted_call(const struct coll_stream *stream, struct coll_task *task)
{
	/* With a key, the grant may be for the next use of the key. */
	if (task_runs(task) && task->args.signature &&
	    coll_instance_is_counted(task->args.instance))
		stream_granted_other_call(stream, task);
}

/*
 * Credit comes back in two ways: in a CREDIT frame, which wakes a thread of the peer, or in a
 * data frame that is sent anyway.  The two may overtake each other.  So each reports only credit
 * that neither has reported before, and the sender adds the two up.
 */

/* Return credit in the data frame that is about to be sent. */
static u8 stream_piggyback_credit(struct coll_stream *stream)
{
	u8 units = (stream->rx_consumed - stream->rx_returned) / COLL_CREDIT_UNIT;

	stream->rx_returned += units * COLL_CREDIT_UNIT;
	return units;
}

/* Tasks that lack credit may have it now, or know that they will not. */
static void stream_wake_starving(struct coll_stream *stream)
{
	struct coll_engine *engine = stream->engine;
	struct coll_task *task, *next;

	/* Few tasks: those that may be in progress. */
	list_for_each_entry_safe(task, next, &stream->starving, tx_node)
		coll_task_ready(task);
	engine->ops->kick(engine->ctx, stream);
}

/* The peer has consumed @bytes more of our eager frames, or gives so much more credit. */
int coll_stream_add_credit(struct coll_stream *stream, u64 bytes)
{
	if (bytes > stream->tx_eager - (stream->tx_credit - COLL_CREDIT))
		return -EPROTO;
	if (!bytes)
		return 0;
	stream->tx_credit += bytes;
	stream_wake_starving(stream);
	return 0;
}

/*
 * Bytes that arrive in small pieces are not forwarded in small frames, because each rank would
 * split them further.  The end of a step, the end of a grant and a large part of a window are
 * always sent.
 */
static bool frame_is_worthwhile(const struct coll_task *task, u64 ready, u64 granted)
{
	u64 enough = COLL_DATA_MIN;

	if (task->tx.out.area == COLL_AREA_SCRATCH)
		enough = min(enough, task->args.area[COLL_AREA_SCRATCH]->length / 4);
	return task->tx.signal || ready >= enough || ready == granted ||
	       task->tx_off + ready == task->tx.out.len;
}

/* Ask the peer for credit up to @position.  Return: false if there will be no more of it. */
static bool stream_ask_credit(struct coll_stream *stream, u64 position)
{
	struct coll_engine *engine = stream->engine;
	struct coll_control control = {
		.kind = COLL_CONTROL_BLOCKED,
		.lane = engine->lane,
		.position = position,
	};

	if (stream->tx_ask == COLL_ASK_MAY) {
		stream->tx_ask = COLL_ASK_SENT;
		engine->ops->control(engine->ctx, stream->peer, &control);
	}
	return stream->tx_ask == COLL_ASK_SENT;
}

/*
 * Prepare an eager frame, or a request for a grant, if there is credit for it.  Frames of
 * operations that the peer has not submitted use up the credit, and the operations that it has
 * submitted may be queued behind them.  So a part of the credit is reserved for requests, which
 * are a header alone; the peer sees to it that it suffices: stream_drops_request().
 */
static bool stream_charge_credit(struct coll_stream *stream, struct coll_task *task,
				 struct coll_data *data)
{
	u64 needed = stream->tx_eager + coll_eager_cost(data->length) + COLL_CREDIT_KEPT;

	if (task->tx_run_state == COLL_TASK_TX_ASKED)
		return false;
	if (task->tx_run_state == COLL_TASK_TX_CREDIT && needed > stream->tx_credit) {
		if (stream_ask_credit(stream, needed))
			return false;
		task->tx_run_state = COLL_TASK_TX_GRANT;
	}
	data->flags = COLL_DATA_EAGER;
	if (task->tx_run_state == COLL_TASK_TX_GRANT) {
		if (stream->tx_credit - stream->tx_eager < COLL_DATA_SIZE)
			return false;
		data->flags |= COLL_DATA_REQUEST;
		data->length = 0;
		if (task->tx.single_frame)
			data->offset = task->tx.out.len;
		task->tx_run_state = COLL_TASK_TX_ASKED;
	}
	stream->tx_eager += coll_eager_cost(data->length);
	return true;
}

/* Do not look at the task again until coll_task_ready() reports a change. */
static void stream_park(struct coll_task *task, struct list_head *list)
{
	task->tx_parked = true;
	list_move_tail(&task->tx_node, list);
}

/* Begin a frame of @task if it has final bytes that may be sent; otherwise park it. */
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
		.offset = task_frame_offset(task, task->tx_off),
	};
	bool ask;

	granted &= ~(u64)(task->tx.signal ? 0 : task->args.plan.size - 1);
	stream->tx_stalls += ready && !granted && !task->args.eager;
	ask = task->tx.single_frame && !granted;
	if (!task->args.eager && !ask)
		ready = min(ready, granted);
	if (!ready || !frame_is_worthwhile(task, ready, granted) ||
	    !coll_task_may_zerocopy(task, stream)) {
		stream_park(task, &stream->waiting);
		return;
	}
	data.length = task->tx.signal ? 0 : min_t(u64, ready, COLL_DATA_MAX);

	if (ask || (task->args.eager && granted < ready)) {
		if (!stream_charge_credit(stream, task, &data)) {
			stream->tx_stalls++;
			stream_park(task, task->tx_run_state == COLL_TASK_TX_ASKED ?
					  &stream->waiting : &stream->starving);
			return;
		}
	} else if (!task->args.eager && out->area != COLL_AREA_SCRATCH &&
		   !stream->by_reference) {
		data.flags = COLL_DATA_ZEROCOPY;
	}

	data.credit = stream_piggyback_credit(stream);
	stream->tx_hdr_credit = data.credit * COLL_CREDIT_UNIT;
	coll_wire_put_data(stream->tx_hdr, &data, engine->incarnation);
	stream->tx_hdr_left = COLL_DATA_SIZE;
	stream->tx_left = data.length;
	stream->tx_mem = task->args.area[out->area];
	stream->tx_off = task->args.area_off[out->area] + out->off + task->tx_off;
	stream->tx_scratch = out->area == COLL_AREA_SCRATCH;
	stream->tx_copy = task->args.eager || (stream->tx_scratch && !stream->by_reference);
	stream->tx_task = task;
	stream->tx_position += data.length;
	task->open_frames++;
	if (!(data.flags & COLL_DATA_REQUEST))
		coll_task_tx_advance(task, stream, data.length);
}

/**
 * coll_stream_next() - the next bytes to send
 * @stream: the stream
 * @out: filled in
 *
 * Two calls without coll_stream_sent() between them give the same bytes.
 *
 * Return: false if there is nothing to send now.
 */
bool coll_stream_next(struct coll_stream *stream, struct coll_out *out)
{
	struct coll_task *task;

	if (stream->released)
		return false;

	/* Each task is looked at once, until a change may let it send. */
	while (!stream->tx_task) {
		task = list_first_entry_or_null(&stream->sending, struct coll_task, tx_node);
		if (!task) {
			/* All that has waited for the reply has been looked at. */
			if (stream->tx_ask == COLL_ASK_REFUSED)
				stream->tx_ask = COLL_ASK_MAY;
			return false;
		}
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
			.position = stream->tx_position,
			.owner = stream->tx_task,
		};
	else
		*out = (struct coll_out){
			.mem = stream->tx_mem,
			.off = stream->tx_off,
			.len = stream->tx_left,
			.copy = stream->tx_copy,
			.position = stream->tx_position,
			.owner = stream->tx_task,
		};
	return true;
}

/* The transport has taken the whole frame, or will never take the rest. */
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
 * coll_stream_drop_frame() - do not send the open frame of a task that fails
 * @stream: the stream; sends by reference
 * @task: the task
 *
 * A header and its reference are sent at once.  A frame of which something has been sent is one
 * whose payload the transport copies, and its rest is still sent.
 */
void coll_stream_drop_frame(struct coll_stream *stream, struct coll_task *task)
{
	if (stream->tx_task != task || stream->tx_copy || stream->tx_hdr_left != COLL_DATA_SIZE)
		return;
	stream->rx_returned -= stream->tx_hdr_credit;
	stream->tx_position -= stream->tx_left;
	stream->tx_task = NULL;
	stream->tx_hdr_left = 0;
	stream->tx_left = 0;
	task->open_frames--;
}

/*
 * A reference to scratch has been sent.  Its bytes have left when the peer has consumed them; until
 * then the frame counts as open, so the task sends nothing more from its window.
 */
static void stream_keep_scratch(struct coll_stream *stream)
{
	struct coll_task *task = stream->tx_task;

	stream->tx_task = NULL;
	task->scratch_stream = stream;
	task->scratch_sent = stream->tx_off;
}

/**
 * coll_stream_sent() - the transport has taken bytes
 * @stream: the stream
 * @len: number of bytes, at most those of coll_stream_next() including its @more
 */
void coll_stream_sent(struct coll_stream *stream, u32 len)
{
	u32 head = min(len, stream->tx_hdr_left);

	len -= head;
	stream->tx_hdr_left -= head;
	stream->tx_left -= len;
	stream->tx_off += len;
	stream->engine->stats.sent += len;
	if (stream->tx_scratch && stream->tx_copy && stream->tx_task->schedule->windowed && len)
		coll_task_scratch_freed(stream->tx_task, stream->tx_off);
	if (stream->tx_hdr_left || stream->tx_left)
		return;
	if (stream->tx_scratch && !stream->tx_copy)
		stream_keep_scratch(stream);
	else
		stream_close_tx_frame(stream);
}

static bool grant_is_useless(const struct coll_engine *engine, u64 instance)
{
	const struct coll_task *task = coll_task_find(engine, instance);

	return task ? task->error : !coll_engine_expects(engine, instance);
}

/*
 * Grants of operations that failed on the peer and were never submitted here may pile up.
 * Instances without a key that a rank has in progress are less than @most apart.
 */
static bool grant_is_old(const struct coll_engine *engine, u64 instance, u64 latest)
{
	return coll_instance_is_counted(instance) && coll_instance_is_counted(latest) &&
	       instance + engine->most <= latest;
}

/* Drop all grants that are old or useless.  Looks at each entry, and perhaps for its task. */
static void stream_sweep(struct coll_stream *stream, u64 latest, bool useless)
{
	const struct coll_engine *engine = stream->engine;
	u32 i = 0;

	/* COLL_GRANTS() entries at most, each of which is seldom moved. */
	while (i < stream->grants.size) {
		u64 instance = stream->grants.entry[i].instance - 1;

		/* coll_grants_drop() may move another entry to this place. */
		if (stream->grants.entry[i].instance &&
		    (useless ? grant_is_useless(engine, instance) :
			       grant_is_old(engine, instance, latest)))
			coll_grants_drop(&stream->grants, instance);
		else
			i++;
	}
}

/*
 * A grant becomes useless only by an operation of this rank, which the peer cannot cause.  So the
 * peer cannot make this rank sweep again and again.
 */
static void stream_sweep_grants(struct coll_stream *stream, u64 latest)
{
	u32 count = stream->grants.count;

	stream_sweep(stream, latest, false);
	if (stream->grants.count == count)
		stream_sweep(stream, latest, true);
}

/* The peer has dropped requests, perhaps that of this task: send it again. */
static void stream_repeat_request(struct coll_stream *stream, struct coll_task *task)
{
	if (!task || task->tx_stream != stream || list_empty(&task->tx_node) ||
	    task->tx_run_state != COLL_TASK_TX_ASKED)
		return;
	task->tx_run_state = COLL_TASK_TX_GRANT;
	coll_task_ready(task);
	stream->engine->ops->kick(stream->engine->ctx, stream);
}

/**
 * coll_stream_granted() - the peer has sent a grant
 * @stream: the stream
 * @instance: instance of the operation, which may not be submitted here yet
 * @limit: new limit of the run: see struct coll_grant; 0: nothing yet, but a request for a grant
 *	must be repeated
 * @digest: digest of the peer's call
 *
 * The instance may be far ahead of the operations submitted here: not every operation uses this
 * lane, and some (without elements, or aborted) complete on the peer before they are submitted
 * here.  A useless older grant may remain of an operation that was aborted before it sent to this
 * peer.
 *
 * Return: 0 or -EPROTO.
 */
int coll_stream_granted(struct coll_stream *stream, u64 instance, u64 limit, u64 digest)
{
	struct coll_engine *engine = stream->engine;
	struct coll_task *task = coll_task_find(engine, instance);
	int err;

	if (instance == COLL_INSTANCE_GROUP)
		return -EPROTO;
	if (grant_is_useless(engine, instance))
		return 0;
	if (!limit) {
		stream_repeat_request(stream, task);
		return 0;
	}
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

/* The peer no longer reads our memory up to @position. */
static void stream_drop_zc_refs(struct coll_stream *stream, u64 position)
{
	struct coll_zc_ref *ref;

	/* Each reference was added by a frame of this rank. */
	while ((ref = list_first_entry_or_null(&stream->zc_refs, struct coll_zc_ref, node)) &&
	       ref->position <= position) {
		list_del(&ref->node);
		ref->stream = NULL;
		coll_task_consumed(ref->task, stream);
	}
}

/**
 * coll_stream_consumed() - the peer has consumed payload
 * @stream: the stream
 * @position: total number of payload bytes consumed
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

/* The peer has answered BLOCKED. */
static int stream_replied(struct coll_stream *stream, u8 reply)
{
	static const u8 ask[COLL_CREDIT_REPLIES] = {
		[COLL_CREDIT_RAISED]	= COLL_ASK_MAY,
		[COLL_CREDIT_REFUSED]	= COLL_ASK_REFUSED,
		[COLL_CREDIT_MOST]	= COLL_ASK_NEVER,
	};

	if (stream->tx_ask != COLL_ASK_SENT)
		return -EPROTO;
	stream->tx_ask = ask[reply];
	stream_wake_starving(stream);
	return 0;
}

/**
 * coll_stream_credited() - the peer has returned credit in a control frame, or given more
 * @stream: the stream
 * @position: total number of bytes, headers included, that CREDIT frames have returned and given
 * @reply: enum coll_credit_reply
 *
 * Return: 0 or -EPROTO.
 */
int coll_stream_credited(struct coll_stream *stream, u64 position, u8 reply)
{
	int err;

	if (position < stream->tx_credited)
		return -EPROTO;
	err = coll_stream_add_credit(stream, position - stream->tx_credited);
	if (err)
		return err;
	stream->tx_credited = position;
	return reply == COLL_CREDIT_UNASKED ? 0 : stream_replied(stream, reply);
}

/**
 * coll_stream_release() - the peer can no longer report success for our data
 * @stream: the stream; nothing more is sent on it, or stored by its transport
 */
void coll_stream_release(struct coll_stream *stream)
{
	if (stream->released)
		return;
	stream->released = true;
	stream_close_tx_frame(stream);
	stream_drop_zc_refs(stream, U64_MAX);
	coll_stream_unhold(stream);
}

