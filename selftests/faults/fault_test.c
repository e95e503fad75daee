// SPDX-License-Identifier: GPL-2.0-only
/*
 * A rank dies, leaves, is stopped, is late, or sends wrong frames: how its group ends, and that
 * memory is released.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/time.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/raw_peer.h"

/* Survivors learn of a death at once; this is enough for slow machines. */
#define TOLD_MS		2000

enum { FLAG_BUSY, FLAG_DONE, FLAG_TIME = 8, FLAG_RANK = 32 };

static void *memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Emulated machines need more than the default timeout of 30 s for some tests. */
FIXTURE(slow) {
};

FIXTURE_SETUP(slow)
{
}

FIXTURE_TEARDOWN(slow)
{
}

/*
 * Death
 */

struct death {
	unsigned int victim;
	size_t bytes;
	bool registered;
	unsigned int kind;
};

/* Reduce until the group fails; the error must be ECONNRESET and name the victim. */
static int rank_until_reset(struct rank *r)
{
	const struct death *death = r->arg;
	struct collective_status status;
	__u8 *area = memory(2 * death->bytes);
	__u32 buffer = 0;
	unsigned int n = 0;
	bool cut;
	int err;

	CHECK(area);
	if (death->registered)
		CHECK_EQ(0, member_register(r->fd, area, 2 * death->bytes, 0, &buffer));
	do {
		struct collective_op op = {
			.opcode = COLLECTIVE_ALLREDUCE,
			.type = COLLECTIVE_FLOAT32,
			.count = death->bytes / 4,
			.send = (uintptr_t)area,
			.recv = (uintptr_t)area + (n % 2 ? death->bytes : 0),
			.send_buffer = buffer,
			.recv_buffer = buffer,
		};

		err = member_submit(r->fd, &op);
		if (++n == 3)
			__atomic_add_fetch(&r->shared->flag[FLAG_BUSY], 1, __ATOMIC_SEQ_CST);
	} while (!err);
	r->shared->value[FLAG_TIME + r->rank] = now_ms();

	CHECK_EQ(-ECONNRESET, err);
	CHECK_EQ(0, member_status(r->fd, &status));
	CHECK_EQ(COLLECTIVE_STATE_ABORTED, status.state);
	CHECK_EQ(ECONNRESET, status.group.error);
	CHECK_EQ(death->kind, status.group.kind);
	CHECK_EQ(death->victim, status.group.rank_a);
	/* False if the group failed between two operations. */
	cut = status.last.kind != COLLECTIVE_REASON_NONE;
	if (cut) {
		CHECK_EQ(death->kind, status.last.kind);
		CHECK_EQ(death->victim, status.last.rank_a);
		CHECK_EQ(status.submitted - 1, status.last.instance);
	}
	CHECK_EQ(0, status.inflight);
	/* The group stays failed. */
	CHECK_EQ(-ECONNRESET, member_barrier(r->fd));
	CHECK_EQ(cut, rank_value(r, death->kind == COLLECTIVE_REASON_DEATH ? "errors/death" :
									      "errors/left"));
	if (buffer)
		CHECK_EQ(0, member_unregister(r->fd, buffer));
	CHECK_EQ(0, rank_value(r, "pinned_bytes"));
	CHECK_EQ(0, process_value(0, "VmPin:"));
	return 0;
}

static void death_run(struct __test_metadata *_metadata, const struct group_config *config,
		      const struct death *death, int delay_us)
{
	struct group group;
	__u64 killed, told = 0;
	unsigned int i;

	ASSERT_EQ(0, group_start(&group, config, rank_until_reset, (void *)death));
	ASSERT_TRUE(flag_wait(group.shared, FLAG_BUSY, config->nranks, 20000));
	usleep(delay_us);
	killed = now_ms();
	kill(group.pid[death->victim], SIGKILL);
	for (i = 0; i < config->nranks; i++)
		waitpid(group.pid[i], &group.status[i], 0);
	for (i = 0; i < config->nranks; i++) {
		if (i == death->victim) {
			EXPECT_TRUE(WIFSIGNALED(group.status[i]));
			continue;
		}
		EXPECT_EQ(0, group.status[i]);
		if (group.shared->value[FLAG_TIME + i] > told)
			told = group.shared->value[FLAG_TIME + i];
	}
	EXPECT_GE(killed + TOLD_MS, told);
	TH_LOG("rank %u killed: all others knew after %llu ms", death->victim,
	       told > killed ? told - killed : 0);
	munmap(group.shared, sizeof(*group.shared));
}

