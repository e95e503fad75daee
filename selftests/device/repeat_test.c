// SPDX-License-Identifier: GPL-2.0-only
/*
 * Repeated calls: a member caches what it found out about a call. The cache must not be used for
 * a call that differs.
 */
#include <stdint.h>
#include <sys/mman.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/two_ranks.h"

#define COUNT	(128 << 10)
#define SIZE	(COUNT * sizeof(int))
/* More calls than a member caches. */
#define CALLS	40

static struct collective_op allreduce(const int *memory, __u64 count)
{
	return (struct collective_op) {
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_INT32,
		.count = count,
		.send = (uintptr_t)memory,
		.recv = (uintptr_t)(memory + COUNT),
	};
}

static int *map(void *at)
{
	int *memory = mmap(at, 2 * SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void write_input(int *memory, int factor)
{
	int i;

	for (i = 0; i < COUNT; i++)
		memory[i] = factor * i;
	memset(memory + COUNT, 0x55, SIZE);
}

/* Return: the number of wrong elements: @count of the result, and those behind it. */
static int wrong(const int *memory, int count, int factor)
{
	const int *result = memory + COUNT;
	int i, n = 0;

	for (i = 0; i < COUNT; i++)
		n += result[i] != (i < count ? factor * i : 0x55555555);
	return n;
}

/* Set up the memory of both ranks, and an allreduce in it. */
static bool ready(int *memory[2], struct collective_op op[2])
{
	int rank;

	for (rank = 0; rank < 2; rank++) {
		memory[rank] = map(NULL);
		op[rank] = allreduce(memory[rank], COUNT);
	}
	return memory[0] && memory[1];
}

/* Both ranks submit and check the result. */
static int call(const int *fd, const struct collective_op op[2], int *const memory[2])
{
	static int factor;
	__u64 request;
	int rank;

	factor = factor % 100 + 1;
	for (rank = 0; rank < 2; rank++)
		write_input(memory[rank], factor + rank);
	CHECK_EQ(0, member_start(fd[0], &op[0], &request));
	CHECK_EQ(0, member_submit(fd[1], &op[1]));
	CHECK_EQ(0, member_wait(fd[0], request, 0));
	for (rank = 0; rank < 2; rank++)
		CHECK_EQ(0, wrong(memory[rank], op[rank].count, 2 * factor + 1));
	return 0;
}

TEST_F(two_ranks, before_the_group_is_up)
{
	struct collective_op op[2];
	int *memory[2];
	int i;

	ASSERT_TRUE(ready(memory, op));
	/* Before CONNECT the number of hosts is not known; the partition depends on it. */
	ASSERT_EQ(-ENOTCONN, member_submit(self->fd[0], &op[0]));
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, call(self->fd, op, memory));
}

TEST_F(two_ranks, other_memory_at_its_address)
{
	struct collective_op op[2];
	int *memory[2];
	int i;

	ASSERT_TRUE(ready(memory, op));
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(0, call(self->fd, op, memory));
		ASSERT_EQ(memory[i % 2], map(memory[i % 2]));
	}
	ASSERT_EQ(0, munmap(memory[0], 2 * SIZE));
	EXPECT_EQ(-EFAULT, member_submit(self->fd[0], &op[0]));
	ASSERT_EQ(memory[0], map(memory[0]));
	EXPECT_EQ(0, call(self->fd, op, memory));
}

TEST_F(two_ranks, buffers_that_are_gone)
{
	struct collective_op op[2];
	int *memory[2];
	__u32 buffer;
	int i;

	ASSERT_TRUE(ready(memory, op));
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, member_register(self->fd[0], memory[0], 2 * SIZE, 0, &buffer));
	op[0].send_buffer = buffer;
	op[0].recv_buffer = buffer;
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, call(self->fd, op, memory));
	ASSERT_EQ(0, member_unregister(self->fd[0], buffer));
	EXPECT_EQ(-ENOENT, member_submit(self->fd[0], &op[0]));
	/* The same buffer number, if it is reused, is of memory that is too small. */
	ASSERT_EQ(0, member_register(self->fd[0], memory[0], SIZE, 0, &buffer));
	EXPECT_EQ(buffer == op[0].send_buffer ? -EINVAL : -ENOENT,
		  member_submit(self->fd[0], &op[0]));
	op[0].send_buffer = 0;
	op[0].recv_buffer = 0;
	EXPECT_EQ(0, call(self->fd, op, memory));
}

TEST_F(two_ranks, many)
{
	struct collective_op op[2];
	int *memory[2];
	__u64 request[CALLS];
	int round, i, n, rank;

	ASSERT_TRUE(ready(memory, op));
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	for (round = 0; round < 3; round++)
		for (i = 0; i < CALLS; i++) {
			for (rank = 0; rank < 2; rank++)
				op[rank] = allreduce(memory[rank], COUNT >> (i % 20));
			EXPECT_EQ(0, call(self->fd, op, memory));
		}
	/* Several at a time, too; all write the same result. */
	for (n = 1; n <= CALLS; n *= 3) {
		for (i = 0; i < n; i++)
			ASSERT_EQ(0, member_start(self->fd[0], &op[0], &request[i]));
		for (i = 0; i < n; i++)
			ASSERT_EQ(0, member_submit(self->fd[1], &op[1]));
		for (i = 0; i < n; i++)
			ASSERT_EQ(0, member_wait(self->fd[0], request[i], 0));
		EXPECT_EQ(0, call(self->fd, op, memory));
	}
}

/* Calls that differ in one field. */
TEST_F(two_ranks, differently)
{
	struct collective_op op[2];
	int *memory[2];
	int i;

	ASSERT_TRUE(ready(memory, op));
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	op[0].count = 16;
	op[1].count = 16;
	for (i = 0; i < 20; i++) {
		EXPECT_EQ(0, call(self->fd, op, memory));
		EXPECT_EQ(0, call(self->fd, op, memory));
		op[0].reserved[0] = 1;
		EXPECT_EQ(-EINVAL, member_submit(self->fd[0], &op[0]));
		op[0].reserved[0] = 0;
		op[0].root = 2;
		EXPECT_EQ(-EINVAL, member_submit(self->fd[0], &op[0]));
		op[0].root = 0;
		op[0].recv += 2;
		EXPECT_EQ(-EINVAL, member_submit(self->fd[0], &op[0]));
		op[0].recv -= 2;
		op[0].flags = 1U << 31;
		EXPECT_EQ(-EINVAL, member_submit(self->fd[0], &op[0]));
		op[0].flags = 0;
		op[0].count += i;
		op[1].count += i;
	}
}

TEST_HARNESS_MAIN
