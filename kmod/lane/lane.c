// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lanes: the engine and its connections.
 *
 * A run first takes the events since the last run: connections, mailboxes, submitted parts, a
 * failure.  Then it moves bytes (progress.c) until nothing moves or the budget is spent.  Last it
 * reports the parts that have ended, outside of any FPU section and of the engine.
 *
 * No loop is bounded by what peers send: a lane has at most one connection per rank and
 * COLL_INFLIGHT operations, and takes longer lists in portions.
 */
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "fail/member_state.h"
#include "lane/lane.h"
#include "lane/lane_fail.h"
#include "lane/progress.h"
#include "lane/growth.h"
#include "lane/time_table.h"
#include "limits.h"
#include "mem/account.h"
#include "net/conn.h"
#include "net/link.h"
#include "transport/board.h"

/* An eager frame always fits into the credit that is not held back or unannounced. */
static_assert(COLLECTIVE_EAGER_LIMIT + COLL_DATA_SIZE + COLL_CREDIT_KEPT <=
	      COLL_CREDIT - COLL_CREDIT_UNTOLD(COLL_CREDIT));

/* Bytes that may stay in a socket until an operation wants them: one message. */
#define COLL_EARLY_MAX		(COLLECTIVE_EAGER_LIMIT + COLL_DATA_SIZE)

static struct coll_stream *lane_stream(void *ctx, u32 peer)
{
	struct coll_lane *lane = ctx;
	struct coll_link *link = coll_link_get(lane->net, peer);
	struct coll_conn *conn;

	if (!link)
		return NULL;
	/* Then what it consists of: an address dependency. */
	conn = READ_ONCE(link->data[lane->engine.lane]);
	if (!conn)
		return NULL;
	if (!conn->stream && !conn->wanted) {
		conn->wanted = true;
		lane->kicked = true;
	}
	return conn->stream;
}

static void lane_control(void *ctx, u32 peer, const struct coll_control *control)
{
	struct coll_lane *lane = ctx;

	/* Queueing takes a lock, which must not happen in an FPU section. */
	coll_fpu_end(&lane->fpu);
	coll_link_queue_frame(lane->net->links[peer], control);
}

static void lane_kick(void *ctx, struct coll_stream *stream)
{
	struct coll_lane *lane = ctx;

	lane->net->links[stream->peer]->data[lane->engine.lane]->tx_wanted = true;
	lane->kicked = true;
}

/*
 * The buffers belong to the user again.  This is the last check whether the group has failed: a
 * peer that knew of the failure may have unpinned its pages before this rank consumed them.
 */
static void lane_complete(void *ctx, struct coll_task *task)
{
	struct coll_lane *lane = ctx;
	struct coll_part *part = task->args.user;

	part->waited_ns = lane->waiting.total - part->waited_ns;
	part->error = task->error;
	if (!part->error) {
		smp_rmb();	/* the consumed data before @aborted */
		part->error = READ_ONCE(lane->state->aborted);
	}
	list_add_tail(&part->node, &lane->done_parts);
}

static void lane_mismatch(void *ctx, struct coll_task *task, u32 peer)
{
	struct coll_lane *lane = ctx;
	struct coll_part *part = task->args.user;

	part->mismatch_peer = peer;
	lane->mismatch_pending = true;
}

/* A connection that is closed is not read any more. */
static bool lane_revoke(void *ctx, struct coll_stream *stream, struct coll_task *task)
{
	struct coll_lane *lane = ctx;
	struct coll_conn *conn = lane->net->links[stream->peer]->data[lane->engine.lane];

	return !conn->ep.transport || conn->ep.transport->revoke(&conn->ep, task);
}

static_assert(COLL_FUSE_MAX <= COLL_LOCAL_READERS_MAX);

/* Input and result as struct coll_exposure has them. */
static u32 exposed_area(u32 area)
{
	return area == COLL_AREA_SEND ? 0 : 1;
}

static void lane_expose(void *ctx, struct coll_task *task)
{
	static const u32 areas[COLL_EXPOSED_AREAS] = { COLL_AREA_SEND, COLL_AREA_RECV };
	struct coll_part *part = task->args.user;
	struct coll_lane *lane = ctx;
	u32 i;

	part->exposure.instance = task->args.instance;
	for (i = 0; i < COLL_EXPOSED_AREAS; i++) {
		part->exposure.mem[i] = task->args.area[areas[i]];
		part->exposure.off[i] = task->args.area_off[areas[i]];
		part->exposure.len[i] = coll_plan_exposed(&task->args.plan, areas[i]);
	}
	coll_exposure_open(lane->exposer, &part->exposure);
}

