// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tasks: how a schedule advances, and when it is complete.
 *
 * A task has two cursors, one in what it sends and one in what it receives.  Each is a step and
 * an offset, and only moves forward.  The receive cursor decides how far the send cursor may go
 * (coll_task_sendable()): that comparison is all of cut-through.
 *
 * A task is complete when both cursors are at the end, the local copy is done, the transport has
 * taken every byte, the peers have consumed what they read from our memory, and the transport
 * stores nothing in it.  An aborted task drops the first two conditions, never the others.
 */
#include "core/engine/task.h"

static struct coll_stream *stream_to(const struct coll_engine *engine, u32 peer)
{
	return engine->ops->stream(engine->ctx, peer);
}

/**
 * coll_task_set_state() - let a task go on to another state of its life
 * @task: the task
 * @state: one that may follow its state
 */
void coll_task_set_state(struct coll_task *task, enum coll_task_state state)
{
	static const u8 next[COLL_TASK_STATES] = {
		[COLL_TASK_RUNNING]	= BIT(COLL_TASK_STOPPED) | BIT(COLL_TASK_ABORTED) |
					  BIT(COLL_TASK_COMPLETE),
		[COLL_TASK_STOPPED]	= BIT(COLL_TASK_ABORTED),
		[COLL_TASK_ABORTED]	= BIT(COLL_TASK_COMPLETE),
	};

	coll_assert(next[task->state] & BIT(state));
	WRITE_ONCE(task->state, state);
}

/* No peer reads our memory for this task any more. */
static bool task_is_unreferenced(const struct coll_task *task)
{
	u32 i;

	for (i = 0; i < COLL_ZC_REFS; i++)
		if (task->zc_ref[i].stream)
			return false;
	return true;
}

static struct coll_zc_ref *task_zc_ref(struct coll_task *task, const struct coll_stream *stream)
{
	struct coll_zc_ref *free = NULL;
	u32 i;

	for (i = 0; i < COLL_ZC_REFS; i++) {
		struct coll_zc_ref *ref = &task->zc_ref[i];

		if (ref->stream == stream)
			return ref;
		if (!free && !ref->stream)
			free = ref;
	}
	return free;
}

/**
 * coll_task_may_zerocopy() - may the current step be sent as far as references to our memory go?
 * @task: the task
 * @stream: stream to the receiver
 *
 * Return: false while too many peers have not consumed what they read from our memory.
 */
bool coll_task_may_zerocopy(struct coll_task *task, struct coll_stream *stream)
{
	return task->args.eager || task_zc_ref(task, stream) ||
	       (task->tx.out.area == COLL_AREA_SCRATCH && !stream->by_reference);
}

/**
 * coll_task_try_complete() - complete a task if all conditions hold
 * @task: the task; it may be gone afterwards
 */
void coll_task_try_complete(struct coll_task *task)
{
	struct coll_engine *engine = task->engine;

	if (task->open_frames || task->rx_held)
		return;
	if (task->state == COLL_TASK_STOPPED ||
	    (task_runs(task) && !(task_tx_done(task) && task_rx_done(task) &&
				  !task->local_copy.len && !task->lease_expired)))
		return;
	if (!task_is_unreferenced(task) || !coll_task_withdraw(task))
		return;

	coll_task_set_state(task, COLL_TASK_COMPLETE);
	coll_engine_remove(task);
	engine->ops->complete(engine->ctx, task);
}

static void task_tx_queue(struct coll_task *task)
{
	struct coll_stream *stream = stream_to(task->engine, task->tx.to);

	task->tx_stream = stream;
	if (!stream)
		return;
	task->tx_order = ++stream->tx_orders;
	task->tx_parked = false;
	list_add_tail(&task->tx_node, &stream->sending);
}

/**
 * coll_task_ready() - let a parked task be looked at again
 * @task: the task, in a list of @tx_stream
 *
 * Few tasks are ready at a time, so its place among them is found near the end of the list.
 */
void coll_task_ready(struct coll_task *task)
{
	struct list_head *at = task->tx_stream->sending.prev;

	if (!task->tx_parked)
		return;
	task->tx_parked = false;
	while (at != &task->tx_stream->sending &&
	       list_entry(at, struct coll_task, tx_node)->tx_order > task->tx_order)
		at = at->prev;
	list_move(&task->tx_node, at);
}

