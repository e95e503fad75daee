// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which transport carries a link.  Of two ranks the lower one decides, for all connections of the
 * link.
 *
 * A rank that has chosen AUTO *tries* RDMA if both ranks offer it: it makes all connections by
 * RDMA, and sends no HELLO before all stand.  So the peer has admitted none of them, and if one
 * cannot be made, or not in time, all are dropped and made by TCP.
 */
#include <linux/ktime.h>
#include <linux/string.h>

#include "fail/member_state.h"
#include "net/conn.h"
#include "net/link.h"
#include "net/net.h"
#include "transport/hub.h"

/**
 * coll_addr_offer_rdma() - let the address of a rank say that it listens by RDMA, too
 * @addr: address of its listener
 */
void coll_addr_offer_rdma(struct sockaddr_storage *addr)
{
	const u32 offers = COLLECTIVE_OFFERS_RDMA;

	memcpy((u8 *)addr + COLLECTIVE_ADDR_OFFERS, &offers, sizeof(offers));
}

/**
 * coll_peer_addr_set() - keep an address
 * @peer: out
 * @addr: of IPv4 or IPv6
 */
void coll_peer_addr_set(struct coll_peer_addr *peer, const struct sockaddr_storage *addr)
{
	memcpy(&peer->in6, addr, sizeof(peer->in6));
	memcpy(&peer->offers, (const u8 *)addr + COLLECTIVE_ADDR_OFFERS, sizeof(peer->offers));
}

/**
 * coll_peer_addr_get() - the address that was kept
 * @peer: what was kept of it
 * @addr: out
 */
void coll_peer_addr_get(const struct coll_peer_addr *peer, struct sockaddr_storage *addr)
{
	memset(addr, 0, sizeof(*addr));
	memcpy(addr, &peer->in6, sizeof(peer->in6));
	memcpy((u8 *)addr + COLLECTIVE_ADDR_OFFERS, &peer->offers, sizeof(peer->offers));
}

static bool addr_offers_rdma(const struct sockaddr_storage *addr)
{
	u32 offers;

	memcpy(&offers, (const u8 *)addr + COLLECTIVE_ADDR_OFFERS, sizeof(offers));
	return offers == COLLECTIVE_OFFERS_RDMA;
}

static void link_set_transport(struct coll_link *link, const struct coll_transport *transport,
			       u32 choice)
{
	WRITE_ONCE(link->choice, choice);
	WRITE_ONCE(link->transport, transport);
}

static void link_try_rdma(struct coll_link *link)
{
	struct coll_net *net = link->net;

	link_set_transport(link, net->rdma, COLLECTIVE_LINK_CHOICE_OFFERED);
	link->tries_until = ktime_get_ns() + net->try_ns;
	link->nr_standing = 0;
	WRITE_ONCE(link->try_error, 0);
	WRITE_ONCE(link->tries, true);
}

/* What a rank that has chosen AUTO does if the peer is not in this kernel. */
static void link_choose_remote(struct coll_link *link, const struct sockaddr_storage *addr)
{
	struct coll_net *net = link->net;

	if (!net->rdma)
		link_set_transport(link, &coll_tcp, net->no_rdma);
	else if (!addr_offers_rdma(addr))
		link_set_transport(link, &coll_tcp, COLLECTIVE_LINK_CHOICE_NOT_OFFERED);
	else
		link_try_rdma(link);
}

/* This rank and its peer have no transport in common.  Both would report the same. */
static int link_refuse(struct coll_link *link)
{
	u32 rank = link->net->id->rank;

	coll_state_fail(link->net->state, &(struct coll_reason) {
		.kind = COLLECTIVE_REASON_PROTOCOL,
		.error = EOPNOTSUPP,
		.rank_a = max(link->peer, rank),
		.rank_b = min(link->peer, rank),
	});
	return -EOPNOTSUPP;
}

