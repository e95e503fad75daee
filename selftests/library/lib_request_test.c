// SPDX-License-Identifier: GPL-2.0-only
/* Nonblocking operations of the library. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "lib/lib_group.h"
#include "kselftest_harness.h"

#define NRANKS	3
#define COUNT	5000
#define ROOT	1

/* For what takes far less. */
#define PATIENCE_MS	20000

/* What the first rank has seen; the others go on then. */
enum { FLAG_FIRST, FLAG_SECOND };

static int value(int rank, int i)
{
	return (rank + 1) * 1000003 + i * (rank + 7);
}

static void fill(int *to, int rank, int from, int count)
{
	int i;

	for (i = 0; i < count; i++)
		to[i] = value(rank, from + i);
}

static bool holds(const int *at, int rank, int from)
{
	int i;

	for (i = 0; i < COUNT; i++)
		if (at[i] != value(rank, from + i))
			return false;
	return true;
}

/* True if the result is the sum of the ranks 0 to @last. */
static bool sums(const int *at, int last, int from)
{
	int i, rank, sum;

	for (i = 0; i < COUNT; i++) {
		for (sum = 0, rank = 0; rank <= last; rank++)
			sum += value(rank, from + i);
		if (at[i] != sum)
			return false;
	}
	return true;
}

enum {
	ALLREDUCE, BROADCAST, ALLGATHER, SCAN, REDUCE, REDUCE_SCATTER,
	REDUCE_SCATTER_IN_PLACE, GATHER, SCATTER, ALLTOALL, BARRIER, KINDS
};

static int in[KINDS][NRANKS * COUNT], out[KINDS][NRANKS * COUNT];

/* Start one operation of each kind. */
static int begin_all(struct coll_comm *comm, int rank, struct coll_request **r)
{
	int i;

	memset(out, 0xa5, sizeof(out));
	for (i = 0; i < KINDS; i++)
		fill(in[i], rank, 0, NRANKS * COUNT);
	memcpy(out[REDUCE_SCATTER_IN_PLACE], in[0], sizeof(in[0]));
	if (rank == ROOT)
		memcpy(out[BROADCAST], in[0], COUNT * sizeof(int));
	CHECK_EQ(0, coll_iallreduce(comm, in[ALLREDUCE], out[ALLREDUCE], COUNT, COLL_INT32,
				    COLL_SUM, &r[ALLREDUCE]));
	CHECK_EQ(0, coll_ibroadcast(comm, out[BROADCAST], COUNT, COLL_INT32, ROOT,
				    &r[BROADCAST]));
	CHECK_EQ(0, coll_iallgather(comm, in[ALLGATHER], out[ALLGATHER], COUNT, COLL_INT32,
				    &r[ALLGATHER]));
	CHECK_EQ(0, coll_iscan(comm, in[SCAN], out[SCAN], COUNT, COLL_INT32, COLL_SUM, &r[SCAN]));
	CHECK_EQ(0, coll_ireduce(comm, in[REDUCE], out[REDUCE], COUNT, COLL_INT32, COLL_SUM,
				 ROOT, &r[REDUCE]));
	CHECK_EQ(0, coll_ireduce_scatter(comm, in[REDUCE_SCATTER], out[REDUCE_SCATTER], COUNT,
					 COLL_INT32, COLL_SUM, &r[REDUCE_SCATTER]));
	CHECK_EQ(0, coll_ireduce_scatter(comm, COLL_IN_PLACE, out[REDUCE_SCATTER_IN_PLACE], COUNT,
					 COLL_INT32, COLL_SUM, &r[REDUCE_SCATTER_IN_PLACE]));
	CHECK_EQ(0, coll_igather(comm, in[GATHER], out[GATHER], COUNT, COLL_INT32, ROOT,
				 &r[GATHER]));
	CHECK_EQ(0, coll_iscatter(comm, in[SCATTER], out[SCATTER], COUNT, COLL_INT32, ROOT,
				  &r[SCATTER]));
	CHECK_EQ(0, coll_ialltoall(comm, in[ALLTOALL], out[ALLTOALL], COUNT, COLL_INT32,
				   &r[ALLTOALL]));
	CHECK_EQ(0, coll_ibarrier(comm, &r[BARRIER]));
	for (i = 0; i < KINDS; i++)
		CHECK(r[i]);
	return 0;
}

