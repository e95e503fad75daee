/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RDMA endpoints: a reliable connection (RC) each, by the RDMA connection manager.
 *
 * The bytes of the stream travel in messages.  A message needs a receive slot of the peer, for
 * which the sender has a credit, so that none ever comes before a slot is posted.  A slot is posted
 * again when its bytes are consumed, and messages in the other direction return its credit.
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

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "transport/transport.h"

struct coll_account;

/* Slots for messages of bytes that a peer may send before it gets a credit back. */
#define COLL_RDMA_CREDITS	8U
/*
 * Slots beyond these, for messages that need no credit: two that return credits, and the end.  A
 * message that only returns credits returns half of them at least.  So the peer gets a third one
 * only after it has taken the first, because it would have no credits to cause it.
 */
#define COLL_RDMA_SPARE		3U
#define COLL_RDMA_RECV_SLOTS	(COLL_RDMA_CREDITS + COLL_RDMA_SPARE)
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

/* Bytes charged for a queue pair, a completion queue and a protection domain. */
#define COLL_RDMA_CHARGE_QP	(16 * 1024U)

enum coll_rdma_kind {
	COLL_RDMA_BYTES,	/* bytes of the stream */
	COLL_RDMA_CREDIT,	/* only returns credits */
	COLL_RDMA_END,		/* no more bytes come */
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
 * @zero: 0
 */
struct coll_rdma_hello {
	__le32 magic;
	__le32 slot_bytes;
	__le16 credits;
	u8 bulk;
	u8 zero;
};

#define COLL_RDMA_MAGIC		0x31524c43U	/* "CLR1": the version of these messages */

enum coll_rdma_state {
	COLL_RDMA_RESOLVING,	/* the address of the peer, then the route to it */
	COLL_RDMA_ADDRESS,	/* the address is known */
	COLL_RDMA_ROUTE,	/* the route is known */
	COLL_RDMA_CALLING,	/* the peer is called, or has called and is not accepted */
	COLL_RDMA_OPEN,
	COLL_RDMA_ENDED,	/* the peer is gone, or the device or a message has failed */
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
 * struct coll_rdma_conn - a connection
 * @listens: false, unlike that of a listener
 * @incoming: true if the peer has made it [c]
 * @mutex: protects all members without another mark
 * @lock: protects @ep, @state and @hello, taken with interrupts disabled
 * @ep: its endpoint; NULL: not accepted yet, or closed
 * @state: enum coll_rdma_state
 * @error: negative errno of the end, once @state says so; under @lock
 * @hello: of the peer, once @state is OPEN, or for a call
 * @id: the connection manager's identifier; NULL: device and connection are released
 * @pd: protection domain
 * @cq: completion queue, for all work that is posted at once
 * @slots: memory of receive slots and send slots
 * @node: in the queue of a listener, protected by its lock
 * @bulk: true for a data connection [c]
 * @removed: true if the device is being removed [a]
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
 * @tx_ended: true if the end was sent
 * @work: releases the device, or ends a connection without endpoint
 * @lingers: true if the connection belongs to @work
 * @deadline: time at which it ends anyway, in jiffies
 * @account: of a lingering connection: account that is charged for it
 * @charged: bytes charged to @account
 * @rest: bytes to be sent after close(): a ring of @rest_size bytes, with @rest_len bytes from
 *	offset @rest_at modulo @rest_size; NULL: none
 * @rest_account: account that is charged for @rest
 * @local: address of this end, and
 * @peer: of the other one; written before the endpoint shows them to others
 */
struct coll_rdma_conn {
	bool listens;
	bool incoming;
	struct mutex mutex;
	spinlock_t lock;
	struct coll_endpoint *ep;
	enum coll_rdma_state state;
	int error;
	struct coll_rdma_hello hello;

	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct coll_rdma_slots rx_slots;
	struct coll_rdma_slots tx_slots;
	struct list_head node;
	bool bulk;
	bool removed;

	struct {
		u16 slot;
		u16 len;
	} rx_ready[COLL_RDMA_RECV_SLOTS];
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
 * @listens: true, unlike that of a connection
 * @mutex: protects @id
 * @id: the connection manager's identifier; NULL: its device is gone
 * @ep: the endpoint [c]
 * @lock: protects @calls and @ncalls
 * @calls: connections that wait to be accepted
 * @ncalls: number of these
 * @work: gives the device back
 */
struct coll_rdma_listener {
	bool listens;
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
bool coll_rdma_listens(const struct coll_endpoint *ep);
void coll_rdma_close_listener(struct coll_endpoint *ep);

/* conn.c */
struct coll_rdma_conn *coll_rdma_conn_new(struct rdma_cm_id *id);
void coll_rdma_conn_free(struct coll_rdma_conn *conn);
u32 coll_rdma_slots_bytes(bool bulk);
int coll_rdma_conn_prepare(struct coll_rdma_conn *conn);
int coll_rdma_check_device(struct ib_device *device, u32 port);
int coll_rdma_conn_setup(struct coll_rdma_conn *conn);
void coll_rdma_conn_release(struct coll_rdma_conn *conn);
void coll_rdma_conn_end(struct coll_rdma_conn *conn, int error);
int coll_rdma_conn_error(struct coll_rdma_conn *conn);
enum coll_rdma_state coll_rdma_conn_state(struct coll_rdma_conn *conn);
void coll_rdma_conn_notify(struct coll_rdma_conn *conn);
void coll_rdma_conn_attach(struct coll_rdma_conn *conn, struct coll_endpoint *ep);

/* queue.c */
int coll_rdma_learn(struct coll_rdma_conn *conn);
int coll_rdma_post_receives(struct coll_rdma_conn *conn);
void coll_rdma_repost(struct coll_rdma_conn *conn, u32 slot);
void *coll_rdma_next_slot(struct coll_rdma_conn *conn, enum coll_rdma_kind kind);
int coll_rdma_post(struct coll_rdma_conn *conn, enum coll_rdma_kind kind, u32 len);
void coll_rdma_return_credits(struct coll_rdma_conn *conn);
u32 coll_rdma_poll(struct coll_rdma_conn *conn);
bool coll_rdma_arm(struct coll_rdma_conn *conn);

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

/* send.c */
int coll_rdma_send(struct coll_endpoint *ep, const void *ptr, u32 len);
int coll_rdma_send_frame(struct coll_endpoint *ep, const struct coll_out *out,
			 u32 *zerocopy_bytes);
int coll_rdma_send_some(struct coll_rdma_conn *conn, const struct coll_out *out);

/* recv.c */
int coll_rdma_receive(struct coll_endpoint *ep, u32 budget);
bool coll_rdma_can_defer_rx(const struct coll_endpoint *ep, u32 bytes);

/* linger.c */
void coll_rdma_send_rest(struct coll_endpoint *ep, void *ring, u32 size, u32 at, u32 len);
void coll_rdma_shutdown(struct coll_endpoint *ep, unsigned long until);
void coll_rdma_close(struct coll_endpoint *ep, bool reset);
void coll_rdma_work(struct work_struct *work);

/* rdma.c */
void coll_rdma_info_attach(struct coll_endpoint *ep, struct coll_rdma_conn *conn);
void coll_rdma_info_addresses(struct coll_rdma_conn *conn);
bool coll_rdma_info(struct coll_endpoint *ep, struct coll_endpoint_info *info);

#endif /* COLL_RDMA_H */
