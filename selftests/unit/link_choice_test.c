// SPDX-License-Identifier: GPL-2.0-only
/*
 * The transport of a link (net/choice.c): what both ranks of it choose and offer, how RDMA is tried
 * with all connections or none, and how a link falls back to TCP.
 */
#include "charges_env.h"
#include "net/choice.c"
#include "random.h"
#include "tap.h"

#define PROGRAMS	20000
#define LANES		3
#define CONNS		(1 + LANES)
#define LINKS		2
#define LOWER		2
#define HIGHER		5
#define NO_WISH		COLLECTIVE_TRANSPORT_COUNT

/**
 * struct path - what becomes of a connection that this rank makes
 * @conn: the connection
 * @stands_at: time from which it stands, or has failed
 * @error: how it fails then; 0: it does not
 * @drops_at: time at which the peer drops it
 * @begun: true if its handshake has begun
 */
struct path {
	struct coll_conn conn;
	u64 stands_at;
	int error;
	u64 drops_at;
	bool begun;
};

/**
 * struct member - one rank
 * @reason: of its group's failure; @failures: number of reasons
 */
struct member {
	struct coll_ident id;
	struct coll_member_state state;
	struct coll_net net;
	struct coll_runner control;
	struct coll_reason reason;
	u32 failures;
};

static struct member members[2];
static struct coll_link links[LINKS];
static struct path paths[LINKS][CONNS];
static u32 kicks;

/*
 * What others do
 */

static struct member *member_of(const struct coll_net *net)
{
	return container_of(net, struct member, net);
}

void coll_state_fail(struct coll_member_state *state, const struct coll_reason *reason)
{
	struct member *member = container_of(state, struct member, state);

	member->reason = *reason;
	member->failures++;
}

void coll_runner_kick(struct coll_runner *runner)
{
	kicks++;
}

/* Where ranks of this kernel are found: what each has chosen; NO_WISH: it is in another kernel. */
static u32 hub_wishes[HIGHER + 1];

/* The peer is a member just now, and has a listener. */
static bool hub_has;

int coll_local_hub_wish(struct coll_local_hub *hub, u32 rank, const struct sockaddr_storage *addr)
{
	return hub_wishes[rank] == NO_WISH ? -ENOENT : (int)hub_wishes[rank];
}

bool coll_local_hub_has(struct coll_local_hub *hub, u32 rank, const struct sockaddr_storage *addr)
{
	return hub_has && hub_wishes[rank] != NO_WISH && coll_wishes_local(hub_wishes[rank]);
}

/* The number of connections that can be begun, and the errno of the next one. */
static u32 begins;
static int begin_error;

int coll_link_begin(struct coll_link *link)
{
	assert(link->net->link_mutex.held && link->transport == &coll_tcp && !link->tries);
	assert(!link->nr_connecting);
	link->nr_connecting = begin_error ? begins : CONNS;
	return begin_error;
}

static u32 drops, failed_links, failed_bit;
static int failed_error;

void coll_conn_drop_outgoing(struct coll_link *link)
{
	struct coll_conn *conn, *next;

	drops++;
	list_for_each_entry_safe(conn, next, &link->net->handshakes, node) {
		/* The peer has admitted none of them. */
		assert(conn->link != link ||
		       !container_of(conn, struct path, conn)->begun);
		if (conn->link == link)
			list_del_init(&conn->node);
	}
}

void coll_link_failed(struct coll_link *link, u32 bit, int err)
{
	assert(link->nr_connecting == CONNS);
	failed_links++;
	failed_bit = bit;
	failed_error = err;
}

static int test_status(struct coll_endpoint *ep)
{
	const struct path *path = container_of(ep, struct path, conn.ep);

	if (kernel_ns < path->stands_at)
		return -EINPROGRESS;
	if (path->error)
		return path->error;
	return kernel_ns < path->drops_at ? 0 : -ECONNRESET;
}

const struct coll_transport coll_tcp = { .status = test_status };
const struct coll_transport coll_local;
static const struct coll_transport coll_rdma = { .status = test_status };

/*
 * Members and links
 */

