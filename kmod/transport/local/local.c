// SPDX-License-Identifier: GPL-2.0-only
/*
 * The local transport: ranks of one kernel, memory to memory.
 *
 * Small payloads are copied into a ring.  Larger ones stay where they are: the ring carries a
 * reference, and the reader hands the pages of the sender to its owner.  A piece of at most
 * LOCAL_PIECE bytes is read without being preempted, so that a sender that revokes a reference
 * waits for no longer than that.
 */
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "mem/account.h"
#include "transport/local/local.h"

#define LOCAL_PIECE	(64 * 1024U)

/* Bytes of a ring that has carried frames of data, or many control frames... */
#define LOCAL_RING_FRAMES	4096U
/* ...and of one that has carried small payloads of some KiB, or many of them. */
#define LOCAL_RING_BULK		65536U

static struct coll_pipe *pipe_out(const struct coll_endpoint *ep)
{
	return &coll_local_end(ep)->pipe;
}

static struct coll_pipe *pipe_in(const struct coll_endpoint *ep)
{
	return &coll_local_other(coll_local_end(ep))->pipe;
}

static void notify_peer(struct coll_endpoint *ep, enum coll_event event)
{
	coll_local_notify(coll_local_other(coll_local_end(ep)), event);
}

/* A call can be written to at once: the peer may take it later. */
static int local_status(struct coll_endpoint *ep)
{
	return 0;
}

static void free_old_ring(struct coll_endpoint *ep)
{
	void *ring = coll_pipe_take_old(pipe_out(ep));

	if (!ring)
		return;
	kvfree(ring);
	ep->charged -= pipe_out(ep)->old_size;
	coll_uncharge(ep->charges, pipe_out(ep)->old_size);
}

/* More space is a matter of speed only. */
static void local_grow(struct coll_endpoint *ep, u32 size)
{
	void *ring;

	if (!coll_pipe_may_grow(pipe_out(ep)) || coll_charge(ep->charges, size))
		return;
	free_old_ring(ep);
	ring = kvmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	if (ring && coll_pipe_grow(pipe_out(ep), ring, size)) {
		ep->charged += size;
		return;
	}
	kvfree(ring);
	coll_uncharge(ep->charges, size);
}

static int local_put(struct coll_endpoint *ep, const struct coll_out *out)
{
	int n = coll_pipe_put(pipe_out(ep), out);

	if (n > 0)
		notify_peer(ep, COLL_EVENT_READABLE);
	return n;
}

static int local_send(struct coll_endpoint *ep, const void *ptr, u32 len)
{
	struct coll_local_end *end = coll_local_end(ep);
	int n;

	if (end->crowded && end->pipe.size < LOCAL_RING_FRAMES)
		local_grow(ep, LOCAL_RING_FRAMES);
	n = local_put(ep, &(struct coll_out){ .ptr = ptr, .len = len, .copy = true });
	/* Space is short, but none is left now to say where the new ring is. */
	end->crowded = n == -EAGAIN;
	return n;
}

/* The size that the ring should have for a frame of data. */
static u32 ring_wanted(const struct coll_local_end *end, const struct coll_out *out)
{
	if (out->copy && (end->crowded || out->len + out->more > LOCAL_RING_FRAMES / 4))
		return LOCAL_RING_BULK;
	return LOCAL_RING_FRAMES;
}

static int local_send_frame(struct coll_endpoint *ep, const struct coll_out *out,
			    u32 *zerocopy_bytes)
{
	struct coll_local_end *end = coll_local_end(ep);
	u32 wanted = ring_wanted(end, out);
	int n;

	if (end->pipe.size < wanted)
		local_grow(ep, wanted);
	n = local_put(ep, out);
	end->crowded = n == -EAGAIN;
	*zerocopy_bytes = n > 0 && !out->copy ? n - (out->ptr ? out->len : 0) : 0;
	return n;
}

/* Hand bytes in the ring over.  Return: number of bytes consumed. */
static u32 receive_bytes(struct coll_endpoint *ep, u32 budget, bool *tell)
{
	struct coll_pipe *pipe = pipe_in(ep);
	const void *ptr;
	u32 len;
	int n;

	ptr = coll_pipe_bytes(pipe, &len);
	n = coll_endpoint_recv(ep, ptr, min(len, budget));
	if (n < 0)
		return 0;
	*tell |= coll_pipe_consume(pipe, n);
	return n;
}

/*
 * Hand a piece of the peer's memory over; preemption is disabled.  Return: number of bytes
 * consumed, or a negative errno of recv(); -ENOLINK: the reference is revoked.
 */
static int read_piece(struct coll_endpoint *ep, struct coll_reference *reference, u32 budget,
		      bool *last)
{
	u32 done = pipe_in(ep)->record_done;
	const void *ptr;
	size_t len;
	int n;

	if (!coll_reference_begin(reference))
		return -ENOLINK;
	ptr = reference->mem->at(reference->mem, reference->off + done, &len);
	len = min3(len, (size_t)(reference->record.len - done), (size_t)min(budget, LOCAL_PIECE));
	n = ep->ops->recv(ep, ptr, len);
	*last = !coll_reference_end(reference);
	return n;
}

