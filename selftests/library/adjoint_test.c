// SPDX-License-Identifier: GPL-2.0-only
/*
 * coll_adjoint(): <A x, y> = <x, A' y> over all ranks, for every collective A that has an adjoint
 * A'. Numbers are small integers, so that sums are exact.
 */
#include <errno.h>
#include <string.h>

#include "kselftest_harness.h"
#include "lib/lib_group.h"
#include "lib/values.h"

/* Elements of a block. If the number of ranks is a power of two, averages are exact, too. */
#define COUNT	37
#define ROOT	1

/**
 * struct shape - blocks of COUNT elements that a collective reads and writes
 * @in: input blocks of each rank; 0: one for each rank
 * @out: result blocks of each rank; 0: one for each rank
 * @in_root: true if only the root has input
 * @out_root: true if only the root has a result
 */
struct shape {
	int in;
	int out;
	bool in_root;
	bool out_root;
};

static const struct shape shapes[] = {
	[COLL_ALLREDUCE] = { .in = 1, .out = 1 },
	[COLL_REDUCE] = { .in = 1, .out = 1, .out_root = true },
	[COLL_BROADCAST] = { .in = 1, .out = 1, .in_root = true },
	[COLL_ALLGATHER] = { .in = 1, .out = 0 },
	[COLL_REDUCE_SCATTER] = { .in = 0, .out = 1 },
	[COLL_GATHER] = { .in = 1, .out = 0, .out_root = true },
	[COLL_SCATTER] = { .in = 0, .out = 1, .in_root = true },
	[COLL_ALLTOALL] = { .in = 0, .out = 0 },
	[COLL_SCAN] = { .in = 1, .out = 1 },
};

static int apply(struct coll_comm *comm, enum coll_collective what, enum coll_op op,
		 const double *in, double *out)
{
	switch (what) {
	case COLL_ALLREDUCE:
		return coll_allreduce(comm, in, out, COUNT, COLL_FLOAT64, op);
	case COLL_REDUCE:
		return coll_reduce(comm, in, out, COUNT, COLL_FLOAT64, op, ROOT);
	case COLL_BROADCAST:
		memcpy(out, in, COUNT * sizeof(*out));
		return coll_broadcast(comm, out, COUNT, COLL_FLOAT64, ROOT);
	case COLL_ALLGATHER:
		return coll_allgather(comm, in, out, COUNT, COLL_FLOAT64);
	case COLL_REDUCE_SCATTER:
		return coll_reduce_scatter(comm, in, out, COUNT, COLL_FLOAT64, op);
	case COLL_GATHER:
		return coll_gather(comm, in, out, COUNT, COLL_FLOAT64, ROOT);
	case COLL_SCATTER:
		return coll_scatter(comm, in, out, COUNT, COLL_FLOAT64, ROOT);
	case COLL_ALLTOALL:
		return coll_alltoall(comm, in, out, COUNT, COLL_FLOAT64);
	case COLL_SCAN:
		return coll_scan(comm, in, out, COUNT, COLL_FLOAT64, op);
	default:
		return -EOPNOTSUPP;
	}
}

/* Fill this rank's part of a vector over all ranks with small integers. */
static void fill_integers(double *x, int seed, int rank)
{
	int i;

	for (i = 0; i < GROUP_RANKS_MAX * COUNT; i++)
		x[i] = (int)(hash(seed, rank, i) % 15) - 7;
}

/* Return: the number of elements of this rank; 0 if it has no part. */
static int part(const struct lib_rank *me, int blocks, bool root_only)
{
	if (root_only && me->rank != ROOT)
		return 0;
	return (blocks ? blocks : me->nranks) * COUNT;
}

static int product(struct lib_rank *me, const double *a, const double *b, int n, double *sum)
{
	double own = 0;
	int i;

	for (i = 0; i < n; i++)
		own += a[i] * b[i];
	return coll_allreduce(me->comm, &own, sum, 1, COLL_FLOAT64, COLL_SUM);
}

static double x[GROUP_RANKS_MAX * COUNT], y[GROUP_RANKS_MAX * COUNT];
static double ax[GROUP_RANKS_MAX * COUNT], aty[GROUP_RANKS_MAX * COUNT];

/* Compare <A x, y> and <x, A' y>; @back: communicator of A'. */
static int transpose(struct lib_rank *me, struct coll_comm *back, enum coll_collective what,
		     enum coll_op op, const struct coll_adjoint *adjoint)
{
	const struct shape *s = &shapes[what];
	const int in = part(me, s->in, s->in_root), out = part(me, s->out, s->out_root);
	double left, right;

	fill_integers(x, what, me->rank);
	fill_integers(y, what + 100, me->rank);
	CHECK_EQ(0, apply(me->comm, what, op, x, ax));
	CHECK_EQ(0, apply(back, adjoint->collective, adjoint->op, y, aty));
	CHECK_EQ(0, product(me, ax, y, out, &left));
	CHECK_EQ(0, product(me, x, aty, in, &right));
	if (adjoint->divide)
		right /= me->nranks;
	/* The product is 0 only if nothing was transferred. */
	CHECK(left != 0);
	CHECK_EQ(left * 1024, right * 1024);
	return 0;
}