/**
 * coll_link_agree() - can this rank and its peer have a link, as far as both have chosen?
 * @link: the link; either rank asks
 * @addr: address of the peer
 *
 * What a peer in this kernel has chosen is known, and a rank that has chosen LOCAL can have no link
 * to another one.  So both ranks tell why they have none, and not only the one that would make it.
 *
 * Context: as coll_link_connect().
 * Return: 0, or -EOPNOTSUPP.
 */
int coll_link_agree(struct coll_link *link, const struct sockaddr_storage *addr)
{
	struct coll_net *net = link->net;
	int wish = coll_local_hub_wish(net->hub, link->peer, addr);

	if (wish < 0)
		return net->wish == COLLECTIVE_TRANSPORT_LOCAL ? link_refuse(link) : 0;
	if (wish == COLLECTIVE_TRANSPORT_AUTO || net->wish == COLLECTIVE_TRANSPORT_AUTO ||
	    wish == net->wish)
		return 0;
	return link_refuse(link);
}

/**
 * coll_link_choose() - choose the transport of a link
 * @link: the link; none of its connections has begun
 * @addr: address of the peer
 *
 * A rank that asks for TCP or RDMA is in no hub.  Where all ranks have been in the hub, one that is
 * gone has closed its port, and any program may listen there now: the local connection to it is
 * reset, and nothing is sent by TCP.
 *
 * Context: as coll_link_connect().
 * Return: 0 or -EOPNOTSUPP.
 */
int coll_link_choose(struct coll_link *link, const struct sockaddr_storage *addr)
{
	struct coll_net *net = link->net;
	bool local = net->id->reads ||
		     (coll_wishes_local(net->wish) &&
		      coll_local_hub_has(net->hub, link->peer, addr));

	switch (net->wish) {
	case COLLECTIVE_TRANSPORT_TCP:
		link_set_transport(link, &coll_tcp, COLLECTIVE_LINK_CHOICE_WISHED);
		break;
	case COLLECTIVE_TRANSPORT_RDMA:
		link_set_transport(link, net->rdma, COLLECTIVE_LINK_CHOICE_WISHED);
		break;
	case COLLECTIVE_TRANSPORT_LOCAL:
		if (!local)
			return link_refuse(link);
		link_set_transport(link, &coll_local, COLLECTIVE_LINK_CHOICE_WISHED);
		break;
	case COLLECTIVE_TRANSPORT_AUTO:
		if (local)
			link_set_transport(link, &coll_local, COLLECTIVE_LINK_CHOICE_SAME_KERNEL);
		else
			link_choose_remote(link, addr);
		break;
	}
	return 0;
}

/**
 * coll_link_chosen() - the peer has chosen the transport of a link
 * @link: the link
 * @transport: of the connection that has come
 *
 * Context: control runner.
 */
void coll_link_chosen(struct coll_link *link, const struct coll_transport *transport)
{
	link_set_transport(link, transport, COLLECTIVE_LINK_CHOICE_CALLED);
}

/**
 * coll_link_cannot() - a connection that RDMA was tried for cannot be made
 * @link: its link
 * @err: negative errno
 *
 * Context: any that may kick a runner; the control runner falls back.
 * Return: true; false: the link does not try, or has no other transport for this errno.
 */
bool coll_link_cannot(struct coll_link *link, int err)
{
	struct coll_net *net = link->net;

	/* The process that connects may try again. */
	if (!READ_ONCE(link->tries) || err == -ENOMEM || err == -EDQUOT)
		return false;
	WRITE_ONCE(link->try_error, err);
	/* Pairs with coll_net_fall_back(). */
	smp_store_release(&net->falls_back, true);
	coll_runner_kick(net->control);
	return true;
}

/* Has the peer dropped none of the connections that have stood? */
static bool link_still_stands(struct coll_link *link)
{
	struct coll_conn *conn;
	int err;

	/* At most all places of the listeners, and those that this rank has made. */
	list_for_each_entry(conn, &link->net->handshakes, node) {
		if (!conn->outgoing || conn->link != link)
			continue;
		err = conn->ep.transport->status(&conn->ep);
		if (err) {
			coll_link_cannot(link, err);
			return false;
		}
	}
	return true;
}

