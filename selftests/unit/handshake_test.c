// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handshakes (net/handshake.c, net/callers.c, net/auth.c): two ranks over any division of bytes,
 * every byte of every HELLO changed, and the places of callers under a flood.
 */
#include "handshake_env.h"
#include "net/conn.c"
#include "net/auth.c"
#include "net/handshake.c"
#include "net/callers.c"
#include "net/refused.c"
#include "tap.h"

#define CALLER		1
#define ACCEPTOR	3
#define RANKS		4
#define LANES		2

/**
 * struct half - bytes on their way in one direction
 * @bytes: the bytes
 * @len: number that were sent
 * @at: number that were received
 * @reset: true if the sender has dropped the connection
 * @ended: true if the sender has ended it
 */
struct half {
	u8 bytes[4 * COLL_HELLO_SIZE];
	u32 len;
	u32 at;
	bool reset;
	bool ended;
};

/* struct wire - one connection: bytes from the caller and to it; @from: the caller's address */
struct wire {
	struct half half[2];
	struct sockaddr_storage from;
};

#define WIRES	8192

static struct wire *wires[WIRES];
static u32 nwires, naccepted;

/* The acceptor's first HELLO has space: a refusal is sent once. */
static bool has_space;

static struct coll_charges charges;
static struct coll_runner control;

/**
 * struct member - one of two ranks
 * @attached: the connection that its link got
 * @reason: why its group has failed
 * @failures: number of reasons that were reported
 * @claims: number of times that a connection has claimed a slot of a link
 */
static struct member {
	struct coll_ident id;
	struct coll_member_state state;
	struct coll_net net;
	struct coll_link link;
	struct coll_conn *attached;
	struct coll_reason reason;
	u32 failures;
	u32 claims;
} members[2];

/*
 * The transport
 */

static struct half *out_of(const struct coll_endpoint *ep)
{
	struct wire *wire = ep->end;

	return &wire->half[ep->listens];
}

static struct half *in_of(const struct coll_endpoint *ep)
{
	struct wire *wire = ep->end;

	return &wire->half[!ep->listens];
}

static struct wire *wire_new(void)
{
	struct wire *wire = calloc(1, sizeof(*wire));

	assert(nwires < WIRES);
	wires[nwires++] = wire;
	return wire;
}

extern const struct coll_transport coll_test;

static int test_connect(struct coll_endpoint *ep, const struct sockaddr_storage *addr,
			const struct sockaddr_storage *local)
{
	ep->end = wire_new();
	ep->transport = &coll_test;
	return 0;
}

/* @listens marks the accepted end. */
static int test_accept(struct coll_endpoint *listener, struct coll_endpoint *ep)
{
	if (naccepted == nwires)
		return -EAGAIN;
	ep->end = wires[naccepted++];
	ep->transport = &coll_test;
	ep->listens = true;
	return 0;
}

static int test_status(struct coll_endpoint *ep)
{
	return random_once(4) ? -EINPROGRESS : 0;
}

static int test_send(struct coll_endpoint *ep, const void *ptr, u32 len)
{
	struct half *out = out_of(ep);
	u32 n = random_once(3) ? len : 1 + random_below(len);

	if (in_of(ep)->reset)
		return -ECONNRESET;
	if (ep->listens && has_space)
		n = len;
	else if (random_once(4))
		return -EAGAIN;
	assert(out->len + n <= sizeof(out->bytes));
	memcpy(out->bytes + out->len, ptr, n);
	out->len += n;
	return n;
}

static int test_receive(struct coll_endpoint *ep, u32 budget)
{
	struct half *in = in_of(ep);
	u32 n = min(in->len - in->at, budget);
	int taken;

	if (in->reset)
		return -ECONNRESET;
	if (!n)
		return in->ended ? 0 : -EAGAIN;
	n = random_once(3) ? n : 1 + random_below(n);
	taken = coll_endpoint_recv(ep, in->bytes + in->at, n);
	in->at += taken;
	return taken;
}

static int test_setup(struct coll_endpoint *ep, bool bulk)
{
	return 0;
}

static bool test_info(struct coll_endpoint *ep, struct coll_endpoint_info *info)
{
	const struct wire *wire = ep->end;

	info->peer = wire->from;
	return true;
}

static void test_shutdown(struct coll_endpoint *ep, unsigned long until)
{
}

static void test_close(struct coll_endpoint *ep, bool reset)
{
	struct half *out = out_of(ep);

	out->reset = reset;
	out->ended = true;
	ep->transport = NULL;
}

