// SPDX-License-Identifier: GPL-2.0-only
/* Messages of a rank to itself: by order and tag, in all forms, and what ends them. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <collective_uring.h>

#include "lib/lib_group.h"
#include "kselftest_harness.h"
#include "lib/uring.h"

#define SMALL	5
#define BIG	(1 << 20)
#define MANY	120
#define NONE	COLL_TAG_NONE

static int value(int message, size_t i)
{
	return message * 7919 + i * 31;
}

static int *numbers(int message, size_t count)
{
	int *at = calloc(count ? count : 1, sizeof(*at));
	size_t i;

	for (i = 0; at && message >= 0 && i < count; i++)
		at[i] = value(message, i);
	return at;
}

static bool holds(const int *at, int message, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (at[i] != value(message, i))
			return false;
	return true;
}

/* One message, with the send or the receive first. */
static int one_message(struct lib_rank *me, size_t count, long long tag, bool receive_first)
{
	int *from = numbers(3, count), *to = numbers(-1, count);
	struct coll_request *r[2];
	int done = 1;

	CHECK(from && to);
	if (receive_first)
		CHECK_EQ(0, coll_irecv(me->comm, to, count, COLL_INT32, me->rank, tag, &r[0]));
	else
		CHECK_EQ(0, coll_isend(me->comm, from, count, COLL_INT32, me->rank, tag, &r[0]));
	CHECK_EQ(0, coll_test(r[0], &done));
	CHECK(!done);
	if (receive_first)
		CHECK_EQ(0, coll_isend(me->comm, from, count, COLL_INT32, me->rank, tag, &r[1]));
	else
		CHECK_EQ(0, coll_irecv(me->comm, to, count, COLL_INT32, me->rank, tag, &r[1]));
	CHECK_EQ(0, coll_wait_all(r, 2));
	CHECK(holds(to, 3, count));
	/* The half that comes last may wait. */
	memset(to, 0, count * sizeof(*to));
	if (receive_first) {
		CHECK_EQ(0, coll_irecv(me->comm, to, count, COLL_INT32, me->rank, tag, &r[0]));
		CHECK_EQ(0, coll_send(me->comm, from, count, COLL_INT32, me->rank, tag));
	} else {
		CHECK_EQ(0, coll_isend(me->comm, from, count, COLL_INT32, me->rank, tag, &r[0]));
		CHECK_EQ(0, coll_recv(me->comm, to, count, COLL_INT32, me->rank, tag));
	}
	CHECK_EQ(0, coll_wait(r[0]));
	CHECK(holds(to, 3, count));
	free(from);
	free(to);
	return 0;
}

static int rank_sizes(struct lib_rank *me)
{
	static const size_t counts[] = { 0, 1, SMALL, 8192, 8193, BIG + 3 };
	size_t i;

	for (i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		CHECK_EQ(0, one_message(me, counts[i], NONE, false));
		CHECK_EQ(0, one_message(me, counts[i], NONE, true));
		CHECK_EQ(0, one_message(me, counts[i], 77, false));
		CHECK_EQ(0, one_message(me, counts[i], 77, true));
	}
	return coll_barrier(me->comm);
}

TEST(sizes)
{
	EXPECT_EQ(0, lib_group_run(1, NULL, rank_sizes, NULL));
	EXPECT_EQ(0, lib_group_run(3, NULL, rank_sizes, NULL));
}