TEST_F_TIMEOUT(slow, kill_each_rank, 100)
{
	const struct group_config config = { .nranks = 4 };
	struct death death = { .bytes = 1 << 20, .kind = COLLECTIVE_REASON_DEATH };

	for (death.victim = 0; death.victim < 4; death.victim++)
		death_run(_metadata, &config, &death, 3000 * death.victim);
}

TEST_F_TIMEOUT(slow, kill_with_lanes, 100)
{
	const struct group_config config = { .nranks = 4, .lanes = 4 };
	struct death death = {
		.victim = 2, .bytes = 2 << 20, .registered = true, .kind = COLLECTIVE_REASON_DEATH,
	};

	death_run(_metadata, &config, &death, 1000);
}

TEST_F_TIMEOUT(slow, kill_among_small_operations, 100)
{
	const struct group_config config = { .nranks = 4 };
	struct death death = { .bytes = 4096, .kind = COLLECTIVE_REASON_DEATH };

	for (death.victim = 0; death.victim < 4; death.victim += 3)
		death_run(_metadata, &config, &death, 500);
}

TEST_F_TIMEOUT(slow, kill_of_two, 100)
{
	const struct group_config config = { .nranks = 2 };
	struct death death = {
		.victim = 1, .bytes = 1 << 20, .registered = true, .kind = COLLECTIVE_REASON_DEATH,
	};

	death_run(_metadata, &config, &death, 0);
}

TEST_F_TIMEOUT(slow, kill_of_eight, 100)
{
	const struct group_config config = { .nranks = 8 };
	struct death death = {
		.victim = 5, .bytes = 1 << 20, .kind = COLLECTIVE_REASON_DEATH,
	};

	death_run(_metadata, &config, &death, 0);
}

/* The survivors join a new group with the same files. */
TEST_F_TIMEOUT(slow, kill_and_begin_again, 100)
{
	const struct group_config config = { .nranks = 3 };
	struct death death = { .bytes = 65536, .kind = COLLECTIVE_REASON_DEATH };
	unsigned int i;

	for (i = 0; i < 5; i++) {
		death.victim = i % 3;
		death_run(_metadata, &config, &death, 100 * i);
	}
}

/* One rank ends in another way while the others wait for it. */
static int rank_waits(struct rank *r)
{
	const struct death *death = r->arg;

	CHECK_EQ(0, member_barrier(r->fd));
	CHECK(flag_barrier(r->shared, FLAG_DONE, r->nranks));
	if (r->rank == death->victim) {
		sleep_ms(50);
		if (death->kind == COLLECTIVE_REASON_DEATH)
			_exit(0);
		CHECK_EQ(0, death->registered ? close(r->fd) : member_leave(r->fd));
		sleep_ms(200);
		_exit(0);
	}
	return rank_until_reset(r);
}

TEST_F_TIMEOUT(slow, exit_without_leave, 100)
{
	const struct group_config config = { .nranks = 3 };
	struct death death = { .victim = 1, .bytes = 65536, .kind = COLLECTIVE_REASON_DEATH };

	EXPECT_EQ(0, group_run(&config, rank_waits, &death));
}

TEST_F_TIMEOUT(slow, leave_while_others_wait, 100)
{
	const struct group_config config = { .nranks = 3 };
	struct death death = { .victim = 2, .bytes = 65536, .kind = COLLECTIVE_REASON_LEFT };

	EXPECT_EQ(0, group_run(&config, rank_waits, &death));
}