static int check_all(int rank)
{
	int i;

	CHECK(sums(out[ALLREDUCE], NRANKS - 1, 0));
	CHECK(holds(out[BROADCAST], ROOT, 0));
	CHECK(sums(out[SCAN], rank, 0));
	CHECK(rank != ROOT || sums(out[REDUCE], NRANKS - 1, 0));
	CHECK(sums(out[REDUCE_SCATTER], NRANKS - 1, rank * COUNT));
	CHECK(sums(out[REDUCE_SCATTER_IN_PLACE], NRANKS - 1, rank * COUNT));
	CHECK(holds(out[SCATTER], ROOT, rank * COUNT));
	for (i = 0; i < NRANKS; i++) {
		CHECK(holds(out[ALLGATHER] + i * COUNT, i, 0));
		CHECK(rank != ROOT || holds(out[GATHER] + i * COUNT, i, 0));
		CHECK(holds(out[ALLTOALL] + i * COUNT, i, rank * COUNT));
	}
	return 0;
}

static int rank_all(struct lib_rank *me)
{
	struct coll_comm *comm = me->comm;
	struct coll_request *r[KINDS];
	int i, n, index, done;

	CHECK_EQ(0, begin_all(comm, me->rank, r));
	CHECK_EQ(0, coll_wait_all(r, KINDS));
	for (i = 0; i < KINDS; i++)
		CHECK(!r[i]);
	CHECK_EQ(0, check_all(me->rank));

	/* Wait in the order of completion. */
	CHECK_EQ(0, begin_all(comm, me->rank, r));
	for (n = 0; n < KINDS; n++) {
		CHECK_EQ(0, coll_wait_any(r, KINDS, &index, -1));
		CHECK(index >= 0 && index < KINDS && !r[index]);
	}
	CHECK_EQ(0, coll_wait_any(r, KINDS, &index, -1));
	CHECK_EQ(-1, index);
	CHECK_EQ(0, check_all(me->rank));

	/* Wait from the last to the first, without sleeping. */
	CHECK_EQ(0, begin_all(comm, me->rank, r));
	for (i = KINDS - 1; i >= 0; i--)
		do {
			CHECK_EQ(0, coll_test(r[i], &done));
		} while (!done);
	CHECK_EQ(0, check_all(me->rank));
	return 0;
}

TEST(every_collective)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_all, NULL));
}

static int rank_any(struct lib_rank *me)
{
	struct coll_comm *comm = me->comm;
	struct coll_request *r[6] = {}, *gone;
	int i, index, done;

	/* A malformed call starts no operation. */
	gone = (void *)1;
	CHECK_EQ(-EINVAL, coll_iallreduce(comm, (char *)in[0] + 1, out[0], 1, COLL_INT32, COLL_SUM,
					  &gone));
	CHECK(!gone);
	gone = (void *)1;
	CHECK_EQ(-EINVAL, coll_ibroadcast(comm, out[0], 1, -1, 0, &gone));
	CHECK(!gone);
	/* A NULL request is complete. */
	CHECK_EQ(0, coll_wait(NULL));
	CHECK_EQ(0, coll_test(NULL, &done));
	CHECK(done);
	CHECK_EQ(0, coll_wait_all(r, 6));
	CHECK_EQ(0, coll_wait_any(NULL, 0, &index, -1));

	for (i = 1; i < 6; i += 2)
		if (!me->rank)
			CHECK_EQ(0, coll_ibarrier(comm, &r[i]));
	if (me->rank) {
		CHECK(flag_wait(me->shared, FLAG_FIRST, 1, PATIENCE_MS));
		for (i = 1; i < 6; i += 2)
			CHECK_EQ(0, coll_barrier(comm));
		return 0;
	}
	CHECK_EQ(0, coll_test(r[3], &done));
	CHECK(!done);
	CHECK_EQ(-EINPROGRESS, coll_wait_any(r, 6, &index, 0));
	CHECK_EQ(-EINPROGRESS, coll_wait_any(r, 6, &index, 10));
	CHECK_EQ(-1, index);
	flag_set(me->shared, FLAG_FIRST, 1);
	/* Barriers complete in order, but two may have completed at the time of the check. */
	for (i = 1; i < 6; i += 2) {
		CHECK_EQ(0, coll_wait_any(r, 6, &index, 20000));
		CHECK_EQ(i, index);
		CHECK(!r[i]);
	}
	return 0;
}

