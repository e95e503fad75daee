// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a peer says twice: in the HELLO, by what a connection is made with (RDMA), and by the other
 * connections of its link.  All combinations are tried.  Those that contradict each other are
 * refused, and the rank lives on when their connections send more, and end.
 *
 * Tests of RDMA need soft-RoCE: selftests/vm/run --rdma.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "core/wire/wire.h"
#include "faults/rdma_peer.h"
#include "lib/any_transport.h"
#include "lib/group.h"
#include "lib/hello_auth.h"
#include "lib/raw_peer.h"
#include "kselftest_harness.h"

#define RDMA	COLLECTIVE_TRANSPORT_RDMA
#define AUTO	COLLECTIVE_TRANSPORT_AUTO
#define TCP	COLLECTIVE_TRANSPORT_TCP

#define LANES	2

/* Time in which something comes, on a slow machine. */
#define BOUND_MS	10000

/* Instead of the errno of an answer. */
#define NO_ANSWER	-1

static const __u8 secret[COLLECTIVE_SECRET_SIZE] = { 3, 1, 4, 1, 5 };

/**
 * struct called - a rank, number 1 of two, and the calls that it gets
 * @fd: its file
 * @name: name of the group
 * @call: what is right in a call
 * @addr: its address
 * @refused: calls that it has refused so far
 * @taken: true for each connection that it has: control, and data by lane
 */
struct called {
	int fd;
	char name[33];
	struct raw_peer_config call;
	struct sockaddr_storage addr;
	long long refused;
	bool taken[1 + LANES];
};

static int join(int fd, struct called *c, unsigned int rank, unsigned int transport,
		const __u8 *key, struct sockaddr_storage *addr)
{
	struct collective_join join = {
		.size = sizeof(join),
		.transport = transport,
		.rank = rank,
		.nranks = 2,
		.lanes = LANES,
		.id = c->call.id,
		.addr_len = sizeof(*addr),
	};
	int err;

	memcpy(join.name, c->name, strlen(c->name));
	memcpy(join.addr, addr, sizeof(*addr));
	if (key)
		memcpy(join.secret, key, sizeof(join.secret));
	err = member_ioctl(fd, COLLECTIVE_IOC_JOIN, &join);
	memcpy(addr, join.addr, sizeof(*addr));
	return err;
}

static int called_begins(struct called *c, unsigned int transport, const __u8 *key)
{
	struct collective_query query = { .size = sizeof(query) };

	memset(c, 0, sizeof(*c));
	group_unique(c->name, sizeof(c->name), &c->call.id);
	c->fd = member_open();
	CHECK(c->fd >= 0);
	CHECK_EQ(0, member_ioctl(c->fd, COLLECTIVE_IOC_QUERY, &query));
	own_address(&c->addr, AF_INET, transport == TCP ? TCP : RDMA);
	CHECK_EQ(0, join(c->fd, c, 1, transport, key, &c->addr));
	c->call.addr = &c->addr;
	c->call.name = c->name;
	c->call.to = 1;
	c->call.nranks = 2;
	c->call.lanes = LANES;
	c->call.inflight = query.inflight_max;
	c->call.secret = key;
	return 0;
}

static bool wait_refused(const struct called *c)
{
	const __u64 end = now_ms() + BOUND_MS;

	while (member_value(c->name, 1, "refused_connections") < c->refused && now_ms() < end)
		sleep_ms(5);
	return member_value(c->name, 1, "refused_connections") == c->refused;
}

/* What a call is to be answered, if it comes in this state: 0, an errno, or NO_ANSWER. */
static int take(struct called *c, __u8 kind, __u32 lane, int otherwise)
{
	unsigned int which = kind == COLL_CONN_DATA ? 1 + lane : 0;
	int want = otherwise;

	if (kind == COLL_CONN_CONTROL && lane)
		want = NO_ANSWER;
	else if (c->taken[which])
		want = EBUSY;
	if (!want)
		c->taken[which] = true;
	else
		c->refused++;
	return want;
}

