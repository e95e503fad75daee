// SPDX-License-Identifier: GPL-2.0-only
/* Transmit rings: control frames on their way from any context to the control runner. */
#include "core/wire/wire.h"
#include "limits.h"
#include "net/tx_ring.h"

/*
 * Bytes for frames that no request of this rank causes: answers to a peer, PING, LEAVE, ABORT.  An
 * idle ring of one lane has 1 KiB.
 */
#define COLL_TX_ANSWERS		896

/*
 * Space that the control runner makes before it receives: a frame of a peer causes at most the two
 * calls and the ABORT of a mismatch and the report of an absent rank, on each link; and the runner
 * itself sends PING, PONG, LEAVE and the ABORT of the group.
 */
#define COLL_TX_FORWARD		(COLL_TX_ANSWERS / 2)

/* Frames of each lane that are queued once at most: BLOCKED, and the answer to that of the peer. */
#define COLL_FRAMES_BLOCKED	2

/**
 * coll_tx_ring_bytes() - space that requests need in a ring
 * @nlanes: lanes of the member
 * @ops: requests in flight
 *
 * Return: bytes for all frames that these requests may send before the peer reads any.
 */
u32 coll_tx_ring_bytes(u32 nlanes, u32 ops)
{
	u32 frames = COLL_FRAMES_REQUEST + COLL_FRAMES_LANE * nlanes;

	return (ops * frames + COLL_FRAMES_BLOCKED * nlanes) * COLL_CONTROL_SIZE + COLL_TX_ANSWERS;
}

/**
 * coll_tx_ring_init() - an empty ring
 * @ring: zeroed
 * @charges: the memory is charged to
 * @nlanes: lanes of the member
 * @ops: requests in flight that it has space for
 * @spare: bytes queued beyond which it takes no frame of a query
 *
 * Context: may sleep.
 * Return: 0, -EDQUOT or -ENOMEM.
 */
int coll_tx_ring_init(struct coll_tx_ring *ring, struct coll_charges *charges, u32 nlanes,
		      u32 ops, u32 spare)
{
	u32 bytes = coll_tx_ring_bytes(nlanes, ops);
	u32 size = roundup_pow_of_two(bytes);
	int err = coll_charge(charges, size);

	if (err)
		return err;
	ring->bytes = kvmalloc(size, GFP_KERNEL_ACCOUNT);
	if (!ring->bytes) {
		coll_uncharge(charges, size);
		return -ENOMEM;
	}
	spin_lock_init(&ring->lock);
	ring->charges = charges;
	ring->size = size;
	ring->reserved = bytes;
	ring->spare = spare;
	ring->most = roundup_pow_of_two(coll_tx_ring_bytes(nlanes, COLL_INFLIGHT) + spare);
	return 0;
}

/**
 * coll_tx_ring_cleanup() - undo coll_tx_ring_init()
 * @ring: nothing is sent from it
 */
void coll_tx_ring_cleanup(struct coll_tx_ring *ring)
{
	if (!ring->bytes)
		return;
	kvfree(ring->bytes);
	coll_uncharge(ring->charges, ring->size);
	ring->bytes = NULL;
}

/**
 * coll_tx_ring_take() - take the memory from a ring, with its charge
 * @ring: nothing is sent from it; afterwards as after coll_tx_ring_cleanup()
 *
 * Return: the memory.
 */
void *coll_tx_ring_take(struct coll_tx_ring *ring)
{
	void *bytes = ring->bytes;

	ring->bytes = NULL;
	return bytes;
}

/*
 * Give the ring other memory, with space for what is queued.  Return: the old memory, to be freed;
 * NULL: the control runner frees it.
 */
static u8 *ring_replace(struct coll_tx_ring *ring, u8 *bytes, u32 size)
{
	u8 *old = ring->bytes;
	u32 at = ring->tail;

	lockdep_assert_held(&ring->lock);
	while (at != ring->head) {
		u32 from = at & (ring->size - 1), to = at & (size - 1);
		u32 n = min3(ring->head - at, ring->size - from, size - to);

		memcpy(bytes + to, old + from, n);
		at += n;
	}
	coll_uncharge(ring->charges, ring->size);
	ring->bytes = bytes;
	ring->size = size;
	return old == ring->sending ? NULL : old;
}