TEST(wait_any)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_any, NULL));
}

/* Some handles are there twice or three times. */
static int rank_repeats(struct lib_rank *me)
{
	struct coll_comm *comm = me->comm;
	struct coll_request *r[6] = { 0 };
	int index;

	if (me->rank) {
		CHECK(flag_wait(me->shared, FLAG_FIRST, 1, PATIENCE_MS));
		CHECK_EQ(0, coll_barrier(comm));
		CHECK(flag_wait(me->shared, FLAG_SECOND, 1, PATIENCE_MS));
		return coll_barrier(comm);
	}
	CHECK_EQ(0, coll_ibarrier(comm, &r[1]));
	CHECK_EQ(0, coll_ibarrier(comm, &r[2]));
	r[3] = r[1];
	r[4] = r[2];
	r[5] = r[1];
	CHECK_EQ(-EINPROGRESS, coll_wait_any(r, 6, &index, 10));
	CHECK_EQ(-1, index);
	flag_set(me->shared, FLAG_FIRST, 1);
	CHECK_EQ(0, coll_wait_any(r, 6, &index, 20000));
	CHECK_EQ(1, index);
	CHECK(!r[1] && r[2] && !r[3] && r[4] && !r[5]);
	CHECK_EQ(-EINPROGRESS, coll_wait_any(r, 6, &index, 10));
	flag_set(me->shared, FLAG_SECOND, 1);
	CHECK_EQ(0, coll_wait_any(r, 6, &index, 20000));
	CHECK_EQ(2, index);
	CHECK(!r[2] && !r[4]);
	CHECK_EQ(0, coll_wait_any(r, 6, &index, 20000));
	CHECK_EQ(-1, index);
	return 0;
}

TEST(wait_any_of_repeats)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_repeats, NULL));
}

/* A handle that is there more than once counts once; one that ended before is an error. */
static int rank_all_repeats(struct lib_rank *me)
{
	struct coll_comm *comm = me->comm;
	struct coll_request *r[6] = { 0 }, *ended;

	CHECK_EQ(0, coll_ibarrier(comm, &r[1]));
	CHECK_EQ(0, coll_ibarrier(comm, &r[2]));
	r[3] = r[1];
	r[4] = r[2];
	r[5] = r[1];
	ended = r[1];
	CHECK_EQ(0, coll_wait_all(r, 6));
	CHECK(!r[1] && !r[2] && !r[3] && !r[4] && !r[5]);
	r[0] = ended;
	CHECK_EQ(-ENOENT, coll_wait_all(r, 6));

	CHECK_EQ(0, coll_barrier_init(comm, &r[0]));
	CHECK_EQ(0, coll_start(r[0]));
	r[1] = r[0];
	CHECK_EQ(0, coll_wait_all(r, 2));
	CHECK(r[0] && r[1] == r[0]);
	return coll_request_free(r[0]);
}

TEST(wait_all_of_repeats)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_all_repeats, NULL));
}

