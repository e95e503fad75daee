/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits, defaults and times of the module. */
#ifndef COLL_LIMITS_H
#define COLL_LIMITS_H

#include <linux/collective.h>

/* Requests that a member may have in flight; a power of two. */
#define COLL_INFLIGHT		512

/*
 * Collectives without a key that a rank may submit beyond the number that all ranks are known to
 * have submitted; a power of two.  All requests in flight may fail, and as many again may be
 * submitted before the rank knows that.
 */
#define COLL_AHEAD_MAX		(2 * COLL_INFLIGHT)

/* Collectives that a rank may complete before it has heard that all ranks have called them. */
#define COLL_CALLS_AHEAD	32

/*
 * Messages and operations with a key that may fail in a group before this rank refuses to submit
 * more of them.  Their instances are kept as long as the member lives.
 */
#define COLL_FAILED_MAX		65536

/* Operations of at most so many bytes are busy-polled for. */
#define COLL_POLL_MAX		(4 * 1024 * 1024)

/* Buffers that a member may have registered. */
#define COLL_BUFFERS_MAX	4096

/*
 * Calls that a member expects at a time, at least and at most: see coll_callers_max().  So many
 * may wait in the queue of a listener by RDMA.  So many incoming connections of each listener may
 * be half open and not answered, and as many answered without a proof of the secret.
 */
#define COLL_CALLS_LEAST	64U
#define COLL_CALLS_MOST		512U

/*
 * Control frames that one request may send to one peer, beside those of lanes: ANNOUNCE,
 * MISMATCH_CALL and ABORT; and in answer to an ANNOUNCE of the peer, MISMATCH_CALL and ABORT again.
 */
#define COLL_FRAMES_REQUEST	7

/*
 * Control frames that one request may send to one peer for each lane: CREDIT, CONSUMED, and five
 * GRANTs.  A grant within a window is at least a quarter of it, and further grants wait until the
 * peer has used the first ones.
 */
#define COLL_FRAMES_LANE	7

/* Parameters of JOIN and CONNECT that user space leaves at 0. */
#define COLL_DEFAULT_LANES		1
#define COLL_DEFAULT_TIMEOUT_MS		300000
#define COLL_DEFAULT_CONNECT_MS		60000
#define COLL_DEFAULT_HEARTBEAT_MS	1000

/*
 * Time for the connections of a link by RDMA that may be made by TCP instead, ms.  A request that
 * is lost is sent again after 4.3 s.
 */
#define COLL_TRY_MS			5000U

/* Time that a thread which waits in CONNECT has to fail a late one itself; jiffies. */
#define COLL_CONNECT_LATE		(HZ / 10)

/* An operation is slow after this part of the time to its deadline, percent. */
#define COLL_DEFAULT_SLOW_PERCENT	50

/* Least interval between heartbeats of a member that connects, ms: nothing is in flight. */
#define COLL_HEARTBEAT_CONNECT_MS	1000

/*
 * Longest time between looks at connections that are not open, ms: their pauses and time limits are
 * no longer where heartbeats are seldom.
 */
#define COLL_HANDSHAKE_TICK_MS		1000

/*
 * Time without packets after which TCP asks the peer whether it is there, s.  Half of the shortest
 * time for which firewalls commonly keep a connection in mind.
 */
#define COLL_KEEPALIVE_S	30

/*
 * Times after the last frame of a peer, in heartbeats.  A rank completes nothing with success after
 * its lease; a failed operation gives its memory back after the fence; a peer is taken for dead
 * after the silence.  The order is necessary: see mem/pin.c.  An outage may last for a heartbeat
 * less than the silence, which is the time for what was lost to be sent again.
 */
#define COLL_LEASE_BEATS	4
#define COLL_FENCE_BEATS	5
#define COLL_OUTAGE_BEATS	6
#define COLL_SILENCE_BEATS	7

/* Time after the last operation in which links by TCP have heartbeats, ms. */
#define COLL_REST_MS		60000

/* Time for which reasons are collected before requests fail with the strongest one, ms. */
#define COLL_SETTLE_MS		25

/* The same, if the reason is the end of a link and does not name a rank, ms. */
#define COLL_SETTLE_INFERRED_MS	100

#endif /* COLL_LIMITS_H */
