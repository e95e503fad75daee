// SPDX-License-Identifier: GPL-2.0-only
/* The library's forms with counts, views and axes. */
#include <collective.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/group.h"
#include "kselftest_harness.h"

#define RANKS_MAX	8

typedef int (*comm_fn)(struct coll_comm *comm, int rank, int n);

static int comm_rank(comm_fn fn, int rank, int nranks, const char *rendezvous)
{
	struct coll_config config = {
		.size = sizeof(config),
		.rank = rank,
		.nranks = nranks,
		.rendezvous = rendezvous,
	};
	struct coll_comm *comm;
	int err;

	CHECK_EQ(0, coll_init(&comm, &config));
	err = fn(comm, rank, nranks);
	if (err)
		dprintf(STDOUT_FILENO, "# rank %d: %s\n", rank, coll_error_detail(comm));
	CHECK_EQ(0, coll_finalize(comm));
	return err;
}

static int comm_run(comm_fn fn, int nranks)
{
	int rank, status, failed = 0;
	char rendezvous[32];
	pid_t pid[RANKS_MAX];

	snprintf(rendezvous, sizeof(rendezvous), "127.0.0.1:%d", 20000 + getpid() % 10000);
	for (rank = 0; rank < nranks; rank++) {
		pid[rank] = fork();
		if (!pid[rank])
			_exit(comm_rank(fn, rank, nranks, rendezvous));
	}
	for (rank = 0; rank < nranks; rank++) {
		waitpid(pid[rank], &status, 0);
		failed += status != 0;
	}
	return failed;
}

static int run_all(comm_fn fn)
{
	static const int counts[] = { 1, 2, 3, 4, 5, 8 };
	unsigned int i;
	int failed = 0;

	for (i = 0; i < ARRAY_SIZE(counts); i++)
		failed += comm_run(fn, counts[i]);
	return failed;
}

static size_t elements(const size_t *shape)
{
	return shape[0] * shape[1] * shape[2];
}

/* Return: the index of an element along an axis. */
static size_t index_of(const size_t *shape, int axis, size_t e)
{
	int i;

	for (i = 2; i > axis; i--)
		e /= shape[i];
	return e % shape[axis];
}

/* Return: the same element in an array that is cut to @length along an axis, from @from on. */
static size_t element_of(const size_t *shape, int axis, size_t from, size_t length, size_t e)
{
	size_t index[3], dim[3], i;

	for (i = 0; i < 3; i++) {
		index[i] = index_of(shape, i, e);
		dim[i] = shape[i];
	}
	index[axis] -= from;
	dim[axis] = length;
	return (index[0] * dim[1] + index[1]) * dim[2] + index[2];
}

static int axis_rank(struct coll_comm *comm, int rank, int n)
{
	const size_t part[3] = { 3, 4, 50 };
	int *mine = calloc(elements(part), 4), *again = calloc(elements(part), 4);
	int *all = calloc(elements(part) * n, 4), *sums = calloc(elements(part) * n, 4);
	struct coll_request *request;
	size_t e, whole[3], other[3];
	int axis, to;

	CHECK(mine && all && sums && again);
	for (axis = 0; axis < 3; axis++) {
		memcpy(whole, part, sizeof(whole));
		whole[axis] *= n;
		for (e = 0; e < elements(part); e++)
			mine[e] = rank * 1000 + e;
		CHECK_EQ(0, coll_allgather_axis(comm, mine, all, part, 3, axis, COLL_INT32));
		for (e = 0; e < elements(whole); e++) {
			size_t owner = index_of(whole, axis, e) / part[axis];

			CHECK_EQ(owner * 1000 + element_of(whole, axis, owner * part[axis],
							   part[axis], e), all[e]);
		}
		/* In place and nonblocking: the blocks of other ranks are overwritten. */
		for (e = 0; e < elements(whole); e++) {
			sums[e] = all[e];
			if (index_of(whole, axis, e) / part[axis] != (size_t)rank)
				all[e] = -1;
		}
		CHECK_EQ(0, coll_iallgather_axis(comm, COLL_IN_PLACE, all, part, 3, axis,
						 COLL_INT32, &request));
		CHECK_EQ(0, coll_wait(request));
		CHECK(!memcmp(all, sums, elements(whole) * 4));

		/*
		 * The reverse: all ranks have the same input, so the result is n times the own
		 * block.
		 */
		CHECK_EQ(0, coll_reduce_scatter_axis(comm, all, again, part, 3, axis, COLL_INT32,
						     COLL_SUM));
		for (e = 0; e < elements(part); e++)
			CHECK_EQ(mine[e] * n, again[e]);

		/* Part r of the input of rank s, along another axis. */
		for (to = 0; to < 3; to++) {
			memcpy(other, part, sizeof(other));
			other[to] *= n;
			for (e = 0; e < elements(whole); e++)
				all[e] = rank * 100000 + e;
			CHECK_EQ(0, coll_alltoall_axis(comm, all, sums, whole, 3, axis, to,
						       COLL_INT32));
			for (e = 0; e < elements(other); e++) {
				size_t from = index_of(other, to, e) / part[to];
				size_t within = element_of(other, to, from * part[to], part[to], e);
				/* The element in the whole array. */
				size_t at[3] = {
					index_of(part, 0, within), index_of(part, 1, within),
					index_of(part, 2, within),
				};

				at[axis] += rank * part[axis];
				CHECK_EQ(from * 100000 +
					 (at[0] * whole[1] + at[1]) * whole[2] + at[2], sums[e]);
			}
			CHECK_EQ(to == axis ? 0 : -EINVAL,
				 coll_alltoall_axis(comm, COLL_IN_PLACE, all, whole, 3, axis, to,
						    COLL_INT32));
			if (to == axis)
				CHECK(!memcmp(all, sums, elements(whole) * 4));
		}
	}
	CHECK_EQ(-EINVAL, coll_allgather_axis(comm, mine, all, part, 3, 3, COLL_INT32));
	CHECK_EQ(-EINVAL, coll_allgather_axis(comm, mine, all, part, 3, -1, COLL_INT32));
	CHECK_EQ(-EOPNOTSUPP, coll_reduce_scatter_axis(comm, COLL_IN_PLACE, all, part, 3, 1,
						       COLL_INT32, COLL_SUM));
	if (n > 1)
		CHECK_EQ(-EINVAL, coll_alltoall_axis(comm, all, sums, (size_t[]){ n + 1, 1 }, 2, 0,
						     1, COLL_INT32));
	return 0;
}