/* In order, and by tag in any order of tags; messages between two ranks are counted apart. */
static int rank_order(struct lib_rank *me)
{
	static int from[MANY][SMALL], to[MANY][SMALL];
	struct coll_request *r[2 * MANY];
	int other = !me->rank, own = -1, got = -1, i, k;

	for (i = 0; i < MANY; i++) {
		long long tag = i % 3 == 2 ? NONE : i % 3;

		for (k = 0; k < SMALL; k++)
			from[i][k] = value(i, k);
		CHECK_EQ(0, coll_isend(me->comm, from[i], SMALL, COLL_INT32, me->rank, tag, &r[i]));
	}
	own = me->rank;
	if (me->rank) {
		CHECK_EQ(0, coll_send(me->comm, &own, 1, COLL_INT32, other, NONE));
		CHECK_EQ(0, coll_recv(me->comm, &got, 1, COLL_INT32, other, NONE));
	} else {
		CHECK_EQ(0, coll_recv(me->comm, &got, 1, COLL_INT32, other, NONE));
		CHECK_EQ(0, coll_send(me->comm, &own, 1, COLL_INT32, other, NONE));
	}
	CHECK_EQ(other, got);
	/* One tag after the other. */
	for (k = 2; k >= 0; k--)
		for (i = k; i < MANY; i += 3)
			CHECK_EQ(0, coll_irecv(me->comm, to[i], SMALL, COLL_INT32, me->rank,
					       k == 2 ? NONE : k, &r[MANY + i]));
	CHECK_EQ(0, coll_wait_all(r, 2 * MANY));
	for (i = 0; i < MANY; i++)
		CHECK(holds(to[i], i, SMALL));
	return coll_barrier(me->comm);
}

TEST(order)
{
	EXPECT_EQ(0, lib_group_run(2, NULL, rank_order, NULL));
}

/* Persistent messages, in either order, and in registered memory that overlaps nothing. */
static int rank_persistent(struct lib_rank *me)
{
	struct coll_request *r[2];
	int *at = coll_mem_alloc(me->comm, 2 * BIG * sizeof(*at));
	int round, i;

	CHECK(at);
	CHECK_EQ(0, coll_send_init(me->comm, at, BIG, COLL_INT32, me->rank, 5, &r[0]));
	CHECK_EQ(0, coll_recv_init(me->comm, at + BIG, BIG, COLL_INT32, me->rank, 5, &r[1]));
	for (round = 0; round < 6; round++) {
		for (i = 0; i < BIG; i++)
			at[i] = value(round, i);
		CHECK_EQ(0, coll_start(r[round & 1]));
		CHECK_EQ(0, coll_start(r[!(round & 1)]));
		CHECK_EQ(0, coll_wait_all(r, 2));
		CHECK(holds(at + BIG, round, BIG));
	}
	CHECK_EQ(0, coll_request_free(r[0]));
	CHECK_EQ(0, coll_request_free(r[1]));
	/* Into itself: nothing changes. */
	CHECK_EQ(0, coll_isend(me->comm, at, BIG, COLL_INT32, me->rank, NONE, &r[0]));
	CHECK_EQ(0, coll_recv(me->comm, at, BIG, COLL_INT32, me->rank, NONE));
	CHECK_EQ(0, coll_wait(r[0]));
	CHECK(holds(at, 5, BIG));
	coll_mem_free(me->comm, at);
	return coll_barrier(me->comm);
}

TEST(persistent)
{
	EXPECT_EQ(0, lib_group_run(2, NULL, rank_persistent, NULL));
}

static int varlen(struct lib_rank *me, size_t sent, size_t capacity, size_t touched)
{
	int *from = numbers(1, sent), *to = numbers(-1, BIG);
	size_t count = capacity, i;
	struct coll_request *r;

	CHECK(from && to);
	CHECK_EQ(0, coll_isend(me->comm, from, sent, COLL_INT32, me->rank, NONE, &r));
	CHECK_EQ(sent > capacity ? -EMSGSIZE : 0,
		 coll_recv_varlen(me->comm, to, &count, COLL_INT32, me->rank, NONE));
	CHECK_EQ(0, coll_wait(r));
	CHECK_EQ(sent, count);
	CHECK(holds(to, 1, touched));
	for (i = touched; i < BIG; i++)
		CHECK(!to[i]);
	free(from);
	free(to);
	return 0;
}

static int rank_varlen(struct lib_rank *me)
{
	CHECK_EQ(0, varlen(me, 100, 100, 100));
	CHECK_EQ(0, varlen(me, 100, BIG, 100));
	CHECK_EQ(0, varlen(me, 0, 10, 0));
	CHECK_EQ(0, varlen(me, 10, 0, 0));
	CHECK_EQ(0, varlen(me, 100, 99, 99));
	CHECK_EQ(0, varlen(me, BIG, 50001, 50001));
	return coll_barrier(me->comm);
}

