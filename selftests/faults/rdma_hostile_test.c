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
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "lib/group.h"
#include "kselftest_harness.h"

#define RDMA	COLLECTIVE_TRANSPORT_RDMA

/* Time in which a peer is refused, on a slow machine. */
#define BOUND_MS	5000

/* Time in which a peer has to introduce itself, with a heartbeat. */
#define HELLO_MS	(10000 + 1000)

/* As in kmod/transport/rdma/rdma.h; the Makefile reads COLL_RDMA_MAGIC there. */
enum kind { BYTES, CREDIT, END, REFERENCE, RETURN, UNKNOWN = 99 };

struct hello {
	__u32 magic;
	__u32 slot_bytes;
	__u16 credits;
	__u8 bulk;
	__u8 reads;
};

static const struct hello good = {
	.magic = COLL_RDMA_MAGIC,
	.slot_bytes = 512,
	.credits = 8,
};

struct head {
	__u16 credits;
	__u8 kind;
	__u8 zero[5];
};

/**
 * struct peer - a connection of the peer
 * @channel: events of the connection manager
 * @id: its identifier, with a queue pair
 * @mr: memory region of @memory
 * @memory: the message that is sent, and room for those that come
 */
struct peer {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	__u8 memory[32 * 1024];
};

#define SLOTS	16

/* The next event, or -1 if none comes in time. */
static int peer_event(struct peer *peer, unsigned int ms)
{
	struct pollfd poller = { .fd = peer->channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	int kind;

	if (poll(&poller, 1, ms) != 1 || rdma_get_cm_event(peer->channel, &event))
		return -1;
	kind = event->event;
	rdma_ack_cm_event(event);
	return kind;
}

static int peer_make_qp(struct peer *peer)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 64, .max_recv_wr = SLOTS, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	int i;

	if (rdma_create_qp(peer->id, NULL, &attr))
		return -errno;
	peer->mr = rdma_reg_msgs(peer->id, peer->memory, sizeof(peer->memory));
	if (!peer->mr)
		return -errno;
	for (i = 0; i < SLOTS; i++)
		if (rdma_post_recv(peer->id, NULL, peer->memory + 16384 + i * 512, 512, peer->mr))
			return -errno;
	return 0;
}

/* Return: the last event: RDMA_CM_EVENT_ESTABLISHED, or why there is no connection. */
static int peer_connect(struct peer *peer, const struct sockaddr_storage *addr, const void *data,
			size_t len)
{
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = len,
		.retry_count = 7,
	};
	int event;

	memset(peer, 0, sizeof(*peer));
	peer->channel = rdma_create_event_channel();
	if (!peer->channel ||
	    rdma_create_id(peer->channel, &peer->id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(peer->id, NULL, (struct sockaddr *)addr, BOUND_MS))
		return -1;
	event = peer_event(peer, BOUND_MS);
	if (event != RDMA_CM_EVENT_ADDR_RESOLVED || rdma_resolve_route(peer->id, BOUND_MS))
		return event;
	event = peer_event(peer, BOUND_MS);
	if (event != RDMA_CM_EVENT_ROUTE_RESOLVED || peer_make_qp(peer) ||
	    rdma_connect(peer->id, &param))
		return event;
	return peer_event(peer, BOUND_MS);
}

/* Nothing is done if it is closed. */
static void peer_close(struct peer *peer)
{
	if (peer->id && peer->id->qp) {
		rdma_disconnect(peer->id);
		rdma_destroy_qp(peer->id);
	}
	if (peer->mr)
		rdma_dereg_mr(peer->mr);
	if (peer->id)
		rdma_destroy_id(peer->id);
	if (peer->channel)
		rdma_destroy_event_channel(peer->channel);
	memset(peer, 0, sizeof(*peer));
}

static int peer_send(struct peer *peer, unsigned int kind, unsigned int credits, size_t len)
{
	const struct head head = { .credits = credits, .kind = kind };

	memcpy(peer->memory, &head, sizeof(head));
	return rdma_post_send(peer->id, NULL, peer->memory, len, peer->mr, 0) ? -errno : 0;
}

