// SPDX-License-Identifier: GPL-2.0-only
/*
 * The object that two ends of a local connection share.
 */
#include <linux/slab.h>

#include "mem/account.h"
#include "transport/local/local.h"

/* Bytes of a ring at first: a HELLO, or a few control frames. */
#define LOCAL_RING_FIRST	256U

static bool end_init(struct coll_local_end *end, struct coll_local_conn *conn)
{
	end->conn = conn;
	coll_pipe_init(&end->pipe, kvmalloc(LOCAL_RING_FIRST, GFP_KERNEL_ACCOUNT),
		       LOCAL_RING_FIRST);
	return end->pipe.ring;
}

/**
 * coll_local_conn_new() - make a connection without ends
 *
 * Context: may sleep.
 * Return: the connection, with one reference; or NULL.
 */
struct coll_local_conn *coll_local_conn_new(void)
{
	struct coll_local_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL_ACCOUNT);

	if (!conn)
		return NULL;
	refcount_set(&conn->refs, 1);
	spin_lock_init(&conn->lock);
	init_waitqueue_head(&conn->reads);
	INIT_LIST_HEAD(&conn->node);
	conn->bytes = sizeof(*conn) + 2 * LOCAL_RING_FIRST;
	if (!end_init(&conn->caller, conn) || !end_init(&conn->callee, conn)) {
		coll_local_conn_put(conn);
		return NULL;
	}
	return conn;
}

static void end_free(struct coll_local_end *end)
{
	kvfree(end->pipe.rest);
	kvfree(end->pipe.old_ring);
	kvfree(end->pipe.ring);
	if (end->account)
		coll_account_return(end->account, end->charged);
}

/**
 * coll_local_conn_put() - drop a reference
 * @conn: the connection; freed with the last one
 *
 * Context: may sleep.
 */
void coll_local_conn_put(struct coll_local_conn *conn)
{
	if (!refcount_dec_and_test(&conn->refs))
		return;
	end_free(&conn->caller);
	end_free(&conn->callee);
	kfree(conn);
}

/**
 * coll_local_notify() - deliver an event to one end
 * @end: the end
 * @event: the event
 *
 * Context: no FPU section; not in interrupts.
 */
void coll_local_notify(struct coll_local_end *end, enum coll_event event)
{
	struct coll_local_conn *conn = end->conn;

	/* What was written to a pipe before the bit of the event: pairs with its test and clear. */
	smp_mb();
	/* The end stays while its event is delivered, which only sets bits and kicks a runner. */
	spin_lock(&conn->lock);
	if (end->ep)
		coll_endpoint_event(end->ep, event);
	spin_unlock(&conn->lock);
}

/**
 * coll_local_attach() - make an endpoint one end of a connection
 * @ep: the endpoint; charged half of the connection's memory
 * @end: the end; the endpoint takes over a reference of the caller to its connection
 *
 * Return: 0 or -EDQUOT.
 */
int coll_local_attach(struct coll_endpoint *ep, struct coll_local_end *end)
{
	struct coll_local_conn *conn = end->conn;
	u32 bytes = conn->bytes / 2;
	int err = coll_charge(ep->charges, bytes);

	if (err)
		return err;
	ep->charged = bytes;
	ep->end = end;
	ep->transport = &coll_local;
	spin_lock(&conn->lock);
	end->ep = ep;
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
	struct coll_local_end *end = coll_local_end(ep);
	struct coll_local_conn *conn = end->conn;

	spin_lock(&conn->lock);
	end->ep = NULL;
	spin_unlock(&conn->lock);
	/* The other end may keep the connection for as long as it likes. */
	end->charged = ep->charged;
	end->account = coll_charge_detach(ep->charges, ep->charged);
	ep->charged = 0;
	ep->end = NULL;
	ep->transport = NULL;
	coll_local_conn_put(conn);
}
