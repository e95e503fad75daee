// SPDX-License-Identifier: GPL-2.0-only
/*
 * What concerns all connections of a member: its listener, the handshakes in progress, and the
 * links in their order.
 */
#include <linux/in.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "limits.h"
#include "net/callers.h"
#include "net/conn.h"
#include "net/link.h"
#include "net/net.h"
#include "transport/hub.h"

/* Ports that are tried, if any will do and RDMA has another number in use. */
#define LISTEN_TRIES	16

/* Rounds over the links in one run, before other work on this CPU. */
#define NET_ROUNDS	4

static void listener_event(struct coll_endpoint *ep, enum coll_event event)
{
	struct coll_net *net = container_of(ep, struct coll_listener, ep)->net;

	/* Its socket may be destroyed, too; nothing is to be done then. */
	if (event != COLL_EVENT_READABLE)
		return;
	set_bit(event, &net->listener_events);
	coll_runner_kick(net->control);
}

static void listener_refused(struct coll_endpoint *ep, const struct sockaddr_storage *caller,
			     int err)
{
	coll_net_count_refused(container_of(ep, struct coll_listener, ep)->net, caller, err);
}

static const struct coll_endpoint_ops listener_ops = {
	.event		= listener_event,
	.refused	= listener_refused,
};

/**
 * coll_net_init() - no listener and no link yet
 * @net: zeroed
 * @id: of the member
 * @state: of the member
 * @charges: connections and links are charged to
 * @control: the control runner
 * @ops: of the rooms above
 */
void coll_net_init(struct coll_net *net, const struct coll_ident *id,
		   struct coll_member_state *state,
		   struct coll_charges *charges, struct coll_runner *control,
		   const struct coll_net_ops *ops)
{
	u32 i;

	net->id = id;
	net->state = state;
	net->charges = charges;
	net->control = control;
	net->ops = ops;
	mutex_init(&net->link_mutex);
	for (i = 0; i < COLL_LISTENERS; i++) {
		net->listeners[i].net = net;
		net->listeners[i].ep.ops = &listener_ops;
		net->listeners[i].ep.charges = charges;
		net->listeners[i].ep.listens = true;
	}
	INIT_LIST_HEAD(&net->handshakes);
	INIT_LIST_HEAD(&net->new_conns);
	INIT_LIST_HEAD(&net->link_list);
	coll_query_init(&net->query);
}

static int listener_open(struct coll_net *net, enum coll_listener_kind kind,
			 const struct coll_transport *transport, struct sockaddr_storage *addr)
{
	struct coll_endpoint *ep = &net->listeners[kind].ep;

	ep->ns = net->ns;
	ep->hub = net->hub;
	ep->rank = net->id->rank;
	ep->calls = coll_callers_max(net);
	return transport->listen(ep, addr);
}

static int listen_rdma(struct coll_net *net, struct sockaddr_storage *addr)
{
	int err = listener_open(net, COLL_LISTENER_RDMA, net->rdma, addr);

	if (!err)
		coll_addr_offer_rdma(addr);
	return err;
}

static void put_rdma(struct coll_net *net)
{
	if (net->rdma)
		coll_rdma_put(net->rdma);
	net->rdma = NULL;
}

/* Is it the address of all interfaces?  Its ranks are called at another one. */
static bool addr_is_any(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET6)
		return ipv6_addr_any(&((const struct sockaddr_in6 *)addr)->sin6_addr);
	return ((const struct sockaddr_in *)addr)->sin_addr.s_addr == htonl(INADDR_ANY);
}

/*
 * A rank that has chosen AUTO offers RDMA if it can, and is reached by TCP otherwise.  Whether the
 * address that its peers will call is that of a device is not known of all interfaces.
 */
