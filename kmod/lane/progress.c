// SPDX-License-Identifier: GPL-2.0-only
/*
 * Progress of a lane: bytes between its engine and its connections.
 */
#include <linux/ktime.h>
#include <linux/sched.h>

#include "fail/member_state.h"
#include "lane/lane.h"
#include "lane/progress.h"
#include "lane/growth.h"
#include "net/conn.h"
#include "net/link.h"

/*
 * Bytes received from one connection in a round, under the lock of its socket.  A frame or a short
 * piece of memory counts as COLL_PIECE_COST bytes at least...
 */
#define COLL_RECEIVE_BUDGET	(256 * 1024)
/* ...a call that sends counts as at least so many, as it may have COLL_SEND_PIECES... */
#define COLL_SEND_COST		(8 * 1024U)
/* ...and a run has so many rounds, before other work on this CPU. */
#define COLL_ROUNDS		4

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
	bool reduces;
	int n;

	/* See progress_probe(). */
	conn->wanted |= !conn->stream;
	if (conn->budget <= 0 || !conn->stream)
		return 0;
	reduces = coll_stream_reduces(conn->stream);
	if (reduces) {
		coll_fpu_begin(&lane->fpu);
		len = min(len, COLL_FPU_SECTION_BYTES);
	}
	n = coll_stream_receive(conn->stream, ptr, len);
	if (reduces && n > 0)
		coll_fpu_used(&lane->fpu, conn->stream->rx_cost);
	if (n > 0)
		conn->budget -= conn->stream->rx_cost;
	return n;
}

static void lane_recv_done(struct coll_endpoint *ep)
{
	struct coll_conn *conn = container_of(ep, struct coll_conn, ep);
	struct coll_lane *lane = conn_lane(conn);

	/* A mismatch is reported before more of the payload is received. */
	if (lane->mismatch_pending)
		conn->budget = 0;
	if (conn->stream && coll_stream_whole(conn->stream)) {
		/* The lease is checked against the time at which the payload was read. */
		if (coll_stream_reads_zerocopy(conn->stream))
			lane->engine.now = ktime_get_ns();
		coll_stream_pause(conn->stream);
	}
}

static void lane_recv_revoked(struct coll_endpoint *ep, u32 len)
{
	struct coll_conn *conn = container_of(ep, struct coll_conn, ep);

	coll_stream_revoked(conn->stream, len);
	conn->budget -= conn->stream->rx_cost;
}

static int lane_recv_place(struct coll_endpoint *ep, u32 ahead, struct coll_place *place)
{
	struct coll_conn *conn = container_of(ep, struct coll_conn, ep);

	/* No header has been received. */
	if (!conn->stream)
		return -EPROTO;
	return coll_stream_place(conn->stream, ahead, place);
}

static void lane_recv_placed(struct coll_endpoint *ep, u32 len)
{
	struct coll_conn *conn = container_of(ep, struct coll_conn, ep);

	coll_stream_placed(conn->stream, len);
	conn->budget -= conn->stream->rx_cost;
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
	.recv_done	= lane_recv_done,
	.recv_revoked	= lane_recv_revoked,
	.recv_place	= lane_recv_place,
	.recv_placed	= lane_recv_placed,
	.recv_idle	= lane_recv_idle,
};

/**
 * coll_progress_conn_down() - receive nothing more on a data connection
 * @conn: the connection; its lane runs
 * @err: -EPROTO: the peer broke the protocol, -EDQUOT or -ENOMEM; then the group fails
 */
void coll_progress_conn_down(struct coll_conn *conn, int err)
{
	struct coll_net *net = conn->net;

	coll_conn_set_state(conn, COLL_CONN_DOWN);
	/* A heartbeat reports it, also if the member rests. */
	spin_lock(&net->state->lock);
	coll_net_resume(net);
	spin_unlock(&net->state->lock);
	if (err == -EPROTO)
		coll_state_fail_kind(net->state, COLLECTIVE_REASON_PROTOCOL, conn->peer,
				     net->id->rank);
	else if (err == -ENOMEM || err == -EDQUOT)
		coll_state_fail_kind(net->state, COLLECTIVE_REASON_RESOURCES, net->id->rank,
				     COLLECTIVE_RANK_NONE);
}

