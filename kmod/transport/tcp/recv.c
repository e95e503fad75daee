// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receiving from a TCP socket.
 *
 * recv() gets the bytes where they are: in the fragments of socket buffers, which on one host are
 * the sender's own pages.
 */
#include <linux/net.h>
#include <linux/skbuff.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "transport/tcp/tcp.h"

/* Return: number of bytes that recv() consumed; fewer than @len: leave the rest for later. */
static u32 receive_bytes(struct coll_endpoint *ep, const u8 *ptr, u32 len)
{
	u32 done = 0;

	/* recv() bounds the work of this loop; a control frame is 48 bytes. */
	while (done < len) {
		int n = coll_endpoint_recv(ep, ptr + done, len - done);

		if (n <= 0)
			break;
		done += n;
	}
	return done;
}

/*
 * Return: length of fragment *@i and of those that follow it both in the packet and in memory, as
 * most fragments of huge pages do.  *@i becomes the last of them.
 */
static u32 fragment_bytes(const struct skb_shared_info *shared, int *i)
{
	const u8 *ptr = skb_frag_address(&shared->frags[*i]);
	u32 n = skb_frag_size(&shared->frags[*i]);

	while (*i + 1 < shared->nr_frags && skb_frag_address(&shared->frags[*i + 1]) == ptr + n)
		n += skb_frag_size(&shared->frags[++*i]);
	return n;
}

/* Pass the bytes @off .. @off + @len of a socket buffer on.  Return: number that were consumed. */
static u32 receive_skb(struct coll_endpoint *ep, struct sk_buff *skb, u32 off, u32 len)
{
	u32 start = 0, end = skb_headlen(skb), done = 0;
	struct sk_buff *part;
	int i;

	if (off < end) {
		u32 n = min(len, end - off);

		done = receive_bytes(ep, skb->data + off, n);
		if (done < n)
			return done;
	}

	/* Fragments in device memory are for programs that have asked for that (devmem TCP). */
	if (done < len && !skb_frags_readable(skb)) {
		ep->error = -EFAULT;
		return done;
	}

	for (i = 0; done < len && i < skb_shinfo(skb)->nr_frags; i++) {
		const skb_frag_t *frag = &skb_shinfo(skb)->frags[i];

		start = end;
		end += fragment_bytes(skb_shinfo(skb), &i);
		if (off + done < end) {
			u32 n = min(len - done, end - off - done);
			u32 taken;

			/* There is no high memory: all pages are mapped. */
			taken = receive_bytes(ep, skb_frag_address(frag) + (off + done - start),
					      n);
			done += taken;
			if (taken < n)
				return done;
		}
	}

	skb_walk_frags(skb, part) {
		start = end;
		end += part->len;
		if (done < len && off + done < end) {
			u32 n = min(len - done, end - off - done);
			u32 taken = receive_skb(ep, part, off + done - start, n);

			done += taken;
			if (taken < n)
				return done;
		}
	}
	return done;
}

/* Context: socket lock held.  Return: bytes consumed; fewer than @len end tcp_read_sock(). */
static int receive_actor(read_descriptor_t *desc, struct sk_buff *skb, unsigned int off,
			 size_t len)
{
	struct coll_endpoint *ep = desc->arg.data;
	u32 n = min(len, desc->count), taken;

	/* tcp_read_sock() calls again for the rest of a socket buffer. */
	if (!n)
		return 0;
	taken = receive_skb(ep, skb, off, n);
	coll_endpoint_recv_idle(ep);
	desc->count = taken < n ? 0 : desc->count - n;
	return taken;
}

/**
 * coll_tcp_receive() - see struct coll_transport
 * @ep: the endpoint
 * @budget: number of bytes at most
 *
 * Context: may sleep.
 * Return: number of bytes consumed, -EAGAIN, 0 at the end, or a negative errno.
 */
int coll_tcp_receive(struct coll_endpoint *ep, u32 budget)
{
	read_descriptor_t desc = { .arg.data = ep, .count = ep->error ? 0 : budget };
	struct sock *sk = coll_tcp_socket(ep)->sk;
	bool end, fin;
	int n, err;

	lock_sock(sk);
	n = tcp_read_sock(sk, &desc, receive_actor);
	/* Ranks send no urgent bytes, and tcp_read_sock() does not pass them. */
	if (tcp_sk(sk)->urg_data && !ep->error)
		ep->error = -EPROTO;
	end = sk->sk_shutdown & RCV_SHUTDOWN || sk->sk_state == TCP_CLOSE;
	/*
	 * SOCK_DONE says that a FIN arrived.  sk_err cannot tell a reset from it, because a send
	 * may have reported and cleared the error.
	 */
	fin = sock_flag(sk, SOCK_DONE);
	err = -READ_ONCE(sk->sk_err);
	release_sock(sk);

	if (ep->error)
		return ep->error;
	if (n > 0) {
		/* The end may have arrived with these bytes; then no other event follows. */
		if (end || err)
			coll_endpoint_event(ep, COLL_EVENT_READABLE);
		return n;
	}
	/* All bytes were received; a reset that our later packets caused is no failure. */
	if (fin) {
		/* The peer waits for this ACK before it closes. */
		tcp_sock_set_quickack(sk, 1);
		return 0;
	}
	if (err)
		return err;
	return end ? -ECONNRESET : -EAGAIN;
}

/**
 * coll_tcp_can_defer_rx() - see struct coll_transport
 * @ep: the endpoint
 * @bytes: number of bytes that may wait
 *
 * Context: any.
 * Return: true if they may.
 */
bool coll_tcp_can_defer_rx(const struct coll_endpoint *ep, u32 bytes)
{
	const struct sock *sk = coll_tcp_socket(ep)->sk;
	const struct tcp_sock *tcp = tcp_sk(sk);

	if (READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN || READ_ONCE(sk->sk_err) ||
	    READ_ONCE(sk->sk_state) == TCP_CLOSE)
		return false;
	return READ_ONCE(tcp->rcv_nxt) - READ_ONCE(tcp->copied_seq) <= bytes &&
	       tcp_receive_window(tcp) >= bytes;
}
