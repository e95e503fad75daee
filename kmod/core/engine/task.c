// SPDX-License-Identifier: GPL-2.0-only
/*
 * Instances: how a schedule advances, and when it is complete.
 *
 * An instance has two cursors, one in what it sends and one in what it
 * receives, each a step and an offset.  Both only move forward.  What the
 * sending cursor may pass is decided by the receiving one (coll_task_sendable):
 * that comparison is all there is to cut-through.
 *
 * An instance is complete when both cursors are at the end, what stays here is
 * copied, the transport has taken every byte, and the peer has consumed what it
 * reads from our memory.  One that was aborted drops the first two conditions,
 * never the last.
 */
#include "core/engine/task.h"

static struct coll_stream *stream_to(const struct coll_engine *engine, u32 peer)
{
	return engine->ops->stream(engine->ctx, peer);
}

/* Nobody reads our memory on behalf of this instance any more. */
static bool inst_covered(const struct coll_task *inst)
{
	u32 i;

	for (i = 0; i < COLL_MARKS; i++)
		if (inst->zc_ref[i].stream)
			return false;
	return true;
}

static struct coll_zc_ref *inst_mark(struct coll_task *inst, const struct coll_stream *stream)
{
	struct coll_zc_ref *free = NULL;
	u32 i;

	for (i = 0; i < COLL_MARKS; i++) {
		struct coll_zc_ref *mark = &inst->zc_ref[i];

		if (mark->stream == stream)
			return mark;
		if (!free && !mark->stream)
			free = mark;
	}
	return free;
}

/**
 * coll_task_may_zerocopy() - may bytes be sent without a copy?
 * @inst: the instance
 * @stream: to whom
 *
 * Return: false while too many peers have yet to consume what they were lent.
 */
bool coll_task_may_zerocopy(struct coll_task *inst, struct coll_stream *stream)
{
	return inst->args.eager || inst->tx.out.area == COLL_AREA_SCRATCH ||
	       inst_mark(inst, stream);
}

/**
 * coll_task_try_complete() - complete an instance if it can be
 * @inst: the instance; gone afterwards, perhaps
 */
void coll_task_try_complete(struct coll_task *inst)
{
	struct coll_engine *engine = inst->engine;

	if (inst->open_frames)
		return;
	if (!inst->error &&
	    !(inst_sent(inst) && inst_received(inst) && !inst->local.len && !inst->lease_expired))
		return;
	if (!inst_covered(inst))
		return;

	coll_engine_remove(inst);
	engine->ops->complete(engine->ctx, inst);
}

static void inst_tx_queue(struct coll_task *inst)
{
	struct coll_stream *stream = stream_to(inst->engine, inst->tx.to);

	inst->tx_stream = stream;
	if (!stream)
		return;
	inst->tx_turn = ++stream->turns;
	inst->tx_parked = false;
	list_add_tail(&inst->tx_node, &stream->sending);
}

/**
 * coll_task_ready() - something has happened that may let an instance send
 * @inst: one that is in a list of @tx_stream
 *
 * Those that are ready are few, so its place among them is near their end.
 */
void coll_task_ready(struct coll_task *inst)
{
	struct list_head *at = inst->tx_stream->sending.prev;

	if (!inst->tx_parked)
		return;
	inst->tx_parked = false;
	while (at != &inst->tx_stream->sending &&
	       list_entry(at, struct coll_task, tx_node)->tx_turn > inst->tx_turn)
		at = at->prev;
	list_move(&inst->tx_node, at);
}

/* The run to a peer has left: the next grant of this name is for another one. */
static void inst_tx_leave(struct coll_task *inst)
{
	if (inst->tx_stream)
		coll_grants_drop(&inst->tx_stream->grants, inst->args.instance);
	inst->tx_run = 0;
	inst->rts_sent = false;
}

/* Go on to the next step that sends something, and queue for its stream. */
static void inst_tx_enter(struct coll_task *inst)
{
	u32 peer = inst->tx.to;

	inst->tx_step = coll_schedule_next(inst->schedule, &inst->args.plan, inst->tx_step,
					   inst->nsteps, true, &inst->tx);
	if (inst_sent(inst) || inst->tx.to != peer)
		inst_tx_leave(inst);
	if (inst_sent(inst))
		return;
	if (inst->tx.out.area == COLL_AREA_SCRATCH)
		inst->reached = inst->tx.out.off;
	inst->tx_off = 0;
	inst_tx_queue(inst);
}