/* Return: bytes that are queued.  The caller serialises this. */
static u32 ring_reserve(struct coll_tx_ring *ring, u32 bytes)
{
	u32 queued;

	spin_lock(&ring->lock);
	ring->reserved = bytes;
	queued = ring->head - ring->tail;
	spin_unlock(&ring->lock);
	return queued;
}

/* Has memory of another size become useless, because the ring has changed meanwhile? */
static bool ring_keeps_memory(const struct coll_tx_ring *ring, u32 size, bool shrink)
{
	lockdep_assert_held(&ring->lock);
	return shrink ? size >= ring->size || ring->head != ring->tail : size <= ring->size;
}

/* Several threads may do so at a time.  Return: 0, -EDQUOT or -ENOMEM. */
static int ring_allocate(struct coll_tx_ring *ring, u32 size, bool shrink)
{
	gfp_t gfp = shrink ? GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN : GFP_KERNEL_ACCOUNT;
	u8 *bytes, *unused;
	int err;

	err = coll_charge(ring->charges, size);
	if (err)
		return err;
	bytes = kvmalloc(size, gfp);
	if (!bytes) {
		coll_uncharge(ring->charges, size);
		return -ENOMEM;
	}
	spin_lock(&ring->lock);
	if (ring_keeps_memory(ring, size, shrink)) {
		coll_uncharge(ring->charges, size);
		unused = bytes;
	} else {
		unused = ring_replace(ring, bytes, size);
	}
	spin_unlock(&ring->lock);
	kvfree(unused);
	return 0;
}

/**
 * coll_tx_ring_grow() - have space for the frames of more requests
 * @ring: the ring
 * @bytes: of these frames: coll_tx_ring_bytes()
 *
 * Context: may sleep; the caller serialises this with coll_tx_ring_shrink().
 * Return: 0, -EDQUOT or -ENOMEM.
 */
int coll_tx_ring_grow(struct coll_tx_ring *ring, u32 bytes)
{
	u32 before = ring->reserved, queued, size;
	int err = 0;

	/* From now on no frame of a query is queued that these requests may need the space of. */
	queued = ring_reserve(ring, bytes);
	size = roundup_pow_of_two(bytes + max(queued, COLL_TX_SPARE));
	if (size > READ_ONCE(ring->size))
		err = ring_allocate(ring, size, false);
	if (err)
		ring_reserve(ring, before);
	return err;
}

/**
 * coll_tx_ring_shrink() - make a ring smaller if it is empty, and if there is memory at once
 * @ring: the ring
 * @bytes: of the frames that it is to have space for: coll_tx_ring_bytes()
 *
 * Context: process; the caller serialises this with coll_tx_ring_grow().
 */
void coll_tx_ring_shrink(struct coll_tx_ring *ring, u32 bytes)
{
	u32 size = roundup_pow_of_two(bytes);

	ring_reserve(ring, bytes);
	if (size < READ_ONCE(ring->size))
		ring_allocate(ring, size, true);
}

/**
 * coll_tx_ring_is_low() - must space be made before a peer's frame is received?
 * @ring: the ring, locked
 *
 * Return: true if the next frame of a peer may cause more frames than there is space for, beside
 * those of requests, and the ring may grow.
 */
bool coll_tx_ring_is_low(const struct coll_tx_ring *ring)
{
	u32 requests = ring->reserved - COLL_TX_ANSWERS;

	lockdep_assert_held(&ring->lock);
	return ring->size < ring->most &&
	       ring->head - ring->tail + requests + COLL_TX_FORWARD > ring->size;
}

/**
 * coll_tx_ring_make_space() - have space for the frames that a peer's frame may cause
 * @ring: the ring
 *
 * The ring that may not grow is no failure while it has that space now: requests may have queued
 * already what they have reserved.
 *
 * Context: may sleep.
 * Return: 0, -EDQUOT or -ENOMEM.
 */
int coll_tx_ring_make_space(struct coll_tx_ring *ring)
{
	bool low, full;
	u32 size;
	int err;

	spin_lock(&ring->lock);
	low = coll_tx_ring_is_low(ring);
	full = ring->head - ring->tail + COLL_TX_FORWARD > ring->size;
	size = 2 * ring->size;
	spin_unlock(&ring->lock);
	if (!low)
		return 0;
	err = ring_allocate(ring, size, false);
	return full ? err : 0;
}