static int offer_rdma(struct coll_net *net, struct sockaddr_storage *addr, bool last)
{
	int err = addr_is_any(addr) ? -ENODEV : listen_rdma(net, addr);

	switch (err) {
	case 0:
	case -ENOMEM:
	case -EDQUOT:
		return err;
	case -EADDRINUSE:
		if (!last)
			return err;
		net->no_rdma = COLLECTIVE_LINK_CHOICE_PORT_TAKEN;
		break;
	case -EPROTONOSUPPORT:
		net->no_rdma = COLLECTIVE_LINK_CHOICE_IWARP;
		break;
	default:
		net->no_rdma = COLLECTIVE_LINK_CHOICE_NO_DEVICE;
	}
	put_rdma(net);
	return 0;
}

/*
 * Listen by TCP, and with the same address and port by the transports that this rank wishes.
 * @last: -EADDRINUSE would not be tried with another port.
 */
static int listen_as_wished(struct coll_net *net, struct sockaddr_storage *addr, bool last)
{
	int err = listener_open(net, COLL_LISTENER_TCP, &coll_tcp, addr);

	if (err)
		return err;
	if (net->wish == COLLECTIVE_TRANSPORT_RDMA)
		err = listen_rdma(net, addr);
	else if (net->rdma)
		err = offer_rdma(net, addr, last);
	/* The last one: coll_net_close_listener() does not close it. */
	if (!err && coll_wishes_local(net->wish))
		err = listener_open(net, COLL_LISTENER_LOCAL, &coll_local, addr);
	if (err)
		coll_net_close_listener(net);
	return err;
}

/* Get the transport that this rank may offer beside TCP.  Return: 0 or -EOPNOTSUPP. */
static int get_rdma(struct coll_net *net)
{
	switch (net->wish) {
	case COLLECTIVE_TRANSPORT_RDMA:
		net->rdma = coll_rdma_get();
		return net->rdma ? 0 : -EOPNOTSUPP;
	case COLLECTIVE_TRANSPORT_AUTO:
		net->rdma = coll_rdma_get_loaded();
		net->no_rdma = COLLECTIVE_LINK_CHOICE_NOT_LOADED;
		break;
	}
	return 0;
}

/**
 * coll_net_listen() - begin to accept connections
 * @net: of the member
 * @addr: in: where to listen; out: the bound address
 *
 * Other ranks name this one by the address of the TCP listener, whatever transport they use.
 *
 * Context: the process that joins; may sleep.
 * Return: 0 or a negative errno.
 */
int coll_net_listen(struct coll_net *net, struct sockaddr_storage *addr)
{
	struct sockaddr_storage wanted = *addr;
	int tries = coll_port_is_any(addr) ? LISTEN_TRIES : 1;
	int err = get_rdma(net);

	if (err)
		return err;
	/* Nothing is accepted before all listeners stand, because if one fails, all are closed. */
	coll_runner_acquire(net->control);
	/* TCP has chosen a port, and the same one of RDMA may be in use. */
	do {
		*addr = wanted;
		err = listen_as_wished(net, addr, tries == 1);
	} while (err == -EADDRINUSE && --tries);
	if (err)
		put_rdma(net);
	else
		coll_local_hub_note(net->hub, net->id->rank, addr, net->wish);
	coll_runner_release(net->control);
	return err;
}

static void listener_close(struct coll_net *net, enum coll_listener_kind kind)
{
	struct coll_endpoint *ep = &net->listeners[kind].ep;

	if (ep->transport)
		ep->transport->close(ep, false);
}

/**
 * coll_net_close_listener() - accept no connections of other kernels
 * @net: of the member
 *
 * Context: control runner, or the teardown; may sleep.
 */
void coll_net_close_listener(struct coll_net *net)
{
	listener_close(net, COLL_LISTENER_RDMA);
	listener_close(net, COLL_LISTENER_TCP);
}

/**
 * coll_net_accepts() - may a link of a member have a transport?
 * @net: of the member
 * @transport: the transport
 *
 * Return: true if it agrees with the wish of the member.
 */
