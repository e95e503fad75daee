// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of a lane's data connections that grows with what the peers send: the stream, its
 * table of grants and its unexpected buffer.  They are made when the connection is used for the
 * first time, and are freed with it.
 */
#include <linux/err.h>
#include <linux/slab.h>

#include "lane/lane.h"
#include "lane/growth.h"
#include "mem/account.h"
#include "net/conn.h"
#include "net/link.h"
#include "net/mailbox.h"
#include "net/net.h"

/* Grants taken from a mailbox at a time, under its lock. */
#define LANE_GRANTS		128

/* Charge and allocate memory that belongs to a connection.  Return: NULL if there is none. */
static void *conn_alloc(struct coll_conn *conn, u32 bytes)
{
	void *memory;

	if (coll_charge(conn->net->charges, bytes))
		return NULL;
	memory = kvzalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	if (memory)
		conn->charged += bytes;
	else
		coll_uncharge(conn->net->charges, bytes);
	return memory;
}

static void conn_replaced(struct coll_conn *conn, void *old, u32 bytes)
{
	kvfree(old);
	coll_uncharge(conn->net->charges, bytes);
	conn->charged -= bytes;
}

/**
 * coll_lane_lease() - until when may what a peer sends by reference be received?
 * @conn: data connection to the peer
 *
 * Return: the time; ns.
 */
u64 coll_lane_lease(const struct coll_conn *conn)
{
	/* A rank leaves with nothing pending, so all of its zero copy has been consumed. */
	return conn->peer_departed ? U64_MAX : READ_ONCE(conn->link->lease);
}

/* Return: 0, -EDQUOT or -ENOMEM. */
static int conn_make_stream(struct coll_lane *lane, struct coll_conn *conn)
{
	struct coll_stream *stream = coll_conn_take_stream(conn);

	if (IS_ERR(stream))
		return PTR_ERR(stream);
	coll_stream_init(stream, &lane->engine, conn->peer, stream->unexp_buf,
			 stream->grants.entry, COLL_GRANTS_FIRST);
	stream->by_reference = conn->ep.transport->by_reference;
	stream->lease = coll_lane_lease(conn);
	/* Publishes the stream. */
	smp_store_release(&conn->stream, stream);
	/* @stream before @spare: pairs with coll_conn_reserve(). */
	coll_conn_drop_spare(conn);
	atomic_dec(&lane->net->unused);
	return 0;
}

/**
 * coll_lane_use_conn() - have the memory that a data connection needs to carry payload
 * @lane: a lane that runs
 * @conn: a connection of the lane that is not down
 *
 * It is reserved by the first operation that uses the connection (coll_link_ensure()), unless the
 * peer has sent bytes or flow control before.
 *
 * Context: lane; may sleep.
 * Return: 0, -EDQUOT or -ENOMEM, and then the connection must not be used.
 */
int coll_lane_use_conn(struct coll_lane *lane, struct coll_conn *conn)
{
	int err;

	if (conn->stream)
		return 0;
	err = conn_make_stream(lane, conn);
	if (!err)
		coll_engine_connected(&lane->engine, conn->stream);
	return err;
}

/*
 * A peer has granted more operations than its table has space for.  Most of them are not submitted
 * here, so no request could have reserved the space.  Return: 0 or -ENOMEM.
 */
static int conn_grow_grants(struct coll_conn *conn)
{
	struct coll_grants *grants = &conn->stream->grants;
	u32 old = grants->size * sizeof(struct coll_grant);
	struct coll_grant *entries = conn_alloc(conn, 2 * old);

	if (!entries)
		return -ENOMEM;
	conn_replaced(conn, coll_grants_move(grants, entries, 2 * grants->size), old);
	return 0;
}

/**
 * coll_lane_take_mail() - take grants and credit out of a mailbox
 * @lane: a lane that runs
 * @conn: a connection of the lane
 *
 * Context: lane; may sleep.
 * Return: 0, -EPROTO or -ENOMEM.
 */
int coll_lane_take_mail(struct coll_lane *lane, struct coll_conn *conn)
{
	struct coll_grants *grants = &conn->stream->grants;
	u32 most = COLL_GRANTS(lane->engine.most), left, max;
	int err;

	do {
		max = LANE_GRANTS;
		/* A table of full size makes space itself. */
		if (grants->size < most)
			max = min(max, coll_grants_space(grants));
		err = coll_mailbox_take(conn->mailbox, conn->stream, max, &left);
		if (!err && left && max < LANE_GRANTS)
			err = conn_grow_grants(conn);
	} while (!err && left && max < LANE_GRANTS);
	if (left && !err)
		coll_runner_kick(&lane->runner);
	return err;
}

/* Return: false if there is no memory, or no more credit may be given. */
static bool conn_raise_credit(struct coll_conn *conn)
{
	struct coll_stream *stream = conn->stream;
	u32 old = coll_unexp_bytes(stream->rx_credit), wanted = stream->rx_wanted;
	u8 *buf = NULL;

	if (wanted > stream->rx_credit)
		buf = conn_alloc(conn, coll_unexp_bytes(wanted));
	if (!buf)
		return false;
	conn_replaced(conn, coll_stream_raise_credit(stream, buf, wanted), old);
	return true;
}

/**
 * coll_lane_raise_credit() - give more credit to peers that use much of it or ask for it
 * @lane: a lane that runs; its engine wants more credit for some of them
 *
 * Peers without credit request grants of small payloads, and a small message waits for its
 * receiver.  That costs time, so it is no error if there is no memory.
 *
 * Context: lane; may sleep.
 */
void coll_lane_raise_credit(struct coll_lane *lane)
{
	struct coll_conn *conn;

	lane->engine.credit_wanted = false;
	list_for_each_entry(conn, &lane->conns, node) {
		struct coll_stream *stream = conn->stream;

		if (coll_conn_is_down(conn) || !stream ||
		    (!stream->rx_wanted && !stream->rx_blocked))
			continue;
		if (!conn_raise_credit(conn) && stream->rx_blocked)
			coll_stream_refuse_credit(stream);
		stream->rx_wanted = 0;
	}
}
