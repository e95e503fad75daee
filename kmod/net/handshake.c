// SPDX-License-Identifier: GPL-2.0-only
/*
 * The handshake: connections until they are open.
 *
 *	CONNECTING -> HELLO [-> PROVING] -> OPEN -> DOWN
 *
 * The lower rank of a link connects to the higher one, once for control and once for each lane.
 * It sends a HELLO (call), and the other rank sends one back (reply).  Nothing else is accepted
 * before.  In a group with a secret the reply proves that its sender knows the secret, and the
 * caller proves it with a third HELLO (confirmation, auth.c).  Until then an incoming connection
 * has no slot in a link.  It has a place at the listener (callers.c), which a later one may get,
 * and its caller calls again then.  The control runner does all of this.  At last the link owns a
 * control connection, and a lane owns a data connection.
 */
#include <linux/cred.h>
#include <linux/random.h>
#include <linux/ratelimit.h>

#include "compat/memneq.h"
#include "fail/member_state.h"
#include "limits.h"
#include "net/callers.h"
#include "net/conn.h"
#include "net/link.h"
#include "net/net.h"

/* A connection whose place another one has got is made again so long, ... */
#define AGAIN_NS	(30 * NSEC_PER_SEC)
/* ...so often at once, and as often after each pause. */
#define AGAIN_AT_ONCE	64
#define AGAIN_PAUSE_NS	(250 * NSEC_PER_MSEC)

/* Collects one HELLO, however its bytes arrive; what follows it stays in the socket. */
static int handshake_recv(struct coll_endpoint *ep, const void *ptr, u32 len)
{
	struct coll_conn *conn = container_of(ep, struct coll_conn, ep);
	u32 n = min_t(u32, len, COLL_HELLO_SIZE - conn->rx_len);

	memcpy(conn->handshake->in + conn->rx_len, ptr, n);
	conn->rx_len += n;
	return n;
}

static void handshake_event(struct coll_endpoint *ep, enum coll_event event)
{
	struct coll_conn *conn = container_of(ep, struct coll_conn, ep);

	set_bit(event, &conn->events);
	coll_runner_kick(conn->net->control);
}

/* Of a connection that is not open. */
const struct coll_endpoint_ops coll_handshake_ops = {
	.event		= handshake_event,
	.recv		= handshake_recv,
};

static void conn_hello(struct coll_conn *conn, u8 stage)
{
	struct coll_net *net = conn->net;
	struct coll_hello hello = {
		.stage = stage,
		.secured = net->secured,
		.kind = conn->kind,
		.lane = conn->lane,
		.id = net->id->group_id,
		.from = net->id->rank,
		.to = conn->peer,
		.nranks = net->id->nranks,
		.lanes = net->id->nlanes,
		.inflight = COLL_INFLIGHT,
	};

	memcpy(hello.name, net->id->group_name, sizeof(hello.name));
	if (net->secured)
		get_random_bytes(hello.nonce, sizeof(hello.nonce));
	coll_wire_put_hello(conn->handshake->out, &hello);
	conn->hello_tx_left = COLL_HELLO_SIZE;
}

/* Begin to connect, and have the HELLO ready.  Return: 0 or a negative errno. */
static int conn_call(struct coll_conn *conn, const struct sockaddr_storage *addr)
{
	struct coll_net *net = conn->net;
	const struct cred *cred;
	int err;

	conn->rx_len = 0;
	conn_hello(conn, COLL_HELLO_CALL);
	cred = override_creds(net->cred);
	err = conn->link->transport->connect(&conn->ep, addr, &net->addr);
	revert_creds(cred);
	if (!err)
		coll_conn_set_state(conn, COLL_CONN_CONNECTING);
	return err;
}

/**
 * coll_conn_connect() - begin to connect to a peer
 * @link: of the peer
 * @kind: enum coll_conn_kind
 * @lane: of a data connection
 * @addr: listening address of the peer
 *
 * Context: the process that connects; may sleep.
 * Return: 0 when the connection is in progress, or a negative errno.
 */
int coll_conn_connect(struct coll_link *link, u8 kind, u8 lane,
		      const struct sockaddr_storage *addr)
{
	struct coll_net *net = link->net;
	struct coll_conn *conn = coll_conn_new(net);
	int err;

	if (IS_ERR(conn))
		return PTR_ERR(conn);
	conn->outgoing = true;
	conn->link = link;
	conn->peer = link->peer;
	conn->kind = kind;
	conn->lane = lane;
	conn->ep.ns = net->ns;
	conn->ep.hub = net->hub;
	conn->ep.rank = link->peer;
	conn->ep.bulk = kind == COLL_CONN_DATA;
	err = conn_call(conn, addr);
	if (err) {
		coll_conn_delete(conn);
		return err;
	}
	spin_lock(&net->state->lock);
	list_add_tail(&conn->node, &net->new_conns);
	spin_unlock(&net->state->lock);
	coll_runner_kick(net->control);
	return 0;
}