/* Call by TCP.  Return: 0, or NO_ANSWER; *@fd is the connection. */
static int ask_tcp(const struct called *c, const __u8 *hello, __u8 *answer, int *fd)
{
	const struct timeval wait = { .tv_sec = BOUND_MS / 1000 };

	*fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(*fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	if (connect(*fd, (const struct sockaddr *)&c->addr, sizeof(struct sockaddr_in)) ||
	    send(*fd, hello, COLL_HELLO_SIZE, MSG_NOSIGNAL) != COLL_HELLO_SIZE ||
	    recv(*fd, answer, COLL_HELLO_SIZE, MSG_WAITALL) != COLL_HELLO_SIZE)
		return NO_ANSWER;
	return 0;
}

/* The same.  Return: what the answer says, or NO_ANSWER. */
static int call_tcp(const struct called *c, const __u8 *hello, int *fd)
{
	__u8 answer[COLL_HELLO_SIZE];
	struct coll_hello heard;

	if (ask_tcp(c, hello, answer, fd) || coll_wire_get_hello(answer, &heard))
		return NO_ANSWER;
	return heard.error;
}

FIXTURE(tcp) {
	struct called c;
	int fd[2 * 3 + 1];
};

FIXTURE_SETUP(tcp)
{
	ASSERT_EQ(0, called_begins(&self->c, TCP, NULL));
}

FIXTURE_TEARDOWN(tcp)
{
	close(self->c.fd);
}

/* A control connection has no lane, a call no error, and each connection is made once. */
TEST_F(tcp, calls)
{
	__u8 hello[COLL_HELLO_SIZE];
	unsigned int i;

	for (i = 0; i < 2 * 3; i++) {
		__u8 kind = i % 3 ? COLL_CONN_DATA : COLL_CONN_CONTROL;
		__u32 lane = i % 3 == 2;

		raw_peer_hello(&self->c.call, kind, lane, hello);
		EXPECT_EQ(take(&self->c, kind, lane, 0),
			  call_tcp(&self->c, hello, &self->fd[i])) TH_LOG("%u %u", kind, lane);
	}
	raw_peer_hello(&self->c.call, COLL_CONN_CONTROL, 1, hello);
	EXPECT_EQ(take(&self->c, COLL_CONN_CONTROL, 1, 0), call_tcp(&self->c, hello, &self->fd[i]));
	close(self->fd[i]);
	EXPECT_TRUE(wait_refused(&self->c));
	while (i)
		close(self->fd[--i]);
}

TEST_F(tcp, call_with_error)
{
	__u8 hello[COLL_HELLO_SIZE];

	raw_peer_hello(&self->c.call, COLL_CONN_CONTROL, 0, hello);
	hello[HELLO_ERROR] = EACCES;
	EXPECT_EQ(NO_ANSWER, call_tcp(&self->c, hello, &self->fd[0]));
	self->c.refused = 1;
	EXPECT_TRUE(wait_refused(&self->c));
	close(self->fd[0]);
}

/* A call of another version is answered with the version of this side. */
TEST_F(tcp, call_of_another_version)
{
	__u8 hello[COLL_HELLO_SIZE], answer[COLL_HELLO_SIZE];
	__u32 error;

	raw_peer_hello(&self->c.call, COLL_CONN_CONTROL, 0, hello);
	hello[HELLO_VERSION]++;
	memset(hello + HELLO_ID, 0xff, sizeof(hello) - HELLO_ID);
	ASSERT_EQ(0, ask_tcp(&self->c, hello, answer, &self->fd[0]));
	memcpy(&error, answer + HELLO_ERROR, sizeof(error));
	EXPECT_EQ(EPROTONOSUPPORT, error);
	EXPECT_EQ(COLL_WIRE_VERSION, coll_wire_hello_version(answer));
	EXPECT_EQ(1, answer[HELLO_STAGE]);
	self->c.refused = 1;
	EXPECT_TRUE(wait_refused(&self->c));
	close(self->fd[0]);
}

/* A peer that is called repeats in its answer what the call says, or is no rank of the group. */
FIXTURE(answer) {
	struct called c;
	int listener;
	int fd[1 + LANES];
	struct sockaddr_storage addr[2];
};

/* @kind: that of the connections whose answer is wrong */
FIXTURE_VARIANT(answer) {
	unsigned int at;
	__u8 kind;
	int err;
};

FIXTURE_VARIANT_ADD(answer, correct) { .at = 192, .kind = COLL_CONN_CONTROL };
FIXTURE_VARIANT_ADD(answer, version) { 4, COLL_CONN_CONTROL, -EPROTONOSUPPORT };
FIXTURE_VARIANT_ADD(answer, control_is_data) { 7, COLL_CONN_CONTROL, -EPROTO };
FIXTURE_VARIANT_ADD(answer, data_is_control) { 7, COLL_CONN_DATA, -EPROTO };
FIXTURE_VARIANT_ADD(answer, lane_of_control) { 8, COLL_CONN_CONTROL, -EPROTO };
FIXTURE_VARIANT_ADD(answer, other_lane) { 8, COLL_CONN_DATA, -EPROTO };
FIXTURE_VARIANT_ADD(answer, secured) { 9, COLL_CONN_DATA, -EPROTO };
FIXTURE_VARIANT_ADD(answer, id) { 16, COLL_CONN_DATA, -EPROTO };
FIXTURE_VARIANT_ADD(answer, name) { 24, COLL_CONN_DATA, -EPROTO };
FIXTURE_VARIANT_ADD(answer, from) { 64, COLL_CONN_DATA, -EPROTO };
FIXTURE_VARIANT_ADD(answer, to) { 68, COLL_CONN_DATA, -EPROTO };
FIXTURE_VARIANT_ADD(answer, nranks) { 72, COLL_CONN_DATA, -EPROTO };
FIXTURE_VARIANT_ADD(answer, lanes) { 76, COLL_CONN_DATA, -EPROTO };
FIXTURE_VARIANT_ADD(answer, inflight) { 80, COLL_CONN_CONTROL, -EPROTO };

FIXTURE_SETUP(answer)
{
	socklen_t len = sizeof(struct sockaddr_in);

	memset(&self->c, 0, sizeof(self->c));
	group_unique(self->c.name, sizeof(self->c.name), &self->c.call.id);
	own_address(&self->addr[0], AF_INET, TCP);
	own_address(&self->addr[1], AF_INET, TCP);
	self->c.fd = member_open();
	ASSERT_LE(0, self->c.fd);
	ASSERT_EQ(0, join(self->c.fd, &self->c, 0, TCP, NULL, &self->addr[0]));
	self->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ASSERT_EQ(0, bind(self->listener, (struct sockaddr *)&self->addr[1], len));
	ASSERT_EQ(0, listen(self->listener, 64));
	ASSERT_EQ(0, getsockname(self->listener, (struct sockaddr *)&self->addr[1], &len));
	fcntl(self->c.fd, F_SETFL, O_NONBLOCK);
	ASSERT_EQ(-EINPROGRESS, member_connect(self->c.fd, self->addr, 2, BOUND_MS));
}

FIXTURE_TEARDOWN(answer)
{
	unsigned int i;

	close(self->c.fd);
	close(self->listener);
	for (i = 0; i < 1 + LANES; i++)
		close(self->fd[i]);
}

/* Answer a call.  The rank may have given up already. */
static void answer(int fd, __u8 kind, unsigned int at)
{
	__u8 said[COLL_HELLO_SIZE], from[4];

	if (recv(fd, said, sizeof(said), MSG_WAITALL) != sizeof(said))
		return;
	said[HELLO_STAGE] = 1;
	memcpy(from, said + 64, sizeof(from));
	memcpy(said + 64, said + 68, sizeof(from));
	memcpy(said + 68, from, sizeof(from));
	if (at < sizeof(said) && said[7] == kind)
		said[at] ^= 1;
	send(fd, said, sizeof(said), MSG_NOSIGNAL);
}

TEST_F_TIMEOUT(answer, is_judged, 60)
{
	unsigned int i;

	for (i = 0; i < 1 + LANES; i++) {
		self->fd[i] = accept(self->listener, NULL, NULL);
		ASSERT_LE(0, self->fd[i]);
		answer(self->fd[i], variant->kind, variant->at);
	}
	fcntl(self->c.fd, F_SETFL, 0);
	i = -member_connect(self->c.fd, self->addr, 2, BOUND_MS);
	/* The first thread to connect may have brought it up. */
	EXPECT_EQ(-variant->err, i == EISCONN ? 0 : (int)i);
}

/* Calls by RDMA. */
FIXTURE(rdma) {
	struct called c;
	struct rdma_peer peer[1 + LANES];
	struct rdma_peer wrong;
	int fd;
};

FIXTURE_VARIANT(rdma) {
	const __u8 *secret;
};

FIXTURE_VARIANT_ADD(rdma, open) { NULL };
FIXTURE_VARIANT_ADD(rdma, secret) { secret };

FIXTURE_SETUP(rdma)
{
	if (!rdma_offered())
		SKIP(return, "no collective_rdma.ko");
	ASSERT_EQ(0, system("modprobe rdma_ucm"));
	self->fd = -1;
}

FIXTURE_TEARDOWN(rdma)
{
	unsigned int i;

	for (i = 0; i < 1 + LANES; i++)
		rdma_peer_close(&self->peer[i]);
	rdma_peer_close(&self->wrong);
	rdma_peer_depth = RDMA_PEER_READS;
	close(self->fd);
	close(self->c.fd);
}

/* Introduce the caller.  Return: what the answer says, or NO_ANSWER; @end: that is expected. */
static int introduce(const struct called *c, struct rdma_peer *peer, __u8 kind, __u32 lane,
		     bool end)
{
	__u8 hello[COLL_HELLO_SIZE], answer[COLL_HELLO_SIZE], confirm[COLL_HELLO_SIZE];
	struct coll_hello heard;

	raw_peer_hello(&c->call, kind, lane, hello);
	if (rdma_peer_send_bytes(peer, RDMA_BYTES, hello, sizeof(hello)))
		return -EIO;
	if (end && !rdma_peer_ended(peer, BOUND_MS))
		return -ETIMEDOUT;
	if (rdma_peer_receive(peer, answer, sizeof(answer), end ? 0 : BOUND_MS) ||
	    coll_wire_get_hello(answer, &heard))
		return NO_ANSWER;
	if (heard.error || !c->call.secret)
		return heard.error;
	hello_confirm(hello, answer, c->call.secret, confirm);
	return rdma_peer_send_bytes(peer, RDMA_BYTES, confirm, sizeof(confirm));
}

static const struct rdma_hello *rdma_says(__u8 bulk, __u8 reads)
{
	static struct rdma_hello hello;

	hello = rdma_hello_good;
	hello.bulk = bulk;
	hello.reads = reads;
	return &hello;
}

static bool rdma_fits(__u8 bulk, __u8 kind)
{
	return bulk == (kind == COLL_CONN_DATA);
}

/* Send one byte of a frame, and be gone, as a caller that was taken for what it is not. */
static void send_and_end(struct rdma_peer *peer)
{
	rdma_peer_send_bytes(peer, RDMA_BYTES, "\xda", 1);
	sleep_ms(50);
	rdma_peer_close(peer);
}

/* One combination.  @wrong: for the call if it is to be refused.  Return: 0 or 1. */
static int combine(struct called *c, struct rdma_peer *peers, struct rdma_peer *wrong, __u8 bulk,
		   __u8 reads, __u8 kind, __u32 lane)
{
	const bool rejected = reads > bulk;
	const int want = rejected ? 0 : take(c, kind, lane, rdma_fits(bulk, kind) ? 0 : EPROTO);
	struct rdma_peer *peer = want || rejected ? wrong :
				 &peers[kind == COLL_CONN_DATA ? 1 + lane : 0];

	c->refused += rejected;

	CHECK_EQ(rejected ? RDMA_CM_EVENT_REJECTED : RDMA_CM_EVENT_ESTABLISHED,
		 rdma_peer_connect(peer, &c->addr, rdma_says(bulk, reads),
				   sizeof(struct rdma_hello)));
	if (!rejected) {
		/* A secret is proved before a call is refused, and the proof has no answer. */
		CHECK_EQ(want > 0 && c->call.secret ? 0 : want,
			 introduce(c, peer, kind, lane, want == NO_ANSWER));
		if (!want)
			return 0;
		send_and_end(peer);
	}
	rdma_peer_close(peer);
	CHECK(wait_refused(c));
	return 0;
}

/* First those that contradict themselves, and then all; those that are right come twice. */
TEST_F_TIMEOUT(rdma, all_combinations, 200)
{
	unsigned int i, all;

	ASSERT_EQ(0, called_begins(&self->c, RDMA, variant->secret));
	for (all = 0; all < 2; all++) {
		for (i = 0; i < 16; i++) {
			const __u8 bulk = i & 1, reads = i >> 1 & 1, kind = i >> 2 & 1;

			if (!all && rdma_fits(bulk, kind))
				continue;
			ASSERT_EQ(0, combine(&self->c, self->peer, &self->wrong, bulk, reads, kind,
					     i >> 3)) TH_LOG("combination %#x", i);
		}
	}
	for (i = 0; i < 1 + LANES; i++)
		EXPECT_TRUE(self->c.taken[i]);
}

/* The caller reads, and lets its device have no read in progress. */
TEST_F_TIMEOUT(rdma, reads_of_no_depth, 100)
{
	ASSERT_EQ(0, called_begins(&self->c, RDMA, variant->secret));
	rdma_peer_depth = 0;
	EXPECT_EQ(RDMA_CM_EVENT_REJECTED,
		  rdma_peer_connect(&self->wrong, &self->c.addr, rdma_says(1, 1),
				    sizeof(struct rdma_hello)));
	rdma_peer_close(&self->wrong);
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED,
		  rdma_peer_connect(&self->wrong, &self->c.addr, rdma_says(1, 0),
				    sizeof(struct rdma_hello)));
}