TEST(variable_length)
{
	EXPECT_EQ(0, lib_group_run(2, NULL, rank_varlen, NULL));
}

/* A half that is cancelled: its completion, and that of the command that cancels it. */
static int cancelled_half(struct io_uring *ring, struct coll_comm *comm, __u64 half)
{
	struct io_uring_sqe *sqe = next_sqe(ring);
	__u64 data;
	int i, result;

	coll_prep_cancel(sqe, comm, half);
	io_uring_sqe_set_data64(sqe, 0);
	CHECK_EQ(1, io_uring_submit(ring));
	for (i = 0; i < 2; i++) {
		result = ring_wait(ring, &data);
		CHECK_EQ(data == half ? -ECANCELED : 0, result);
	}
	return 0;
}

/* Two commands of one ring, a command with a call, and a command that is cancelled. */
static int rank_uring(struct lib_rank *me)
{
	int *from = numbers(6, BIG), *to = numbers(-1, BIG);
	struct io_uring_sqe *sqe;
	struct coll_request *r;
	struct io_uring ring;
	__u64 data;

	CHECK(from && to);
	CHECK_EQ(0, ring_open(&ring, 0));
	CHECK_EQ(0, coll_prep_send(next_sqe(&ring), me->comm, from, BIG, COLL_INT32, me->rank, 1));
	CHECK_EQ(0, coll_prep_recv(next_sqe(&ring), me->comm, to, BIG, COLL_INT32, me->rank, 1));
	CHECK_EQ(2, io_uring_submit(&ring));
	CHECK_EQ(0, ring_wait(&ring, &data));
	CHECK_EQ(0, ring_wait(&ring, &data));
	CHECK(holds(to, 6, BIG));
	memset(to, 0, BIG * sizeof(*to));
	CHECK_EQ(0, coll_prep_recv(next_sqe(&ring), me->comm, to, BIG, COLL_INT32, me->rank, 2));
	CHECK_EQ(1, io_uring_submit(&ring));
	CHECK_EQ(0, coll_send(me->comm, from, BIG, COLL_INT32, me->rank, 2));
	CHECK_EQ(0, ring_wait(&ring, &data));
	CHECK(holds(to, 6, BIG));
	sqe = next_sqe(&ring);
	CHECK_EQ(0, coll_prep_send(sqe, me->comm, from, 1, COLL_INT32, me->rank, 3));
	io_uring_sqe_set_data64(sqe, 33);
	CHECK_EQ(1, io_uring_submit(&ring));
	CHECK(!cancelled_half(&ring, me->comm, 33));
	io_uring_queue_exit(&ring);
	CHECK_EQ(0, coll_irecv(me->comm, to, 1, COLL_INT32, me->rank, 3, &r));
	CHECK_EQ(-ECANCELED, coll_wait(r));
	free(from);
	free(to);
	return coll_barrier(me->comm);
}

TEST(uring)
{
	EXPECT_EQ(0, lib_group_run(2, NULL, rank_uring, NULL));
}

/* Ends that differ fail with the same errno, and name both calls; the next message is good. */
static int rank_mismatch(struct lib_rank *me)
{
	int from[8] = { 0 }, to[8];
	struct coll_request *r;
	char text[64];

	CHECK_EQ(0, coll_isend(me->comm, from, 8, COLL_INT32, me->rank, NONE, &r));
	CHECK_EQ(-EBADMSG, coll_recv(me->comm, to, 7, COLL_INT32, me->rank, NONE));
	snprintf(text, sizeof(text), "rank %d and rank %d made different calls", me->rank,
		 me->rank);
	CHECK(strstr(coll_error_detail(me->comm), text));
	CHECK(strstr(coll_error_detail(me->comm), "send of 8 int32"));
	CHECK(strstr(coll_error_detail(me->comm), "recv of 7 int32"));
	CHECK_EQ(-EBADMSG, coll_wait(r));
	CHECK_EQ(0, coll_irecv(me->comm, to, 8, COLL_INT32, me->rank, 3, &r));
	CHECK_EQ(-EBADMSG, coll_send(me->comm, from, 8, COLL_UINT32, me->rank, 3));
	CHECK_EQ(-EBADMSG, coll_wait(r));
	CHECK_EQ(0, one_message(me, 8, NONE, true));
	CHECK_EQ(0, one_message(me, 8, 4, true));
	/* A tag of a message that has failed fails. */
	CHECK_EQ(-EBADMSG, coll_send(me->comm, from, 8, COLL_INT32, me->rank, 3));
	return coll_barrier(me->comm);
}

