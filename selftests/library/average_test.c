// SPDX-License-Identifier: GPL-2.0-only
/*
 * COLL_AVG is the result of COLL_SUM divided by the number of ranks and rounded to the type: for
 * every type, group size and algorithm.
 */
#include <math.h>
#include <string.h>

#include <linux/collective.h>

#include "kselftest_harness.h"
#include "lib/lib_group.h"
#include "lib/values.h"

#define MOST	70000

static const size_t counts[] = { 4, 20000, MOST };
static __u8 in[8 * MOST], sum[8 * MOST], avg[8 * MOST];

/* Input of which some sums overflow: it includes the largest values of each type. */
static void elements_make(int type, int rank)
{
	const struct reference_type *t = &reference_types[type];
	size_t i;

	for (i = 0; i < MOST; i++) {
		u64 bits = (i + 1) * 0x9e3779b97f4a7c15ULL * (i % 3 ? 1 : rank + 1) >> 7;

		if (t->kind == REFERENCE_FLOAT)
			bits = reference_encode(t, i % 4 ? ldexp(1 + i % 64 / 64.0, 15 - i % 7) :
							   (double)(i * (rank + 1) % 1000) / 7);
		memcpy(in + i * t->size, &bits, t->size);
	}
}

static u64 element(const __u8 *at, size_t i, int size)
{
	u64 bits = 0;

	memcpy(&bits, at + i * size, size);
	return bits;
}

static u64 divided(int type, u64 bits, int n)
{
	const struct reference_type *t = &reference_types[type];
	double x;

	if (t->kind != REFERENCE_FLOAT)
		return reference_extend(t, bits) / n & reference_mask(t);
	x = reference_decode(t, bits);
	return reference_encode(t, t->size == 8 ? x / n : (double)((float)x / (float)n));
}

static int averages(struct lib_rank *me, struct collective_op *op)
{
	const int size = reference_types[op->type].size;
	size_t i;

	op->opcode = COLLECTIVE_ALLREDUCE;
	op->send = (uintptr_t)in;
	op->recv = (uintptr_t)sum;
	op->reduction = COLLECTIVE_SUM;
	CHECK_EQ(0, coll_submit(me->comm, op));
	op->recv = (uintptr_t)avg;
	op->reduction = COLLECTIVE_AVG;
	CHECK_EQ(0, coll_submit(me->comm, op));
	for (i = 0; i < op->count; i++)
		CHECK_EQ(divided(op->type, element(sum, i, size), me->nranks),
			 element(avg, i, size));
	return 0;
}

static int rank_divides(struct lib_rank *me)
{
	struct collective_op op = { 0 };
	size_t i;
	int err = 0;

	for (op.type = 0; op.type < COLLECTIVE_TYPE_COUNT && !err; op.type++) {
		elements_make(op.type, me->rank);
		for (i = 0; i < 3 && !err; i++) {
			op.count = counts[i];
			op.flags = 0;
			err = averages(me, &op);
			op.flags = COLLECTIVE_F_REPRODUCIBLE;
			err = err ?: averages(me, &op);
		}
	}
	return err;
}

TEST(sum_divided)
{
	int n;

	for (n = 2; n <= 4; n++)
		EXPECT_EQ(0, lib_group_run(n, NULL, rank_divides, NULL));
}

/* The sum of 60,000 and 60,000 is not a binary16 number; with WIDE it is kept in a wider type. */
static int rank_overflows(struct lib_rank *me)
{
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_FLOAT16,
		.reduction = COLLECTIVE_AVG,
		.send = (uintptr_t)in,
		.recv = (uintptr_t)avg,
	};
	__u16 large = 0x7b53;
	size_t i, k;

	for (i = 0; i < MOST; i++)
		memcpy(in + 2 * i, &large, 2);
	for (k = 0; k < 6; k++) {
		op.count = counts[k / 2];
		op.flags = k % 2 ? COLLECTIVE_F_WIDE : 0;
		CHECK_EQ(0, coll_submit(me->comm, &op));
		for (i = 0; i < op.count; i++)
			CHECK_EQ(op.flags ? large : 0x7c00, element(avg, i, 2));
	}
	return 0;
}

TEST(overflow)
{
	int n;

	for (n = 2; n <= 4; n++)
		EXPECT_EQ(0, lib_group_run(n, NULL, rank_overflows, NULL));
}

TEST_HARNESS_MAIN
