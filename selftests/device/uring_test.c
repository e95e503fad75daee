// SPDX-License-Identifier: GPL-2.0-only
/* Operations as SQEs: all kinds of rings and memory, links, and cancellation. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <collective_uring.h>
#include <liburing.h>

#include "kselftest_harness.h"
#include "lib/machine.h"
#include "lib/lib_group.h"
#include "lib/values.h"

#define NRANKS	3
#define DEPTH	64
#define LARGE	40000		/* elements: several pages, not eager */

static int ring_open(struct io_uring *ring, unsigned int flags)
{
	return -io_uring_queue_init(DEPTH, ring, flags | IORING_SETUP_SQE128);
}

static struct io_uring_sqe *next_sqe(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	if (!sqe) {
		io_uring_submit(ring);
		sqe = io_uring_get_sqe(ring);
	}
	return sqe;
}

/* Return: the result of the next completion; *@data: its user_data. */
static int ring_wait(struct io_uring *ring, __u64 *data)
{
	struct __kernel_timespec limit = { .tv_sec = 30 };
	struct io_uring_cqe *cqe;
	int res = io_uring_wait_cqe_timeout(ring, &cqe, &limit);

	if (res)
		return res == -ETIME ? -ETIMEDOUT : res;
	res = cqe->res;
	*data = cqe->user_data;
	io_uring_cqe_seen(ring, cqe);
	return res;
}

static void values_make(__u32 *to, size_t count, __u32 rank, __u32 round)
{
	size_t i;

	for (i = 0; i < count; i++)
		to[i] = i * 7 + rank * 1000 + round;
}

static int values_summed(const __u32 *from, size_t count, __u32 nranks, __u32 round)
{
	size_t i;

	for (i = 0; i < count; i++)
		CHECK_EQ(nranks * (i * 7 + round) + 1000 * (nranks * (nranks - 1) / 2), from[i]);
	return 0;
}

/*
 * Rings and memory
 */

enum memory { MEMORY_PLAIN, MEMORY_REGISTERED, MEMORY_FIXED };

struct kind {
	unsigned int flags;
	enum memory memory;
};

FIXTURE(ring) {};
FIXTURE_VARIANT(ring) { struct kind kind; };
FIXTURE_SETUP(ring) {}
FIXTURE_TEARDOWN(ring) {}

#define KIND(_name, _flags, _memory)						\
	FIXTURE_VARIANT_ADD(ring, _name) { .kind = { _flags, _memory } }

#define DEFER	(IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN)

KIND(plain, 0, MEMORY_PLAIN);
KIND(plain_registered, 0, MEMORY_REGISTERED);
KIND(plain_fixed, 0, MEMORY_FIXED);
KIND(defer, DEFER, MEMORY_PLAIN);
KIND(defer_registered, DEFER, MEMORY_REGISTERED);
KIND(defer_fixed, DEFER, MEMORY_FIXED);
KIND(sqpoll, IORING_SETUP_SQPOLL, MEMORY_PLAIN);
KIND(sqpoll_registered, IORING_SETUP_SQPOLL, MEMORY_REGISTERED);
KIND(sqpoll_fixed, IORING_SETUP_SQPOLL, MEMORY_FIXED);
KIND(coop, IORING_SETUP_COOP_TASKRUN, MEMORY_PLAIN);

#define FLIGHT	8
#define ROUNDS	6

