// SPDX-License-Identifier: GPL-2.0-only
/*
 * COLLECTIVE_F_NOSYNC where frames carry the operation: a rank completes it when its own part is
 * done, matching goes on, and no rank leaves before the others have what they need of it.
 */
#include <pthread.h>

#include "kselftest_harness.h"
#include "device/nosync.h"
#include "lib/tcp_only.h"

#define AHEAD	32		/* operations that a rank may be ahead */
#define LARGE	131072		/* elements of an operation that asks for its payload */

TEST_F_TIMEOUT(nosync, one_thread_is_all_ranks, 120)
{
	ASSERT_EQ(0, one_thread_is_all_ranks(&self->ranks));
}

/* A rank is so far ahead of the announcements of others. */
TEST_F_TIMEOUT(nosync, a_root_is_so_far_ahead, 60)
{
	const struct ranks *ranks = &self->ranks;
	int round, rank, turn;
	__u64 request;

	for (turn = 0; turn < 3; turn++) {
		for (round = 0; round < AHEAD; round++)
			ASSERT_EQ(0, call(ranks, 0, COLLECTIVE_BROADCAST, 0, 6, round));
		request = start(ranks, 0, COLLECTIVE_BROADCAST, 0, 6);
		ASSERT_NE(0, request);
		usleep(100000);
		EXPECT_EQ(-EINPROGRESS, member_wait(ranks->fd[0], request, COLLECTIVE_WAIT_NOWAIT));
		for (round = 0; round < AHEAD; round++)
			for (rank = 1; rank < RANKS; rank++)
				ASSERT_EQ(0, call(ranks, rank, COLLECTIVE_BROADCAST, 0, 6, round));
		for (rank = 1; rank < RANKS; rank++)
			ASSERT_EQ(0, call(ranks, rank, COLLECTIVE_BROADCAST, 0, 6, AHEAD - 1));
		EXPECT_EQ(0, member_wait(ranks->fd[0], request, 0));
	}
}

/* However long a rank is only ahead or only behind, it may go on. */
TEST_F_TIMEOUT(nosync, distance_does_not_grow, 120)
{
	const struct ranks *ranks = &self->ranks;
	int round, rank, err = 0;

	for (round = 0; !err && round < 1500; round++)
		for (rank = 0; !err && rank < RANKS; rank++)
			err = call(ranks, rank, COLLECTIVE_BROADCAST, 0, 1, round);
	ASSERT_EQ(0, err) TH_LOG("round %d rank %d", round - 1, rank - 1);
}

/* Start a broadcast of rank 0 with flags of its own.  Return: the request, or 0. */
static __u64 start_flags(const struct ranks *ranks, int rank, __u32 flags)
{
	struct collective_op op = call_of(ranks, rank, COLLECTIVE_BROADCAST, 0, 6);
	__u64 request = 0;

	op.flags = flags;
	op.key = flags & COLLECTIVE_F_KEYED ? 7 : 0;
	return member_start(ranks->fd[rank], &op, &request) ? 0 : request;
}

/* Rank 0 waits for all.  Return: 0 or 1. */
static int root_waits(const struct ranks *ranks, __u32 root_flags, __u32 flags)
{
	__u64 request[RANKS];
	int rank;

	for (rank = 0; rank < RANKS; rank++) {
		request[rank] = start_flags(ranks, rank, rank ? flags : root_flags);
		CHECK(request[rank]);
		usleep(100000);
		if (rank < RANKS - 1)
			CHECK_EQ(-EINPROGRESS,
				 member_wait(ranks->fd[0], request[0], COLLECTIVE_WAIT_NOWAIT));
	}
	for (rank = 0; rank < RANKS; rank++)
		CHECK_EQ(0, member_wait(ranks->fd[rank], request[rank], 0));
	return 0;
}

TEST_F_TIMEOUT(nosync, others_wait, 60)
{
	const struct ranks *ranks = &self->ranks;
	const __u32 keyed = COLLECTIVE_F_NOSYNC | COLLECTIVE_F_KEYED;

	EXPECT_EQ(0, root_waits(ranks, 0, COLLECTIVE_F_NOSYNC));
	EXPECT_EQ(0, root_waits(ranks, keyed, keyed));
	EXPECT_EQ(0, go_on(ranks));
}

