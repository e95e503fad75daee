/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_BOUNDS_H
#define COLL_BOUNDS_H

#include <linux/collective.h>

/* Requests a member may have in flight, a power of two. */
#define COLL_INFLIGHT		512

/*
 * Collectives without a key that a rank may be ahead of what all ranks are known to have
 * submitted, a power of two: all that are in flight may fail, and as many more be submitted before
 * that is known.
 */
#define COLL_AHEAD_MAX		(2 * COLL_INFLIGHT)

/*
 * Messages, and operations with a key, that may fail in a group before this rank refuses to
 * submit more of them: their names are remembered for ever.
 */
#define COLL_FAILED_MAX		65536

/* Bytes of an operation whose waiting thread may poll. */
#define COLL_POLL_MAX		(4 * 1024 * 1024)

/* Bytes of one whose waiting thread may help others copy theirs. */
#define COLL_HELP_MIN		(1024 * 1024)

#define COLL_BUFFERS_MAX	4096
#define COLL_HALF_OPEN_MAX	64

/*
 * Control frames that one request may have to tell one peer: ANNOUNCE, EVIDENCE, ABORT; and in
 * answer to an ANNOUNCE of the peer's EVIDENCE and ABORT again...
 */
#define COLL_FRAMES_REQUEST	7
/*
 * ...and for each lane CREDIT, CONSUMED, and GRANT: five, for a grant within a window
 * is a quarter of it at least, and further ones wait until the peer has used the
 * first ones.
 */
#define COLL_FRAMES_LANE	7

#define COLL_DEFAULT_LANES		1
#define COLL_DEFAULT_TIMEOUT_MS		300000
#define COLL_DEFAULT_CONNECT_MS		60000
#define COLL_DEFAULT_HEARTBEAT_MS	1000
#define COLL_HEARTBEAT_MAX_MS		60000

/* In heartbeats; the order matters (mem/pin.c). */
#define COLL_LEASE_BEATS	4
#define COLL_FENCE_BEATS	5
#define COLL_SILENCE_BEATS	6

/* So many small operations after one that moved much, a rank moves much no more. */
#define COLL_BULK_LASTS		4

/* How long reasons are collected before requests fail with the best, ms. */
#define COLL_SETTLE_MS		25
/* ...if that is a link's end, not a rank's. */
#define COLL_SETTLE_INFERRED_MS	100

#endif /* COLL_BOUNDS_H */
