// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections.  Each one keeps its order; there is no order between different ones.
 *
 * A data connection holds copied bytes and references, up to a capacity.  Sends and receives
 * have random lengths.  Sometimes referenced bytes are read twice and the first result is
 * dropped, as when TCP retransmits.  A control connection holds encoded frames.
 *
 * A link may send by reference, as the local transport does: a reference is sent as a whole, its
 * end tells the sender what was consumed, and the sender may revoke it.
 */
#include "sim.h"

/* Set the counters of both ends as if the bytes of @origin had been sent and consumed. */
static void endpoint_count(struct coll_stream *stream, const struct origin *origin)
{
	stream->tx_orders = origin->position;
	stream->tx_position = origin->position;
	stream->tx_consumed = origin->position;
	stream->rx_position = origin->position;
	stream->tx_eager = origin->eager;
	stream->tx_credit = origin->eager + COLL_CREDIT_FIRST;
	stream->tx_credited = origin->eager;
	stream->rx_eager = origin->eager;
	stream->rx_consumed = origin->eager;
	stream->rx_returned = origin->eager;
	stream->rx_credited = origin->eager;
}

/* Does the link between two ranks send by reference?  Both ends find the same. */
static bool link_is_local(const struct sim *sim, u32 a, u32 b)
{
	u64 pair = (u64)min(a, b) << 32 | max(a, b);

	return sim->config.local == 1 ||
	       (sim->config.local == 2 && rng_mix(sim->config.seed ^ pair) % 2);
}

/* Let a connection of the narrow rank hold less than a header, so that its frames stay open. */
static void endpoint_narrow(struct endpoint *ep, u32 peer)
{
	struct sim *sim = ep->member->sim;

	ep->receive.lazy = peer + 1 == sim->config.narrow_rank;
	if (ep->member->rank + 1 == sim->config.narrow_rank)
		ep->capacity = rng_between(&sim->rng, 8, COLL_DATA_SIZE);
}

/**
 * endpoint_get() - get one end of the connection of a lane to a peer, made on demand
 * @member: the rank at this end
 * @lane: the lane
 * @peer: the rank at the other end
 *
 * Return: the endpoint; it may not be up yet.
 */
struct endpoint *endpoint_get(struct member *member, u32 lane, u32 peer)
{
	struct endpoint *ep = member->ep[lane][peer], *back;
	struct sim *sim = member->sim;

	if (ep)
		return ep;

	ep = calloc(1, sizeof(*ep));
	member->ep[lane][peer] = ep;
	ep->member = member;
	ep->last = &ep->first;
	ep->capacity = (1ULL << rng_between(&sim->rng, 6, 18)) + sim->bytes / 256;
	/* The exact size, so that the sanitizer notices a write of one byte more. */
	ep->grants = calloc(COLL_GRANTS(sim->config.nslots), sizeof(*ep->grants));
	coll_stream_init(&ep->stream, &member->engine[lane], peer,
			 malloc(coll_unexp_bytes(COLL_CREDIT_FIRST)), ep->grants,
			 COLL_GRANTS(sim->config.nslots));
	endpoint_count(&ep->stream, &sim->config.origin);
	ep->stream.by_reference = link_is_local(sim, member->rank, peer);
	ep->consumed = sim->config.origin.position;
	if (sim_timed(sim) && sim->config.mutation != MUTATION_LEASE)
		ep->stream.lease = sim->now + SIM_LEASE;
	if (!member->answered_ping[peer])
		member->answered_ping[peer] = sim->now;
	sim_actor_init(sim, &ep->send, ACTOR_SEND, member->rank, ep);
	sim_actor_init(sim, &ep->connect, ACTOR_CONNECT, member->rank, ep);
	sim_actor_init(sim, &ep->receive, ACTOR_RECEIVE, member->rank, ep);
	endpoint_narrow(ep, peer);

	/* Links to the neighbours in the ring are required links, and up from the start. */
	ep->up = peer == (member->rank + 1) % sim->config.nranks ||
		 member->rank == (peer + 1) % sim->config.nranks;
	if (!ep->up)
		sim_wake(sim, &ep->connect);
	else
		list_add_tail(&ep->stream.node, &member->engine[lane].streams);