/* The root has gone on when another rank calls something else. */
TEST_F_TIMEOUT(nosync, the_later_rank_finds_the_root, 60)
{
	const struct ranks *ranks = &self->ranks;

	ASSERT_EQ(0, call(ranks, 0, COLLECTIVE_BROADCAST, 0, 2, 0));
	EXPECT_EQ(-EBADMSG, call(ranks, 1, COLLECTIVE_BROADCAST, 0, 3, 0));
	EXPECT_TRUE(names(ranks->fd[1], 0, 2, 1, 3));
	/* Here the operation fails once the failure is known, and there the next one. */
	usleep(1000 * enough_ms(500));
	EXPECT_EQ(-EBADMSG, call(ranks, 2, COLLECTIVE_BROADCAST, 0, 2, 0));
	EXPECT_TRUE(names(ranks->fd[2], 0, 2, 1, 3));
	EXPECT_EQ(-EBADMSG, next_call(ranks, 0));
	EXPECT_TRUE(names(ranks->fd[0], 0, 2, 1, 3));
	EXPECT_EQ(0, call(ranks, 1, COLLECTIVE_SCAN, 0, 1, 0));
	EXPECT_EQ(0, call(ranks, 2, COLLECTIVE_SCAN, 0, 1, 0));
	EXPECT_EQ(0, go_on(ranks));
}

/* Several operations later. */
TEST_F_TIMEOUT(nosync, a_rank_is_many_ahead, 60)
{
	EXPECT_EQ(0, differs_many_behind(&self->ranks, AHEAD, enough_ms(500)));
}

/*
 * Each rank says that it is the root, at the same time: all may have gone on before one finds it.
 * Return: 0 or 1.
 */
static int all_are_roots(const struct ranks *ranks)
{
	__u64 request[RANKS];
	int rank, err[RANKS];

	for (rank = 0; rank < RANKS; rank++)
		request[rank] = start(ranks, rank, COLLECTIVE_BROADCAST, rank, 2);
	for (rank = 0; rank < RANKS; rank++) {
		CHECK(request[rank]);
		err[rank] = member_wait(ranks->fd[rank], request[rank], 0);
		CHECK(!err[rank] || err[rank] == -EBADMSG);
	}
	usleep(1000 * enough_ms(500));
	for (rank = 0; rank < RANKS; rank++)
		CHECK_EQ(err[rank] ? 0 : -EBADMSG, call(ranks, rank, COLLECTIVE_SCAN, 0, 1, 0));
	return 0;
}

TEST_F_TIMEOUT(nosync, all_are_roots, 60)
{
	int round;

	for (round = 0; round < 5; round++)
		ASSERT_EQ(0, all_are_roots(&self->ranks));
	EXPECT_EQ(0, go_on(&self->ranks));
}

/* The other call is one that no rank completes by itself. */
TEST_F_TIMEOUT(nosync, another_path, 60)
{
	EXPECT_EQ(0, differs_on_another_path(&self->ranks, LARGE));
}

/* A failure of another kind is passed on by a rank that is ahead, and is none for that rank. */
TEST_F_TIMEOUT(nosync, a_deadline, 60)
{
	const struct ranks *ranks = &self->ranks;
	struct collective_op op = call_of(ranks, 1, COLLECTIVE_BROADCAST, 0, 2);

	op.flags = 0;
	op.timeout_ms = enough_ms(300);
	ASSERT_EQ(0, call(ranks, 0, COLLECTIVE_BROADCAST, 0, 2, 0));
	EXPECT_EQ(-ETIMEDOUT, member_submit(ranks->fd[1], &op));
	usleep(1000 * enough_ms(300));
	EXPECT_EQ(-ETIMEDOUT, call(ranks, 2, COLLECTIVE_BROADCAST, 0, 2, 0));
	EXPECT_EQ(0, go_on(ranks));
}

/**
 * struct leaver - a rank that leaves in a thread
 * @fd: its file
 * @closes: it closes the file
 * @err: result
 * @has_left: it has left
 */
struct leaver {
	int fd;
	bool closes;
	int err;
	bool has_left;
};

