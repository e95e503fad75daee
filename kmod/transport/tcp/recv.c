// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arriving bytes are taken where they lie: in the fragments of the socket
 * buffer, which on one host are the sender's own pages.
 */
#include <linux/net.h>
#include <linux/skbuff.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "transport/tcp/tcp.h"

/* Bytes; less is acknowledged as it is taken. */
#define TCP_DEFER_MIN	(64 * 1024)

/* How many bytes were taken; fewer than @len when that is enough for now. */
static u32 receive_bytes(struct coll_endpoint *ep, const u8 *ptr, u32 len)
{
	u32 done = 0;

	/* Bounded by coll_progress_receive_frame_bytes(); a control frame is 48 bytes. */
	while (done < len) {
		int n = ep->ops->recv(ep, ptr + done, len - done);

		if (n < 0)
			ep->error = n;
		if (n <= 0)
			break;
		done += n;
	}
	return done;
}

/*
 * The bytes of a fragment and of those that lie behind it in memory too, as most do of
 * what was sent from huge pages; *@i becomes the last of them.
 */
static u32 fragment_bytes(const struct skb_shared_info *shared, int *i)
{
	const u8 *ptr = skb_frag_address(&shared->frags[*i]);
	u32 n = skb_frag_size(&shared->frags[*i]);

	while (*i + 1 < shared->nr_frags && skb_frag_address(&shared->frags[*i + 1]) == ptr + n)
		n += skb_frag_size(&shared->frags[++*i]);
	return n;
}

/* Take the bytes @off .. @off + @len of a socket buffer, as far as wanted. */
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

	/* They are in a device's memory, for a program that has asked for that: not for us. */
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

			/* No high memory here: all of it is mapped. */
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

/* What has been taken is the socket's to forget, and to tell the peer's. */
static void receive_acknowledge(struct coll_endpoint *ep)
{
	if (!ep->unacked)
		return;
	tcp_read_done(ep->sock->sk, ep->unacked);
	WRITE_ONCE(ep->unacked, 0);
}

/* Take what is queued, under the socket lock. */
static u32 receive_queue(struct coll_endpoint *ep, u32 budget)
{
	const struct sock *sk = ep->sock->sk;
	u32 seq = tcp_sk(sk)->copied_seq, done = 0;
	struct sk_buff *skb;

	if (ep->error)
		return 0;
	/* Ends with the budget, or when take() has had enough. */
	skb_queue_walk(&sk->sk_receive_queue, skb) {
		u32 off = seq + done - TCP_SKB_CB(skb)->seq;
		u32 n, taken;

		/* The end, alone. */
		if (off >= skb->len)
			continue;
		n = min(skb->len - off, budget - done);
		taken = receive_skb(ep, skb, off, n);
		ep->ops->recv_idle(ep);
		done += taken;
		if (taken < n || done == budget)
			break;
	}
	return done;
}

/**
 * coll_tcp_receive() - see struct coll_transport
 * @ep: the endpoint
 * @budget: bytes
 *
 * Return: bytes taken, -EAGAIN, 0 at the end, or a negative errno.
 */
int coll_tcp_receive(struct coll_endpoint *ep, u32 budget)
{
	struct sock *sk = ep->sock->sk;
	bool end, fin;
	int n, err;

	lock_sock(sk);
	receive_acknowledge(ep);
	n = receive_queue(ep, budget);
	WRITE_ONCE(ep->unacked, n);
	if (n < TCP_DEFER_MIN || !ep->defer_ack)
		receive_acknowledge(ep);
	end = sk->sk_shutdown & RCV_SHUTDOWN || sk->sk_state == TCP_CLOSE;
	/* A reset may have been told already, to a sender; it sends no FIN. */
	fin = sock_flag(sk, SOCK_DONE);
	/* Nothing else is queued.  As long as it is, TCP takes its time to acknowledge it. */
	if (fin && !n && !ep->error)
		tcp_read_done(sk, 1);
	err = -READ_ONCE(sk->sk_err);
	release_sock(sk);

	if (ep->error)
		return ep->error;
	if (n > 0) {
		/* It may have come with them, and then is not told again. */
		if (end || err)
			coll_endpoint_event(ep, COLL_EVENT_READABLE);
		return n;
	}
	/* All of it has come, whatever was reset by what we have sent after it. */
	if (fin) {
		/* The peer waits for this, to close. */
		tcp_sock_set_quickack(sk, 1);
		return 0;
	}
	if (err)
		return err;
	return end ? -ECONNRESET : -EAGAIN;
}

/**
 * coll_tcp_send_ack() - see struct coll_transport
 * @ep: the endpoint
 */
void coll_tcp_send_ack(struct coll_endpoint *ep)
{
	struct sock *sk = ep->sock->sk;

	if (!ep->unacked)
		return;
	lock_sock(sk);
	receive_acknowledge(ep);
	release_sock(sk);
}

/**
 * coll_tcp_can_defer_rx() - see struct coll_transport
 * @ep: the endpoint
 * @bytes: what may wait
 *
 * Return: whether it may.
 */
bool coll_tcp_can_defer_rx(const struct coll_endpoint *ep, u32 bytes)
{
	const struct sock *sk = ep->sock->sk;
	const struct tcp_sock *tcp = tcp_sk(sk);

	if (READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN || READ_ONCE(sk->sk_err) ||
	    READ_ONCE(sk->sk_state) == TCP_CLOSE)
		return false;
	return READ_ONCE(tcp->rcv_nxt) - READ_ONCE(tcp->copied_seq) - READ_ONCE(ep->unacked) <=
	       bytes &&
	       tcp_receive_window(tcp) >= bytes;
}

/*
 * What comes for a socket that is locked waits in its backlog, as it came, for who unlocks
 * it; and so does what is due otherwise: to be sent, again or as its pace has it.
 */
#define TCP_DUE		(TCPF_TSQ_DEFERRED | TCPF_WRITE_TIMER_DEFERRED | \
			 TCPF_DELACK_TIMER_DEFERRED | TCPF_MTU_REDUCED_DEFERRED | \
			 TCPF_ACK_DEFERRED)

/**
 * coll_tcp_poll_begin() - see struct coll_transport
 * @ep: the endpoint
 */
void coll_tcp_poll_begin(struct coll_endpoint *ep)
{
	lock_sock(ep->sock->sk);
}

/**
 * coll_tcp_poll_pending() - see struct coll_transport
 * @ep: the endpoint
 *
 * Return: whether anything has come, or is due.
 */
bool coll_tcp_poll_pending(const struct coll_endpoint *ep)
{
	const struct sock *sk = ep->sock->sk;

	return READ_ONCE(sk->sk_backlog.tail) || READ_ONCE(sk->sk_tsq_flags) & TCP_DUE;
}

/**
 * coll_tcp_poll_end() - see struct coll_transport
 * @ep: the endpoint
 */
void coll_tcp_poll_end(struct coll_endpoint *ep)
{
	release_sock(ep->sock->sk);
}