static bool lane_withdraw(void *ctx, struct coll_task *task)
{
	struct coll_part *part = task->args.user;

	return coll_exposure_close(&part->exposure);
}

static bool lane_begin_read(void *ctx, struct coll_task *task, u32 peer, u32 area,
			    struct coll_exposed *exposed)
{
	struct coll_lane *lane = ctx;
	struct coll_exposure *exposure =
		coll_exposure_begin_read(lane->net->hub, peer, lane->engine.lane,
					 task->args.instance);

	if (!exposure)
		return false;
	lane->reads[peer] = exposure;
	exposed->mem = exposure->mem[exposed_area(area)];
	exposed->off = exposure->off[exposed_area(area)];
	exposed->len = exposure->len[exposed_area(area)];
	return true;
}

static void lane_end_read(void *ctx, struct coll_task *task, u32 peer)
{
	struct coll_lane *lane = ctx;

	coll_exposure_end_read(lane->reads[peer]);
}

static void lane_fpu(void *ctx, bool begin)
{
	struct coll_lane *lane = ctx;

	if (!begin) {
		coll_fpu_end(&lane->fpu);
		return;
	}
	coll_fpu_begin(&lane->fpu);
	lane->engine.fuse.part = coll_fpu_part();
}

static void lane_wake_ranks(const struct coll_lane *lane, u64 ranks, u32 latest)
{
	for (; ranks; ranks &= ranks - 1)
		coll_exposer_wake(lane->net->hub, __ffs64(ranks), lane->engine.lane, latest);
}

static void lane_wake(void *ctx, u32 latest)
{
	struct coll_lane *lane = ctx;
	u64 ranks = coll_board_sleepers(lane->engine.board);

	/* This lane runs, and looks again. */
	lane_wake_ranks(lane, ranks & ~BIT_ULL(lane->id->rank), latest);
}

/**
 * coll_lane_wake_board() - wake the ranks that sleep until something is stored on the board
 * @lane: the first one of a member whose group has a board; it may run, or sleep itself
 *
 * Context: process.
 */
void coll_lane_wake_board(const struct coll_lane *lane)
{
	lane_wake_ranks(lane, coll_board_sleepers(lane->engine.board), COLL_NO_RANK);
}

static bool lane_failed(void *ctx, u64 instance)
{
	const struct coll_lane *lane = ctx;

	return coll_failed_ops_has(lane->state->failed_ops, instance);
}

static const struct coll_engine_ops lane_ops = {
	.stream		= lane_stream,
	.control	= lane_control,
	.kick		= lane_kick,
	.complete	= lane_complete,
	.mismatch	= lane_mismatch,
	.revoke		= lane_revoke,
	.expose		= lane_expose,
	.withdraw	= lane_withdraw,
	.begin_read	= lane_begin_read,
	.end_read	= lane_end_read,
	.fpu		= lane_fpu,
	.wake		= lane_wake,
	.failed		= lane_failed,
};

/* Another rank has ended its read of memory that was withdrawn; in any context. */
static void lane_reads_ended(void *owner)
{
	struct coll_lane *lane = owner;

	WRITE_ONCE(lane->reads_ended, true);
	coll_runner_kick(&lane->runner);
}

/* Another rank has stored on the board; in any context. */
static void lane_woken(void *owner, u32 latest)
{
	struct coll_lane *lane = owner;

	WRITE_ONCE(lane->waiting.woken_for, latest);
	coll_runner_kick(&lane->runner);
}

static const struct coll_exposer_ops lane_exposer_ops = {
	.ended	= lane_reads_ended,
	.wake	= lane_woken,
};

/**
 * coll_lane_open_board() - let the tasks of a lane use the board of the group
 * @lane: the first one of a member whose group has a board; small operations have one lane
 *
 * The parts of the other ranks are those of now, so what follows in CONNECT must not fail.
 *
 * Context: CONNECT; may sleep.
 * Return: 0 or -ENOMEM.
 */