	back = endpoint_get(&sim->members[peer], lane, member->rank);
	ep->other = back;
	back->other = ep;
	return ep;
}

static void endpoint_pop(struct endpoint *ep)
{
	struct ref *ref = ep->first;

	ep->first = ref->next;
	if (!ep->first)
		ep->last = &ep->first;
	free(ref->copy);
	free(ref);
}

/**
 * endpoint_opens() - find out whether a frame of a task is open
 * @member: the rank
 * @lane: the lane
 * @task: the task
 *
 * Return: true if a stream of the lane has sent only a part of a frame of this task.
 */
bool endpoint_opens(const struct member *member, u32 lane, const struct coll_task *task)
{
	u32 peer;

	for (peer = 0; peer < member->sim->config.nranks; peer++)
		if (member->ep[lane][peer] && member->ep[lane][peer]->stream.tx_task == task)
			return true;
	return false;
}

/*
 * Return: a random number of bytes from 1 to @most, often @most, sometimes very few.  Because
 * every rank that forwards the bytes cuts them again, large worlds are cut less often.
 */
static u32 some(struct sim *sim, u64 most)
{
	struct rng *rng = &sim->rng;

	switch (rng_below(rng, 4 + sim->bytes / 8192)) {
	case 0:
		return rng_between(rng, 1, most);
	case 1:
		return rng_between(rng, 1, min_t(u64, most, 40));
	default:
		return most;
	}
}

static struct ref *endpoint_push(struct endpoint *ep, u32 len)
{
	struct ref *ref = calloc(1, sizeof(*ref));

	ref->len = len;
	*ep->last = ref;
	ep->last = &ref->next;
	ep->queued += len;
	return ref;
}

static void endpoint_push_header(struct endpoint *ep, const struct coll_out *out, u32 len)
{
	struct ref *ref = endpoint_push(ep, len);

	ref->copy = malloc(len);
	memcpy(ref->copy, out->ptr, len);
}

static void endpoint_push_payload(struct endpoint *ep, const struct coll_out *out, u32 len)
{
	struct sim_mem *mem = container_of(out->mem, struct sim_mem, mem);
	struct ref *ref = endpoint_push(ep, len);

	if (out->copy) {
		ref->copy = malloc(len);
		memory_read(mem, out->off, ref->copy, len);
		return;
	}
	ref->mem = mem;
	ref->off = out->off;
	ref->position = out->position;
	ref->owner = out->owner;
	memory_ref_add(mem, out->off, len);
	/* What is sent from scratch counts as copied, whether or not it is. */
	if (!mem->window)
		ep->member->zerocopy_bytes[ep->stream.engine->lane] += len;
}

static void ref_revoke(struct ref *ref)
{
	memory_ref_remove(ref->mem, ref->off, ref->len);
	ref->mem = NULL;
	ref->revoked = true;
}

/**
 * endpoint_revoke() - let nothing be read any more that an owner has sent by reference
 * @ep: the sending end
 * @owner: see struct coll_out; NULL: of all owners
 *
 * Return: true if a piece is being read.
 */
bool endpoint_revoke(struct endpoint *ep, const void *owner)
{
	bool read = false;
	struct ref *ref;

	for (ref = ep->first; ref; ref = ref->next) {
		if (!ref->mem || (owner && ref->owner != owner))
			continue;
		if (owner && ref->read_started && rng_once_in(&ep->member->sim->rng, 2)) {
			ref->revoking = true;
			read = true;
		} else {
			ref_revoke(ref);
		}
	}
	return read;
}

/* The receiver has consumed a reference. */
static void endpoint_consumed(struct endpoint *ep)
{
	if (ep->stream.by_reference && coll_stream_consumed(&ep->stream, ep->consumed))
		sim_fail(ep->member->sim, "position %llu is consumed",
			 (unsigned long long)ep->consumed);
}