/* The run to a peer has been sent: the next grant of this instance belongs to another run. */
static void task_tx_end_run(struct coll_task *task)
{
	if (task->tx_stream)
		coll_grants_drop(&task->tx_stream->grants, task->args.instance);
	task->tx_run = 0;
	task->tx_run_state = task->args.eager ? COLL_TASK_TX_CREDIT : COLL_TASK_TX_GRANT;
}

/*
 * A run is what one peer sends without a break, and a grant is for one run.  Both ends must agree
 * where it ends: the sender does not see the steps that read between two signals, so each signal of
 * a schedule that reads is a run of its own.
 */
static bool task_same_run(const struct coll_task *task, u32 peer, u32 next)
{
	return peer == next && !task->schedule->reads;
}

/* Go to the next step that sends, and queue the task on its stream. */
static void task_tx_next_step(struct coll_task *task)
{
	u32 peer = task->tx.to;

	task->tx_step = coll_schedule_next(task->schedule, &task->args.plan, task->tx_step,
					   task->nsteps, true, &task->tx);
	if (task_tx_done(task) || !task_same_run(task, peer, task->tx.to))
		task_tx_end_run(task);
	if (task_tx_done(task))
		return;
	if (task->tx.out.area == COLL_AREA_SCRATCH)
		task->scratch_reserved = task->tx.out.off;
	task->tx_off = 0;
	task_tx_queue(task);
}

/**
 * coll_task_kick() - announce data that may be sent now
 * @task: the task
 */
void coll_task_kick(struct coll_task *task)
{
	struct coll_engine *engine = task->engine;

	if (!coll_task_sendable(task) || list_empty(&task->tx_node))
		return;
	coll_task_ready(task);
	engine->ops->kick(engine->ctx, task->tx_stream);
}

/*
 * Let frames of the current run be received: send the grant it needs, and deliver its unexpected
 * frames.
 */
static void task_rx_start_run(struct coll_task *task)
{
	struct coll_engine *engine = task->engine;
	struct coll_stream *stream;

	if (task->rx_run_state != COLL_TASK_RX_PENDING || task->lease_expired ||
	    task->state == COLL_TASK_ABORTED || task_rx_done(task))
		return;
	task->rx_run_state = COLL_TASK_RX_STARTED;
	task->zc_source = NULL;
	list_del_init(&task->leased);
	if (task->rx.read) {
		coll_engine_queue_move(task);
		return;
	}
	stream = stream_to(engine, task->rx.from);
	if (!task->args.eager && !task->rx.single_frame)
		coll_task_grant(task);
	else if (stream && coll_dropped_take(&stream->dropped, task->args.instance))
		coll_task_send_grant(task, 0);
	if (stream && coll_unexp_holds(stream, task->args.instance))
		coll_engine_queue_unexpected(task);
}

/*
 * Bytes that we read by zero copy after the end of the sender's lease may be wrong.  If the lease
 * was renewed, they are right: the sender still kept the memory then.
 */
static void task_check_lease(struct coll_task *task)
{
	bool expired = task->zc_source && task->engine->now >= task->zc_source->lease;
	bool renewed = task->lease_expired && !expired;

	task->lease_expired = expired;
	task_rx_start_run(task);
	if (renewed)
		coll_task_kick(task);
}

static void task_send_consumed(struct coll_task *task)
{
	struct coll_engine *engine = task->engine;
	struct coll_control control = {
		.kind = COLL_CONTROL_CONSUMED,
		.lane = engine->lane,
		.instance = task->args.instance,
		.position = task->zc_source->rx_position,
	};

	engine->ops->control(engine->ctx, task->zc_source->peer, &control);
}

/* The run is stored, so a peer that sent it by zero copy may reuse its memory. */
static void task_rx_release(struct coll_task *task)
{
	if (task->zc_source)
		task_send_consumed(task);
}