int coll_lane_open_board(struct coll_lane *lane)
{
	struct coll_board *board = coll_local_board_open(lane->net->hub, lane->id->rank);

	if (!board)
		return -ENOMEM;
	/* A run may look for it already. */
	smp_store_release(&lane->engine.board, board);
	return 0;
}

/**
 * coll_lane_close_board() - undo coll_lane_open_board()
 * @lane: after coll_lane_close(); no request is left, since queries look there what one waits for
 *
 * Context: may sleep.
 */
void coll_lane_close_board(struct coll_lane *lane)
{
	if (lane->engine.board)
		coll_local_board_close(lane->engine.board);
	lane->engine.board = NULL;
}

/*
 * A lane that is about to wait for the board says so, and looks once more.  Return: true if it need
 * not wait.
 */
static bool lane_board_rest(struct coll_lane *lane)
{
	if (list_empty(&lane->engine.boarding))
		return false;
	coll_board_sleep(lane->engine.board, coll_engine_board_needs(&lane->engine));
	return coll_engine_board(&lane->engine);
}

static void lane_end_withdrawals(struct coll_lane *lane)
{
	struct coll_exposure *exposure;

	if (!READ_ONCE(lane->reads_ended))
		return;
	/* Before the list is read: an entry that is added later comes with a kick. */
	WRITE_ONCE(lane->reads_ended, false);
	while ((exposure = coll_exposer_next_unread(lane->exposer)))
		coll_engine_withdrawn(&lane->engine, exposure->instance);
}

/**
 * coll_lane_expose() - let the tasks of a lane expose memory
 * @lane: of a member whose group's ranks can read each other's memory
 *
 * Context: CONNECT; may sleep.
 * Return: 0 or -ENOMEM; it may be called again.
 */
int coll_lane_expose(struct coll_lane *lane)
{
	if (!lane->exposer)
		lane->exposer = coll_exposer_open(lane->net->hub, lane->id->rank,
						  lane->engine.lane, &lane_exposer_ops, lane);
	return lane->exposer ? 0 : -ENOMEM;
}

static void lane_attach_new(struct coll_lane *lane)
{
	struct coll_conn *conn;
	LIST_HEAD(arrivals);

	/* A connection that is added later comes with a kick. */
	if (list_empty(&lane->new_conns))
		return;
	spin_lock(&lane->lock);
	list_splice_init(&lane->new_conns, &arrivals);
	spin_unlock(&lane->lock);

	/* A task may have looked for its stream before. */
	list_for_each_entry(conn, &arrivals, node)
		conn->wanted = !list_empty(&lane->engine.active);
	list_splice_tail(&arrivals, &lane->conns);
}

/* Return: 0, -EPROTO or -ENOMEM. */
static int lane_read_mailbox(struct coll_lane *lane, struct coll_conn *conn)
{
	int err;

	if (!coll_mailbox_posted(conn->mailbox) || (coll_conn_is_down(conn) && !conn->stream))
		return 0;
	err = coll_lane_use_conn(lane, conn);
	return err ? err : coll_lane_take_mail(lane, conn);
}

/* Return: true if all tasks are eager ones that begin now, which are worth sending at once. */
static bool lane_begin_submitted(struct coll_lane *lane)
{
	bool first = list_empty(&lane->engine.active);
	struct coll_part *part, *next;
	struct llist_node *parts;
	int err;

	/* A part that is submitted later comes with a kick. */
	if (llist_empty(&lane->submitted))
		return false;
	parts = llist_reverse_order(llist_del_all(&lane->submitted));
	llist_for_each_entry_safe(part, next, parts, submitted) {
		first &= part->task.args.eager;
		part->waited_ns = lane->waiting.total;
		err = coll_engine_begin(&lane->engine, &part->task);
		if (!err)
			continue;
		part->error = err;
		list_add_tail(&part->node, &lane->done_parts);
	}
	return first;
}

/* Has the group failed for a reason that is not final yet? */
static bool lane_reason_pending(const struct coll_lane *lane)
{
	/* @aborted before @settled_at: pairs with reason_record(). */
	return smp_load_acquire(&lane->state->aborted) &&
	       !coll_state_is_final(lane->state, ktime_get_ns());
}