static void *leaver_run(void *arg)
{
	struct leaver *leaver = arg;

	leaver->err = leaver->closes ? close(leaver->fd) : member_leave(leaver->fd);
	__atomic_store_n(&leaver->has_left, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool has_left(const struct leaver *leaver)
{
	return __atomic_load_n(&leaver->has_left, __ATOMIC_ACQUIRE);
}

/* A rank that leaves after its own part leaves the others what they need.  Return: 0 or 1. */
static int leave_ahead(struct ranks *ranks, bool closes)
{
	struct leaver leaver = { ranks->fd[0], closes, -1, false };
	pthread_t thread;
	int round, rank;

	for (round = 0; round < 5; round++)
		CHECK_EQ(0, call(ranks, 0, COLLECTIVE_BROADCAST, 0, 6, round));
	CHECK_EQ(0, pthread_create(&thread, NULL, leaver_run, &leaver));
	usleep(200000);
	CHECK(!has_left(&leaver));
	for (rank = 1; rank < RANKS; rank++)
		for (round = 0; round < 5; round++)
			CHECK_EQ(0, call(ranks, rank, COLLECTIVE_BROADCAST, 0, 6, round));
	CHECK_EQ(0, pthread_join(thread, NULL));
	CHECK_EQ(0, leaver.err);
	if (closes)
		ranks->fd[0] = -1;
	CHECK_EQ(-ECONNRESET, call(ranks, 1, COLLECTIVE_BROADCAST, 0, 6, 0));
	return 0;
}

TEST_F_TIMEOUT(nosync, a_rank_leaves_ahead, 60)
{
	EXPECT_EQ(0, leave_ahead(&self->ranks, false));
}

TEST_F_TIMEOUT(nosync, a_rank_closes_ahead, 60)
{
	EXPECT_EQ(0, leave_ahead(&self->ranks, true));
}

/* Wait until a rank knows that the group has failed.  Return: false: it does not. */
static bool await_failure(int fd)
{
	struct collective_status status;
	int i;

	for (i = 0; i < 100; i++) {
		if (member_status(fd, &status) || status.state != COLLECTIVE_STATE_UP)
			return true;
		usleep(1000 * enough_ms(100));
	}
	return false;
}

/* Another rank never calls it, and leaves: the group fails, and the rank that waits has left. */
TEST_F_TIMEOUT(nosync, a_rank_behind_leaves, 60)
{
	struct ranks *ranks = &self->ranks;
	struct leaver leaver = { ranks->fd[0], false, -1, false };
	pthread_t thread;

	ASSERT_EQ(0, call(ranks, 0, COLLECTIVE_BROADCAST, 0, 6, 0));
	ASSERT_EQ(0, pthread_create(&thread, NULL, leaver_run, &leaver));
	usleep(200000);
	EXPECT_FALSE(has_left(&leaver));
	EXPECT_EQ(0, member_leave(ranks->fd[2]));
	/* Before it knows, rank 1 may complete its call. */
	EXPECT_TRUE(await_failure(ranks->fd[1]));
	EXPECT_EQ(-ECONNRESET, call(ranks, 1, COLLECTIVE_BROADCAST, 0, 6, 0));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, leaver.err);
	/* The rank has ended. */
	EXPECT_EQ(-ENOTCONN, member_leave(ranks->fd[0]));
}

/* What is in flight fails at once, also if ranks are behind. */
TEST_F_TIMEOUT(nosync, what_is_in_flight_fails, 60)
{
	struct ranks *ranks = &self->ranks;
	struct leaver leaver = { ranks->fd[0], false, -1, false };
	__u64 request;

	ASSERT_EQ(0, call(ranks, 0, COLLECTIVE_BROADCAST, 0, 6, 0));
	request = start(ranks, 0, COLLECTIVE_ALLREDUCE, 0, 6);
	ASSERT_NE(0, request);
	leaver_run(&leaver);
	EXPECT_EQ(0, leaver.err);
	EXPECT_EQ(-ECANCELED, member_wait(ranks->fd[0], request, 0));
	EXPECT_EQ(-ECONNRESET, call(ranks, 1, COLLECTIVE_BROADCAST, 0, 6, 0));
}

/* Of calls that differ the last ones may be: STATUS tells also a rank that makes no other. */
TEST_F_TIMEOUT(nosync, no_call_follows, 60)
{
	const struct ranks *ranks = &self->ranks;

	ASSERT_EQ(0, call(ranks, 0, COLLECTIVE_BROADCAST, 0, 2, 0));
	EXPECT_EQ(-EBADMSG, call(ranks, 1, COLLECTIVE_BROADCAST, 0, 3, 0));
	usleep(1000 * enough_ms(500));
	EXPECT_TRUE(names(ranks->fd[0], 0, 2, 1, 3));
	EXPECT_EQ(-EBADMSG, call(ranks, 2, COLLECTIVE_BROADCAST, 0, 2, 0));
	EXPECT_EQ(0, member_leave(ranks->fd[0]));
}

TEST_HARNESS_MAIN