static int connect_rdma(const struct called *c, struct rdma_peer *peer, __u8 kind)
{
	const bool bulk = kind == COLL_CONN_DATA;

	CHECK_EQ(RDMA_CM_EVENT_ESTABLISHED,
		 rdma_peer_connect(peer, &c->addr, rdma_says(bulk, bulk),
				   sizeof(struct rdma_hello)));
	return introduce(c, peer, kind, 0, false);
}

/* A rank that takes calls by both has all connections of a link by that of the first one. */
TEST_F_TIMEOUT(rdma, tcp_after_rdma, 100)
{
	__u8 hello[COLL_HELLO_SIZE];

	if (variant->secret)
		SKIP(return, "the answer comes before the refusal then");
	ASSERT_EQ(0, called_begins(&self->c, AUTO, NULL));
	ASSERT_EQ(0, connect_rdma(&self->c, &self->peer[0], COLL_CONN_CONTROL));
	raw_peer_hello(&self->c.call, COLL_CONN_DATA, 0, hello);
	EXPECT_EQ(EPROTO, call_tcp(&self->c, hello, &self->fd));
	self->c.refused = 1;
	EXPECT_TRUE(wait_refused(&self->c));
	EXPECT_EQ(0, connect_rdma(&self->c, &self->peer[1], COLL_CONN_DATA));
}

TEST_F_TIMEOUT(rdma, rdma_after_tcp, 100)
{
	__u8 hello[COLL_HELLO_SIZE];

	if (variant->secret)
		SKIP(return, "the answer comes before the refusal then");
	ASSERT_EQ(0, called_begins(&self->c, AUTO, NULL));
	raw_peer_hello(&self->c.call, COLL_CONN_DATA, 1, hello);
	ASSERT_EQ(0, call_tcp(&self->c, hello, &self->fd));
	EXPECT_EQ(EPROTO, connect_rdma(&self->c, &self->wrong, COLL_CONN_DATA));
	self->c.refused = 1;
	EXPECT_TRUE(wait_refused(&self->c));
	rdma_peer_close(&self->wrong);
	EXPECT_EQ(EPROTO, connect_rdma(&self->c, &self->wrong, COLL_CONN_CONTROL));
}

TEST_HARNESS_MAIN
