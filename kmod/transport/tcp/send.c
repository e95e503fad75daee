// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sending to a TCP socket, payload from the memory that it lies in (zerocopy.c).
 *
 * On one host, packets are received in the context of the sender: after each of them, or, while
 * bottom halves are disabled, after the batch.  Long messages are sent in batches, because fewer
 * changes between sending and receiving cost less.
 */
#include <linux/bvec.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/uio.h>
#include <net/rps.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "transport/tcp/tcp.h"

/*
 * Bytes of the first batch: about one packet, because the receiver may be waiting for it.  Each
 * batch is twice as long as the one before.
 */
#define TCP_BATCH	(64 * 1024U)

/*
 * Segments of at least this size are a sign that the peer is on this host.  They also keep the
 * number of packets in a batch low: after 16 packets TCP would process its backlog and might
 * sleep, which is not allowed with bottom halves disabled.
 */
#define TCP_SEGMENT_LOCAL	(32 * 1024U)

/* Memory must not be waited for with bottom halves disabled: hence GFP_ATOMIC. */
static int send_batch(struct sock *sk, struct msghdr *msg, size_t len)
{
	gfp_t allocation = sk->sk_allocation;
	int n;

	sk->sk_allocation = GFP_ATOMIC | __GFP_NOWARN;
	local_bh_disable();
	n = tcp_sendmsg_locked(sk, msg, len);
	local_bh_enable();
	sk->sk_allocation = allocation;
	return n;
}

/* The first batch is sent with bottom halves enabled, so it may wait for memory. */
static int send_batches(struct sock *sk, struct msghdr *msg, size_t len)
{
	unsigned int flags = msg->msg_flags;
	size_t batch = TCP_BATCH, done = 0, part;
	int n;

	do {
		part = min(batch, len - done);
		iov_iter_truncate(&msg->msg_iter, part);
		msg->msg_flags = done + part < len ? flags | MSG_MORE : flags;
		n = done ? send_batch(sk, msg, part) : tcp_sendmsg_locked(sk, msg, part);
		if (n <= 0)
			break;
		done += n;
		iov_iter_reexpand(&msg->msg_iter, len - done);
		batch *= 2;
	} while (n == part && done < len);
	return done ? done : n;
}

/*
 * Does what sock_sendmsg() does for a connected TCP socket.  The security hook is left out,
 * because the socket belongs to the module; this saves a dozen calls.
 */
static int send_locked(struct sock *sk, struct msghdr *msg, size_t len)
{
	int n;

	sock_rps_record_flow(sk);
	lock_sock(sk);
	if (len > TCP_BATCH && tcp_sk(sk)->mss_cache >= TCP_SEGMENT_LOCAL)
		n = send_batches(sk, msg, len);
	else
		n = tcp_sendmsg_locked(sk, msg, len);
	release_sock(sk);
	return n;
}

/**
 * coll_tcp_send() - see struct coll_transport
 * @ep: the endpoint
 * @ptr: bytes to copy
 * @len: number of bytes
 *
 * Context: may sleep.
 * Return: number of bytes sent, or a negative errno.
 */
int coll_tcp_send(struct coll_endpoint *ep, const void *ptr, u32 len)
{
	struct kvec vec = { .iov_base = (void *)ptr, .iov_len = len };
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };

	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &vec, 1, len);
	return send_locked(ep->sock->sk, &msg, len);
}

/*
 * Describe one piece, and return its length.  Scratch memory may be in the vmalloc area, where
 * neighbouring addresses are not neighbouring pages; all other memory is in the direct map.
 */
static size_t piece_set(struct bio_vec *bvec, void *ptr, size_t len)
{
	if (!is_vmalloc_addr(ptr)) {
		bvec_set_virt(bvec, ptr, len);
		return len;
	}
	len = min_t(size_t, len, PAGE_SIZE - offset_in_page(ptr));
	bvec_set_page(bvec, vmalloc_to_page(ptr), len, offset_in_page(ptr));
	return len;
}

/* Describe as much of a span as fits into COLL_SEND_PIECES; return the number of bytes. */
static u32 span_pieces(struct bio_vec *bvec, unsigned int *count,
		       const struct coll_mem *mem, u64 off, u32 len)
{
	u32 done = 0;

	while (done < len && *count < COLL_SEND_PIECES) {
		size_t n;
		void *ptr = mem->at(mem, off + done, &n);

		n = min_t(size_t, n, len - done);
		done += piece_set(&bvec[(*count)++], ptr, n);
	}
	return done;
}

static int send_pieces(struct coll_endpoint *ep, unsigned int count, u32 len, bool zerocopy,
		       bool more)
{
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0),
	};
	struct ubuf_info ubuf;

	if (zerocopy)
		coll_tcp_zerocopy_message(&msg, &ubuf);
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, ep->bvec, count, len);
	return send_locked(ep->sock->sk, &msg, len);
}

/**
 * coll_tcp_send_frame() - see struct coll_transport
 * @ep: endpoint of a data connection, after coll_tcp_setup_bulk()
 * @out: bytes to send
 * @zerocopy_bytes: out: number of payload bytes that were sent without a copy
 *
 * Context: may sleep.
 * Return: number of bytes sent, or a negative errno.
 */
int coll_tcp_send_frame(struct coll_endpoint *ep, const struct coll_out *out,
			u32 *zerocopy_bytes)
{
	u32 head = out->ptr ? out->len : 0;
	u32 payload = out->ptr ? out->more : out->len;
	unsigned int count = !!head;
	bool zerocopy;
	u32 len;
	int n;

	len = span_pieces(ep->bvec, &count, out->mem, out->off, payload);
	zerocopy = coll_tcp_may_zerocopy(ep, out, count - !!head, len);
	if (head) {
		zerocopy = zerocopy && coll_tcp_zerocopy_header(ep, out);
		if (!zerocopy)
			bvec_set_virt(&ep->bvec[0], (void *)out->ptr, head);
	}

	n = send_pieces(ep, count, head + len, zerocopy, len < payload);
	*zerocopy_bytes = 0;
	if (zerocopy && n > 0) {
		head = min_t(u32, head, n);
		ep->headers.offset += head;
		*zerocopy_bytes = n - head;
	}
	return n;
}
