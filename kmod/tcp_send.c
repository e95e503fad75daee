// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bvec.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/uio.h>
#include <net/sock.h>

#include "tcp.h"

/**
 * coll_tcp_send() - see struct coll_transport
 * @ep: the endpoint
 * @ptr: bytes to copy
 * @len: how many
 * @more: more follow at once
 *
 * Return: bytes taken, or a negative errno.
 */
int coll_tcp_send(struct coll_endpoint *ep, const void *ptr, u32 len, bool more)
{
	struct kvec vec = { .iov_base = (void *)ptr, .iov_len = len };
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0),
	};

	return kernel_sendmsg(ep->sock, &msg, &vec, 1, len);
}

/*
 * Pieces shorter than this, on the average, are copied after all: a packet holds few
 * pages, of which each would carry next to nothing.
 */
#define TCP_SPLICE_MIN	256

/* Scratch may lie where only its pages are mapped; all else is in the direct map. */
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

/* Describe as much of a span as fits. */
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

static int send_header(struct coll_endpoint *ep, const struct coll_out *out)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	unsigned int count = 1;
	u32 len = out->len;

	if (!out->gather)
		return coll_tcp_send(ep, out->ptr, out->len, out->more);

	bvec_set_virt(&ep->bvec[0], (void *)out->ptr, out->len);
	len += span_pieces(ep->bvec, &count, out->mem, out->off, out->more);
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, ep->bvec, count, len);
	return sock_sendmsg(ep->sock, &msg);
}

/**
 * coll_tcp_send_out() - see struct coll_transport
 * @ep: the endpoint, prepared by coll_tcp_bulk()
 * @out: what to send
 * @borrowed: out: bytes that were not copied
 *
 * Return: bytes taken, or a negative errno.
 */
int coll_tcp_send_out(struct coll_endpoint *ep, const struct coll_out *out, u32 *borrowed)
{
	/* Without scatter-gather the stack copies in spite of the flag. */
	bool splice = !out->copy && (ep->sock->sk->sk_route_caps & NETIF_F_SG);
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	unsigned int count = 0;
	u32 span;
	int n;

	*borrowed = 0;
	if (out->ptr)
		return send_header(ep, out);

	span = span_pieces(ep->bvec, &count, out->mem, out->off, out->len);
	splice &= span >= count * TCP_SPLICE_MIN || count < 3;
	if (splice)
		msg.msg_flags |= MSG_SPLICE_PAGES;
	if (span < out->len)
		msg.msg_flags |= MSG_MORE;
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, ep->bvec, count, span);

	n = sock_sendmsg(ep->sock, &msg);
	if (splice && n > 0)
		*borrowed = n;
	return n;
}