/* Several at a time, small and large, each with its own part of the memory. */
static int rank_sums(struct lib_rank *me)
{
	static const size_t counts[] = { 1, LARGE, 2000, 0, 2049, LARGE - 1, 3, 7777 };
	const size_t bytes = (size_t)2 * FLIGHT * LARGE * 4;
	const struct kind *kind = me->arg;
	struct io_uring ring;
	struct iovec iovec;
	__u32 *area, round, i;
	__u64 data;

	CHECK(!posix_memalign((void **)&area, 4096, bytes));
	CHECK_EQ(0, ring_open(&ring, kind->flags));
	if (kind->memory == MEMORY_REGISTERED)
		CHECK_EQ(0, coll_register(me->comm, area, bytes, 0));
	iovec = (struct iovec){ area, bytes };
	if (kind->memory == MEMORY_FIXED)
		CHECK_EQ(0, io_uring_register_buffers(&ring, &iovec, 1));

	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < FLIGHT; i++) {
			__u32 *send = area + (size_t)2 * i * LARGE, *recv = send + LARGE;
			struct io_uring_sqe *sqe = next_sqe(&ring);

			values_make(send, counts[i], me->rank, round * FLIGHT + i);
			CHECK_EQ(0, coll_prep_allreduce(sqe, me->comm,
							round & 1 ? COLL_IN_PLACE : send,
							round & 1 ? send : recv,
							counts[i], COLL_UINT32, COLL_SUM));
			if (kind->memory == MEMORY_FIXED)
				coll_prep_fixed(sqe, 0);
			io_uring_sqe_set_data64(sqe, i);
			/* Some are submitted alone, others in batches. */
			if (i % 3 == 0)
				CHECK(io_uring_submit(&ring) >= 0);
		}
		CHECK(io_uring_submit(&ring) >= 0);
		for (i = 0; i < FLIGHT; i++)
			CHECK_EQ(0, ring_wait(&ring, &data));
		for (i = 0; i < FLIGHT; i++)
			CHECK(!values_summed(area + (size_t)2 * i * LARGE +
					     (round & 1 ? 0 : LARGE), counts[i], me->nranks,
					     round * FLIGHT + i));
	}
	io_uring_queue_exit(&ring);
	if (kind->memory == MEMORY_REGISTERED)
		CHECK_EQ(0, coll_unregister(me->comm, area));
	free(area);
	return coll_barrier(me->comm);
}

TEST_F_TIMEOUT(ring, sums, 100)
{
	struct kind kind = variant->kind;

	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_sums, &kind));
}

/*
 * Other collectives, links
 */

static int prep_each(struct io_uring_sqe *sqe, struct lib_rank *me, int which, __u32 *a, __u32 *b)
{
	struct coll_comm *comm = me->comm;
	int next = (me->rank + 1) % me->nranks;

	switch (which) {
	case 0:
		return coll_prep_barrier(sqe, comm);
	case 1:
		return coll_prep_broadcast(sqe, comm, b, 3, COLL_UINT32, 1);
	case 2:
		return coll_prep_allgather(sqe, comm, a, b, 3, COLL_UINT32);
	case 3:
		return coll_prep_reduce(sqe, comm, a, b, 3, COLL_UINT32, COLL_SUM, 1);
	case 4:
		return coll_prep_reduce_scatter(sqe, comm, a, b, 3, COLL_UINT32, COLL_SUM);
	case 5:
		return coll_prep_gather(sqe, comm, a, b, 3, COLL_UINT32, 2);
	case 6:
		return coll_prep_scatter(sqe, comm, a, b, 3, COLL_UINT32, 0);
	case 7:
		return coll_prep_alltoall(sqe, comm, a, b, 3, COLL_UINT32);
	case 8:
		return coll_prep_scan(sqe, comm, a, b, 3, COLL_UINT32, COLL_SUM);
	case 9:
		return coll_prep_exscan(sqe, comm, a, b, 3, COLL_UINT32, COLL_SUM);
	case 10:
		return coll_prep_send(sqe, comm, a, 3, COLL_UINT32, next, 5);
	default:
		return coll_prep_recv(sqe, comm, b, 3, COLL_UINT32,
				      (me->rank + me->nranks - 1) % me->nranks, 5);
	}
}