static u32 receive_reference(struct coll_endpoint *ep, struct coll_reference *reference,
			     u32 budget, bool *tell)
{
	struct coll_pipe *pipe = pipe_in(ep);
	u32 left = reference->record.len - pipe->record_done;
	bool last = false;
	int n;

	preempt_disable();
	n = read_piece(ep, reference, budget, &last);
	preempt_enable();
	if (n == -ENOLINK) {
		last = true;
		n = 0;
	}
	/* The writer may wait for this: all that is left counts as consumed at once. */
	if (last && n >= 0 && n < left) {
		ep->ops->recv_revoked(ep, left - n);
		n = left;
	}
	coll_endpoint_recv_done(ep);
	if (n < 0) {
		ep->error = n;
		n = 0;
	}
	if (n)
		*tell |= coll_pipe_consume(pipe, n);
	if (last) {
		coll_endpoint_recv_idle(ep);
		wake_up_all(&coll_local_end(ep)->conn->reads);
	}
	return n;
}

static u32 receive_record(struct coll_endpoint *ep, struct coll_pipe_record *record, u32 budget,
			  bool *tell)
{
	if (record->kind == COLL_PIPE_REFERENCE)
		return receive_reference(ep, coll_pipe_reference(record), budget, tell);
	return receive_bytes(ep, budget, tell);
}

/* Hand over what the peer has left behind the ring.  Return: number of bytes consumed. */
static u32 receive_rest(struct coll_endpoint *ep, u32 budget)
{
	struct coll_pipe *pipe = pipe_in(ep);
	u32 done = 0, len;

	while (!ep->error && done < budget) {
		const void *ptr = coll_pipe_rest(pipe, &len);
		int n;

		if (!len)
			break;
		n = coll_endpoint_recv(ep, ptr, min(len, budget - done));
		if (n <= 0)
			break;
		coll_pipe_consume_rest(pipe, n);
		done += n;
	}
	return done;
}

static int local_receive(struct coll_endpoint *ep, u32 budget)
{
	struct coll_pipe *pipe = pipe_in(ep);
	struct coll_pipe_record *record;
	bool tell = false, ended;
	u32 done = 0;
	int error;

	/* Before the records are looked at: then all of them are seen. */
	ended = coll_pipe_ended(pipe, &error);
	while (!ep->error && done < budget) {
		u32 n;

		record = coll_pipe_next(pipe);
		if (!record)
			break;
		n = receive_record(ep, record, budget - done, &tell);
		/* The owner leaves the rest for later. */
		if (!n)
			break;
		done += n;
	}
	if (ended && done < budget && !coll_pipe_readable(pipe))
		done += receive_rest(ep, budget - done);
	coll_endpoint_recv_idle(ep);
	if (tell)
		notify_peer(ep, COLL_EVENT_WRITABLE);
	if (ep->error)
		return ep->error;
	if (done) {
		if (ended)
			coll_endpoint_event(ep, COLL_EVENT_READABLE);
		return done;
	}
	if (!ended || coll_pipe_readable(pipe) || pipe->rest_len)
		return -EAGAIN;
	return error;
}

static u64 local_consumed(struct coll_endpoint *ep)
{
	/* Pairs with coll_pipe_consume(): what was read may be changed. */
	return smp_load_acquire(&pipe_out(ep)->consumed);
}

static bool local_revoke(struct coll_endpoint *ep, const void *owner)
{
	return coll_pipe_revoke(pipe_out(ep), owner);
}

/* The peer is this kernel: there is nothing that it could have told otherwise. */
static int local_setup(struct coll_endpoint *ep, bool bulk)
{
	return 0;
}

static bool local_can_defer_rx(const struct coll_endpoint *ep, u32 bytes)
{
	const struct coll_pipe *pipe = pipe_in(ep);
	int error;

	return !coll_pipe_ended(pipe, &error) &&
	       READ_ONCE(pipe->head) - READ_ONCE(pipe->tail) <=
	       min(bytes, READ_ONCE(pipe->read_size) / 2);
}

static void local_send_rest(struct coll_endpoint *ep, void *ring, u32 size, u32 at, u32 len)
{
	coll_pipe_set_rest(pipe_out(ep), ring, size, at, len);
	/* The ring's charge has come with it. */
	ep->charged += size;
}

/* What was written stays readable anyway. */
static void local_shutdown(struct coll_endpoint *ep, unsigned long until)
{
}

/* No byte of this end's memory is read when this returns. */
static void local_close(struct coll_endpoint *ep, bool reset)
{
	struct coll_local_end *end;

	if (ep->listens) {
		coll_local_listener_close(ep);
		return;
	}
	end = coll_local_end(ep);
	coll_pipe_end(pipe_out(ep), reset ? -ECONNRESET : 0);
	coll_pipe_leave(pipe_in(ep));
	if (end == &end->conn->caller)
		coll_local_withdraw_connect(ep);
	if (!coll_pipe_revoke(pipe_out(ep), NULL))
		wait_event(end->conn->reads, !coll_pipe_is_read(pipe_out(ep)));
	notify_peer(ep, COLL_EVENT_READABLE);
	notify_peer(ep, COLL_EVENT_WRITABLE);
	coll_local_detach(ep);
}

/* Ranks that are members of one group in one kernel. */
const struct coll_transport coll_local = {
	.kind		= COLLECTIVE_TRANSPORT_LOCAL,
	.by_reference	= true,
	.listen		= coll_local_listen,
	.connect	= coll_local_connect,
	.accept		= coll_local_accept,
	.status		= local_status,
	.send		= local_send,
	.send_frame	= local_send_frame,
	.receive	= local_receive,
	.consumed	= local_consumed,
	.revoke		= local_revoke,
	.can_defer_rx	= local_can_defer_rx,
	.setup		= local_setup,
	.send_rest	= local_send_rest,
	.shutdown	= local_shutdown,
	.close		= local_close,
};