/* Receive from another peer, or from an earlier one again. */
static void task_rx_next_run(struct coll_task *task, u32 peer)
{
	const struct coll_peer_run *again =
		&task->peer_run[task->peer_run[1].peer == task->rx.from];
	u64 limit = again->peer == task->rx.from ? again->limit : 0;

	task->peer_run[0] = task->peer_run[1];
	task->peer_run[1] = (struct coll_peer_run){ .peer = peer, .limit = task->grant_limit };
	task->grant_step = task->rx_step;
	task->grant_off = 0;
	task->grant_limit = limit;
	task->rx_run_state = COLL_TASK_RX_PENDING;
}

/* Find the step that receives.  Most often it is also the step that sends. */
static void task_rx_find_step(struct coll_task *task)
{
	if (task->rx_step == task->tx_step && !task_tx_done(task) && step_in(&task->tx))
		task->rx = task->tx;
	else
		task->rx_step = coll_schedule_next(task->schedule, &task->args.plan,
						   task->rx_step, task->nsteps, false,
						   &task->rx);
}

/*
 * Go to the next step that receives.  A new run starts only when the bytes of the last run are
 * known to be good: task_check_lease().
 */
static void task_rx_next_step(struct coll_task *task)
{
	u32 peer = task->rx.from;

	task_rx_find_step(task);
	if (task_rx_done(task)) {
		task_rx_release(task);
		return;
	}
	task->rx_off = 0;
	if (!task_same_run(task, peer, task->rx.from)) {
		task_rx_release(task);
		task_rx_next_run(task, peer);
	}
}

/**
 * coll_task_send_grant() - send a grant to the sender of the current run
 * @task: the task
 * @limit: limit of the run; bytes
 */
void coll_task_send_grant(struct coll_task *task, u64 limit)
{
	struct coll_engine *engine = task->engine;
	struct coll_control control = {
		.kind = COLL_CONTROL_GRANT,
		.lane = engine->lane,
		.instance = task->args.instance,
		.position = limit,
		.digest = task_digest(task),
	};

	engine->ops->control(engine->ctx, task->rx.from, &control);
}

/**
 * coll_task_scratch_freed() - bytes have left windowed scratch
 * @task: the task
 * @left: position up to which they have left
 */
void coll_task_scratch_freed(struct coll_task *task, u64 left)
{
	task->scratch_freed = max(task->scratch_freed, left);
	if (task->rx_run_state == COLL_TASK_RX_STARTED && task->state != COLL_TASK_ABORTED &&
	    !task_rx_done(task))
		coll_window_grant(task, false);
}

/**
 * coll_task_frame_sent() - a frame is sent, or never will be
 * @task: task of the frame; it may be gone afterwards
 */
void coll_task_frame_sent(struct coll_task *task)
{
	task->open_frames--;
	if (task->schedule->windowed) {
		coll_task_scratch_freed(task, task->scratch_reserved);
		coll_task_kick(task);
	}
	coll_task_try_complete(task);
}

/**
 * coll_task_grant() - grant the sender of the current run all that fits
 * @task: the task; all that is granted can be received, whatever other ranks do
 */
void coll_task_grant(struct coll_task *task)
{
	if (task->rx_run_state != COLL_TASK_RX_STARTED || task->state == COLL_TASK_ABORTED ||
	    task_rx_done(task))
		return;
	if (task->schedule->windowed) {
		coll_window_grant(task, true);
		return;
	}
	task->rx_run_state = COLL_TASK_RX_GRANTED;
	coll_task_send_grant(task, COLL_GRANT_ALL);
}

/**
 * coll_task_sendable() - how much of the current step may be sent now
 * @task: the task
 *
 * A step may depend on earlier steps that receive.  With cut-through, it sends what the last of
 * these receives, which is final as far as it is stored.  An exchange step is final as far as its
 * block is saved.  Windowed scratch is sent in order, also to different peers.
 *
 * Return: bytes; 1 for a signal that may be sent.
 */
u64 coll_task_sendable(const struct coll_task *task)
{
	u64 final;

	if (!task_runs(task) || task->lease_expired || task_tx_done(task) ||
	    (task->schedule->windowed && task->open_frames))
		return 0;

	if (task->tx.exchange)
		final = coll_window_saved(task);
	else if (task->rx_step >= task->tx.depends_on)
		final = step_out(&task->tx);
	else if (task->tx.cut_through && task->rx_step + 1 == task->tx.depends_on)
		final = step_stored(&task->rx, task->rx_off);
	else
		final = 0;

	return final - task->tx_off;
}

