/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the rest asks of a transport, and what it tells.
 *
 * An endpoint is one end of one connection, or a listener.  It moves bytes and
 * spans of memory and knows nothing of what they mean.
 *
 * Excluding one another: the owner calls at most one operation of an endpoint
 * at a time.  From the first successful one until close() returns, event() may
 * be called at any time, from softirq too; it must only set bits and kick.
 * take() is called from inside receive() only.
 */
#ifndef COLL_TRANSPORT_H
#define COLL_TRANSPORT_H

#include <linux/socket.h>
#include <linux/types.h>

#include "core/data/mem.h"

struct coll_charges;
struct coll_endpoint;
struct coll_tcp_linger;
struct socket;

enum coll_event {
	COLL_EVENT_READABLE,	/* receive() or accept() has something to do */
	COLL_EVENT_WRITABLE,	/* send() would take more, after -EAGAIN */
};

/**
 * struct coll_endpoint_ops - what a transport tells the owner of an endpoint
 * @event: something has changed; sets bits and kicks, from any context
 * @recv: @len bytes have come, at @ptr until it returns; returns how many were
 *	taken, fewer to leave the rest for later, or a negative errno that ends
 *	the connection
 * @recv_idle: the transport goes on to do something else; what take() holds (the
 *	vector registers) must be given back
 */
struct coll_endpoint_ops {
	void (*event)(struct coll_endpoint *ep, enum coll_event event);
	int (*recv)(struct coll_endpoint *ep, const void *ptr, u32 len);
	void (*recv_idle)(struct coll_endpoint *ep);
};

/**
 * struct coll_endpoint - one end of a connection
 * @transport: that it belongs to, NULL when closed
 * @ops: of the owner
 * @charges: what its memory is charged to; set by the owner before it is opened
 * @charged: bytes that are charged, returned by close()
 * @sock: the socket, whose file nothing else has a reference to
 * @linger: for the time after close()
 * @saved: the socket's own callbacks, put back by close()
 * @error: of take(), kept for the end of receive()
 * @defer_ack: set or cleared by recv(): acknowledge later what receive() gives it, unless
 *	it is little
 * @unacked: bytes that were received, and not acknowledged
 * @bvec: COLL_SEND_PIECES of them, of an endpoint that sends memory
 * @headers: memory for what is copied, likewise
 * @close_deadline: how long the connection may go on after finish() and close(), in jiffies
 */
struct coll_endpoint {
	const struct coll_transport *transport;
	const struct coll_endpoint_ops *ops;
	struct coll_charges *charges;
	u32 charged;
	struct socket *sock;
	struct coll_tcp_linger *linger;
	struct {
		void (*data_ready)(struct sock *sk);
		void (*write_space)(struct sock *sk);
		void (*state_change)(struct sock *sk);
		void (*error_report)(struct sock *sk);
	} saved;
	int error;
	bool defer_ack;
	u32 unacked;
	struct bio_vec *bvec;
	struct page_frag headers;
	unsigned long close_deadline;
};

/* Tell the owner; its operations change when a connection opens, so they are published. */
static inline void coll_endpoint_event(struct coll_endpoint *ep, enum coll_event event)
{
	/* Pairs with the release where the owner changes: then what belongs to it. */
	smp_load_acquire(&ep->ops)->event(ep, event);
}

/**
 * struct coll_transport - a way to move bytes between ranks
 * @name: for people
 * @listen: make @ep a listener on @addr, which becomes the bound address; in
 *	the context of the process that joins, with its credentials
 * @connect: begin to connect @ep to @addr, from @local's host address (NULL:
 *	any); in the context of the process that connects, with the credentials that joined
 * @accept: make @ep the next waiting connection of @listener, or -EAGAIN; with the
 *	credentials that joined
 * @status: 0: connected, -EINPROGRESS: not yet; else why not
 * @send: send bytes by copy.  Returns how many were taken, -EAGAIN (an event follows), or
 *	a negative errno
 * @send_frame: send what a stream has, a header and its payload in one go, payload without a copy
 *	if it can and may.  Returns as @send; *@borrowed tells how many bytes were not copied
 * @receive: give take() what has come, about @budget bytes at most.  Returns
 *	bytes, -EAGAIN when there is nothing, 0 at the end, or a negative errno.  If bytes
 *	are returned, and they were the last ones, an event follows
 * @send_ack: of what was received when take() had set @defer, which is told only for much of
 *	it: tell the peer's end, and give back the memory that it came in; the next receive()
 *	does so too
 * @can_defer_rx: may what has come wait to be received?  Not more than so many bytes, and
 *	only with room for as many behind them, and if this is not the end.  A guess; in any
 *	context
 * @poll_begin: keep what comes for @poll_end to take in, by who waits for it and not by who sends
 *	it; a moment only, and no other operation meanwhile; may sleep
 * @poll_pending: has anything come since @poll_begin, or does the connection need @poll_end
 *	for another reason?
 * @poll_end: undo @poll_begin; what has come is told now
 * @setup_bulk: prepare for large payloads (data connections); may sleep
 * @shutdown: nothing more is sent; after close() the connection goes on without its endpoint
 *	until all that was sent has arrived, but not longer than @until, in jiffies; may sleep
 * @close: end it, without waiting; @reset: drop what is queued, both here and there
 */
struct coll_transport {
	const char *name;
	int (*listen)(struct coll_endpoint *ep, struct sockaddr_storage *addr);
	int (*connect)(struct coll_endpoint *ep, const struct sockaddr_storage *addr,
		       const struct sockaddr_storage *local);
	int (*accept)(struct coll_endpoint *listener, struct coll_endpoint *ep);
	int (*status)(struct coll_endpoint *ep);
	int (*send)(struct coll_endpoint *ep, const void *ptr, u32 len);
	int (*send_frame)(struct coll_endpoint *ep, const struct coll_out *out, u32 *borrowed);
	int (*receive)(struct coll_endpoint *ep, u32 budget);
	void (*send_ack)(struct coll_endpoint *ep);
	bool (*can_defer_rx)(const struct coll_endpoint *ep, u32 bytes);
	void (*poll_begin)(struct coll_endpoint *ep);
	bool (*poll_pending)(const struct coll_endpoint *ep);
	void (*poll_end)(struct coll_endpoint *ep);
	int (*setup_bulk)(struct coll_endpoint *ep);
	void (*shutdown)(struct coll_endpoint *ep, unsigned long until);
	void (*close)(struct coll_endpoint *ep, bool reset);
};

/* Pieces of memory that one send_out() passes on at most. */
#define COLL_SEND_PIECES	257

extern const struct coll_transport coll_tcp;

#endif /* COLL_TRANSPORT_H */