/* All at a time, and the same by blocking calls; compare the results. */
static int rank_each(struct lib_rank *me)
{
	__u32 a[NRANKS * 3], b[12][NRANKS * 3], c[12][NRANKS * 3];
	struct coll_comm *comm = me->comm;
	struct coll_request *request;
	struct io_uring ring;
	__u64 data;
	int i, next = (me->rank + 1) % me->nranks;

	values_make(a, NRANKS * 3, me->rank, 9);
	memset(b, 0, sizeof(b));
	values_make(b[1], 3, me->rank, 11);
	memcpy(c, b, sizeof(c));
	CHECK_EQ(0, ring_open(&ring, 0));
	for (i = 0; i < 12; i++)
		CHECK_EQ(0, prep_each(next_sqe(&ring), me, i, a, b[i]));
	CHECK_EQ(12, io_uring_submit(&ring));
	for (i = 0; i < 12; i++)
		CHECK_EQ(0, ring_wait(&ring, &data));
	io_uring_queue_exit(&ring);

	CHECK_EQ(0, coll_broadcast(comm, c[1], 3, COLL_UINT32, 1));
	CHECK_EQ(0, coll_allgather(comm, a, c[2], 3, COLL_UINT32));
	CHECK_EQ(0, coll_reduce(comm, a, c[3], 3, COLL_UINT32, COLL_SUM, 1));
	CHECK_EQ(0, coll_reduce_scatter(comm, a, c[4], 3, COLL_UINT32, COLL_SUM));
	CHECK_EQ(0, coll_gather(comm, a, c[5], 3, COLL_UINT32, 2));
	CHECK_EQ(0, coll_scatter(comm, a, c[6], 3, COLL_UINT32, 0));
	CHECK_EQ(0, coll_alltoall(comm, a, c[7], 3, COLL_UINT32));
	CHECK_EQ(0, coll_scan(comm, a, c[8], 3, COLL_UINT32, COLL_SUM));
	CHECK_EQ(0, coll_exscan(comm, a, c[9], 3, COLL_UINT32, COLL_SUM));
	CHECK_EQ(0, coll_isend(comm, a, 3, COLL_UINT32, next, 5, &request));
	CHECK_EQ(0, coll_recv(comm, c[11], 3, COLL_UINT32,
			      (me->rank + me->nranks - 1) % me->nranks, 5));
	CHECK_EQ(0, coll_wait(request));
	CHECK(!memcmp(b, c, sizeof(b)));
	return 0;
}

TEST(each)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_each, NULL));
}

/* A failed operation cancels the rest of its chain. */
static int rank_linked(struct lib_rank *me)
{
	__u32 mine[LARGE], sum[LARGE], back[LARGE];
	char path[] = "/tmp/uring-test.XXXXXX";
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	__u64 data;
	int fd = mkstemp(path), i, res[2];

	CHECK(fd >= 0);
	unlink(path);
	CHECK_EQ(0, ring_open(&ring, 0));
	values_make(mine, LARGE, me->rank, 3);
	sqe = next_sqe(&ring);
	CHECK_EQ(0, coll_prep_allreduce(sqe, me->comm, mine, sum, LARGE, COLL_UINT32, COLL_SUM));
	io_uring_sqe_set_flags(sqe, IOSQE_IO_LINK);
	sqe = next_sqe(&ring);
	io_uring_prep_write(sqe, fd, sum, sizeof(sum), 0);
	io_uring_sqe_set_data64(sqe, 1);
	CHECK_EQ(2, io_uring_submit(&ring));
	for (i = 0; i < 2; i++)
		CHECK_EQ(i ? sizeof(sum) : 0, ring_wait(&ring, &data));
	CHECK_EQ(sizeof(back), pread(fd, back, sizeof(back), 0));
	CHECK(!values_summed(back, LARGE, me->nranks, 3));

	sqe = next_sqe(&ring);
	CHECK_EQ(0, coll_prep_allreduce(sqe, me->comm, mine, sum, 10 + me->rank, COLL_UINT32,
					COLL_SUM));
	io_uring_sqe_set_flags(sqe, IOSQE_IO_LINK);
	sqe = next_sqe(&ring);
	io_uring_prep_nop(sqe);
	io_uring_sqe_set_data64(sqe, 1);
	CHECK_EQ(2, io_uring_submit(&ring));
	for (i = 0; i < 2; i++) {
		int err = ring_wait(&ring, &data);

		res[data & 1] = err;
	}
	CHECK_EQ(-EBADMSG, res[0]);
	CHECK_EQ(-ECANCELED, res[1]);
	io_uring_queue_exit(&ring);
	close(fd);
	return coll_barrier(me->comm);
}

TEST(linked)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_linked, NULL));
}