/**
 * coll_task_kick() - have sent what may be sent by now
 * @inst: the instance
 */
void coll_task_kick(struct coll_task *inst)
{
	struct coll_engine *engine = inst->engine;

	if (!coll_task_sendable(inst) || list_empty(&inst->tx_node))
		return;
	coll_task_ready(inst);
	engine->ops->kick(engine->ctx, inst->tx_stream);
}

/* What came early for this run is taken, and what needs a grant has it. */
static void inst_rx_begin(struct coll_task *inst)
{
	struct coll_engine *engine = inst->engine;
	struct coll_stream *stream;

	if (inst->run_started || inst->lease_expired || inst->error || inst_received(inst))
		return;
	inst->run_started = true;
	inst->zc_source = NULL;
	list_del_init(&inst->leased);
	stream = stream_to(engine, inst->rx.from);
	if (!inst->args.eager && !inst->rx.single_frame)
		coll_task_grant(inst);
	if (stream && coll_unexp_holds(stream, inst->args.instance))
		coll_engine_wake(inst);
}

/*
 * What we read after the end of the lease may not be what the lender sent.  If
 * the lease is renewed it was: the lender still waited for us then.
 */
static void inst_check_lease(struct coll_task *inst)
{
	bool lapsed = inst->zc_source && inst->engine->now >= inst->zc_source->lease;
	bool renewed = inst->lease_expired && !lapsed;

	inst->lease_expired = lapsed;
	inst_rx_begin(inst);
	if (renewed)
		coll_task_kick(inst);
}

static void inst_tell_consumed(struct coll_task *inst)
{
	struct coll_engine *engine = inst->engine;
	struct coll_control control = {
		.kind = COLL_CONTROL_CONSUMED,
		.lane = engine->lane,
		.instance = inst->args.instance,
		.position = inst->zc_source->rx_position,
	};

	engine->ops->control(engine->ctx, inst->zc_source->peer, &control);
}

/* Nothing more is stored: whoever lent us bytes may have their pages back. */
static void inst_rx_return(struct coll_task *inst)
{
	if (inst->zc_source)
		inst_tell_consumed(inst);
}

/* It is another peer's turn, perhaps again. */
static void inst_rx_turn(struct coll_task *inst, u32 peer)
{
	const struct coll_turn *again = &inst->turn[inst->turn[1].peer == inst->rx.from];
	u64 limit = again->peer == inst->rx.from ? again->limit : 0;

	inst->turn[0] = inst->turn[1];
	inst->turn[1] = (struct coll_turn){ .peer = peer, .limit = inst->grant_limit };
	inst->grant_step = inst->rx_step;
	inst->grant_off = 0;
	inst->grant_limit = limit;
	inst->run_started = false;
	inst->granted = false;
}

/* The step that receives; most often what is sent is at the same one. */
static void inst_rx_find(struct coll_task *inst)
{
	if (inst->rx_step == inst->tx_step && !inst_sent(inst) && step_in(&inst->tx))
		inst->rx = inst->tx;
	else
		inst->rx_step = coll_schedule_next(inst->schedule, &inst->args.plan,
						   inst->rx_step, inst->nsteps, false,
						   &inst->rx);
}

/*
 * Go on to the next step that receives something.  A new run begins when it is
 * certain that what the last one brought is good: inst_check_lease().
 */
static void inst_rx_enter(struct coll_task *inst)
{
	u32 peer = inst->rx.from;

	inst_rx_find(inst);
	if (inst_received(inst)) {
		inst_rx_return(inst);
		return;
	}
	inst->rx_off = 0;
	if (inst->rx.from != peer) {
		inst_rx_return(inst);
		inst_rx_turn(inst, peer);
	}
}

/**
 * coll_task_send_grant() - say what may be sent in the run that is received
 * @inst: the instance
 * @limit: bytes, from the beginning of the run
 */
void coll_task_send_grant(struct coll_task *inst, u64 limit)
{
	struct coll_engine *engine = inst->engine;
	struct coll_control control = {
		.kind = COLL_CONTROL_GRANT,
		.lane = engine->lane,
		.instance = inst->args.instance,
		.position = limit,
		.digest = inst->args.digest,
	};

	engine->ops->control(engine->ctx, inst->rx.from, &control);
}