/**
 * coll_conn_may_begin() - may the handshake on a connection that this rank makes begin?
 * @conn: the connection
 * @now: ns
 *
 * Context: control runner.
 * Return: true if its link does not try RDMA, or if all connections of the link stand.
 */
bool coll_conn_may_begin(struct coll_conn *conn, u64 now)
{
	struct coll_link *link = conn->link;
	int err;

	if (!READ_ONCE(link->tries))
		return true;
	err = conn->ep.transport->status(&conn->ep);
	if (!err && !conn->stands) {
		conn->stands = true;
		link->nr_standing++;
	}
	if (err == -EINPROGRESS && now > link->tries_until)
		err = -ETIMEDOUT;
	if (err && err != -EINPROGRESS) {
		/* Memory that the device has not is no reason to try again. */
		coll_link_cannot(link, err == -ENOMEM || err == -EDQUOT ? -ENOBUFS : err);
		return false;
	}
	if (READ_ONCE(link->try_error) || link->nr_standing < 1 + link->net->id->nlanes ||
	    !link_still_stands(link))
		return false;
	WRITE_ONCE(link->tries, false);
	/* For those that were looked at before. */
	coll_runner_kick(link->net->control);
	return true;
}

static u32 choice_of_error(int err)
{
	switch (err) {
	case -EHOSTUNREACH:
	case -ENETUNREACH:
	case -EADDRNOTAVAIL:
	case -ENODEV:
		return COLLECTIVE_LINK_CHOICE_NO_ROUTE;
	case -ECONNREFUSED:
		return COLLECTIVE_LINK_CHOICE_REFUSED;
	case -ETIMEDOUT:
		return COLLECTIVE_LINK_CHOICE_NO_ANSWER;
	case -EPROTONOSUPPORT:
		return COLLECTIVE_LINK_CHOICE_IWARP;
	}
	return COLLECTIVE_LINK_CHOICE_DEVICE_FAILED;
}

/* Make all connections of a link by TCP; @link_mutex is held.  Return: 0 or a negative errno. */
static int link_take_tcp(struct coll_link *link)
{
	coll_conn_drop_outgoing(link);
	link_set_transport(link, &coll_tcp, choice_of_error(link->try_error));
	WRITE_ONCE(link->try_error, 0);
	WRITE_ONCE(link->tries, false);
	WRITE_ONCE(link->nr_connecting, 0);
	if (READ_ONCE(link->net->state->aborted))
		return 0;
	return coll_link_begin(link);
}

/**
 * coll_net_fall_back() - make the links by TCP that RDMA was tried for in vain
 * @net: of the member
 *
 * Context: control runner, which looks at no handshake just now; may sleep.
 */
void coll_net_fall_back(struct coll_net *net)
{
	struct coll_link *link;
	u32 begun;
	int err;

	/* The holder may wait for memory; it kicks this runner: coll_net_unlock_links(). */
	if (!READ_ONCE(net->falls_back) || !mutex_trylock(&net->link_mutex))
		return;
	WRITE_ONCE(net->falls_back, false);
	/* Before the links are looked at: what fails later sets it again. */
	smp_mb();
	coll_for_each_link(link, net) {
		if (!READ_ONCE(link->try_error))
			continue;
		err = link_take_tcp(link);
		if (!err)
			continue;
		begun = link->nr_connecting;
		/* The link has failed, so that no call continues with it. */
		WRITE_ONCE(link->nr_connecting, 1 + net->id->nlanes);
		coll_link_failed(link, begun ? begun - 1 : COLL_REFUSED_CONTROL, err);
	}
	mutex_unlock(&net->link_mutex);
}

/**
 * coll_net_unlock_links() - release @link_mutex
 * @net: of the member
 *
 * The control runner does not wait for it.
 *
 * Context: a thread that has held it.
 */
void coll_net_unlock_links(struct coll_net *net)
{
	mutex_unlock(&net->link_mutex);
	/* After the mutex: pairs with the trylock of coll_net_fall_back(). */
	smp_mb();
	if (READ_ONCE(net->falls_back))
		coll_runner_kick(net->control);
}