static int rank_lengths(struct lib_rank *me)
{
	struct collective_op op = {
		.opcode = COLLECTIVE_BROADCAST,
		.type = COLLECTIVE_UINT32,
		.flags = COLLECTIVE_F_VARLEN,
		.count = me->rank ? 100 : 33,
	};
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	__u32 data[100];
	__u64 which;

	values_make(data, 100, me->rank, 0);
	op.send = (uintptr_t)data;
	op.recv = op.send;
	CHECK_EQ(0, ring_open(&ring, 0));
	CHECK_EQ(0, coll_prep_submit(next_sqe(&ring), me->comm, &op));
	CHECK_EQ(1, io_uring_submit(&ring));
	CHECK_EQ(-EINVAL, ring_wait(&ring, &which));
	io_uring_queue_exit(&ring);

	CHECK_EQ(0, ring_open(&ring, IORING_SETUP_CQE32));
	CHECK_EQ(0, coll_prep_submit(next_sqe(&ring), me->comm, &op));
	CHECK_EQ(1, io_uring_submit(&ring));
	CHECK_EQ(0, io_uring_wait_cqe(&ring, &cqe));
	CHECK_EQ(0, cqe->res);
	CHECK_EQ(33, cqe->big_cqe[0]);
	CHECK_EQ(32 * 7, data[32]);
	io_uring_queue_exit(&ring);
	return coll_barrier(me->comm);
}

TEST(lengths)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_lengths, NULL));
}

/*
 * Cancelling
 */

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

/*
 * Random use: ranks submit the same keys in different orders, cancel random operations, and exit
 * rings with operations in flight.
 */

#define BATCH	32

struct chaos {
	struct io_uring ring;
	__u32 mine[BATCH][LARGE / 10];
	__u32 sum[BATCH][LARGE / 10];
	__u32 inflight;
	__u32 succeeded;
	unsigned int seed;
};

static size_t chaos_count(__u32 key)
{
	return key % 3 ? key % 100 : LARGE / 10 - key % 50;
}

static int chaos_open(struct chaos *chaos)
{
	static const unsigned int flags[] = { 0, 0, DEFER, IORING_SETUP_COOP_TASKRUN };

	chaos->inflight = 0;
	return ring_open(&chaos->ring, flags[rand_r(&chaos->seed) % 4]);
}

static int chaos_submit(struct lib_rank *me, struct chaos *chaos, __u32 key)
{
	__u32 slot = key % BATCH;
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_UINT32,
		.flags = COLLECTIVE_F_KEYED,
		.key = key,
		.count = chaos_count(key),
		.send = (uintptr_t)chaos->mine[slot],
		.recv = (uintptr_t)chaos->sum[slot],
	};
	struct io_uring_sqe *sqe = next_sqe(&chaos->ring);

	values_make(chaos->mine[slot], chaos_count(key), me->rank, key);
	CHECK_EQ(0, coll_prep_submit(sqe, me->comm, &op));
	io_uring_sqe_set_data64(sqe, key);
	chaos->inflight++;
	if (rand_r(&chaos->seed) % 2)
		CHECK(io_uring_submit(&chaos->ring) >= 0);
	return 0;
}

static int chaos_cancel(struct lib_rank *me, struct chaos *chaos, __u32 key)
{
	struct io_uring_sqe *sqe = next_sqe(&chaos->ring);

	coll_prep_cancel(sqe, me->comm, key);
	io_uring_sqe_set_data64(sqe, 1ULL << 32);
	chaos->inflight++;
	CHECK(io_uring_submit(&chaos->ring) >= 0);
	return 0;
}

static int chaos_reap(struct lib_rank *me, struct chaos *chaos)
{
	__u64 data = 0;
	int err = ring_wait(&chaos->ring, &data);

	chaos->inflight--;
	if (data >> 32) {
		CHECK(err == 0 || err == -ENOENT || err == -EALREADY);
		return 0;
	}
	CHECK(err == 0 || err == -ECANCELED || err == -ECONNRESET);
	if (!err)
		CHECK(!values_summed(chaos->sum[data % BATCH], chaos_count(data), me->nranks,
				     data));
	chaos->succeeded += !err;
	return 0;
}