const struct coll_transport coll_test = {
	.kind		= COLLECTIVE_TRANSPORT_TCP,
	.connect	= test_connect,
	.accept		= test_accept,
	.status		= test_status,
	.send		= test_send,
	.receive	= test_receive,
	.setup		= test_setup,
	.info		= test_info,
	.shutdown	= test_shutdown,
	.close		= test_close,
};

const struct coll_transport coll_local;

/*
 * The other files of the room
 */

static struct member *member_of(const struct coll_net *net)
{
	return container_of(net, struct member, net);
}

void coll_runner_kick(struct coll_runner *runner)
{
}

void coll_state_fail(struct coll_member_state *state, const struct coll_reason *reason)
{
	struct member *member = container_of(state, struct member, state);

	member->reason = *reason;
	member->failures++;
}

struct coll_link *coll_link_get(const struct coll_net *net, u32 peer)
{
	struct member *member = member_of(net);

	return member->link.peer == peer ? &member->link : NULL;
}

int coll_link_takes(const struct coll_link *link, const struct coll_conn *conn)
{
	member_of(link->net)->claims++;
	return member_of(link->net)->attached ? -EBUSY : 0;
}

int coll_link_new(struct coll_net *net, u32 peer, bool required)
{
	member_of(net)->link.peer = peer;
	return 0;
}

int coll_link_attach_conn(struct coll_link *link, struct coll_conn *conn)
{
	struct member *member = member_of(link->net);

	assert(!member->attached && conn->state == COLL_CONN_OPEN && conn->link == link);
	member->attached = conn;
	return 0;
}

bool coll_link_can_retry(int err)
{
	return false;
}

bool coll_conn_may_begin(struct coll_conn *conn, u64 now)
{
	return true;
}

bool coll_net_accepts(const struct coll_net *net, const struct coll_transport *transport)
{
	return true;
}

void coll_peer_addr_get(const struct coll_peer_addr *peer, struct sockaddr_storage *addr)
{
	memset(addr, 0, sizeof(*addr));
}

/*
 * Two ranks
 */

static void member_new(struct member *member, u32 rank, u32 peer)
{
	struct coll_net *net = &member->net;
	u32 i;

	memset(member, 0, sizeof(*member));
	member->id = (struct coll_ident){
		.rank = rank,
		.nranks = RANKS,
		.nlanes = LANES,
		.group_id = 0x1122334455667788ULL,
		.heartbeat_ms = 1000,
		.group_name = "some group",
	};
	member->link = (struct coll_link){
		.net = net, .peer = peer, .required = true, .transport = &coll_test,
	};
	*net = (struct coll_net){
		.id = &member->id,
		.state = &member->state,
		.charges = &charges,
		.control = &control,
	};
	INIT_LIST_HEAD(&net->handshakes);
	INIT_LIST_HEAD(&net->new_conns);
	for (i = 0; i < COLL_LISTENERS; i++)
		net->listeners[i].net = net;
	if (rank == ACCEPTOR)
		net->listeners[COLL_LISTENER_TCP].ep.transport = &coll_test;
}

static void members_new(bool secured)
{
	u32 i;

	kernel_ns = 1000000000;
	member_new(&members[0], CALLER, ACCEPTOR);
	member_new(&members[1], ACCEPTOR, CALLER);
	for (i = 0; i < 2; i++) {
		members[i].net.secured = secured;
		memset(members[i].net.secret, secured ? 7 : 0, COLLECTIVE_SECRET_SIZE);
	}
}

static void run_member(struct member *member)
{
	struct coll_conn *conn, *next;

	list_splice_tail_init(&member->net.new_conns, &member->net.handshakes);
	member->net.listeners[COLL_LISTENER_TCP].waits = false;
	coll_callers_accept(&member->net);
	list_for_each_entry_safe(conn, next, &member->net.handshakes, node) {
		set_bit(COLL_EVENT_READABLE, &conn->events);
		coll_conn_handshake(conn, kernel_ns);
	}
}

static bool members_end(void)
{
	struct coll_conn *conn, *next;
	bool good;
	u32 i;

	/* The time of each caller ends. */
	kernel_ns += 3600ULL * NSEC_PER_SEC;
	for (i = 0; i < 2; i++) {
		list_for_each_entry_safe(conn, next, &members[i].net.handshakes, node)
			if (conn->outgoing) {
				list_del(&conn->node);
				coll_conn_free(conn, true);
			}
		for (u32 n = 0; n < 50; n++)
			run_member(&members[i]);
	}
	good = HOLDS(list_empty(&members[1].net.handshakes)) &&
	       HOLDS(!members[1].net.nr_half_open) &&
	       HOLDS(!members[1].net.listeners[COLL_LISTENER_TCP].nr_silent) &&
	       HOLDS(!members[1].net.listeners[COLL_LISTENER_TCP].nr_proving);
	for (i = 0; i < 2; i++)
		if (members[i].attached)
			coll_conn_free(members[i].attached, true);
	while (nwires)
		free(wires[--nwires]);
	naccepted = 0;
	return good && HOLDS(!charges.bytes);
}

