// SPDX-License-Identifier: GPL-2.0-only
/*
 * A rank whose peers are made of sockets: rank 1 of two, or rank 2 of three. A peer leaves, sends
 * wrong frames, or keeps memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>

#include "core/wire/wire.h"
#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/memory.h"
#include "lib/raw_peer.h"
#include "lib/tcp_only.h"

#define RAW_PEERS_MAX	2

/* Make @name a group of @n raw peers and, as its last rank, a member. Return: its file, or -1. */
static int peers_make(char *name, size_t size, struct raw_peer *peer, unsigned int n)
{
	struct collective_query query = { .size = sizeof(query) };
	struct sockaddr_storage addr[RAW_PEERS_MAX + 1];
	struct raw_peer_config call = { .addr = &addr[n], .name = name, .to = n, .nranks = n + 1 };
	struct pollfd poll_fd;
	int fd = member_open();

	group_unique(name, size, &call.id);
	if (fd < 0 || member_ioctl(fd, COLLECTIVE_IOC_QUERY, &query))
		return -1;
	call.inflight = query.inflight_max;
	while (call.from < n)
		loopback(&addr[call.from++], AF_INET);
	if (member_join(fd, name, call.id, n, n + 1, &addr[n]))
		return -1;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	if (member_connect(fd, addr, n + 1, 10000) != -EINPROGRESS)
		return -1;
	for (call.from = 0; call.from < n; call.from++)
		if (raw_peer_connect(&peer[call.from], &call))
			return -1;
	poll_fd = (struct pollfd){ .fd = fd, .events = POLLOUT };
	return poll(&poll_fd, 1, 10000) == 1 && poll_fd.revents == POLLOUT ? fd : -1;
}

FIXTURE(raw_peer) {
	int fd;
	char name[33];
	struct raw_peer peer;
};

