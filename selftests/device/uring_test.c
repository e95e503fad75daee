// SPDX-License-Identifier: GPL-2.0-only
/* Operations as SQEs: all kinds of rings and memory, all collectives, links, and malformed SQEs. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <collective_uring.h>
#include <liburing.h>

#include "kselftest_harness.h"
#include "lib/lib_group.h"
#include "lib/uring.h"

#define NRANKS	3

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

#define INFLIGHT	8
#define ROUNDS	6

/* Several at a time, small and large, each with its own part of the memory. */
static int rank_sums(struct lib_rank *me)
{
	static const size_t counts[] = { 1, LARGE, 2000, 0, 2049, LARGE - 1, 3, 7777 };
	const size_t bytes = (size_t)2 * INFLIGHT * LARGE * 4;
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
		for (i = 0; i < INFLIGHT; i++) {
			__u32 *send = area + (size_t)2 * i * LARGE, *recv = send + LARGE;
			struct io_uring_sqe *sqe = next_sqe(&ring);

			values_make(send, counts[i], me->rank, round * INFLIGHT + i);
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
		for (i = 0; i < INFLIGHT; i++)
			CHECK_EQ(0, ring_wait(&ring, &data));
		for (i = 0; i < INFLIGHT; i++)
			CHECK(!values_summed(area + (size_t)2 * i * LARGE +
					     (round & 1 ? 0 : LARGE), counts[i], me->nranks,
					     round * INFLIGHT + i));
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

/* Requests of a rank that may be in flight. */
#define MOST	512

/* One SQE more than may be in flight ends with the error of SUBMIT, and keeps no other one back. */
static int rank_full(struct lib_rank *me)
{
	bool *full = me->arg;
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	__u64 data;
	int i;

	if (me->rank) {
		while (!__atomic_load_n(full, __ATOMIC_ACQUIRE))
			usleep(1000);
		for (i = 0; i < MOST; i++)
			CHECK_EQ(0, coll_barrier(me->comm));
		return coll_barrier(me->comm);
	}
	CHECK_EQ(0, ring_open(&ring, 0));
	for (i = 0; i <= MOST; i++) {
		sqe = next_sqe(&ring);
		CHECK_EQ(0, coll_prep_barrier(sqe, me->comm));
		io_uring_sqe_set_data64(sqe, i);
	}
	CHECK(io_uring_submit(&ring) >= 0);
	CHECK_EQ(-EAGAIN, ring_wait(&ring, &data));
	CHECK_EQ(MOST, data);
	__atomic_store_n(full, true, __ATOMIC_RELEASE);
	for (i = 0; i < MOST; i++)
		CHECK_EQ(0, ring_wait(&ring, &data));
	io_uring_queue_exit(&ring);
	return coll_barrier(me->comm);
}

TEST(full)
{
	bool *full = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, (void *)full);
	EXPECT_EQ(0, lib_group_run(2, NULL, rank_full, full));
	munmap(full, 4096);
}

TEST_HARNESS_MAIN
