// SPDX-License-Identifier: GPL-2.0-only
/*
 * A peer by RDMA that does not keep to the protocol of messages, before it has introduced itself:
 * the rank that it calls ends the connection, and works on.  And a program that has the port of a
 * rank that joins.
 *
 * The peer is a program of librdmacm.  The machine has soft-RoCE: selftests/vm/run --rdma.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_cma.h>

#include "faults/rdma_peer.h"
#include "lib/group.h"
#include "lib/machine.h"
#include "kselftest_harness.h"
#include "lib/open_device.h"

#define RDMA	COLLECTIVE_TRANSPORT_RDMA

/* Time in which a peer is refused, on a slow machine. */
#define BOUND_MS	5000

/* Time in which a peer has to introduce itself, with a heartbeat. */
#define HELLO_MS	(10000 + 1000)

/* The rank that is called: the higher one of two. */
FIXTURE(rank) {
	int fd[2];
	char name[33];
	__u64 id;
	struct sockaddr_storage addr[2];
	struct rdma_peer peer;
};

FIXTURE_SETUP(rank)
{
	unsigned int i;

	if (!rdma_offered())
		SKIP(return, "no collective_rdma.ko");
	ASSERT_EQ(0, system("modprobe rdma_ucm"));
	group_unique(self->name, sizeof(self->name), &self->id);
	for (i = 0; i < 2; i++) {
		struct collective_join join = {
			.transport = RDMA,
			.rank = i,
			.nranks = 2,
			.id = self->id,
		};

		self->fd[i] = member_open();
		ASSERT_LE(0, self->fd[i]);
		ASSERT_EQ(0, member_join_as(self->fd[i], &join, self->name, &self->addr[i]));
	}
	fcntl(self->fd[1], F_SETFL, O_NONBLOCK);
	ASSERT_EQ(-EINPROGRESS, member_connect(self->fd[1], self->addr, 2, 60000));
}

/* The rank works on, and knows what it has refused. */
static int pair_works(const int *fd, const struct sockaddr_storage *addr)
{
	const struct collective_op barrier = { .opcode = COLLECTIVE_BARRIER };
	__u64 request;
	int err;

	CHECK_EQ(0, member_connect(fd[0], addr, 2, 20000));
	fcntl(fd[1], F_SETFL, 0);
	err = member_connect(fd[1], addr, 2, 20000);
	CHECK(!err || err == -EISCONN);
	CHECK_EQ(0, member_start(fd[0], &barrier, &request));
	CHECK_EQ(0, member_submit(fd[1], &barrier));
	CHECK_EQ(0, member_wait(fd[0], request, 0));
	return 0;
}

FIXTURE_TEARDOWN(rank)
{
	rdma_peer_close(&self->peer);
	EXPECT_EQ(0, pair_works(self->fd, self->addr));
	close(self->fd[0]);
	close(self->fd[1]);
}

static bool wait_refused(const char *name, long long count)
{
	const __u64 end = now_ms() + BOUND_MS;

	while (member_value(name, 1, "refused_connections") < count && now_ms() < end)
		sleep_ms(5);
	return member_value(name, 1, "refused_connections") == count;
}

