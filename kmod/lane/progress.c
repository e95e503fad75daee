// SPDX-License-Identifier: GPL-2.0-only
/*
 * Moving bytes, between a lane's engine and its connections.
 */
#include <linux/ktime.h>
#include <linux/sched.h>

#include "fail/failure.h"
#include "lane/lane.h"
#include "lane/progress.h"
#include "net/conn.h"
#include "net/link.h"

/*
 * Bytes taken from one connection before others have their turn, under the lock of its
 * socket; frames and short pieces of memory cost COLL_PIECE_COST of them at least...
 */
#define COLL_RECEIVE_BUDGET	(256 * 1024)
/* ...what one call of the transport that sends costs, for it may be of COLL_SEND_PIECES... */
#define COLL_SEND_COST		(8 * 1024U)
/* ...and turns of a run, before other work on this CPU has its. */
#define COLL_TURNS		4

static struct coll_lane *conn_lane(const struct coll_conn *conn)
{
	return container_of(READ_ONCE(conn->runner), struct coll_lane, runner);
}

/*
 * Gives the engine bytes of a data connection.  An FPU section that they need stays open for the
 * following bytes of the same socket buffer: see lane_recv_idle().  The engine is told of a part
 * of a frame when no more is taken: see progress_end_receive().  0 means: another connection's
 * turn.
 */
static int lane_recv(struct coll_endpoint *ep, const void *ptr, u32 len)
{
	struct coll_conn *conn = container_of(ep, struct coll_conn, ep);
	struct coll_lane *lane = conn_lane(conn);
	bool reduces = coll_stream_reduces(conn->stream);
	int n;

	if (conn->budget <= 0)
		return 0;
	if (reduces) {
		coll_fpu_begin(&lane->fpu);
		len = min(len, COLL_VECTOR_BYTES);
	}
	n = coll_stream_receive(conn->stream, ptr, len);
	if (reduces && n > 0)
		coll_fpu_used(&lane->fpu, conn->stream->rx_cost);
	if (n > 0)
		conn->budget -= conn->stream->rx_cost;
	/* What does not match is told before more of it comes. */
	if (lane->mismatch_pending)
		conn->budget = 0;
	if (coll_stream_whole(conn->stream)) {
		/* What was read until now was in place: see the lease. */
		if (coll_stream_lent(conn->stream))
			lane->engine.now = ktime_get_ns();
		coll_stream_pause(conn->stream);
	}
	conn->ep.defer_ack = conn->stream->rx_last;
	return n;
}

/* A socket buffer has been consumed as far as possible. */
static void lane_recv_idle(struct coll_endpoint *ep)
{
	struct coll_conn *conn = container_of(ep, struct coll_conn, ep);

	coll_fpu_end(&conn_lane(conn)->fpu);
}

static void lane_event(struct coll_endpoint *ep, enum coll_event event)
{
	struct coll_conn *conn = container_of(ep, struct coll_conn, ep);
	struct coll_lane *lane = conn_lane(conn);

	set_bit(event, &conn->events);
	if (!coll_lane_may_defer_rx(lane, conn))
		coll_runner_kick(&lane->runner);
}

/* Of a data connection that is open. */
const struct coll_endpoint_ops coll_lane_endpoint_ops = {
	.event		= lane_event,
	.recv		= lane_recv,
	.recv_idle	= lane_recv_idle,
};

/**
 * coll_progress_conn_down() - nothing more comes on a data connection, or is taken
 * @conn: the connection; its lane runs
 * @err: -EPROTO: what has come makes no sense, and the group fails
 */
void coll_progress_conn_down(struct coll_conn *conn, int err)
{
	struct coll_net *net = conn->net;

	WRITE_ONCE(conn->down, true);
	if (err == -EPROTO)
		coll_fail_report_kind(net->fail, COLLECTIVE_REASON_PROTOCOL, conn->peer,
				      net->id->rank);
}

