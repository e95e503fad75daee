/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_TX_RING_H
#define COLL_TX_RING_H

#include "net/tx_ring_env.h"

/*
 * Requests in flight for whose frames the rings of a member have space once it has submitted
 * something.
 */
#define COLL_TX_OPS_FIRST	4U

/* Space for frames of queries in the ring of a busy link, before they are there; bytes. */
#define COLL_TX_SPARE		8192U

/**
 * struct coll_tx_ring - control frames of a link that are to be sent
 * @lock: protects the rest
 * @charges: of the member [c]
 * @bytes: memory of the ring
 * @size: bytes of it, a power of two; what is charged
 * @reserved: bytes of it for the frames of requests and answers: coll_tx_ring_bytes()
 * @spare: bytes queued beyond which it takes no frame of a query [c]
 * @most: bytes to which it may grow [c]
 * @head: bytes queued so far
 * @tail: bytes sent so far; advanced by the control runner only
 * @sending: memory from which the control runner sends just now, without the lock; NULL: none
 *
 * A thread that submits makes the ring larger before its request is in flight, as
 * coll_tx_ring_bytes() says.  Then it has space for all frames that the request causes.  Frames
 * that answer a peer, or pass on what it has sent, have COLL_TX_ANSWERS bytes.  The control runner
 * receives no further frame while a ring is low, and makes it larger first.  So does a thread that
 * submits, because requests that fail at once leave their frames behind.  A frame without space
 * fails the group.  An idle link makes its ring small again.  Before the first request it has space
 * for answers only.
 *
 * Frames of queries have the space beyond @reserved.  A busy link has COLL_TX_SPARE bytes of it at
 * least; the ring grows for more without sleeping.  Without space they are dropped.
 *
 * When the ring grows, the frames move to the same positions of other memory.  The control runner
 * may be sending from the old memory, which it frees afterwards.
 */
struct coll_tx_ring {
	spinlock_t lock;
	struct coll_charges *charges;
	u8 *bytes;
	u32 size;
	u32 reserved;
	u32 spare;
	u32 most;
	u32 head;
	u32 tail;
	const u8 *sending;
};

u32 coll_tx_ring_bytes(u32 nlanes, u32 ops);
int coll_tx_ring_init(struct coll_tx_ring *ring, struct coll_charges *charges, u32 nlanes,
		      u32 ops, u32 spare);
void coll_tx_ring_cleanup(struct coll_tx_ring *ring);
void *coll_tx_ring_take(struct coll_tx_ring *ring);
int coll_tx_ring_grow(struct coll_tx_ring *ring, u32 bytes);
void coll_tx_ring_shrink(struct coll_tx_ring *ring, u32 bytes);
bool coll_tx_ring_put(struct coll_tx_ring *ring, const u8 *frame);
bool coll_tx_ring_put_spare(struct coll_tx_ring *ring, const u8 *frame);
bool coll_tx_ring_is_low(const struct coll_tx_ring *ring);
int coll_tx_ring_make_space(struct coll_tx_ring *ring);
bool coll_tx_ring_has_space(struct coll_tx_ring *ring);
const u8 *coll_tx_ring_begin_send(struct coll_tx_ring *ring, u32 *len);
void coll_tx_ring_end_send(struct coll_tx_ring *ring, u32 sent);

#endif /* COLL_TX_RING_H */