/* The peer reads our memory until it has consumed the stream up to its present position. */
static void task_add_zc_ref(struct coll_task *task, struct coll_stream *stream)
{
	struct coll_zc_ref *ref = task_zc_ref(task, stream);

	if (ref->stream)
		list_del(&ref->node);
	ref->stream = stream;
	ref->position = stream->tx_position;
	ref->task = task;
	list_add_tail(&ref->node, &stream->zc_refs);
}

/**
 * coll_task_tx_advance() - a frame of the current step has begun
 * @task: the task
 * @stream: stream of the frame
 * @len: bytes of payload; 0 for a signal
 */
void coll_task_tx_advance(struct coll_task *task, struct coll_stream *stream, u32 len)
{
	if (!stream->tx_copy && len)
		task_add_zc_ref(task, stream);

	task->tx_off += task->tx.signal ? 1 : len;
	task->tx_run += task->tx.signal ? 1 : len;
	if (task->tx_off < step_out(&task->tx))
		return;

	list_del_init(&task->tx_node);
	task->tx_step++;
	task_tx_next_step(task);
	coll_task_kick(task);
}

/* The peer has consumed what was sent by reference from scratch, or never will read it. */
static void task_scratch_consumed(struct coll_task *task)
{
	task->scratch_stream = NULL;
	coll_task_scratch_freed(task, task->scratch_sent);
	coll_task_frame_sent(task);
}

/**
 * coll_task_consumed() - a peer has consumed all that it read from our memory
 * @task: the task; it may be gone afterwards
 * @stream: stream to that peer
 */
void coll_task_consumed(struct coll_task *task, const struct coll_stream *stream)
{
	if (task->scratch_stream == stream) {
		task_scratch_consumed(task);
		return;
	}
	coll_task_kick(task);
	coll_task_try_complete(task);
}

/**
 * coll_task_recv_zerocopy() - a frame sent by zero copy arrives
 * @task: the task
 * @stream: stream of the frame
 */
void coll_task_recv_zerocopy(struct coll_task *task, struct coll_stream *stream)
{
	task->zc_source = stream;
	if (list_empty(&task->leased))
		list_add_tail(&task->leased, &task->engine->leased);
}

/**
 * coll_task_rx_advance() - the current step has been received further
 * @task: the task; it may be gone afterwards
 * @until: bytes of the step that are stored in whole elements; 1: the signal has arrived
 */
void coll_task_rx_advance(struct coll_task *task, u64 until)
{
	task->rx_off = until;
	if (task->rx_off == step_in(&task->rx)) {
		task->rx_step++;
		task_rx_next_step(task);
	}
	task_check_lease(task);
	coll_task_kick(task);
	coll_task_try_complete(task);
}

/*
 * Grants that came before the submission may show a mismatch, even if nothing is sent to their
 * peer.
 */
static void task_check_granted_calls(struct coll_task *task)
{
	struct coll_stream *stream;

	if (!task->args.signature)
		return;
	/* One look at each stream, once per operation. */
	list_for_each_entry(stream, &task->engine->streams, node)
		coll_stream_check_granted_call(stream, task);
}

/* Copy some of the input that is sent although the result overwrites it.  Returns the cost. */
static u64 task_save_input(struct coll_task *task, u64 budget)
{
	const struct coll_task_args *args = &task->args;
	const struct coll_mem *src = args->area[COLL_AREA_SEND];
	struct coll_local_copy *saved = &task->save_input;
	u64 from = args->area_off[COLL_AREA_SEND] + saved->from;
	u64 piece = coll_mem_piece(src, from);
	u64 len = coll_piece_bound(piece, min(saved->len, budget));

	coll_mem_copy(task->engine->impl->copy, args->area[COLL_AREA_SCRATCH], saved->to, src,
		      from, len);
	saved->from += len;
	saved->to += len;
	saved->len -= len;
	return coll_piece_cost(piece, len);
}