static int rank_pairs(struct lib_rank *me)
{
	static const enum coll_op ops[] = { COLL_SUM, COLL_AVG };
	struct coll_adjoint adjoint;
	u32 i;
	int c;

	for (c = COLL_ALLREDUCE; c <= COLL_ALLTOALL; c++) {
		for (i = 0; i < ARRAY_SIZE(ops); i++) {
			CHECK_EQ(0, coll_adjoint(c, ops[i], &adjoint));
			if (transpose(me, me->comm, c, ops[i], &adjoint)) {
				dprintf(STDOUT_FILENO, "# collective %d, reduction %d\n", c,
					ops[i]);
				return 1;
			}
		}
	}
	return 0;
}

TEST(pairs)
{
	EXPECT_EQ(0, lib_group_run(4, NULL, rank_pairs, NULL));
	EXPECT_EQ(0, lib_group_run(2, NULL, rank_pairs, NULL));
}

/* The example of the manual for scans. */
static int rank_scan(struct lib_rank *me)
{
	const struct coll_adjoint adjoint = { .collective = COLL_SCAN, .op = COLL_SUM };
	struct coll_comm *reverse;
	int err;

	CHECK_EQ(0, coll_split(me->comm, 0, -me->rank, &reverse));
	err = transpose(me, reverse, COLL_SCAN, COLL_SUM, &adjoint);
	CHECK_EQ(0, coll_finalize(reverse));
	return err;
}

TEST(scan)
{
	EXPECT_EQ(0, lib_group_run(5, NULL, rank_scan, NULL));
}

/* The table is symmetric except for averages. */
TEST(table)
{
	static const enum coll_collective pairs[][2] = {
		{ COLL_BARRIER, COLL_BARRIER },
		{ COLL_ALLREDUCE, COLL_ALLREDUCE },
		{ COLL_REDUCE, COLL_BROADCAST },
		{ COLL_ALLGATHER, COLL_REDUCE_SCATTER },
		{ COLL_GATHER, COLL_SCATTER },
		{ COLL_ALLTOALL, COLL_ALLTOALL },
		{ COLL_SEND, COLL_RECV },
	};
	struct coll_adjoint adjoint;
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(pairs); i++) {
		for (k = 0; k < 2; k++) {
			EXPECT_EQ(0, coll_adjoint(pairs[i][k], COLL_SUM, &adjoint));
			EXPECT_EQ(pairs[i][!k], adjoint.collective);
			EXPECT_EQ(COLL_SUM, adjoint.op);
			EXPECT_EQ(0, adjoint.divide);
		}
	}
	EXPECT_EQ(0, coll_adjoint(COLL_ALLREDUCE, COLL_AVG, &adjoint));
	EXPECT_EQ(COLL_AVG, adjoint.op);
	EXPECT_EQ(0, adjoint.divide);
	EXPECT_EQ(0, coll_adjoint(COLL_REDUCE_SCATTER, COLL_AVG, &adjoint));
	EXPECT_EQ(COLL_ALLGATHER, adjoint.collective);
	EXPECT_EQ(1, adjoint.divide);
	/* A collective that does not reduce ignores the reduction. */
	EXPECT_EQ(0, coll_adjoint(COLL_ALLGATHER, COLL_MAX, &adjoint));
	EXPECT_EQ(COLL_SUM, adjoint.op);
}

TEST(none)
{
	struct coll_adjoint adjoint;
	int op;

	for (op = COLL_SUM; op <= COLL_LXOR; op++) {
		int err = op == COLL_SUM || op == COLL_AVG ? 0 : -EOPNOTSUPP;

		EXPECT_EQ(err, coll_adjoint(COLL_ALLREDUCE, op, &adjoint));
		EXPECT_EQ(err, coll_adjoint(COLL_REDUCE, op, &adjoint));
		EXPECT_EQ(err, coll_adjoint(COLL_REDUCE_SCATTER, op, &adjoint));
		EXPECT_EQ(-EOPNOTSUPP, coll_adjoint(COLL_SCAN, op, &adjoint));
		EXPECT_EQ(-EOPNOTSUPP, coll_adjoint(COLL_EXSCAN, op, &adjoint));
	}
	EXPECT_EQ(-EINVAL, coll_adjoint(COLL_RECV + 1, COLL_SUM, &adjoint));
	EXPECT_EQ(-EINVAL, coll_adjoint(-1, COLL_SUM, &adjoint));
	EXPECT_EQ(-EINVAL, coll_adjoint(COLL_ALLREDUCE, COLL_LXOR + 1, &adjoint));
	EXPECT_EQ(-EINVAL, coll_adjoint(COLL_ALLGATHER, -1, &adjoint));
}

TEST_HARNESS_MAIN
