/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interface of a transport: it moves bytes and spans of memory between two ranks, and knows
 * nothing of their meaning.
 *
 * An endpoint is one end of a connection, or a listener.  Its owner calls at most one operation of
 * an endpoint at a time.  From the first successful listen(), connect() or accept() until close()
 * returns, the transport may call event() at any time, also in softirq; event() only sets bits and
 * kicks a runner.  The transport calls the other callbacks only inside of receive().
 */
#ifndef COLL_TRANSPORT_H
#define COLL_TRANSPORT_H

#include <linux/collective.h>
#include <linux/in.h>
#include <linux/socket.h>
#include <linux/types.h>

#include "core/data/mem.h"

struct coll_charges;
struct coll_endpoint;
struct coll_local_hub;
struct module;
struct net;

enum coll_event {
	COLL_EVENT_READABLE,	/* receive() or accept() has something to do */
	COLL_EVENT_WRITABLE,	/* connected; or send() accepts bytes again, after -EAGAIN */
};

/**
 * struct coll_endpoint_ops - callbacks of the owner of an endpoint
 * @event: something has changed; called in any context, sets bits and kicks a runner
 * @recv: @len bytes have arrived, valid at @ptr until recv() returns.  Returns the number of
 *	bytes consumed, fewer than @len to leave the rest for later, or a negative errno that ends
 *	the connection.  Bytes of a reference come with preemption disabled
 * @recv_done: follows recv(), recv_revoked() and recv_placed(); the owner does what they may not;
 *	may be NULL
 * @recv_revoked: the peer has withdrawn the next @len bytes; they count as consumed.  NULL if the
 *	owner gets no references
 * @recv_place: where do bytes of payload go that the transport can store itself?  They follow the
 *	next @ahead bytes.  Returns 1: @place says it, and the memory stays until recv_placed() has
 *	told all of them, or until close(); 0: recv() must be given them; or a negative errno that
 *	ends the connection.  NULL if the owner gets no payload
 * @recv_placed: the next @len bytes are where recv_place() has said, or dropped; they count as
 *	consumed.  recv_done() follows
 * @recv_idle: the transport is about to do other work; the owner ends what recv() has begun and
 *	must not last (an FPU section); may be NULL
 * @refused: a listener has refused the call of an address, for a negative errno; called in any
 *	context but interrupts.  NULL if the endpoint is no listener
 */
struct coll_endpoint_ops {
	void (*event)(struct coll_endpoint *ep, enum coll_event event);
	int (*recv)(struct coll_endpoint *ep, const void *ptr, u32 len);
	void (*recv_done)(struct coll_endpoint *ep);
	void (*recv_revoked)(struct coll_endpoint *ep, u32 len);
	int (*recv_place)(struct coll_endpoint *ep, u32 ahead, struct coll_place *place);
	void (*recv_placed)(struct coll_endpoint *ep, u32 len);
	void (*recv_idle)(struct coll_endpoint *ep);
	void (*refused)(struct coll_endpoint *ep, const struct sockaddr_storage *caller, int err);
};

/**
 * struct coll_endpoint - one end of a connection, or a listener
 * @transport: its transport; NULL: closed
 * @ops: callbacks of the owner [a]
 * @charges: charges for its memory; set by the owner before it is opened
 * @charged: bytes charged; returned by close()
 * @error: negative errno of recv(), kept until the end of receive(); 0: none
 * @end: what the transport keeps of it: its own struct, made when it is opened; NULL: closed
 * @listens: true if it is a listener; set by the owner, as all that follow, before it is opened
 * @ns: network namespace of the member; not for accept()
 * @hub: local: where peers are found
 * @rank: local: rank of the listener
 * @calls: RDMA: calls that may wait in the queue of the listener
 * @outage_ms: RDMA: time for which the path may be down
 * @bulk: true if it is going to carry payload; not for accept()
 */
struct coll_endpoint {
	const struct coll_transport *transport;
	const struct coll_endpoint_ops *ops;
	struct coll_charges *charges;
	u32 charged;
	int error;
	void *end;

