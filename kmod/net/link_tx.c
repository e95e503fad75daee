// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sending on a link: any context queues control frames in a ring, the control runner sends them.
 */
#include "core/engine/instance.h"
#include "fail/member_state.h"
#include "limits.h"
#include "net/conn.h"
#include "net/link.h"
#include "net/net.h"
#include "trace/recorder.h"

/* Bytes sent on a link before others have their turn. */
#define LINK_SEND_MAX	(512 * 1024)

/* Queue a frame; the ring is locked. */
static void link_queue(struct coll_link *link, const struct coll_control *control)
{
	u8 frame[COLL_CONTROL_SIZE];

	coll_wire_put_control(frame, control, link->net->id->incarnation);
	if (!coll_tx_ring_put(&link->tx_ring, frame))
		WRITE_ONCE(link->tx_overflow, true);
	if (coll_tx_ring_is_low(&link->tx_ring))
		WRITE_ONCE(link->net->tx_low, true);
}

/**
 * coll_link_queue_frame() - queue a control frame
 * @link: of the peer
 * @control: the frame
 *
 * The caller ensures that the control runner runs afterwards.
 *
 * Context: any but interrupts.
 */
void coll_link_queue_frame(struct coll_link *link, const struct coll_control *control)
{
	spin_lock(&link->tx_ring.lock);
	link_queue(link, control);
	spin_unlock(&link->tx_ring.lock);
	WRITE_ONCE(link->net->tx_pending, true);
}

/**
 * coll_link_queue_spare() - queue a frame that may be lost, if the link has little to send
 * @link: of the peer
 * @control: the frame, of a query
 *
 * Context: control runner.
 * Return: true if the frame is queued; false if it is dropped.
 */
bool coll_link_queue_spare(struct coll_link *link, const struct coll_control *control)
{
	u8 frame[COLL_CONTROL_SIZE];
	bool queued;

	coll_wire_put_control(frame, control, link->net->id->incarnation);
	spin_lock(&link->tx_ring.lock);
	queued = coll_tx_ring_put_spare(&link->tx_ring, frame);
	spin_unlock(&link->tx_ring.lock);
	if (queued)
		WRITE_ONCE(link->net->tx_pending, true);
	return queued;
}

/* The calls of a mismatch, as far as they are known. */
static void link_queue_calls(struct coll_link *link, u64 instance,
			     const struct coll_rank_call *calls)
{
	u8 i;

	for (i = 0; i < 2; i++)
		if (calls[i].rank != COLLECTIVE_RANK_NONE)
			link_queue(link, &(struct coll_control) {
				.kind = COLL_CONTROL_MISMATCH_CALL,
				.lane = i,
				.instance = instance,
				.position = calls[i].rank,
				.signature = calls[i].signature,
			});
}

/**
 * coll_link_queue_failure() - queue the ABORT of an operation, after the calls of a mismatch
 * @link: of the peer
 * @instance: of the operation
 * @failure: why it fails
 *
 * No frame of another failure comes between these: the receiver keeps the calls of one instance
 * until its ABORT.
 *
 * Context: any but interrupts.
 */
void coll_link_queue_failure(struct coll_link *link, u64 instance,
			     const struct coll_failure *failure)
{
	spin_lock(&link->tx_ring.lock);
	if (failure->reason.kind == COLLECTIVE_REASON_MISMATCH)
		link_queue_calls(link, instance, failure->calls);
	link_queue(link, &(struct coll_control) {
		.kind = COLL_CONTROL_ABORT,
		.instance = instance,
		.reason = failure->reason,
	});
	spin_unlock(&link->tx_ring.lock);
	WRITE_ONCE(link->net->tx_pending, true);
}

/**
 * coll_link_send() - send queued control frames
 * @link: its control connection is open
 *
 * Context: control runner.
 */
void coll_link_send(struct coll_link *link)
{
	struct coll_conn *conn = link->control;
	u32 done = 0;

	if (test_and_clear_bit(COLL_EVENT_WRITABLE, &conn->events))
		conn->tx_blocked = false;
	/* Frames that are queued meanwhile may wait for another run. */
	while (!conn->tx_blocked && done < LINK_SEND_MAX) {
		u32 len;
		const u8 *bytes = coll_tx_ring_begin_send(&link->tx_ring, &len);
		int ret;

		if (!len)
			return;
		ret = conn->ep.transport->send(&conn->ep, bytes, len);
		coll_tx_ring_end_send(&link->tx_ring, max(ret, 0));
		if (ret == -EAGAIN)
			conn->tx_blocked = true;
		if (ret <= 0)
			return;
		done += ret;
	}
}
