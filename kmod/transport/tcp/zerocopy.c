// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets that refer to the payload itself, without a copy.
 *
 * MSG_SPLICE_PAGES makes one fragment of each page, and a packet has only 17 fragments.  Here a
 * fragment is as long as its folio.  The stack calls @sg_from_iter for this if a message has
 * MSG_ZEROCOPY and a struct ubuf_info.  The packets are not zero-copy packets of the stack,
 * however: because SKBFL_ZEROCOPY_ENABLE is not set, no callback reports when they are freed, and
 * local delivery does not copy.  Each fragment has a page reference of its own; mem/pin.c says
 * when the memory may be written again.
 */
#include <linux/bvec.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <linux/uio.h>
#include <net/sock.h>

#include "transport/tcp/tcp.h"

/*
 * Bytes of a piece, on the average, below which payload is copied instead: a packet has few
 * fragments, and each of them would carry next to nothing.
 */
#define ZEROCOPY_PIECE_MIN	256

static const struct ubuf_info_ops zerocopy_ops;

/* Append @len bytes of @from to a packet.  Return: 0, or -EMSGSIZE: the packet is full. */
static int zerocopy_fill(struct sk_buff *skb, struct iov_iter *from, size_t len)
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

/**
 * coll_tcp_zerocopy_message() - have a message sent without a copy
 * @msg: the message
 * @ubuf: out: used by the stack until sock_sendmsg() returns
 */
void coll_tcp_zerocopy_message(struct msghdr *msg, struct ubuf_info *ubuf)
{
	*ubuf = (struct ubuf_info) {
		.ops = &zerocopy_ops,
		.refcnt = REFCOUNT_INIT(1),
		.flags = SKBFL_SHARED_FRAG,
	};
	msg->msg_flags |= MSG_ZEROCOPY;
	msg->msg_ubuf = ubuf;
	msg->sg_from_iter = zerocopy_fill;
}

/**
 * coll_tcp_zerocopy_header() - copy a header to memory that a packet may refer to
 * @ep: the endpoint; the first of its pieces becomes the copy
 * @out: the header and its payload
 *
 * The stream reuses the memory of its header for the next frame, while the packet may still be
 * queued.  The copy is charged to the memory cgroup of the thread that runs the lane.
 *
 * Context: may sleep.
 * Return: true, or false if there is no memory.
 */
bool coll_tcp_zerocopy_header(struct coll_endpoint *ep, const struct coll_out *out)
{
	struct coll_tcp_end *end = coll_tcp_end(ep);
	struct page_frag *frag = &end->headers;

	if (!skb_page_frag_refill(out->len, frag, GFP_KERNEL_ACCOUNT))
		return false;
	memcpy(page_address(frag->page) + frag->offset, out->ptr, out->len);
	bvec_set_page(&end->bvec[0], frag->page, out->len, frag->offset);
	return true;
}

/**
 * coll_tcp_may_zerocopy() - may payload be sent without a copy, and is it worth while?
 * @ep: the endpoint
 * @out: the header and its payload
 * @pieces: number of pieces of the payload
 * @len: its length in bytes
 *
 * Return: true if both.
 */
bool coll_tcp_may_zerocopy(const struct coll_endpoint *ep, const struct coll_out *out,
			   unsigned int pieces, u32 len)
{
	/* Without scatter-gather the stack copies in spite of MSG_ZEROCOPY. */
	if (!len || out->copy || !(coll_tcp_socket(ep)->sk->sk_route_caps & NETIF_F_SG))
		return false;
	return len >= pieces * ZEROCOPY_PIECE_MIN || pieces < 3;
}
