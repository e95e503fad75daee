// SPDX-License-Identifier: GPL-2.0-only
/*
 * Failure on a lane: operations to be aborted, a group that has failed, and peers that have left
 * or cannot be reached.
 */
#include <linux/ktime.h>

#include "fail/member_state.h"
#include "lane/lane.h"
#include "lane/lane_fail.h"
#include "lane/progress.h"
#include "limits.h"
#include "mem/account.h"
#include "net/conn.h"
#include "net/link.h"

/* Failed operations of which the engine is told in one run. */
#define LANE_FAILURES		64

/**
 * coll_lane_abort_ops() - abort operations that have failed by themselves
 * @lane: a lane that runs
 *
 * The engine drops the unexpected frames of operations that have not begun here.
 */
void coll_lane_abort_ops(struct coll_lane *lane)
{
	struct coll_task *task, *next;
	u32 left = LANE_FAILURES;
	u64 instance;
	int error;

	lane->had_abort = true;
	list_for_each_entry_safe(task, next, &lane->engine.active, node) {
		struct coll_part *part = task->args.user;

		error = READ_ONCE(part->abort->error);
		if (error && !task->error)
			coll_engine_abort(&lane->engine, task->args.instance, error);
	}
	while (coll_failed_ops_next(lane->state->failed_ops, &lane->failed, &instance)) {
		coll_engine_drop_unexpected(&lane->engine, instance);
		if (!--left) {
			coll_lane_check_aborts(lane);
			break;
		}
	}
}

/**
 * coll_lane_fail() - the group has failed
 * @lane: a lane that runs
 *
 * Closes the connections; when the reason is final, aborts all tasks; when a peer is fenced,
 * releases the pages that it may read.
 */
void coll_lane_fail(struct coll_lane *lane)
{
	u64 now = ktime_get_ns();
	bool fenced = coll_state_leases_expired(lane->state, now);
	struct coll_conn *conn;

	list_for_each_entry(conn, &lane->conns, node) {
		if (conn->ep.transport)
			conn->ep.transport->close(&conn->ep, true);
		coll_conn_set_state(conn, COLL_CONN_DOWN);
	}
	if (!coll_state_is_final(lane->state, now))
		return;
	coll_engine_abort(&lane->engine, COLL_INSTANCE_GROUP, READ_ONCE(lane->state->aborted));
	list_for_each_entry(conn, &lane->conns, node)
		if (conn->stream && (fenced || conn->stream->by_reference ||
				     READ_ONCE(conn->link->peer_fenced)))
			coll_stream_release(conn->stream);
}

/*
 * Is a task active that fails from its start, or (@matching) that may be found to fail?  Its abort,
 * or the outcome of matching, is on the way, with a kick.
 */
static bool lane_awaits_abort(const struct coll_lane *lane, bool matching)
{
	const struct coll_task *task;

	list_for_each_entry(task, &lane->engine.active, node) {
		const struct coll_part *part = task->args.user;
		const struct coll_abort *abort = part->abort;

		if (!task->error && (abort->at_start || (matching && READ_ONCE(abort->matching))))
			return true;
	}
	return false;
}

/* Has the peer left, and has all that it sent been received? */
static bool conn_departed(const struct coll_conn *conn)
{
	return conn->peer_departed &&
		(coll_conn_is_down(conn) || READ_ONCE(conn->link->leave_timed_out));
}

/* On the board is all that a peer has done before it left. */
static bool board_departed(const struct coll_lane *lane, const struct coll_task *task, u32 peer)
{
	if (!test_bit(peer, lane->state->peers_left))
		return false;
	smp_rmb();	/* its LEAVE before what it has published */
	return !coll_board_has(lane->engine.board, peer, task->args.instance);
}

/* Matching may find that a task fails for another reason, and has the lane look again. */
static bool lane_peer_departed(void *ctx, const struct coll_task *task, u32 peer)
{
	const struct coll_part *part = task->args.user;
	const struct coll_lane *lane = ctx;
	struct coll_link *link = coll_link_get(lane->net, peer);
	const struct coll_conn *conn = link ? READ_ONCE(link->data[lane->engine.lane]) : NULL;

	/*
	 * The error that matching has found is read after its end: pairs with
	 * coll_request_set_match().  Its abort is on the way, with a kick.
	 */
	if (smp_load_acquire(&part->abort->matching) || READ_ONCE(part->abort->error))
		return false;
	if (task->schedule->board)
		return board_departed(lane, task, peer);
	return conn && conn_departed(conn);
}

/**
 * coll_lane_check_departed() - fail the group if a task needs a peer that has left
 * @lane: a lane that runs
 *
 * A task that has failed needs nothing: the peer left with nothing in flight, so it completes
 * nothing of this rank's any more.  In a group that has failed nothing is expected either, because
 * frames may have been dropped here.
 */
void coll_lane_check_departed(struct coll_lane *lane)
{
	struct coll_conn *conn;
	bool any = !list_empty(&lane->engine.boarding) &&
		   !bitmap_empty(lane->state->peers_left, lane->id->nranks);
	u32 peer;

	if (list_empty(&lane->engine.active) || READ_ONCE(lane->state->aborted))
		return;
	list_for_each_entry(conn, &lane->conns, node)
		any |= conn_departed(conn);
	if (!any || lane_awaits_abort(lane, false))
		return;
	peer = coll_engine_find_lacking(&lane->engine, false, lane_peer_departed);
	/* Before pages are released below: no operation may complete with success after that. */
	if (peer != COLL_NO_RANK)
		coll_state_fail_kind(lane->state, COLLECTIVE_REASON_LEFT, peer, lane->id->rank);
	else if (lane_awaits_abort(lane, true))
		return;
	list_for_each_entry(conn, &lane->conns, node) {
		if (!conn_departed(conn))
			continue;
		coll_conn_set_state(conn, COLL_CONN_DOWN);
		if (conn->peer == peer || !conn->stream)
			continue;
		/* What it could read, or a device could store in, is given back. */
		if (conn->stream->by_reference && conn->ep.transport)
			conn->ep.transport->close(&conn->ep, true);
		coll_stream_release(conn->stream);
	}
}

/* Can a peer not be reached by this lane, or not any more? */
static bool lane_link_unusable(const struct coll_lane *lane, const struct coll_link *link)
{
	const struct coll_conn *conn = READ_ONCE(link->data[lane->engine.lane]);

	if (test_bit(lane->engine.lane, &link->refused_mask))
		return true;
	/* Frames that have come still count. */
	return test_bit(COLL_REFUSED_CONTROL, &link->refused_mask) &&
		(!conn || coll_conn_is_down(conn));
}

static bool lane_unreachable(void *ctx, const struct coll_task *task, u32 peer)
{
	const struct coll_lane *lane = ctx;
	const struct coll_link *link = coll_link_get(lane->net, peer);

	/* The bit before @why: pairs with link_refused(). */
	return link && smp_load_acquire(&link->refused_mask) && lane_link_unusable(lane, link);
}

/**
 * coll_lane_check_refused() - fail the group if a task needs a peer that cannot be reached
 * @lane: a lane that runs
 */
void coll_lane_check_refused(struct coll_lane *lane)
{
	u32 peer;

	if (!READ_ONCE(lane->net->any_refused) || list_empty(&lane->engine.active))
		return;
	peer = coll_engine_find_lacking(&lane->engine, true, lane_unreachable);
	if (peer != COLL_NO_RANK && !lane_awaits_abort(lane, false))
		coll_state_fail(lane->state, &coll_link_get(lane->net, peer)->why);
}