/* Of these errors the text of the system would tell something else. */
TEST(texts_of_errors)
{
	static const int errors[] = { EINPROGRESS, EALREADY, ECONNABORTED, EPROTONOSUPPORT };
	size_t i;

	for (i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		EXPECT_NE(0, strcmp(coll_strerror(-errors[i]), strerror(errors[i])));
	EXPECT_NE(NULL, strstr(coll_strerror(-EINPROGRESS), "goes on"));
}

/* Only one of three calls matches. */
static int rank_mismatch(struct lib_rank *me)
{
	struct coll_comm *comm = me->comm;
	struct coll_request *r[4];
	int i, index, bad = 0;

	for (i = 0; i < 4; i++)
		CHECK_EQ(0, coll_iallreduce(comm, in[i], out[i], i == 2 ? COUNT + me->rank : COUNT,
					    COLL_INT32, COLL_SUM, &r[i]));
	CHECK_EQ(-EBADMSG, coll_wait_all(r, 4));
	CHECK_EQ(0, coll_barrier(comm));

	for (i = 0; i < 4; i++)
		CHECK_EQ(0, coll_iallreduce(comm, in[i], out[i], i == 1 ? COUNT + me->rank : COUNT,
					    COLL_INT32, COLL_SUM, &r[i]));
	for (i = 0; i < 4; i++) {
		int err = coll_wait_any(r, 4, &index, -1);

		CHECK_EQ(index == 1 ? -EBADMSG : 0, err);
		bad += !!err;
	}
	CHECK_EQ(1, bad);
	return coll_barrier(comm);
}

TEST(mismatch)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_mismatch, NULL));
}

static void on_signal(int signal)
{
}

static void *wait_thread(void *request)
{
	return (void *)(long)coll_wait(request);
}

/* Signals are not seen, and each thread has its own request. */
static int rank_threads(struct lib_rank *me)
{
	struct coll_comm *comm = me->comm;
	struct sigaction action = { .sa_handler = on_signal };
	struct itimerval timer = { { 0, 3000 }, { 0, 3000 } };
	struct coll_request *r[20];
	pthread_t thread[20];
	int i, index;
	void *err;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (i = 0; i < 20; i++) {
		sleep_ms(5 * me->rank);
		CHECK_EQ(0, coll_ibarrier(comm, &r[i]));
		CHECK_EQ(0, pthread_create(&thread[i], NULL, wait_thread, r[i]));
	}
	for (i = 0; i < 20; i++) {
		pthread_join(thread[i], &err);
		CHECK_EQ(0, (long)err);
	}
	for (i = 0; i < 20; i++)
		CHECK_EQ(0, coll_ibarrier(comm, &r[i]));
	if (!me->rank)
		sleep_ms(100);
	CHECK_EQ(0, coll_wait_any(r + 10, 10, &index, 20000));
	CHECK_EQ(0, coll_wait_all(r, 20));
	memset(&timer, 0, sizeof(timer));
	setitimer(ITIMER_REAL, &timer, NULL);
	return 0;
}

TEST(threads_and_signals)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_threads, NULL));
}

/* Operations that no thread waits for complete. */
static int rank_forgets(struct lib_rank *me)
{
	struct coll_comm *comm = me->comm;
	struct coll_request *r[KINDS];
	int i;

	CHECK_EQ(0, begin_all(comm, me->rank, r));
	for (i = 0; i < KINDS; i += 2)
		CHECK_EQ(0, coll_wait(r[i]));
	/* The others complete, too. */
	CHECK(member_await(coll_name(comm), me->rank, "inflight", 0));
	return coll_barrier(comm) ?: check_all(me->rank);
}

TEST(forgotten)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_forgets, NULL));
}

/* Start operations up to the kernel's limit; collecting one makes space for another. */
static int rank_limit(struct lib_rank *me)
{
	struct coll_comm *comm = me->comm;
	static struct coll_request *r[1000];
	int i, n = 0, index, err;

	while (!(err = coll_ibarrier(comm, &r[n])))
		n++;
	CHECK_EQ(-EAGAIN, err);
	CHECK(!r[n]);
	CHECK_EQ(512, n);
	CHECK_EQ(0, coll_wait(r[0]));
	r[0] = NULL;
	CHECK_EQ(0, coll_ibarrier(comm, &r[0]));
	for (i = 0; i < 300; i++) {
		CHECK_EQ(0, coll_wait_any(r, 1000, &index, -1));
		CHECK(index >= 0 && index < 512);
	}
	return coll_wait_all(r, 1000);
}

TEST(limit)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, NULL, rank_limit, NULL));
}

TEST_HARNESS_MAIN