/**
 * coll_progress_poll_begin() - keep what comes next for a lane until it is asked for
 * @lane: one whose runner we hold
 *
 * Who waits has the time to take it in.  Who sends it is the later one: all wait for him,
 * and his CPU would do that for us before it goes on with his own.
 *
 * Context: may sleep.
 * Return: the connection that it comes on, for coll_progress_poll_end(); or NULL.
 */
struct coll_conn *coll_progress_poll_begin(struct coll_lane *lane)
{
	u32 peer = coll_engine_next_source(&lane->engine);
	struct coll_link *link = peer == COLL_NOBODY ? NULL : coll_link_get(lane->net, peer);
	struct coll_conn *conn = link ? READ_ONCE(link->data[lane->engine.lane]) : NULL;

	if (!conn || conn->down)
		return NULL;
	conn->ep.transport->poll_begin(&conn->ep);
	return conn;
}

/**
 * coll_progress_poll_pending() - must the poll of a connection end?
 * @conn: what that returned
 */
bool coll_progress_poll_pending(const struct coll_conn *conn)
{
	return conn->ep.transport->poll_pending(&conn->ep);
}

/**
 * coll_progress_poll_end() - undo coll_progress_poll_begin()
 * @conn: what that returned; its lane's runner is kicked if anything has come
 *
 * Context: may sleep.
 */
void coll_progress_poll_end(struct coll_conn *conn)
{
	conn->ep.transport->poll_end(&conn->ep);
}

/* Nothing can be sent any more; but what has come counts: it is looked at before that. */
static void progress_tx_failed(struct coll_lane *lane, struct coll_conn *conn)
{
	conn->tx_broken = true;
	set_bit(COLL_EVENT_READABLE, &conn->events);
	coll_runner_kick(&lane->runner);
}

/*
 * Round numbers come with headers on top.  Twice as much may where there are no others; and a
 * whole frame, if nobody else wants the CPU, unless such are reduced here: then what is done
 * is sent on meanwhile.
 */
static u32 progress_budget(const struct coll_lane *lane, const struct coll_conn *conn)
{
	u32 times = 1;

	if (list_is_singular(&lane->conns))
		times = coll_stream_reduced(conn->stream) ||
			!coll_cpu_exclusive(&lane->cpu_user) ? 2 : 4;
	return COLL_RECEIVE_BUDGET * times + 64 * COLL_DATA_SIZE;
}

/* Has it happened since the last time? */
static bool progress_event(struct coll_conn *conn, enum coll_event event)
{
	return test_bit(event, &conn->events) && test_and_clear_bit(event, &conn->events);
}

/* How many bytes were taken. */
static u32 progress_receive(struct coll_lane *lane, struct coll_conn *conn)
{
	u32 budget = progress_budget(lane, conn);
	int n;

	if (conn->down || lane->mismatch_pending || !progress_event(conn, COLL_EVENT_READABLE))
		return 0;
	conn->budget = budget + 64 * COLL_PIECE_COST;
	n = conn->ep.transport->receive(&conn->ep, budget);
	if (n == -EAGAIN && !conn->tx_broken)
		return 0;
	if (n <= 0) {
		coll_progress_conn_down(conn, n);
		return 0;
	}
	if (conn->ep.unacked) {
		lane->ack_pending = true;
		lane->ack_deferred = false;
	}
	/* Anything more will be announced, unless the budget cut it off. */
	if (n >= budget || conn->budget <= 0 || conn->tx_broken)
		set_bit(COLL_EVENT_READABLE, &conn->events);
	return n;
}

/**
 * coll_progress_send_acks() - have acknowledged what has been taken
 * @lane: a lane that runs
 *
 * Context: may sleep.
 */
void coll_progress_send_acks(struct coll_lane *lane)
{
	struct coll_conn *conn;

	list_for_each_entry(conn, &lane->conns, node)
		if (conn->ep.transport)
			conn->ep.transport->send_ack(&conn->ep);
	lane->ack_pending = false;
}