	bool listens;
	struct net *ns;
	struct coll_local_hub *hub;
	u32 rank;
	u32 calls;
	u32 outage_ms;
	bool bulk;
};

/* Is an address of IPv4 or IPv6 one of any port? */
static inline bool coll_port_is_any(const struct sockaddr_storage *addr)
{
	/* The port has the same offset in struct sockaddr_in6. */
	return !((const struct sockaddr_in *)addr)->sin_port;
}

/* Call the owner's event().  The owner changes when a connection opens. */
static inline void coll_endpoint_event(struct coll_endpoint *ep, enum coll_event event)
{
	/* Pairs with the release that sets @ops: the new owner's data is visible. */
	smp_load_acquire(&ep->ops)->event(ep, event);
}

/* See @recv_done and @recv_idle. */
static inline void coll_endpoint_recv_done(struct coll_endpoint *ep)
{
	if (ep->ops->recv_done)
		ep->ops->recv_done(ep);
}

static inline void coll_endpoint_recv_idle(struct coll_endpoint *ep)
{
	if (ep->ops->recv_idle)
		ep->ops->recv_idle(ep);
}

/*
 * Hand over bytes that are no reference.  Return: number of bytes consumed, or a negative errno,
 * which is kept in @error, too.
 */
static inline int coll_endpoint_recv(struct coll_endpoint *ep, const void *ptr, u32 len)
{
	int n = ep->ops->recv(ep, ptr, len);

	coll_endpoint_recv_done(ep);
	if (n < 0)
		ep->error = n;
	return n;
}

/**
 * struct coll_endpoint_info - what an administrator may see of a connection
 * @local: address of this end
 * @peer: address of the other end
 * @rtt_us: smoothed round-trip time
 * @retransmits: segments that were sent again
 * @unanswered: times that the latest bytes were sent again, or the peer was asked, without an
 *	answer
 * @unsent: bytes that are queued and not sent
 * @lost: of @retransmits, those that the peer did not get twice
 * @acked: bytes that the peer has acknowledged
 * @rate: highest rate at which it has, bytes/s; 0: not known
 */
struct coll_endpoint_info {
	struct sockaddr_storage local;
	struct sockaddr_storage peer;
	u32 rtt_us;
	u32 retransmits;
	u32 unanswered;
	u32 unsent;
	u32 lost;
	u64 acked;
	u64 rate;
};

