/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RDMA endpoints: a reliable connection (RC) each, by the RDMA connection manager.
 *
 * The bytes of the stream travel in messages.  A message needs a receive slot of the peer, for
 * which the sender has a credit, so that none ever comes before a slot is posted.  A slot is posted
 * again when its bytes are consumed, and messages in the other direction return its credit.
 *
 * A large payload stays where it is.  A message refers to it, and the device of the receiver reads
 * it, into the memory where it belongs, or into staging memory from which it is reduced.  So a peer
 * gets keys to read, never one to write, and only this kernel tells its device where to store.
 *
 * The device may be removed while a connection is in use.  Therefore queue pair, completion queue
 * and slots are used under a mutex, and belong to the connection, not to its endpoint: a work item
 * releases them if the device goes, or if the endpoint is closed and its last bytes have arrived.
 *
 * Locks, outer ones first: @mutex; the connection manager's lock of an identifier, which it holds
 * when it calls the handler; @lock, which callbacks of the device take; locks of runners.
 */
#ifndef COLL_RDMA_H
#define COLL_RDMA_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "transport/transport.h"

struct coll_account;
struct coll_charges;
struct coll_rdma_share;

/* Slots for messages of bytes that a peer may send before it gets a credit back. */
#define COLL_RDMA_CREDITS	7U
/* Payloads that the peer may read at a time, in a memory region each.  A power of two. */
#define COLL_RDMA_REFS		2U
/*
 * Slots beyond these, for messages that need no credit: two that return credits, and the end.  A
 * message that only returns credits returns half of them at least.  So the peer gets a third one
 * only after it has taken the first, because it would have no credits to cause it.  A data
 * connection has one for each payload that the peer may read, which it gives back by a message.
 */
#define COLL_RDMA_SPARE		3U
#define COLL_RDMA_RECV_SLOTS	(COLL_RDMA_CREDITS + COLL_RDMA_SPARE + COLL_RDMA_REFS)
/* Messages of bytes that were received and not consumed.  A power of two. */
#define COLL_RDMA_READY		8U
/* Messages that are sent and not known to have arrived.  A power of two. */
#define COLL_RDMA_SEND_SLOTS	8U
/* Of these slots, one in so many asks for a completion. */
#define COLL_RDMA_SIGNAL	2U

/*
 * Bytes of a slot: of a data connection, and of a control connection.  A data connection stays
 * within 64 KiB with them.
 */
#define COLL_RDMA_SLOT_BULK	2048U
#define COLL_RDMA_SLOT_CONTROL	512U

/* Bytes of a payload that is referred to.  Smaller ones are copied; no frame has a larger one. */
#define COLL_RDMA_REF_MIN	(16 * 1024U)
#define COLL_RDMA_REF_MAX	(1024 * 1024U)
/* Pages, or pieces of them, that it may lie in. */
#define COLL_RDMA_REF_PIECES	((u32)(COLL_RDMA_REF_MAX / PAGE_SIZE + 1))

/* Reads in progress, a power of two; bytes of one, and pieces of memory that one may store in. */
#define COLL_RDMA_READS		4U
#define COLL_RDMA_READ_MAX	(64 * 1024U)
#define COLL_RDMA_READ_PIECES	16U
/* Of these reads, so many use staging memory, of so many bytes each. */
#define COLL_RDMA_STAGES	4U
#define COLL_RDMA_STAGE		(32 * 1024U)
#define COLL_RDMA_STAGE_PAGES	((u32)DIV_ROUND_UP(COLL_RDMA_STAGE, PAGE_SIZE))

/* Work for the device beside messages: registrations and reads. */
#define COLL_RDMA_BULK_WORK	(COLL_RDMA_REFS + COLL_RDMA_READS)

/* Bytes charged for a queue pair, a completion queue and a protection domain. */
#define COLL_RDMA_CHARGE_QP	(16 * 1024U)

/* What a piece of work was that is complete: bits of its number, above what tells which one. */
#define COLL_RDMA_WR_SENT	BIT_ULL(32)
#define COLL_RDMA_WR_READ	BIT_ULL(33)
#define COLL_RDMA_WR_REGISTER	BIT_ULL(34)

