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
 * struct coll_local_conn - a local connection, shared by its two ends
 * @refs: references, of each end and of the listener's queue
 * @lock: protects @end
 * @end: endpoints, of the calling side and of the accepting side; NULL: closed, or not accepted
 * @reads: woken when a piece of a revoked reference has been read
 * @node: in the queue of a listener; protected by coll_local_hub.lock
 * @taken: true if the call was accepted: the ends may outlive the hub then; written by the
 *	accepting side [a]
 * @bytes: memory of this struct and of both rings, before one has grown
 * @account: by side: account of an end that has closed; NULL: none
 * @charged: by side: bytes charged to @account, returned when the connection is freed
 * @pipe: by the side that writes
 *
 * An end owns its endpoint and what it writes.  It clears its pointer when it closes, under @lock,
 * so that no event reaches an endpoint that is gone.  The rings exist until both ends are closed:
 * what one end has written last can still be read.  So long they stay charged to the user of
 * either end; but one that has been left is freed when the pipe grows again.
 */
struct coll_local_conn {
	refcount_t refs;
	spinlock_t lock;
	struct coll_endpoint *end[2];
	wait_queue_head_t reads;
	struct list_head node;
	bool taken;
	u32 bytes;
	struct coll_account *account[2];
	u32 charged[2];
	struct coll_pipe pipe[2];
};

/* conn.c */
struct coll_local_conn *coll_local_conn_new(void);
void coll_local_conn_put(struct coll_local_conn *conn);
void coll_local_notify(struct coll_local_conn *conn, u32 side, enum coll_event event);
int coll_local_attach(struct coll_endpoint *ep, struct coll_local_conn *conn, u32 side);
void coll_local_detach(struct coll_endpoint *ep);

/* hub.c */
int coll_local_listen(struct coll_endpoint *ep, struct sockaddr_storage *addr);
int coll_local_connect(struct coll_endpoint *ep, const struct sockaddr_storage *addr,
		       const struct sockaddr_storage *local);
int coll_local_accept(struct coll_endpoint *listener, struct coll_endpoint *ep);
void coll_local_listener_close(struct coll_endpoint *ep);
void coll_local_withdraw_connect(struct coll_endpoint *ep);

#endif /* COLL_LOCAL_H */
