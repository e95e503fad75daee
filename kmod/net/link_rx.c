// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receiving on a link: each control frame is checked, and handed to the room it concerns.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/sort.h>

#include "core/engine/instance.h"
#include "fail/member_state.h"
#include "limits.h"
#include "net/conn.h"
#include "net/link.h"
#include "net/net.h"
#include "net/query_links.h"
#include "trace/recorder.h"

/* Bytes taken from a control connection before others have their turn. */
#define COLL_CONTROL_BUDGET	(64 * 1024)

/* MISMATCH_CALL: the calls of two ranks, which come ahead of the ABORT of their mismatch. */
static int receive_calls(struct coll_link *link, const struct coll_control *control)
{
	if (control->position >= link->net->id->nranks)
		return -EPROTO;
	if (link->calls_instance != control->instance + 1) {
		link->calls_instance = control->instance + 1;
		link->calls[0].rank = COLLECTIVE_RANK_NONE;
		link->calls[1].rank = COLLECTIVE_RANK_NONE;
	}
	link->calls[control->lane] = (struct coll_rank_call){
		.rank = control->position,
		.signature = control->signature,
	};
	return 0;
}

static int receive_flow(struct coll_link *link, const struct coll_control *control)
{
	struct coll_net *net = link->net;
	int err;

	if (control->lane >= net->id->nlanes)
		return -EPROTO;
	err = coll_mailbox_put(&link->mailboxes[control->lane], control);
	net->ops->kick_lane(net, control->lane);
	return err;
}

static int receive_ping(struct coll_link *link, const struct coll_control *control)
{
	struct coll_net *net = link->net;

	net->ops->count_received(net, link->peer, control->submitted);
	/* The path works again if it did not; and a rank that rests has no heartbeat. */
	link->resend_due = true;
	coll_link_queue_frame(link, &(struct coll_control) {
		.kind = COLL_CONTROL_PONG,
		.position = control->position,
		.submitted = net->ops->own_count(net, link->peer),
	});
	return 0;
}

static int compare_us(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return (x > y) - (x < y);
}

/**
 * coll_link_rtt_us() - the time that the way to the peer and back takes
 * @link: of the peer
 *
 * Return: the lower median of the latest times, because some may be those of a busy CPU or of an
 *	empty queue; 0: there were not %COLL_LINK_RTTS yet.
 */
u32 coll_link_rtt_us(const struct coll_link *link)
{
	u32 us[COLL_LINK_RTTS], i;

	for (i = 0; i < COLL_LINK_RTTS; i++)
		us[i] = READ_ONCE(link->rtt_us[i]);
	sort(us, COLL_LINK_RTTS, sizeof(*us), compare_us, NULL);
	return us[0] ? us[(COLL_LINK_RTTS - 1) / 2] : 0;
}

static void measure_rtt(struct coll_link *link, u64 ns)
{
	u32 us = clamp_t(u64, div_u64(ns, NSEC_PER_USEC), 1, U32_MAX);

	WRITE_ONCE(link->rtt_us[link->next_rtt++ % COLL_LINK_RTTS], us);
}

static int receive_pong(struct coll_link *link, const struct coll_control *control)
{
	u64 now = ktime_get_ns(), lease;
	struct coll_net *net = link->net;
	bool ended = link->lease <= now;

	if (control->position > now)
		return -EPROTO;
	measure_rtt(link, now - control->position);
	net->ops->count_received(net, link->peer, control->submitted);
	/* The lease begins when the PING was sent, because the peer cannot count from earlier. */
	lease = control->position + coll_state_heartbeats_ns(net->state, COLL_LEASE_BEATS);
	WRITE_ONCE(link->lease, max(link->lease, lease));
	/* Payload may wait for the lease: it ends while the member rests. */
	if (ended)
		net->ops->kick_lanes(net);
	return 0;
}

/* A reason names ranks of the group, or none. */
static bool rank_valid(const struct coll_link *link, u32 rank)
{
	return rank < link->net->id->nranks || rank == COLLECTIVE_RANK_NONE;
}

static void receive_op_abort(struct coll_link *link, const struct coll_control *control,
			     const struct coll_reason *reason)
{
	struct coll_failure failure = {
		.reason = *reason,
		.calls = {
			{ .rank = COLLECTIVE_RANK_NONE },
			{ .rank = COLLECTIVE_RANK_NONE },
		},
	};

	if (link->calls_instance == control->instance + 1)
		memcpy(failure.calls, link->calls, sizeof(failure.calls));
	link->calls_instance = 0;
	link->net->ops->abort(link->net, control, &failure);
}

static int receive_abort(struct coll_link *link, const struct coll_control *control)
{
	struct coll_reason reason = control->reason;
	struct coll_net *net = link->net;
	u64 instance = control->instance;

	if (!rank_valid(link, reason.rank_a) || !rank_valid(link, reason.rank_b))
		return -EPROTO;
	reason.error = -coll_reason_error_told(&reason);
	if (instance == COLL_INSTANCE_GROUP) {
		WRITE_ONCE(link->peer_fenced, true);
		coll_state_fail(net->state, &reason);
		return 0;
	}
	if (instance & COLL_INSTANCE_P2P &&
	    !coll_instance_is_between(instance, link->peer, net->id->rank))
		return -EPROTO;
	receive_op_abort(link, control, &reason);
	return 0;
}