enum coll_rdma_kind {
	COLL_RDMA_BYTES,	/* bytes of the stream */
	COLL_RDMA_CREDIT,	/* only returns credits */
	COLL_RDMA_END,		/* no more bytes come */
	COLL_RDMA_REFERENCE,	/* bytes of the stream, and a reference to those behind them */
	COLL_RDMA_RETURN,	/* the oldest reference is not used any more */
};

/**
 * struct coll_rdma_head - begin of each message
 * @credits: receive slots that its sender has posted again
 * @kind: enum coll_rdma_kind
 * @zero: 0
 */
struct coll_rdma_head {
	__le16 credits;
	u8 kind;
	u8 zero[5];
};

/**
 * struct coll_rdma_hello - told by both sides when they connect
 * @magic: COLL_RDMA_MAGIC
 * @slot_bytes: bytes of a receive slot of the sender
 * @credits: messages that the sender can receive
 * @bulk: 1 for a data connection, 0 for a control connection
 * @reads: 1 if the sender's device can read what is referred to, else 0
 */
struct coll_rdma_hello {
	__le32 magic;
	__le32 slot_bytes;
	__le16 credits;
	u8 bulk;
	u8 reads;
};

#define COLL_RDMA_MAGIC		0x32524c43U	/* "CLR2": the version of these messages */

/* First byte that a listener tells with a refusal if its queue is full. */
#define COLL_RDMA_BUSY		1

/**
 * struct coll_rdma_reference - behind the head of such a message, and before its bytes
 * @addr: address of the payload, for its reader
 * @key: key to read it
 * @len: number of bytes, 1 to COLL_RDMA_REF_MAX
 */
struct coll_rdma_reference {
	__le64 addr;
	__le32 key;
	__le32 len;
};

/* The life of a connection: coll_rdma_conn_set_state(). */
enum coll_rdma_state {
	COLL_RDMA_RESOLVING,	/* the connection manager looks for the peer's address */
	COLL_RDMA_ADDRESS,	/* it is known */
	COLL_RDMA_ROUTING,	/* the connection manager looks for the route */
	COLL_RDMA_ROUTE,	/* it is known */
	COLL_RDMA_CALLING,	/* the peer is called, or has called and is not accepted */
	COLL_RDMA_OPEN,
	COLL_RDMA_ENDED,	/* the peer is gone, or the device or a message has failed */
	COLL_RDMA_STATES
};

/**
 * struct coll_rdma_slots - memory for messages
 * @memory: the slots, one after the other, in pages
 * @dma: their addresses for the device, by page; valid if the queue pair exists
 * @pages: number of pages
 * @slot: bytes of a slot, a divisor of the page size
 * @mapped: pages of @dma that are valid
 */
struct coll_rdma_slots {
	void **memory;
	u64 *dma;
	u32 pages;
	u32 slot;
	u32 mapped;
};

/**
 * struct coll_rdma_ref - a payload that the peer may read
 * @mr: its memory region, kept for the next payload; NULL: none was needed yet
 * @sg: COLL_RDMA_REF_PIECES entries, allocated with @mr
 * @pieces: entries of @sg that are mapped for the device; 0: none
 * @position: position of the stream at its end
 * @len: number of bytes
 * @message: number of messages sent, up to the one that tells of it
 * @owner: see struct coll_out
 * @invalid: true if its key is valid no more
 */
struct coll_rdma_ref {
	struct ib_mr *mr;
	struct scatterlist *sg;
	u32 pieces;
	u64 position;
	u32 len;
	u32 message;
	const void *owner;
	bool invalid;
};

/**
 * struct coll_rdma_refs - payloads that the peer may read
 * @ref: these, at positions modulo its size
 * @head: number of payloads that were referred to
 * @returned: of these, how many the peer has returned
 * @tail: of these, how many have keys that are invalid
 * @enabled: true if the peer reads them, and this device can let it
 * @position: position of the stream up to which payload was copied or referred to
 * @due: likewise, but only of payload for which the owner waits until it is consumed
 * @told: the position that coll_rdma_consumed() had when the owner was last told of it
 * @copied: owner of a payload of which a part is copied; NULL: there is none
 *
 * A key is valid from its registration until it is invalidated.  The peer returns a payload when it
 * has read it, or does not want it, and its message invalidates the key; if it does not, the
 * connection ends.  Payload counts as consumed after that only, so no operation is complete while
 * a key to its memory is valid.  A region is reused for other memory then, with another key.
 * Before the end of a connection gives memory back, the queue pair and the regions are destroyed.
 */
