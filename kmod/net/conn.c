// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections: their memory and their end.  handshake.c opens them; a link or a lane owns them
 * while they are open.
 */
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/slab.h>

#include "core/engine/engine.h"
#include "limits.h"
#include "mem/account.h"
#include "net/conn.h"
#include "net/net.h"

/* A quarter of what kmalloc() would give would not be used. */
static struct kmem_cache *conn_cache;

/**
 * coll_conn_setup() - make the cache of connections
 *
 * Return: 0 or -ENOMEM.
 */
int coll_conn_setup(void)
{
	conn_cache = KMEM_CACHE(coll_conn, SLAB_ACCOUNT);
	return conn_cache ? 0 : -ENOMEM;
}

/** coll_conn_cleanup() - undo coll_conn_setup(); no connection is left */
void coll_conn_cleanup(void)
{
	kmem_cache_destroy(conn_cache);
}

/**
 * coll_conn_new() - make a connection that the control runner owns
 * @net: of the member
 *
 * Context: may sleep.
 * Return: for coll_conn_delete() or coll_conn_free(); or -EDQUOT or -ENOMEM.
 */
struct coll_conn *coll_conn_new(struct coll_net *net)
{
	u32 bytes = sizeof(struct coll_conn) + sizeof(struct coll_handshake);
	struct coll_conn *conn;
	int err = coll_charge(net->charges, bytes);

	if (err)
		return ERR_PTR(err);
	conn = kmem_cache_zalloc(conn_cache, GFP_KERNEL_ACCOUNT);
	if (conn)
		conn->handshake = kzalloc(sizeof(*conn->handshake), GFP_KERNEL_ACCOUNT);
	if (!conn || !conn->handshake) {
		if (conn)
			kmem_cache_free(conn_cache, conn);
		coll_uncharge(net->charges, bytes);
		return ERR_PTR(-ENOMEM);
	}
	conn->charged = bytes;
	conn->ep.ops = &coll_handshake_ops;
	conn->ep.charges = net->charges;
	conn->ep.outage_ms = COLL_OUTAGE_BEATS * net->id->heartbeat_ms;
	conn->net = net;
	conn->runner = net->control;
	conn->handshake->since_ns = ktime_get_ns();
	INIT_LIST_HEAD(&conn->node);
	return conn;
}

/**
 * coll_conn_set_state() - let a connection go on to another state
 * @conn: the connection; only its runner calls this
 * @state: one that may follow its state
 *
 * A connection may be freed in each state.
 */
void coll_conn_set_state(struct coll_conn *conn, enum coll_conn_state state)
{
	static const u8 next[COLL_CONN_STATES] = {
		[COLL_CONN_CONNECTING]	= BIT(COLL_CONN_CONNECTING) | BIT(COLL_CONN_LOST) |
					  BIT(COLL_CONN_HELLO),
		[COLL_CONN_LOST]	= BIT(COLL_CONN_LOST) | BIT(COLL_CONN_CONNECTING),
		[COLL_CONN_HELLO]	= BIT(COLL_CONN_LOST) | BIT(COLL_CONN_REPLYING) |
					  BIT(COLL_CONN_PROVING) | BIT(COLL_CONN_OPEN),
		[COLL_CONN_REPLYING]	= BIT(COLL_CONN_PROVING) | BIT(COLL_CONN_OPEN),
		[COLL_CONN_PROVING]	= BIT(COLL_CONN_LOST) | BIT(COLL_CONN_OPEN),
		[COLL_CONN_OPEN]	= BIT(COLL_CONN_BROKEN) | BIT(COLL_CONN_DOWN),
		[COLL_CONN_BROKEN]	= BIT(COLL_CONN_DOWN),
		[COLL_CONN_DOWN]	= BIT(COLL_CONN_DOWN),
	};

	coll_assert(next[conn->state] & BIT(state));
	WRITE_ONCE(conn->state, state);
}

/**
 * coll_conn_end_handshake() - free what only the handshake needs
 * @conn: the connection, which is open
 */
void coll_conn_end_handshake(struct coll_conn *conn)
{
	kfree_sensitive(conn->handshake);
	conn->handshake = NULL;
	conn->charged -= sizeof(*conn->handshake);
	coll_uncharge(conn->net->charges, sizeof(*conn->handshake));
}

