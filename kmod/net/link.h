/* SPDX-License-Identifier: GPL-2.0-only */
/* What protects a field, [c] and so on: coll.h. */
#ifndef COLL_LINK_H
#define COLL_LINK_H

#include <linux/rculist.h>
#include <linux/spinlock.h>

#include <linux/collective.h>

#include "op/match.h"
#include "limits.h"
#include "core/engine/engine.h"

struct coll_conn;
struct coll_member;

/* Hashes of names that a mail tells apart. */
#define COLL_MAIL_HASH		64

/**
 * struct coll_mailbox - what the control runner has for a data connection's lane
 *
 * It is the link's, for the control connection may be open, and the peer busy,
 * before the data connection is.
 *
 * @lock: protects the rest
 * @posted: there is something
 * @consumed: see coll_stream_consumed()
 * @credited: see coll_stream_credited()
 * @ngrants: how many
 * @grants: see coll_stream_granted(), each for another name, the latest limit; taken from
 *	the end
 * @head: by the hash of the name: the last one put in, plus one; 0: none
 * @next: by index in @grants: the one before it of the same hash, likewise
 */
struct coll_mailbox {
	spinlock_t lock;
	bool posted;
	u64 consumed;
	u64 credited;
	u32 ngrants;
	struct coll_grant grants[2 * COLL_INFLIGHT];
	u16 head[COLL_MAIL_HASH];
	u16 next[2 * COLL_INFLIGHT];
};

/* A bit of coll_link.refused, behind those of the lanes. */
#define COLL_REFUSED_CONTROL	COLLECTIVE_LANES_MAX

/**
 * struct coll_link - the way to one peer
 * @node: in the member's list [c]
 * @member: [c]
 * @peer: rank [c]
 * @charged: bytes charged for it, @tx_ring and @mailboxes; returned when it is freed [c]
 * @control: its control connection [C]
 * @required: to a neighbour on the ring, or to a rank that is told or tells what was
 *	called: made by JOIN, and CONNECT waits for it [c]
 * @nr_connecting: connections that this rank has begun, the control one first and then by lane;
 *	complete at 1 + lanes; changed under the member's demand mutex [a]
 * @data: its data connections, by lane; set once [a]
 * @refused_mask: bit (1 << lane), and COLL_REFUSED_CONTROL, of connections made on
 *	demand that could not be opened [a]
 * @why: of the first of these; set before its bit is [C]
 * @mailboxes: for them, by lane
 * @nr_open: connections that are open [C]
 * @missed_heartbeats: heartbeats since the peer was heard [C]
 * @lease: until when the peer waits for us, ns [a]
 * @next_tx_msg: messages without a key to this peer, protected by the member's lock
 * @next_rx_msg: likewise, from it
 * @peer_left: the peer said goodbye [a]
 * @leave_timed_out: and that long ago that its connections should have ended [a]
 * @peer_fenced: the peer completes nothing with success any more [a]
 * @down_heartbeats: heartbeats since a data connection was found down [C]
 * @abort_sent_kind: kind of the reason that was told last [C]
 * @calls_instance: instance that @calls is of, plus one [C]
 * @calls: what two ranks called, of a mismatch that is to be told [C]
 * @out_lock: protects @tx_ring, @tx_head and @tx_tail
 * @tx_ring: control frames that have not left, a ring
 * @tx_size: its bytes, a power of two [c]
 * @tx_head: bytes put into it so far
 * @tx_tail: bytes that have left so far; moved by the control runner only
 * @tx_overflow: frames did not fit [a]
 */
struct coll_link {
	struct list_head node;
	struct coll_member *member;
	u32 peer;
	u32 charged;
	bool required;
	u32 nr_connecting;
	struct coll_conn *control;
	struct coll_conn *data[COLLECTIVE_LANES_MAX];
	unsigned long refused_mask;
	struct coll_reason why;
	struct coll_mailbox *mailboxes;
	u32 nr_open;
	u32 missed_heartbeats;
	u64 lease;
	u64 next_tx_msg;
	u64 next_rx_msg;
	bool peer_left;
	bool leave_timed_out;
	bool peer_fenced;
	u32 down_heartbeats;
	u32 abort_sent_kind;
	u64 calls_instance;
	struct coll_rank_call calls[2];
	spinlock_t out_lock;
	u8 *tx_ring;
	u32 tx_size;
	u32 tx_head;
	u32 tx_tail;
	bool tx_overflow;
};

/*
 * Links are added while others look at them, and never taken out before all
 * runners have stopped.
 */
#define coll_for_each_link(link, member)					\
	list_for_each_entry_lockless(link, &(member)->link_list, node)

/* link.c */
int coll_link_new(struct coll_member *member, u32 peer, bool ring);
struct coll_link *coll_link_get(struct coll_member *member, u32 peer);
int coll_link_connect(struct coll_link *link);
int coll_link_ensure(struct coll_member *member, u32 peer);
void coll_link_flush_until(struct coll_link *link, unsigned long until);
void coll_link_free(struct coll_link *link, bool reset);
int coll_link_attach_conn(struct coll_link *link, struct coll_conn *conn);
void coll_link_queue_frame(struct coll_link *link, const struct coll_control *control);
bool coll_link_has_space(struct coll_link *link);
void coll_link_queue_calls(struct coll_link *link, u64 instance,
			   const struct coll_rank_call *calls);
void coll_link_run(struct coll_link *link);
void coll_link_ping(struct coll_link *link, u64 now);
void coll_link_tick(struct coll_link *link, u64 now);
int coll_link_receive(struct coll_conn *conn, const void *ptr, u32 len);

#endif /* COLL_LINK_H */