struct coll_rdma_refs {
	struct coll_rdma_ref ref[COLL_RDMA_REFS];
	u32 head;
	u32 returned;
	u32 tail;
	bool enabled;
	u64 position;
	u64 due;
	u64 told;
	const void *copied;
};

/**
 * struct coll_rdma_read - a read in progress, or one whose bytes are not handed over yet
 * @len: number of bytes
 * @done: of these, how many the owner has taken
 * @stage: index of its staging memory; -1: the bytes go where they belong, or are dropped
 * @complete: true if the bytes are there
 * @pieces: number of entries of @sge that are mapped for the device
 * @sge: where the bytes are stored
 */
struct coll_rdma_read {
	u32 len;
	u32 done;
	int stage;
	bool complete;
	u32 pieces;
	struct ib_sge sge[COLL_RDMA_READ_PIECES];
};

/**
 * struct coll_rdma_reading - the reference that is being read: that of the oldest message
 * @open: true if there is one
 * @addr: see struct coll_rdma_reference, and
 * @key: likewise, and
 * @len: likewise
 * @asked: bytes that are read, or were
 * @done: of these, how many the owner has taken
 * @read: reads, in their order; positions modulo its size
 * @head: number of reads begun
 * @tail: of these, how many the owner has taken
 * @stages: number of reads begun in staging memory
 * @stages_done: of these, how many the owner has taken
 * @memory: staging memory, by page; all of it is allocated when the first payload needs it
 */
struct coll_rdma_reading {
	bool open;
	u64 addr;
	u32 key;
	u32 len;
	u32 asked;
	u32 done;
	struct coll_rdma_read read[COLL_RDMA_READS];
	u32 head;
	u32 tail;
	u32 stages;
	u32 stages_done;
	void *memory[COLL_RDMA_STAGES * (COLL_RDMA_STAGE / 4096)];
};

/**
 * struct coll_rdma_conn - a connection
 * @incoming: true if the peer has made it [c]
 * @mutex: protects all members without another mark
 * @lock: protects @ep, @state, @hello and @lingers, taken with interrupts disabled
 * @ep: its endpoint; NULL: not accepted yet, or closed
 * @state: enum coll_rdma_state, written by coll_rdma_conn_set_state()
 * @error: negative errno of the end, stored once under @lock, or 0; read without it
 * @hello: of the peer, once @state is OPEN, or for a call
 * @id: the connection manager's identifier; NULL: device and connection are released
 * @routed: complete unless the connection manager looks for a route: then @id is its own [a]
 * @share: where its queue pair counts; NULL: it has none
 * @pd: protection domain
 * @cq: completion queue, for all work that is posted at once
 * @slots: memory of receive slots and send slots
 * @node: in the queue of a listener, protected by its lock
 * @bulk: true for a data connection [c]
 * @outage_ms: time for which the path may be down [c]
 * @removed: true if the device is being removed [a]
 * @depth: reads that may be in progress: of the peer's device, and of this one
 * @read_pieces: pieces of memory that one read may store in
 * @refs: data connection: payloads that the peer may read
 * @reading: data connection: what is read of the peer's payloads
 * @rx_ready: receive slots with messages, in their order; positions modulo its size
 * @rx_head: number of messages that have come
 * @rx_tail: number of messages that were consumed
 * @rx_done: bytes of the oldest message that were consumed
 * @rx_end: true if the peer's last byte has come
 * @rx_owed: receive slots that were posted again, and whose credits were not returned
 * @tx_posted: messages sent
 * @tx_done: of these, how many have certainly arrived
 * @tx_credits: messages of bytes that may be sent
 * @tx_slot: bytes of a message at most
 * @tx_waits: true if the owner waits for space [a]
 * @tx_waits_ref: true if it has a payload for the peer to read
 * @tx_ended: true if the end was sent
 * @work: releases the device, or ends a connection without endpoint
 * @lingers: true if the connection belongs to @work, and nothing else uses it
 * @deadline: time at which it ends anyway after shutdown() and close(), in jiffies
 * @account: of a lingering connection: account that is charged for it
 * @charged: bytes charged to @account
 * @rest: bytes to be sent after close(): a ring of @rest_size bytes, with @rest_len bytes from
 *	offset @rest_at modulo @rest_size; NULL: none
 * @rest_account: account that is charged for @rest
 * @local: address of this end, and
 * @peer: of the other one; written before the endpoint shows them to others
 */
