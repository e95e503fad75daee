// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finding a peer in this kernel, and connecting to it.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "mem/account.h"
#include "transport/board.h"
#include "transport/hub.h"
#include "transport/local/local.h"

/**
 * struct coll_local_listener - a member that accepts local connections
 * @node: in coll_local_hub.listeners
 * @rank: of the member [c]
 * @addr: address on which its TCP listener accepts, by which other ranks name it [c]
 * @ep: its endpoint [c]
 * @calls: connections that wait for coll_local_accept()
 */
struct coll_local_listener {
	struct list_head node;
	u32 rank;
	struct sockaddr_storage addr;
	struct coll_endpoint *ep;
	struct list_head calls;
};

/**
 * coll_local_hub_init() - a hub without listeners
 * @hub: zeroed
 * @nranks: ranks of the group
 * @lanes: lanes of each rank
 *
 * Context: may sleep.
 * Return: 0, or -ENOMEM: the hub may be cleaned up all the same.
 */
int coll_local_hub_init(struct coll_local_hub *hub, u32 nranks, u32 lanes)
{
	spin_lock_init(&hub->lock);
	INIT_LIST_HEAD(&hub->listeners);
	hub->nranks = nranks;
	hub->lanes = lanes;
	hub->addrs = kvcalloc(nranks, sizeof(*hub->addrs), GFP_KERNEL_ACCOUNT);
	hub->wishes = kvcalloc(nranks, sizeof(*hub->wishes), GFP_KERNEL_ACCOUNT);
	if (!hub->addrs || !hub->wishes)
		return -ENOMEM;
	if (nranks > COLL_LOCAL_READERS_MAX)
		return 0;
	hub->exposers = kvcalloc(nranks * lanes, sizeof(*hub->exposers), GFP_KERNEL_ACCOUNT);
	return hub->exposers ? coll_local_board_new(hub) : -ENOMEM;
}

/**
 * coll_local_hub_cleanup() - undo coll_local_hub_init()
 * @hub: a hub without listeners and exposers
 */
void coll_local_hub_cleanup(struct coll_local_hub *hub)
{
	kvfree(hub->addrs);
	kvfree(hub->wishes);
	kvfree(hub->exposers);
	coll_local_board_free(hub);
}

/* Does a listener on @bound, of IPv6 or IPv4, accept what is sent to @addr? */
static bool addr_covers(const struct sockaddr_in6 *bound, const struct sockaddr_storage *addr)
{
	const struct sockaddr_in *bound4 = (const void *)bound, *addr4 = (const void *)addr;
	const struct sockaddr_in6 *addr6 = (const void *)addr;

	if (bound->sin6_family == AF_INET6 && addr->ss_family == AF_INET6)
		return bound->sin6_port == addr6->sin6_port &&
		       (ipv6_addr_any(&bound->sin6_addr) ||
			ipv6_addr_equal(&bound->sin6_addr, &addr6->sin6_addr));
	if (addr->ss_family != AF_INET)
		return false;
	/* A listener on any IPv6 address accepts IPv4, too. */
	if (bound->sin6_family == AF_INET6)
		return bound->sin6_port == addr4->sin_port && ipv6_addr_any(&bound->sin6_addr);
	return bound->sin6_family == AF_INET && bound4->sin_port == addr4->sin_port &&
	       (bound4->sin_addr.s_addr == htonl(INADDR_ANY) ||
		bound4->sin_addr.s_addr == addr4->sin_addr.s_addr);
}

static struct coll_local_listener *hub_find(struct coll_local_hub *hub, u32 rank,
					    const struct sockaddr_storage *addr)
{
	struct coll_local_listener *listener;

	lockdep_assert_held(&hub->lock);
	list_for_each_entry(listener, &hub->listeners, node)
		if (listener->rank == rank)
			return addr_covers((void *)&listener->addr, addr) ? listener : NULL;
	return NULL;
}

/**
 * coll_local_hub_has() - can a rank be reached by a local connection?
 * @hub: of the group
 * @rank: the rank
 * @addr: its address as CONNECT was told; a rank that has left and joined again has another one
 *
 * Return: true if it listens on that address in this kernel.
 */
