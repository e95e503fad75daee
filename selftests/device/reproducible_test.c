// SPDX-License-Identifier: GPL-2.0-only
/* The reproducible allreduce: elements are reduced in the order of ranks. */
#include <stdint.h>

#include "lib/call.h"
#include "kselftest_harness.h"
#include "lib/sizes.h"

FIXTURE_OF_SIZES(collectives);

/* Values of all magnitudes and signs, so that any other order rounds differently. */
static double uneven(u32 rank, u32 i)
{
	u32 h = hash(rank, i, 77);

	return ldexp((h & 1 ? -1.0 : 1.0) * ((1 << 24) + (h >> 8)), (int)(h >> 1 & 15) - 32);
}

static int reproduce_float(struct rank *r, size_t count, int reduction)
{
	float *send = memory(count * 4), *recv = memory(count * 4), sum;
	struct call c = {
		.opcode = COLLECTIVE_ALLREDUCE, .type = COLLECTIVE_FLOAT32,
		.reduction = reduction, .count = count,
	};
	size_t i;
	u32 k;

	CHECK(send && recv);
	for (i = 0; i < count; i++)
		send[i] = uneven(r->rank, i);
	CHECK_EQ(0, call_submit(r, &c, COLLECTIVE_F_REPRODUCIBLE, send, recv));
	for (i = 0; i < count; i++) {
		sum = uneven(0, i);
		for (k = 1; k < r->nranks; k++)
			sum += (float)uneven(k, i);
		if (reduction == COLLECTIVE_AVG)
			sum /= r->nranks;
		CHECK(!memcmp(&sum, &recv[i], sizeof(sum)));
		CHECK(send[i] == (float)uneven(r->rank, i));
	}
	CHECK_EQ(0, call_submit(r, &c, COLLECTIVE_F_REPRODUCIBLE, send, send));
	CHECK(!memcmp(send, recv, count * 4));
	munmap(send, count * 4);
	munmap(recv, count * 4);
	return 0;
}

static int reproduce_double(struct rank *r, size_t count)
{
	double *data = memory(count * 8), product;
	struct call c = {
		.opcode = COLLECTIVE_ALLREDUCE, .type = COLLECTIVE_FLOAT64,
		.reduction = COLLECTIVE_PROD, .count = count,
	};
	size_t i;
	u32 k;

	CHECK(data);
	for (i = 0; i < count; i++)
		data[i] = 1 / uneven(r->rank, i);
	CHECK_EQ(0, call_submit(r, &c, COLLECTIVE_F_REPRODUCIBLE, data, data));
	for (i = 0; i < count; i++) {
		product = 1 / uneven(0, i);
		for (k = 1; k < r->nranks; k++)
			product *= 1 / uneven(k, i);
		CHECK(!memcmp(&product, &data[i], sizeof(product)));
	}
	munmap(data, count * 8);
	return 0;
}

/* Narrow floats, and integers, for which the order does not matter. */
static int reproduce_any(struct rank *r, int type, size_t count)
{
	const struct reference_type *t = &reference_types[type];
	const bool real = t->kind == REFERENCE_FLOAT;
	struct call c = { .opcode = COLLECTIVE_ALLREDUCE, .type = type, .count = count };
	__u8 *data = memory(count * 8);
	struct period in, out;
	u32 i, k;

	CHECK(data);
	for (i = 0; i < PERIOD; i++) {
		u64 own = 0, all = 0;

		for (k = 0; k < r->nranks; k++) {
			u64 v = real ? reference_encode(t, uneven(k, i)) : input(type, 0, k, i);

			all = k ? reference_reduce(type, COLLECTIVE_SUM, all, v, 1) : v;
			if (k == r->rank)
				own = v;
		}
		memcpy(in.byte + i * t->size, &own, t->size);
		memcpy(out.byte + i * t->size, &all, t->size);
	}
	fill(data, in.byte, count, t->size);
	CHECK_EQ(0, call_submit(r, &c, COLLECTIVE_F_REPRODUCIBLE, data, data));
	CHECK(filled(data, out.byte, count, t->size));
	munmap(data, count * 8);
	return 0;
}

static int rank_reproducible(struct rank *r)
{
	static const size_t counts[] = { 0, 1, 1021, EAGER / 4, EAGER / 4 + 1, 40009 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		if (reproduce_float(r, counts[i] + !counts[i], COLLECTIVE_SUM) ||
		    reproduce_float(r, counts[i] + !counts[i], COLLECTIVE_AVG) ||
		    reproduce_double(r, counts[i] + !counts[i]) ||
		    reproduce_any(r, COLLECTIVE_FLOAT16, counts[i] + !counts[i]) ||
		    reproduce_any(r, COLLECTIVE_BFLOAT16, counts[i] + !counts[i]) ||
		    reproduce_any(r, COLLECTIVE_INT32, counts[i] + !counts[i]))
			return 1;
	}
	return reproduce_float(r, LARGE, COLLECTIVE_SUM);
}

TEST_F_TIMEOUT(collectives, reproducible, 100)
{
	struct group_config config = variant->config;

	for (config.lanes = 1; config.lanes <= 4; config.lanes++) {
		/* All types once, some with every number of ranks. */
		if (config.nranks != 3 && config.lanes % 3 != 1)
			continue;
		EXPECT_EQ(0, group_run(&config, rank_reproducible, NULL))
			TH_LOG("%u lanes", config.lanes);
	}
}

TEST_HARNESS_MAIN