FIXTURE_SETUP(raw_peer)
{
	self->fd = peers_make(self->name, sizeof(self->name), &self->peer, 1);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(raw_peer)
{
	raw_peer_close(&self->peer);
	close(self->fd);
}

/* Within this time a peer is not taken for silent: that is six heartbeat periods of a second. */
#define AT_ONCE_MS	4000

/* The peer left, and its host failed before it could close the connections. */
TEST_F(raw_peer, leave_and_vanish)
{
	struct collective_status status;
	__u64 begin = now_ms();

	ASSERT_EQ(0, raw_peer_leave(&self->peer));
	EXPECT_EQ(-ECONNRESET, member_barrier(self->fd));
	/* Six heartbeat periods, not the five minutes of a leave without a heartbeat. */
	EXPECT_GT(15000, now_ms() - begin);
	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(COLLECTIVE_STATE_ABORTED, status.state);
	EXPECT_EQ(COLLECTIVE_REASON_LEFT, status.group.kind);
	EXPECT_EQ(0, status.group.rank_a);
}

/* Nothing is expected but the announcement of a call. */
TEST_F(raw_peer, leave_without_a_call)
{
	const struct collective_op op = { .opcode = COLLECTIVE_BROADCAST, .root = 1 };
	struct collective_status status;
	__u64 begin = now_ms();

	ASSERT_EQ(0, raw_peer_leave(&self->peer));
	EXPECT_EQ(-ECONNRESET, member_submit(self->fd, &op));
	EXPECT_GT(AT_ONCE_MS, now_ms() - begin);
	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(COLLECTIVE_REASON_LEFT, status.group.kind);
	EXPECT_EQ(0, status.group.rank_a);
}

static void *leave_soon(void *arg)
{
	sleep_ms(100);
	return (void *)(intptr_t)raw_peer_leave(arg);
}

TEST_F(raw_peer, leave_during_a_call)
{
	const struct collective_op op = { .opcode = COLLECTIVE_BROADCAST, .root = 1 };
	struct collective_status status;
	__u64 begin = now_ms();
	pthread_t thread;
	void *left;

	ASSERT_EQ(0, pthread_create(&thread, NULL, leave_soon, &self->peer));
	EXPECT_EQ(-ECONNRESET, member_submit(self->fd, &op));
	EXPECT_GT(AT_ONCE_MS, now_ms() - begin);
	pthread_join(thread, &left);
	EXPECT_EQ(NULL, left);
	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(COLLECTIVE_REASON_LEFT, status.group.kind);
	EXPECT_EQ(0, status.group.rank_a);
}

/* The announcement claims more ranks than the group has. */
TEST_F(raw_peer, speaks_for_too_many)
{
	struct collective_status status;

	ASSERT_EQ(0, raw_peer_announce(&self->peer, 1));
	EXPECT_EQ(-EPROTO, member_barrier(self->fd));
	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(COLLECTIVE_REASON_PROTOCOL, status.group.kind);
	EXPECT_EQ(0, status.group.rank_a);
}

#define CREDIT_KIB	128
#define FIRST_KIB	2
#define STREAM_KIB	8
#define SPACE_KIB	(STREAM_KIB + CREDIT_KIB + CREDIT_KIB / 8)

/* The peer gets credit as often as it asks, and no more than there may be. */
TEST_F(raw_peer, asks_for_credit)
{
	long long before = member_value(self->name, 1, "memory_bytes");
	__u64 position = 0, last;
	int answer = 1, n = 0;

	while (answer == 1 && n++ < 10) {
		last = position;
		ASSERT_EQ(0, raw_peer_blocked(&self->peer, position, 1));
		answer = raw_peer_wait_credit(&self->peer, &position);
		EXPECT_LT(last, position);
	}
	/* COLL_CREDIT_MOST */
	EXPECT_EQ(3, answer);
	EXPECT_EQ((CREDIT_KIB - FIRST_KIB) * 1024, position);
	for (n = 0; n < 5; n++) {
		ASSERT_EQ(0, raw_peer_blocked(&self->peer, position, 1));
		EXPECT_EQ(3, raw_peer_wait_credit(&self->peer, &last));
		EXPECT_EQ(position, last);
	}
	EXPECT_GE(before + SPACE_KIB * 1024, member_value(self->name, 1, "memory_bytes"));
}

/* The peer does not wait for the answers. */
TEST_F(raw_peer, asks_again)
{
	struct collective_status status;

	ASSERT_EQ(0, raw_peer_blocked(&self->peer, 0, 500));
	EXPECT_EQ(-EPROTO, member_barrier(self->fd));
	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(COLLECTIVE_REASON_PROTOCOL, status.group.kind);
	EXPECT_EQ(0, status.group.rank_a);
}

TEST_F(raw_peer, asks_for_too_much)
{
	struct collective_status status;

	ASSERT_EQ(0, raw_peer_blocked(&self->peer, ~0ULL, 1));
	EXPECT_EQ(-EPROTO, member_barrier(self->fd));
	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(COLLECTIVE_REASON_PROTOCOL, status.group.kind);
	EXPECT_EQ(0, status.group.rank_a);
}

TEST_F(raw_peer, answers_unasked)
{
	struct collective_status status;

	ASSERT_EQ(0, raw_peer_answer(&self->peer));
	EXPECT_EQ(-EPROTO, member_barrier(self->fd));
	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(COLLECTIVE_REASON_PROTOCOL, status.group.kind);
	EXPECT_EQ(0, status.group.rank_a);
}

/* Payload that does not match and was not announced: the peer called something else. */
TEST_F(raw_peer, payload_without_a_call)
{
	__u8 *area = memory(4096);
	const struct collective_op op = {
		.opcode = COLLECTIVE_BROADCAST,
		.type = COLLECTIVE_UINT8,
		.count = 4,
		.recv = (uintptr_t)area,
	};
	struct collective_status status;
	__u64 begin = now_ms();

	ASSERT_NE(NULL, area);
	ASSERT_EQ(0, raw_peer_payload(&self->peer, 0));
	EXPECT_EQ(-EBADMSG, member_submit(self->fd, &op));
	/* Two heartbeat periods, not the five minutes of an operation without a deadline. */
	EXPECT_GT(15000, now_ms() - begin);
	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(COLLECTIVE_STATE_UP, status.state);
	EXPECT_EQ(COLLECTIVE_REASON_MISMATCH, status.last.kind);
	EXPECT_EQ(0, status.last.rank_a);
	EXPECT_EQ(1, status.last.rank_b);
	EXPECT_EQ(COLLECTIVE_RANK_NONE, status.calls[0].rank);
	EXPECT_EQ(1, status.calls[1].rank);
	EXPECT_EQ(COLLECTIVE_BROADCAST, status.calls[1].opcode);
	EXPECT_EQ(4, status.calls[1].count);
}

/* The peer does not return the rank's memory in time: at the deadline the group fails. */
TEST_F(raw_peer, deadline_ends_the_group)
{
	__u8 *area = memory(65536);
	const struct collective_op op = {
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_UINT8,
		.count = 65536,
		.send = (uintptr_t)area,
		.recv = (uintptr_t)area,
		.timeout_ms = 100,
	};
	struct collective_status status;

	ASSERT_NE(NULL, area);
	ASSERT_EQ(0, raw_peer_grant(&self->peer, 0, &op));
	EXPECT_EQ(-ETIMEDOUT, member_submit(self->fd, &op));
	EXPECT_EQ(-ETIMEDOUT, member_barrier(self->fd));
	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(COLLECTIVE_STATE_ABORTED, status.state);
	EXPECT_EQ(COLLECTIVE_REASON_DEADLINE, status.group.kind);
	EXPECT_EQ(1, status.group.rank_a);
	EXPECT_EQ(~0ULL, status.group.instance);
	EXPECT_EQ(COLLECTIVE_REASON_DEADLINE, status.last.kind);
	EXPECT_EQ(1, status.last.rank_a);
	/* A rank that sent a grant is not absent. */
	EXPECT_EQ(COLLECTIVE_RANK_NONE, status.last.rank_b);
	EXPECT_EQ(0, status.last.instance);
}

static void *leave_thread(void *arg)
{
	return (void *)(intptr_t)member_leave(*(int *)arg);
}

/* Frames that arrive while the rank leaves are not read; it still leaves without a reset. */
TEST_F(raw_peer, leave_is_no_reset)
{
	pthread_t thread;
	void *left;

	ASSERT_EQ(0, pthread_create(&thread, NULL, leave_thread, &self->fd));
	EXPECT_EQ(0, raw_peer_wait_leave(&self->peer));
	EXPECT_EQ(0, raw_peer_ping(&self->peer));
	EXPECT_EQ(0, raw_peer_wait_end(&self->peer));
	pthread_join(thread, &left);
	EXPECT_EQ(NULL, left);
}

static void on_signal(int signal)
{
}

/* Many requests that no thread waits for; a peer may still read their memory. */
TEST_F(raw_peer, close_with_memory_in_use)
{
	enum { REQUESTS = 16, BYTES = 64 * 1024 };
	__u8 *area = memory(BYTES);
	const struct collective_submit submit = {
		.size = sizeof(submit),
		.op.opcode = COLLECTIVE_ALLREDUCE,
		.op.type = COLLECTIVE_UINT8,
		.op.count = BYTES,
		.op.send = (uintptr_t)area,
		.op.recv = (uintptr_t)area,
	};
	struct sigaction action = { .sa_handler = on_signal };
	struct itimerval timer = { .it_value.tv_usec = 20000, .it_interval.tv_usec = 20000 };
	struct collective_submit s;
	unsigned int i;
	__u64 begin;

	ASSERT_NE(NULL, area);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (i = 0; i < REQUESTS; i++) {
		ASSERT_EQ(0, raw_peer_grant(&self->peer, i, &submit.op));
		s = submit;
		ASSERT_EQ(-EINTR, member_ioctl(self->fd, COLLECTIVE_IOC_SUBMIT, &s));
		ASSERT_EQ(i + 1, s.request);
	}
	memset(&timer, 0, sizeof(timer));
	setitimer(ITIMER_REAL, &timer, NULL);

	/* The memory is released after the fence, five heartbeat periods, once for all requests. */
	begin = now_ms();
	close(self->fd);
	EXPECT_LT(4000, now_ms() - begin);
	EXPECT_GT(20000, now_ms() - begin);
	EXPECT_EQ(0, process_value(0, "VmPin:"));
	self->fd = -1;
}

/* The member, rank 2, is the root of a gather with counts, and receives from rank 0 first. */
FIXTURE(two_raw_peers) {
	int fd;
	char name[33];
	struct raw_peer peer[2];
	__u8 area[4];
	__u64 request;
	struct coll_control call;
	__u64 balance;
};

/* Announce the member's call as that of a rank, whose part in the sum of all counts is @balance. */
static int announce(const struct raw_peer *peer, const struct coll_control *call, __u64 round,
		    __u64 balance)
{
	struct coll_control control = *call;

	control.position = round;
	control.signature.count = balance;
	control.signature.layout = 0;
	return raw_peer_send_control(peer, &control);
}

FIXTURE_SETUP(two_raw_peers)
{
	const __u64 counts[3] = { 1, 1, 1 };
	const struct collective_layout layout = {
		.size = sizeof(layout), .recv_counts = (uintptr_t)counts,
	};
	const struct collective_op op = {
		.opcode = COLLECTIVE_GATHER,
		.flags = COLLECTIVE_F_VECTOR,
		.type = COLLECTIVE_UINT8,
		.root = 2,
		.count = 1,
		.send = (uintptr_t)&self->area[3],
		.recv = (uintptr_t)self->area,
		.layout = (uintptr_t)&layout,
	};

	self->fd = peers_make(self->name, sizeof(self->name), self->peer, 2);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, member_start(self->fd, &op, &self->request));
	ASSERT_EQ(0, raw_peer_wait_announce(&self->peer[0], &self->call));
	self->balance = self->call.signature.count;
	/* Rank 0 calls the same, and leaves without its element. */
	ASSERT_EQ(0, announce(&self->peer[0], &self->call, 1, 0));
	ASSERT_EQ(0, raw_peer_leave(&self->peer[0]));
	ASSERT_EQ(0, shutdown(self->peer[0].data[0], SHUT_WR));
	/* Time for a member that takes this for a failure of the group. */
	sleep_ms(300);
	ASSERT_EQ(-EINPROGRESS, member_wait(self->fd, self->request, COLLECTIVE_WAIT_NOWAIT));
}