static void member_new(struct member *member, u32 rank, u32 wish)
{
	memset(member, 0, sizeof(*member));
	member->id = (struct coll_ident){ .rank = rank, .nranks = 9, .nlanes = LANES };
	member->net = (struct coll_net){
		.id = &member->id, .state = &member->state, .control = &member->control,
		.wish = wish, .try_ns = 1000,
	};
	INIT_LIST_HEAD(&member->net.link_list);
	INIT_LIST_HEAD(&member->net.handshakes);
}

static void link_new(struct coll_link *link, struct coll_net *net, u32 peer)
{
	*link = (struct coll_link){ .net = net, .peer = peer, .choice = ~0U };
	list_add_tail(&link->node, &net->link_list);
}

/*
 * Both ranks of a link
 */

/* By the documentation of enum collective_transport. */
static bool may_link(u32 lower, u32 higher, bool one_kernel)
{
	if (!one_kernel)
		return lower != COLLECTIVE_TRANSPORT_LOCAL && higher != COLLECTIVE_TRANSPORT_LOCAL;
	return lower == higher || lower == COLLECTIVE_TRANSPORT_AUTO ||
	       higher == COLLECTIVE_TRANSPORT_AUTO;
}

static bool refuses(const struct member *member)
{
	return HOLDS(member->failures == 1) &&
	       HOLDS(member->reason.kind == COLLECTIVE_REASON_PROTOCOL) &&
	       HOLDS(member->reason.error == EOPNOTSUPP) &&
	       HOLDS(member->reason.rank_a == HIGHER && member->reason.rank_b == LOWER);
}

static bool agrees(u32 i, u32 *errors)
{
	struct sockaddr_storage addr = { .ss_family = AF_INET };
	int err = coll_link_agree(&links[i], &addr);

	*errors += !!err;
	return HOLDS(err ? err == -EOPNOTSUPP && refuses(&members[i]) : !members[i].failures);
}

static bool check_pair(u32 lower, u32 higher, bool one_kernel)
{
	u32 errors = 0;
	bool good;

	member_new(&members[0], LOWER, lower);
	member_new(&members[1], HIGHER, higher);
	link_new(&links[0], &members[0].net, HIGHER);
	link_new(&links[1], &members[1].net, LOWER);
	hub_wishes[LOWER] = one_kernel ? lower : NO_WISH;
	hub_wishes[HIGHER] = one_kernel ? higher : NO_WISH;
	good = agrees(0, &errors) && agrees(1, &errors);
	if (may_link(lower, higher, one_kernel))
		return good && HOLDS(!errors);
	/* Both ranks know it, unless they do not know of each other's choice. */
	return good && HOLDS(errors == 2 || !one_kernel) && HOLDS(errors);
}

static void test_pairs(void)
{
	bool good = true;
	u32 lower, higher;

	for (lower = 0; lower < COLLECTIVE_TRANSPORT_COUNT; lower++)
		for (higher = 0; higher < COLLECTIVE_TRANSPORT_COUNT; higher++) {
			random_seed = lower * 10 + higher;
			good &= check_pair(lower, higher, true);
			good &= check_pair(lower, higher, false);
		}
	tap_ok(good, "two ranks refuse the same links, and give the same reason");
}

/*
 * The choice of the lower rank
 */

/* struct setting - what the choice depends on */
struct setting {
	u32 wish;
	bool reads, same_kernel, has, offers, rdma;
};

static bool chose(const struct coll_transport *transport, u32 choice)
{
	return HOLDS(links[0].transport == transport) && HOLDS(links[0].choice == choice) &&
	       HOLDS(links[0].tries == (choice == COLLECTIVE_LINK_CHOICE_OFFERED));
}

