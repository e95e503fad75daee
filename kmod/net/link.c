// SPDX-License-Identifier: GPL-2.0-only
/*
 * Links: made, connected and freed.  Of two ranks the lower one connects.
 */
#include <linux/ktime.h>
#include <linux/slab.h>

#include "core/engine/instance.h"
#include "core/query/query.h"
#include "fail/member_state.h"
#include "limits.h"
#include "mem/account.h"
#include "net/conn.h"
#include "net/link.h"
#include "net/net.h"
#include "trace/recorder.h"

/* As that of connections. */
static struct kmem_cache *link_cache;

/**
 * coll_link_setup() - make the cache of links
 *
 * Return: 0 or -ENOMEM.
 */
int coll_link_setup(void)
{
	link_cache = KMEM_CACHE(coll_link, SLAB_ACCOUNT);
	return link_cache ? 0 : -ENOMEM;
}

/** coll_link_cleanup() - undo coll_link_setup(); no link is left */
void coll_link_cleanup(void)
{
	kmem_cache_destroy(link_cache);
}

/**
 * coll_link_get() - the link to a peer
 * @net: of the member
 * @peer: rank of the peer
 *
 * Context: any.
 * Return: the link, or NULL.
 */
struct coll_link *coll_link_get(const struct coll_net *net, u32 peer)
{
	return READ_ONCE(net->links[peer]);
}

static void link_free_memory(struct coll_link *link)
{
	struct coll_net *net = link->net;
	u32 i;

	for (i = 0; i < link->nmailboxes; i++)
		coll_mailbox_cleanup(&link->mailboxes[i]);
	kvfree(link->mailboxes);
	coll_tx_ring_cleanup(&link->tx_ring);
	coll_uncharge(net->charges, link->charged);
	kmem_cache_free(link_cache, link);
}

/* Return: a link that is not published; or -EDQUOT or -ENOMEM as a pointer. */
static struct coll_link *link_alloc(struct coll_net *net, u32 peer, u32 tx_ops)
{
	u32 bytes = sizeof(struct coll_link) + net->id->nlanes * sizeof(struct coll_mailbox);
	struct coll_link *link;
	u32 i;
	int err;

	err = coll_charge(net->charges, bytes);
	if (err)
		return ERR_PTR(err);
	err = -ENOMEM;
	link = kmem_cache_zalloc(link_cache, GFP_KERNEL_ACCOUNT);
	if (!link)
		goto uncharge;
	link->net = net;
	link->charged = bytes;
	link->mailboxes = kvcalloc(net->id->nlanes, sizeof(*link->mailboxes), GFP_KERNEL_ACCOUNT);
	if (!link->mailboxes)
		goto free;
	link->nmailboxes = net->id->nlanes;
	err = coll_tx_ring_init(&link->tx_ring, net->charges, net->id->nlanes, tx_ops,
				coll_query_space(net->id->nranks));
	if (err)
		goto free;
	for (i = 0; i < net->id->nlanes; i++)
		coll_mailbox_init(&link->mailboxes[i], net->charges);
	link->peer = peer;
	return link;

free:
	link_free_memory(link);
	return ERR_PTR(err);
uncharge:
	coll_uncharge(net->charges, bytes);
	return ERR_PTR(err);
}

/*
 * Another thread may have made the link meanwhile.  Return: 0, -EEXIST, or -ENOBUFS if the link has
 * to have space for more requests, as those have that are published.
 */
static int link_publish(struct coll_link *link, u32 tx_ops)
{
	struct coll_net *net = link->net;

	lockdep_assert_held(&net->state->lock);
	if (net->links[link->peer])
		return -EEXIST;
	if (net->tx_ops > tx_ops)
		return -ENOBUFS;
	net->nr_required += link->required;
	list_add_tail_rcu(&link->node, &net->link_list);
	smp_store_release(&net->links[link->peer], link);	/* complete */
	/* @link_list before @nr_links: pairs with net_grow(). */
	smp_store_release(&net->nr_links, net->nr_links + 1);
	return 0;
}

/**
 * coll_link_new() - make the link to a peer
 * @net: of the member
 * @peer: rank of the peer; this rank, or one with a link, is no error
 * @required: true if CONNECT waits for it
 *
 * Context: process or control runner; may sleep.
 * Return: 0, -EDQUOT or -ENOMEM.
 */
