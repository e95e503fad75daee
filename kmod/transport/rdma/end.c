// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of a connection.
 *
 * A connection that is closed in order continues without its endpoint, until its last message
 * (COLL_RDMA_END) has arrived, or until its deadline.  It belongs to its work item then.  That item
 * also gives the device of any connection back if the device goes.
 */
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "mem/account.h"
#include "transport/rdma/rdma.h"

/* The least time for the last bytes to arrive, in jiffies. */
#define LINGER_LEAST	HZ

/* Bytes of the rest that are in one piece. */
static struct coll_out rest_next(const struct coll_rdma_conn *conn)
{
	u32 at = conn->rest_at & (conn->rest_size - 1);

	return (struct coll_out){
		.ptr = conn->rest + at,
		.len = min(conn->rest_len, conn->rest_size - at),
	};
}

static void linger_send_rest(struct coll_rdma_conn *conn)
{
	while (conn->rest_len) {
		struct coll_out out = rest_next(conn);
		int n = coll_rdma_send_some(conn, &out);

		if (n <= 0)
			return;
		conn->rest_at += n;
		conn->rest_len -= n;
	}
}

/*
 * The peer may wait for credits before it sends what it has to say last.  Its references are not
 * read.
 */
static void linger_discard(struct coll_rdma_conn *conn)
{
	while (conn->rx_tail != conn->rx_head) {
		coll_rdma_repost(conn,
				 conn->rx_ready[conn->rx_tail++ % COLL_RDMA_READY].slot);
		conn->rx_owed++;
	}
	coll_rdma_return_credits(conn);
}

/* Return: true if the connection may end. */
static bool linger_advance(struct coll_rdma_conn *conn)
{
	do {
		coll_rdma_poll(conn);
		if (coll_rdma_conn_error(conn) || time_after_eq(jiffies, conn->deadline))
			return true;
		/* The peer's operation is complete only then. */
		if (coll_rdma_read_taken(conn))
			coll_rdma_read_return(conn);
		linger_discard(conn);
		linger_send_rest(conn);
		if (!conn->rest_len && !conn->tx_ended && !coll_rdma_reads(conn) &&
		    coll_rdma_next_slot(conn, COLL_RDMA_END)) {
			conn->tx_ended = true;
			coll_rdma_post(conn, COLL_RDMA_END, 0);
		}
		if (conn->tx_ended && conn->tx_done == conn->tx_posted)
			return true;
		cond_resched();
	} while (coll_rdma_arm(conn));
	return false;
}

static void linger_free(struct coll_rdma_conn *conn)
{
	/* An event may have queued the work again; none comes any more. */
	cancel_delayed_work(&conn->work);
	coll_account_return(conn->account, conn->charged);
	if (conn->rest)
		coll_account_return(conn->rest_account, conn->rest_size);
	coll_rdma_conn_free(conn);
	/* The module's exit waits for this work item. */
	module_put(THIS_MODULE);
}

static bool conn_lingers(struct coll_rdma_conn *conn)
{
	unsigned long flags;
	bool lingers;

	spin_lock_irqsave(&conn->lock, flags);
	lingers = conn->lingers;
	spin_unlock_irqrestore(&conn->lock, flags);
	return lingers;
}

/**
 * coll_rdma_work() - the device goes, or a lingering connection may advance
 * @work: of the connection
 */
void coll_rdma_work(struct work_struct *work)
{
	struct coll_rdma_conn *conn = container_of(to_delayed_work(work), struct coll_rdma_conn,
						   work);
	bool lingers, done;

	mutex_lock(&conn->mutex);
	if (READ_ONCE(conn->removed))
		coll_rdma_conn_release(conn);
	lingers = conn_lingers(conn);
	done = lingers && (!conn->cq || linger_advance(conn));
	if (done)
		coll_rdma_conn_release(conn);
	else if (lingers)
		queue_delayed_work(coll_rdma_wq, &conn->work,
				   max_t(long, conn->deadline - jiffies, 1));
	mutex_unlock(&conn->mutex);
	if (done)
		linger_free(conn);
}

