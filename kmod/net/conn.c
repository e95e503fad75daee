// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections: their memory and their end.  handshake.c opens them; a link or a lane owns them
 * while they are open.
 */
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/slab.h>

#include "core/engine/engine.h"
#include "mem/account.h"
#include "net/conn.h"
#include "net/net.h"

/**
 * coll_conn_new() - make a connection that the control runner owns
 * @net: of the member
 * @ops: of the handshake
 *
 * Context: may sleep.
 * Return: for coll_conn_delete() or coll_conn_free(); or -EDQUOT or -ENOMEM.
 */
struct coll_conn *coll_conn_new(struct coll_net *net, const struct coll_endpoint_ops *ops)
{
	struct coll_conn *conn;
	int err = coll_charge(net->charges, sizeof(*conn));

	if (err)
		return ERR_PTR(err);
	conn = kzalloc(sizeof(*conn), GFP_KERNEL_ACCOUNT);
	if (!conn) {
		coll_uncharge(net->charges, sizeof(*conn));
		return ERR_PTR(-ENOMEM);
	}
	conn->charged = sizeof(*conn);
	conn->ep.ops = ops;
	conn->ep.charges = net->charges;
	conn->net = net;
	conn->runner = net->control;
	conn->created_ns = ktime_get_ns();
	INIT_LIST_HEAD(&conn->node);
	return conn;
}

/**
 * coll_conn_delete() - free a connection whose endpoint is closed or was never opened
 * @conn: the connection; in no list
 */
void coll_conn_delete(struct coll_conn *conn)
{
	coll_uncharge(conn->net->charges, conn->charged);
	if (conn->stream) {
		kvfree(conn->stream->unexp_buf);
		kvfree(conn->stream->grants.entry);
	}
	kfree(conn->stream);
	kfree(conn);
}

/**
 * coll_conn_finish() - send nothing more, and let what was sent arrive
 * @conn: the connection; its runner is stopped.  After coll_conn_free() its socket lingers
 * @until: it is given up then; jiffies
 *
 * Context: may sleep.
 */
void coll_conn_finish(struct coll_conn *conn, unsigned long until)
{
	if (conn->ep.transport)
		conn->ep.transport->shutdown(&conn->ep, until);
}

/**
 * coll_conn_free() - end a connection
 * @conn: the connection; in no list
 * @reset: drop what is queued
 *
 * Context: its owner, or the teardown; may sleep.
 */
void coll_conn_free(struct coll_conn *conn, bool reset)
{
	if (conn->ep.transport)
		conn->ep.transport->close(&conn->ep, reset);
	coll_conn_delete(conn);
}