TEST_F_TIMEOUT(slow, close_while_others_wait, 100)
{
	const struct group_config config = { .nranks = 3 };
	struct death death = {
		.victim = 0, .bytes = 65536, .registered = true, .kind = COLLECTIVE_REASON_LEFT,
	};

	EXPECT_EQ(0, group_run(&config, rank_waits, &death));
}

/* A rank that has completed its part leaves while others are in the operation. */
static int rank_leaves_first(struct rank *r)
{
	const size_t bytes = 300000;
	__u8 *area = memory(bytes);

	CHECK(area);
	CHECK_EQ(0, member_allreduce(r->fd, area, area, bytes, COLLECTIVE_UINT8, COLLECTIVE_SUM));
	CHECK_EQ(0, member_leave(r->fd));
	return 0;
}

TEST_F_TIMEOUT(slow, leave_after_the_last_operation, 100)
{
	const struct group_config config = { .nranks = 5 };
	int i;

	for (i = 0; i < 10; i++)
		EXPECT_EQ(0, group_run(&config, rank_leaves_first, NULL));
}

/*
 * A rank of which the only peer is made of sockets: rank 1 of two.
 */
FIXTURE(deceived) {
	int fd;
	struct raw_peer peer;
};

FIXTURE_SETUP(deceived)
{
	struct collective_query query = { .size = sizeof(query) };
	struct sockaddr_storage addr[2];
	struct pollfd poll_fd;
	char name[33];
	struct raw_peer_config call = { .addr = &addr[1], .name = name, .to = 1, .nranks = 2 };

	group_unique(name, sizeof(name), &call.id);
	self->fd = member_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, member_ioctl(self->fd, COLLECTIVE_IOC_QUERY, &query));
	call.inflight = query.inflight_max;
	loopback(&addr[0], AF_INET);
	ASSERT_EQ(0, member_join(self->fd, name, call.id, 1, 2, &addr[1]));
	fcntl(self->fd, F_SETFL, O_NONBLOCK);
	ASSERT_EQ(-EINPROGRESS, member_connect(self->fd, addr, 2, 10000));
	ASSERT_EQ(0, raw_peer_connect(&self->peer, &call));
	poll_fd = (struct pollfd){ .fd = self->fd, .events = POLLOUT };
	ASSERT_EQ(1, poll(&poll_fd, 1, 10000));
	ASSERT_EQ(POLLOUT, poll_fd.revents);
}

FIXTURE_TEARDOWN(deceived)
{
	raw_peer_close(&self->peer);
	close(self->fd);
}

/* The peer left, and its host failed before it could close the connections. */
TEST_F(deceived, leave_and_vanish)
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
TEST_F(deceived, leave_without_a_call)
{
	const struct collective_op op = { .opcode = COLLECTIVE_BROADCAST, .root = 1 };
	struct collective_status status;
	__u64 begin = now_ms();

	ASSERT_EQ(0, raw_peer_leave(&self->peer));
	EXPECT_EQ(-ECONNRESET, member_submit(self->fd, &op));
	EXPECT_GT(1000, now_ms() - begin);
	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(COLLECTIVE_REASON_LEFT, status.group.kind);
	EXPECT_EQ(0, status.group.rank_a);
}

static void *leave_soon(void *arg)
{
	sleep_ms(100);
	return (void *)(intptr_t)raw_peer_leave(arg);
}

TEST_F(deceived, leave_during_a_call)
{
	const struct collective_op op = { .opcode = COLLECTIVE_BROADCAST, .root = 1 };
	struct collective_status status;
	__u64 begin = now_ms();
	pthread_t thread;
	void *left;

	ASSERT_EQ(0, pthread_create(&thread, NULL, leave_soon, &self->peer));
	EXPECT_EQ(-ECONNRESET, member_submit(self->fd, &op));
	EXPECT_GT(1000, now_ms() - begin);
	pthread_join(thread, &left);
	EXPECT_EQ(NULL, left);
	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(COLLECTIVE_REASON_LEFT, status.group.kind);
	EXPECT_EQ(0, status.group.rank_a);
}