/* A part that failed waits for the final reason, which replaces the errno it ended with. */
static void lane_finish(struct coll_lane *lane)
{
	struct coll_part *part, *next;

	list_for_each_entry_safe(part, next, &lane->done_parts, node) {
		if (part->error && lane_reason_pending(lane))
			continue;
		if (part->error && !part->task.error)
			part->error = READ_ONCE(lane->state->aborted) ?: part->error;
		list_del(&part->node);
		lane->ops->part_done(part);
	}
}

static void lane_report_mismatches(struct coll_lane *lane)
{
	struct coll_task *task;

	lane->mismatch_pending = false;
	list_for_each_entry(task, &lane->engine.active, node) {
		struct coll_part *part = task->args.user;
		u32 peer = part->mismatch_peer;

		if (peer == COLL_NO_RANK)
			continue;
		part->mismatch_peer = COLL_NO_RANK;
		lane->ops->mismatch(part, peer);
	}
}

/*
 * Early frames: a rank that is ahead sends frames for operations not yet submitted here.  A small
 * amount stays in its socket until the operation reads it.  A worker could only copy it into the
 * unexpected buffer, and would take the CPU from the thread that is about to submit.
 */

/* From here on events need no kick, because this run sees them. */
static void lane_run_begin(struct coll_lane *lane)
{
	WRITE_ONCE(lane->activity, COLL_LANE_RUNNING);
	WRITE_ONCE(lane->rx_deferred, false);
	/* @activity before the events are read: pairs with coll_lane_may_defer_rx(). */
	smp_mb();
}

static void lane_run_end(struct coll_lane *lane)
{
	bool quiescent = list_empty(&lane->engine.active) && !lane->had_abort &&
			 !READ_ONCE(lane->state->aborted);

	WRITE_ONCE(lane->activity, quiescent ? COLL_LANE_QUIESCENT : COLL_LANE_IDLE);
	/* @activity before the events are read again: pairs with coll_lane_may_defer_rx(). */
	smp_mb();
}

/* Events that came in the run after it had read them. */
static void lane_recheck_events(struct coll_lane *lane)
{
	struct coll_conn *conn;

	list_for_each_entry(conn, &lane->conns, node)
		if (READ_ONCE(conn->events) && !coll_conn_is_down(conn) &&
		    !coll_lane_may_defer_rx(lane, conn))
			coll_runner_kick(&lane->runner);
}

/* What is more than a quarter of the credit is read at once, to see whether more is wanted. */
static u32 early_max(const struct coll_stream *stream)
{
	return min_t(u32, READ_ONCE(stream->rx_credit) / 4, COLL_EARLY_MAX);
}

/**
 * coll_lane_may_defer_rx() - may an event of a data connection do without a kick?
 * @lane: of the connection
 * @conn: the connection; the event is set
 *
 * Return: true if the current run, the next one, or that of the next heartbeat sees the event in
 * time.
 *
 * Context: any.
 */
bool coll_lane_may_defer_rx(struct coll_lane *lane, const struct coll_conn *conn)
{
	const struct coll_stream *stream;
	enum coll_lane_activity activity;

	/* The event before @activity: pairs with lane_run_begin() and lane_run_end(). */
	smp_mb__after_atomic();
	activity = READ_ONCE(lane->activity);
	if (activity == COLL_LANE_RUNNING)
		return true;
	stream = READ_ONCE(conn->stream);
	if (activity != COLL_LANE_QUIESCENT || test_bit(COLL_EVENT_WRITABLE, &conn->events) ||
	    !stream || !conn->ep.transport->can_defer_rx(&conn->ep, early_max(stream)))
		return false;
	WRITE_ONCE(lane->rx_deferred, true);
	/* @rx_deferred before @resting: pairs with control_rests(). */
	smp_mb();
	return !READ_ONCE(lane->net->resting);
}

/*
 * The rank that a task has waited for.  On the board ranks publish without waking others: one that
 * has still not published has been waited for all the time, and else it was the last of them.
 */
static u32 lane_waited_for(const struct coll_lane *lane, const struct coll_task *task)
{
	const u32 latest = READ_ONCE(lane->waiting.woken_for);
	const u32 peer = coll_task_awaited(task);

	if (!task->schedule->board)
		return peer;
	/* A rank that was waited for because it used the space may use none any more. */
	if (!READ_ONCE(task->tx_step))
		return task->rx.from;
	if (peer != COLL_NO_RANK)
		return peer;
	return latest == COLL_NO_RANK || latest == lane->id->rank ? task->rx.from : latest;
}