int coll_link_new(struct coll_net *net, u32 peer, bool required)
{
	struct coll_link *link;
	u32 tx_ops;
	int err;

	if (peer == net->id->rank)
		return 0;
	/* Again if another thread has let all rings grow meanwhile; they grow seldom. */
	do {
		if (coll_link_get(net, peer))
			return 0;
		tx_ops = READ_ONCE(net->tx_ops);
		link = link_alloc(net, peer, tx_ops);
		if (IS_ERR(link))
			return PTR_ERR(link);
		link->required = required;
		spin_lock(&net->state->lock);
		err = link_publish(link, tx_ops);
		spin_unlock(&net->state->lock);
		if (err)
			link_free_memory(link);
	} while (err == -ENOBUFS);
	return 0;
}

/* Has this rank begun all connections of the link that it has to make? */
static bool link_begun(const struct coll_link *link)
{
	return link->peer < link->net->id->rank ||
	       READ_ONCE(link->nr_connecting) == 1 + link->net->id->nlanes;
}

/**
 * coll_link_begin() - begin the connections of a link that have not begun
 * @link: the link; it has a transport if this rank makes its connections
 *
 * Context: with @link_mutex; may sleep.
 * Return: 0 or a negative errno; it may be called again, and continues with the connection that
 * could not be begun.
 */
int coll_link_begin(struct coll_link *link)
{
	struct sockaddr_storage addr;
	int err = 0;

	coll_peer_addr_get(&link->net->peers[link->peer], &addr);
	while (!err && !link_begun(link)) {
		err = link->nr_connecting ?
		      coll_conn_connect(link, COLL_CONN_DATA, link->nr_connecting - 1, &addr) :
		      coll_conn_connect(link, COLL_CONN_CONTROL, 0, &addr);
		if (!err)
			WRITE_ONCE(link->nr_connecting, link->nr_connecting + 1);
	}
	return err;
}

/**
 * coll_link_can_retry() - may a connection that could not be begun be begun a moment later?
 * @err: negative errno
 *
 * Return: true if memory or a port was missing on this host.
 */
bool coll_link_can_retry(int err)
{
	return err == -ENOMEM || err == -EDQUOT || err == -ENOBUFS || err == -ENFILE ||
	       err == -EADDRINUSE || err == -EADDRNOTAVAIL;
}

/**
 * coll_link_connect() - begin the connections of a link, if this is the lower rank
 * @link: the link
 *
 * If coll_link_can_retry() says so, it may be called again, and continues with the connection that
 * could not be begun.
 *
 * Context: the process that joined, with @link_mutex; may sleep.
 * Return: 0 or a negative errno.
 */
int coll_link_connect(struct coll_link *link)
{
	struct sockaddr_storage addr;
	int err;

	coll_peer_addr_get(&link->net->peers[link->peer], &addr);
	err = coll_link_agree(link, &addr);
	if (!err && !link->nr_connecting && !link_begun(link))
		err = coll_link_choose(link, &addr);
	if (!err)
		err = coll_link_begin(link);
	return err && coll_link_cannot(link, err) ? 0 : err;
}

/* Have memory for the streams of the connections that are open. */
static int link_reserve(struct coll_link *link)
{
	struct coll_conn *conn;
	int err = 0;
	u32 i;

	for (i = 0; !err && i < link->net->id->nlanes; i++) {
		/* Complete: pairs with coll_lane_attach(). */
		conn = smp_load_acquire(&link->data[i]);
		if (conn)
			err = coll_conn_reserve(conn);
	}
	return err;
}

/**
 * coll_link_ensure() - make the link that an operation needs, with memory for its payload
 * @net: of a member that is up
 * @peer: another rank
 *
 * The link need not be complete when this returns.  Both ranks need it for the same operation, and
 * the lower one connects.
 *
 * Context: the process that joined; may sleep.
 * Return: 0 or a negative errno; the next operation that needs the link tries again.
 */
int coll_link_ensure(struct coll_net *net, u32 peer)
{
	struct coll_link *link = coll_link_get(net, peer);
	int err;

	if (link && link_begun(link))
		return link_reserve(link);
	mutex_lock(&net->link_mutex);
	err = coll_link_new(net, peer, false);
	if (!err)
		err = coll_link_connect(net->links[peer]);
	coll_net_unlock_links(net);
	return err;
}

/**
 * coll_link_flush_until() - send nothing more, and let what was sent arrive
 * @link: the link; the member's runners are stopped.  Its sockets linger after it is freed
 * @until: they are given up then; jiffies
 *
 * Context: may sleep.
 */