static int rank_chaos(struct lib_rank *me)
{
	struct chaos *chaos = calloc(1, sizeof(*chaos));
	__u32 batches = emulated() ? 6 : 105, batch, i;

	CHECK(chaos);
	chaos->seed = 17 + me->rank;
	CHECK_EQ(0, chaos_open(chaos));
	for (batch = 0; batch < batches; batch++) {
		__u32 first = batch * BATCH, step = 2 * (rand_r(&chaos->seed) % 16) + 1;

		for (i = 0; i < BATCH; i++) {
			CHECK(!chaos_submit(me, chaos, first + i * step % BATCH));
			if (rand_r(&chaos->seed) % 20 == 0)
				CHECK(!chaos_cancel(me, chaos,
						    first + rand_r(&chaos->seed) % BATCH));
			if (rand_r(&chaos->seed) % 60 == 0) {
				CHECK(io_uring_submit(&chaos->ring) >= 0);
				io_uring_queue_exit(&chaos->ring);
				CHECK_EQ(0, chaos_open(chaos));
			}
		}
		CHECK(io_uring_submit(&chaos->ring) >= 0);
		while (chaos->inflight)
			CHECK(!chaos_reap(me, chaos));
		CHECK_EQ(0, coll_barrier(me->comm));
	}
	io_uring_queue_exit(&chaos->ring);
	CHECK(chaos->succeeded > batches * BATCH / 4);
	free(chaos);
	return coll_barrier(me->comm);
}

FIXTURE(slow) {};
FIXTURE_SETUP(slow) {}
FIXTURE_TEARDOWN(slow) {}

TEST_F_TIMEOUT(slow, chaos, 200)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_chaos, NULL));
}

/*
 * Without a ring: persistent operations, cancel, poll
 */

static int rank_persistent(struct lib_rank *me)
{
	__u32 *mine = calloc(2 * LARGE, 4), *sum = mine + LARGE;
	struct coll_request *request, *other;
	int round, done, index;

	CHECK(mine);
	CHECK_EQ(0, coll_allreduce_init(me->comm, mine, sum, LARGE, COLL_UINT32, COLL_SUM,
					&request));
	CHECK_EQ(0, coll_barrier_init(me->comm, &other));
	CHECK_EQ(0, coll_wait(request));
	for (round = 0; round < 20; round++) {
		struct coll_request *both[] = { request, other };

		values_make(mine, LARGE, me->rank, round);
		CHECK_EQ(0, coll_start(request));
		CHECK_EQ(-EBUSY, coll_start(request));
		CHECK_EQ(-EBUSY, coll_request_free(request));
		CHECK_EQ(0, coll_start(other));
		if (round % 3 == 0) {
			CHECK_EQ(0, coll_wait_all(both, 2));
		} else if (round % 3 == 1) {
			CHECK_EQ(0, coll_wait_any(both, 2, &index, -1));
			CHECK(index >= 0);
			CHECK_EQ(0, coll_wait_any(both, 2, &index, -1));
			CHECK(index >= 0);
			CHECK_EQ(0, coll_wait_any(both, 2, &index, -1));
			CHECK_EQ(-1, index);
		} else {
			do {
				CHECK_EQ(0, coll_test(request, &done));
			} while (!done);
			CHECK_EQ(0, coll_wait(other));
		}
		CHECK(!values_summed(sum, LARGE, me->nranks, round));
	}
	CHECK_EQ(0, coll_request_free(request));
	CHECK_EQ(0, coll_request_free(other));
	free(mine);
	return 0;
}

TEST(persistent)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_persistent, NULL));
}

static int rank_polled(struct lib_rank *me)
{
	struct pollfd poller = { .events = POLLIN };
	struct coll_request *request;
	int done;

	if (me->rank) {
		CHECK(flag_wait(me->shared, 0, 1, 10000));
		return coll_barrier(me->comm);
	}
	CHECK_EQ(0, coll_ibarrier(me->comm, &request));
	poller.fd = coll_req_fd(request);
	CHECK_EQ(0, poll(&poller, 1, 50));
	flag_set(me->shared, 0, 1);
	CHECK_EQ(1, poll(&poller, 1, 10000));
	CHECK(poller.revents & POLLIN);
	CHECK_EQ(0, coll_test(request, &done));
	CHECK_EQ(1, done);
	CHECK_EQ(0, poll(&poller, 1, 0));
	return 0;
}

