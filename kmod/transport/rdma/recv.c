// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receiving: the owner gets the bytes where they are, in the slots, and what messages refer to as
 * reading.c says.
 *
 * The completion queue is looked at whenever the owner asks for bytes, and only if there are none,
 * it is told to cause an event.
 */
#include "transport/rdma/rdma.h"

/* Give back the slots of messages that were consumed, from number @tail on. */
static void repost(struct coll_rdma_conn *conn, u32 tail)
{
	for (; tail != conn->rx_tail; tail++) {
		coll_rdma_repost(conn, conn->rx_ready[tail % COLL_RDMA_READY].slot);
		conn->rx_owed++;
	}
}

static void next_message(struct coll_rdma_conn *conn)
{
	conn->rx_tail++;
	conn->rx_done = 0;
}

/* Hand over bytes of the oldest message.  Return: number of bytes consumed, or -EAGAIN. */
static int hand_over_bytes(struct coll_endpoint *ep, struct coll_rdma_conn *conn, u32 budget,
			   bool *left)
{
	u32 i = conn->rx_tail % COLL_RDMA_READY;
	const u8 *bytes = coll_rdma_slot(&conn->rx_slots, conn->rx_ready[i].slot) +
			  sizeof(struct coll_rdma_head);
	u32 len = conn->rx_ready[i].len - sizeof(struct coll_rdma_head);
	const struct coll_rdma_reference *reference = NULL;
	int n;

	if (conn->rx_ready[i].kind == COLL_RDMA_REFERENCE) {
		reference = (const void *)bytes;
		bytes += sizeof(*reference);
		len -= sizeof(*reference);
	}
	len -= conn->rx_done;
	n = coll_endpoint_recv(ep, bytes + conn->rx_done, min(len, budget));
	*left = n <= 0;
	if (n <= 0)
		return -EAGAIN;
	conn->rx_done += n;
	if (n < len)
		return n;
	if (!reference)
		next_message(conn);
	else if (coll_rdma_read_begin(conn, reference))
		ep->error = -EPROTO;
	return n;
}

/* The same, or bytes that it refers to. */
static int hand_over_some(struct coll_endpoint *ep, struct coll_rdma_conn *conn, u32 budget,
			  bool *left)
{
	int n;

	if (!coll_rdma_reads(conn))
		return hand_over_bytes(ep, conn, budget, left);
	n = coll_rdma_read_some(ep, conn, budget, left);
	if (!n)
		next_message(conn);
	return n;
}

/*
 * Hand bytes over, as long as the owner takes them.  Nothing is posted after recv(), because the
 * owner may have begun an FPU section then.  Return: number of bytes consumed.
 */
static u32 hand_over(struct coll_endpoint *ep, struct coll_rdma_conn *conn, u32 budget, bool *left)
{
	u32 done = 0;
	int n = 0;

	while (n >= 0 && !ep->error && done < budget && conn->rx_tail != conn->rx_head) {
		n = hand_over_some(ep, conn, budget - done, left);
		done += max(n, 0);
	}
	coll_endpoint_recv_idle(ep);
	return done;
}

static u32 receive_some(struct coll_endpoint *ep, struct coll_rdma_conn *conn, u32 budget,
			bool *left)
{
	u32 tail = conn->rx_tail, done;

	if (conn->id)
		coll_rdma_poll(conn);
	done = hand_over(ep, conn, budget, left);
	if (conn->id && !coll_rdma_conn_error(conn)) {
		repost(conn, tail);
		coll_rdma_return_credits(conn);
	}
	return done;
}

static void tell_space(struct coll_endpoint *ep, struct coll_rdma_conn *conn)
{
	if (!conn->tx_waits || !coll_rdma_next_slot(conn, COLL_RDMA_BYTES) ||
	    (conn->tx_waits_ref && !coll_rdma_ref_free(conn)))
		return;
	WRITE_ONCE(conn->tx_waits, false);
	coll_endpoint_event(ep, COLL_EVENT_WRITABLE);
}

/*
 * Receive until there is something, or an event follows.  @err becomes the negative errno of the
 * end, noted before the queue was looked at: all messages before the end were in the queue then.
 *
 * Return: bytes consumed.
 */
static u32 receive_or_wait(struct coll_endpoint *ep, struct coll_rdma_conn *conn, u32 budget,
			   bool *left, int *err)
{
	u32 done;

	do {
		*err = conn->id ? coll_rdma_conn_error(conn) : -ECONNRESET;
		done = receive_some(ep, conn, budget, left);
	} while (!done && !*left && !ep->error && !*err &&
		 (!conn->rx_end || conn->rx_tail != conn->rx_head) &&
		 (coll_rdma_conn_error(conn) || coll_rdma_arm(conn)));
	tell_space(ep, conn);
	coll_rdma_tell_consumed(ep, conn);
	return done;
}

/**
 * coll_rdma_receive() - see struct coll_transport
 * @ep: the endpoint
 * @budget: number of bytes at most
 *
 * Context: may sleep.
 * Return: number of bytes consumed, -EAGAIN, 0 at the end, or a negative errno.
 */
int coll_rdma_receive(struct coll_endpoint *ep, u32 budget)
{
	struct coll_rdma_conn *conn = ep->end;
	bool left = false;
	int n, err;

	mutex_lock(&conn->mutex);
	n = receive_or_wait(ep, conn, budget, &left, &err);
	/* No event was asked for, so there is one. */
	if (n && !left)
		coll_endpoint_event(ep, COLL_EVENT_READABLE);
	/* What was not read when the connection ended never will be. */
	left |= conn->rx_head != conn->rx_tail && !(err && coll_rdma_reads(conn));
	mutex_unlock(&conn->mutex);

	if (ep->error)
		return ep->error;
	if (n || left)
		return n ?: -EAGAIN;
	/* All that was sent has come, so that the failure behind it does not count. */
	if (conn->rx_end)
		return 0;
	return err ?: -EAGAIN;
}

/**
 * coll_rdma_can_defer_rx() - see struct coll_transport
 * @ep: the endpoint
 * @bytes: number of bytes that may wait
 *
 * Messages are not known before they are taken from the completion queue.
 *
 * Return: false.
 */
bool coll_rdma_can_defer_rx(const struct coll_endpoint *ep, u32 bytes)
{
	return false;
}