void coll_link_flush_until(struct coll_link *link, unsigned long until)
{
	u32 i;

	if (link->control)
		coll_conn_finish(link->control, until);
	for (i = 0; i < link->net->id->nlanes; i++)
		if (link->data[i])
			coll_conn_finish(link->data[i], until);
}

/* Frames that have not been sent may have the reason of a failure. */
static void link_send_rest(struct coll_link *link)
{
	struct coll_endpoint *ep = &link->control->ep;
	struct coll_tx_ring *ring = &link->tx_ring;
	u32 left = ring->head - ring->tail;

	if (left && ep->transport && ep->transport->send_rest)
		ep->transport->send_rest(ep, coll_tx_ring_take(ring), ring->size, ring->tail, left);
}

/**
 * coll_link_free() - free a link and its control connection
 * @link: the link; its lanes have freed its data connections
 * @reset: drop what is queued
 *
 * Context: may sleep.
 */
void coll_link_free(struct coll_link *link, bool reset)
{
	list_del(&link->node);
	link->net->links[link->peer] = NULL;
	if (link->control) {
		link_send_rest(link);
		coll_conn_free(link->control, reset);
	}
	link_free_memory(link);
}

/**
 * coll_link_takes() - may a connection be one of a link?
 * @link: of its peer
 * @conn: the connection; what it is for is known
 *
 * Context: control runner.
 * Return: 0; -EBUSY: the link has this connection already; -EPROTO: the others of the link have
 * another transport.
 */
int coll_link_takes(const struct coll_link *link, const struct coll_conn *conn)
{
	if (conn->kind == COLL_CONN_CONTROL ? link->control : link->data[conn->lane])
		return -EBUSY;
	return link->nr_open && link->transport != conn->ep.transport ? -EPROTO : 0;
}

/**
 * coll_link_attach_conn() - a connection is open: give it to the link or to its lane
 * @link: of its peer
 * @conn: the connection; owned by the link or lane if this succeeds
 *
 * Context: control runner.
 * Return: 0, -EBUSY or -EPROTO: see coll_link_takes().
 */
int coll_link_attach_conn(struct coll_link *link, struct coll_conn *conn)
{
	struct coll_net *net = link->net;
	/* Others may have come since it was called. */
	int err = coll_link_takes(link, conn);

	if (err)
		return err;
	if (!conn->outgoing)
		coll_link_chosen(link, conn->ep.transport);
	link->missed_heartbeats = 0;
	WRITE_ONCE(link->lease,
		   ktime_get_ns() + coll_state_heartbeats_ns(net->state, COLL_LEASE_BEATS));

	if (conn->kind == COLL_CONN_CONTROL) {
		/* Publishes the complete connection. */
		smp_store_release(&link->control, conn);
		/* Publishes the link: pairs with coll_endpoint_event(). */
		smp_store_release(&conn->ep.ops, &coll_link_endpoint_ops);
		set_bit(COLL_EVENT_READABLE, &conn->events);
		coll_runner_kick(net->control);
	} else {
		net->ops->data_open(conn);
	}

	if (++link->nr_open < 1 + net->id->nlanes)
		return 0;
	coll_record_link(&net->state->trace, link->peer, COLL_LINK_UP, 0);
	if (link->required) {
		spin_lock(&net->state->lock);
		net->nr_required_open++;
		spin_unlock(&net->state->lock);
		coll_net_try_up(net);
	}
	return 0;
}

/*
 * A frame had no space.  If the ring has all the space that it may have, the peer reads nothing;
 * else this rank has no memory.
 */
static void link_report_overflow(struct coll_link *link)
{
	struct coll_net *net = link->net;
	u32 rank = net->id->rank;

	if (READ_ONCE(link->tx_ring.size) < link->tx_ring.most)
		coll_state_fail_kind(net->state, COLLECTIVE_REASON_RESOURCES, rank,
				     COLLECTIVE_RANK_NONE);
	else
		coll_state_fail_kind(net->state, COLLECTIVE_REASON_SILENCE, min(link->peer, rank),
				     max(link->peer, rank));
}

/**
 * coll_link_run() - send queued control frames, then receive
 * @link: the link
 *
 * Context: control runner.
 */
void coll_link_run(struct coll_link *link)
{
	if (!link->control || link->control->state != COLL_CONN_OPEN)
		return;
	if (READ_ONCE(link->tx_overflow))
		link_report_overflow(link);
	/* Sending first: peers wait for the queued frames. */
	coll_link_send(link);
	coll_link_receive(link);
}