static int receive_leave(struct coll_link *link)
{
	struct coll_net *net = link->net;

	set_bit(link->peer, net->state->peers_left);
	/* After the mailbox writes of earlier frames: pairs with lane_iterate(). */
	smp_store_release(&link->peer_left, true);
	coll_record_link(&net->state->trace, link->peer, COLL_LINK_LEFT, 0);
	net->ops->peer_left(net);
	coll_state_peer_left(net->state);
	return 0;
}

static int link_receive_frame(struct coll_link *link, const struct coll_control *control)
{
	link->missed_heartbeats = 0;
	switch (control->kind) {
	case COLL_CONTROL_ANNOUNCE:
		return link->net->ops->announce(link->net, link->peer, control);
	case COLL_CONTROL_MISMATCH_CALL:
		return receive_calls(link, control);
	case COLL_CONTROL_GRANT:
	case COLL_CONTROL_CREDIT:
	case COLL_CONTROL_CONSUMED:
	case COLL_CONTROL_BLOCKED:
		return receive_flow(link, control);
	case COLL_CONTROL_PING:
		return receive_ping(link, control);
	case COLL_CONTROL_PONG:
		return receive_pong(link, control);
	case COLL_CONTROL_ABORT:
		return receive_abort(link, control);
	case COLL_CONTROL_LEAVE:
		return receive_leave(link);
	case COLL_CONTROL_QUERY:
		return coll_query_receive(link, &control->query);
	case COLL_CONTROL_ANSWER:
		return coll_query_receive_answer(link, &control->answer);
	}
	return -EPROTO;
}

/* Collects one frame, however its bytes arrive. */
static int link_recv(struct coll_endpoint *ep, const void *ptr, u32 len)
{
	struct coll_conn *conn = container_of(ep, struct coll_conn, ep);
	u32 n = min_t(u32, len, COLL_CONTROL_SIZE - conn->rx_len);
	struct coll_control control;
	int err;

	if (conn->link->rx_paused)
		return 0;
	memcpy(conn->frame + conn->rx_len, ptr, n);
	conn->rx_len += n;
	if (conn->rx_len < COLL_CONTROL_SIZE)
		return n;
	conn->rx_len = 0;
	err = coll_wire_get_control(conn->frame, &control, conn->net->id->incarnation);
	if (!err)
		err = link_receive_frame(conn->link, &control);
	conn->link->rx_paused = READ_ONCE(conn->net->tx_low);
	return err ? err : n;
}

static void link_event(struct coll_endpoint *ep, enum coll_event event)
{
	struct coll_conn *conn = container_of(ep, struct coll_conn, ep);

	set_bit(event, &conn->events);
	coll_runner_kick(conn->net->control);
}

/* Of a control connection that is open. */
const struct coll_endpoint_ops coll_link_endpoint_ops = {
	.event		= link_event,
	.recv		= link_recv,
};

/* The control connection has ended, so no more frames can come. */
static void link_down(struct coll_link *link, int err)
{
	/* The peer has sent LEAVE, or the reason of its failure. */
	bool expected = link->peer_left || link->peer_fenced;
	struct coll_net *net = link->net;
	u32 rank = net->id->rank;

	coll_conn_set_state(link->control, COLL_CONN_DOWN);
	coll_record_link(&net->state->trace, link->peer, COLL_LINK_DOWN, err);
	/* An end in order comes after all that the peer could complete. */
	if (!err)
		WRITE_ONCE(link->peer_fenced, true);

	if (err == -EPROTO)
		coll_state_fail_kind(net->state, COLLECTIVE_REASON_PROTOCOL, link->peer, rank);
	else if (err == -ENOMEM || err == -EDQUOT)
		coll_state_fail_kind(net->state, COLLECTIVE_REASON_RESOURCES, rank,
				     COLLECTIVE_RANK_NONE);
	else if (!expected)
		coll_state_fail_kind(net->state, COLLECTIVE_REASON_RESET, min(link->peer, rank),
				     max(link->peer, rank));
	net->ops->kick_lanes(net);
}

/**
 * coll_link_receive() - receive control frames
 * @link: its control connection is open
 *
 * Context: control runner.
 */
void coll_link_receive(struct coll_link *link)
{
	struct coll_conn *conn = link->control;
	int n;

	if (!test_and_clear_bit(COLL_EVENT_READABLE, &conn->events))
		return;
	coll_net_make_space(link->net);
	link->rx_paused = false;
	n = conn->ep.transport->receive(&conn->ep, COLL_CONTROL_BUDGET);
	/* Not in receive(), which holds the lock of the socket. */
	if (link->resend_due) {
		link->resend_due = false;
		coll_link_resend(link, 16);
	}
	if (n >= COLL_CONTROL_BUDGET || link->rx_paused) {
		/* More may have come; the other links are run first. */
		set_bit(COLL_EVENT_READABLE, &conn->events);
		WRITE_ONCE(link->net->tx_pending, true);
	}
	if (n <= 0 && n != -EAGAIN)
		link_down(link, n);
}