bool coll_net_accepts(const struct coll_net *net, const struct coll_transport *transport)
{
	/* All ranks are in the hub, and none has a reason to call otherwise. */
	if (READ_ONCE(net->id->reads))
		return transport == &coll_local;
	switch (net->wish) {
	case COLLECTIVE_TRANSPORT_LOCAL:
		return transport == &coll_local;
	case COLLECTIVE_TRANSPORT_RDMA:
		return transport == net->rdma;
	}
	/* It listens for no other one. */
	return true;
}

/**
 * coll_net_try_up() - the group is up if every required link is complete
 * @net: of a member whose CONNECT was called, or one of whose links is complete now
 */
void coll_net_try_up(struct coll_net *net)
{
	struct coll_member_state *state = net->state;

	spin_lock(&state->lock);
	if (state->value == COLLECTIVE_STATE_CONNECTING &&
	    net->nr_required_open == net->nr_required) {
		coll_state_set(state, COLLECTIVE_STATE_UP);
		/* It ticks seldom, or not at all, while it connects. */
		WRITE_ONCE(net->resting, false);
		net->ops->resume(net);
	}
	spin_unlock(&state->lock);
}

/**
 * coll_net_take_new_conns() - begin the handshakes on connections that this rank has begun
 * @net: of the member
 *
 * Context: control runner.
 */
void coll_net_take_new_conns(struct coll_net *net)
{
	spin_lock(&net->state->lock);
	list_splice_tail_init(&net->new_conns, &net->handshakes);
	spin_unlock(&net->state->lock);
}

/**
 * coll_net_run_handshakes() - accept connections, and advance those that are not open
 * @net: of the member
 * @heartbeat: true to look at the listener without an event, too
 * @now: ns
 *
 * Context: control runner.
 */
void coll_net_run_handshakes(struct coll_net *net, bool heartbeat, u64 now)
{
	struct coll_conn *conn, *next;
	u32 i;

	for (i = 0; i < COLL_LISTENERS; i++)
		net->listeners[i].waits = false;
	if (test_and_clear_bit(COLL_EVENT_READABLE, &net->listener_events) || heartbeat)
		coll_callers_accept(net);
	coll_net_take_new_conns(net);
	/* At most all places of the listeners, and those that this rank has made. */
	list_for_each_entry_safe(conn, next, &net->handshakes, node)
		coll_conn_handshake(conn, now);
	coll_net_fall_back(net);
}

/**
 * coll_net_has_leases() - does a link need heartbeats while operations are in flight?
 * @net: of the member
 *
 * Return: true if a link is not local.
 */
bool coll_net_has_leases(const struct coll_net *net)
{
	const struct coll_link *link;

	coll_for_each_link(link, net)
		if (READ_ONCE(link->transport) != &coll_local)
			return true;
	return false;
}

/**
 * coll_net_is_connecting() - does a connection that is not open have a time limit?
 * @net: of the member
 *
 * A call that this rank makes by TCP has none: it ends by an event, or with CONNECT.
 *
 * Return: true if a caller has to introduce itself in time, a call waits for the next look to be
 * accepted or made again, or RDMA is tried where TCP would do.
 */
bool coll_net_is_connecting(const struct coll_net *net)
{
	const struct coll_link *link;

	if (READ_ONCE(net->nr_half_open) || READ_ONCE(net->listener_events))
		return true;
	coll_for_each_link(link, net)
		if (READ_ONCE(link->tries))
			return true;
	return false;
}

/**
 * coll_net_has_pings() - does a peer have to be probed?
 * @net: of the member
 *
 * Return: true if a link that is not local is open.
 */
bool coll_net_has_pings(const struct coll_net *net)
{
	const struct coll_link *link;

	coll_for_each_link(link, net)
		if (READ_ONCE(link->control) && READ_ONCE(link->transport) != &coll_local)
			return true;
	return false;
}

/**
 * coll_net_shrink() - give the space on links back that coll_net_reserve() has added
 * @net: of a member that has come to rest; it may have resumed since
 *
 * Context: the work item that ticks.
 */