/* What differs between the two ranks. */
enum difference { NONE, SECRET, SECURED, ID, NAME, SIZE, LANE_COUNT, NEITHER, DIFFERENCES };

static void differ(enum difference what)
{
	struct member *one = &members[random_below(2)];

	switch (what) {
	case SECRET:
		one->net.secret[random_below(COLLECTIVE_SECRET_SIZE)] ^= 1 << random_below(8);
		break;
	case SECURED:
		one->net.secured = !one->net.secured;
		break;
	case ID:
		one->id.group_id ^= 1ULL << random_below(64);
		break;
	case NAME:
		one->id.group_name[random_below(COLL_GROUP_NAME_SIZE - 1)] ^= 1;
		break;
	case SIZE:
		one->id.nranks++;
		break;
	case LANE_COUNT:
		one->id.nlanes++;
		break;
	default:
		break;
	}
}

static bool run_pair(void)
{
	bool secured = random_once(2), opens, good;
	enum difference what = random_once(2) ? NONE : random_below(DIFFERENCES);
	u8 kind = random_below(2) ? COLL_CONN_DATA : COLL_CONN_CONTROL;
	u8 lane = kind == COLL_CONN_DATA ? random_below(LANES) : 0;
	u32 i;

	members_new(secured);
	differ(what);
	opens = what == NONE || what == NEITHER || (what == SECRET && !secured);
	has_space = !opens;
	assert(!coll_conn_connect(&members[0].link, kind, lane, &members[1].net.addr));
	for (i = 0; i < 4000 && !members[0].failures; i++) {
		if (members[0].attached && members[1].attached)
			break;
		run_member(&members[random_below(2)]);
	}
	if (opens)
		good = HOLDS(members[0].attached) && HOLDS(members[1].attached) &&
		       HOLDS(members[1].attached->kind == kind) &&
		       HOLDS(members[1].attached->lane == lane) &&
		       HOLDS(members[1].attached->peer == CALLER) &&
		       HOLDS(!members[0].failures) &&
		       HOLDS(!atomic64_read(&members[1].net.rejected));
	else
		good = HOLDS(!members[0].attached) && HOLDS(!members[1].attached) &&
		       HOLDS(members[0].failures == 1) &&
		       HOLDS(members[0].reason.kind == COLLECTIVE_REASON_PROTOCOL) &&
		       HOLDS(members[0].reason.error == EACCES) &&
		       HOLDS(members[0].reason.rank_a == ACCEPTOR);
	good = members_end() && good;
	return good && HOLDS(opens || atomic64_read(&members[1].net.rejected) == 1);
}

static void test_pairs(void)
{
	tap_ok(random_programs(1500, run_pair),
	       "two ranks of one group connect, and no others");
}

/*
 * Changed HELLOs
 */

static const u8 changes[] = { 0x01, 0x02, 0x04, 0x80, 0xff };

/* What the documentation of the wire asks of a call. */
static bool call_is_right(const struct coll_hello *hello, bool secured)
{
	return hello->stage == COLL_HELLO_CALL && hello->to == ACCEPTOR &&
	       hello->from < ACCEPTOR && hello->nranks == RANKS && hello->lanes == LANES &&
	       hello->inflight == COLL_INFLIGHT && hello->secured == secured &&
	       hello->id == members[1].id.group_id &&
	       !memcmp(hello->name, members[1].id.group_name, sizeof(hello->name));
}

/* Change a byte of a HELLO that is on its way: the first one, or the one behind it. */
static void change(struct half *half, u32 stage, u32 at, u8 bits)
{
	half->bytes[stage * COLL_HELLO_SIZE + at] ^= bits;
}