TEST(mismatch)
{
	EXPECT_EQ(0, lib_group_run(2, NULL, rank_mismatch, NULL));
}

/* No thread receives: the deadline of the message passes. */
static int rank_deadline(struct lib_rank *me)
{
	int number = me->rank, got = -1;
	struct coll_request *r;
	__u64 start = now_ms();

	CHECK_EQ(-ETIMEDOUT, coll_send(me->comm, &number, 1, COLL_INT32, me->rank, NONE));
	CHECK(now_ms() - start >= 400 && now_ms() - start < 20000);
	CHECK(strstr(coll_error_detail(me->comm), "deadline"));
	/* The receive of the same message has failed as well. */
	CHECK_EQ(-ETIMEDOUT, coll_recv(me->comm, &got, 1, COLL_INT32, me->rank, NONE));
	CHECK_EQ(0, coll_irecv(me->comm, &got, 1, COLL_INT32, me->rank, 9, &r));
	CHECK_EQ(-ETIMEDOUT, coll_wait(r));
	CHECK_EQ(0, one_message(me, SMALL, NONE, false));
	return coll_barrier(me->comm);
}

TEST(deadline)
{
	const struct coll_config config = { .size = sizeof(config), .timeout_ms = 500 };

	EXPECT_EQ(0, lib_group_run(2, &config, rank_deadline, NULL));
}

/* Cancelling either half fails both. */
static int rank_cancel(struct lib_rank *me)
{
	int number = me->rank, got = -1;
	struct coll_request *r[2];

	CHECK_EQ(0, coll_isend(me->comm, &number, 1, COLL_INT32, me->rank, NONE, &r[0]));
	/* Behind it, by its order. */
	CHECK_EQ(0, coll_isend(me->comm, &number, 1, COLL_INT32, me->rank, NONE, &r[1]));
	CHECK_EQ(0, coll_cancel(r[0]));
	CHECK_EQ(-ECANCELED, coll_wait(r[0]));
	CHECK_EQ(-ECANCELED, coll_recv(me->comm, &got, 1, COLL_INT32, me->rank, NONE));
	CHECK_EQ(0, coll_recv(me->comm, &got, 1, COLL_INT32, me->rank, NONE));
	CHECK_EQ(0, coll_wait(r[1]));
	CHECK_EQ(me->rank, got);
	CHECK_EQ(0, coll_irecv(me->comm, &got, 1, COLL_INT32, me->rank, 1, &r[0]));
	CHECK_EQ(0, coll_cancel(r[0]));
	CHECK_EQ(-ECANCELED, coll_wait(r[0]));
	CHECK_EQ(-ECANCELED, coll_send(me->comm, &number, 1, COLL_INT32, me->rank, 1));
	return coll_barrier(me->comm);
}

TEST(cancel)
{
	EXPECT_EQ(0, lib_group_run(2, NULL, rank_cancel, NULL));
}

/* Two threads: one sends, one receives, both blocking. */
static void *send_all(void *arg)
{
	struct lib_rank *me = arg;
	int *at = numbers(2, BIG);
	intptr_t err = 0;
	int i;

	for (i = 0; i < MANY && !err; i++)
		err = coll_send(me->comm, at, i % 20 ? i : BIG, COLL_INT32, me->rank,
				i % 2 ? 8 : NONE);
	free(at);
	return (void *)err;
}