void coll_net_shrink(struct coll_net *net)
{
	struct coll_link *link;
	u32 bytes;

	/* A thread that submits has it: the member will rest another time. */
	if (!mutex_trylock(&net->link_mutex))
		return;
	spin_lock(&net->state->lock);
	/* Nothing is in flight then. */
	if (net->resting && net->tx_ops > COLL_TX_OPS_FIRST)
		WRITE_ONCE(net->tx_ops, COLL_TX_OPS_FIRST);
	spin_unlock(&net->state->lock);
	/* What cannot be made smaller just now stays as it is. */
	bytes = coll_tx_ring_bytes(net->id->nlanes, min(net->tx_ops, COLL_TX_OPS_FIRST));
	if (net->tx_ops <= COLL_TX_OPS_FIRST)
		coll_for_each_link(link, net)
			coll_tx_ring_shrink(&link->tx_ring, bytes);
	coll_net_unlock_links(net);
}

/* Let rings that are low grow.  Return: 0, -EDQUOT or -ENOMEM. */
static int net_make_space(struct coll_net *net)
{
	struct coll_link *link;
	int err = 0;

	if (!READ_ONCE(net->tx_low))
		return 0;
	/* Before the rings are looked at: a frame that is queued later sets it again. */
	WRITE_ONCE(net->tx_low, false);
	coll_for_each_link(link, net)
		err = coll_tx_ring_make_space(&link->tx_ring) ?: err;
	if (err)
		WRITE_ONCE(net->tx_low, true);
	return err;
}

/**
 * coll_net_make_space() - have space on all links for what the next frame of a peer may cause
 * @net: of the member
 *
 * A rank passes the failure of an operation on to all others, also of operations that it has not
 * submitted.  Hundreds of these may come at once.
 *
 * Context: control runner; may sleep.
 */
void coll_net_make_space(struct coll_net *net)
{
	struct coll_link *link;
	int err;

	if (!READ_ONCE(net->tx_low))
		return;
	coll_for_each_link(link, net)
		if (link->control && link->control->state == COLL_CONN_OPEN)
			coll_link_send(link);
	err = net_make_space(net);
	if (err)
		coll_state_fail_kind(net->state, COLLECTIVE_REASON_RESOURCES, net->id->rank,
				     COLLECTIVE_RANK_NONE);
}

/* Have all links space for more requests; @link_mutex is held.  Return: 0, -EDQUOT or -ENOMEM. */
static int net_grow(struct coll_net *net, u32 ops)
{
	u32 bytes = coll_tx_ring_bytes(net->id->nlanes, ops), known;
	struct coll_link *link;
	bool all;
	int err;

	/* Again if the control runner has made a link meanwhile: for each rank once at most. */
	do {
		/* @nr_links before @link_list: pairs with link_publish(). */
		known = smp_load_acquire(&net->nr_links);
		coll_for_each_link(link, net) {
			err = coll_tx_ring_grow(&link->tx_ring, bytes);
			if (err)
				return err;
		}
		spin_lock(&net->state->lock);
		all = net->nr_links == known;
		if (all)
			WRITE_ONCE(net->tx_ops, ops);
		spin_unlock(&net->state->lock);
	} while (!all);
	return 0;
}

/**
 * coll_net_reserve() - have space on all links for the frames of more requests
 * @net: of the member
 * @ops: requests in flight, at most COLL_INFLIGHT
 *
 * Requests that fail at once leave frames behind, so rings may be low without many in flight.
 *
 * Context: a thread that submits; may sleep.
 * Return: 0, -EDQUOT or -ENOMEM.
 */
int coll_net_reserve(struct coll_net *net, u32 ops)
{
	int err = 0;

	mutex_lock(&net->link_mutex);
	ops = max(roundup_pow_of_two(ops), COLL_TX_OPS_FIRST);
	if (ops > net->tx_ops)
		err = net_grow(net, ops);
	if (!err)
		err = net_make_space(net);
	coll_net_unlock_links(net);
	return err;
}