/* Bytes to send at once; a header and a reference are sent together. */
static u32 endpoint_choose(struct endpoint *ep, const struct coll_out *out)
{
	u32 whole = out->len + out->more;

	if (ep->stream.by_reference && !out->copy && whole > (out->ptr ? out->len : 0))
		return whole;
	return some(ep->member->sim, min_t(u64, whole, ep->capacity - ep->queued));
}

/**
 * endpoint_send() - send bytes of a stream, as a transport does
 * @ep: the endpoint
 *
 * Return: false if there is nothing to send until the stream is kicked, if the connection is
 * full, or if it is not up.
 */
bool endpoint_send(struct endpoint *ep)
{
	struct sim *sim = ep->member->sim;
	struct coll_out out, again;
	u32 len, head;

	if (ep->up)
		endpoint_consumed(ep);
	if (ep->queued >= ep->capacity || !ep->up)
		return false;
	member_tick(ep->member);
	if (!coll_stream_next(&ep->stream, &out))
		return false;
	if (!coll_stream_next(&ep->stream, &again) || again.ptr != out.ptr ||
	    again.mem != out.mem || again.off != out.off || again.len != out.len)
		sim_fail(sim, "coll_stream_next() gives other bytes when called again");
	if (!out.len) {
		sim_fail(sim, "coll_stream_next() gives no bytes");
		return false;
	}

	len = endpoint_choose(ep, &out);
	head = out.ptr ? min(out.len, len) : 0;
	if (head)
		endpoint_push_header(ep, &out, head);
	if (len > head)
		endpoint_push_payload(ep, &out, len - head);
	sim_wake(sim, &ep->other->receive);
	coll_stream_sent(&ep->stream, len);
	if (sim->config.mutation == MUTATION_SCRATCH_REF && ep->stream.by_reference &&
	    len > head && container_of(out.mem, struct sim_mem, mem)->window)
		coll_stream_consumed(&ep->stream, ep->stream.tx_position);

	if (sim->config.mutation == MUTATION_CONSUMED && len > head && !out.copy)
		coll_stream_consumed(&ep->stream, ep->stream.tx_position);
	engine_deliver_unexpected(ep->stream.engine);
	return true;
}

/* Check the bounds of the unexpected buffer, of the credit and of the unused grants. */
static void endpoint_bounded(struct endpoint *ep)
{
	const struct coll_stream *s = &ep->stream;
	bool open = s->rx_open && s->sink.kind == COLL_SINK_UNEXP;
	u64 kept = s->unexp_len + (open ? COLL_DATA_SIZE + s->rx_data.length : 0);

	if (kept > s->rx_credit ||
	    (open && s->sink.unexp + s->sink.left >
		     s->unexp_buf + coll_unexp_bytes(s->rx_credit)) ||
	    s->rx_eager - s->rx_returned > s->rx_credit)
		sim_fail(ep->member->sim, "%llu bytes are in the unexpected buffer",
			 (unsigned long long)kept);
	if (s->grants.count >= s->grants.size)
		sim_fail(ep->member->sim, "%u grants are kept", s->grants.count);
}

/* The peer has broken the protocol, or this rank has. */
static void endpoint_refuse(struct endpoint *ep)
{
	ep->refused = true;
	fault_refused(ep->member, ep->stream.peer);
}

/* Hand @len bytes to the stream, as a transport would. */
static void endpoint_deliver(struct endpoint *ep, const u8 *bytes, u32 len)
{
	struct member *member = ep->member;
	struct coll_stream *stream = &ep->stream;

	while (len && !member->sim->broken && !ep->refused) {
		bool reduces = coll_stream_reduces(stream);
		int n;

		member->fpu = reduces;
		hazard_watch(stream);
		n = coll_stream_receive(stream, bytes, len);
		hazard_watch(NULL);
		if (member->fpu != reduces)
			sim_fail(member->sim, "the vector registers are left in use");
		member->fpu = false;
		if ((n < 0 || ep->mismatched) && (stream->peer == member->sim->ungranted ||
						  member->rank == member->sim->ungranted)) {
			endpoint_refuse(ep);
			return;
		}
		if (n <= 0 || (u32)n > len) {
			sim_fail(member->sim, "rank %u from %u: coll_stream_receive(%u) is %d",
				 member->rank, stream->peer, len, n);
			return;
		}
		bytes += n;
		len -= n;
		endpoint_bounded(ep);
	}
}