/* Has the other end ended the connection?  It may have done so before it knew that it stands. */
static bool peer_ended(struct peer *peer, unsigned int ms)
{
	int event = peer_event(peer, ms);

	return event == RDMA_CM_EVENT_DISCONNECTED || event == RDMA_CM_EVENT_REJECTED;
}

/* The rank that is called: the higher one of two. */
FIXTURE(rank) {
	int fd[2];
	char name[33];
	__u64 id;
	struct sockaddr_storage addr[2];
	struct peer peer;
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
	peer_close(&self->peer);
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
	const struct hello wrong[] = {
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
			  peer_connect(&self->peer, &self->addr[1], &wrong[i], sizeof(wrong[i])));
		peer_close(&self->peer);
	}
	EXPECT_EQ(RDMA_CM_EVENT_REJECTED,
		  peer_connect(&self->peer, &self->addr[1], &good, sizeof(good) - 4));
	peer_close(&self->peer);
	EXPECT_EQ(RDMA_CM_EVENT_REJECTED, peer_connect(&self->peer, &self->addr[1], NULL, 0));
}

TEST_F_TIMEOUT(rank, silence, 100)
{
	ASSERT_EQ(RDMA_CM_EVENT_ESTABLISHED,
		  peer_connect(&self->peer, &self->addr[1], &good, sizeof(good)));
	EXPECT_TRUE(peer_ended(&self->peer, HELLO_MS + BOUND_MS));
	EXPECT_TRUE(wait_refused(self->name, 1));
}

/* Of each, one message. */
static const struct {
	const char *what;
	enum kind kind;
	unsigned int credits;
	size_t len;
} messages[] = {
	{ "no credit is returned", CREDIT, 0, 8 },
	{ "a credit is returned for what was not sent", CREDIT, 1, 8 },
	{ "likewise", BYTES, 9, 16 },
	{ "all credits", CREDIT, 65535, 8 },
	{ "no such message", UNKNOWN, 0, 8 },
	{ "a reference by a control connection", REFERENCE, 0, 64 },
	{ "a reference to nothing", REFERENCE, 0, 8 },
	{ "nothing was referred to", RETURN, 0, 8 },
	{ "less than a head", BYTES, 0, 4 },
	{ "an empty message", BYTES, 0, 8 },
	{ "more than a slot", BYTES, 0, 1024 },
	{ "the end, at once", END, 0, 8 },
};

TEST_F_TIMEOUT(rank, message, 200)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(messages); i++) {
		ASSERT_EQ(RDMA_CM_EVENT_ESTABLISHED,
			  peer_connect(&self->peer, &self->addr[1], &good, sizeof(good)));
		ASSERT_EQ(0, peer_send(&self->peer, messages[i].kind, messages[i].credits,
				       messages[i].len));
		EXPECT_TRUE(peer_ended(&self->peer, BOUND_MS)) TH_LOG("%s", messages[i].what);
		EXPECT_TRUE(wait_refused(self->name, i + 1)) TH_LOG("%s", messages[i].what);
		peer_close(&self->peer);
	}
}

/* A peer that sends without end keeps no CPU, and is ended. */
TEST_F_TIMEOUT(rank, storm, 100)
{
	unsigned int i;

	ASSERT_EQ(RDMA_CM_EVENT_ESTABLISHED,
		  peer_connect(&self->peer, &self->addr[1], &good, sizeof(good)));
	for (i = 0; i < 60 && !peer_send(&self->peer, CREDIT, 0, 8); i++)
		;
	EXPECT_TRUE(peer_ended(&self->peer, BOUND_MS));
	EXPECT_TRUE(wait_refused(self->name, 1));
	peer_close(&self->peer);
	/* More messages than there are credits. */
	ASSERT_EQ(RDMA_CM_EVENT_ESTABLISHED,
		  peer_connect(&self->peer, &self->addr[1], &good, sizeof(good)));
	for (i = 0; i < 60 && !peer_send(&self->peer, BYTES, 0, 9); i++)
		;
	EXPECT_TRUE(peer_ended(&self->peer, BOUND_MS));
	EXPECT_TRUE(wait_refused(self->name, 2));
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
static int take_port(struct peer *peer, const char *name, __u64 id, struct sockaddr_storage *addr)
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

TEST_HARNESS_MAIN
