// SPDX-License-Identifier: GPL-2.0-only
/*
 * COLLECTIVE_F_NOSYNC on the board: a rank completes an operation when its own part is done, and
 * calls that differ are found whichever rank comes first, by all ranks.
 */
#include <pthread.h>
#include <time.h>

#include "kselftest_harness.h"
#include "device/nosync.h"
#include "lib/local_only.h"

#define AHEAD	16		/* operations that a rank may be ahead */

TEST_F_TIMEOUT(nosync, one_thread_is_all_ranks, 120)
{
	ASSERT_EQ(0, one_thread_is_all_ranks(&self->ranks));
}

/* A rank is as far ahead of the slowest one as there are slots, or pages. */
TEST_F_TIMEOUT(nosync, a_root_is_so_far_ahead, 60)
{
	const struct ranks *ranks = &self->ranks;
	static const struct {
		size_t count;
		int most;
	} cases[] = { { 6, AHEAD }, { 7, 2 } };
	int round, rank, c;
	__u64 request;

	for (c = 0; c < 2; c++) {
		const size_t count = cases[c].count;
		const int most = cases[c].most;

		for (round = 0; round < most; round++)
			ASSERT_EQ(0, call(ranks, 0, COLLECTIVE_BROADCAST, 0, count, round));
		request = start(ranks, 0, COLLECTIVE_BROADCAST, 0, count);
		ASSERT_NE(0, request);
		EXPECT_EQ(-EINPROGRESS, member_wait(ranks->fd[0], request, COLLECTIVE_WAIT_NOWAIT));
		for (round = 0; round < most; round++)
			ASSERT_EQ(0, call(ranks, 1, COLLECTIVE_BROADCAST, 0, count, round));
		/* Rank 1 has read all, and needs not come again for rank 2 to go on. */
		EXPECT_EQ(-EINPROGRESS, member_wait(ranks->fd[0], request, COLLECTIVE_WAIT_NOWAIT));
		ASSERT_EQ(0, call(ranks, 2, COLLECTIVE_BROADCAST, 0, count, 0));
		EXPECT_EQ(0, member_wait(ranks->fd[0], request, 0));
		for (round = 1; round < most; round++)
			ASSERT_EQ(0, call(ranks, 2, COLLECTIVE_BROADCAST, 0, count, round));
		for (rank = 1; rank < RANKS; rank++)
			ASSERT_EQ(0, call(ranks, rank, COLLECTIVE_BROADCAST, 0, count, most - 1));
	}
}

/* However long a rank is only ahead or only behind, it may go on. */
TEST_F_TIMEOUT(nosync, distance_does_not_grow, 120)
{
	const struct ranks *ranks = &self->ranks;
	int round;

	for (round = 0; round < 1500; round++) {
		ASSERT_EQ(0, call(ranks, 0, COLLECTIVE_BROADCAST, 0, 1, round)) TH_LOG("%d", round);
		ASSERT_EQ(0, call(ranks, 1, COLLECTIVE_BROADCAST, 0, 1, round)) TH_LOG("%d", round);
		ASSERT_EQ(0, call(ranks, 2, COLLECTIVE_BROADCAST, 0, 1, round)) TH_LOG("%d", round);
	}
}