/* May a connection that this rank makes be made again, if it has to? */
static bool conn_can_call_again(const struct coll_conn *conn, u64 now)
{
	return !READ_ONCE(conn->net->state->aborted) &&
	       now <= conn->handshake->since_ns + AGAIN_NS;
}

/*
 * Call the peer of a connection again whose place at the peer another one has got.  The peer may
 * have many callers that are no ranks.  This host may lack a port or memory for a moment, as in
 * CONNECT.
 *
 * Return: 0; -EAGAIN: not yet; or as the transport connects.
 */
static int conn_call_again(struct coll_conn *conn, u64 now)
{
	struct coll_handshake *handshake = conn->handshake;
	struct sockaddr_storage addr;
	int err;

	if (now < handshake->again_ns)
		return -EAGAIN;
	if (!conn_can_call_again(conn, now))
		return -ECONNRESET;
	coll_peer_addr_get(&conn->net->peers[conn->peer], &addr);
	err = conn_call(conn, &addr);
	if (!coll_link_can_retry(err) || !conn_can_call_again(conn, now))
		return err;
	handshake->again_ns = now + AGAIN_PAUSE_NS;
	return -EAGAIN;
}

/*
 * Has a connection that this rank makes lost its place?  The peer resets it then, and has answered
 * nothing, or waits for the confirmation.  If the peer is gone, the next call is refused.
 *
 * Return: true if the connection is to be made again.
 */
static bool conn_loses_place(struct coll_conn *conn, int err, u64 now)
{
	struct coll_handshake *handshake = conn->handshake;

	/* No handshake begins while its link tries RDMA: link_still_stands() asks each endpoint. */
	coll_assert(!READ_ONCE(conn->link->tries));
	/* A local listener ends no connection of a rank for want of a place. */
	if (err != -ECONNRESET || conn->rx_len % COLL_HELLO_SIZE ||
	    conn->link->transport == &coll_local || !conn_can_call_again(conn, now))
		return false;
	if (conn->ep.transport)
		conn->ep.transport->close(&conn->ep, true);
	coll_conn_set_state(conn, COLL_CONN_LOST);
	/* It has a time limit: coll_net_is_connecting(). */
	if (!handshake->calls_again++)
		WRITE_ONCE(conn->net->nr_half_open, conn->net->nr_half_open + 1);
	if (handshake->calls_again % AGAIN_AT_ONCE)
		coll_runner_kick(conn->net->control);
	else
		handshake->again_ns = now + AGAIN_PAUSE_NS;
	return true;
}

/* The transport is told what the HELLOs say, and may have been told otherwise by the peer. */
static int conn_setup(struct coll_conn *conn)
{
	return conn->ep.transport->setup(&conn->ep, conn->kind == COLL_CONN_DATA);
}

/* Each connection of a link is made once. */
static int claim_link_slot(struct coll_conn *conn)
{
	const struct coll_link *link = coll_link_get(conn->net, conn->peer);
	int err = link ? coll_link_takes(link, conn) : 0;

	if (!err)
		err = conn_setup(conn);
	/* A peer may need the link before this rank does. */
	if (!err)
		err = coll_link_new(conn->net, conn->peer, false);
	if (!err)
		conn->link = coll_link_get(conn->net, conn->peer);
	return err;
}

static bool hello_is_of_group(const struct coll_hello *hello, const struct coll_net *net)
{
	return hello->id == net->id->group_id && hello->secured == net->secured &&
	       !memcmp(hello->name, net->id->group_name, sizeof(hello->name));
}

static bool hello_has_size(const struct coll_hello *hello, const struct coll_net *net)
{
	return hello->nranks == net->id->nranks && hello->lanes == net->id->nlanes &&
	       hello->inflight == COLL_INFLIGHT;
}

/* Checks a call.  With a secret its slot is claimed after the proof. */
static int handshake_check(struct coll_conn *conn, const struct coll_hello *hello)
{
	struct coll_net *net = conn->net;

	if (hello->stage != COLL_HELLO_CALL || hello->to != net->id->rank ||
	    !hello_is_of_group(hello, net))
		return -EACCES;
	if (!hello_has_size(hello, net))
		return -EINVAL;
	if (hello->from >= net->id->rank)
		return -EACCES;
	if (!coll_net_accepts(net, conn->ep.transport))
		return -EOPNOTSUPP;
	conn->kind = hello->kind;
	conn->lane = hello->lane;
	return net->secured ? 0 : claim_link_slot(conn);
}