/* Nothing can be sent any more.  Data that has come still counts, and is received first. */
static void progress_tx_failed(struct coll_lane *lane, struct coll_conn *conn)
{
	coll_conn_set_state(conn, COLL_CONN_BROKEN);
	set_bit(COLL_EVENT_READABLE, &conn->events);
	coll_runner_kick(&lane->runner);
}

/*
 * Bytes to receive in a round, with space for headers.  Twice as many if there is one connection
 * only.  Four times, a whole frame, if in addition no other process has lanes on this CPU and the
 * frame is not reduced: a reduced part can be forwarded meanwhile.
 */
static u32 progress_budget(const struct coll_lane *lane, const struct coll_conn *conn)
{
	u32 times = 1;

	if (list_is_singular(&lane->conns))
		times = coll_stream_reduced(conn->stream) ||
			!coll_cpu_exclusive(&lane->cpu_user) ? 2 : 4;
	return COLL_RECEIVE_BUDGET * times + 64 * COLL_DATA_SIZE;
}

/* Has the event come since the last call? */
static bool progress_event(struct coll_conn *conn, enum coll_event event)
{
	return test_bit(event, &conn->events) && test_and_clear_bit(event, &conn->events);
}

/*
 * What the peer has consumed of what was sent by reference.  If it has ended, nothing follows; so
 * this is read before the connection is down, and an operation that the peer has completed is not
 * taken for one that needs it.
 */
static void progress_consumed(struct coll_conn *conn)
{
	const struct coll_transport *transport = conn->ep.transport;

	if (!transport || !conn->stream || !conn->stream->by_reference)
		return;
	if (coll_stream_consumed(conn->stream, transport->consumed(&conn->ep)))
		coll_progress_conn_down(conn, -EPROTO);
}

/* Make the stream of a connection that is to carry payload.  Return: false if there is none. */
static bool progress_use(struct coll_lane *lane, struct coll_conn *conn)
{
	int err;

	if (conn->stream)
		return true;
	if (!conn->wanted)
		return false;
	err = coll_lane_use_conn(lane, conn);
	if (err)
		coll_progress_conn_down(conn, err);
	return !err;
}

/* An event of a connection that was not used: have bytes come, or has it ended? */
static void progress_probe(struct coll_conn *conn)
{
	int n;

	if (!test_bit(COLL_EVENT_READABLE, &conn->events) || conn->wanted)
		return;
	clear_bit(COLL_EVENT_READABLE, &conn->events);
	/* After the event is cleared. */
	smp_mb__after_atomic();
	conn->budget = COLL_DATA_SIZE;
	n = conn->ep.transport->receive(&conn->ep, COLL_DATA_SIZE);
	if (conn->wanted)
		set_bit(COLL_EVENT_READABLE, &conn->events);
	else if (n != -EAGAIN)
		coll_progress_conn_down(conn, n);
}

/* Return: bytes received. */
static u32 progress_receive(struct coll_lane *lane, struct coll_conn *conn)
{
	u32 budget;
	int n;

	if (coll_conn_is_down(conn) || lane->mismatch_pending)
		return 0;
	if (!conn->stream)
		progress_probe(conn);
	if (!progress_use(lane, conn) || !progress_event(conn, COLL_EVENT_READABLE))
		return 0;
	budget = progress_budget(lane, conn);
	conn->budget = budget + 64 * COLL_PIECE_COST;
	n = conn->ep.transport->receive(&conn->ep, budget);
	if (n == -EAGAIN && conn->state != COLL_CONN_BROKEN)
		return 0;
	if (n <= 0) {
		progress_consumed(conn);
		coll_progress_conn_down(conn, n);
		return 0;
	}
	/* More data brings another event, unless the budget has cut it off. */
	if (n >= budget || conn->budget <= 0 || conn->state == COLL_CONN_BROKEN)
		set_bit(COLL_EVENT_READABLE, &conn->events);
	return n;
}