/* The announcement claims more ranks than the group has. */
TEST_F(deceived, speaks_for_too_many)
{
	struct collective_status status;

	ASSERT_EQ(0, raw_peer_announce(&self->peer, 1));
	EXPECT_EQ(-EPROTO, member_barrier(self->fd));
	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(COLLECTIVE_REASON_PROTOCOL, status.group.kind);
	EXPECT_EQ(0, status.group.rank_a);
}

/* Payload that does not match and was not announced: the peer called something else. */
TEST_F(deceived, payload_without_a_call)
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
	/* Two heartbeat periods. */
	EXPECT_GT(4000, now_ms() - begin);
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
TEST_F(deceived, deadline_ends_the_group)
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
TEST_F(deceived, leave_is_no_reset)
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

/* Many requests that no thread waits for; their memory is lent to a peer that keeps it. */
TEST_F(deceived, close_with_memory_lent)
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
	EXPECT_GT(9000, now_ms() - begin);
	EXPECT_EQ(0, process_value(0, "VmPin:"));
	self->fd = -1;
}

/*
 * Late and stopped ranks
 */

static int rank_deadline(struct rank *r)
{
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER, .timeout_ms = 300 };
	struct collective_status status;
	const unsigned int late = 2;
	__u64 begin;

	CHECK_EQ(0, member_barrier(r->fd));
	begin = now_ms();
	if (r->rank == late)
		sleep_ms(900);
	CHECK_EQ(-ETIMEDOUT, member_submit(r->fd, &op));
	if (r->rank != late) {
		/* The first deadline ends the operation on all ranks. */
		CHECK(now_ms() - begin >= 200);
		CHECK(now_ms() - begin < 300 + TOLD_MS);
	}
	CHECK_EQ(0, member_status(r->fd, &status));
	CHECK_EQ(COLLECTIVE_STATE_UP, status.state);
	CHECK_EQ(COLLECTIVE_REASON_DEADLINE, status.last.kind);
	CHECK_EQ(ETIMEDOUT, status.last.error);
	CHECK_EQ(1, status.last.instance);
	/* The successor knows that the rank did not call; others may know only that they waited. */
	CHECK(status.last.rank_b == late || status.last.rank_b == COLLECTIVE_RANK_NONE);
	/* The operation failed, the group did not. */
	CHECK_EQ(0, member_barrier(r->fd));
	CHECK_EQ(1, rank_value(r, "errors/deadline"));
	return 0;
}

TEST_F_TIMEOUT(slow, deadline, 100)
{
	const struct group_config config = { .nranks = 4 };

	EXPECT_EQ(0, group_run(&config, rank_deadline, NULL));
}

/* Many ranks wait, two are absent. All learn which, also those that are no neighbours. */
static int absent_await(struct rank *r, __u64 instance, struct collective_status *status)
{
	const __u64 end = now_ms() + 20000;

	do {
		CHECK_EQ(0, member_status(r->fd, status));
		if (status->absent_instance == instance && status->nabsent == 2)
			return 0;
		sleep_ms(5);
	} while (now_ms() < end);
	CHECK_EQ(instance, status->absent_instance);
	CHECK_EQ(2, status->nabsent);
	return 1;
}

static int rank_absent(struct rank *r)
{
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER, .timeout_ms = 300 };
	const bool late = r->rank == 2 || r->rank == 3;
	struct collective_status status;
	unsigned int i;

	CHECK_EQ(0, member_barrier(r->fd));
	/* All ranks complete an operation, so that STATUS has a last one. */
	CHECK(flag_barrier(r->shared, 0, r->nranks));
	if (!late) {
		CHECK_EQ(-ETIMEDOUT, member_submit(r->fd, &op));
		CHECK_EQ(0, absent_await(r, 1, &status));
		CHECK_EQ(COLLECTIVE_REASON_DEADLINE, status.last.kind);
	}
	/* A rank need not submit the operation to learn of it. */
	CHECK_EQ(0, absent_await(r, 1, &status));
	CHECK_EQ(1 << 2 | 1 << 3, status.absent_ranks[0]);
	for (i = 0; i < COLLECTIVE_ABSENT_MAX; i++) {
		const struct collective_absent *absent = &status.absent[i];

		if (i >= 2) {
			CHECK_EQ(COLLECTIVE_RANK_NONE, absent->rank);
			continue;
		}
		CHECK(absent->rank == 2 || absent->rank == 3);
		CHECK_EQ(0, absent->instance);
		/* At least the deadline; clocks count milliseconds. */
		CHECK(absent->ms >= 250);
	}
	CHECK(status.absent[0].rank != status.absent[1].rank);
	CHECK(flag_barrier(r->shared, 1, r->nranks));
	if (late)
		CHECK_EQ(-ETIMEDOUT, member_submit(r->fd, &op));
	return member_barrier(r->fd);
}