/**
 * coll_net_run_links() - send and receive control frames
 * @net: of the member
 *
 * A frame received on one link may have to be passed on by another, so the links are run again
 * while frames are queued, a bounded number of times.
 *
 * Context: control runner.
 * Return: true if frames are still queued.
 */
bool coll_net_run_links(struct coll_net *net)
{
	struct coll_link *link;
	int round = 0;

	do {
		WRITE_ONCE(net->tx_pending, false);
		coll_for_each_link(link, net) {
			coll_link_run(link);
			cond_resched();
		}
	} while (READ_ONCE(net->tx_pending) && ++round < NET_ROUNDS);
	return READ_ONCE(net->tx_pending);
}

/**
 * coll_net_heartbeat() - one heartbeat interval has passed
 * @net: of the member
 * @now: ns
 *
 * Context: control runner.
 */
void coll_net_heartbeat(struct coll_net *net, u64 now)
{
	struct coll_link *link;

	coll_for_each_link(link, net)
		coll_link_heartbeat(link, now);
}

/**
 * coll_net_send_abort() - tell every neighbour the reason of the failure
 * @net: of a member whose group has failed
 *
 * Each link is told each kind of reason once.
 *
 * Context: control runner.
 */
void coll_net_send_abort(struct coll_net *net)
{
	struct coll_control control = {
		.kind = COLL_CONTROL_ABORT,
		.instance = COLL_INSTANCE_GROUP,
	};
	struct coll_link *link;

	spin_lock(&net->state->lock);
	control.reason = net->state->reason;
	spin_unlock(&net->state->lock);

	coll_for_each_link(link, net) {
		if (link->abort_sent_kind == control.reason.kind)
			continue;
		link->abort_sent_kind = control.reason.kind;
		coll_link_queue_frame(link, &control);
	}
}

/**
 * coll_net_send_leave() - tell every neighbour that this rank leaves
 * @net: of the member
 *
 * Context: control runner.
 */
void coll_net_send_leave(struct coll_net *net)
{
	struct coll_control control = { .kind = COLL_CONTROL_LEAVE };
	struct coll_link *link;

	coll_for_each_link(link, net)
		coll_link_queue_frame(link, &control);
}

/**
 * coll_net_close() - end the listener and the connections that are not open
 * @net: of a member whose runners are stopped
 *
 * Context: may sleep.
 */
void coll_net_close(struct coll_net *net)
{
	struct coll_conn *conn, *next;

	listener_close(net, COLL_LISTENER_LOCAL);
	coll_net_close_listener(net);
	list_splice_init(&net->new_conns, &net->handshakes);
	list_for_each_entry_safe(conn, next, &net->handshakes, node) {
		list_del(&conn->node);
		coll_conn_free(conn, true);
	}
}

/**
 * coll_net_flush_until() - let what was sent last arrive at the peers
 * @net: of a member whose runners are stopped
 * @until: connections are given up then; jiffies
 *
 * Context: may sleep.
 */
void coll_net_flush_until(struct coll_net *net, unsigned long until)
{
	struct coll_link *link;

	coll_for_each_link(link, net)
		coll_link_flush_until(link, until);
}

/**
 * coll_net_free_links() - free the links, the table of links and the addresses
 * @net: of a member whose runners are stopped and whose lanes are gone
 * @reset: drop what is queued
 *
 * Context: may sleep.
 */
void coll_net_free_links(struct coll_net *net, bool reset)
{
	struct coll_link *link, *next;

	list_for_each_entry_safe(link, next, &net->link_list, node)
		coll_link_free(link, reset);
	kvfree(net->links);
	net->links = NULL;
	kvfree(net->peers);
	net->peers = NULL;
	coll_query_cleanup(net);
	put_rdma(net);
}