/* The oldest bytes in flight are gone from @other, the sending end. */
static void endpoint_finish(struct endpoint *other)
{
	u64 position = other->first->position;

	endpoint_pop(other);
	if (other->stream.by_reference && position)
		other->consumed = position;
	sim_wake(other->member->sim, &other->send);
}

/* The oldest bytes in flight were revoked, so they never come. */
static void endpoint_skip(struct endpoint *ep)
{
	struct ref *ref = ep->other->first;
	u32 len = ref->len;

	ep->other->queued -= len;
	endpoint_finish(ep->other);
	if (ep->member->sim->config.mutation == MUTATION_REVOKED) {
		u8 *zeros = calloc(1, len);

		endpoint_deliver(ep, zeros, len);
		free(zeros);
	} else if (!ep->refused) {
		coll_stream_revoked(&ep->stream, len);
		coll_stream_pause(&ep->stream);
	}
}

/* Take a random part of the oldest bytes in flight and deliver it, at a random alignment. */
static void endpoint_fragment(struct endpoint *ep)
{
	struct sim *sim = ep->member->sim;
	struct endpoint *other = ep->other;
	struct ref *ref = other->first;
	u32 len, align;
	u8 *heap;

	if (ref->revoking && ref->mem)
		ref_revoke(ref);
	if (ref->revoked) {
		endpoint_skip(ep);
		return;
	}
	len = some(sim, ref->len);
	align = rng_below(&sim->rng, 9);
	heap = malloc(align + len);

	if (ref->mem) {
		ref->read_started = true;
		if (rng_once_in(&sim->rng, 8))
			memory_read(ref->mem, ref->off, heap + align, len);
		memory_read(ref->mem, ref->off, heap + align, len);
		memory_ref_remove(ref->mem, ref->off, len);
		ref->off += len;
	} else {
		memcpy(heap + align, ref->copy, len);
		memmove(ref->copy, ref->copy + len, ref->len - len);
	}
	ref->len -= len;
	other->queued -= len;
	if (!ref->len)
		endpoint_finish(other);
	sim_wake(sim, &other->send);
	endpoint_deliver(ep, heap + align, len);
	free(heap);
}

/* Is there memory for more credit?  In a quarter of the worlds there is never any. */
static bool endpoint_has_memory(struct endpoint *ep)
{
	struct sim *sim = ep->member->sim;

	return rng_mix(sim->config.seed ^ 0x706f6f72) % 4 && rng_once_in(&sim->rng, 4);
}

/* Give the peer the credit that it should have, as memory allows. */
static void endpoint_raise_credit(struct endpoint *ep)
{
	struct coll_stream *stream = &ep->stream;
	u32 credit = stream->rx_wanted;

	if (ep->refused || (!credit && !stream->rx_blocked))
		return;
	if (ep->member->sim->config.mutation == MUTATION_BLOCKED)
		return;
	if (credit > stream->rx_credit && endpoint_has_memory(ep))
		free(coll_stream_raise_credit(stream, malloc(coll_unexp_bytes(credit)), credit));
	else if (stream->rx_blocked)
		coll_stream_refuse_credit(stream);
	endpoint_bounded(ep);
}

/**
 * endpoint_receive() - receive some bytes
 * @ep: the receiving end
 *
 * Return: false if no more are in flight, or if the connection is not up.
 */
bool endpoint_receive(struct endpoint *ep)
{
	struct sim *sim = ep->member->sim;
	u32 fragments = rng_between(&sim->rng, 1, 8);

	if (!ep->up)
		return false;
	member_tick(ep->member);
	while (fragments-- && ep->other->first && !sim->broken)
		endpoint_fragment(ep);
	coll_stream_pause(&ep->stream);
	engine_deliver_unexpected(ep->stream.engine);
	endpoint_raise_credit(ep);
	member_wake_copy(ep->member);
	if (ep->mismatched && !ep->refused)
		endpoint_refuse(ep);
	return ep->other->first;
}