TEST_F_TIMEOUT(slow, absent, 100)
{
	const struct group_config config = { .nranks = 12 };

	EXPECT_EQ(0, group_run(&config, rank_absent, NULL));
}

/* Some learn that a rank is gone from a failed connection, others from its LEAVE. */
static int rank_left_far(struct rank *r)
{
	enum { COUNT = 10000, GONE = 11 };
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLTOALL,
		.type = COLLECTIVE_INT32,
		.count = COUNT,
		.send = (uintptr_t)memory(r->nranks * COUNT * sizeof(int)),
		.recv = (uintptr_t)memory(r->nranks * COUNT * sizeof(int)),
	};
	struct collective_status status;

	CHECK(op.send && op.recv);
	CHECK_EQ(0, member_barrier(r->fd));
	if (r->rank == GONE) {
		CHECK_EQ(0, member_leave(r->fd));
		flag_set(r->shared, FLAG_BUSY, 1);
		return 0;
	}
	CHECK(flag_wait(r->shared, FLAG_BUSY, 1, 10000));
	CHECK_EQ(-ECONNRESET, member_submit(r->fd, &op));
	if (*(bool *)r->arg && r->rank % 2)
		return 0;
	CHECK_EQ(0, member_status(r->fd, &status));
	CHECK_EQ(COLLECTIVE_REASON_LEFT, status.group.kind);
	CHECK_EQ(GONE, status.group.rank_a);
	return 0;
}

TEST_F_TIMEOUT(slow, left_far_away, 100)
{
	const struct group_config config = { .nranks = 16 };
	bool hasty = false;

	EXPECT_EQ(0, group_run(&config, rank_left_far, &hasty));
}

/* A rank that ends because of a failure is not the reason, even if others do not know it yet. */
TEST_F_TIMEOUT(slow, ended_by_failure, 100)
{
	const struct group_config config = { .nranks = 16 };
	bool hasty = true;

	EXPECT_EQ(0, group_run(&config, rank_left_far, &hasty));
}

/* The same with a payload; its pages must be returned. */
static int rank_deadline_payload(struct rank *r)
{
	const size_t count = 100000;
	int *area = memory(2 * count * sizeof(int));
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_INT32,
		.count = count,
		.send = (uintptr_t)area,
		.recv = (uintptr_t)(area + count),
	};
	unsigned int round;
	size_t i;

	CHECK(area);
	for (round = 0; round < 6; round++) {
		const bool fails = round % 2;

		for (i = 0; i < count; i++)
			area[i] = i + r->rank;
		op.timeout_ms = fails ? 200 : 0;
		if (fails && r->rank == round % r->nranks)
			sleep_ms(600);
		CHECK_EQ(fails ? -ETIMEDOUT : 0, member_submit(r->fd, &op));
		CHECK_EQ(0, process_value(0, "VmPin:"));
		memset(area, 0xee, count * sizeof(int));
		for (i = 0; !fails && i < count; i++)
			CHECK(area[count + i] == (int)(3 * i + 3));
	}
	return 0;
}

TEST_F_TIMEOUT(slow, deadline_with_payload, 100)
{
	const struct group_config config = { .nranks = 3 };

	EXPECT_EQ(0, group_run(&config, rank_deadline_payload, NULL));
}

