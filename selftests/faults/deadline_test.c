// SPDX-License-Identifier: GPL-2.0-only
/* Ranks that are late, absent or stopped, and deadlines. */
#include <errno.h>
#include <signal.h>
#include <stdint.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/memory.h"
#include "lib/timed.h"
#include "lib/machine.h"
#include "lib/record.h"

/* Within this time a deadline has ended an operation; without it, that takes five minutes. */
#define TOLD_MS		15000

#define WAIT_MS		20000

enum { FLAG_BUSY, FLAG_FAILED };

TIMED_TESTS(slow)

static int rank_deadline(struct rank *r)
{
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER, .timeout_ms = 300 };
	struct collective_status status;
	const unsigned int late = 2;
	__u64 begin;

	CHECK_EQ(0, member_barrier(r->fd));
	begin = now_ms();
	if (r->rank == late) {
		CHECK(flag_wait(r->shared, FLAG_FAILED, r->nranks - 1, WAIT_MS));
		CHECK(record_await_failure(r->group->name, late, "1"));
	}
	CHECK_EQ(-ETIMEDOUT, member_submit(r->fd, &op));
	if (r->rank != late) {
		/* The first deadline ends the operation on all ranks. */
		CHECK(now_ms() - begin >= 200);
		CHECK(now_ms() - begin < 300 + TOLD_MS);
		flag_add(r->shared, FLAG_FAILED);
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
	/* A failure of the group would end the barrier of a rank that is still in it. */
	CHECK(flag_barrier(r->shared, 1, r->nranks));
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
	bool ends_early = false;

	EXPECT_EQ(0, group_run(&config, rank_left_far, &ends_early));
}

/* A rank that ends because of a failure is not the reason, even if others do not know it yet. */
TEST_F_TIMEOUT(slow, ended_by_failure, 100)
{
	const struct group_config config = { .nranks = 16 };
	bool ends_early = true;

	EXPECT_EQ(0, group_run(&config, rank_left_far, &ends_early));
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
		/* A late rank */
		if (fails && r->rank == round % r->nranks)
			CHECK(flag_wait(r->shared, round, r->nranks - 1, WAIT_MS));
		CHECK_EQ(fails ? -ETIMEDOUT : 0, member_submit(r->fd, &op));
		flag_add(r->shared, round);
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
		CHECK(record_await_failure(r->group->name, r->rank, "1"));
	}
	CHECK_EQ(-ETIMEDOUT, member_submit(r->fd, &op));
	flag_add(r->shared, FLAG_FAILED);
	CHECK_EQ(0, member_status(r->fd, &status));
	CHECK_EQ(COLLECTIVE_STATE_UP, status.state);
	CHECK_EQ(COLLECTIVE_REASON_DEADLINE, status.last.kind);
	CHECK(status.last.rank_b == 1 || status.last.rank_b == COLLECTIVE_RANK_NONE);
	CHECK_EQ(0, member_barrier(r->fd));
	return 0;
}

TEST_F_TIMEOUT(slow, stopped, 100)
{
	const struct group_config config = {
		.nranks = 3, .heartbeat_ms = short_heartbeat_ms(),
	};
	struct group group;

	ASSERT_EQ(0, group_start(&group, &config, rank_stopped, NULL));
	ASSERT_TRUE(flag_wait(group.shared, FLAG_BUSY, 1, 10000));
	/* Longer than any lease, fence or silence, which is six heartbeats. */
	sleep_ms(8 * config.heartbeat_ms);
	EXPECT_TRUE(flag_wait(group.shared, FLAG_FAILED, config.nranks - 1, WAIT_MS));
	kill(group.pid[1], SIGCONT);
	EXPECT_EQ(0, group_wait(&group));
}

TEST_HARNESS_MAIN
