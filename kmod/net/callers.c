// SPDX-License-Identifier: GPL-2.0-only
/*
 * Callers: incoming connections that are not open yet, and the places that they take.
 *
 * A listener has places for calls that it has not answered, and as many for callers that it has
 * answered and that have not proved the secret.  A new call gets a place of the first kind from an
 * older one, which ends.  A caller waits for a place of the second kind, because a group fails if
 * the connection of a rank ends after the answer.  Each caller has a time limit for its HELLO, and
 * again for its proof.  The control runner does all of this; handshake.c has the HELLOs.
 */
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <net/ipv6.h>

#include "limits.h"
#include "net/callers.h"
#include "net/conn.h"
#include "net/net.h"

/* Time for the HELLO of an incoming connection, and then for the confirmation... */
#define HANDSHAKE_NS	(10 * NSEC_PER_SEC)
/* ...and the least of it for the confirmation when others wait: it may have to be sent again. */
#define PROVING_LEAST_NS	NSEC_PER_SEC

/* Calls of each listener that are accepted in one run, before other work of the control runner. */
#define ACCEPT_ROUNDS	32

/**
 * coll_callers_max() - number of calls to a listener that may come before one is answered
 * @net: of the member
 *
 * All lower ranks may call one that is late, each for all connections of its link.  RDMA refuses
 * what does not fit into the queue of its listener, where TCP has the caller try again.  A caller
 * that tries RDMA says nothing until all its connections stand.  So if fewer could be half open,
 * and all of these were of callers of which each needs another one, none would go on.  Ranks do not
 * end one another's connections for want of a place, unless they need more than COLL_CALLS_MOST.
 *
 * Return: COLL_CALLS_LEAST to COLL_CALLS_MOST.
 */
u32 coll_callers_max(const struct coll_net *net)
{
	u64 calls = (u64)net->id->rank * (1 + net->id->nlanes);

	return clamp_t(u64, calls, COLL_CALLS_LEAST, COLL_CALLS_MOST);
}

/**
 * coll_caller_addr() - the address of a caller
 * @conn: an incoming connection
 * @info: filled in, unless the result is NULL
 *
 * Context: control runner.
 * Return: the address, in @info; NULL: its transport has no addresses, or the connection is closed.
 */
const struct sockaddr_storage *coll_caller_addr(struct coll_conn *conn,
						struct coll_endpoint_info *info)
{
	const struct coll_transport *transport = conn->ep.transport;

	return transport && transport->info && transport->info(&conn->ep, info) ?
	       &info->peer : NULL;
}

/* Note the address of a caller, that of IPv4 as IPv6 maps it. */
static void note_address(struct coll_conn *conn)
{
	struct coll_endpoint_info info;
	const struct sockaddr_storage *peer = coll_caller_addr(conn, &info);

	if (!peer)
		return;
	if (peer->ss_family == AF_INET)
		ipv6_addr_set_v4mapped(((const struct sockaddr_in *)peer)->sin_addr.s_addr,
				       &conn->handshake->from);
	else
		conn->handshake->from = ((const struct sockaddr_in6 *)peer)->sin6_addr;
}

/* How near a caller is to another one. */
enum nearness {
	OTHER_NETWORK,
	SAME_NETWORK,	/* another host of the same network */
	SAME_HOST,
	NEARNESSES
};

/*
 * A network of IPv6 has 64 bits, and each of its hosts takes as many of its addresses as it likes.
 * Those of IPv4 are not told apart, because addresses are few: each one is a host.
 */
static enum nearness caller_nearness(const struct in6_addr *a, const struct in6_addr *b)
{
	if (ipv6_addr_equal(a, b))
		return SAME_HOST;
	if (ipv6_addr_v4mapped(a) || ipv6_addr_v4mapped(b))
		return OTHER_NETWORK;
	return ipv6_prefix_equal(a, b, 64) ? SAME_NETWORK : OTHER_NETWORK;
}

/*
 * Which callers give a place to a newcomer, by the numbers of those that have one: those of its
 * network if that has most places, and of these those of its host if that has most of them.  So a
 * host or a network that calls again and again ends its own calls, and not those of others.  Within
 * a network this holds for a host with one address: one with many ends those of its neighbours,
 * which call again.
 *
 * Return: one whose number is not 0, if any is not.
 */
static enum nearness nearness_that_gives(const u32 *nr)
{
	u32 network = nr[SAME_NETWORK] + nr[SAME_HOST];

	if (network <= nr[OTHER_NETWORK])
		return OTHER_NETWORK;
	return nr[SAME_HOST] > nr[SAME_NETWORK] ? SAME_HOST : SAME_NETWORK;
}

/* Has the call of a connection been answered?  Those that were have places of their own. */
static bool caller_is_answered(const struct coll_conn *conn)
{
	return conn->state == COLL_CONN_REPLYING || conn->state == COLL_CONN_PROVING;
}

/*
 * The connection that gives its place to @newcomer: of the callers that nearness_that_gives() says
 * the oldest one that was not answered.  One whose call has come waits for a place to prove the
 * secret, and gives its own last.
 */