/**
 * coll_task_left() - bytes have left windowed scratch
 * @inst: the instance
 * @left: how many in all
 */
void coll_task_left(struct coll_task *inst, u64 left)
{
	inst->left = max(inst->left, left);
	if (inst->run_started && !inst->granted && !inst->error && !inst_received(inst))
		coll_window_grant(inst, false);
}

/**
 * coll_task_unframed() - a frame has left, or never will
 * @inst: its instance; gone afterwards, perhaps
 */
void coll_task_unframed(struct coll_task *inst)
{
	inst->open_frames--;
	if (inst->schedule->windowed) {
		coll_task_left(inst, inst->reached);
		coll_task_kick(inst);
	}
	coll_task_try_complete(inst);
}

/**
 * coll_task_grant() - let the sender of an instance send all of it
 * @inst: the instance; whatever other ranks do, all of it can be taken
 */
void coll_task_grant(struct coll_task *inst)
{
	if (inst->granted || !inst->run_started || inst->error || inst_received(inst))
		return;
	if (inst->schedule->windowed) {
		coll_window_grant(inst, true);
		return;
	}
	inst->granted = true;
	coll_task_send_grant(inst, COLL_GRANT_ALL);
}

/**
 * coll_task_sendable() - how much of the current step may be sent now
 * @inst: the instance
 *
 * A step may need others to be received first.  What a forwarding one sends is
 * what the last of these receives: it is final as far as it is stored.  What is
 * swapped is final as far as it is copied.  What lies in windowed scratch leaves it in
 * order, also where it goes to different peers.
 *
 * Return: bytes, or 1 for a token that may go.
 */
u64 coll_task_sendable(const struct coll_task *inst)
{
	u64 final;

	if (inst->error || inst->odd || inst->lease_expired || inst_sent(inst) ||
	    (inst->schedule->windowed && inst->open_frames))
		return 0;

	if (inst->tx.exchange)
		final = coll_window_swapped(inst);
	else if (inst->rx_step >= inst->tx.depends_on)
		final = step_out(&inst->tx);
	else if (inst->tx.cut_through && inst->rx_step + 1 == inst->tx.depends_on)
		final = step_stored(&inst->rx, inst->rx_off);
	else
		final = 0;

	return final - inst->tx_off;
}

/* The peer reads our memory until it has consumed what it is sent up to here. */
static void inst_lend(struct coll_task *inst, struct coll_stream *stream)
{
	struct coll_zc_ref *mark = inst_mark(inst, stream);

	if (mark->stream)
		list_del(&mark->node);
	mark->stream = stream;
	mark->position = stream->tx_position;
	mark->inst = inst;
	list_add_tail(&mark->node, &stream->lent);
}

/**
 * coll_task_tx_advance() - a frame of the current step has begun
 * @inst: the instance
 * @stream: that carries it
 * @len: bytes of payload, 0 for a token
 */
void coll_task_tx_advance(struct coll_task *inst, struct coll_stream *stream, u32 len)
{
	if (!stream->tx_copy && stream->tx_position > stream->tx_consumed)
		inst_lend(inst, stream);

	inst->tx_off += inst->tx.signal ? 1 : len;
	inst->tx_run += inst->tx.signal ? 1 : len;
	if (inst->tx_off < step_out(&inst->tx))
		return;

	list_del_init(&inst->tx_node);
	inst->tx_step++;
	inst_tx_enter(inst);
	coll_task_kick(inst);
}

/**
 * coll_task_consumed() - a peer has consumed all that it was lent
 * @inst: the instance; gone afterwards, perhaps
 */
void coll_task_consumed(struct coll_task *inst)
{
	coll_task_kick(inst);
	coll_task_try_complete(inst);
}

/**
 * coll_task_sent_zerocopy() - what comes was lent by a peer
 * @inst: the instance
 * @stream: from that peer
 */
void coll_task_sent_zerocopy(struct coll_task *inst, struct coll_stream *stream)
{
	inst->zc_source = stream;
	if (list_empty(&inst->leased))
		list_add_tail(&inst->leased, &inst->engine->leased);
}