/**
 * coll_rdma_send_rest() - see struct coll_transport
 * @ep: the endpoint
 * @ring: memory of a ring, for kvfree()
 * @size: bytes of it, a power of two
 * @at: offset of the first byte
 * @len: number of bytes
 */
void coll_rdma_send_rest(struct coll_endpoint *ep, void *ring, u32 size, u32 at, u32 len)
{
	struct coll_rdma_conn *conn = ep->end;

	mutex_lock(&conn->mutex);
	conn->rest = ring;
	conn->rest_size = size;
	conn->rest_at = at;
	conn->rest_len = len;
	conn->rest_account = coll_charge_detach(ep->charges, size);
	mutex_unlock(&conn->mutex);
}

/**
 * coll_rdma_shutdown() - see struct coll_transport
 * @ep: the endpoint
 * @until: time at which the connection ends at the latest, in jiffies
 */
void coll_rdma_shutdown(struct coll_endpoint *ep, unsigned long until)
{
	struct coll_rdma_conn *conn = ep->end;

	/* The end is sent when nothing can be sent before it: by the work, after close(). */
	mutex_lock(&conn->mutex);
	conn->deadline = until;
	mutex_unlock(&conn->mutex);
}

/* Has the connection something to say, or to hear, before it ends? */
static bool conn_is_owed(struct coll_rdma_conn *conn)
{
	if (!conn->id || coll_rdma_conn_state(conn) != COLL_RDMA_OPEN || !conn->tx_slot)
		return false;
	/* Memory of the process belongs to it again when close() returns. */
	return !(coll_rdma_reads(conn) && !coll_rdma_read_taken(conn)) &&
	       !(conn->refs && conn->refs->tail != conn->refs->head);
}

/*
 * Prepare the connection for its work.  It waits for a route that is looked for, which close() must
 * not: the control runner closes connections, too.
 *
 * Return: false if there is nothing to wait for.
 */
static bool conn_may_linger(struct coll_endpoint *ep, struct coll_rdma_conn *conn, bool reset)
{
	unsigned long least = jiffies + LINGER_LEAST;

	if (completion_done(&conn->routed) && (reset || !conn_is_owed(conn)))
		return false;
	/* The member's reference to the module ends with its links. */
	__module_get(THIS_MODULE);
	if (time_before(conn->deadline, least))
		conn->deadline = least;
	conn->charged = ep->charged;
	conn->account = coll_charge_detach(ep->charges, ep->charged);
	ep->charged = 0;
	return true;
}

/*
 * Leave the connection to its work, which frees it.  Another thread can have a mutex before the one
 * that unlocks it is done with it, so this follows the unlock.  A spinlock has no such window.
 */
static void conn_linger(struct coll_rdma_conn *conn)
{
	unsigned long flags;

	spin_lock_irqsave(&conn->lock, flags);
	conn->lingers = true;
	mod_delayed_work(coll_rdma_wq, &conn->work, 0);
	spin_unlock_irqrestore(&conn->lock, flags);
}

/**
 * coll_rdma_close() - see struct coll_transport
 * @ep: the endpoint; nothing is done if it is closed
 * @reset: true to drop queued bytes and end the connection at once
 */
void coll_rdma_close(struct coll_endpoint *ep, bool reset)
{
	struct coll_rdma_conn *conn = ep->end;
	bool lingers;

	if (!ep->transport)
		return;
	if (ep->listens) {
		coll_rdma_close_listener(ep);
		return;
	}
	coll_rdma_info_attach(ep, NULL);
	mutex_lock(&conn->mutex);
	coll_rdma_conn_attach(conn, NULL);
	lingers = conn_may_linger(ep, conn, reset);
	if (!lingers)
		coll_rdma_conn_release(conn);
	mutex_unlock(&conn->mutex);
	if (lingers) {
		conn_linger(conn);
	} else {
		cancel_delayed_work_sync(&conn->work);
		if (conn->rest)
			coll_account_return(conn->rest_account, conn->rest_size);
		coll_rdma_conn_free(conn);
	}
	coll_uncharge(ep->charges, ep->charged);
	ep->charged = 0;
	ep->transport = NULL;
}