static bool check_choice(const struct setting *setting)
{
	struct sockaddr_storage addr = { .ss_family = AF_INET6 };
	bool local = setting->reads || (setting->same_kernel && setting->has);
	struct coll_net *net = &members[0].net;
	int err;

	member_new(&members[0], LOWER, setting->wish);
	members[0].id.reads = setting->reads;
	link_new(&links[0], net, HIGHER);
	hub_wishes[HIGHER] = setting->same_kernel ? COLLECTIVE_TRANSPORT_AUTO : NO_WISH;
	hub_has = setting->has;
	if (setting->rdma)
		net->rdma = &coll_rdma;
	net->no_rdma = COLLECTIVE_LINK_CHOICE_PORT_TAKEN;
	if (setting->offers)
		coll_addr_offer_rdma(&addr);
	err = coll_link_choose(&links[0], &addr);
	if (setting->wish == COLLECTIVE_TRANSPORT_LOCAL && !local)
		return HOLDS(err == -EOPNOTSUPP) && refuses(&members[0]) &&
		       HOLDS(!links[0].transport);
	if (!HOLDS(!err && !members[0].failures))
		return false;
	switch (setting->wish) {
	case COLLECTIVE_TRANSPORT_TCP:
		return chose(&coll_tcp, COLLECTIVE_LINK_CHOICE_WISHED);
	case COLLECTIVE_TRANSPORT_RDMA:
		return chose(net->rdma, COLLECTIVE_LINK_CHOICE_WISHED);
	case COLLECTIVE_TRANSPORT_LOCAL:
		return chose(&coll_local, COLLECTIVE_LINK_CHOICE_WISHED);
	}
	if (local)
		return chose(&coll_local, COLLECTIVE_LINK_CHOICE_SAME_KERNEL);
	if (!setting->rdma)
		return chose(&coll_tcp, COLLECTIVE_LINK_CHOICE_PORT_TAKEN);
	if (!setting->offers)
		return chose(&coll_tcp, COLLECTIVE_LINK_CHOICE_NOT_OFFERED);
	return chose(&coll_rdma, COLLECTIVE_LINK_CHOICE_OFFERED) &&
	       HOLDS(links[0].tries_until == kernel_ns + net->try_ns);
}

static void test_choices(void)
{
	bool good = true;
	u32 i;

	kernel_ns = 77;
	for (i = 0; good && i < 4 << 5; i++) {
		const struct setting setting = {
			.wish = i % 4, .reads = i & 4, .same_kernel = i & 8, .has = i & 16,
			.offers = i & 32, .rdma = i & 64,
		};

		random_seed = i;
		good = check_choice(&setting);
	}
	coll_link_chosen(&links[0], &coll_rdma);
	good = good && HOLDS(links[0].transport == &coll_rdma) &&
	       HOLDS(links[0].choice == COLLECTIVE_LINK_CHOICE_CALLED);
	tap_ok(good, "the lower rank decides by its wish, its kernel and what is offered");
}

/* An address that is kept is the same again, with what the rank offers. */
static void test_addresses(void)
{
	struct sockaddr_storage addr, back;
	struct coll_peer_addr peer;
	bool good = true;
	u32 i, at;

	for (i = 0; i < 2; i++) {
		memset(&addr, 0, sizeof(addr));
		for (at = 0; at < sizeof(struct sockaddr_in6); at++)
			((u8 *)&addr)[at] = at + 1;
		if (i)
			coll_addr_offer_rdma(&addr);
		memset(&back, 0xa5, sizeof(back));
		coll_peer_addr_set(&peer, &addr);
		coll_peer_addr_get(&peer, &back);
		good &= HOLDS(!memcmp(&addr, &back, sizeof(addr))) &&
			HOLDS(addr_offers_rdma(&back) == i);
	}
	/* Any other value is nothing. */
	for (at = 0; at < 32; at++) {
		coll_addr_offer_rdma(&addr);
		((u8 *)&addr)[COLLECTIVE_ADDR_OFFERS + at / 8] ^= 1 << at % 8;
		good &= HOLDS(!addr_offers_rdma(&addr));
	}
	tap_ok(good, "addresses keep what ranks offer");
}

/*
 * RDMA is tried
 */

static void path_new(u32 which, u32 i)
{
	struct path *path = &paths[which][i];

	static const int errors[] = {
		-EHOSTUNREACH, -ENETUNREACH, -EADDRNOTAVAIL, -ENODEV, -ECONNREFUSED, -ETIMEDOUT,
		-EPROTONOSUPPORT, -ENOMEM, -EDQUOT, -EIO, -ECONNRESET,
	};

	*path = (struct path){
		.conn = { .ep.transport = &coll_rdma, .outgoing = true, .link = &links[which] },
		.stands_at = random_below(1100),
		.error = random_once(16) ? errors[random_below(ARRAY_SIZE(errors))] : 0,
		.drops_at = random_once(16) ? random_below(1500) : U64_MAX,
	};
	if (random_once(3))
		path->stands_at = random_below(3) + 999;
	list_add_tail(&path->conn.node, &members[0].net.handshakes);
}

