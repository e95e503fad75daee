// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reductions in which partial results go from rank to rank: small ones in few steps, large ones
 * along the ring, in the order of ranks, and rounded once.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/sizes.h"

#define SPARE	0x5a

/* Return: element @i of the input of a rank: floats of which the sums are rounded. */
static float value(__u32 rank, __u64 i)
{
	__u32 h = rank * 0x9e3779b1U ^ (__u32)i * 0x85ebca77U;

	h ^= h >> 15;
	h *= 0x2c1b3c6dU;
	h ^= h >> 13;
	return (float)(int)h / (1 << 26);
}

/* Return: ((x0 + x1) + x2)... of the ranks before @end. */
static float ordered(__u32 end, __u64 i)
{
	float sum = value(0, i);
	__u32 rank;

	for (rank = 1; rank < end; rank++)
		sum += value(rank, i);
	return sum;
}

static bool near(float a, float b)
{
	return a - b < 0.05f && b - a < 0.05f;
}

struct partial {
	int opcode;
	int algorithm;
	__u32 flags;
	__u32 root;
	__u64 count;
	bool in_place;
};

/* Return: the number of ranks that the result covers, and which elements it has. */
static __u32 partial_ranks(const struct rank *r, const struct partial *p)
{
	switch (p->opcode) {
	case COLLECTIVE_REDUCE:
		return r->rank == p->root ? r->nranks : 0;
	case COLLECTIVE_SCAN:
		return r->rank + 1;
	case COLLECTIVE_EXSCAN:
		return r->rank;
	}
	return r->nranks;
}

static int partial_check(const struct rank *r, const struct partial *p, const float *recv)
{
	__u64 i, first = p->opcode == COLLECTIVE_REDUCE_SCATTER ? r->rank * p->count : 0;
	__u32 ranks = partial_ranks(r, p);

	for (i = 0; ranks && i < p->count; i++) {
		float want = ordered(ranks, first + i);

		if (p->flags & COLLECTIVE_F_REPRODUCIBLE)
			CHECK(!memcmp(&want, &recv[i], sizeof(want)));
		else
			CHECK(near(want, recv[i]));
	}
	return 0;
}

static bool spared(const void *memory, size_t bytes)
{
	const __u8 *at = memory;

	while (bytes--)
		if (at[bytes] != SPARE)
			return false;
	return true;
}

static int partial_run(struct rank *r, const struct partial *p)
{
	bool blocks = p->opcode == COLLECTIVE_REDUCE_SCATTER;
	__u64 all = p->count * (blocks ? r->nranks : 1), i;
	size_t bytes = p->count * sizeof(float);
	float *send = malloc(all * sizeof(float) + 4), *recv = malloc(bytes + 64), *result;
	struct collective_op op = {
		.opcode = p->opcode,
		.type = COLLECTIVE_FLOAT32,
		.algorithm = p->algorithm,
		.flags = p->flags,
		.root = p->root,
		.count = p->count,
		.send = (uintptr_t)send,
	};
	bool has = partial_ranks(r, p);

	CHECK(send && recv);
	memset(recv, SPARE, bytes + 64);
	for (i = 0; i < all; i++)
		send[i] = value(r->rank, i);
	result = p->in_place ? send + (blocks ? r->rank * p->count : 0) : recv;
	op.recv = has || p->opcode == COLLECTIVE_EXSCAN ? (uintptr_t)result : 0;
	CHECK_EQ(0, member_submit(r->fd, &op));
	CHECK_EQ(0, partial_check(r, p, result));
	for (i = 0; i < all && !(p->in_place && has); i++)
		CHECK(send[i] == value(r->rank, i));
	CHECK(has && !p->in_place ? spared((char *)recv + bytes, 64) : spared(recv, bytes + 64));
	free(send);
	free(recv);
	return 0;
}

static const int opcodes[] = {
	COLLECTIVE_ALLREDUCE, COLLECTIVE_REDUCE, COLLECTIVE_REDUCE_SCATTER,
	COLLECTIVE_SCAN, COLLECTIVE_EXSCAN,
};

static int every_partial(struct rank *r)
{
	static const __u64 counts[] = { 1, 0, 7, 1021, 2048, 2049, 40009, 300007 };
	unsigned int o, i;

	for (o = 0; o < ARRAY_SIZE(opcodes); o++)
		for (i = 0; i < 8 * ARRAY_SIZE(counts); i++) {
			struct partial p = {
				.opcode = opcodes[o],
				.count = counts[i / 8],
				.in_place = i & 1,
				.flags = i & 2 ? COLLECTIVE_F_REPRODUCIBLE : 0,
				.algorithm = i & 4 ? COLLECTIVE_ALGORITHM_RING : 0,
				.root = opcodes[o] == COLLECTIVE_REDUCE ? i / 2 % r->nranks : 0,
			};

			if (p.count > 100000 && i & (slow_machine() ? 5 : 4))
				continue;
			CHECK_EQ(0, partial_run(r, &p));
		}
	return 0;
}

static __u16 bfloat16(float value)
{
	__u32 bits;

	memcpy(&bits, &value, sizeof(bits));
	return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/* 256 and ones: if the sum is rounded at every step, the ones are lost. */
static int wide_run(struct rank *r, int opcode, __u64 count, __u32 flags, bool in_place)
{
	bool blocks = opcode == COLLECTIVE_REDUCE_SCATTER;
	__u64 all = count * (blocks ? r->nranks : 1), i;
	__u16 *send = malloc(all * 2 + 2), *recv = malloc(count * 2 + 2), *result = recv;
	__u16 want = bfloat16(255.0f + r->nranks);
	struct collective_op op = {
		.opcode = opcode,
		.type = COLLECTIVE_BFLOAT16,
		.flags = COLLECTIVE_F_WIDE | flags,
		.count = count,
		.send = (uintptr_t)send,
	};

	CHECK(send && recv);
	if (in_place)
		result = send + (blocks ? r->rank * count : 0);
	op.recv = (uintptr_t)result;
	for (i = 0; i < all; i++)
		send[i] = bfloat16(r->rank == i % r->nranks ? 256.0f : 1.0f);
	CHECK_EQ(0, member_submit(r->fd, &op));
	for (i = 0; i < count && (r->rank == 0 || opcode != COLLECTIVE_REDUCE); i++)
		CHECK_EQ(want, result[i]);
	free(send);
	free(recv);
	return 0;
}

static int every_wide(struct rank *r)
{
	static const __u64 counts[] = { 1, 37, 4097, 200003 };
	unsigned int o, i;

	for (o = 0; o < 3; o++)
		for (i = 0; i < 4 * ARRAY_SIZE(counts); i++)
			CHECK_EQ(0, wide_run(r, opcodes[o], counts[i / 4],
					     i & 2 ? COLLECTIVE_F_REPRODUCIBLE : 0, i & 1));
	return 0;
}

FIXTURE_OF_SIZES(partial);

TEST_F_TIMEOUT(partial, every_partial, 300)
{
	ASSERT_EQ(0, group_run(&variant->config, every_partial, NULL));
}

TEST_F_TIMEOUT(partial, every_wide, 300)
{
	ASSERT_EQ(0, group_run(&variant->config, every_wide, NULL));
}

TEST_HARNESS_MAIN
