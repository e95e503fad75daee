/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_LOCAL_H
#define COLL_LOCAL_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "transport/local/pipe.h"
#include "transport/transport.h"

/**
 * struct coll_local_end - one end of a local connection, of the calling or of the accepting side
 * @conn: the connection
 * @ep: its endpoint; NULL: closed, or not accepted; protected by @conn's lock
 * @pipe: what it writes
 * @crowded: true if the pipe had no space for the latest frame
 * @account: of an end that has closed: its account; NULL: none
 * @charged: bytes charged to @account, returned when the connection is freed
 */
struct coll_local_end {
	struct coll_local_conn *conn;
	struct coll_endpoint *ep;
	struct coll_pipe pipe;
	bool crowded;
	struct coll_account *account;
	u32 charged;
};

/**
 * struct coll_local_conn - a local connection, shared by its two ends
 * @refs: references, of each end and of the listener's queue
 * @lock: protects the pointers of the ends to their endpoints
 * @reads: woken when a piece of a revoked reference has been read
 * @node: in the queue of a listener; protected by coll_local_hub.lock
 * @taken: true if the call was accepted: the ends may outlive the hub then; written by the
 *	accepting side [a]
 * @bytes: memory of this struct and of both rings, before one has grown
 * @caller: the end that has called
 * @callee: the end that accepts
 *
 * An end owns its endpoint and what it writes.  It clears its pointer when it closes, under @lock,
 * so that no event reaches an endpoint that is gone.  The rings exist until both ends are closed:
 * what one end has written last can still be read.  So long they stay charged to the user of
 * either end; but one that has been left is freed when the pipe grows again.
 */
struct coll_local_conn {
	refcount_t refs;
	spinlock_t lock;
	wait_queue_head_t reads;
	struct list_head node;
	bool taken;
	u32 bytes;
	struct coll_local_end caller;
	struct coll_local_end callee;
};

/* Context: the owner of @ep, between its opening and close(); not of a listener. */
static inline struct coll_local_end *coll_local_end(const struct coll_endpoint *ep)
{
	return ep->end;
}

static inline struct coll_local_end *coll_local_other(const struct coll_local_end *end)
{
	return end == &end->conn->caller ? &end->conn->callee : &end->conn->caller;
}

/* shared.c */
struct coll_local_conn *coll_local_conn_new(void);
void coll_local_conn_put(struct coll_local_conn *conn);
void coll_local_notify(struct coll_local_end *end, enum coll_event event);
int coll_local_attach(struct coll_endpoint *ep, struct coll_local_end *end);
void coll_local_detach(struct coll_endpoint *ep);

/* hub.c */
int coll_local_listen(struct coll_endpoint *ep, struct sockaddr_storage *addr);
int coll_local_connect(struct coll_endpoint *ep, const struct sockaddr_storage *addr,
		       const struct sockaddr_storage *local);
int coll_local_accept(struct coll_endpoint *listener, struct coll_endpoint *ep);
void coll_local_listener_close(struct coll_endpoint *ep);
void coll_local_withdraw_connect(struct coll_endpoint *ep);

#endif /* COLL_LOCAL_H */
