// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bvec.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <linux/uio.h>
#include <net/rps.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "transport/tcp/tcp.h"

/* A packet at least, whose receiver may be waiting for it; each batch is twice as long. */
#define TCP_BATCH	(64 * 1024U)

/*
 * Segments as long go to this host; and so a batch is of few packets, behind 16 of which TCP
 * would take in its backlog, and let others have the CPU.
 */
#define TCP_SEGMENT_LOCAL	(32 * 1024U)

/*
 * Packets for this host are received here: after each of them, or, with bottom halves off, after a
 * batch.  Memory is not waited for meanwhile, but for what is sent first.
 */
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
 * The socket is the module's own, made by who could make it and connected: of sock_sendmsg()
 * this is what is left, a dozen calls less.
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
 * @len: how many
 *
 * Return: bytes taken, or a negative errno.
 */
int coll_tcp_send(struct coll_endpoint *ep, const void *ptr, u32 len)
{
	struct kvec vec = { .iov_base = (void *)ptr, .iov_len = len };
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };

	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &vec, 1, len);
	return send_locked(ep->sock->sk, &msg, len);
}

/*
 * Pieces shorter than this, on the average, are copied after all: a packet holds few
 * fragments, of which each would carry next to nothing.
 */
#define TCP_LEND_MIN	256

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

/*
 * Lending
 *
 * Pages that a packet lends are fragments of it with references of their own, as those of
 * MSG_SPLICE_PAGES are, which however makes a fragment of every page, and a packet has but
 * 17: here one is as long as its folio.  The stack calls for that where it would make
 * packets of zero copy.  These are none: without SKBFL_ZEROCOPY_ENABLE nobody looks at
 * where they come from, no one is told when they are gone, and local delivery does not copy.
 */
static const struct ubuf_info_ops lend_ops;

/* Add to a packet; -EMSGSIZE when it is full. */
static int lend_pages(struct sk_buff *skb, struct iov_iter *from, size_t len)
{
	struct skb_shared_info *shared = skb_shinfo(skb);

	while (len) {
		const struct bio_vec *bvec = from->bvec;
		void *ptr = page_address(bvec->bv_page) + bvec->bv_offset + from->iov_offset;
		struct folio *folio = virt_to_folio(ptr);
		size_t off = ptr - folio_address(folio);
		size_t n = min3(len, iov_iter_single_seg_count(from), folio_size(folio) - off);
		int i = shared->nr_frags;

		if (skb_can_coalesce(skb, i, folio_page(folio, 0), off)) {
			skb_frag_size_add(&shared->frags[i - 1], n);
		} else if (i < MAX_SKB_FRAGS) {
			folio_get(folio);
			skb_fill_page_desc_noacc(skb, i, folio_page(folio, 0), off, n);
		} else {
			return -EMSGSIZE;
		}
		skb_len_add(skb, n);
		iov_iter_advance(from, n);
		len -= n;
	}
	return 0;
}

/*
 * A header is soon another one: a copy of it is lent, in a page that is like the others.
 * That is accounted to who runs the lane.
 */
static bool lend_header(struct coll_endpoint *ep, const struct coll_out *out)
{
	struct page_frag *frag = &ep->headers;

	if (!skb_page_frag_refill(out->len, frag, GFP_KERNEL_ACCOUNT))
		return false;
	memcpy(page_address(frag->page) + frag->offset, out->ptr, out->len);
	bvec_set_page(&ep->bvec[0], frag->page, out->len, frag->offset);
	return true;
}

/* May payload be lent, and is it worth while? */
static bool may_lend(const struct coll_endpoint *ep, const struct coll_out *out,
		     unsigned int pieces, u32 len)
{
	/* Without scatter-gather the stack copies in spite of the flag. */
	if (!len || out->copy || !(ep->sock->sk->sk_route_caps & NETIF_F_SG))
		return false;
	return len >= pieces * TCP_LEND_MIN || pieces < 3;
}

static int send_pieces(struct coll_endpoint *ep, unsigned int count, u32 len, bool lend,
		       bool more)
{
	struct ubuf_info lent = {
		.ops = &lend_ops,
		.refcnt = REFCOUNT_INIT(1),
		.flags = SKBFL_SHARED_FRAG,
	};
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0),
	};

	if (lend) {
		msg.msg_flags |= MSG_ZEROCOPY;
		msg.msg_ubuf = &lent;
		msg.sg_from_iter = lend_pages;
	}
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, ep->bvec, count, len);
	return send_locked(ep->sock->sk, &msg, len);
}

/**
 * coll_tcp_send_frame() - see struct coll_transport
 * @ep: the endpoint, prepared by coll_tcp_setup_bulk()
 * @out: what to send
 * @borrowed: out: bytes that were not copied
 *
 * Return: bytes taken, or a negative errno.
 */
int coll_tcp_send_frame(struct coll_endpoint *ep, const struct coll_out *out, u32 *borrowed)
{
	u32 head = out->ptr ? out->len : 0;
	u32 payload = out->ptr ? out->more : out->len;
	unsigned int count = !!head;
	bool lend;
	u32 len;
	int n;

	len = span_pieces(ep->bvec, &count, out->mem, out->off, payload);
	lend = may_lend(ep, out, count - !!head, len);
	if (head) {
		lend = lend && lend_header(ep, out);
		if (!lend)
			bvec_set_virt(&ep->bvec[0], (void *)out->ptr, head);
	}

	n = send_pieces(ep, count, head + len, lend, len < payload);
	*borrowed = 0;
	if (lend && n > 0) {
		head = min_t(u32, head, n);
		ep->headers.offset += head;
		*borrowed = n - head;
	}
	return n;
}