/* Find the bytes to copy from the input to the result, unless they are in place already. */
static void task_find_local_copy(struct coll_task *task)
{
	const struct coll_task_args *args = &task->args;
	struct coll_local_copy *local = &task->local_copy;

	if (task->schedule->local_copy)
		task->schedule->local_copy(&task->args.plan, local);
	if (local->len && args->area[COLL_AREA_SEND] == args->area[COLL_AREA_RECV] &&
	    args->area_off[COLL_AREA_SEND] + local->from ==
	    args->area_off[COLL_AREA_RECV] + local->to)
		local->len = 0;
	if (local->len)
		coll_engine_queue_move(task);
}

/* The input is saved: start all steps. */
static void task_start_steps(struct coll_task *task)
{
	task_find_local_copy(task);
	task_tx_next_step(task);
	task->scratch_freed = task->scratch_reserved;
	task_rx_next_step(task);

	coll_task_kick(task);
	task_rx_start_run(task);
	coll_task_try_complete(task);
}

/* Bytes of the input that are saved at submission; the rest is saved while the lane is idle. */
#define TASK_SAVE_FIRST	(64 * 1024U)

/**
 * coll_task_start() - start a task and do what can be done at once
 * @task: the task, now in progress; it may be gone afterwards
 */
void coll_task_start(struct coll_task *task)
{
	INIT_LIST_HEAD(&task->tx_node);
	INIT_LIST_HEAD(&task->leased);
	INIT_LIST_HEAD(&task->unexp_ready);
	INIT_LIST_HEAD(&task->moving);

	task->stopped_by = COLL_NO_RANK;
	task->tx.to = COLL_NO_RANK;
	task->rx.from = COLL_NO_RANK;
	task->peer_run[0].peer = COLL_NO_RANK;
	task->peer_run[1].peer = COLL_NO_RANK;
	/* After what is looked at then: pairs with coll_task_awaited(). */
	smp_store_release(&task->nsteps, task->schedule->steps(&task->args.plan));

	task_check_granted_calls(task);
	if (task->schedule->board) {
		coll_task_board(task);
		return;
	}
	coll_task_expose(task);
	if (task->schedule->save_input)
		task->schedule->save_input(&task->args.plan, &task->save_input);
	if (task->save_input.len)
		task_save_input(task, TASK_SAVE_FIRST);
	if (task->save_input.len)
		coll_engine_queue_move(task);
	else
		task_start_steps(task);
}

/* Copy some bytes from the input to the result.  Returns the cost. */
static u64 task_copy_local(struct coll_task *task, u64 budget)
{
	const struct coll_engine *engine = task->engine;
	const struct coll_task_args *args = &task->args;
	const struct coll_mem *src = args->area[COLL_AREA_SEND];
	const struct coll_mem *dst = args->area[COLL_AREA_RECV];
	struct coll_local_copy *local = &task->local_copy;
	u64 cost = 0;
	const struct coll_copy_hint hint = {
		.volume = coll_plan_result(&args->plan),
		.source = COLL_NT_LOCAL,
	};

	while (local->len && cost < budget) {
		u64 to = args->area_off[COLL_AREA_RECV] + local->to, piece;
		size_t n;
		const void *ptr = src->at(src, args->area_off[COLL_AREA_SEND] + local->from, &n);

		piece = min(coll_mem_piece(dst, to), n);
		n = coll_piece_bound(piece, min3(n, local->len, budget - cost));
		cost += max_t(u64, coll_piece_cost(piece, n), COLL_PIECE_COST);
		local->len -= n;
		coll_copier_store(engine->copier, engine->impl->copy, dst, to, ptr, n, &hint);
		local->from += n;
		local->to += n;
	}
	return cost;
}

/* Save more of the input, and start the steps when all of it is saved.  Returns the cost. */
static u64 task_move_input(struct coll_task *task, u64 budget)
{
	u64 cost = task_save_input(task, budget);

	if (!task->save_input.len) {
		list_del_init(&task->moving);
		task_start_steps(task);
	}
	return cost;
}

/* Copy more from the input to the result.  Returns the cost. */
static u64 task_move_local(struct coll_task *task, u64 budget)
{
	u64 cost = task_copy_local(task, budget);

	if (!task->local_copy.len) {
		list_del_init(&task->moving);
		coll_task_try_complete(task);
	}
	return cost;
}

