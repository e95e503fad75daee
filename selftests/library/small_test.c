// SPDX-License-Identifier: GPL-2.0-only
/*
 * Small blocking operations, which the process executes itself: that it does, beside all other
 * forms of the same calls, and what becomes of one that has to wait: with limits of memory and of
 * time, in memory that the kernel cannot use, and when its thread is cancelled.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "lib/lib_group.h"
#include "lib/local_only.h"
#include "lib/memlock.h"

#define NRANKS	2
#define LATE_MS	300

static int sum(struct lib_rank *me, int *result)
{
	const int mine = me->rank + 1;

	*result = 0;
	return coll_allreduce(me->comm, &mine, result, 1, COLL_INT32, COLL_SUM);
}

static int wanted(const struct lib_rank *me)
{
	return me->nranks * (me->nranks + 1) / 2;
}

/* Numbers of elements: in slots of the board, in pages of it, and of operations without it. */
static const size_t counts[] = { 1, 1, 12, 13, 1024, 1025, 5000, 3, 3000, 512 };

static bool is_all(const int *values, size_t n, int value)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (values[i] != value)
			return false;
	return true;
}

/* All forms of a call in turn, which differ between the ranks. */
static int rank_forms(struct lib_rank *me)
{
	static int mine[5000], result[5000];
	struct coll_comm *comm = me->comm;
	struct coll_request *request;
	size_t count, j;
	int i, err;

	CHECK_EQ(4096, coll_small_bytes(comm));
	for (i = 0; i < 600; i++) {
		count = counts[i % ARRAY_SIZE(counts)];
		for (j = 0; j < count; j++) {
			mine[j] = me->rank + i;
			result[j] = 0;
		}
		switch ((i / 7 + me->rank) % 3) {
		case 0:
			err = coll_allreduce(comm, mine, result, count, COLL_INT32, COLL_SUM);
			CHECK_EQ(0, err);
			break;
		case 1:
			err = coll_iallreduce(comm, mine, result, count, COLL_INT32, COLL_SUM,
					      &request);
			CHECK_EQ(0, err ?: coll_wait(request));
			break;
		default:
			err = coll_submit_wait(comm, &(struct collective_op){
				.opcode = COLLECTIVE_ALLREDUCE, .type = COLLECTIVE_INT32,
				.send = (uintptr_t)mine, .recv = (uintptr_t)result,
				.count = count,
			}, 1, &request);
			CHECK(!err || err == -EINPROGRESS);
			if (err)
				CHECK_EQ(0, coll_wait(request));
		}
		CHECK(is_all(result, count, me->nranks * i + me->nranks * (me->nranks - 1) / 2));
		if (i % 50 == 0 && me->rank == i / 50 % me->nranks)
			sleep_ms(3);
	}
	return 0;
}

TEST(forms)
{
	int nranks;

	for (nranks = 2; nranks <= 4; nranks++)
		EXPECT_EQ(0, lib_group_run(nranks, NULL, rank_forms, NULL));
}

static int rank_private(struct lib_rank *me)
{
	int result;

	CHECK_EQ(0, coll_small_bytes(me->comm));
	CHECK_EQ(0, sum(me, &result));
	CHECK_EQ(wanted(me), result);
	return 0;
}

TEST(private)
{
	struct coll_config config = { .size = sizeof(config), .flags = COLL_CONFIG_PRIVATE };

	EXPECT_EQ(0, lib_group_run(NRANKS, &config, rank_private, NULL));
	EXPECT_EQ(0, coll_small_bytes(NULL));
}

/* Without any memory that may be locked, a rank that waits for long looks for the other itself. */
static int rank_unlocked(struct lib_rank *me)
{
	int i, result;

	CHECK_EQ(0, coll_barrier(me->comm));
	CHECK(memlock_limit(0) && drop_ipc_lock());
	for (i = 0; i < 4; i++) {
		if (me->rank == i % NRANKS)
			sleep_ms(LATE_MS);
		CHECK_EQ(0, sum(me, &result));
		CHECK_EQ(wanted(me), result);
	}
	CHECK_EQ(0, coll_barrier(me->comm));
	return 0;
}

TEST(nothing_locked)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_unlocked, NULL));
}

