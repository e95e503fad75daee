// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sending on a link: any context queues control frames in a ring, the control runner sends them.
 */
#include "core/engine/instance.h"
#include "core/query/query.h"
#include "fail/failure.h"
#include "limits.h"
#include "net/conn.h"
#include "net/link.h"
#include "net/net.h"
#include "trace/recorder.h"

/* Queue a frame; @out_lock is held. */
static void link_queue(struct coll_link *link, const struct coll_control *control)
{
	u32 at = link->tx_head & (link->tx_size - 1);
	u32 n = min_t(u32, COLL_CONTROL_SIZE, link->tx_size - at);
	u8 frame[COLL_CONTROL_SIZE];

	lockdep_assert_held(&link->out_lock);
	if (link->tx_head - link->tx_tail > link->tx_size - COLL_CONTROL_SIZE) {
		WRITE_ONCE(link->tx_overflow, true);
		return;
	}
	coll_wire_put_control(frame, control, link->net->id->incarnation);
	memcpy(link->tx_ring + at, frame, n);
	memcpy(link->tx_ring, frame + n, COLL_CONTROL_SIZE - n);
	link->tx_head += COLL_CONTROL_SIZE;
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
	spin_lock(&link->out_lock);
	link_queue(link, control);
	spin_unlock(&link->out_lock);
	WRITE_ONCE(link->net->tx_pending, true);
}

/**
 * coll_link_has_space() - may frames be queued that the protocol does not need?
 * @link: of the peer
 *
 * Return: true if half of the ring is free.
 */
bool coll_link_has_space(struct coll_link *link)
{
	bool space;

	spin_lock(&link->out_lock);
	space = link->tx_head - link->tx_tail <= link->tx_size / 2;
	spin_unlock(&link->out_lock);
	return space;
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
	u32 most = coll_query_space(link->net->id->nranks) - COLL_CONTROL_SIZE;
	bool space;

	spin_lock(&link->out_lock);
	space = link->tx_head - link->tx_tail <= most;
	if (space)
		link_queue(link, control);
	spin_unlock(&link->out_lock);
	if (space)
		WRITE_ONCE(link->net->tx_pending, true);
	return space;
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
	spin_lock(&link->out_lock);
	if (failure->reason.kind == COLLECTIVE_REASON_MISMATCH)
		link_queue_calls(link, instance, failure->calls);
	link_queue(link, &(struct coll_control) {
		.kind = COLL_CONTROL_ABORT,
		.instance = instance,
		.reason = failure->reason,
	});
	spin_unlock(&link->out_lock);
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
	while (!conn->tx_blocked && done < link->tx_size) {
		u32 at = link->tx_tail & (link->tx_size - 1);
		u32 left, n;
		int ret;

		spin_lock(&link->out_lock);
		left = link->tx_head - link->tx_tail;
		spin_unlock(&link->out_lock);
		if (!left)
			return;
		n = min(left, link->tx_size - at);
		ret = conn->ep.transport->send(&conn->ep, link->tx_ring + at, n);
		if (ret == -EAGAIN)
			conn->tx_blocked = true;
		if (ret <= 0)
			return;
		spin_lock(&link->out_lock);
		link->tx_tail += ret;
		spin_unlock(&link->out_lock);
		done += ret;
	}
}