static void tries_new(void)
{
	struct sockaddr_storage addr = { .ss_family = AF_INET6 };
	u32 which, i;

	kernel_ns = 0;
	member_new(&members[0], LOWER, COLLECTIVE_TRANSPORT_AUTO);
	members[0].net.rdma = &coll_rdma;
	hub_wishes[HIGHER] = NO_WISH;
	coll_addr_offer_rdma(&addr);
	for (which = 0; which < LINKS; which++) {
		link_new(&links[which], &members[0].net, HIGHER);
		assert(!coll_link_choose(&links[which], &addr));
		links[which].nr_connecting = CONNS;
	}
	/* Those of both links in turn. */
	for (i = 0; i < CONNS; i++)
		for (which = 0; which < LINKS; which++)
			path_new(which, i);
	kicks = 0;
	drops = 0;
	failed_links = 0;
	begin_error = 0;
}

static bool all_stand(u32 which)
{
	u32 i;

	for (i = 0; i < CONNS; i++)
		if (test_status(&paths[which][i].conn.ep))
			return false;
	return true;
}

static u32 nr_begun(u32 which)
{
	u32 i, n = 0;

	for (i = 0; i < CONNS; i++)
		n += paths[which][i].begun;
	return n;
}

/* As the control runner looks at handshakes.  Those that have begun stay in the list here. */
static bool look(void)
{
	struct coll_conn *conn;

	list_for_each_entry(conn, &members[0].net.handshakes, node) {
		struct path *path = container_of(conn, struct path, conn);
		u32 which = conn->link - links;
		bool first = !nr_begun(which);

		if (links[which].transport == &coll_tcp || path->begun)
			continue;
		path->begun = coll_conn_may_begin(conn, kernel_ns);
		/* The first HELLO is sent when all stand, and only then. */
		if (path->begun && first && !HOLDS(all_stand(which)))
			return false;
		if (!HOLDS(!path->begun || !links[which].tries))
			return false;
	}
	return true;
}

static u32 choice_of(int err)
{
	switch (-err) {
	case EHOSTUNREACH:
	case ENETUNREACH:
	case EADDRNOTAVAIL:
	case ENODEV:
		return COLLECTIVE_LINK_CHOICE_NO_ROUTE;
	case ECONNREFUSED:
		return COLLECTIVE_LINK_CHOICE_REFUSED;
	case ETIMEDOUT:
		return COLLECTIVE_LINK_CHOICE_NO_ANSWER;
	case EPROTONOSUPPORT:
		return COLLECTIVE_LINK_CHOICE_IWARP;
	}
	return COLLECTIVE_LINK_CHOICE_DEVICE_FAILED;
}

/* May a link have fallen back for this reason, just now? */
static bool could_fail(u32 which, u32 choice)
{
	u32 i;
	int err;

	for (i = 0; i < CONNS; i++) {
		err = test_status(&paths[which][i].conn.ep);
		if (err == -EINPROGRESS && kernel_ns > 1000)
			err = -ETIMEDOUT;
		if (err && err != -EINPROGRESS && choice_of(err) == choice)
			return true;
	}
	return false;
}

/* All connections of each link begin, or it falls back and none has. */
static bool run_tries(void)
{
	struct coll_net *net = &members[0].net;
	bool good = true, was_tcp[LINKS] = { false };
	u32 which, n;

	tries_new();
	while (good && kernel_ns < 1600) {
		bool errors = false;

		good = look();
		for (which = 0; which < LINKS; which++)
			errors |= links[which].try_error != 0;
		good = good && HOLDS(net->falls_back == errors) && HOLDS(!errors || kicks);
		coll_net_fall_back(net);
		for (which = 0; good && which < LINKS; which++) {
			bool tcp = links[which].transport == &coll_tcp;

			n = nr_begun(which);
			good = HOLDS(!tcp || !n) && HOLDS(!links[which].try_error);
			if (tcp && !was_tcp[which])
				good = good && HOLDS(could_fail(which, links[which].choice));
			was_tcp[which] = tcp;
		}
		kernel_ns += random_once(2) ? 1 : random_below(40);
	}
	for (which = 0; good && which < LINKS; which++) {
		n = nr_begun(which);
		good = HOLDS(!links[which].tries) && HOLDS(links[which].nr_connecting == CONNS) &&
		       HOLDS(was_tcp[which] ? !n : n == CONNS);
	}
	return good && HOLDS(drops == was_tcp[0] + was_tcp[1]) && HOLDS(!failed_links);
}

