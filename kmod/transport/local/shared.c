// SPDX-License-Identifier: GPL-2.0-only
/*
 * The object that two ends of a local connection share.
 */
#include <linux/slab.h>

#include "mem/account.h"
#include "transport/local/local.h"

/* Bytes of a ring at first: a HELLO, or a few control frames. */
#define LOCAL_RING_FIRST	256U

/**
 * coll_local_conn_new() - make a connection without ends
 *
 * Context: may sleep.
 * Return: the connection, with one reference; or NULL.
 */
struct coll_local_conn *coll_local_conn_new(void)
{
	struct coll_local_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL_ACCOUNT);
	u32 size = LOCAL_RING_FIRST, i;

	if (!conn)
		return NULL;
	refcount_set(&conn->refs, 1);
	spin_lock_init(&conn->lock);
	init_waitqueue_head(&conn->reads);
	INIT_LIST_HEAD(&conn->node);
	conn->bytes = sizeof(*conn) + 2 * size;
	for (i = 0; i < 2; i++) {
		coll_pipe_init(&conn->pipe[i], kvmalloc(size, GFP_KERNEL_ACCOUNT), size);
		if (!conn->pipe[i].ring) {
			coll_local_conn_put(conn);
			return NULL;
		}
	}
	return conn;
}

/**
 * coll_local_conn_put() - drop a reference
 * @conn: the connection; freed with the last one
 *
 * Context: may sleep.
 */
void coll_local_conn_put(struct coll_local_conn *conn)
{
	u32 i;

	if (!refcount_dec_and_test(&conn->refs))
		return;
	for (i = 0; i < 2; i++) {
		kvfree(conn->pipe[i].rest);
		kvfree(conn->pipe[i].old_ring);
		kvfree(conn->pipe[i].ring);
		if (conn->account[i])
			coll_account_return(conn->account[i], conn->charged[i]);
	}
	kfree(conn);
}

/**
 * coll_local_notify() - deliver an event to one end
 * @conn: the connection
 * @side: of the end
 * @event: the event
 *
 * Context: no FPU section; not in interrupts.
 */
void coll_local_notify(struct coll_local_conn *conn, u32 side, enum coll_event event)
{
	struct coll_endpoint *ep;

	/* What was written to a pipe before the bit of the event: pairs with its test and clear. */
	smp_mb();
	/* The end stays while its event is delivered, which only sets bits and kicks a runner. */
	spin_lock(&conn->lock);
	ep = conn->end[side];
	if (ep)
		coll_endpoint_event(ep, event);
	spin_unlock(&conn->lock);
}

/**
 * coll_local_attach() - make an endpoint one end of a connection
 * @ep: the endpoint; charged half of the connection's memory
 * @conn: the connection; the endpoint takes over a reference of the caller
 * @side: of the end
 *
 * Return: 0 or -EDQUOT.
 */
int coll_local_attach(struct coll_endpoint *ep, struct coll_local_conn *conn, u32 side)
{
	u32 bytes = conn->bytes / 2;
	int err = coll_charge(ep->charges, bytes);

	if (err)
		return err;
	ep->charged = bytes;
	ep->local = conn;
	ep->side = side;
	ep->transport = &coll_local;
	spin_lock(&conn->lock);
	conn->end[side] = ep;
	spin_unlock(&conn->lock);
	return 0;
}

/**
 * coll_local_detach() - undo coll_local_attach()
 * @ep: the endpoint; no operation of it runs
 *
 * Context: may sleep.
 */
void coll_local_detach(struct coll_endpoint *ep)
{
	struct coll_local_conn *conn = ep->local;

	spin_lock(&conn->lock);
	conn->end[ep->side] = NULL;
	spin_unlock(&conn->lock);
	/* The other end may keep the connection for as long as it likes. */
	conn->charged[ep->side] = ep->charged;
	conn->account[ep->side] = coll_charge_detach(ep->charges, ep->charged);
	ep->charged = 0;
	ep->local = NULL;
	ep->transport = NULL;
	coll_local_conn_put(conn);
}