/**
 * endpoint_connect() - make a connection usable at this end
 * @ep: the end
 *
 * Return: false; it connects once.
 */
bool endpoint_connect(struct endpoint *ep)
{
	ep->up = true;
	coll_engine_connected(ep->stream.engine, &ep->stream);
	sim_wake(ep->member->sim, &ep->receive);
	return false;
}

/* Reset the connection: drop the bytes in flight from this end. */
void endpoint_reset(struct endpoint *ep)
{
	while (ep->first) {
		if (ep->first->mem)
			memory_ref_remove(ep->first->mem, ep->first->off, ep->first->len);
		endpoint_pop(ep);
	}
	ep->queued = 0;
}

/* Cut a reference to @len bytes, and copy it: memory of a dead rank is not written any more. */
static void ref_keep(struct ref *ref, u32 len)
{
	if (ref->mem) {
		ref->copy = malloc(ref->len);
		memory_read(ref->mem, ref->off, ref->copy, ref->len);
		memory_ref_remove(ref->mem, ref->off, ref->len);
		ref->mem = NULL;
	}
	ref->len = len;
}

/**
 * endpoint_die() - let the rank at this end die
 * @ep: the end; all, some or none of its bytes in flight arrive
 */
void endpoint_die(struct endpoint *ep)
{
	struct rng *rng = &ep->member->sim->rng;
	u64 arrives = rng_once_in(rng, 2) ? ep->queued : rng_below(rng, ep->queued + 1);
	struct endpoint lost = { .member = ep->member };
	struct ref *ref, **link = &ep->first;

	/* All that was copied stays readable, and nothing else. */
	if (ep->stream.by_reference) {
		endpoint_revoke(ep, NULL);
		return;
	}
	ep->queued = arrives;
	while ((ref = *link) && arrives) {
		ref_keep(ref, min_t(u64, ref->len, arrives));
		arrives -= ref->len;
		link = &ref->next;
	}
	lost.first = *link;
	*link = NULL;
	ep->last = link;
	endpoint_reset(&lost);
}

void endpoint_free(struct endpoint *ep)
{
	if (!ep)
		return;
	while (ep->first)
		endpoint_pop(ep);
	free(ep->stream.unexp_buf);
	free(ep->grants);
	free(ep);
}

/* Falsify a control frame, if the mutation says so. */
static void control_mutate(const struct sim *sim, struct coll_control *control)
{
	bool consumed = control->kind == COLL_CONTROL_CONSUMED ||
			control->kind == COLL_CONTROL_CREDIT;
	bool grant = control->kind == COLL_CONTROL_GRANT;

	if (sim->config.mutation == MUTATION_WINDOW && grant)
		control->position = COLL_GRANT_ALL;
	if (sim->config.mutation == MUTATION_POSITION && consumed)
		control->position = (u32)control->position;
	if (sim->config.mutation == MUTATION_INSTANCE && grant &&
	    coll_instance_is_counted(control->instance))
		control->instance = (u32)control->instance;
}

/**
 * control_send() - queue a control frame
 * @from: the sender
 * @to: rank of the receiver
 * @control: the frame; lost if one of the two ranks is cut off
 */