/* Flags that do not fit, and those that have no effect. */
TEST_F(nosync, takes_flags)
{
	const struct ranks *ranks = &self->ranks;
	struct collective_op op = call_of(ranks, 0, COLLECTIVE_SEND, 1, 1);
	__u64 request[RANKS];
	int rank;

	EXPECT_EQ(-EINVAL, member_submit(ranks->fd[0], &op));
	op = call_of(ranks, 0, COLLECTIVE_BROADCAST, 0, 1);
	op.flags |= 1U << 6;
	EXPECT_EQ(-EINVAL, member_submit(ranks->fd[0], &op));
	/* All ranks are needed, with the flag or without. */
	for (rank = 0; rank < RANKS; rank++) {
		op = call_of(ranks, rank, COLLECTIVE_ALLREDUCE, 0, 1);
		op.flags = rank == 1 ? 0 : COLLECTIVE_F_NOSYNC;
		ranks->send[rank][0] = rank + 1;
		ASSERT_EQ(0, member_start(ranks->fd[rank], &op, &request[rank]));
		if (!rank)
			EXPECT_EQ(-EINPROGRESS,
				  member_wait(ranks->fd[0], request[0], COLLECTIVE_WAIT_NOWAIT));
	}
	for (rank = 0; rank < RANKS; rank++) {
		EXPECT_EQ(0, member_wait(ranks->fd[rank], request[rank], 0));
		EXPECT_EQ(6, ranks->recv[rank][0]);
	}
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* The root has gone on when another rank calls something else. */
TEST_F_TIMEOUT(nosync, the_later_rank_finds_the_root, 60)
{
	const struct ranks *ranks = &self->ranks;
	double since;

	ASSERT_EQ(0, call(ranks, 0, COLLECTIVE_BROADCAST, 0, 2, 0));
	since = seconds();
	EXPECT_EQ(-EBADMSG, call(ranks, 1, COLLECTIVE_BROADCAST, 0, 3, 0));
	/* It does not wait for announcements. */
	EXPECT_GT(slow_machine() ? 1.5 : 0.5, seconds() - since);
	EXPECT_TRUE(names(ranks->fd[1], 0, 2, 1, 3));
	/* Here the operation fails, and there the next one. */
	EXPECT_EQ(-EBADMSG, call(ranks, 2, COLLECTIVE_BROADCAST, 0, 2, 0));
	EXPECT_TRUE(names(ranks->fd[2], 0, 2, 1, 3));
	EXPECT_EQ(-EBADMSG, next_call(ranks, 0));
	EXPECT_TRUE(names(ranks->fd[0], 0, 2, 1, 3));
	EXPECT_EQ(0, call(ranks, 1, COLLECTIVE_SCAN, 0, 1, 0));
	EXPECT_EQ(0, call(ranks, 2, COLLECTIVE_SCAN, 0, 1, 0));
	EXPECT_EQ(0, go_on(ranks));
}

/* Two ranks that need no other one: the later finds the earlier. */
TEST_F_TIMEOUT(nosync, each_is_the_root, 60)
{
	const struct ranks *ranks = &self->ranks;

	ASSERT_EQ(0, call(ranks, 0, COLLECTIVE_BROADCAST, 0, 2, 0));
	EXPECT_EQ(-EBADMSG, call(ranks, 1, COLLECTIVE_BROADCAST, 1, 2, 0));
	EXPECT_TRUE(names(ranks->fd[1], 0, 2, 1, 2));
	EXPECT_EQ(-EBADMSG, call(ranks, 2, COLLECTIVE_BROADCAST, 0, 2, 0));
	EXPECT_EQ(-EBADMSG, next_call(ranks, 0));
	EXPECT_TRUE(names(ranks->fd[0], 0, 2, 1, 2));
	EXPECT_EQ(0, call(ranks, 1, COLLECTIVE_SCAN, 0, 1, 0));
	EXPECT_EQ(0, call(ranks, 2, COLLECTIVE_SCAN, 0, 1, 0));
	EXPECT_EQ(0, go_on(ranks));
}

/* Several operations later. */
TEST_F_TIMEOUT(nosync, a_rank_is_many_ahead, 60)
{
	EXPECT_EQ(0, differs_many_behind(&self->ranks, AHEAD, 0));
}

/* The other call is not one of the board: it is announced, at the latest after a heartbeat. */
TEST_F_TIMEOUT(nosync, another_path, 60)
{
	EXPECT_EQ(0, differs_on_another_path(&self->ranks, 1 << 20));
}

/* The other call was announced before this rank completes its own. */
TEST_F_TIMEOUT(nosync, announced_before, 60)
{
	const struct ranks *ranks = &self->ranks;
	struct collective_op op = call_of(ranks, 0, COLLECTIVE_BROADCAST, 0, 1 << 17);
	__s64 *memory = calloc(1 << 17, sizeof(*memory));
	__u64 request;
	int err, leaf_err;

	ASSERT_NE(NULL, memory);
	ASSERT_EQ(0, go_on(ranks));
	op.send = (uintptr_t)memory;
	op.recv = (uintptr_t)memory;
	ASSERT_EQ(0, member_start(ranks->fd[0], &op, &request));
	usleep(300000);
	/* Rank 1 finds the announcement at once if its call is a request. */
	err = call(ranks, 1, COLLECTIVE_BROADCAST, 1, 2, 0);
	EXPECT_EQ(-EBADMSG, member_wait(ranks->fd[0], request, 0));
	leaf_err = call(ranks, 2, COLLECTIVE_BROADCAST, 1, 2, 0);
	EXPECT_EQ(0, call(ranks, 0, COLLECTIVE_SCAN, 0, 1, 0));
	EXPECT_EQ(-EBADMSG, err ?: next_call(ranks, 1));
	EXPECT_TRUE(names(ranks->fd[1], GO_ON, 2, 0, 1 << 17));
	if (err)
		EXPECT_EQ(0, call(ranks, 1, COLLECTIVE_SCAN, 0, 1, 0));
	EXPECT_EQ(leaf_err ? 0 : -EBADMSG, next_call(ranks, 2));
	EXPECT_EQ(0, go_on(ranks));
	free(memory);
}

/* The operation that tells of an earlier failure is compared like any other. */
TEST_F_TIMEOUT(nosync, differs_again, 60)
{
	const struct ranks *ranks = &self->ranks;

	ASSERT_EQ(0, call(ranks, 0, COLLECTIVE_BROADCAST, 0, 2, 0));
	EXPECT_EQ(-EBADMSG, call(ranks, 1, COLLECTIVE_BROADCAST, 0, 3, 0));
	EXPECT_EQ(-EBADMSG, call(ranks, 2, COLLECTIVE_BROADCAST, 0, 2, 0));
	usleep(1000 * enough_ms(500));
	EXPECT_EQ(-EBADMSG, call(ranks, 0, COLLECTIVE_BROADCAST, 0, 4, 0));
	EXPECT_EQ(-EBADMSG, call(ranks, 1, COLLECTIVE_BROADCAST, 0, 5, 0));
	EXPECT_TRUE(names(ranks->fd[1], 1, 4, 1, 5));
	EXPECT_EQ(-EBADMSG, call(ranks, 2, COLLECTIVE_BROADCAST, 0, 4, 0));
	EXPECT_EQ(-EBADMSG, next_call(ranks, 0));
	EXPECT_TRUE(names(ranks->fd[0], 1, 4, 1, 5));
	EXPECT_EQ(0, call(ranks, 1, COLLECTIVE_SCAN, 0, 1, 0));
	EXPECT_EQ(0, call(ranks, 2, COLLECTIVE_SCAN, 0, 1, 0));
	EXPECT_EQ(0, go_on(ranks));
}

/**
 * struct leaf - a rank that waits in a thread
 * @ranks: the group
 * @opcode: what rank 1 calls; its root is rank 0
 * @err: result
 * @end: time of its end; s
 */
struct leaf {
	const struct ranks *ranks;
	__u8 opcode;
	int err;
	double end;
};

static void *leaf_run(void *arg)
{
	struct leaf *leaf = arg;

	leaf->err = call(leaf->ranks, 1, leaf->opcode, 0, 2, 0);
	leaf->end = seconds();
	return NULL;
}

static __u64 start_as(const struct ranks *ranks, int rank, __u8 opcode, __u32 flags)
{
	struct collective_op op = call_of(ranks, rank, opcode, 0, 2);
	__u64 request = 0;
	size_t i;

	op.flags = flags;
	for (i = 0; i < RANKS * COUNT; i++)
		ranks->send[rank][i] = input(rank, i, 0);
	return member_start(ranks->fd[rank], &op, &request) ? 0 : request;
}

/* A rank that sleeps is woken by those that it needs, though these wait themselves. */
static int leaf_wakes(const struct ranks *ranks, __u8 opcode, __u32 flags)
{
	struct leaf leaf = { ranks, opcode, -1, 0 };
	pthread_t thread;
	__u64 request, last;
	double since;

	CHECK_EQ(0, pthread_create(&thread, NULL, leaf_run, &leaf));
	usleep(300000);
	request = start_as(ranks, 0, opcode, flags);
	since = seconds();
	CHECK(request);
	usleep(500000);
	last = start_as(ranks, 2, opcode, flags);
	CHECK(last);
	CHECK_EQ(0, pthread_join(thread, NULL));
	CHECK_EQ(0, leaf.err);
	/* Not by the third rank, and not by a heartbeat. */
	CHECK(leaf.end - since < 0.4);
	CHECK_EQ(0, member_wait(ranks->fd[0], request, 0));
	CHECK_EQ(0, member_wait(ranks->fd[2], last, 0));
	return 0;
}

TEST_F_TIMEOUT(nosync, others_wait_for_all, 60)
{
	const struct ranks *ranks = &self->ranks;

	EXPECT_EQ(0, leaf_wakes(ranks, COLLECTIVE_BROADCAST, 0));
	EXPECT_EQ(0, leaf_wakes(ranks, COLLECTIVE_SCAN, 0));
	EXPECT_EQ(0, go_on(ranks));
}

/* A rank that leaves after its own part has left the others what they need. */
TEST_F_TIMEOUT(nosync, a_rank_leaves_ahead, 60)
{
	const struct ranks *ranks = &self->ranks;
	int round, rank;

	for (round = 0; round < 5; round++)
		ASSERT_EQ(0, call(ranks, 0, COLLECTIVE_BROADCAST, 0, 6, round));
	ASSERT_EQ(0, member_leave(ranks->fd[0]));
	usleep(100000);
	for (rank = 1; rank < RANKS; rank++)
		for (round = 0; round < 5; round++)
			EXPECT_EQ(0, call(ranks, rank, COLLECTIVE_BROADCAST, 0, 6, round))
				TH_LOG("rank %d round %d", rank, round);
	EXPECT_EQ(-ECONNRESET, call(ranks, 1, COLLECTIVE_BROADCAST, 0, 6, 0));
}

TEST_HARNESS_MAIN