/**
 * coll_task_move() - move some of the bytes that no frame brings or takes
 * @task: the task, which is queued for that; it may be gone afterwards
 * @budget: approximate limit in bytes
 *
 * Return: the part of @budget that was used.
 */
u64 coll_task_move(struct coll_task *task, u64 budget)
{
	if (task->exchanging)
		return coll_window_resume(task);
	if (task->save_input.len)
		return task_move_input(task, budget);
	if (task->rx.read && !task_rx_done(task))
		return coll_task_read(task);
	return task_move_local(task, budget);
}

/* Take back what was sent by reference, unless the peer reads it just now. */
static void task_revoke(struct coll_task *task)
{
	const struct coll_engine *engine = task->engine;
	u32 i;

	for (i = 0; i < COLL_ZC_REFS; i++) {
		struct coll_zc_ref *ref = &task->zc_ref[i];

		if (!ref->stream || !ref->stream->by_reference)
			continue;
		coll_stream_drop_frame(ref->stream, task);
		if (!engine->ops->revoke(engine->ctx, ref->stream, task)) {
			/* The end of a frame that was dropped is never consumed. */
			ref->position = min(ref->position, ref->stream->tx_position);
			continue;
		}
		list_del(&ref->node);
		if (task->scratch_stream == ref->stream) {
			task->scratch_stream = NULL;
			task->open_frames--;
		}
		ref->stream = NULL;
	}
}

/**
 * coll_task_abort() - abort a task: see coll_engine_abort()
 * @task: the task; it may be gone afterwards
 * @error: negative errno
 */
void coll_task_abort(struct coll_task *task, int error)
{
	if (task->state == COLL_TASK_ABORTED)
		return;
	coll_task_set_state(task, COLL_TASK_ABORTED);
	task->error = error;
	coll_engine_drop_unexpected(task->engine, task->args.instance);
	list_del_init(&task->moving);
	task->local_copy.len = 0;
	task->save_input.len = 0;
	task->exchanging = false;
	list_del_init(&task->tx_node);
	if (!task_tx_done(task))
		task_tx_end_run(task);
	/* Bytes still to arrive are discarded, and CONSUMED is sent for them then. */
	if (task->rx_stream)
		coll_stream_discard_rest(task->rx_stream);
	task_rx_release(task);
	task_revoke(task);
	coll_task_withdraw(task);
	coll_task_try_complete(task);
}

/**
 * coll_task_tick() - update the time and the leases
 * @task: the task; it may be gone afterwards
 */
void coll_task_tick(struct coll_task *task)
{
	task_check_lease(task);
	coll_task_try_complete(task);
}

/**
 * coll_task_connected() - a stream was added
 * @task: the task
 * @stream: the new stream; the task may have waited for it
 */
void coll_task_connected(struct coll_task *task, const struct coll_stream *stream)
{
	if (task->state == COLL_TASK_ABORTED || task_tx_done(task) || task->tx.to != stream->peer ||
	    !list_empty(&task->tx_node))
		return;
	task_tx_queue(task);
	coll_task_kick(task);
}

/**
 * coll_task_find_lacking() - does a task need a departed peer?
 * @task: the task
 * @gone: see coll_engine_find_lacking()
 *
 * Looks at the current steps only.  Frames that are open are found by their streams.
 *
 * Return: a departed peer that the task needs to complete, or COLL_NO_RANK.
 */
u32 coll_task_find_lacking(const struct coll_task *task, coll_gone_fn gone)
{
	void *ctx = task->engine->ctx;
	u32 i;

	for (i = 0; i < COLL_ZC_REFS; i++)
		if (task->zc_ref[i].stream && gone(ctx, task, task->zc_ref[i].stream->peer))
			return task->zc_ref[i].stream->peer;
	if (task->state == COLL_TASK_ABORTED)
		return COLL_NO_RANK;
	if (!task_rx_done(task) && task->rx.from != COLL_NO_RANK && gone(ctx, task, task->rx.from))
		return task->rx.from;
	if (!task_tx_done(task) && task->tx.to != COLL_NO_RANK && gone(ctx, task, task->tx.to))
		return task->tx.to;
	return COLL_NO_RANK;
}