FIXTURE_TEARDOWN(two_raw_peers)
{
	raw_peer_close(&self->peer[0]);
	raw_peer_close(&self->peer[1]);
	close(self->fd);
}

/* A rank that has left may have known of counts that differ, which this one hears of later. */
TEST_F(two_raw_peers, left_after_a_mismatch)
{
	struct collective_status status;

	EXPECT_EQ(0, announce(&self->peer[1], &self->call, 0, self->balance));
	EXPECT_EQ(-EBADMSG, member_wait(self->fd, self->request, 0));
	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(COLLECTIVE_STATE_UP, status.state);
	EXPECT_EQ(COLLECTIVE_REASON_MISMATCH, status.last.kind);
}

/* All counts match: a frame that a rank has not sent before it left never comes. */
TEST_F(two_raw_peers, left_without_its_part)
{
	struct collective_status status;

	EXPECT_EQ(0, announce(&self->peer[1], &self->call, 0, -self->balance));
	EXPECT_EQ(-ECONNRESET, member_wait(self->fd, self->request, 0));
	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(COLLECTIVE_STATE_ABORTED, status.state);
	EXPECT_EQ(COLLECTIVE_REASON_LEFT, status.group.kind);
	EXPECT_EQ(0, status.group.rank_a);
}

TEST_HARNESS_MAIN