static struct coll_conn *oldest_silent(struct coll_listener *listener, struct coll_conn *newcomer)
{
	struct coll_conn *conn, *oldest[NEARNESSES][2] = { };
	enum nearness nearness;
	u32 nr[NEARNESSES] = { };
	bool called;

	/* At most all places of the listeners, and those that this rank has made. */
	list_for_each_entry(conn, &listener->net->handshakes, node) {
		if (conn->handshake->listener != listener || caller_is_answered(conn) ||
		    conn == newcomer)
			continue;
		nearness = caller_nearness(&conn->handshake->from, &newcomer->handshake->from);
		called = conn->rx_len == COLL_HELLO_SIZE;
		nr[nearness]++;
		if (!oldest[nearness][called])
			oldest[nearness][called] = conn;
	}
	nearness = nearness_that_gives(nr);
	return oldest[nearness][0] ?: oldest[nearness][1];
}

/* Ends a connection, unless its HELLO has come meanwhile and there is space to answer it. */
static void caller_evict(struct coll_conn *conn)
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
	       listener->nr_silent < coll_callers_max(listener->net);
}

/* Accept a call.  Return: 0; -EBUSY, -EDQUOT or -ENOMEM: it waits; or as accept(). */
static int accept_call(struct coll_listener *listener)
{
	struct coll_net *net = listener->net;
	struct coll_conn *conn;
	int err;

	if (!has_place(listener))
		return -EBUSY;
	conn = coll_conn_new(net);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	err = listener->ep.transport->accept(&listener->ep, &conn->ep);
	if (err) {
		coll_conn_delete(conn);
		return err;
	}
	coll_conn_set_state(conn, COLL_CONN_HELLO);
	conn->handshake->listener = listener;
	note_address(conn);
	/* Bytes may have come before the endpoint could tell. */
	set_bit(COLL_EVENT_READABLE, &conn->events);
	list_add_tail(&conn->node, &net->handshakes);
	WRITE_ONCE(net->nr_half_open, net->nr_half_open + 1);
	if (++listener->nr_silent > coll_callers_max(net))
		caller_evict(oldest_silent(listener, conn));
	return 0;
}

/* Accept a call if one waits.  Return: false if no other one is to be accepted in this run. */
static bool listener_accept(struct coll_listener *listener)
{
	int err = listener->ep.transport ? accept_call(listener) : -EAGAIN;

	switch (err) {
	case 0:
		return true;
	case -EAGAIN:
		return false;
	case -EBUSY:
	case -EDQUOT:
	case -ENOMEM:
		/* When a place is free, or at the next look, when there may be memory. */
		set_bit(COLL_EVENT_READABLE, &listener->net->listener_events);
		return false;
	}
	coll_net_count_refused(listener->net, NULL, err);
	return true;
}

/**
 * coll_callers_accept() - accept the calls that wait
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
void coll_callers_accept(struct coll_net *net)
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

/* Have the oldest connection that proves nothing end, if it has had its time. */
static void end_oldest_proving(struct coll_listener *listener)
{
	const u64 now = ktime_get_ns();
	struct coll_conn *conn;

	if (knows_callers(listener))
		return;
	/* At most all places of the listeners, and those that this rank has made. */
	list_for_each_entry(conn, &listener->net->handshakes, node) {
		if (conn->handshake->listener != listener || !caller_is_answered(conn) ||
		    conn->handshake->evicted ||
		    conn->handshake->since_ns + PROVING_LEAST_NS > now)
			continue;
		/* Not now: the list is being walked. */
		conn->handshake->evicted = true;
		coll_runner_kick(listener->net->control);
		return;
	}
}

/**
 * coll_caller_may_reply() - take a place among the callers that are answered
 * @conn: of a caller whose call is right
 *
 * In a group with a secret, a caller without it gets as far.  One that was answered has time for
 * the confirmation, because its group fails if the connection ends after that.
 *
 * Context: control runner.
 * Return: false: there is no place yet.
 */
bool coll_caller_may_reply(struct coll_conn *conn)
{
	struct coll_listener *listener = conn->handshake->listener;

	if (conn->net->secured && listener->nr_proving >= coll_callers_max(conn->net)) {
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

/**
 * coll_caller_has_time() - may the HELLO of a caller still come?
 * @conn: an incoming connection
 * @now: ns
 *
 * Context: control runner.
 * Return: false if its time is over, or its place was needed.
 */
bool coll_caller_has_time(const struct coll_conn *conn, u64 now)
{
	return !conn->handshake->evicted && now < conn->handshake->since_ns + HANDSHAKE_NS;
}

/**
 * coll_caller_give_place() - a caller is half open no more
 * @conn: an incoming connection; its handshake has ended
 *
 * Context: control runner.
 */
void coll_caller_give_place(struct coll_conn *conn)
{
	struct coll_listener *listener = conn->handshake->listener;

	WRITE_ONCE(conn->net->nr_half_open, conn->net->nr_half_open - 1);
	if (caller_is_answered(conn))
		listener->nr_proving--;
	else
		listener->nr_silent--;
	conn->handshake->listener = NULL;
	if (listener->waits || test_bit(COLL_EVENT_READABLE, &conn->net->listener_events))
		coll_runner_kick(conn->net->control);
}