/* A stopped process is not dead: the deadline of the others expires. */
static int rank_stopped(struct rank *r)
{
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER, .timeout_ms = 400 };
	struct collective_status status;

	CHECK_EQ(0, member_barrier(r->fd));
	if (r->rank == 1) {
		flag_set(r->shared, FLAG_BUSY, 1);
		raise(SIGSTOP);
	}
	CHECK_EQ(-ETIMEDOUT, member_submit(r->fd, &op));
	CHECK_EQ(0, member_status(r->fd, &status));
	CHECK_EQ(COLLECTIVE_STATE_UP, status.state);
	CHECK_EQ(COLLECTIVE_REASON_DEADLINE, status.last.kind);
	CHECK(status.last.rank_b == 1 || status.last.rank_b == COLLECTIVE_RANK_NONE);
	CHECK_EQ(0, member_barrier(r->fd));
	return 0;
}

TEST_F_TIMEOUT(slow, stopped, 100)
{
	const struct group_config config = { .nranks = 3, .heartbeat_ms = 100 };
	struct group group;

	ASSERT_EQ(0, group_start(&group, &config, rank_stopped, NULL));
	ASSERT_TRUE(flag_wait(group.shared, FLAG_BUSY, 1, 10000));
	/* Longer than any lease or fence. */
	sleep_ms(1500);
	kill(group.pid[1], SIGCONT);
	EXPECT_EQ(0, group_wait(&group));
}

/*
 * Clients that are no rank of the group
 */

static int unauth_dial(const struct sockaddr_storage *addr, size_t bytes, unsigned int seed)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	__u8 data[512];
	size_t i;

	if (fd < 0 || connect(fd, (struct sockaddr *)addr, sizeof(struct sockaddr_in))) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	for (i = 0; i < sizeof(data); i++)
		data[i] = seed ? (seed = seed * 1103515245 + 12345) >> 16 : 0;
	if (bytes && send(fd, data, bytes, MSG_NOSIGNAL) < 0)
		close(fd);
	return fd;
}

static int rank_besieged(struct rank *r)
{
	const size_t count = 20000;
	int *area = memory(count * sizeof(int));
	unsigned int round;

	CHECK(area);
	/* Some connect before any rank does. */
	if (!r->rank) {
		unauth_dial(&r->shared->addr[1], 0, 0);
		unauth_dial(&r->shared->addr[2], 10, 1);
		unauth_dial(&r->shared->addr[0], 300, 2);
	}
	CHECK_EQ(0, rank_connect(r));
	for (round = 0; round < 30; round++) {
		if (!r->rank) {
			int fd = unauth_dial(&r->shared->addr[round % r->nranks],
					       round * 17, round % 3);

			if (round % 2 && fd >= 0)
				close(fd);
		}
		CHECK_EQ(0, member_allreduce(r->fd, area, area, count, COLLECTIVE_INT32,
					     COLLECTIVE_SUM));
	}
	return 0;
}

TEST_F_TIMEOUT(slow, unauthenticated_clients, 100)
{
	const struct group_config config = { .nranks = 3, .unconnected = true };

	EXPECT_EQ(0, group_run(&config, rank_besieged, NULL));
}

/* More clients than there are places connect before the peers do, and send nothing. */
static int rank_crowded(struct rank *r)
{
	unsigned int i;
	__u64 begin;

	if (r->rank == 2) {
		for (i = 0; i < 100; i++)
			CHECK(unauth_dial(&r->shared->addr[2], 0, 0) >= 0);
		flag_set(r->shared, FLAG_BUSY, 1);
	}
	CHECK(flag_wait(r->shared, FLAG_BUSY, 1, 20000));
	begin = now_ms();
	CHECK_EQ(0, rank_connect(r));
	/* Unauthenticated clients are otherwise closed after ten seconds. */
	CHECK(now_ms() - begin < 6000);
	CHECK_EQ(0, member_barrier(r->fd));
	return 0;
}

TEST_F_TIMEOUT(slow, silent_strangers, 100)
{
	const struct group_config config = { .nranks = 3, .unconnected = true };

	EXPECT_EQ(0, group_run(&config, rank_crowded, NULL));
}

TEST_HARNESS_MAIN