/* The errno of a refused call; -EREMOTEIO: the peer has no memory for the connection. */
static int conn_refusal(const struct coll_hello *hello)
{
	switch (hello->error) {
	case EOPNOTSUPP:
		return -EOPNOTSUPP;
	case ENOMEM:
	case EDQUOT:
		return -EREMOTEIO;
	}
	return -EACCES;
}

/* Checks a reply, which repeats the call; a refusal carries the ranks of the call, too. */
static int check_reply(struct coll_conn *conn, const struct coll_hello *hello)
{
	const struct coll_net *net = conn->net;
	u32 from = hello->error ? net->id->rank : conn->peer;
	u32 to = hello->error ? conn->peer : net->id->rank;

	if (hello->stage != COLL_HELLO_REPLY || hello->from != from || hello->to != to ||
	    hello->kind != conn->kind || hello->lane != conn->lane ||
	    !hello_is_of_group(hello, net) || !hello_has_size(hello, net))
		return -EPROTO;
	return hello->error ? conn_refusal(hello) : 0;
}

static int conn_send_hello(struct coll_conn *conn)
{
	while (conn->hello_tx_left) {
		u32 left = conn->hello_tx_left;
		int n = conn->ep.transport->send(&conn->ep, conn->handshake->out +
						 COLL_HELLO_SIZE - left, left);

		if (n < 0)
			return n;
		conn->hello_tx_left -= n;
	}
	return 0;
}

static int conn_receive_hello(struct coll_conn *conn)
{
	while (conn->rx_len < COLL_HELLO_SIZE) {
		int n = conn->ep.transport->receive(&conn->ep, COLL_HELLO_SIZE - conn->rx_len);

		/* Not -ECONNRESET: a peer that needs the place resets the connection. */
		if (n <= 0)
			return n ? n : -ESHUTDOWN;
	}
	return 0;
}

/* Read the HELLO that has come.  Both sides say both versions, and each may be the newer one. */
static int conn_get_hello(struct coll_conn *conn, struct coll_hello *hello)
{
	static DEFINE_RATELIMIT_STATE(once_a_second, HZ, 1);
	const u8 *in = conn->handshake->in;
	int err = coll_wire_get_hello(in, hello);

	if (err == -EPROTONOSUPPORT && __ratelimit(&once_a_second))
		pr_notice("collective: group %s rank %u: the module of a peer speaks wire version %u, this one %u\n",
			  conn->net->id->group_name, conn->net->id->rank,
			  coll_wire_hello_version(in), COLL_WIRE_VERSION);
	return err;
}

/* Connecting side: send the call, then receive and check the reply. */
static int handshake_client(struct coll_conn *conn)
{
	struct coll_hello hello;
	int err = conn_send_hello(conn);

	if (!err)
		err = conn_receive_hello(conn);
	if (!err)
		err = conn_get_hello(conn, &hello);
	if (!err)
		err = check_reply(conn, &hello);
	if (err || !conn->net->secured)
		return err;
	err = coll_auth_check_reply(conn->net, conn->handshake->out, conn->handshake->in);
	if (err)
		return err;
	err = coll_auth_confirm(conn->net, conn->handshake->out, conn->handshake->in,
				conn->handshake->out);
	conn->hello_tx_left = COLL_HELLO_SIZE;
	return err;
}

/* Tells the caller the errno, and nothing that its call does not contain. */
static int conn_refuse(struct coll_conn *conn, int err)
{
	coll_wire_put_refusal(conn->handshake->out, conn->handshake->in, -err);
	conn->hello_tx_left = COLL_HELLO_SIZE;
	conn_send_hello(conn);
	return err;
}

/* Builds the reply to a call.  Bytes that are no HELLO are not answered. */
static int conn_reply(struct coll_conn *conn)
{
	struct coll_hello hello;
	int err = conn_get_hello(conn, &hello);

	if (err == -EPROTO)
		return err;
	if (!err) {
		conn->peer = hello.from;
		err = handshake_check(conn, &hello);
	}
	if (err)
		return conn_refuse(conn, err);
	if (!coll_caller_may_reply(conn))
		return -EAGAIN;
	conn_hello(conn, COLL_HELLO_REPLY);
	return conn->net->secured ?
	       coll_auth_reply(conn->net, conn->handshake->in, conn->handshake->out) : 0;
}

/* Accepting side: receive the call, then send the reply. */
static int handshake_server(struct coll_conn *conn)
{
	int err = 0;

	if (conn->state == COLL_CONN_HELLO)
		err = conn_receive_hello(conn) ?: conn_reply(conn);
	if (!err)
		err = conn_send_hello(conn);
	if (err || !conn->net->secured)
		return err;
	/* @out becomes the confirmation that must come. */
	conn->rx_len = 0;
	return coll_auth_confirm(conn->net, conn->handshake->in, conn->handshake->out,
				 conn->handshake->out);
}