struct coll_rdma_conn {
	bool incoming;
	struct mutex mutex;
	spinlock_t lock;
	struct coll_endpoint *ep;
	enum coll_rdma_state state;
	int error;
	struct coll_rdma_hello hello;

	struct rdma_cm_id *id;
	struct completion routed;
	struct coll_rdma_share *share;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct coll_rdma_slots rx_slots;
	struct coll_rdma_slots tx_slots;
	struct list_head node;
	bool bulk;
	u32 outage_ms;
	bool removed;

	struct {
		u32 in;
		u32 out;
	} depth;
	u32 read_pieces;
	struct coll_rdma_refs *refs;
	struct coll_rdma_reading *reading;

	struct {
		u16 slot;
		u16 len;
		u8 kind;
	} rx_ready[COLL_RDMA_READY];
	u32 rx_head;
	u32 rx_tail;
	u32 rx_done;
	bool rx_end;
	u32 rx_owed;

	u32 tx_posted;
	u32 tx_done;
	u32 tx_credits;
	u32 tx_slot;
	bool tx_waits;
	bool tx_waits_ref;
	bool tx_ended;

	struct delayed_work work;
	bool lingers;
	unsigned long deadline;
	struct coll_account *account;
	u32 charged;
	u8 *rest;
	u32 rest_size;
	u32 rest_at;
	u32 rest_len;
	struct coll_account *rest_account;

	struct sockaddr_storage local;
	struct sockaddr_storage peer;
};

/**
 * struct coll_rdma_listener - a listener
 * @mutex: protects @id
 * @id: the connection manager's identifier; NULL: its device is gone
 * @ep: the endpoint [c]
 * @lock: protects @calls and @ncalls
 * @calls: connections that wait to be accepted
 * @ncalls: number of these, at most that of the endpoint's @calls
 * @work: gives the device back
 */
struct coll_rdma_listener {
	struct mutex mutex;
	struct rdma_cm_id *id;
	struct coll_endpoint *ep;
	spinlock_t lock;
	struct list_head calls;
	u32 ncalls;
	struct work_struct work;
};

extern struct workqueue_struct *coll_rdma_wq;
extern const struct coll_transport coll_rdma;

/* cm.c */
int coll_rdma_listen(struct coll_endpoint *ep, struct sockaddr_storage *addr);
int coll_rdma_connect(struct coll_endpoint *ep, const struct sockaddr_storage *addr,
		      const struct sockaddr_storage *local);
int coll_rdma_accept(struct coll_endpoint *listener, struct coll_endpoint *ep);
int coll_rdma_status(struct coll_endpoint *ep);
void coll_rdma_close_listener(struct coll_endpoint *ep);

/* queue_pair.c */
struct coll_rdma_conn *coll_rdma_conn_new(struct rdma_cm_id *id);
void coll_rdma_conn_free(struct coll_rdma_conn *conn);
u32 coll_rdma_conn_bytes(bool bulk);
int coll_rdma_conn_prepare(struct coll_rdma_conn *conn);
int coll_rdma_check_device(struct ib_device *device, u32 port);
void coll_rdma_conn_limit(struct coll_rdma_conn *conn);
int coll_rdma_conn_setup(struct coll_rdma_conn *conn, const struct coll_charges *charges);
void coll_rdma_conn_release(struct coll_rdma_conn *conn);
void coll_rdma_conn_set_state(struct coll_rdma_conn *conn, enum coll_rdma_state state, int error);
void coll_rdma_conn_end(struct coll_rdma_conn *conn, int error);
int coll_rdma_conn_error(const struct coll_rdma_conn *conn);
enum coll_rdma_state coll_rdma_conn_state(struct coll_rdma_conn *conn);
void coll_rdma_conn_notify(struct coll_rdma_conn *conn);
void coll_rdma_conn_attach(struct coll_rdma_conn *conn, struct coll_endpoint *ep);

/* share.c */
int coll_rdma_share_take(struct coll_rdma_conn *conn, const struct coll_charges *charges);
void coll_rdma_share_give(struct coll_rdma_conn *conn);