/* More space is needed than there is.  Return: false if there is no memory. */
static bool ring_grow_now(struct coll_tx_ring *ring)
{
	u32 size = 2 * ring->size;
	u8 *bytes;

	/* vfree() would sleep. */
	if (size > ring->most || is_vmalloc_addr(ring->bytes) ||
	    coll_charge(ring->charges, size))
		return false;
	bytes = kmalloc(size, GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
	if (!bytes) {
		coll_uncharge(ring->charges, size);
		return false;
	}
	kfree(ring_replace(ring, bytes, size));
	return true;
}

static void ring_copy_in(struct coll_tx_ring *ring, const u8 *frame)
{
	u32 at = ring->head & (ring->size - 1);
	u32 n = min_t(u32, COLL_CONTROL_SIZE, ring->size - at);

	memcpy(ring->bytes + at, frame, n);
	memcpy(ring->bytes, frame + n, COLL_CONTROL_SIZE - n);
	ring->head += COLL_CONTROL_SIZE;
}

/**
 * coll_tx_ring_put() - queue a frame
 * @ring: the ring, locked
 * @frame: COLL_CONTROL_SIZE bytes
 *
 * Return: false if there is no space.
 */
bool coll_tx_ring_put(struct coll_tx_ring *ring, const u8 *frame)
{
	lockdep_assert_held(&ring->lock);
	if (ring->head - ring->tail > ring->size - COLL_CONTROL_SIZE && !ring_grow_now(ring))
		return false;
	ring_copy_in(ring, frame);
	return true;
}

/**
 * coll_tx_ring_put_spare() - queue a frame of a query, if little is queued
 * @ring: the ring, locked
 * @frame: COLL_CONTROL_SIZE bytes
 *
 * Return: false if the frame is dropped.
 */
bool coll_tx_ring_put_spare(struct coll_tx_ring *ring, const u8 *frame)
{
	u32 queued = ring->head - ring->tail + COLL_CONTROL_SIZE;

	lockdep_assert_held(&ring->lock);
	if (queued > ring->spare)
		return false;
	if (ring->reserved + queued > ring->size && !ring_grow_now(ring))
		return false;
	if (ring->reserved + queued > ring->size)
		return false;
	ring_copy_in(ring, frame);
	return true;
}

/**
 * coll_tx_ring_has_space() - may frames be queued that the protocol does not need?
 * @ring: the ring
 *
 * Return: true if half of the space is free.
 */
bool coll_tx_ring_has_space(struct coll_tx_ring *ring)
{
	bool space;

	spin_lock(&ring->lock);
	space = ring->head - ring->tail <= ring->size / 2;
	spin_unlock(&ring->lock);
	return space;
}

/**
 * coll_tx_ring_begin_send() - the next bytes to send
 * @ring: the ring
 * @len: out: number of bytes that follow one another; 0: none
 *
 * Context: control runner.
 * Return: their address, valid until coll_tx_ring_end_send(), which must follow unless there are
 * none.
 */
const u8 *coll_tx_ring_begin_send(struct coll_tx_ring *ring, u32 *len)
{
	const u8 *from;
	u32 at;

	spin_lock(&ring->lock);
	at = ring->tail & (ring->size - 1);
	*len = min(ring->head - ring->tail, ring->size - at);
	from = ring->bytes + at;
	ring->sending = *len ? ring->bytes : NULL;
	spin_unlock(&ring->lock);
	return from;
}

/**
 * coll_tx_ring_end_send() - some of these bytes have been sent
 * @ring: the ring
 * @sent: number of bytes
 *
 * Context: control runner; may sleep.
 */
void coll_tx_ring_end_send(struct coll_tx_ring *ring, u32 sent)
{
	const u8 *old;

	spin_lock(&ring->lock);
	ring->tail += sent;
	old = ring->sending == ring->bytes ? NULL : ring->sending;
	ring->sending = NULL;
	spin_unlock(&ring->lock);
	if (old)
		kvfree(old);
}