/**
 * coll_task_rx_advance() - the current step has been received further
 * @inst: the instance; gone afterwards, perhaps
 * @until: bytes of the step that are stored in whole elements; 1: the token
 */
void coll_task_rx_advance(struct coll_task *inst, u64 until)
{
	inst->rx_off = until;
	if (inst->rx_off == step_in(&inst->rx)) {
		inst->rx_step++;
		inst_rx_enter(inst);
	}
	inst_check_lease(inst);
	coll_task_kick(inst);
	coll_task_try_complete(inst);
}

/* What was granted early may show that calls differ, also where nothing will be sent. */
static void inst_compare(struct coll_task *inst)
{
	struct coll_stream *stream;

	if (!inst->args.digest)
		return;
	/* A stream a rank, once an operation. */
	list_for_each_entry(stream, &inst->engine->streams, node)
		coll_stream_compare(stream, inst);
}

/* Copy some of what is sent although it is overwritten; at what cost. */
static u64 inst_aside(struct coll_task *inst, u64 budget)
{
	const struct coll_task_args *call = &inst->args;
	const struct coll_mem *src = call->area[COLL_AREA_SEND];
	struct coll_local *aside = &inst->save_input;
	u64 from = call->area_off[COLL_AREA_SEND] + aside->from;
	u64 piece = coll_mem_piece(src, from);
	u64 len = coll_piece_bound(piece, min(aside->len, budget));

	coll_mem_copy(inst->engine->impl->copy, call->area[COLL_AREA_SCRATCH], aside->to, src,
		      from, len);
	aside->from += len;
	aside->to += len;
	aside->len -= len;
	return coll_piece_cost(piece, len);
}

/* What is copied here, unless it is in its place already. */
static void inst_local(struct coll_task *inst)
{
	const struct coll_task_args *call = &inst->args;
	struct coll_local *local = &inst->local;

	if (inst->schedule->local)
		inst->schedule->local(&inst->args.plan, local);
	if (local->len && call->area[COLL_AREA_SEND] == call->area[COLL_AREA_RECV] &&
	    call->area_off[COLL_AREA_SEND] + local->from ==
	    call->area_off[COLL_AREA_RECV] + local->to)
		local->len = 0;
	if (local->len)
		coll_engine_copying(inst);
}

/* What is set aside has been: have everything else done. */
static void inst_start(struct coll_task *inst)
{
	inst_local(inst);
	inst_tx_enter(inst);
	inst->left = inst->reached;
	inst_rx_enter(inst);

	coll_task_kick(inst);
	inst_rx_begin(inst);
	coll_task_try_complete(inst);
}

/* What is set aside at once, bytes; of more, the rest is when there is nothing else to do. */
#define INST_ASIDE_FIRST	(64 * 1024U)

/**
 * coll_task_start_run() - do what can be done at once
 * @inst: the instance, which is in progress from now on; gone afterwards, perhaps
 */
void coll_task_start_run(struct coll_task *inst)
{
	inst->nsteps = inst->schedule->steps(&inst->args.plan);
	INIT_LIST_HEAD(&inst->tx_node);
	INIT_LIST_HEAD(&inst->leased);
	INIT_LIST_HEAD(&inst->waking);
	INIT_LIST_HEAD(&inst->copying);

	inst->tx.to = COLL_NOBODY;
	inst->rx.from = COLL_NOBODY;
	inst->turn[0].peer = COLL_NOBODY;
	inst->turn[1].peer = COLL_NOBODY;

	inst_compare(inst);
	if (inst->schedule->save_input)
		inst->schedule->save_input(&inst->args.plan, &inst->save_input);
	if (inst->save_input.len)
		inst_aside(inst, INST_ASIDE_FIRST);
	if (inst->save_input.len)
		coll_engine_copying(inst);
	else
		inst_start(inst);
}