static int rank_threads(struct lib_rank *me)
{
	int *at = numbers(-1, BIG), i;
	pthread_t thread;
	void *err;

	CHECK_EQ(0, pthread_create(&thread, NULL, send_all, me));
	for (i = 0; i < MANY; i++) {
		int count = i % 20 ? i : BIG;

		memset(at, 0, count * sizeof(*at));
		CHECK_EQ(0, coll_recv(me->comm, at, count, COLL_INT32, me->rank,
				      i % 2 ? 8 : NONE));
		CHECK(holds(at, 2, count));
	}
	CHECK_EQ(0, pthread_join(thread, &err));
	CHECK(!err);
	free(at);
	return coll_barrier(me->comm);
}

TEST(threads)
{
	EXPECT_EQ(0, lib_group_run(2, NULL, rank_threads, NULL));
}

/* A thread that waits for a receive of its own, until another one aborts the group. */
static void *abort_soon(void *arg)
{
	struct lib_rank *me = arg;

	sleep_ms(300);
	return (void *)(intptr_t)coll_abort(me->comm, "enough");
}

static int rank_abort(struct lib_rank *me)
{
	struct coll_request *r;
	pthread_t thread;
	int number = 1;

	CHECK_EQ(0, coll_isend(me->comm, &number, 1, COLL_INT32, me->rank, 1, &r));
	if (!me->rank)
		CHECK_EQ(0, pthread_create(&thread, NULL, abort_soon, me));
	CHECK_EQ(-ECANCELED, coll_recv(me->comm, &number, 1, COLL_INT32, me->rank, 2));
	CHECK_EQ(-ECANCELED, coll_wait(r));
	if (!me->rank)
		CHECK_EQ(0, pthread_join(thread, NULL));
	return 0;
}

TEST(aborted)
{
	EXPECT_EQ(0, lib_group_run(2, NULL, rank_abort, NULL));
}

/* A rank that dies fails the message that another one waits to send to itself. */
static int rank_death(struct lib_rank *me)
{
	int number = 1;

	CHECK_EQ(0, coll_barrier(me->comm));
	if (me->rank)
		_exit(0);
	CHECK_EQ(-ECONNRESET, coll_send(me->comm, &number, 1, COLL_INT32, me->rank, NONE));
	return 0;
}

TEST(death)
{
	EXPECT_EQ(0, lib_group_run(2, NULL, rank_death, NULL));
}

/* A message that is not received keeps no rank from leaving, and no process from ending. */
static int rank_finalize(struct lib_rank *me)
{
	struct coll_request *r;
	int number = 1;

	CHECK_EQ(0, coll_isend(me->comm, &number, 1, COLL_INT32, me->rank, NONE, &r));
	CHECK_EQ(0, coll_irecv(me->comm, &number, 1, COLL_INT32, me->rank, 1, &r));
	if (me->arg)
		_exit(0);
	coll_finalize(me->comm);
	me->comm = NULL;
	return 0;
}

TEST(finalize)
{
	EXPECT_EQ(0, lib_group_run(1, NULL, rank_finalize, NULL));
	EXPECT_EQ(0, lib_group_run(1, NULL, rank_finalize, "exits"));
}

/* A child has no part in it. */
static int rank_fork(struct lib_rank *me)
{
	int number = 4, got = 0, status = -1;
	struct coll_request *r;
	pid_t child;

	CHECK_EQ(0, coll_isend(me->comm, &number, 1, COLL_INT32, me->rank, NONE, &r));
	child = fork();
	CHECK(child >= 0);
	if (!child)
		_exit(coll_recv(me->comm, &got, 1, COLL_INT32, me->rank, NONE) != -EPERM);
	CHECK_EQ(child, waitpid(child, &status, 0));
	CHECK_EQ(0, status);
	CHECK_EQ(0, coll_recv(me->comm, &got, 1, COLL_INT32, me->rank, NONE));
	CHECK_EQ(0, coll_wait(r));
	CHECK_EQ(4, got);
	return coll_barrier(me->comm);
}

TEST(child)
{
	EXPECT_EQ(0, lib_group_run(2, NULL, rank_fork, NULL));
}

TEST_HARNESS_MAIN