/*
 * Tasks change in runs only, so the oldest one is still that of the end of the run before.  Lanes
 * of an operation wait at the same time, so each one counts for its part.
 */
static void lane_count_wait(const struct coll_lane *lane, u64 ns)
{
	const struct coll_task *oldest =
		list_first_entry(&lane->engine.active, struct coll_task, node);
	const struct coll_plan *plan = &oldest->args.plan;
	struct coll_times *times = READ_ONCE(lane->times[plan->collective]);
	u32 peer = lane_waited_for(lane, oldest);

	if (peer != COLL_NO_RANK && times)
		atomic64_add(plan->nlanes == 1 ? ns : div_u64(ns, coll_plan_lanes(plan)),
			     &times->waited[peer]);
}

static void lane_begin_wait(struct coll_lane *lane)
{
	lane->waiting.since = ktime_get_ns();
	WRITE_ONCE(lane->waiting.woken_for, COLL_NO_RANK);
}

/* A lane that has waited runs. */
static void lane_end_wait(struct coll_lane *lane)
{
	u64 ns = ktime_get_ns() - lane->waiting.since;

	lane->waiting.since = 0;
	lane->waiting.total += ns;
	lane_count_wait(lane, ns);
}

static bool lane_iterate(struct coll_lane *lane)
{
	struct coll_board *board;
	struct coll_conn *conn;
	bool moved, recheck, first;
	int err;

	lane_run_begin(lane);
	if (lane->waiting.since)
		lane_end_wait(lane);
	board = READ_ONCE(lane->engine.board);
	if (board)
		coll_board_wake_up(board);
	lane_attach_new(lane);
	lane_end_withdrawals(lane);
	list_for_each_entry(conn, &lane->conns, node) {
		/* @peer_left before the mailbox, which was written before it was set. */
		conn->peer_departed = smp_load_acquire(&conn->link->peer_left);
		if (conn->stream)
			conn->stream->lease = coll_lane_lease(conn);
		err = lane_read_mailbox(lane, conn);
		if (err)
			coll_progress_conn_down(conn, err);
	}
	/* Before @submitted is read: a part that is aborted meanwhile is seen in the next run. */
	recheck = READ_ONCE(lane->abort_check_pending) && xchg(&lane->abort_check_pending, false);
	first = lane_begin_submitted(lane);
	if (recheck)
		coll_lane_abort_ops(lane);
	/* @aborted before the time and the reason: pairs with reason_record(). */
	if (smp_load_acquire(&lane->state->aborted))
		coll_lane_fail(lane);
	coll_progress_update_leases(lane);
	if (first)
		coll_progress_send_submitted(lane);

	moved = coll_lane_progress(lane);

	coll_lane_check_departed(lane);
	if (!moved)
		coll_lane_check_refused(lane);
	if (lane->mismatch_pending)
		lane_report_mismatches(lane);
	lane_finish(lane);
	if (lane->engine.credit_wanted)
		coll_lane_raise_credit(lane);
	if (READ_ONCE(lane->net->tx_pending))
		coll_runner_run_now(lane->net->control);
	lane_run_end(lane);
	/* A failure above may have made frames of other operations ready. */
	moved |= lane->kicked || lane_board_rest(lane) || lane->mismatch_pending;
	if (!moved) {
		if (!list_empty(&lane->engine.active))
			lane_begin_wait(lane);
		lane_recheck_events(lane);
	}
	return moved;
}

/* Whatever thread runs it, memory is charged to the cgroup of the process that joined. */
static bool lane_run(struct coll_runner *runner)
{
	struct coll_lane *lane = container_of(runner, struct coll_lane, runner);
	struct mem_cgroup *memcg = set_active_memcg(lane->memcg);
	bool more = lane_iterate(lane);

	set_active_memcg(memcg);
	return more;
}

/**
 * coll_lane_home() - on which CPUs a lane runs
 * @id: of the member
 * @index: of the lane
 * @owner: the process that joins; outlasts the lane
 * @home: out
 *
 * The ranks and lanes of a group are distributed over the CPUs that the process may use.  The CPUs
 * of the submitting threads would not do for several ranks on a host: some CPUs would have two
 * lanes, and others none.
 */
