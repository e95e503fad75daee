// SPDX-License-Identifier: GPL-2.0-only
/* Sending: bytes are copied into the slots of messages, unless the peer reads them. */
#include <linux/minmax.h>
#include <linux/string.h>

#include "transport/rdma/rdma.h"

static void copy_payload(u8 *to, const struct coll_out *out, u64 off, u32 len)
{
	while (len) {
		size_t n;
		const void *from = out->mem->at(out->mem, off, &n);

		n = min_t(size_t, n, len);
		memcpy(to, from, n);
		to += n;
		off += n;
		len -= n;
	}
}

/* Copy bytes of a frame from its byte @at on.  Return: how many, at most @space. */
static u32 copy_frame(u8 *to, u32 space, const struct coll_out *out, u32 at)
{
	u32 head = out->ptr ? out->len : 0;
	u32 payload = out->ptr ? out->more : out->len;
	u32 done = 0, n;

	if (at < head) {
		done = min(head - at, space);
		memcpy(to, out->ptr + at, done);
		at += done;
	}
	n = min(head + payload - at, space - done);
	if (n)
		copy_payload(to + done, out, out->off + at - head, n);
	return done + n;
}

/**
 * coll_rdma_send_some() - send as much of a frame as there are slots and credits for
 * @conn: the connection, locked; not released
 * @out: the frame
 *
 * Return: number of bytes sent, -EAGAIN, or another negative errno.
 */
int coll_rdma_send_some(struct coll_rdma_conn *conn, const struct coll_out *out)
{
	u32 len = out->len + (out->ptr ? out->more : 0), done = 0;
	int err = coll_rdma_conn_error(conn);

	while (!err && done < len) {
		u8 *slot = coll_rdma_next_slot(conn, COLL_RDMA_BYTES);
		u32 n;

		if (!slot)
			break;
		n = copy_frame(slot, conn->tx_slot - sizeof(struct coll_rdma_head), out, done);
		err = coll_rdma_post(conn, COLL_RDMA_BYTES, n);
		if (!err)
			done += n;
	}
	return done ?: err ?: -EAGAIN;
}

/* Return: as coll_rdma_send_some(); *@referred becomes the number of bytes that the peer reads. */
static int send_now(struct coll_endpoint *ep, struct coll_rdma_conn *conn,
		    const struct coll_out *out, u32 *referred)
{
	int n = -EOPNOTSUPP;

	*referred = 0;
	conn->tx_waits_ref = coll_rdma_refers(conn, out);
	if (conn->tx_waits_ref)
		n = coll_rdma_refer(ep, conn, out);
	if (n > 0)
		*referred = out->more;
	if (n != -EOPNOTSUPP)
		return n;
	conn->tx_waits_ref = false;
	n = coll_rdma_send_some(conn, out);
	if (n > 0)
		coll_rdma_copied(conn, out, n);
	return n;
}

/* Send, or have an event when there is space.  Return: as send_now(). */
static int send_or_wait(struct coll_endpoint *ep, struct coll_rdma_conn *conn,
			const struct coll_out *out, u32 *referred)
{
	int n = send_now(ep, conn, out, referred);

	while (n == -EAGAIN) {
		if (!coll_rdma_poll(conn)) {
			WRITE_ONCE(conn->tx_waits, true);
			if (!coll_rdma_arm(conn))
				return n;
		}
		n = send_now(ep, conn, out, referred);
	}
	WRITE_ONCE(conn->tx_waits, false);
	return n;
}

/* What was taken from the device in search of space is not announced again. */
static bool conn_has_received(const struct coll_rdma_conn *conn)
{
	return conn->rx_head != conn->rx_tail || conn->rx_end;
}

static int conn_send(struct coll_endpoint *ep, const struct coll_out *out, u32 *referred)
{
	struct coll_rdma_conn *conn = ep->end;
	int n = -ECONNRESET;

	mutex_lock(&conn->mutex);
	if (conn->id) {
		n = send_or_wait(ep, conn, out, referred);
		if (conn_has_received(conn))
			coll_endpoint_event(ep, COLL_EVENT_READABLE);
		coll_rdma_tell_consumed(ep, conn);
	}
	mutex_unlock(&conn->mutex);
	return n;
}

/**
 * coll_rdma_send() - see struct coll_transport
 * @ep: the endpoint
 * @ptr: bytes to copy
 * @len: number of bytes
 *
 * Context: may sleep.
 * Return: number of bytes sent, or a negative errno.
 */
int coll_rdma_send(struct coll_endpoint *ep, const void *ptr, u32 len)
{
	u32 referred;

	return conn_send(ep, &(struct coll_out){ .ptr = ptr, .len = len, .copy = true },
			 &referred);
}

/**
 * coll_rdma_send_frame() - see struct coll_transport
 * @ep: the endpoint
 * @out: bytes to send
 * @zerocopy_bytes: out: number of payload bytes that the peer reads
 *
 * Context: may sleep.
 * Return: number of bytes sent, or a negative errno.
 */
int coll_rdma_send_frame(struct coll_endpoint *ep, const struct coll_out *out,
			 u32 *zerocopy_bytes)
{
	return conn_send(ep, out, zerocopy_bytes);
}
