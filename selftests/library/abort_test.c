// SPDX-License-Identifier: GPL-2.0-only
/* coll_abort(): what a thread in each kind of call, an SQE and a later call see of it. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <collective_uring.h>
#include <liburing.h>

#include "kselftest_harness.h"
#include "lib/lib_group.h"
#include "lib/uring.h"

#define NRANKS	3
#define WHO	1		/* the rank that aborts */
#define WHY	"there is no data left"

/* Longest time from the abort to the end of a call: far above the 25 ms of the settle time. */
#define SOON_MS	5000

static bool is_told(struct lib_rank *me)
{
	const char *said = coll_error_detail(me->comm);
	const bool aborts = me->rank == WHO, has_why = strstr(said, WHY);

	if (strstr(said, "rank 1 aborted the group") && aborts == has_why)
		return true;
	dprintf(STDOUT_FILENO, "# rank %d: %s\n", me->rank, said);
	return false;
}

/* All later calls fail, and the communicator is finalized by the caller. */
static int check_aborted(struct lib_rank *me)
{
	int value = 1;

	CHECK(is_told(me));
	CHECK_EQ(-ECANCELED, coll_comm_failed(me->comm));
	CHECK_EQ(-ECANCELED, coll_allreduce(me->comm, COLL_IN_PLACE, &value, 1, COLL_INT32,
					    COLL_SUM));
	CHECK(is_told(me));
	CHECK_EQ(-EALREADY, coll_abort(me->comm, "too late"));
	CHECK(is_told(me));
	return 0;
}

static void *abort_later(void *arg)
{
	struct lib_rank *me = arg;

	sleep_ms(100);
	return (void *)(long)coll_abort(me->comm, WHY);
}

/* Call @fn on all ranks, while another thread of one of them aborts the group. */
static int while_aborted(struct lib_rank *me, int (*fn)(struct coll_comm *comm))
{
	pthread_t thread;
	void *result = NULL;
	__u64 begin;

	/* An abort also ends coll_init() of a rank that has not yet returned from it. */
	CHECK(flag_barrier(me->shared, 0, NRANKS));
	begin = now_ms();
	if (me->rank == WHO)
		CHECK_EQ(0, pthread_create(&thread, NULL, abort_later, me));
	CHECK_EQ(-ECANCELED, fn(me->comm));
	CHECK(now_ms() - begin < SOON_MS);
	if (me->rank == WHO) {
		CHECK_EQ(0, pthread_join(thread, &result));
		CHECK_EQ(0, (long)result);
	}
	return check_aborted(me);
}

/* The last rank does not call. */
static int call_large(struct coll_comm *comm)
{
	static char memory[1 << 20];

	if (coll_rank(comm) == NRANKS - 1)
		while (!coll_comm_failed(comm))
			sleep_ms(1);
	return coll_allreduce(comm, COLL_IN_PLACE, memory, sizeof(memory), COLL_INT8, COLL_MAX);
}

static int call_and_wait(struct coll_comm *comm)
{
	struct coll_request *request;
	int value = 1, err;

	if (coll_rank(comm) == NRANKS - 1)
		while (!coll_comm_failed(comm))
			sleep_ms(1);
	err = coll_iallreduce(comm, COLL_IN_PLACE, &value, 1, COLL_INT32, COLL_SUM, &request);
	return err ?: coll_wait(request);
}

/* Operations that all ranks call, one after the other, most of them without a system call. */
static int call_small(struct coll_comm *comm)
{
	int value, err;

	do {
		value = 1;
		err = coll_allreduce(comm, COLL_IN_PLACE, &value, 1, COLL_INT32, COLL_SUM);
	} while (!err);
	return err;
}

static int call_missing(struct coll_comm *comm)
{
	if (coll_rank(comm) == NRANKS - 1)
		while (!coll_comm_failed(comm))
			sleep_ms(1);
	return coll_barrier(comm);
}

static int rank_large(struct lib_rank *me) { return while_aborted(me, call_large); }
static int rank_wait(struct lib_rank *me) { return while_aborted(me, call_and_wait); }
static int rank_small(struct lib_rank *me) { return while_aborted(me, call_small); }
static int rank_missing(struct lib_rank *me) { return while_aborted(me, call_missing); }

