// SPDX-License-Identifier: GPL-2.0-only
/* Sending to a TCP socket, payload from the memory that it lies in (zerocopy.c). */
#include <linux/bvec.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/uio.h>
#include <net/sock.h>

#include "transport/tcp/tcp.h"

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
	return sock_sendmsg(coll_tcp_socket(ep), &msg);
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
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, coll_tcp_end(ep)->bvec, count, len);
	return sock_sendmsg(coll_tcp_socket(ep), &msg);
}

/**
 * coll_tcp_send_frame() - see struct coll_transport
 * @ep: endpoint of a data connection, after coll_tcp_setup()
 * @out: bytes to send
 * @zerocopy_bytes: out: number of payload bytes that were sent without a copy
 *
 * Context: may sleep.
 * Return: number of bytes sent, or a negative errno.
 */
int coll_tcp_send_frame(struct coll_endpoint *ep, const struct coll_out *out,
			u32 *zerocopy_bytes)
{
	struct coll_tcp_end *end = coll_tcp_end(ep);
	u32 head = out->ptr ? out->len : 0;
	u32 payload = out->ptr ? out->more : out->len;
	unsigned int count = !!head;
	bool zerocopy;
	u32 len;
	int n;

	len = span_pieces(end->bvec, &count, out->mem, out->off, payload);
	zerocopy = coll_tcp_may_zerocopy(ep, out, count - !!head, len);
	if (head) {
		zerocopy = zerocopy && coll_tcp_zerocopy_header(ep, out);
		if (!zerocopy)
			bvec_set_virt(&end->bvec[0], (void *)out->ptr, head);
	}

	n = send_pieces(ep, count, head + len, zerocopy, len < payload);
	*zerocopy_bytes = 0;
	if (zerocopy && n > 0) {
		head = min_t(u32, head, n);
		end->headers.offset += head;
		*zerocopy_bytes = n - head;
	}
	return n;
}
