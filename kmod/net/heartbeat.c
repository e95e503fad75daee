// SPDX-License-Identifier: GPL-2.0-only
/*
 * Heartbeats of a link: PING and lease, outages and silence of the peer, and the end of its
 * connections.
 */
#include <linux/minmax.h>

#include "core/engine/instance.h"
#include "fail/member_state.h"
#include "limits.h"
#include "net/conn.h"
#include "net/link.h"
#include "net/net.h"
#include "trace/recorder.h"

/* Heartbeats of silence by which something has been lost: an answer takes one at most. */
#define LOST_BEATS	2

/*
 * A data connection that is down says nothing about the reason.  The control connection has two
 * heartbeats to tell it.
 */
static bool data_down(struct coll_link *link)
{
	u32 i;

	for (i = 0; i < link->net->id->nlanes; i++)
		if (link->data[i] && coll_conn_is_down(link->data[i]))
			return ++link->down_heartbeats > 2;
	return false;
}

/*
 * Is a data connection silent, although the control connection may not be?  A firewall may have
 * forgotten it, and large packets may not fit the path.
 */
static bool data_silent(struct coll_link *link)
{
	bool silent = false;
	u32 i;

	for (i = 0; i < link->net->id->nlanes; i++) {
		struct coll_conn *conn = link->data[i];
		const struct coll_transport *transport;

		transport = conn ? READ_ONCE(conn->ep.transport) : NULL;
		if (!transport || !transport->acknowledges || transport->acknowledges(&conn->ep))
			link->unanswered_beats[i] = 0;
		else
			silent |= ++link->unanswered_beats[i] > COLL_SILENCE_BEATS;
	}
	return silent;
}

static void resend_conn(struct coll_conn *conn, u32 ms, u32 silent_beats)
{
	const struct coll_transport *transport = conn ? READ_ONCE(conn->ep.transport) : NULL;

	if (transport && transport->resend)
		transport->resend(&conn->ep, ms, silent_beats >= LOST_BEATS);
}

/**
 * coll_link_resend() - have what the peer has not acknowledged sent again soon
 * @link: of the peer
 * @parts: within a heartbeat divided by this
 *
 * Context: control runner.
 */
void coll_link_resend(struct coll_link *link, u32 parts)
{
	u32 ms = link->net->id->heartbeat_ms / parts;
	u32 i;

	resend_conn(link->control, ms, link->missed_heartbeats);
	for (i = 0; i < link->net->id->nlanes; i++)
		resend_conn(link->data[i], ms, link->unanswered_beats[i]);
}

/* The connections end right after LEAVE; if they do not, the peer or its host is dead. */
static void check_leave(struct coll_link *link)
{
	if (link->leave_timed_out || ++link->missed_heartbeats <= COLL_SILENCE_BEATS)
		return;
	WRITE_ONCE(link->leave_timed_out, true);
	link->net->ops->kick_lanes(link->net);
}

/**
 * coll_link_ping() - ask the peer for a PONG, and tell it how far this rank has submitted
 * @link: of the peer
 * @now: ns; comes back in the PONG
 *
 * Context: control runner.
 */
void coll_link_ping(struct coll_link *link, u64 now)
{
	link->submitted_told = link->net->ops->own_count(link->net, link->peer);
	coll_link_queue_frame(link, &(struct coll_control) {
		.kind = COLL_CONTROL_PING,
		.position = now,
		.submitted = link->submitted_told,
	});
}

/*
 * The end of a local peer closes its connections, whatever becomes of its host, and nothing is
 * leased.  So a PING has nothing to say but how far this rank has submitted.
 */
static void heartbeat_local(struct coll_link *link, u64 now)
{
	if (link->net->ops->own_count(link->net, link->peer) != link->submitted_told)
		coll_link_ping(link, now);
}

static void report_link(struct coll_link *link, u32 kind)
{
	u32 peer = link->peer, rank = link->net->id->rank;

	coll_state_fail_kind(link->net->state, kind, min(peer, rank), max(peer, rank));
}

/* Heartbeats are counted, because a host that was suspended has missed them as well. */
static void heartbeat_remote(struct coll_link *link, u64 now)
{
	bool silent = data_silent(link);

	if (++link->missed_heartbeats > COLL_SILENCE_BEATS || silent) {
		report_link(link, COLLECTIVE_REASON_SILENCE);
		return;
	}
	coll_link_resend(link, 4);
	coll_link_ping(link, now);
}

/**
 * coll_link_heartbeat() - one heartbeat interval has passed: ping the peer, or report its silence
 * @link: of the peer
 * @now: ns
 *
 * Context: control runner.
 */
void coll_link_heartbeat(struct coll_link *link, u64 now)
{
	struct coll_net *net = link->net;

	/* A rank that leaves says nothing any more, whatever its LEAVE waits for. */
	if (READ_ONCE(net->state->aborted) || READ_ONCE(net->state->stopped))
		return;
	if (link->peer_left) {
		check_leave(link);
		return;
	}
	if (!link->control || link->control->state != COLL_CONN_OPEN)
		return;
	if (data_down(link))
		report_link(link, COLLECTIVE_REASON_RESET);
	else if (link->transport == &coll_local)
		heartbeat_local(link, now);
	else
		heartbeat_remote(link, now);
}