/**
 * struct coll_transport - a way to move bytes between ranks
 * @kind: enum collective_transport
 * @owner: module that has registered it; NULL: part of this one
 * @by_reference: true if the peer reads payload that may be sent without a copy straight from the
 *	memory of this rank, as @consumed and @revoke say
 * @listen: make @ep a listener on @addr, which becomes the bound address.  Called in the context
 *	of the process that joins: its credentials apply
 * @connect: begin to connect @ep to @addr, from the host address of @local (NULL: any).  Called
 *	with the credentials of the process that joined, in the context of the process that
 *	connects, or by the control runner if another transport could not reach the peer or a
 *	connection is made again
 * @accept: make @ep the next waiting connection of @listener.  Called with the credentials of
 *	the process that joined.  Returns -EAGAIN if no connection waits; -EDQUOT or -ENOMEM if it
 *	waits on, for memory; or another negative errno if it was refused
 * @status: returns 0 if connected, -EINPROGRESS if not yet, or the errno of the failure
 * @send: send bytes by copy.  Returns the number of bytes accepted, -EAGAIN (an event follows),
 *	or another negative errno
 * @send_frame: send a header and its payload, the payload without a copy if possible and allowed.
 *	Returns as @send; *@zerocopy_bytes becomes the number of bytes that were not copied
 * @receive: pass bytes that have arrived to recv(), about @budget at most.  Returns the number
 *	of bytes consumed, -EAGAIN if there are none, 0 at the end of the connection, or a negative
 *	errno.  If it returns bytes, and the connection ends behind them, an event follows
 * @consumed: position of the stream up to which the peer has consumed what was sent by reference
 *	(struct coll_out); NULL if the transport does not know
 * @revoke: let nothing more be read that @owner has sent by reference.  Returns true if
 *	nothing of it is being read; false: an event follows.  NULL likewise
 * @can_defer_rx: may bytes that have arrived stay in the connection?  False if they are more than
 *	@bytes, if there is no space for as many behind them, or if the connection has ended.  A
 *	guess; callable in any context
 * @info: describe the connection; callable in any thread until the memory of @ep is freed, also
 *	while the owner uses and closes it.  Returns false if it is closed.  NULL: there is nothing
 *	to tell
 * @acknowledges: has the peer acknowledged something since the last call, or was nothing to be
 *	acknowledged?  Called by the control runner once a heartbeat, also while the owner uses and
 *	closes @ep.  NULL: the transport finds out by itself that a peer does not answer
 * @resend: have what the peer has not acknowledged sent again within @ms, if that takes longer
 *	because it has been sent again before, or if something is known to be @lost.  Called by the
 *	control runner, likewise; may sleep.  NULL together with @acknowledges
 * @setup: prepare a connection for what its HELLOs say that it is for: @bulk: payload; else control
 *	frames.  Nothing but HELLOs is sent and received before.  Returns 0; -EPROTO if the peer has
 *	told the transport otherwise; or another negative errno: the owner closes it.  May sleep
 * @send_rest: let bytes that send() did not accept be received all the same; close() is called
 *	next.  They are @len bytes of a ring of @size bytes, a power of two, from offset @at
 *	modulo @size.  The ring and its charge belong to the transport then.  NULL: close() drops
 *	such bytes
 * @shutdown: send no more.  After close() the connection continues without its endpoint until the
 *	peer has acknowledged all bytes, at most until @until, in jiffies; may sleep
 * @close: end the connection without waiting for the peer, but for a piece of memory that it reads
 *	by reference just now.  No memory of this rank is read or stored in by the peer or by a
 *	device when it returns.  @reset: drop queued bytes on both sides; may sleep
 */
struct coll_transport {
	u32 kind;
	struct module *owner;
	bool by_reference;
	int (*listen)(struct coll_endpoint *ep, struct sockaddr_storage *addr);
	int (*connect)(struct coll_endpoint *ep, const struct sockaddr_storage *addr,
		       const struct sockaddr_storage *local);
	int (*accept)(struct coll_endpoint *listener, struct coll_endpoint *ep);
	int (*status)(struct coll_endpoint *ep);
	int (*send)(struct coll_endpoint *ep, const void *ptr, u32 len);
	int (*send_frame)(struct coll_endpoint *ep, const struct coll_out *out,
			  u32 *zerocopy_bytes);
	int (*receive)(struct coll_endpoint *ep, u32 budget);
	u64 (*consumed)(struct coll_endpoint *ep);
	bool (*revoke)(struct coll_endpoint *ep, const void *owner);
	bool (*can_defer_rx)(const struct coll_endpoint *ep, u32 bytes);
	bool (*info)(struct coll_endpoint *ep, struct coll_endpoint_info *info);
	bool (*acknowledges)(struct coll_endpoint *ep);
	void (*resend)(struct coll_endpoint *ep, u32 ms, bool lost);
	int (*setup)(struct coll_endpoint *ep, bool bulk);
	void (*send_rest)(struct coll_endpoint *ep, void *ring, u32 size, u32 at, u32 len);
	void (*shutdown)(struct coll_endpoint *ep, unsigned long until);
	void (*close)(struct coll_endpoint *ep, bool reset);
};

/* Pieces of memory that one send_frame() describes at most. */
#define COLL_SEND_PIECES	257

extern const struct coll_transport coll_tcp;
extern const struct coll_transport coll_local;

/* late.c: the transport of a module of its own, collective_rdma.ko */
int coll_rdma_register(const struct coll_transport *transport);
void coll_rdma_unregister(const struct coll_transport *transport);
const struct coll_transport *coll_rdma_get(void);
const struct coll_transport *coll_rdma_get_loaded(void);
void coll_rdma_put(const struct coll_transport *transport);
bool coll_rdma_registered(void);

#endif /* COLL_TRANSPORT_H */