/* Charged for the memory of a stream as it is made. */
#define STREAM_BYTES	(sizeof(struct coll_stream) + coll_unexp_bytes(COLL_CREDIT_FIRST) + \
			 COLL_GRANTS_FIRST * sizeof(struct coll_grant))

static void stream_free_memory(struct coll_stream *stream)
{
	if (!stream)
		return;
	kvfree(stream->unexp_buf);
	kvfree(stream->grants.entry);
	kfree(stream);
}

/* Memory for a stream, charged.  Return: -EDQUOT or -ENOMEM as a pointer. */
static struct coll_stream *stream_alloc(struct coll_charges *charges)
{
	struct coll_stream *stream;
	int err = coll_charge(charges, STREAM_BYTES);

	if (err)
		return ERR_PTR(err);
	stream = kzalloc(sizeof(*stream), GFP_KERNEL_ACCOUNT);
	if (stream) {
		stream->unexp_buf = kvmalloc(coll_unexp_bytes(COLL_CREDIT_FIRST),
					     GFP_KERNEL_ACCOUNT);
		stream->grants.entry = kvcalloc(COLL_GRANTS_FIRST, sizeof(struct coll_grant),
						GFP_KERNEL_ACCOUNT);
	}
	if (stream && stream->unexp_buf && stream->grants.entry)
		return stream;
	stream_free_memory(stream);
	coll_uncharge(charges, STREAM_BYTES);
	return ERR_PTR(-ENOMEM);
}

/* Undo stream_alloc(); NULL: nothing was allocated. */
static void stream_give_back(struct coll_stream *stream, struct coll_charges *charges)
{
	if (!stream)
		return;
	stream_free_memory(stream);
	coll_uncharge(charges, STREAM_BYTES);
}

/**
 * coll_conn_drop_spare() - give back memory that was reserved for a stream and is not needed
 * @conn: the connection; its stream has been made meanwhile, or it ends
 *
 * Context: any that may sleep.
 */
void coll_conn_drop_spare(struct coll_conn *conn)
{
	stream_give_back(xchg(&conn->spare, NULL), conn->net->charges);
}

/**
 * coll_conn_reserve() - have memory for the stream of a data connection
 * @conn: the connection, which is open; perhaps it has a stream, or such memory
 *
 * Context: a thread that submits; may sleep.
 * Return: 0, -EDQUOT or -ENOMEM.
 */
int coll_conn_reserve(struct coll_conn *conn)
{
	struct coll_stream *stream;

	if (READ_ONCE(conn->stream) || READ_ONCE(conn->spare))
		return 0;
	stream = stream_alloc(conn->net->charges);
	if (IS_ERR(stream))
		return PTR_ERR(stream);
	/* Another thread may have been first. */
	if (!cmpxchg(&conn->spare, NULL, stream)) {
		/* @spare before @stream: pairs with conn_make_stream(). */
		if (READ_ONCE(conn->stream))
			coll_conn_drop_spare(conn);
		return 0;
	}
	stream_give_back(stream, conn->net->charges);
	return 0;
}

/**
 * coll_conn_take_stream() - take the memory for the stream of a data connection
 * @conn: the connection; it has no stream
 *
 * Context: its lane; may sleep, if no thread has reserved the memory.
 * Return: memory with an unexpected buffer and a table of grants, not initialised, which belongs to
 * the connection; or -EDQUOT or -ENOMEM as a pointer.
 */
struct coll_stream *coll_conn_take_stream(struct coll_conn *conn)
{
	struct coll_stream *stream = xchg(&conn->spare, NULL);

	if (!stream)
		stream = stream_alloc(conn->net->charges);
	if (!IS_ERR(stream))
		conn->charged += STREAM_BYTES;
	return stream;
}

/**
 * coll_conn_delete() - free a connection whose endpoint is closed or was never opened
 * @conn: the connection; in no list
 */
void coll_conn_delete(struct coll_conn *conn)
{
	coll_uncharge(conn->net->charges, conn->charged);
	coll_conn_drop_spare(conn);
	stream_free_memory(conn->stream);
	kfree_sensitive(conn->handshake);
	kmem_cache_free(conn_cache, conn);
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
