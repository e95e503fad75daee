/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_LIMITS_H
#define COLL_LIMITS_H

#include <linux/collective.h>

/* Requests that a member may have in flight; a power of two. */
#define COLL_INFLIGHT		512

/*
 * Collectives without a key by which a rank may be ahead of what all ranks are known to have
 * submitted; a power of two.  All in flight may fail, and as many more be submitted before the
 * failures are known.
 */
#define COLL_AHEAD_MAX		(2 * COLL_INFLIGHT)

/*
 * Messages and operations with a key that may fail before this rank refuses to submit more of
 * them, because their instances are remembered for the lifetime of the group.
 */
#define COLL_FAILED_MAX		65536

/* Largest operation for which a waiting thread polls, bytes. */
#define COLL_POLL_MAX		(4 * 1024 * 1024)

/* Smallest operation during which a waiting thread helps others to copy, bytes. */
#define COLL_HELP_MIN		(1024 * 1024)

#define COLL_BUFFERS_MAX	4096
#define COLL_HALF_OPEN_MAX	64

/*
 * Control frames that one request may send to one peer: ANNOUNCE, two EVIDENCE and ABORT; and
 * EVIDENCE and ABORT again in answer to a late ANNOUNCE of the peer.
 */
#define COLL_FRAMES_REQUEST	7
/*
 * Likewise for each lane: CREDIT, CONSUMED and five GRANTs.  A grant is a quarter of a window at
 * least, and further grants wait until the peer has used the first ones.
 */
#define COLL_FRAMES_LANE	7

#define COLL_DEFAULT_LANES		1
#define COLL_DEFAULT_TIMEOUT_MS		300000
#define COLL_DEFAULT_CONNECT_MS		60000
#define COLL_DEFAULT_HEARTBEAT_MS	1000
#define COLL_HEARTBEAT_MAX_MS		60000

/* In heartbeats; mem/pin.c says why lease < fence < silence. */
#define COLL_LEASE_BEATS	4
#define COLL_FENCE_BEATS	5
#define COLL_SILENCE_BEATS	6

/* Small operations after a large one until the rank counts as moving little again. */
#define COLL_BULK_DECAY_OPS		4

/* Settle time: reasons are collected for so long before requests fail with the strongest, ms. */
#define COLL_SETTLE_MS		25
/* The same for a reason that is inferred from the end of a link, ms. */
#define COLL_SETTLE_INFERRED_MS	100

#endif /* COLL_LIMITS_H */
