// SPDX-License-Identifier: GPL-2.0-only
/* Operations as SQEs that are cancelled: by a request, or by the exit of the ring or process. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <collective_uring.h>
#include <liburing.h>

#include "kselftest_harness.h"
#include "lib/lib_group.h"
#include "lib/uring.h"

#define NRANKS	3

static int cancelled_by(struct lib_rank *me, int rank)
{
	char want[64];

	snprintf(want, sizeof(want), "rank %d cancelled", rank);
	CHECK(strstr(coll_error_detail(me->comm), want));
	return 0;
}

/* Cancel an operation that waits for a rank that does not call it; the group lives on. */
static int rank_cancel(struct lib_rank *me)
{
	struct io_uring_sqe *sqe;
	__u32 mine[LARGE], sum[LARGE];
	struct io_uring ring;
	int i, err, seen = 0;
	__u64 data;

	values_make(mine, LARGE, me->rank, 1);
	CHECK_EQ(0, ring_open(&ring, 0));
	if (me->rank != 2) {
		sqe = next_sqe(&ring);
		CHECK_EQ(0, coll_prep_allreduce(sqe, me->comm, mine, sum, LARGE, COLL_UINT32,
						COLL_SUM));
		io_uring_sqe_set_data64(sqe, 77);
		CHECK_EQ(1, io_uring_submit(&ring));
	}
	if (me->rank == 0) {
		sleep_ms(50);
		sqe = next_sqe(&ring);
		coll_prep_cancel(sqe, me->comm, 76);
		io_uring_sqe_set_data64(sqe, 1);
		sqe = next_sqe(&ring);
		coll_prep_cancel(sqe, me->comm, 77);
		io_uring_sqe_set_data64(sqe, 2);
		CHECK_EQ(2, io_uring_submit(&ring));
		for (i = 0; i < 3; i++) {
			err = ring_wait(&ring, &data);
			CHECK_EQ(data == 1 ? -ENOENT : data == 2 ? 0 : -ECANCELED, err);
			seen |= 1 << (data & 3);
		}
		CHECK_EQ(6, seen);
		flag_set(me->shared, 0, 1);
	} else if (me->rank == 1) {
		CHECK_EQ(-ECANCELED, ring_wait(&ring, &data));
		CHECK(!cancelled_by(me, 0));
	} else {
		/* The operation ends before this rank submits it. */
		CHECK(flag_wait(me->shared, 0, 1, 10000));
		CHECK_EQ(-ECANCELED, coll_allreduce(me->comm, mine, sum, LARGE, COLL_UINT32,
						    COLL_SUM));
		CHECK(!cancelled_by(me, 0));
	}
	CHECK_EQ(0, coll_allreduce(me->comm, mine, sum, LARGE, COLL_UINT32, COLL_SUM));
	CHECK(!values_summed(sum, LARGE, me->nranks, 1));
	io_uring_queue_exit(&ring);
	return 0;
}

TEST(cancel)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_cancel, NULL));
}

/* A ring exits with an operation in flight: only that operation is cancelled. */
static int rank_ring_ends(struct lib_rank *me)
{
	__u32 mine[LARGE], sum[LARGE];
	struct io_uring ring;

	values_make(mine, LARGE, me->rank, 1);
	if (me->rank == 0) {
		CHECK_EQ(0, ring_open(&ring, 0));
		CHECK_EQ(0, coll_prep_allreduce(next_sqe(&ring), me->comm, mine, sum, LARGE,
						COLL_UINT32, COLL_SUM));
		CHECK_EQ(1, io_uring_submit(&ring));
		io_uring_queue_exit(&ring);
	} else {
		/* It cannot succeed before the last rank submits it. */
		CHECK(me->rank == 1 || flag_wait(me->shared, 0, 1, 10000));
		CHECK_EQ(-ECANCELED, coll_allreduce(me->comm, mine, sum, LARGE, COLL_UINT32,
						    COLL_SUM));
		CHECK(!cancelled_by(me, 0));
		flag_set(me->shared, 0, 1);
	}
	CHECK_EQ(0, coll_allreduce(me->comm, mine, sum, LARGE, COLL_UINT32, COLL_SUM));
	CHECK(!values_summed(sum, LARGE, me->nranks, 1));
	return 0;
}

TEST(ring_ends)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_ring_ends, NULL));
}

/* An operation that waits for another of its key does not keep the ring from exiting. */
static int rank_queue_ends(struct lib_rank *me)
{
	struct coll_request *before;
	struct io_uring ring;
	__u32 a, b;
	__u64 began;

	if (me->rank == 0) {
		CHECK_EQ(0, coll_irecv(me->comm, &a, 1, COLL_UINT32, 1, 5, &before));
		CHECK_EQ(0, ring_open(&ring, 0));
		CHECK_EQ(0, coll_prep_recv(next_sqe(&ring), me->comm, &b, 1, COLL_UINT32, 1, 5));
		CHECK_EQ(1, io_uring_submit(&ring));
		began = now_ms();
		io_uring_queue_exit(&ring);
		CHECK_EQ(-ECANCELED, coll_wait(before));
		CHECK(now_ms() - began < 10000);
	}
	return coll_barrier(me->comm);
}

TEST(queue_ends)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_queue_ends, NULL));
}

/* The process exits: its operations are cancelled, then the group ends. */
static int rank_dies(struct lib_rank *me)
{
	__u32 mine[LARGE], sum[LARGE];
	struct io_uring ring;
	__u64 data;
	int err;

	values_make(mine, LARGE, me->rank, 1);
	CHECK_EQ(0, ring_open(&ring, 0));
	/* After a barrier of the group, some ranks may not know that it has ended. */
	CHECK(flag_barrier(me->shared, 1, me->nranks));
	if (me->rank == 1) {
		CHECK_EQ(0, coll_prep_allreduce(next_sqe(&ring), me->comm, mine, sum, LARGE,
						COLL_UINT32, COLL_SUM));
		CHECK_EQ(0, coll_prep_barrier(next_sqe(&ring), me->comm));
		CHECK_EQ(2, io_uring_submit(&ring));
		_exit(GROUP_SILENT_EXIT);
	}
	if (me->rank == 0) {
		CHECK_EQ(0, coll_prep_allreduce(next_sqe(&ring), me->comm, mine, sum, LARGE,
						COLL_UINT32, COLL_SUM));
		CHECK_EQ(1, io_uring_submit(&ring));
		CHECK_EQ(-ECONNRESET, ring_wait(&ring, &data));
		flag_set(me->shared, 0, 1);
	}
	/* It cannot succeed before the last rank submits it. */
	CHECK(flag_wait(me->shared, 0, 1, 10000));
	err = coll_allreduce(me->comm, mine, sum, LARGE, COLL_UINT32, COLL_SUM);
	CHECK_EQ(-ECONNRESET, err);
	while (!(err = coll_barrier(me->comm)))
		;
	CHECK_EQ(-ECONNRESET, err);
	io_uring_queue_exit(&ring);
	return 0;
}

TEST(dies)
{
	EXPECT_EQ(1, lib_group_run(NRANKS, NULL, rank_dies, NULL));
}

TEST_HARNESS_MAIN
