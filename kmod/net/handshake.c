// SPDX-License-Identifier: GPL-2.0-only
/*
 * The handshake: connections until they are open.
 *
 *	CONNECTING -> HELLO [-> PROVING] -> OPEN -> DOWN
 *
 * The lower rank of a link connects to the higher one, once for control and once for each lane.
 * It sends a HELLO (call), and the other rank sends one back (answer).  Nothing else is accepted
 * before.  In a group with a secret the answer proves that its sender knows the secret, and the
 * caller proves it with a third HELLO (confirmation, auth.c).  Until then an incoming connection
 * has no slot in a link.  The control runner does all of this; then the link owns a control
 * connection, and a lane owns a data connection.
 */
#include <linux/cred.h>
#include <linux/ktime.h>
#include <linux/random.h>
#include <linux/ratelimit.h>
#include <linux/slab.h>

#include "compat/memneq.h"
#include "fail/failure.h"
#include "limits.h"
#include "mem/account.h"
#include "net/conn.h"
#include "net/link.h"
#include "net/net.h"

/* Time for the HELLO of an incoming connection... */
#define HANDSHAKE_NS	(10 * NSEC_PER_SEC)
/* ...and the least of it when all slots are taken: a HELLO may be on its way. */
#define HANDSHAKE_LEAST_NS	NSEC_PER_SEC

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
	const struct cred *cred;
	int err;

	if (IS_ERR(conn))
		return PTR_ERR(conn);
	conn->outgoing = true;
	conn->link = link;
	conn->peer = link->peer;
	conn->kind = kind;
	conn->lane = lane;
	conn->state = COLL_CONN_CONNECTING;
	conn->ep.ns = net->ns;
	conn->ep.hub = net->hub;
	conn->ep.rank = link->peer;
	conn->ep.bulk = kind == COLL_CONN_DATA;
	conn_hello(conn, COLL_HELLO_CALL);

	cred = override_creds(net->cred);
	err = link->transport->connect(&conn->ep, addr, &net->addr);
	revert_creds(cred);
	if (err) {
		coll_conn_delete(conn);
		return err;
	}
	spin_lock(&net->fail->lock);
	list_add_tail(&conn->node, &net->new_conns);
	spin_unlock(&net->fail->lock);
	coll_runner_kick(net->control);
	return 0;
}

/* A caller that tries RDMA is silent until all its connections stand. */
static u64 least_ns(const struct coll_conn *conn)
{
	u64 tries = conn->ep.transport == conn->net->rdma ? COLL_TRY_MS * NSEC_PER_MSEC : 0;

	return HANDSHAKE_LEAST_NS + tries;
}

/*
 * The connection to be dropped when all slots are taken: the oldest incoming one without a valid
 * HELLO that has had its least time.
 */
static struct coll_conn *oldest_idle(struct coll_net *net)
{
	u64 now = ktime_get_ns();
	struct coll_conn *conn;

	/* At most COLL_CALLS_MOST and those that this rank has made. */
	list_for_each_entry(conn, &net->handshakes, node)
		if (!conn->outgoing && !conn->link && conn->created_ns + least_ns(conn) < now)
			return conn;
	return NULL;
}

static int conn_accept(struct coll_net *net, struct coll_endpoint *listener)
{
	struct coll_conn *conn = coll_conn_new(net, &handshake_ops);
	int err;

	if (IS_ERR(conn))
		return PTR_ERR(conn);
	err = listener->transport->accept(listener, &conn->ep);
	if (err) {
		coll_conn_delete(conn);
		return err;
	}
	conn->state = COLL_CONN_HELLO;
	list_add_tail(&conn->node, &net->handshakes);
	net->nr_half_open++;
	return 0;
}

/* Accepts a bounded number.  Return: 0 if more may be waiting. */
static int conn_accept_some(struct coll_net *net, struct coll_endpoint *listener)
{
	const u32 most = coll_net_calls(net);
	struct coll_conn *silent = NULL;
	u32 n;
	int err;

	for (n = 0; n < most; n++) {
		bool full = net->nr_half_open >= most;

		if (full)
			silent = oldest_idle(net);
		if (full && !silent)
			return -EBUSY;
		err = conn_accept(net, listener);
		if (err)
			return err;
		/* Completes if its HELLO has come meanwhile, else fails as too late. */
		if (full)
			coll_conn_handshake(silent, U64_MAX);
	}
	return 0;
}