TEST(polled)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_polled, NULL));
}

static int rank_cancel_request(struct lib_rank *me)
{
	struct coll_request *request;
	__u32 a = 1, b;

	if (me->rank == 0) {
		CHECK_EQ(0, coll_iallreduce(me->comm, &a, &b, 1, COLL_UINT32, COLL_SUM,
					    &request));
		CHECK_EQ(0, coll_cancel(request));
		CHECK_EQ(-ECANCELED, coll_wait(request));
		flag_set(me->shared, 0, 1);
	} else {
		/* Otherwise the cancel could come too late. */
		CHECK(flag_wait(me->shared, 0, 1, 10000));
		CHECK_EQ(-ECANCELED, coll_allreduce(me->comm, &a, &b, 1, COLL_UINT32,
						    COLL_SUM));
		CHECK(!cancelled_by(me, 0));
	}
	return coll_barrier(me->comm);
}

TEST(cancel_request)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_cancel_request, NULL));
}

/* Malformed SQEs change nothing. */
static int rank_refused(struct lib_rank *me)
{
	struct collective_cancel cancel = { .size = 8 };
	struct coll_request *request;
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	__u32 a = 1, b = 0;
	__u64 data;

	/* SQEs of 64 bytes have no space for an operation. */
	CHECK_EQ(0, -io_uring_queue_init(4, &ring, 0));
	sqe = next_sqe(&ring);
	memset(sqe, 0, 64);
	sqe->opcode = IORING_OP_URING_CMD;
	CHECK_EQ(0, coll_ibarrier(me->comm, &request));
	sqe->fd = coll_req_fd(request);
	CHECK_EQ(0, coll_wait(request));
	sqe->cmd_op = COLLECTIVE_IOC_SUBMIT;
	CHECK_EQ(1, io_uring_submit(&ring));
	CHECK_EQ(-EINVAL, ring_wait(&ring, &data));
	io_uring_queue_exit(&ring);

	CHECK_EQ(0, ring_open(&ring, 0));
	sqe = next_sqe(&ring);
	CHECK_EQ(0, coll_prep_barrier(sqe, me->comm));
	sqe->cmd_op = COLLECTIVE_IOC_STATUS;
	CHECK_EQ(1, io_uring_submit(&ring));
	CHECK_EQ(-ENOTTY, ring_wait(&ring, &data));

	sqe = next_sqe(&ring);
	coll_prep_cancel(sqe, me->comm, 0);
	memcpy(sqe->cmd, &cancel, sizeof(cancel));
	CHECK_EQ(1, io_uring_submit(&ring));
	CHECK_EQ(-EINVAL, ring_wait(&ring, &data));

	sqe = next_sqe(&ring);
	CHECK_EQ(0, coll_prep_allreduce(sqe, me->comm, &a, (void *)16, 1, COLL_UINT32,
					COLL_SUM));
	CHECK_EQ(1, io_uring_submit(&ring));
	CHECK_EQ(-EFAULT, ring_wait(&ring, &data));

	/* The ring has no buffer of that index. */
	sqe = next_sqe(&ring);
	CHECK_EQ(0, coll_prep_allreduce(sqe, me->comm, &a, &b, 1, COLL_UINT32, COLL_SUM));
	coll_prep_fixed(sqe, 3);
	CHECK_EQ(1, io_uring_submit(&ring));
	CHECK(ring_wait(&ring, &data) < 0);
	io_uring_queue_exit(&ring);

	CHECK_EQ(0, coll_allreduce(me->comm, &a, &b, 1, COLL_UINT32, COLL_SUM));
	CHECK_EQ(me->nranks, b);
	return 0;
}

TEST(refused)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_refused, NULL));
}

TEST_HARNESS_MAIN