/* What is wrong when it connects is rejected, and is no connection at all. */
TEST_F_TIMEOUT(rank, hello, 100)
{
	const struct rdma_hello wrong[] = {
		{ .magic = ~COLL_RDMA_MAGIC, .slot_bytes = 512, .credits = 8 },
		{ .magic = COLL_RDMA_MAGIC, .slot_bytes = 8, .credits = 8 },
		{ .magic = COLL_RDMA_MAGIC, .slot_bytes = 512, .credits = 1 },
		{ .magic = COLL_RDMA_MAGIC, .slot_bytes = 512, .credits = 8, .reads = 1 },
		{ .magic = COLL_RDMA_MAGIC, .slot_bytes = 512, .credits = 8, .bulk = 1,
		  .reads = 2 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		EXPECT_EQ(RDMA_CM_EVENT_REJECTED,
			  rdma_peer_connect(&self->peer, &self->addr[1], &wrong[i],
					    sizeof(wrong[i])));
		rdma_peer_close(&self->peer);
	}
	EXPECT_EQ(RDMA_CM_EVENT_REJECTED,
		  rdma_peer_connect(&self->peer, &self->addr[1], &rdma_hello_good,
				    sizeof(rdma_hello_good) - 4));
	rdma_peer_close(&self->peer);
	EXPECT_EQ(RDMA_CM_EVENT_REJECTED, rdma_peer_connect(&self->peer, &self->addr[1], NULL, 0));
	EXPECT_TRUE(wait_refused(self->name, ARRAY_SIZE(wrong) + 2));
}

static int call(struct rdma_peer *peer, const struct sockaddr_storage *addr)
{
	return rdma_peer_connect(peer, addr, &rdma_hello_good, sizeof(rdma_hello_good));
}

TEST_F_TIMEOUT(rank, silence, 100)
{
	ASSERT_EQ(RDMA_CM_EVENT_ESTABLISHED, call(&self->peer, &self->addr[1]));
	EXPECT_TRUE(rdma_peer_ended(&self->peer, HELLO_MS + BOUND_MS));
	EXPECT_TRUE(wait_refused(self->name, 1));
}

/* Of each, one message. */
static const struct {
	const char *what;
	enum rdma_kind kind;
	unsigned int credits;
	size_t len;
} messages[] = {
	{ "no credit is returned", RDMA_CREDIT, 0, 8 },
	{ "a credit is returned for what was not sent", RDMA_CREDIT, 1, 8 },
	{ "likewise", RDMA_BYTES, 9, 16 },
	{ "all credits", RDMA_CREDIT, 65535, 8 },
	{ "no such message", RDMA_UNKNOWN, 0, 8 },
	{ "a reference by a control connection", RDMA_REFERENCE, 0, 64 },
	{ "a reference to nothing", RDMA_REFERENCE, 0, 8 },
	{ "nothing was referred to", RDMA_RETURN, 0, 8 },
	{ "less than a head", RDMA_BYTES, 0, 4 },
	{ "an empty message", RDMA_BYTES, 0, 8 },
	{ "more than a slot", RDMA_BYTES, 0, 1024 },
	{ "the end, at once", RDMA_END, 0, 8 },
};

TEST_F_TIMEOUT(rank, message, 200)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(messages); i++) {
		ASSERT_EQ(RDMA_CM_EVENT_ESTABLISHED, call(&self->peer, &self->addr[1]));
		ASSERT_EQ(0, rdma_peer_send(&self->peer, messages[i].kind, messages[i].credits,
					    messages[i].len));
		EXPECT_TRUE(rdma_peer_ended(&self->peer, BOUND_MS)) TH_LOG("%s", messages[i].what);
		EXPECT_TRUE(wait_refused(self->name, i + 1)) TH_LOG("%s", messages[i].what);
		rdma_peer_close(&self->peer);
	}
}

/* A peer that sends without end keeps no CPU, and is ended. */
TEST_F_TIMEOUT(rank, storm, 100)
{
	unsigned int i;

	ASSERT_EQ(RDMA_CM_EVENT_ESTABLISHED, call(&self->peer, &self->addr[1]));
	for (i = 0; i < 60 && !rdma_peer_send(&self->peer, RDMA_CREDIT, 0, 8); i++)
		;
	EXPECT_TRUE(rdma_peer_ended(&self->peer, BOUND_MS));
	EXPECT_TRUE(wait_refused(self->name, 1));
	rdma_peer_close(&self->peer);
	/* More messages than there are credits, or no HELLO for a rank that takes them in time. */
	ASSERT_EQ(RDMA_CM_EVENT_ESTABLISHED, call(&self->peer, &self->addr[1]));
	for (i = 0; i < 60; i++)
		if (rdma_peer_send(&self->peer, RDMA_BYTES, 0, RDMA_PEER_SLOT))
			break;
	EXPECT_TRUE(rdma_peer_ended(&self->peer, BOUND_MS));
	EXPECT_TRUE(wait_refused(self->name, 2));
}

/* All ranks of a larger group, and the last one has not called CONNECT. */
#define CALLERS		100

static struct rdma_peer callers[CALLERS];

FIXTURE(late) {
	int fd;
	struct sockaddr_storage addr;
};