/* And such an operation has a deadline, like others. */
static int rank_overdue(struct lib_rank *me)
{
	int result;

	if (!me->rank) {
		CHECK(memlock_limit(0) && drop_ipc_lock());
		CHECK_EQ(-ETIMEDOUT, sum(me, &result));
		flag_set(me->shared, 0, 1);
	} else {
		/* And until it has been told. */
		CHECK(flag_wait(me->shared, 0, 1, 60000));
		sleep_ms(LATE_MS);
		CHECK_EQ(-ETIMEDOUT, sum(me, &result));
	}
	CHECK(flag_barrier(me->shared, 1, NRANKS));
	CHECK_EQ(0, sum(me, &result));
	CHECK_EQ(wanted(me), result);
	return 0;
}

TEST(nothing_locked_and_overdue)
{
	struct coll_config config = { .size = sizeof(config), .timeout_ms = 3 * LATE_MS };

	EXPECT_EQ(0, lib_group_run(NRANKS, &config, rank_overdue, NULL));
}

/* The kernel cannot use the memory of the result, and the other rank is late. */
static int rank_unpinnable(struct lib_rank *me)
{
	char path[] = "/tmp/small.XXXXXX";
	int file = mkstemp(path), i, *result;
	const int mine = me->rank + 1;

	CHECK(file >= 0 && !unlink(path) && !ftruncate(file, 4096));
	result = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	CHECK(result != MAP_FAILED);
	for (i = 0; i < 4; i++) {
		if (me->rank == i % NRANKS)
			sleep_ms(LATE_MS / 3);
		CHECK_EQ(0, coll_allreduce(me->comm, &mine, result, 1, COLL_INT32, COLL_SUM));
		CHECK_EQ(wanted(me), *result);
		result[1 - me->rank] = 0;
		result[me->rank] = 10 + me->rank;
		if (me->rank == i % NRANKS)
			sleep_ms(LATE_MS / 3);
		CHECK_EQ(0, coll_allgather(me->comm, COLL_IN_PLACE, result, 1, COLL_INT32));
		CHECK_EQ(10, result[0]);
		CHECK_EQ(11, result[1]);
	}
	return 0;
}

TEST(unpinnable)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_unpinnable, NULL));
}

/* The result of a call whose time was over comes where the caller wants it. */
static int rank_timed(struct lib_rank *me)
{
	const int mine = me->rank + 1;
	struct coll_request *request;
	int result = 0, err;

	if (me->rank)
		CHECK(flag_wait(me->shared, 0, 1, 60000));
	err = coll_submit_wait(me->comm, &(struct collective_op){
		.opcode = COLLECTIVE_ALLREDUCE, .type = COLLECTIVE_INT32, .count = 1,
		.send = (uintptr_t)&mine, .recv = (uintptr_t)&result,
	}, LATE_MS / 10, &request);
	CHECK(me->rank ? !err || err == -EINPROGRESS : err == -EINPROGRESS);
	flag_set(me->shared, 0, 1);
	if (err)
		CHECK_EQ(0, coll_wait(request));
	CHECK_EQ(wanted(me), result);
	return 0;
}

TEST(timed)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_timed, NULL));
}

static void *call_and_end(void *argument)
{
	struct lib_rank *me = argument;
	int result;

	sum(me, &result);
	pthread_testcancel();
	return NULL;
}

/* A thread that is cancelled while it waits leaves nothing undone. */
static int rank_cancelled(struct lib_rank *me)
{
	pthread_t thread;
	void *ended;
	int result;

	CHECK_EQ(0, coll_barrier(me->comm));
	CHECK(memlock_limit(0) && drop_ipc_lock());
	if (!me->rank) {
		CHECK_EQ(0, pthread_create(&thread, NULL, call_and_end, me));
		sleep_ms(LATE_MS / 3);
		CHECK_EQ(0, pthread_cancel(thread));
		CHECK_EQ(0, pthread_join(thread, &ended));
		CHECK(ended == PTHREAD_CANCELED);
	} else {
		sleep_ms(LATE_MS);
		CHECK_EQ(0, sum(me, &result));
	}
	CHECK_EQ(0, sum(me, &result));
	CHECK_EQ(wanted(me), result);
	return 0;
}

TEST(cancelled)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_cancelled, NULL));
}

TEST_HARNESS_MAIN