TEST(blocking)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_large, NULL));
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_missing, NULL));
}

TEST(waiting)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_wait, NULL));
}

TEST(spinning)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_small, NULL));
}

static int rank_sqe(struct lib_rank *me)
{
	struct pollfd poll_fd = { .events = POLLIN };
	struct coll_request *request;
	__u32 mine[LARGE], sum[LARGE];
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	__u64 data;

	values_make(mine, LARGE, me->rank, 1);
	CHECK_EQ(0, ring_open(&ring, 0));
	if (me->rank != NRANKS - 1) {
		sqe = next_sqe(&ring);
		CHECK_EQ(0, coll_prep_allreduce(sqe, me->comm, mine, sum, LARGE, COLL_UINT32,
						COLL_SUM));
		CHECK_EQ(1, io_uring_submit(&ring));
		CHECK_EQ(0, coll_ibarrier(me->comm, &request));
	}
	CHECK(flag_barrier(me->shared, 0, NRANKS));
	if (me->rank == WHO)
		CHECK_EQ(0, coll_abort(me->comm, WHY));
	if (me->rank != NRANKS - 1) {
		CHECK_EQ(-ECANCELED, ring_wait(&ring, &data));
		poll_fd.fd = coll_req_fd(request);
		CHECK_EQ(1, poll(&poll_fd, 1, SOON_MS));
		CHECK(poll_fd.revents & POLLERR);
		CHECK_EQ(-ECANCELED, coll_wait(request));
	}
	while (!coll_comm_failed(me->comm))
		sleep_ms(1);
	CHECK(!check_aborted(me));
	io_uring_queue_exit(&ring);
	return 0;
}

TEST(sqe)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_sqe, NULL));
}

/* The others are told which rank has aborted the group also if it leaves, or ends, at once. */
static int rank_end(struct lib_rank *me)
{
	CHECK(flag_barrier(me->shared, 0, NRANKS));
	if (me->rank == WHO) {
		sleep_ms(50);
		CHECK_EQ(0, coll_abort(me->comm, NULL));
		if (me->arg)
			_exit(0);
		coll_finalize(me->comm);
		me->comm = NULL;
		return 0;
	}
	CHECK_EQ(-ECANCELED, coll_barrier(me->comm));
	CHECK(is_told(me));
	return 0;
}

TEST(end_follows)
{
	int exits = 1;

	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_end, NULL));
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_end, &exits));
}

/* Survivors of an abort make a group; one that was made before lives on. */
static int rank_groups(struct lib_rank *me)
{
	struct coll_comm *before, *left;
	int err;

	CHECK_EQ(0, coll_dup(me->comm, &before));
	/* An abort also ends a call that has not yet returned on another rank. */
	CHECK(flag_barrier(me->shared, 0, NRANKS));
	if (me->rank == WHO)
		CHECK_EQ(0, coll_abort(me->comm, WHY));
	CHECK_EQ(-ECANCELED, coll_barrier(me->comm));
	CHECK_EQ(0, coll_barrier(before));
	CHECK_EQ(0, coll_shrink(me->comm, &left));
	CHECK_EQ(NRANKS, coll_size(left));
	CHECK_EQ(0, coll_barrier(left));
	CHECK(flag_barrier(me->shared, 1, NRANKS));
	/* Which has just failed on another rank, perhaps. */
	err = coll_abort(left, WHY);
	CHECK(!err || err == -EALREADY);
	CHECK_EQ(0, coll_finalize(left));
	CHECK_EQ(0, coll_finalize(before));
	return 0;
}

TEST(groups)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_groups, NULL));
}

static int rank_child(struct lib_rank *me)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(coll_abort(me->comm, "no") != -EPERM);
	CHECK_EQ(pid, waitpid(pid, &status, 0));
	CHECK_EQ(0, status);
	return coll_barrier(me->comm);
}

TEST(refused)
{
	EXPECT_EQ(-EINVAL, coll_abort(NULL, NULL));
	EXPECT_EQ(0, lib_group_run(2, NULL, rank_child, NULL));
}

TEST_HARNESS_MAIN