/* Copy some of what stays here; at what cost. */
static u64 inst_copy_local(struct coll_task *inst, u64 budget)
{
	const struct coll_engine *engine = inst->engine;
	const struct coll_task_args *call = &inst->args;
	const struct coll_mem *src = call->area[COLL_AREA_SEND];
	const struct coll_mem *dst = call->area[COLL_AREA_RECV];
	struct coll_local *local = &inst->local;
	u64 cost = 0;
	struct coll_copy_hint haul = {
		.volume = coll_plan_result(&call->plan),
		.source = COLL_CACHING_LOCAL,
	};

	while (local->len && cost < budget) {
		u64 to = call->area_off[COLL_AREA_RECV] + local->to, piece;
		size_t n;
		const void *ptr = src->at(src, call->area_off[COLL_AREA_SEND] + local->from, &n);

		piece = min(coll_mem_piece(dst, to), n);
		n = coll_piece_bound(piece, min3(n, local->len, budget - cost));
		cost += max_t(u64, coll_piece_cost(piece, n), COLL_PIECE_COST);
		local->len -= n;
		haul.left = local->len;
		coll_copier_store(engine->copier, engine->impl->copy, dst, to, ptr, n, &haul);
		local->from += n;
		local->to += n;
	}
	return cost;
}

/**
 * coll_task_copy() - copy some of what is to be copied here
 * @inst: the instance, which has something; gone afterwards, perhaps
 * @budget: bytes, roughly
 *
 * Return: what it has cost of that.
 */
u64 coll_task_copy(struct coll_task *inst, u64 budget)
{
	u64 cost;

	if (inst->exchanging) {
		coll_window_swap(inst);
		return (u64)COLL_PIECE_COST * COLL_PIECES_MAX;
	}
	if (inst->save_input.len) {
		cost = inst_aside(inst, budget);
		if (!inst->save_input.len) {
			list_del_init(&inst->copying);
			inst_start(inst);
		}
		return cost;
	}
	cost = inst_copy_local(inst, budget);
	if (!inst->local.len) {
		list_del_init(&inst->copying);
		coll_task_try_complete(inst);
	}
	return cost;
}

/**
 * coll_task_abort() - fail it: see coll_engine_abort()
 * @inst: the instance; gone afterwards, perhaps
 * @error: negative errno
 */
noinline void coll_task_abort(struct coll_task *inst, int error)
{
	if (inst->error)
		return;
	inst->error = error;
	coll_engine_drop_unexpected(inst->engine, inst->args.instance);
	list_del_init(&inst->copying);
	inst->local.len = 0;
	inst->save_input.len = 0;
	inst->exchanging = false;
	list_del_init(&inst->tx_node);
	if (!inst_sent(inst))
		inst_tx_leave(inst);
	/* What is still to come will be told as it is discarded. */
	if (inst->rx_stream)
		coll_stream_detach(inst->rx_stream);
	inst_rx_return(inst);
	coll_task_try_complete(inst);
}

/**
 * coll_task_tick() - time has passed, or leases were renewed
 * @inst: the instance; gone afterwards, perhaps
 */
void coll_task_tick(struct coll_task *inst)
{
	inst_check_lease(inst);
	coll_task_try_complete(inst);
}

/**
 * coll_task_connected() - there is a stream to a peer from now on
 * @inst: the instance
 * @stream: the stream, for which it may have been waiting
 */
void coll_task_connected(struct coll_task *inst, const struct coll_stream *stream)
{
	if (inst->error || inst_sent(inst) || inst->tx.to != stream->peer ||
	    !list_empty(&inst->tx_node))
		return;
	inst_tx_queue(inst);
	coll_task_kick(inst);
}

/**
 * coll_task_lacks() - is anything wanted of a peer that is gone?
 * @inst: the instance
 * @gone: says which are
 *
 * Return: such a peer that the instance must hear from before it can complete, as far as its
 * present steps tell; else COLL_NOBODY.  Frames that have begun are the streams'.
 */
noinline u32 coll_task_lacks(const struct coll_task *inst, bool (*gone)(void *ctx, u32 peer))
{
	void *ctx = inst->engine->ctx;
	u32 i;

	for (i = 0; i < COLL_MARKS; i++)
		if (inst->zc_ref[i].stream && gone(ctx, inst->zc_ref[i].stream->peer))
			return inst->zc_ref[i].stream->peer;
	if (inst->error)
		return COLL_NOBODY;
	if (!inst_received(inst) && inst->rx.from != COLL_NOBODY && gone(ctx, inst->rx.from))
		return inst->rx.from;
	if (!inst_sent(inst) && inst->tx.to != COLL_NOBODY && gone(ctx, inst->tx.to))
		return inst->tx.to;
	return COLL_NOBODY;
}
