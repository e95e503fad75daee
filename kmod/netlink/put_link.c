// SPDX-License-Identifier: GPL-2.0-only
/*
 * Links and their connections.
 *
 * While its group is locked, a link and the connections that it names keep their memory.  Their
 * owners write them meanwhile; what is read here without a lock is for people.
 */
#include "member/member.h"
#include "member/stats.h"
#include "net/conn.h"
#include "net/link.h"
#include "netlink/family.h"

static int put_endpoint(struct sk_buff *skb, struct coll_conn *conn)
{
	const struct coll_transport *transport = READ_ONCE(conn->ep.transport);
	struct coll_endpoint_info info;

	if (!transport || !transport->info || !transport->info(&conn->ep, &info))
		return 0;
	return coll_put_addr(skb, COLLECTIVE_A_CONNECTION_LOCAL_ADDRESS, &info.local) ||
	       coll_put_addr(skb, COLLECTIVE_A_CONNECTION_PEER_ADDRESS, &info.peer) ||
	       nla_put_u32(skb, COLLECTIVE_A_CONNECTION_RTT_US, info.rtt_us) ||
	       nla_put_u32(skb, COLLECTIVE_A_CONNECTION_RETRANSMITS, info.retransmits) ||
	       nla_put_u32(skb, COLLECTIVE_A_CONNECTION_UNSENT_BYTES, info.unsent) ||
	       nla_put_u32(skb, COLLECTIVE_A_CONNECTION_UNANSWERED, info.unanswered);
}

/* NULL: the connection was not used. */
static int put_stream(struct sk_buff *skb, const struct coll_stream *stream)
{
	static const struct coll_stream unused = { .tx_credit = COLL_CREDIT_FIRST };
	u64 credit;

	stream = stream ?: &unused;
	credit = READ_ONCE(stream->tx_credit) - READ_ONCE(stream->tx_eager);

	return nla_put_uint(skb, COLLECTIVE_A_CONNECTION_BYTES_SENT,
			    READ_ONCE(stream->tx_position)) ||
	       nla_put_uint(skb, COLLECTIVE_A_CONNECTION_BYTES_RECEIVED,
			    READ_ONCE(stream->rx_position)) ||
	       nla_put_u32(skb, COLLECTIVE_A_CONNECTION_CREDIT, min_t(u64, credit, COLL_CREDIT)) ||
	       nla_put_uint(skb, COLLECTIVE_A_CONNECTION_STALLS, READ_ONCE(stream->tx_stalls)) ||
	       nla_put_uint(skb, COLLECTIVE_A_CONNECTION_BYTES_PLACED,
			    READ_ONCE(stream->rx_placed));
}

/* What administrators see of the states. */
static const u8 states[COLL_CONN_STATES] = {
	[COLL_CONN_CONNECTING]	= COLLECTIVE_CONNECTION_STATE_CONNECTING,
	[COLL_CONN_LOST]	= COLLECTIVE_CONNECTION_STATE_CONNECTING,
	[COLL_CONN_HELLO]	= COLLECTIVE_CONNECTION_STATE_HELLO,
	[COLL_CONN_REPLYING]	= COLLECTIVE_CONNECTION_STATE_HELLO,
	[COLL_CONN_PROVING]	= COLLECTIVE_CONNECTION_STATE_PROVING,
	[COLL_CONN_OPEN]	= COLLECTIVE_CONNECTION_STATE_OPEN,
	[COLL_CONN_BROKEN]	= COLLECTIVE_CONNECTION_STATE_OPEN,
	[COLL_CONN_DOWN]	= COLLECTIVE_CONNECTION_STATE_DOWN,
};

static int put_connection(struct sk_buff *skb, const struct coll_link *link,
			  struct coll_conn *conn)
{
	struct nlattr *nest;