FIXTURE_SETUP(late)
{
	struct collective_join join = {
		.transport = RDMA,
		.rank = CALLERS,
		.nranks = CALLERS + 1,
		.lanes = 1,
	};
	char name[33];

	if (!rdma_offered())
		SKIP(return, "no collective_rdma.ko");
	ASSERT_EQ(0, system("modprobe rdma_ucm"));
	group_unique(name, sizeof(name), &join.id);
	self->fd = member_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, member_join_as(self->fd, &join, name, &self->addr));
}

FIXTURE_TEARDOWN(late)
{
	unsigned int i;

	for (i = 0; i < CALLERS; i++)
		rdma_peer_close(&callers[i]);
	close(self->fd);
}

/* None of them is refused. */
TEST_F_TIMEOUT(late, keeps_calls, 100)
{
	unsigned int i;

	for (i = 0; i < CALLERS; i++)
		ASSERT_EQ(0, rdma_peer_call(&callers[i], &self->addr, &rdma_hello_good,
					    sizeof(rdma_hello_good)));
	sleep_ms(1000);
	for (i = 0; i < CALLERS; i++)
		EXPECT_NE(RDMA_CM_EVENT_REJECTED, rdma_peer_event(&callers[i], 0));
}

static int join_alone(int fd, const char *name, __u64 id, unsigned int transport,
		      struct sockaddr_storage *addr)
{
	struct collective_join join = {
		.size = sizeof(join),
		.transport = transport,
		.nranks = 1,
		.id = id,
		.addr_len = sizeof(*addr),
	};
	int err;

	memcpy(join.name, name, strlen(name));
	memcpy(join.addr, addr, sizeof(*addr));
	err = member_ioctl(fd, COLLECTIVE_IOC_JOIN, &join);
	memcpy(addr, join.addr, sizeof(*addr));
	return err;
}

/* Have a port that only a listener by RDMA uses.  Return: 0 or 1. */
static int take_port(struct rdma_peer *peer, const char *name, __u64 id,
		     struct sockaddr_storage *addr)
{
	__u64 end = now_ms() + BOUND_MS;
	int fd = member_open();

	own_address(addr, AF_INET, RDMA);
	CHECK_EQ(0, join_alone(fd, name, id, RDMA, addr));
	close(fd);
	memset(peer, 0, sizeof(*peer));
	peer->channel = rdma_create_event_channel();
	CHECK(peer->channel);
	CHECK_EQ(0, rdma_create_id(peer->channel, &peer->id, NULL, RDMA_PS_TCP));
	while (rdma_bind_addr(peer->id, (struct sockaddr *)addr)) {
		CHECK(now_ms() < end);
		sleep_ms(10);
	}
	CHECK_EQ(0, rdma_listen(peer->id, 1));
	return 0;
}

/* A rank that has chosen AUTO does without RDMA then. */
TEST_F_TIMEOUT(rank, port_taken, 100)
{
	struct sockaddr_storage addr;
	char name[33];
	__u32 offers;
	__u64 id;
	int fd;

	group_unique(name, sizeof(name), &id);
	ASSERT_EQ(0, take_port(&self->peer, name, id, &addr));
	fd = member_open();
	EXPECT_EQ(0, join_alone(fd, name, id, COLLECTIVE_TRANSPORT_AUTO, &addr));
	memcpy(&offers, (char *)&addr + COLLECTIVE_ADDR_OFFERS, sizeof(offers));
	EXPECT_NE(COLLECTIVE_OFFERS_RDMA, offers);
	close(fd);
}

/* Callers that do not know the secret, by RDMA: more than a rank has places. */
#define CROWD		128
/* Calls before a rank connects, time for them, and time in which it connects. */
#define CROWD_FIRST	80
#define CROWD_MS	20000
#define CROWD_BOUND_MS	8000

static struct rdma_peer crowd_peers[CROWD];

FIXTURE(crowd) {
	char name[33];
	__u64 id;
	int fd[2];
	struct sockaddr_storage addr[2];
	bool stop;
	unsigned int calls;
};

FIXTURE_VARIANT(crowd) {
	unsigned int caller;
};