bool coll_local_hub_has(struct coll_local_hub *hub, u32 rank, const struct sockaddr_storage *addr)
{
	bool has;

	spin_lock(&hub->lock);
	has = hub_find(hub, rank, addr);
	spin_unlock(&hub->lock);
	return has;
}

/**
 * coll_local_hub_note() - a rank joins in this kernel
 * @hub: of the group
 * @rank: the rank; it may have joined before, also by the same address
 * @addr: its address
 * @wish: what it has chosen; enum collective_transport
 */
void coll_local_hub_note(struct coll_local_hub *hub, u32 rank,
			 const struct sockaddr_storage *addr, u32 wish)
{
	spin_lock(&hub->lock);
	memcpy(&hub->addrs[rank], addr, sizeof(*hub->addrs));
	hub->wishes[rank] = wish;
	spin_unlock(&hub->lock);
}

/**
 * coll_local_hub_wish() - what a rank has chosen that has joined in this kernel
 * @hub: of the group
 * @rank: the rank; it may have left since
 * @addr: its address as CONNECT was told
 *
 * Return: enum collective_transport; or -ENOENT: it has not joined here.
 */
int coll_local_hub_wish(struct coll_local_hub *hub, u32 rank, const struct sockaddr_storage *addr)
{
	int wish = -ENOENT;

	spin_lock(&hub->lock);
	if (addr_covers(&hub->addrs[rank], addr))
		wish = hub->wishes[rank];
	spin_unlock(&hub->lock);
	return wish;
}

/**
 * coll_local_hub_reads_all() - can all ranks of a group read each other's memory?
 * @hub: of the group
 * @peers: addresses by rank, as CONNECT was told
 *
 * The answer is the same on every rank: all of them have joined before one can connect, and a rank
 * that has left since still counts.
 *
 * Return: true if all ranks have listened in this hub on the addresses that CONNECT names, none of
 * them has chosen another transport, and they are few enough for exposers.
 */
bool coll_local_hub_reads_all(struct coll_local_hub *hub, const struct sockaddr_storage *peers)
{
	bool all = hub->exposers;
	u32 rank;

	spin_lock(&hub->lock);
	for (rank = 0; all && rank < hub->nranks; rank++)
		all = coll_wishes_local(hub->wishes[rank]) &&
		      addr_covers(&hub->addrs[rank], &peers[rank]);
	spin_unlock(&hub->lock);
	return all;
}

/**
 * coll_local_listen() - see struct coll_transport
 * @ep: the endpoint; its @hub and @rank are set
 * @addr: address of the TCP listener; kept
 *
 * Context: may sleep.
 * Return: 0, -EDQUOT or -ENOMEM.
 */
int coll_local_listen(struct coll_endpoint *ep, struct sockaddr_storage *addr)
{
	struct coll_local_listener *listener;
	int err = coll_charge(ep->charges, sizeof(*listener));

	if (err)
		return err;
	listener = kzalloc(sizeof(*listener), GFP_KERNEL_ACCOUNT);
	if (!listener) {
		coll_uncharge(ep->charges, sizeof(*listener));
		return -ENOMEM;
	}
	ep->charged = sizeof(*listener);
	listener->rank = ep->rank;
	listener->addr = *addr;
	listener->ep = ep;
	INIT_LIST_HEAD(&listener->calls);
	ep->end = listener;
	ep->transport = &coll_local;
	spin_lock(&ep->hub->lock);
	list_add_tail(&listener->node, &ep->hub->listeners);
	spin_unlock(&ep->hub->lock);
	return 0;
}

/* Close the end of a connection that its rank will never take. */
static void call_refuse(struct coll_local_conn *conn)
{
	coll_pipe_end(&conn->callee.pipe, -ECONNRESET);
	coll_pipe_leave(&conn->caller.pipe);
	coll_local_notify(&conn->caller, COLL_EVENT_READABLE);
	coll_local_notify(&conn->caller, COLL_EVENT_WRITABLE);
	coll_local_conn_put(conn);
}

/**
 * coll_local_connect() - see struct coll_transport
 * @ep: the endpoint; its @hub and its @rank (of the peer) are set
 * @addr: address of the peer
 * @local: not used
 *
 * If the peer is gone, the connection is reset, as one by TCP would be.
 *
 * Context: may sleep.
 * Return: 0, -EDQUOT or -ENOMEM.
 */