void coll_lane_home(const struct coll_ident *id, u32 index,
		    const struct coll_cpu_owner *owner, struct coll_cpu_home *home)
{
	coll_cpu_home_init(home, owner, id->rank * id->nlanes + index, id->nranks * id->nlanes);
}

/**
 * coll_lane_setup() - make a lane
 * @lane: zeroed, but for what is const after JOIN
 * @index: of the lane
 */
void coll_lane_setup(struct coll_lane *lane, u32 index)
{
	lane->engine.impl = coll_fpu_reductions();
	coll_runner_init(&lane->runner, lane_run, coll_lane_wq);
	coll_lane_home(lane->id, index, lane->owner, &lane->home);
	lane->runner.home = &lane->home;
	coll_cpu_enter(&lane->cpu_user, &lane->runner, lane->process);
	INIT_LIST_HEAD(&lane->conns);
	INIT_LIST_HEAD(&lane->done_parts);
	init_llist_head(&lane->submitted);
	INIT_LIST_HEAD(&lane->new_conns);
	spin_lock_init(&lane->lock);

	lane->engine.ops = &lane_ops;
	lane->engine.ctx = lane;
	lane->engine.rank = lane->id->rank;
	lane->engine.nranks = lane->id->nranks;
	lane->engine.lane = index;
	lane->engine.incarnation = lane->id->incarnation;
	coll_engine_init(&lane->engine, COLL_INFLIGHT);
	coll_copier_setup(lane);
}

/**
 * coll_lane_close() - close the connections of a lane
 * @lane: its runner is stopped
 * @reset: drop what is queued on them
 *
 * No peer reads memory of this rank through the lane when this returns, so requests may be freed.
 *
 * Context: may sleep.
 */
void coll_lane_close(struct coll_lane *lane, bool reset)
{
	struct coll_conn *conn;

	if (lane->exposer)
		coll_exposer_close(lane->exposer);
	lane->exposer = NULL;
	/* Connections that came after the last run were not given to the engine. */
	list_splice_init(&lane->new_conns, &lane->conns);
	list_for_each_entry(conn, &lane->conns, node)
		if (conn->ep.transport)
			conn->ep.transport->close(&conn->ep, reset);
}

/**
 * coll_lane_cleanup() - undo coll_lane_setup()
 * @lane: after coll_lane_close(), or it was never used
 */
void coll_lane_cleanup(struct coll_lane *lane)
{
	struct coll_conn *conn, *next;

	coll_cpu_leave(&lane->cpu_user);
	list_for_each_entry_safe(conn, next, &lane->conns, node) {
		list_del(&conn->node);
		coll_conn_delete(conn);
	}
	coll_copier_cleanup(lane);
}

/**
 * coll_lane_submit() - give a lane its part of an operation
 * @lane: the lane; the caller kicks or runs it afterwards
 * @part: the part
 */
void coll_lane_submit(struct coll_lane *lane, struct coll_part *part)
{
	llist_add(&part->submitted, &lane->submitted);
}

/**
 * coll_lane_check_aborts() - some operation is to be aborted
 * @lane: the lane; kicked
 */
void coll_lane_check_aborts(struct coll_lane *lane)
{
	WRITE_ONCE(lane->abort_check_pending, true);
	coll_runner_kick(&lane->runner);
}

/**
 * coll_lane_attach() - hand an open data connection to a lane
 * @lane: the lane; owns the connection from here on
 * @conn: the connection; it gets its stream when it is used: coll_lane_use_conn()
 *
 * Context: control runner.
 */
void coll_lane_attach(struct coll_lane *lane, struct coll_conn *conn)
{
	conn->mailbox = &conn->link->mailboxes[conn->lane];
	atomic_inc(&lane->net->unused);
	/* Data may have come since the handshake. */
	set_bit(COLL_EVENT_READABLE, &conn->events);
	WRITE_ONCE(conn->runner, &lane->runner);
	/* Events reach the lane from here on: after the runner. */
	smp_store_release(&conn->ep.ops, &coll_lane_endpoint_ops);
	/* Publishes the complete connection. */
	smp_store_release(&conn->link->data[conn->lane], conn);
	spin_lock(&lane->lock);
	list_add_tail(&conn->node, &lane->new_conns);
	spin_unlock(&lane->lock);
	coll_runner_kick(&lane->runner);
}