	if (!conn)
		return 0;
	nest = nla_nest_start(skb, COLLECTIVE_A_LINK_CONNECTION);
	if (!nest ||
	    nla_put_u32(skb, COLLECTIVE_A_CONNECTION_STATE, states[READ_ONCE(conn->state)]) ||
	    (conn->outgoing && nla_put_flag(skb, COLLECTIVE_A_CONNECTION_OUTGOING)) ||
	    put_endpoint(skb, conn))
		return -EMSGSIZE;
	if (conn->kind == COLL_CONN_DATA) {
		if (nla_put_u32(skb, COLLECTIVE_A_CONNECTION_LANE, conn->lane) ||
		    put_stream(skb, smp_load_acquire(&conn->stream)))	/* complete */
			return -EMSGSIZE;
	} else if (nla_put_uint(skb, COLLECTIVE_A_CONNECTION_BYTES_SENT,
				READ_ONCE(link->tx_ring.tail))) {
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

/* JOIN makes the links to neighbours, CONNECT learns the addresses. */
static int put_peer_address(struct sk_buff *skb, const struct coll_link *link)
{
	/* Complete: pairs with connect_learn(). */
	const struct coll_peer_addr *peers = smp_load_acquire(&link->net->peers);
	struct sockaddr_storage addr;

	if (!peers)
		return 0;
	coll_peer_addr_get(&peers[link->peer], &addr);
	return coll_put_addr(skb, COLLECTIVE_A_LINK_PEER_ADDRESS, &addr);
}

static int put_connections(struct sk_buff *skb, struct coll_link *link)
{
	u32 i;

	if (put_connection(skb, link, smp_load_acquire(&link->control)))	/* complete */
		return -EMSGSIZE;
	for (i = 0; i < link->net->id->nlanes; i++)
		if (put_connection(skb, link, smp_load_acquire(&link->data[i])))	/* same */
			return -EMSGSIZE;
	return 0;
}

static int put_link(struct coll_message *message, struct coll_link *link, u32 rank)
{
	const struct coll_transport *transport = READ_ONCE(link->transport);
	struct sk_buff *skb = message->skb;
	int err = coll_message_begin(message);
	u32 queued;

	if (err)
		return err;
	queued = READ_ONCE(link->tx_ring.head) - READ_ONCE(link->tx_ring.tail);
	err = nla_put_u32(skb, COLLECTIVE_A_LINK_RANK, rank) ||
	      nla_put_u32(skb, COLLECTIVE_A_LINK_PEER, link->peer) ||
	      (transport && (nla_put_u32(skb, COLLECTIVE_A_LINK_TRANSPORT, transport->kind) ||
			     nla_put_u32(skb, COLLECTIVE_A_LINK_CHOICE,
					 READ_ONCE(link->choice)))) ||
	      nla_put_u32(skb, COLLECTIVE_A_LINK_OPEN, READ_ONCE(link->nr_open)) ||
	      (READ_ONCE(link->peer_left) && nla_put_flag(skb, COLLECTIVE_A_LINK_PEER_LEFT)) ||
	      (READ_ONCE(link->peer_fenced) && nla_put_flag(skb, COLLECTIVE_A_LINK_PEER_FENCED)) ||
	      nla_put_u32(skb, COLLECTIVE_A_LINK_MISSED_HEARTBEATS,
			  READ_ONCE(link->missed_heartbeats)) ||
	      nla_put_u32(skb, COLLECTIVE_A_LINK_QUEUED_BYTES, min(queued, link->tx_ring.most)) ||
	      put_peer_address(skb, link) ||
	      put_connections(skb, link);
	return coll_message_end(message, err);
}

/**
 * coll_put_links() - add the messages of a member's links
 * @message: see struct coll_message
 * @dump: @item is the rank of the peer to go on with
 * @member: the member
 *
 * Return: 0 or -EMSGSIZE.
 */
int coll_put_links(struct coll_message *message, struct coll_dump *dump,
		   struct coll_member *member)
{
	struct coll_link *link;
	int err;

	for (; dump->item < member->id.nranks; dump->item++) {
		/* Pairs with link_publish(). */
		link = smp_load_acquire(&member->net.links[dump->item]);
		err = link ? put_link(message, link, member->id.rank) : 0;
		if (err)
			return err;
	}
	return 0;
}