int coll_local_connect(struct coll_endpoint *ep, const struct sockaddr_storage *addr,
		       const struct sockaddr_storage *local)
{
	struct coll_local_conn *conn = coll_local_conn_new();
	struct coll_local_listener *listener;
	int err;

	if (!conn)
		return -ENOMEM;
	err = coll_local_attach(ep, &conn->caller);
	if (err) {
		coll_local_conn_put(conn);
		return err;
	}
	refcount_inc(&conn->refs);
	spin_lock(&ep->hub->lock);
	listener = hub_find(ep->hub, ep->rank, addr);
	if (listener) {
		list_add_tail(&conn->node, &listener->calls);
		/* The queue is read under the lock, so the event needs no barrier. */
		coll_endpoint_event(listener->ep, COLL_EVENT_READABLE);
	}
	spin_unlock(&ep->hub->lock);
	if (!listener)
		call_refuse(conn);
	return 0;
}

/**
 * coll_local_withdraw_connect() - the caller of a connection closes its end
 * @ep: the caller's endpoint; its pipe has ended
 *
 * A call that was not taken is dropped.  Otherwise a member that calls a busy one again and again
 * would leave a connection each time, charged to none of the two.
 *
 * Context: may sleep.
 */
void coll_local_withdraw_connect(struct coll_endpoint *ep)
{
	struct coll_local_conn *conn = coll_local_end(ep)->conn;
	bool waits;

	/* What the peer has sent since is seen, too, so an open connection is taken. */
	if (READ_ONCE(conn->taken))
		return;
	spin_lock(&ep->hub->lock);
	waits = !list_empty(&conn->node);
	if (waits)
		list_del_init(&conn->node);
	spin_unlock(&ep->hub->lock);
	if (waits)
		coll_local_conn_put(conn);
}

/* Let a call wait again, unless its caller has closed its end meanwhile. */
static void listener_return(struct coll_endpoint *ep, struct coll_local_conn *conn)
{
	struct coll_local_listener *listener = ep->end;
	bool ended;
	int error;

	spin_lock(&ep->hub->lock);
	/* Before the lock in coll_local_withdraw_connect(), or that finds the call in the queue. */
	ended = coll_pipe_ended(&conn->caller.pipe, &error);
	if (!ended)
		list_add(&conn->node, &listener->calls);
	spin_unlock(&ep->hub->lock);
	if (ended)
		coll_local_conn_put(conn);
}

static struct coll_local_conn *listener_next(struct coll_endpoint *ep)
{
	struct coll_local_listener *listener = ep->end;
	struct coll_local_conn *conn;

	spin_lock(&ep->hub->lock);
	conn = list_first_entry_or_null(&listener->calls, struct coll_local_conn, node);
	if (conn)
		list_del_init(&conn->node);
	spin_unlock(&ep->hub->lock);
	return conn;
}

/**
 * coll_local_accept() - see struct coll_transport
 * @listener: the listener
 * @ep: becomes the other end of the call that has waited longest
 *
 * Return: 0, -EAGAIN: none waits; or -EDQUOT, and the call waits on.
 */
int coll_local_accept(struct coll_endpoint *listener, struct coll_endpoint *ep)
{
	struct coll_local_conn *conn = listener_next(listener);
	int err;

	if (!conn)
		return -EAGAIN;
	err = coll_local_attach(ep, &conn->callee);
	if (err)
		listener_return(listener, conn);
	else
		WRITE_ONCE(conn->taken, true);
	return err;
}

/**
 * coll_local_listener_close() - undo coll_local_listen(), and refuse the calls that wait
 * @ep: the listener; no operation of it runs
 *
 * Context: may sleep.
 */
void coll_local_listener_close(struct coll_endpoint *ep)
{
	struct coll_local_listener *listener = ep->end;
	struct coll_local_conn *conn;

	spin_lock(&ep->hub->lock);
	list_del(&listener->node);
	spin_unlock(&ep->hub->lock);
	/* No call arrives any more. */
	while ((conn = listener_next(ep)))
		call_refuse(conn);
	coll_uncharge(ep->charges, ep->charged);
	ep->charged = 0;
	ep->end = NULL;
	ep->transport = NULL;
	kfree(listener);
}