TEST(axes)
{
	EXPECT_EQ(0, run_all(axis_rank));
}

/* Rank r has r elements; rank 0 has none. */
static int vector_rank(struct coll_comm *comm, int rank, int n)
{
	size_t counts[RANKS_MAX], displs[RANKS_MAX], ones[RANKS_MAX], at = 0;
	int mine[RANKS_MAX], all[200], result[RANKS_MAX], *last, r, i;
	const int root = n - 1;

	for (r = n - 1; r >= 0; r--) {
		counts[r] = r;
		ones[r] = 1;
		displs[r] = at;
		at += r + 2;
	}
	for (i = 0; i < rank; i++)
		mine[i] = rank * 100 + i;
	memset(all, 0xff, sizeof(all));
	CHECK_EQ(0, coll_allgatherv(comm, mine, rank, all, counts, displs, COLL_INT32));
	for (r = 0; r < n; r++) {
		for (i = 0; i < r; i++)
			CHECK_EQ(r * 100 + i, all[displs[r] + i]);
		CHECK_EQ(-1, all[displs[r] + r]);
	}
	memset(all, 0xff, sizeof(all));
	memcpy(all + displs[rank], mine, rank * 4);
	CHECK_EQ(0, coll_allgatherv(comm, COLL_IN_PLACE, 0, all, counts, displs, COLL_INT32));
	for (r = 0; r < n; r++)
		for (i = 0; i < r; i++)
			CHECK_EQ(r * 100 + i, all[displs[r] + i]);

	/* Scatter and gather back. */
	memset(all, 0xff, sizeof(all));
	CHECK_EQ(0, coll_gatherv(comm, mine, rank, all, counts, NULL, COLL_INT32, root));
	for (r = 0; rank == root && r < n; r++)
		for (i = 0; i < r; i++)
			CHECK_EQ(r * 100 + i, all[r * (r - 1) / 2 + i]);
	memset(result, 0xff, sizeof(result));
	CHECK_EQ(0, coll_scatterv(comm, all, counts, NULL, result, rank, COLL_INT32, root));
	CHECK(!memcmp(result, mine, rank * 4));
	CHECK_EQ(0, coll_scatterv(comm, all, counts, NULL, rank == root ? COLL_IN_PLACE : result,
				  rank, COLL_INT32, root));

	/* One element for each rank, from the last rank to the first. */
	for (r = 0; r < n; r++)
		displs[r] = n - 1 - r;
	for (i = 0; i < n; i++)
		mine[i] = rank * 100 + i;
	CHECK_EQ(0, coll_alltoallv(comm, mine, ones, displs, result, ones, NULL, COLL_INT32));
	for (r = 0; r < n; r++)
		CHECK_EQ(r * 100 + n - 1 - rank, result[r]);
	memcpy(result, mine, n * 4);
	CHECK_EQ(0, coll_alltoallv(comm, COLL_IN_PLACE, NULL, NULL, result, ones, displs,
				   COLL_INT32));
	for (r = 0; r < n; r++)
		CHECK_EQ(r * 100 + n - 1 - rank, result[n - 1 - r]);
	memcpy(result, mine, n * 4);
	CHECK_EQ(0, coll_alltoall(comm, COLL_IN_PLACE, result, 1, COLL_INT32));
	for (r = 0; r < n; r++)
		CHECK_EQ(r * 100 + rank, result[r]);

	/* Block r has r elements; out of place and in place. */
	at = n * (n - 1) / 2;
	for (i = 0; i < (int)at; i++)
		all[i] = i + 100 * rank;
	memset(result, 0xff, sizeof(result));
	CHECK_EQ(0, coll_reduce_scatterv(comm, all, NULL, result, counts, COLL_INT32, COLL_SUM));
	last = all;
	CHECK_EQ(0, coll_reduce_scatterv(comm, COLL_IN_PLACE, NULL, last, counts, COLL_INT32,
					 COLL_SUM));
	for (i = 0; i < rank; i++) {
		CHECK_EQ(n * (rank * (rank - 1) / 2 + i) + 100 * n * (n - 1) / 2, result[i]);
		CHECK_EQ(result[i], last[i]);
	}
	CHECK_EQ(-EINVAL, coll_alltoallv(comm, mine, NULL, NULL, result, ones, NULL, COLL_INT32));
	return 0;
}

TEST(counts)
{
	EXPECT_EQ(0, run_all(vector_rank));
}

TEST_HARNESS_MAIN