void control_send(struct member *from, u32 to, const struct coll_control *control)
{
	struct sim *sim = from->sim;
	struct queue *queue = from->queue[to];
	struct coll_control said;
	struct frame *frame;
	u32 bound;

	if (sim->config.mutation == MUTATION_DROPPED && control->kind == COLL_CONTROL_GRANT &&
	    !control->position)
		return;
	if (sim->cut != COLL_NO_RANK && (sim->cut == to || sim->cut == from->rank))
		return;
	if (!queue) {
		queue = calloc(1, sizeof(*queue));
		queue->from = from;
		queue->to = &sim->members[to];
		queue->last = &queue->first;
		sim_actor_init(sim, &queue->actor, ACTOR_CONTROL, to, queue);
		from->queue[to] = queue;
	}

	frame = calloc(1, sizeof(*frame));
	said = *control;
	control_mutate(sim, &said);
	coll_wire_put_control(frame->wire, &said, 0x1234);
	if (sim->config.mutation == MUTATION_CONTROL && rng_once_in(&sim->rng, 2)) {
		frame->next = queue->first;
		queue->first = frame;
		if (!frame->next)
			queue->last = &frame->next;
	} else {
		*queue->last = frame;
		queue->last = &frame->next;
	}

	queue->length++;
	sim->queue_max = max(sim->queue_max, queue->length);
	/*
	 * The most frames in flight: a GRANT and a CONSUMED for each task, a few CREDITs, and a
	 * GRANT for each request frame that fits into the credit.
	 */
	bound = sim->config.lanes * (2 * sim->config.nslots + 8 + COLL_CREDIT / COLL_DATA_SIZE);
	if (!sim->config.fault && queue->length > bound)
		sim_fail(sim, "%u control frames are queued", queue->length);
	sim_wake(sim, &queue->actor);
}

static int control_dispatch(struct member *member, u32 from, const struct coll_control *control)
{
	struct coll_stream *stream = &endpoint_get(member, control->lane, from)->stream;
	bool ungranted = member->rank == member->sim->ungranted;
	int err;

	switch (control->kind) {
	case COLL_CONTROL_GRANT:
		return coll_stream_granted(stream, control->instance,
					   ungranted ? COLL_GRANT_ALL : control->position,
					   control->digest);
	case COLL_CONTROL_CONSUMED:
		return coll_stream_consumed(stream, control->position);
	case COLL_CONTROL_CREDIT:
		return coll_stream_credited(stream, control->position, control->credit_reply);
	case COLL_CONTROL_BLOCKED:
		err = coll_stream_blocked(stream, control->position);
		endpoint_raise_credit(endpoint_get(member, control->lane, from));
		return err;
	}
	fault_control(member, from, control);
	return 0;
}

/**
 * queue_die() - let the host of the sender die
 * @queue: control frames of the dead rank; all, some or none of them arrive, and the receiver
 *	sees the end of the connection or not
 */
void queue_die(struct queue *queue)
{
	struct sim *sim = queue->from->sim;
	u32 arrives = rng_below(&sim->rng, queue->length + 1);
	struct frame **link = &queue->first;

	for (queue->length = 0; queue->length < arrives; queue->length++)
		link = &(*link)->next;
	queue->last = link;
	while (*link) {
		struct frame *frame = *link;

		*link = frame->next;
		free(frame);
	}
	if (rng_once_in(&sim->rng, 2))
		return;
	*link = calloc(1, sizeof(**link));
	(*link)->end = true;
	queue->last = &(*link)->next;
	queue->length++;
	sim_wake(sim, &queue->actor);
}

/**
 * control_receive() - receive a control frame
 * @queue: the connection
 *
 * Return: false if no more are in flight.
 */
bool control_receive(struct queue *queue)
{
	struct sim *sim = queue->to->sim;
	struct frame *frame = queue->first;
	struct coll_control control;
	int err;

	if (!frame)
		return false;
	queue->first = frame->next;
	if (!queue->first)
		queue->last = &queue->first;
	queue->length--;
	if (frame->end) {
		fault_end(queue->to, queue->from->rank);
		free(frame);
		return false;
	}

	err = coll_wire_get_control(frame->wire, &control, 0x1234);
	free(frame);
	if (!err) {
		member_tick(queue->to);
		err = control_dispatch(queue->to, queue->from->rank, &control);
		if (control.lane < sim->config.lanes)
			engine_deliver_unexpected(&queue->to->engine[control.lane]);
		member_wake_copy(queue->to);
	}
	if (err)
		sim_fail(sim, "rank %u refuses a control frame %u of rank %u: %d",
			 queue->to->rank, control.kind, queue->from->rank, err);
	return queue->first;
}

void queue_free(struct queue *queue)
{
	struct frame *frame;

	if (!queue)
		return;
	while ((frame = queue->first)) {
		queue->first = frame->next;
		free(frame);
	}
	free(queue);
}