FIXTURE_VARIANT_ADD(crowd, tcp) { .caller = COLLECTIVE_TRANSPORT_TCP };
FIXTURE_VARIANT_ADD(crowd, rdma) { .caller = RDMA };
FIXTURE_VARIANT_ADD(crowd, choice) { .caller = COLLECTIVE_TRANSPORT_AUTO };

/* With a secret, at the address of the device. */
static int join_with_secret(FIXTURE_DATA(crowd) *self, unsigned int rank, unsigned int transport)
{
	struct collective_join join;

	join_valid(&join, self->name, self->id);
	join.transport = transport;
	join.rank = rank;
	join.nranks = 2;
	memset(join.secret, 7, sizeof(join.secret));
	own_address((struct sockaddr_storage *)join.addr, AF_INET, RDMA);
	join.addr_len = sizeof(self->addr[rank]);
	CHECK_EQ(0, member_ioctl(self->fd[rank], COLLECTIVE_IOC_JOIN, &join));
	memcpy(&self->addr[rank], join.addr, sizeof(self->addr[rank]));
	return 0;
}

FIXTURE_SETUP(crowd)
{
	/* Two ranks of one kernel that have chosen AUTO would have a local link. */
	unsigned int called = variant->caller == COLLECTIVE_TRANSPORT_AUTO ?
			      RDMA : COLLECTIVE_TRANSPORT_AUTO;
	unsigned int i;

	if (!rdma_offered())
		SKIP(return, "no collective_rdma.ko");
	ASSERT_EQ(0, system("modprobe rdma_ucm"));
	group_unique(self->name, sizeof(self->name), &self->id);
	for (i = 0; i < 2; i++) {
		self->fd[i] = member_open();
		ASSERT_LE(0, self->fd[i]);
		ASSERT_EQ(0, join_with_secret(self, i, i ? called : variant->caller));
	}
	fcntl(self->fd[1], F_SETFL, O_NONBLOCK);
	ASSERT_EQ(-EINPROGRESS, member_connect(self->fd[1], self->addr, 2, 90000));
}

FIXTURE_TEARDOWN(crowd)
{
	close(self->fd[0]);
	close(self->fd[1]);
}

/* Callers say nothing, and call again when they have lost their place. */
static void *crowd_run(void *arg)
{
	FIXTURE_DATA(crowd) *self = arg;
	unsigned int i;
	int event;

	while (!__atomic_load_n(&self->stop, __ATOMIC_RELAXED)) {
		for (i = 0; i < CROWD && !__atomic_load_n(&self->stop, __ATOMIC_RELAXED); i++) {
			event = crowd_peers[i].channel ? rdma_peer_event(&crowd_peers[i], 0) :
							 RDMA_CM_EVENT_DISCONNECTED;
			if (event < 0 || event == RDMA_CM_EVENT_ESTABLISHED)
				continue;
			rdma_peer_close(&crowd_peers[i]);
			rdma_peer_call(&crowd_peers[i], &self->addr[1], &rdma_hello_good,
				       sizeof(rdma_hello_good));
			__atomic_add_fetch(&self->calls, 1, __ATOMIC_RELAXED);
		}
		sleep_ms(1);
	}
	for (i = 0; i < CROWD; i++)
		rdma_peer_close(&crowd_peers[i]);
	return NULL;
}

TEST_F_TIMEOUT(crowd, connects, 150)
{
	__u64 begin = now_ms();
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, crowd_run, self));
	while (__atomic_load_n(&self->calls, __ATOMIC_RELAXED) < CROWD_FIRST &&
	       now_ms() < begin + CROWD_MS)
		sleep_ms(10);
	begin = now_ms();
	EXPECT_EQ(0, member_connect(self->fd[0], self->addr, 2, 40000));
	EXPECT_GE(enough_ms(CROWD_BOUND_MS), now_ms() - begin);
	TH_LOG("connected after %llu ms", (unsigned long long)(now_ms() - begin));
	EXPECT_EQ(0, members_await_up(self->fd, 2));
	EXPECT_LE(1, member_value(self->name, 1, "refused_connections"));
	__atomic_store_n(&self->stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	TH_LOG("%u calls", self->calls);
}

TEST_HARNESS_MAIN