static bool call_changed(bool secured, u32 at, u8 bits)
{
	struct half *call, *reply;
	struct coll_hello hello;
	bool right, good;
	int err;
	u32 i;

	members_new(secured);
	assert(!coll_conn_connect(&members[0].link, COLL_CONN_DATA, 1, &members[1].net.addr));
	call = &wires[0]->half[0];
	reply = &wires[0]->half[1];
	for (i = 0; i < 1000 && call->len < COLL_HELLO_SIZE; i++)
		run_member(&members[0]);
	change(call, 0, at, bits);
	err = coll_wire_get_hello(call->bytes, &hello);
	right = !err && call_is_right(&hello, secured);
	for (i = 0; i < 100; i++)
		run_member(&members[1]);
	/* Bytes that are no HELLO are not answered. */
	good = err == -EPROTO ? HOLDS(!reply->len) : HOLDS(reply->len == COLL_HELLO_SIZE);
	if (good && !right)
		good = HOLDS(!members[1].attached) &&
		       HOLDS(atomic64_read(&members[1].net.rejected) == 1);
	if (good && reply->len && !coll_wire_get_hello(reply->bytes, &hello))
		good = HOLDS(!hello.error == right);
	/* A reply to another call opens nothing. */
	for (i = 0; i < 200 && !members[0].failures && !members[0].attached; i++)
		run_member(&members[0]);
	good = good && HOLDS(!members[0].attached);
	return members_end() && good;
}

static bool later_changed(bool secured, u32 stage, u32 at, u8 bits)
{
	/* The reply comes to the caller; the confirmation to the acceptor, behind the call. */
	struct half *half;
	struct member *taker = &members[!(stage == COLL_HELLO_REPLY)];
	u32 i, behind = stage == COLL_HELLO_CONFIRM;
	bool good;

	members_new(secured);
	assert(!coll_conn_connect(&members[0].link, COLL_CONN_DATA, 1, &members[1].net.addr));
	half = &wires[0]->half[stage == COLL_HELLO_REPLY];
	for (i = 0; i < 4000 && half->len < (1 + behind) * COLL_HELLO_SIZE; i++) {
		/* The HELLO that is changed is not received before. */
		if (!half->len || behind)
			run_member(&members[0]);
		if (!behind || half->len <= COLL_HELLO_SIZE)
			run_member(&members[1]);
	}
	change(half, behind, at, bits);
	for (i = 0; i < 200; i++)
		run_member(taker);
	good = HOLDS(!taker->attached);
	return members_end() && good;
}

static void test_changed(void)
{
	bool good = true;
	u32 at, i, secured;

	random_begin(1);
	has_space = true;
	for (secured = 0; secured < 2; secured++)
		for (at = 0; good && at < COLL_HELLO_SIZE; at++)
			for (i = 0; good && i < ARRAY_SIZE(changes); i++) {
				random_seed = at * 1000 + changes[i];
				good = call_changed(secured, at, changes[i]);
			}
	tap_ok(good, "a call with a changed byte is refused, or ignored");
	for (secured = 0; secured < 2; secured++)
		for (at = 0; good && at < COLL_HELLO_SIZE; at++) {
			random_seed = at;
			good = later_changed(secured, COLL_HELLO_REPLY, at, 1 << at % 8);
			if (secured)
				good = good && later_changed(true, COLL_HELLO_CONFIRM, at,
							     1 << at % 8);
		}
	tap_ok(good, "a reply or a confirmation with a changed byte opens nothing");
}

/* A caller that does not know the secret sends the acceptor's own proof back. */
static void test_reflected(void)
{
	struct half *call, *reply;
	struct coll_hello hello;
	bool good;
	u32 i;

	random_begin(1);
	members_new(true);
	assert(!coll_conn_connect(&members[0].link, COLL_CONN_DATA, 1, &members[1].net.addr));
	call = &wires[0]->half[0];
	reply = &wires[0]->half[1];
	for (i = 0; i < 1000 && !reply->len; i++) {
		run_member(&members[0]);
		run_member(&members[1]);
	}
	assert(!coll_wire_get_hello(reply->bytes, &hello) && !hello.error);
	coll_wire_put_confirm(call->bytes + COLL_HELLO_SIZE, call->bytes, hello.proof);
	call->len = 2 * COLL_HELLO_SIZE;
	for (i = 0; i < 100; i++)
		run_member(&members[1]);
	good = HOLDS(!members[1].attached) && HOLDS(!members[1].claims) &&
	       HOLDS(atomic64_read(&members[1].net.rejected) == 1);
	tap_ok(members_end() && good, "a proof that is sent back proves nothing");
}

/*
 * Places of callers
 */

#define HOSTS	9

/* Hosts of IPv4, and of two networks of IPv6. */
static void set_host(struct sockaddr_storage *addr, u32 host)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)addr;
	struct sockaddr_in *in = (struct sockaddr_in *)addr;

	memset(addr, 0, sizeof(*addr));
	if (host < 3) {
		in->sin_family = AF_INET;
		in->sin_addr.s_addr = 0x0100007f + (host << 24);
		return;
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_addr.s6_addr[0] = 0x20;
	in6->sin6_addr.s6_addr[7] = host % 2;
	in6->sin6_addr.s6_addr[15] = host;
}