static void test_tries(void)
{
	tap_ok(random_programs(PROGRAMS, run_tries),
	       "RDMA is tried: all connections of a link begin, or all are made by TCP");
}

/* One connection is late by a nanosecond, or not. */
static void test_time(void)
{
	bool good = true;
	u32 late, i;

	random_begin(1);
	for (late = 0; late < 2; late++) {
		tries_new();
		for (i = 0; i < CONNS; i++)
			paths[0][i] = (struct path){ paths[0][i].conn, .drops_at = U64_MAX };
		paths[0][1].stands_at = 2000;
		kernel_ns = 1000 + late;
		for (i = 0; i < CONNS; i++)
			coll_conn_may_begin(&paths[0][i].conn, kernel_ns);
		good &= HOLDS(links[0].try_error == (late ? -ETIMEDOUT : 0));
	}
	tap_ok(good, "the time of a try ends after its last nanosecond");
}

/*
 * The way back
 */

static void test_fall_back(void)
{
	struct coll_net *net = &members[0].net;
	bool good = true;
	u32 n;

	random_begin(1);
	for (n = 0; n <= LANES; n++) {
		tries_new();
		assert(coll_link_cannot(&links[1], -ECONNREFUSED));
		begins = n;
		begin_error = -EADDRNOTAVAIL;
		coll_net_fall_back(net);
		/* The connection that could not be begun is named; the other link goes on. */
		good &= HOLDS(failed_links == 1) && HOLDS(failed_error == -EADDRNOTAVAIL) &&
			HOLDS(failed_bit == (n ? n - 1 : COLL_REFUSED_CONTROL)) &&
			HOLDS(links[0].tries && !links[1].tries && drops == 1);
	}
	/* A group that has failed makes no connections. */
	tries_new();
	members[0].state.aborted = -ECONNRESET;
	assert(coll_link_cannot(&links[0], -ECONNREFUSED));
	coll_net_fall_back(net);
	good &= HOLDS(drops == 1 && !links[0].nr_connecting && !failed_links);
	tap_ok(good, "a link that cannot be made by TCP either has failed");
}

static void test_lock(void)
{
	struct coll_net *net = &members[0].net;
	bool good;

	random_begin(1);
	tries_new();
	mutex_lock(&net->link_mutex);
	assert(coll_link_cannot(&links[0], -EIO));
	kicks = 0;
	coll_net_fall_back(net);
	good = HOLDS(net->falls_back && links[0].tries && !drops);
	coll_net_unlock_links(net);
	good = good && HOLDS(kicks == 1);
	coll_net_fall_back(net);
	good = good && HOLDS(!net->falls_back && drops == 1) && HOLDS(!net->link_mutex.held) &&
	       HOLDS(links[0].choice == COLLECTIVE_LINK_CHOICE_DEVICE_FAILED);
	kicks = 0;
	mutex_lock(&net->link_mutex);
	coll_net_unlock_links(net);
	good = good && HOLDS(!kicks);
	/* It is not looked at again, and a link that does not try has no other transport. */
	coll_net_fall_back(net);
	good = good && HOLDS(drops == 1) && HOLDS(!coll_link_cannot(&links[0], -EIO)) &&
	       HOLDS(!coll_link_cannot(&links[1], -ENOMEM)) &&
	       HOLDS(!coll_link_cannot(&links[1], -EDQUOT)) && HOLDS(!net->falls_back && !kicks) &&
	       HOLDS(links[1].tries && !links[1].try_error);
	tap_ok(good, "the control runner falls back when the lock of links is free");
}

int main(void)
{
	u32 i;

	for (i = 0; i <= HIGHER; i++)
		hub_wishes[i] = NO_WISH;
	tap_plan(0);
	test_pairs();
	test_choices();
	test_addresses();
	test_tries();
	test_time();
	test_fall_back();
	test_lock();
	return tap_exit();
}