static u32 progress_send_frames(struct coll_lane *lane, struct coll_conn *conn)
{
	struct coll_out out;
	u32 sent = 0, cost = 0;

	/* COLL_DATA_FULL, and so many calls as cost that. */
	while (coll_stream_next(conn->stream, &out)) {
		const struct coll_transport *transport = conn->ep.transport;
		u32 borrowed = 0;
		int n;

		n = transport->send_frame(&conn->ep, &out, &borrowed);
		if (n == -EAGAIN) {
			conn->tx_blocked = true;
			return sent;
		}
		if (n <= 0) {
			progress_tx_failed(lane, conn);
			return sent;
		}
		coll_stream_sent(conn->stream, n);
		lane->zerocopy_bytes += borrowed;
		sent += n;
		cost += max_t(u32, n, COLL_SEND_COST);
		if (cost >= COLL_DATA_FULL)
			return sent;
	}
	conn->tx_wanted = false;
	return sent;
}

/* How many bytes were sent. */
static u32 progress_send(struct coll_lane *lane, struct coll_conn *conn)
{
	if (progress_event(conn, COLL_EVENT_WRITABLE))
		conn->tx_blocked = false;
	if (conn->down || conn->tx_broken || conn->tx_blocked || !conn->tx_wanted)
		return 0;
	return progress_send_frames(lane, conn);
}

/**
 * coll_progress_send_submitted() - send what was just submitted, before what has come is looked at
 * @lane: a lane that runs; others wait for it
 */
void coll_progress_send_submitted(struct coll_lane *lane)
{
	struct coll_conn *conn;

	list_for_each_entry(conn, &lane->conns, node)
		progress_send(lane, conn);
}

/**
 * coll_progress_update_leases() - time has passed, which matters where somebody has lent us bytes
 * @lane: a lane that runs
 */
void coll_progress_update_leases(struct coll_lane *lane)
{
	if (!list_empty(&lane->engine.leased))
		coll_engine_tick(&lane->engine, ktime_get_ns());
}

/* Nothing more is taken for now: what has been can be forwarded. */
static void progress_end_receive(struct coll_lane *lane, struct coll_conn *conn)
{
	coll_progress_update_leases(lane);
	coll_stream_pause(conn->stream);
}

/* What can be received, sent, and when that is nothing, copied: about how many bytes were. */
static u64 progress_round(struct coll_lane *lane)
{
	struct coll_conn *conn;
	u64 moved = 0;

	/* A connection a rank, each with a budget. */
	list_for_each_entry(conn, &lane->conns, node) {
		u32 taken = progress_receive(lane, conn);

		if (taken)
			progress_end_receive(lane, conn);
		moved += taken + progress_send(lane, conn);
		moved += coll_engine_deliver_some(&lane->engine, COLL_RECEIVE_BUDGET);
		cond_resched();
	}
	moved += coll_engine_deliver_some(&lane->engine, COLL_RECEIVE_BUDGET);
	if (!moved && coll_engine_copy(&lane->engine, COLL_RECEIVE_BUDGET))
		moved = COLL_RECEIVE_BUDGET;
	return moved;
}

/**
 * coll_lane_progress() - move as much as is one run's
 * @lane: a lane that runs
 *
 * Where ranks share a CPU a run of one ends sooner: what another is about to send may be all
 * that the next CPU waits for.
 *
 * Return: false when there is no more.
 */
bool coll_lane_progress(struct coll_lane *lane)
{
	u64 left = coll_cpu_exclusive(&lane->cpu_user) ? U64_MAX : COLL_RECEIVE_BUDGET;
	u64 moved;
	int turn;

	for (turn = 0; turn < COLL_TURNS; turn++) {
		/* An operation that does not match fails before there is more of it. */
		if (lane->mismatch_pending)
			return true;
		moved = progress_round(lane);
		if (!moved)
			return false;
		if (moved >= left)
			return true;
		left -= moved;
	}
	return true;
}
