// SPDX-License-Identifier: GPL-2.0-only
/*
 * What goes ahead of its grant: a packet of a rank's memory is at the other one before that has
 * asked for it, or never does.
 */
#include <stdint.h>
#include <stdlib.h>

#include "group.h"
#include "kselftest_harness.h"
#include "pair.h"

#define COUNT	(256 << 10)
#define SIZE	(COUNT * sizeof(int))
#define SMALL	100
#define ROUNDS	20
#define KEY	77

static struct collective_op sum(int *memory, __u64 count, __u64 key)
{
	return (struct collective_op) {
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_INT32,
		.flags = key ? COLLECTIVE_F_KEYED : 0,
		.key = key,
		.count = count,
		.send = (uintptr_t)memory,
		.recv = (uintptr_t)memory,
	};
}

static void fill(int *memory, int factor)
{
	int i;

	for (i = 0; i < COUNT; i++)
		memory[i] = factor * i;
}

static int wrong(const int *memory, int count, int factor)
{
	int i, n = 0;

	for (i = 0; i < count; i++)
		n += memory[i] != factor * i;
	return n;
}

/* Both in turn call a small one of @key, which looks at what has come. */
static int look(const int *fd, __u64 key)
{
	int memory[2][SMALL] = { { 1 }, { 2 } };
	__u64 request;
	struct collective_op op[2] = {
		sum(memory[0], SMALL, key),
		sum(memory[1], SMALL, key),
	};

	CHECK_EQ(0, member_start(fd[0], &op[0], &request));
	CHECK_EQ(0, member_submit(fd[1], &op[1]));
	CHECK_EQ(0, member_wait(fd[0], request, 0));
	CHECK_EQ(3, memory[0][0]);
	return 0;
}

/* The first one calls, and the second one later; between the two are @looks others. */
static int exchange(const int *fd, int *memory[2], int round, int looks, __u64 key)
{
	struct collective_op op[2];
	__u64 request;
	int rank;

	for (rank = 0; rank < 2; rank++) {
		fill(memory[rank], round + rank);
		op[rank] = sum(memory[rank], COUNT, key);
	}
	CHECK_EQ(0, member_start(fd[0], &op[0], &request));
	while (looks--)
		CHECK_EQ(0, look(fd, KEY + 1));
	CHECK_EQ(0, member_submit(fd[1], &op[1]));
	CHECK_EQ(0, member_wait(fd[0], request, 0));
	for (rank = 0; rank < 2; rank++)
		CHECK_EQ(0, wrong(memory[rank], COUNT, 2 * round + 1));
	return 0;
}

TEST_F(pair, asked_for_later)
{
	int *memory[2] = { malloc(SIZE), malloc(SIZE) };
	int round;

	ASSERT_EQ(0, pair_connect(self->fd, self->addr));
	for (round = 1; round < ROUNDS; round++) {
		EXPECT_EQ(0, exchange(self->fd, memory, round, 0, 0));
		EXPECT_EQ(0, exchange(self->fd, memory, round, round % 3, KEY));
	}
}

/* The heartbeat has it taken in, too. */
TEST_F(pair, asked_for_much_later)
{
	int *memory[2] = { malloc(SIZE), malloc(SIZE) };
	struct collective_op op[2];
	__u64 request;
	int rank;

	ASSERT_EQ(0, pair_connect(self->fd, self->addr));
	for (rank = 0; rank < 2; rank++) {
		fill(memory[rank], 1 + rank);
		op[rank] = sum(memory[rank], COUNT, 0);
	}
	ASSERT_EQ(0, member_start(self->fd[0], &op[0], &request));
	sleep_ms(3000);
	EXPECT_EQ(0, member_submit(self->fd[1], &op[1]));
	EXPECT_EQ(0, member_wait(self->fd[0], request, 0));
	EXPECT_EQ(0, wrong(memory[0], COUNT, 3));
	EXPECT_EQ(0, wrong(memory[1], COUNT, 3));
}

/* Return: how long it took until the memory was ours again, ms, or a negative errno. */
static long long forsaken(int fd, int *memory, __u64 key)
{
	struct collective_op op = sum(memory, COUNT, key);
	__u64 began = now_ms();
	int err;

	op.timeout_ms = 200;
	err = member_submit(fd, &op);
	memset(memory, 0x66, SIZE);
	return err == -ETIMEDOUT ? (long long)(now_ms() - began) : err;
}

TEST_F(pair, never_asked_for)
{
	int *memory[2] = { malloc(SIZE), malloc(SIZE) };
	struct collective_op op;
	long long took;

	ASSERT_EQ(0, pair_connect(self->fd, self->addr));
	ASSERT_EQ(0, exchange(self->fd, memory, 1, 0, 0));
	took = forsaken(self->fd[0], memory[0], KEY);
	EXPECT_TRUE(took >= 150 && took < 1500) TH_LOG("%lld ms", took);
	/* Of what was put aside for it nothing is left that would be taken for another. */
	op = sum(memory[1], COUNT, KEY);
	EXPECT_EQ(-ETIMEDOUT, member_submit(self->fd[1], &op));
	EXPECT_EQ(0, exchange(self->fd, memory, 2, 2, KEY + 2));
	EXPECT_EQ(0, exchange(self->fd, memory, 3, 2, 0));
	took = forsaken(self->fd[1], memory[1], 0);
	EXPECT_TRUE(took >= 150 && took < 1500) TH_LOG("%lld ms", took);
	op = sum(memory[0], COUNT, 0);
	EXPECT_EQ(-ETIMEDOUT, member_submit(self->fd[0], &op));
	EXPECT_EQ(0, exchange(self->fd, memory, 4, 2, 0));
}

TEST_F(pair, called_otherwise)
{
	int *memory[2] = { malloc(SIZE), malloc(SIZE) };
	struct collective_op op[2];
	__u64 request;

	ASSERT_EQ(0, pair_connect(self->fd, self->addr));
	ASSERT_EQ(0, exchange(self->fd, memory, 1, 0, 0));
	op[0] = sum(memory[0], COUNT, KEY);
	op[1] = sum(memory[1], COUNT - 64, KEY);
	ASSERT_EQ(0, member_start(self->fd[0], &op[0], &request));
	sleep_ms(20);
	EXPECT_EQ(-EBADMSG, member_submit(self->fd[1], &op[1]));
	EXPECT_EQ(-EBADMSG, member_wait(self->fd[0], request, 0));
	EXPECT_EQ(0, exchange(self->fd, memory, 2, 1, 0));
}

TEST_HARNESS_MAIN
