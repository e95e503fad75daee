// SPDX-License-Identifier: GPL-2.0-only
/*
 * Heartbeats of a link: PING and lease, silence of the peer, and the end of its connections.
 */
#include <linux/minmax.h>

#include "core/engine/instance.h"
#include "fail/failure.h"
#include "limits.h"
#include "net/conn.h"
#include "net/link.h"
#include "net/net.h"
#include "trace/recorder.h"

/*
 * A data connection that is down says nothing about the reason.  The control connection has two
 * heartbeats to tell it.
 */
static bool data_down(struct coll_link *link)
{
	u32 i;

	for (i = 0; i < link->net->id->nlanes; i++)
		if (link->data[i] && READ_ONCE(link->data[i]->down))
			return ++link->down_heartbeats > 2;
	return false;
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
	link->submitted_told = link->net->ops->to_submit(link->net, link->peer);
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
	if (link->net->ops->to_submit(link->net, link->peer) != link->submitted_told)
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
	u32 low = min(link->peer, net->id->rank), high = max(link->peer, net->id->rank);

	if (READ_ONCE(net->fail->aborted))
		return;
	if (link->peer_left) {
		check_leave(link);
		return;
	}
	if (!link->control || link->control->state != COLL_CONN_OPEN)
		return;
	if (data_down(link))
		coll_fail_report_kind(net->fail, COLLECTIVE_REASON_RESET, low, high);
	else if (link->transport == &coll_local)
		heartbeat_local(link, now);
	/* Heartbeats are counted, because a host that was suspended has missed them as well. */
	else if (++link->missed_heartbeats > COLL_SILENCE_BEATS)
		coll_fail_report_kind(net->fail, COLLECTIVE_REASON_SILENCE, low, high);
	else
		coll_link_ping(link, now);
}
