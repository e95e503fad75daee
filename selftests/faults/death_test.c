// SPDX-License-Identifier: GPL-2.0-only
/*
 * A rank dies, exits, or leaves while others are in operations: they learn of it at once, and their
 * memory is released.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/memory.h"
#include "lib/timed.h"

/* Survivors learn of a death at once; this is enough for slow machines. */
#define TOLD_MS		4000

enum { FLAG_BUSY, FLAG_DONE, FLAG_TIME = 8, FLAG_RANK = 32 };

TIMED_TESTS(slow)

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

TEST_HARNESS_MAIN
