// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of a lane's data connections that grows with what the peers send: the table of grants and
 * the unexpected buffer.  Both begin small, and are freed with the connection.
 */
#include <linux/slab.h>

#include "lane/lane.h"
#include "lane/room.h"
#include "mem/account.h"
#include "net/conn.h"
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

/*
 * A peer has granted more operations than its table has room for.  Most of them are not submitted
 * here, so no request could have reserved the room.  Return: 0 or -ENOMEM.
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
		/* A table of full size makes room itself. */
		if (grants->size < most)
			max = min(max, coll_grants_room(grants));
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

		if (conn->down || (!stream->rx_wanted && !stream->rx_blocked))
			continue;
		if (!conn_raise_credit(conn) && stream->rx_blocked)
			coll_stream_refuse_credit(stream);
		stream->rx_wanted = 0;
	}
}