static void listener_accept(struct coll_net *net, struct coll_endpoint *listener)
{
	int err = conn_accept_some(net, listener);

	/*
	 * Continue when a slot is free or memory may be available, at the next heartbeat; or, if
	 * only the bound was reached, in the next run.
	 */
	if (err == -EBUSY || err == -EDQUOT || err == -ENOMEM)
		set_bit(COLL_EVENT_READABLE, &net->listener_events);
	else if (!err)
		listener->ops->event(listener, COLL_EVENT_READABLE);
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

	if (net->local_listener.transport)
		listener_accept(net, &net->local_listener);
	if (net->rdma_listener.transport)
		listener_accept(net, &net->rdma_listener);
	if (net->listener.transport)
		listener_accept(net, &net->listener);
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

/* Checks an answer, which repeats the call; a refusal carries the ranks of the call, too. */
static int check_answer(struct coll_conn *conn, const struct coll_hello *hello)
{
	const struct coll_net *net = conn->net;
	u32 from = hello->error ? net->id->rank : conn->peer;
	u32 to = hello->error ? conn->peer : net->id->rank;

	if (hello->stage != COLL_HELLO_ANSWER || hello->from != from || hello->to != to ||
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

		if (n <= 0)
			return n ? n : -ECONNRESET;
	}
	return 0;
}

/* Connecting side: send the call, then receive and check the answer. */
static int handshake_client(struct coll_conn *conn)
{
	struct coll_hello hello;
	int err = conn_send_hello(conn);

	if (!err)
		err = conn_receive_hello(conn);
	if (!err)
		err = coll_wire_get_hello(conn->handshake->in, &hello);
	if (!err)
		err = check_answer(conn, &hello);
	if (err || !conn->net->secured)
		return err;
	err = coll_auth_check_answer(conn->net, conn->handshake->out, conn->handshake->in);
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

/* Builds the answer to a call.  Bytes that are no HELLO are not answered. */
static int conn_reply(struct coll_conn *conn)
{
	struct coll_hello hello;
	int err = coll_wire_get_hello(conn->handshake->in, &hello);

	if (err == -EPROTO)
		return err;
	if (!err) {
		conn->peer = hello.from;
		err = handshake_check(conn, &hello);
	}
	if (err)
		return conn_refuse(conn, err);
	conn_hello(conn, COLL_HELLO_ANSWER);
	conn->answer_built = true;
	return conn->net->secured ?
	       coll_auth_answer(conn->net, conn->handshake->in, conn->handshake->out) : 0;
}

/* Accepting side: receive the call, then send the answer. */
static int handshake_server(struct coll_conn *conn)
{
	int err = conn->answer_built ? 0 : conn_receive_hello(conn);

	if (!err && !conn->answer_built)
		err = conn_reply(conn);
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

/* Return: 0 when the handshake is complete, -EAGAIN, or why it failed. */
static int handshake_advance(struct coll_conn *conn)
{
	int err;

	if (conn->state == COLL_CONN_CONNECTING) {
		err = conn->ep.transport->status(&conn->ep);
		/* An errno of the network is not an answer of the peer. */
		if (err)
			return err == -EINPROGRESS ? -EAGAIN : -ECONNRESET;
		conn->state = COLL_CONN_HELLO;
	}
	if (conn->state == COLL_CONN_HELLO) {
		err = conn->outgoing ? handshake_client(conn) : handshake_server(conn);
		if (err || !conn->net->secured)
			return err;
		conn->state = COLL_CONN_PROVING;
	}
	return conn->outgoing ? conn_send_hello(conn) : receive_confirmation(conn);
}

static int conn_admit(struct coll_conn *conn)
{
	/* That of a call was set up before its answer. */
	int err = conn->outgoing ? conn_setup(conn) : 0;

	if (err)
		return err;
	coll_conn_end_handshake(conn);
	conn->rx_len = 0;
	conn->state = COLL_CONN_OPEN;
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
		reason.kind = COLLECTIVE_REASON_PROTOCOL;
		reason.error = -err;
		break;
	case -ENOMEM:
	case -EDQUOT:
		swap(reason.rank_a, reason.rank_b);
		fallthrough;
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

	if (reason.kind != COLLECTIVE_REASON_RESOURCES && err != -EOPNOTSUPP)
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
		coll_fail_report(link->net->fail, &reason);
	else
		link_refused(link, bit, err);
}

static const char *reject_reason(int err)
{
	switch (err) {
	case -EOPNOTSUPP:
		return "its host has the other byte order, or its transport is not accepted here";
	case -EPROTO:
		return "it does not speak this version of the protocol, or contradicts itself";
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
		return "it has not introduced itself in time";
	}
	return "it ended";
}

/* The peer did not identify itself as a rank of this group. */
static void count_rejected(struct coll_conn *conn, int err)
{
	static DEFINE_RATELIMIT_STATE(once_a_second, HZ, 1);
	struct coll_net *net = conn->net;

	atomic64_inc(&net->rejected);
	if (__ratelimit(&once_a_second))
		pr_notice("collective: group %s rank %u: refused a connection: %s (%d)\n",
			  net->id->group_name, net->id->rank, reject_reason(err), err);
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
	struct coll_net *net = conn->net;
	int err;

	if (conn->outgoing && !coll_conn_may_begin(conn, now))
		return;
	err = handshake_advance(conn);
	if (err == -EAGAIN && (conn->outgoing || now < conn->created_ns + HANDSHAKE_NS))
		return;

	list_del_init(&conn->node);
	net->nr_half_open -= !conn->outgoing;
	if (test_bit(COLL_EVENT_READABLE, &net->listener_events))
		coll_runner_kick(net->control);
	if (!err) {
		err = conn_admit(conn);
		if (!err)
			return;
	}

	if (conn->outgoing)
		coll_link_failed(conn->link, conn->kind == COLL_CONN_CONTROL ?
				 COLL_REFUSED_CONTROL : conn->lane, err);
	else
		count_rejected(conn, err);
	coll_conn_free(conn, conn->outgoing);
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