static u32 progress_send_frames(struct coll_lane *lane, struct coll_conn *conn)
{
	struct coll_out out;
	u32 sent = 0, cost = 0;

	/* Bounded by COLL_DATA_MAX, in bytes and in calls. */
	while (coll_stream_next(conn->stream, &out)) {
		const struct coll_transport *transport = conn->ep.transport;
		u32 zerocopy = 0;
		int n;

		n = transport->send_frame(&conn->ep, &out, &zerocopy);
		if (n == -EAGAIN) {
			conn->tx_blocked = true;
			return sent;
		}
		if (n <= 0) {
			progress_tx_failed(lane, conn);
			return sent;
		}
		coll_stream_sent(conn->stream, n);
		lane->zerocopy_bytes += zerocopy;
		sent += n;
		cost += max_t(u32, n, COLL_SEND_COST);
		if (cost >= COLL_DATA_MAX)
			return sent;
	}
	conn->tx_wanted = false;
	return sent;
}

/* Return: bytes sent. */
static u32 progress_send(struct coll_lane *lane, struct coll_conn *conn)
{
	if (progress_event(conn, COLL_EVENT_WRITABLE)) {
		conn->tx_blocked = false;
		progress_consumed(conn);
	}
	if (conn->state != COLL_CONN_OPEN)
		return 0;
	if (!progress_use(lane, conn) || conn->tx_blocked || !conn->tx_wanted)
		return 0;
	return progress_send_frames(lane, conn);
}

/**
 * coll_progress_send_submitted() - send eager frames of new tasks before anything is received
 * @lane: a lane that runs; other ranks wait for these frames
 */
void coll_progress_send_submitted(struct coll_lane *lane)
{
	struct coll_conn *conn;

	list_for_each_entry(conn, &lane->conns, node)
		progress_send(lane, conn);
}

/**
 * coll_progress_update_leases() - tell the engine the time, if it reads by zero copy
 * @lane: a lane that runs
 */
void coll_progress_update_leases(struct coll_lane *lane)
{
	if (!list_empty(&lane->engine.leased))
		coll_engine_tick(&lane->engine, ktime_get_ns());
}

/* The received part of a frame can be forwarded from here on. */
static void progress_end_receive(struct coll_lane *lane, struct coll_conn *conn)
{
	coll_progress_update_leases(lane);
	coll_stream_pause(conn->stream);
}

/*
 * Receives and sends, and copies if neither moved anything.  What a peer has consumed can make
 * bytes ready for a connection whose turn is over, so nothing is left only if no stream was kicked.
 *
 * Return: about how many bytes, at least 1 if there is more to do.
 */
static u64 progress_round(struct coll_lane *lane)
{
	struct coll_conn *conn;
	u64 moved = 0;

	lane->kicked = false;
	/* At most one connection per rank, each with a budget. */
	list_for_each_entry(conn, &lane->conns, node) {
		u32 taken = progress_receive(lane, conn);

		if (taken)
			progress_end_receive(lane, conn);
		moved += taken + progress_send(lane, conn);
		moved += coll_engine_deliver_some(&lane->engine, COLL_RECEIVE_BUDGET);
		cond_resched();
	}
	moved += coll_engine_deliver_some(&lane->engine, COLL_RECEIVE_BUDGET);
	moved += coll_engine_board(&lane->engine);
	if (!moved && coll_engine_move(&lane->engine, COLL_RECEIVE_BUDGET))
		moved = COLL_RECEIVE_BUDGET;
	return moved ?: lane->kicked;
}

/**
 * coll_lane_progress() - move bytes, within the bounds of one run
 * @lane: a lane that runs
 *
 * Where processes share a CPU a run ends sooner, because other CPUs may wait for what another rank
 * of this one is about to send.
 *
 * Return: false if nothing more can be moved now.
 */
bool coll_lane_progress(struct coll_lane *lane)
{
	u64 left = coll_cpu_exclusive(&lane->cpu_user) ? U64_MAX : COLL_RECEIVE_BUDGET;
	u64 moved;
	int round;

	for (round = 0; round < COLL_ROUNDS; round++) {
		/* A mismatch is reported before more of the operation is moved. */
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