/* queue.c */
int coll_rdma_check_hello(const struct coll_rdma_hello *hello);
int coll_rdma_learn(struct coll_rdma_conn *conn);
int coll_rdma_post_receives(struct coll_rdma_conn *conn);
void coll_rdma_repost(struct coll_rdma_conn *conn, u32 slot);
void *coll_rdma_next_slot(struct coll_rdma_conn *conn, enum coll_rdma_kind kind);
int coll_rdma_post(struct coll_rdma_conn *conn, enum coll_rdma_kind kind, u32 len);
int coll_rdma_post_return(struct coll_rdma_conn *conn, u32 key);
void coll_rdma_return_credits(struct coll_rdma_conn *conn);
u32 coll_rdma_poll(struct coll_rdma_conn *conn);
bool coll_rdma_arm(struct coll_rdma_conn *conn);

/**
 * coll_rdma_recv_slots() - number of receive slots
 * @bulk: true for a data connection
 */
static inline u32 coll_rdma_recv_slots(bool bulk)
{
	return COLL_RDMA_RECV_SLOTS - (bulk ? 0 : COLL_RDMA_REFS);
}

/**
 * coll_rdma_slot() - memory of a slot
 * @slots: the slots
 * @i: index of the slot
 */
static inline void *coll_rdma_slot(const struct coll_rdma_slots *slots, u32 i)
{
	u32 per_page = PAGE_SIZE / slots->slot;

	return slots->memory[i / per_page] + i % per_page * slots->slot;
}

/* reference.c */
bool coll_rdma_refers(const struct coll_rdma_conn *conn, const struct coll_out *out);
int coll_rdma_refer(struct coll_endpoint *ep, struct coll_rdma_conn *conn,
		    const struct coll_out *out);
bool coll_rdma_ref_free(const struct coll_rdma_conn *conn);
int coll_rdma_returned(struct coll_rdma_conn *conn, const struct ib_wc *wc);
void coll_rdma_copied(struct coll_rdma_conn *conn, const struct coll_out *out, u32 len);
void coll_rdma_tell_consumed(struct coll_endpoint *ep, struct coll_rdma_conn *conn);
u64 coll_rdma_consumed(struct coll_endpoint *ep);
bool coll_rdma_revoke(struct coll_endpoint *ep, const void *owner);
void coll_rdma_release_refs(struct coll_rdma_conn *conn, struct ib_device *device);

/* reading.c */
int coll_rdma_read_begin(struct coll_rdma_conn *conn, const struct coll_rdma_reference *reference);
int coll_rdma_read_some(struct coll_endpoint *ep, struct coll_rdma_conn *conn, u32 budget,
			bool *left);
void coll_rdma_read_complete(struct coll_rdma_conn *conn, u32 index);
bool coll_rdma_read_taken(const struct coll_rdma_conn *conn);
bool coll_rdma_read_return(struct coll_rdma_conn *conn);
bool coll_rdma_reads(const struct coll_rdma_conn *conn);
void coll_rdma_release_reads(struct coll_rdma_conn *conn, struct ib_device *device);
void coll_rdma_reading_free(struct coll_rdma_reading *reading);

/* send.c */
int coll_rdma_send(struct coll_endpoint *ep, const void *ptr, u32 len);
int coll_rdma_send_frame(struct coll_endpoint *ep, const struct coll_out *out,
			 u32 *zerocopy_bytes);
int coll_rdma_send_some(struct coll_rdma_conn *conn, const struct coll_out *out);

/* recv.c */
int coll_rdma_receive(struct coll_endpoint *ep, u32 budget);
bool coll_rdma_can_defer_rx(const struct coll_endpoint *ep, u32 bytes);

/* end.c */
void coll_rdma_send_rest(struct coll_endpoint *ep, void *ring, u32 size, u32 at, u32 len);
void coll_rdma_shutdown(struct coll_endpoint *ep, unsigned long until);
void coll_rdma_close(struct coll_endpoint *ep, bool reset);
void coll_rdma_work(struct work_struct *work);

/* rdma.c */
void coll_rdma_info_attach(struct coll_endpoint *ep, struct coll_rdma_conn *conn);
void coll_rdma_info_addresses(struct coll_rdma_conn *conn);
bool coll_rdma_info(struct coll_endpoint *ep, struct coll_endpoint_info *info);

#endif /* COLL_RDMA_H */