/* Accepting side: receive the confirmation. */
static int receive_confirmation(struct coll_conn *conn)
{
	int err = conn_receive_hello(conn);

	if (!err && coll_memneq(conn->handshake->in, conn->handshake->out, COLL_HELLO_SIZE))
		err = -EACCES;
	return err ? err : claim_link_slot(conn);
}

/* An errno of the network is not a reply of the peer. */
static int connect_error(int err)
{
	switch (err) {
	case -EINPROGRESS:
		return -EAGAIN;
	case -EDQUOT:
	case -ENOMEM:
	case -ECONNRESET:
		return err;
	}
	return -ECONNREFUSED;
}

/* Return: 0 when the handshake is complete, -EAGAIN, or why it failed. */
static int handshake_advance(struct coll_conn *conn, u64 now)
{
	int err;

	if (conn->state == COLL_CONN_LOST) {
		err = conn_call_again(conn, now);
		if (err)
			return err == -EAGAIN ? err : connect_error(err);
	}
	if (conn->state == COLL_CONN_CONNECTING) {
		err = conn->ep.transport->status(&conn->ep);
		if (err)
			return connect_error(err);
		coll_conn_set_state(conn, COLL_CONN_HELLO);
	}
	if (conn->state != COLL_CONN_PROVING) {
		err = conn->outgoing ? handshake_client(conn) : handshake_server(conn);
		if (err || !conn->net->secured)
			return err;
		coll_conn_set_state(conn, COLL_CONN_PROVING);
	}
	return conn->outgoing ? conn_send_hello(conn) : receive_confirmation(conn);
}

static int conn_admit(struct coll_conn *conn)
{
	/* That of a call was set up before its reply. */
	int err = conn->outgoing ? conn_setup(conn) : 0;

	if (err)
		return err;
	coll_conn_end_handshake(conn);
	conn->rx_len = 0;
	/* Its events so far were those of the handshake. */
	set_bit(COLL_EVENT_READABLE, &conn->events);
	set_bit(COLL_EVENT_WRITABLE, &conn->events);
	coll_conn_set_state(conn, COLL_CONN_OPEN);
	return coll_link_attach_conn(conn->link, conn);
}

/* Is there nothing to be done for a connection?  Nothing has come, and its time is not over. */
static bool conn_waits(struct coll_conn *conn, u64 now)
{
	if (conn->outgoing)
		return !coll_conn_may_begin(conn, now);
	return !xchg(&conn->events, 0) && coll_caller_has_time(conn, now);
}

/* The handshake of a connection has ended. */
static void conn_leave_handshakes(struct coll_conn *conn)
{
	list_del_init(&conn->node);
	if (!conn->outgoing)
		coll_caller_give_place(conn);
	else if (conn->handshake->calls_again)
		WRITE_ONCE(conn->net->nr_half_open, conn->net->nr_half_open - 1);
}

/* Ends a connection that could not be opened. */
static void conn_fail(struct coll_conn *conn, int err)
{
	struct coll_endpoint_info info;

	if (conn->outgoing)
		coll_link_failed(conn->link, conn->kind == COLL_CONN_CONTROL ?
				 COLL_REFUSED_CONTROL : conn->lane, err);
	else
		coll_net_count_refused(conn->net, coll_caller_addr(conn, &info), err);
	/*
	 * A caller that had no more time, or whose place was needed, learns that from the reset: it
	 * may call again (conn_loses_place()).  One that was refused reads why.
	 */
	coll_conn_free(conn, conn->outgoing || err == -EAGAIN);
}

/**
 * coll_conn_handshake() - advance the handshake of a connection
 * @conn: in coll_net.handshakes; removed when the handshake has ended
 * @now: ns
 *
 * Context: control runner.
 */
void coll_conn_handshake(struct coll_conn *conn, u64 now)
{
	int err;

	if (conn_waits(conn, now))
		return;
	err = handshake_advance(conn, now);
	if (conn->outgoing && conn_loses_place(conn, err, now))
		return;
	if (err == -EAGAIN && (conn->outgoing || coll_caller_has_time(conn, now)))
		return;

	conn_leave_handshakes(conn);
	if (!err) {
		err = conn_admit(conn);
		if (!err)
			return;
	}
	conn_fail(conn, err);
}

/**
 * coll_conn_drop_outgoing() - end the connections of a link that this rank makes
 * @link: the link; no HELLO was sent on any of them
 *
 * Context: control runner, with @link_mutex; may sleep.
 */
void coll_conn_drop_outgoing(struct coll_link *link)
{
	struct coll_net *net = link->net;
	struct coll_conn *conn, *next;

	coll_net_take_new_conns(net);
	list_for_each_entry_safe(conn, next, &net->handshakes, node) {
		if (!conn->outgoing || conn->link != link)
			continue;
		list_del(&conn->node);
		coll_conn_free(conn, true);
	}
}
