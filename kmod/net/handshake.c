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
 * has no slot in a link.  It has a place at the listener, which a later one may get, and its caller
 * calls again then.  The control runner does all of this.  At last the link owns a control
 * connection, and a lane owns a data connection.
 */
#include <linux/cred.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ktime.h>
#include <linux/random.h>
#include <linux/ratelimit.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "compat/memneq.h"
#include "fail/member_state.h"
#include "limits.h"
#include "mem/account.h"
#include "net/conn.h"
#include "net/link.h"
#include "net/net.h"

/* Time for the HELLO of an incoming connection, and then for the confirmation... */
#define HANDSHAKE_NS	(10 * NSEC_PER_SEC)
/* ...and the least of it for the confirmation when others wait: it may have to be sent again. */
#define PROVING_LEAST_NS	NSEC_PER_SEC

/* Calls of each listener that are accepted in one run, before other work of the control runner. */
#define ACCEPT_ROUNDS	32

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

static const struct coll_endpoint_ops handshake_ops = {
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
	struct coll_conn *conn = coll_conn_new(net, &handshake_ops);
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

/*
 * Call the peer of a connection again whose place at the peer another one has got.  The peer may
 * have many callers that are no ranks.
 *
 * Return: 0; -EAGAIN: not yet; or as the transport connects.
 */
static int conn_call_again(struct coll_conn *conn, u64 now)
{
	struct coll_handshake *handshake = conn->handshake;
	struct sockaddr_storage addr;

	if (now < handshake->again_ns)
		return -EAGAIN;
	coll_peer_addr_get(&conn->net->peers[conn->peer], &addr);
	return conn_call(conn, &addr);
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

	/* A local listener ends no connection of a rank for want of a place. */
	if (err != -ECONNRESET || conn->rx_len % COLL_HELLO_SIZE ||
	    conn->link->transport == &coll_local || READ_ONCE(conn->net->state->aborted) ||
	    now > conn->handshake->since_ns + AGAIN_NS)
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

/* Return: false if the transport has no addresses, or the connection is closed. */
static bool conn_caller(struct coll_conn *conn, struct coll_endpoint_info *info)
{
	const struct coll_transport *transport = conn->ep.transport;

	return transport && transport->info && transport->info(&conn->ep, info);
}

static u64 conn_from(struct coll_conn *conn)
{
	struct coll_endpoint_info info;
	const struct in6_addr *addr;
	u64 from;

	if (!conn_caller(conn, &info))
		return 0;
	if (info.peer.ss_family == AF_INET)
		return be32_to_cpu(((struct sockaddr_in *)&info.peer)->sin_addr.s_addr);
	addr = &((struct sockaddr_in6 *)&info.peer)->sin6_addr;
	if (ipv6_addr_v4mapped(addr))
		return be32_to_cpu(addr->s6_addr32[3]);
	memcpy(&from, addr, sizeof(from));
	return from;
}

/* Has the call of a connection been answered?  Those that were have places of their own. */
static bool conn_is_answered(const struct coll_conn *conn)
{
	return conn->state == COLL_CONN_REPLYING || conn->state == COLL_CONN_PROVING;
}

/*
 * The connection that gives its place to @newcomer: the oldest one that was not answered, of the
 * newcomer's address if that has most places, else of another one.  So a host that calls again and
 * again ends its own calls, and not those of other hosts.  One whose call has come waits for a
 * place to prove the secret, and gives its own last.
 */
static struct coll_conn *oldest_silent(struct coll_listener *listener, struct coll_conn *newcomer)
{
	struct coll_conn *conn, *oldest[2][2] = { };
	bool same, called;
	u32 nr_same = 0;

	/* At most all places of the listeners, and those that this rank has made. */
	list_for_each_entry(conn, &listener->net->handshakes, node) {
		if (conn->handshake->listener != listener || conn_is_answered(conn) ||
		    conn == newcomer)
			continue;
		same = conn->handshake->from == newcomer->handshake->from;
		called = conn->rx_len == COLL_HELLO_SIZE;
		nr_same += same;
		if (!oldest[same][called])
			oldest[same][called] = conn;
	}
	same = nr_same > listener->nr_silent / 2 || (!oldest[0][0] && !oldest[0][1]);
	return oldest[same][0] ?: oldest[same][1];
}

/* Ends a connection, unless its HELLO has come meanwhile and there is space to answer it. */
static void conn_evict(struct coll_conn *conn)
{
	conn->handshake->evicted = true;
	coll_conn_handshake(conn, ktime_get_ns());
}

/*
 * Does a listener take calls of ranks only?  A rank of this kernel waits for a place, and none that
 * has one is ended for it: conn_loses_place().
 */
static bool knows_callers(const struct coll_listener *listener)
{
	return listener == &listener->net->listeners[COLL_LISTENER_LOCAL];
}

/* Is there a place for one more connection, or can one be had? */
static bool has_place(const struct coll_listener *listener)
{
	return !knows_callers(listener) ||
	       listener->nr_silent < coll_net_callers_max(listener->net);
}

/* Accept a call.  Return: 0; -EBUSY, -EDQUOT or -ENOMEM: it waits; or as accept(). */
static int conn_accept(struct coll_listener *listener)
{
	struct coll_net *net = listener->net;
	struct coll_conn *conn;
	int err;

	if (!has_place(listener))
		return -EBUSY;
	conn = coll_conn_new(net, &handshake_ops);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	err = listener->ep.transport->accept(&listener->ep, &conn->ep);
	if (err) {
		coll_conn_delete(conn);
		return err;
	}
	coll_conn_set_state(conn, COLL_CONN_HELLO);
	conn->handshake->listener = listener;
	conn->handshake->from = conn_from(conn);
	/* Bytes may have come before the endpoint could tell. */
	set_bit(COLL_EVENT_READABLE, &conn->events);
	list_add_tail(&conn->node, &net->handshakes);
	WRITE_ONCE(net->nr_half_open, net->nr_half_open + 1);
	if (++listener->nr_silent > coll_net_callers_max(net))
		conn_evict(oldest_silent(listener, conn));
	return 0;
}

/* Accept a call if one waits.  Return: false if no other one is to be accepted in this run. */
static bool listener_accept(struct coll_listener *listener)
{
	int err = listener->ep.transport ? conn_accept(listener) : -EAGAIN;

	switch (err) {
	case 0:
		return true;
	case -EAGAIN:
		return false;
	case -EBUSY:
	case -EDQUOT:
	case -ENOMEM:
		/* When a place is free or memory may be available: at the next heartbeat. */
		set_bit(COLL_EVENT_READABLE, &listener->net->listener_events);
		return false;
	}
	coll_net_count_refused(listener->net, NULL, err);
	return true;
}

/**
 * coll_conn_accept() - accept waiting connections
 * @net: of the member
 *
 * An accepted connection has the credentials of the process that joined, and its memory is
 * charged to that process's cgroup.  The data queued in its socket is not: accept() charges the
 * cgroup of the running thread (mem_cgroup_sk_alloc() reads current and ignores
 * set_active_memcg()), which is the root cgroup in a work item, and a module cannot pass on the
 * listener's.  Sockets that connect are made by their process, and charged to it.
 *
 * Context: control runner.
 */
void coll_conn_accept(struct coll_net *net)
{
	const struct cred *cred = override_creds(net->cred);
	unsigned long more = BIT(COLL_LISTENERS) - 1;
	u32 n, i;

	/* In turn, so that many calls to one listener do not delay those to another one. */
	for (n = 0; n < ACCEPT_ROUNDS && more; n++)
		for (i = 0; i < COLL_LISTENERS; i++)
			if (more & BIT(i) && !listener_accept(&net->listeners[i]))
				more &= ~BIT(i);
	if (more) {
		set_bit(COLL_EVENT_READABLE, &net->listener_events);
		coll_runner_kick(net->control);
	}
	revert_creds(cred);
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

/* Have the oldest connection that proves nothing end, if it has had its time. */
static void end_oldest_proving(struct coll_listener *listener)
{
	const u64 now = ktime_get_ns();
	struct coll_conn *conn;

	if (knows_callers(listener))
		return;
	/* At most all places of the listeners, and those that this rank has made. */
	list_for_each_entry(conn, &listener->net->handshakes, node) {
		if (conn->handshake->listener != listener || !conn_is_answered(conn) ||
		    conn->handshake->evicted ||
		    conn->handshake->since_ns + PROVING_LEAST_NS > now)
			continue;
		/* Not now: the list is being walked. */
		conn->handshake->evicted = true;
		coll_runner_kick(listener->net->control);
		return;
	}
}

/*
 * Take a place for a connection whose call is right, and count it among those that are answered.
 * In a group with a secret, a caller without it gets as far.  One that was answered has time for
 * the confirmation, because its group fails if the connection ends after that.
 *
 * Return: false: there is no place yet.
 */
static bool conn_may_reply(struct coll_conn *conn)
{
	struct coll_listener *listener = conn->handshake->listener;

	if (conn->net->secured && listener->nr_proving >= coll_net_callers_max(conn->net)) {
		set_bit(COLL_EVENT_READABLE, &conn->events);
		if (!listener->waits)
			end_oldest_proving(listener);
		listener->waits = true;
		return false;
	}
	listener->nr_silent--;
	listener->nr_proving++;
	coll_conn_set_state(conn, COLL_CONN_REPLYING);
	conn->handshake->evicted = false;
	conn->handshake->since_ns = ktime_get_ns();
	return true;
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
	if (!conn_may_reply(conn))
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

/* Why a connection that this rank has made, or would have, could not be opened. */
static struct coll_reason link_reason(const struct coll_link *link, int err)
{
	struct coll_reason reason = {
		.kind = COLLECTIVE_REASON_RESET,
		.error = ECONNRESET,
		.rank_a = link->peer,
		.rank_b = link->net->id->rank,
	};

	switch (err) {
	case -EACCES:
	case -EPROTO:
	case -EOPNOTSUPP:
	case -EPROTONOSUPPORT:
		reason.kind = COLLECTIVE_REASON_PROTOCOL;
		reason.error = -err;
		break;
	case -ENOMEM:
	case -EDQUOT:
		swap(reason.rank_a, reason.rank_b);
		reason.kind = COLLECTIVE_REASON_RESOURCES;
		reason.error = -err;
		break;
	case -EREMOTEIO:
		reason.kind = COLLECTIVE_REASON_RESOURCES;
		reason.error = ENOMEM;
		break;
	}
	return reason;
}

/*
 * A connection made on demand could not be opened.  Only an operation that needs it fails, because
 * a peer that has done its part and has left is not reachable either.  Another group may listen
 * on the peer's port by then and refuse the call, so a refusal is no breach of the protocol.
 */
static void link_refused(struct coll_link *link, u32 bit, int err)
{
	struct coll_reason reason = link_reason(link, err);
	struct coll_net *net = link->net;

	if (reason.kind != COLLECTIVE_REASON_RESOURCES && err != -EOPNOTSUPP &&
	    err != -EPROTONOSUPPORT)
		reason = (struct coll_reason){
			.kind = COLLECTIVE_REASON_RESET,
			.error = ECONNRESET,
			.rank_a = net->id->rank,
			.rank_b = link->peer,
		};
	if (!link->refused_mask)
		link->why = reason;
	/* @why before the bit: pairs with lane_unreachable(). */
	smp_mb__before_atomic();
	set_bit(bit, &link->refused_mask);
	WRITE_ONCE(net->any_refused, true);
	net->ops->kick_lanes(net);
}

/**
 * coll_link_failed() - a connection that this rank makes could not be opened
 * @link: its link
 * @bit: its bit of coll_link.refused_mask
 * @err: negative errno
 *
 * Context: control runner.
 */
void coll_link_failed(struct coll_link *link, u32 bit, int err)
{
	struct coll_reason reason = link_reason(link, err);

	if (link->required)
		coll_state_fail(link->net->state, &reason);
	else
		link_refused(link, bit, err);
}

static const char *reject_reason(int err)
{
	switch (err) {
	case -EOPNOTSUPP:
		return "its host has the other byte order, or its transport is not accepted here";
	case -EPROTO:
		return "it does not speak the protocol, or contradicts itself";
	case -EPROTONOSUPPORT:
		return "it speaks another version of the protocol";
	case -EACCES:
		return "it is not of this group";
	case -EINVAL:
		return "its group has another size";
	case -EBUSY:
		return "there is such a connection";
	case -ENOMEM:
	case -EDQUOT:
		return "there is no memory for it";
	case -EAGAIN:
		return "it has not introduced itself in time, or before too many others came";
	case -ENOBUFS:
		return "too many others wait";
	}
	return "it ended";
}

/**
 * coll_net_count_refused() - a call did not come from a rank of this group, or has no place
 * @net: of the member
 * @caller: its address; NULL: not known, or of this kernel
 * @err: negative errno
 *
 * Context: any but interrupts.
 */
void coll_net_count_refused(struct coll_net *net, const struct sockaddr_storage *caller, int err)
{
	static DEFINE_RATELIMIT_STATE(once_a_second, HZ, 1);
	char from[64] = "";

	atomic64_inc(&net->rejected);
	if (!__ratelimit(&once_a_second))
		return;
	if (caller)
		scnprintf(from, sizeof(from), " from %pISpc", caller);
	pr_notice("collective: group %s rank %u: refused a connection%s: %s (%d)\n",
		  net->id->group_name, net->id->rank, from, reject_reason(err), err);
}

/* May the HELLO of an incoming connection still come? */
static bool conn_has_time(const struct coll_conn *conn, u64 now)
{
	return !conn->handshake->evicted && now < conn->handshake->since_ns + HANDSHAKE_NS;
}

/* Is there nothing to be done for a connection?  Nothing has come, and its time is not over. */
static bool conn_waits(struct coll_conn *conn, u64 now)
{
	if (conn->outgoing)
		return !coll_conn_may_begin(conn, now);
	return !xchg(&conn->events, 0) && conn_has_time(conn, now);
}

/* A connection is half open no more. */
static void conn_give_place(struct coll_conn *conn)
{
	struct coll_listener *listener = conn->handshake->listener;

	list_del_init(&conn->node);
	if (listener || conn->handshake->calls_again)
		WRITE_ONCE(conn->net->nr_half_open, conn->net->nr_half_open - 1);
	if (!listener)
		return;
	if (conn_is_answered(conn))
		listener->nr_proving--;
	else
		listener->nr_silent--;
	conn->handshake->listener = NULL;
	if (listener->waits || test_bit(COLL_EVENT_READABLE, &conn->net->listener_events))
		coll_runner_kick(conn->net->control);
}

/* Ends a connection that could not be opened. */
static void conn_fail(struct coll_conn *conn, int err)
{
	struct coll_endpoint_info info;

	if (conn->outgoing)
		coll_link_failed(conn->link, conn->kind == COLL_CONN_CONTROL ?
				 COLL_REFUSED_CONTROL : conn->lane, err);
	else
		coll_net_count_refused(conn->net, conn_caller(conn, &info) ? &info.peer : NULL,
				       err);
	/* A caller whose place was needed learns that from the reset. */
	coll_conn_free(conn, conn->outgoing || (conn->handshake && conn->handshake->evicted));
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
	if (err == -EAGAIN && (conn->outgoing || conn_has_time(conn, now)))
		return;

	conn_give_place(conn);
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