static u32 nearness_of(u32 a, u32 b)
{
	if (a == b)
		return 2;
	return a >= 3 && b >= 3 && a % 2 == b % 2;
}

static u32 host_of[WIRES];

/* The caller that should end for the newcomer @n; the newcomer's number: none. */
static u32 victim(const bool *there, u32 n)
{
	u32 nr[3] = { 0 }, first[3] = { n, n, n }, i, near;

	for (i = n; i-- > 0;) {
		if (!there[i])
			continue;
		near = nearness_of(host_of[i], host_of[n]);
		nr[near]++;
		first[near] = i;
	}
	if (nr[1] + nr[2] <= nr[0])
		return first[0];
	return nr[2] > nr[1] ? first[2] : first[1];
}

static bool run_flood(void)
{
	static bool there[WIRES];
	u32 i, n, gone, hosts = 1 + random_below(HOSTS), count = 0;
	struct coll_listener *listener;
	bool good = true;

	members_new(false);
	listener = &members[1].net.listeners[COLL_LISTENER_TCP];
	memset(there, 0, sizeof(there));
	for (n = 0; good && n < 300; n++) {
		host_of[n] = random_once(2) ? random_below(hosts) : random_below(HOSTS);
		set_host(&wire_new()->from, host_of[n]);
		there[n] = true;
		gone = ++count > COLL_CALLS_LEAST ? victim(there, n) : n;
		if (gone != n) {
			there[gone] = false;
			count--;
		}
		/* Some say something, but no whole HELLO. */
		wires[n]->half[0].len = random_below(COLL_HELLO_SIZE);
		coll_callers_accept(&members[1].net);
		good = HOLDS(listener->nr_silent == count) &&
		       HOLDS(members[1].net.nr_half_open == count);
		for (i = 0; good && i <= n; i++)
			good = HOLDS(wires[i]->half[1].ended == !there[i]);
		kernel_ns++;
	}
	return members_end() && good;
}

static void test_flood(void)
{
	tap_ok(random_programs(40, run_flood),
	       "a newcomer gets its place from the oldest one of those that have most");
}

/* Callers that know the group, but not its secret, have all places to prove it. */
static void test_proving(void)
{
	u32 i, n, more = COLL_CALLS_LEAST + 5, answered, ended;
	struct coll_listener *listener;
	bool good = true;

	random_begin(1);
	members_new(true);
	listener = &members[1].net.listeners[COLL_LISTENER_TCP];
	for (n = 0; n < more; n++) {
		struct coll_hello hello = {
			.stage = COLL_HELLO_CALL, .secured = true, .kind = COLL_CONN_CONTROL,
			.id = members[1].id.group_id, .from = CALLER, .to = ACCEPTOR,
			.nranks = RANKS, .lanes = LANES, .inflight = COLL_INFLIGHT,
		};

		memcpy(hello.name, members[1].id.group_name, sizeof(hello.name));
		set_host(&wire_new()->from, 1);
		coll_wire_put_hello(wires[n]->half[0].bytes, &hello);
		wires[n]->half[0].len = COLL_HELLO_SIZE;
	}
	for (i = 0; i < 200; i++)
		run_member(&members[1]);
	for (i = 0, answered = 0; i < more; i++)
		answered += !!wires[i]->half[1].len;
	/* None of them has a slot in a link. */
	good &= !members[1].claims;
	good &= answered == COLL_CALLS_LEAST && listener->nr_proving == COLL_CALLS_LEAST &&
		listener->nr_silent == 5;
	/* Each of these has a second, and then those that wait get its place. */
	kernel_ns += NSEC_PER_SEC - 1;
	for (i = 0; i < 50; i++)
		run_member(&members[1]);
	good &= listener->nr_silent == 5;
	kernel_ns++;
	for (i = 0; i < 100; i++)
		run_member(&members[1]);
	for (i = 0, answered = 0, ended = 0; i < more; i++) {
		answered += !!wires[i]->half[1].len;
		ended += wires[i]->half[1].ended;
	}
	good &= answered == more && ended == 5 && !listener->nr_silent;
	/* The oldest ones. */
	for (i = 0; i < 5; i++)
		good &= wires[i]->half[1].reset;
	tap_ok(members_end() && good,
	       "callers without the secret give their places after a second");
}

int main(void)
{
	tap_plan(0);
	assert(!coll_conn_setup());
	test_pairs();
	test_changed();
	test_reflected();
	test_flood();
	test_proving();
	coll_conn_cleanup();
	return tap_exit();
}
