// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gather, scatter, alltoall, reduce and reduce_scatter: payload goes directly from rank to rank,
 * over links made on demand. Every element of every result is compared.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/sizes.h"

#define SPARE	0x5a5a5a5a

/* Return: element @i of the block that @rank has for @to. */
static __u32 value(__u32 rank, __u32 to, __u64 i, __u32 round)
{
	__u32 h = rank * 0x9e3779b1U ^ to * 0x85ebca77U ^ (__u32)i * 0xc2b2ae3dU ^ round;

	h ^= h >> 15;
	h *= 0x2c1b3c6dU;
	return h ^ h >> 13;
}

/* Elements of the largest eager block. */
#define LIMIT	(COLLECTIVE_EAGER_LIMIT / sizeof(__u32))

static void fill(__u32 *block, __u64 count, __u32 rank, __u32 to, __u32 round)
{
	__u64 i;

	for (i = 0; i < count; i++)
		block[i] = value(rank, to, i, round);
}

static bool holds(const __u32 *block, __u64 count, __u32 rank, __u32 to, __u32 round)
{
	__u64 i;

	for (i = 0; i < count; i++)
		if (block[i] != value(rank, to, i, round))
			return false;
	return true;
}

static bool sums(const __u32 *block, __u64 count, __u32 nranks, __u32 to, __u32 round)
{
	__u64 i;
	__u32 rank;

	for (i = 0; i < count; i++) {
		__u32 sum = 0;

		for (rank = 0; rank < nranks; rank++)
			sum += value(rank, to, i, round);
		if (block[i] != sum)
			return false;
	}
	return true;
}

static bool spared(const __u32 *block, __u64 count)
{
	__u64 i;

	for (i = 0; i < count; i++)
		if (block[i] != SPARE)
			return false;
	return true;
}

/* Memory of one round: a block of each rank, and one more that must not change. */
struct buffers {
	__u64 count;
	__u32 *send;
	__u32 *recv;
};

static int buffers_new(struct buffers *b, const struct rank *r, __u64 count)
{
	__u64 all = (r->nranks + 1) * count + 16, i;

	b->count = count;
	b->send = malloc(all * sizeof(__u32));
	b->recv = malloc(all * sizeof(__u32));
	CHECK(b->send && b->recv);
	for (i = 0; i < all; i++) {
		b->send[i] = SPARE;
		b->recv[i] = SPARE;
	}
	return 0;
}

static void buffers_free(struct buffers *b)
{
	free(b->send);
	free(b->recv);
}

static int submit(const struct rank *r, const struct buffers *b, int opcode, __u32 root,
		  const void *send, const void *recv)
{
	struct collective_op op = {
		.opcode = opcode,
		.type = COLLECTIVE_UINT32,
		.root = root,
		.count = b->count,
		.send = (uintptr_t)send,
		.recv = (uintptr_t)recv,
	};

	return member_submit(r->fd, &op);
}

static int do_gather(struct rank *r, __u64 count, __u32 root, bool in_place, __u32 round)
{
	struct buffers b;
	__u32 from;

	CHECK_EQ(0, buffers_new(&b, r, count));
	if (in_place && r->rank == root) {
		fill(b.recv + root * count, count, root, root, round);
		CHECK_EQ(0, submit(r, &b, COLLECTIVE_GATHER, root, b.recv, b.recv));
	} else {
		fill(b.send, count, r->rank, root, round);
		CHECK_EQ(0, submit(r, &b, COLLECTIVE_GATHER, root, b.send,
				   r->rank == root ? b.recv : NULL));
		CHECK(holds(b.send, count, r->rank, root, round));
	}
	for (from = 0; r->rank == root && from < r->nranks; from++)
		CHECK(holds(b.recv + from * count, count, from, root, round));
	CHECK(spared(b.recv + r->nranks * count, count));
	buffers_free(&b);
	return 0;
}

static int do_scatter(struct rank *r, __u64 count, __u32 root, bool in_place, __u32 round)
{
	struct buffers b;
	__u32 to;

	CHECK_EQ(0, buffers_new(&b, r, count));
	if (r->rank != root) {
		CHECK_EQ(0, submit(r, &b, COLLECTIVE_SCATTER, root, NULL, b.recv));
		CHECK(holds(b.recv, count, root, r->rank, round));
	} else {
		for (to = 0; to < r->nranks; to++)
			fill(b.send + to * count, count, root, to, round);
		CHECK_EQ(0, submit(r, &b, COLLECTIVE_SCATTER, root, b.send,
				   in_place ? b.send : b.recv));
		for (to = 0; to < r->nranks; to++)
			CHECK(holds(b.send + to * count, count, root, to, round));
		CHECK(in_place ? spared(b.recv, count) : holds(b.recv, count, root, root, round));
	}
	CHECK(spared(b.recv + count, r->nranks * count));
	buffers_free(&b);
	return 0;
}

static int do_alltoall(struct rank *r, __u64 count, __u32 round)
{
	struct buffers b;
	__u32 i;

	CHECK_EQ(0, buffers_new(&b, r, count));
	for (i = 0; i < r->nranks; i++)
		fill(b.send + i * count, count, r->rank, i, round);
	CHECK_EQ(0, submit(r, &b, COLLECTIVE_ALLTOALL, 0, b.send, b.recv));
	for (i = 0; i < r->nranks; i++) {
		CHECK(holds(b.recv + i * count, count, i, r->rank, round));
		CHECK(holds(b.send + i * count, count, r->rank, i, round));
	}
	CHECK(spared(b.recv + r->nranks * count, count));
	buffers_free(&b);
	return 0;
}

/* The input is replaced by the result. Other ranks need not know that a rank is in place. */
static int do_exchange(struct rank *r, __u64 count, bool in_place, __u32 round)
{
	struct buffers b;
	__u32 i;

	if (!in_place)
		return do_alltoall(r, count, round);
	CHECK_EQ(0, buffers_new(&b, r, count));
	for (i = 0; i < r->nranks; i++)
		fill(b.recv + i * count, count, r->rank, i, round);
	CHECK_EQ(0, submit(r, &b, COLLECTIVE_ALLTOALL, 0, b.recv, b.recv));
	for (i = 0; i < r->nranks; i++)
		CHECK(holds(b.recv + i * count, count, i, r->rank, round));
	CHECK(spared(b.recv + r->nranks * count, count + 16));
	buffers_free(&b);
	return 0;
}

static int do_reduce(struct rank *r, __u64 count, __u32 root, bool in_place, __u32 round)
{
	bool mine = r->rank == root;
	struct buffers b;

	CHECK_EQ(0, buffers_new(&b, r, count));
	fill(mine && in_place ? b.recv : b.send, count, r->rank, 7, round);
	CHECK_EQ(0, submit(r, &b, COLLECTIVE_REDUCE, root, mine && in_place ? b.recv : b.send,
			   mine ? b.recv : NULL));
	if (mine)
		CHECK(sums(b.recv, count, r->nranks, 7, round));
	if (!mine || !in_place)
		CHECK(holds(b.send, count, r->rank, 7, round));
	CHECK(spared(b.recv + (mine ? count : 0), r->nranks * count));
	buffers_free(&b);
	return 0;
}

static int do_reduce_scatter(struct rank *r, __u64 count, bool in_place, __u32 round)
{
	struct buffers b;
	__u32 *result;
	__u32 i;

	CHECK_EQ(0, buffers_new(&b, r, count));
	result = in_place ? b.send + r->rank * count : b.recv;
	for (i = 0; i < r->nranks; i++)
		fill(b.send + i * count, count, r->rank, i, round);
	CHECK_EQ(0, submit(r, &b, COLLECTIVE_REDUCE_SCATTER, 0, b.send, result));
	CHECK(sums(result, count, r->nranks, r->rank, round));
	for (i = 0; i < r->nranks; i++)
		CHECK((in_place && i == r->rank) ||
		      holds(b.send + i * count, count, r->rank, i, round));
	CHECK(spared(b.recv + count, r->nranks * count));
	buffers_free(&b);
	return 0;
}

/* The last count is more than a window of scratch memory. */
static const __u64 counts[] = {
	1, 0, 5, 1021, LIMIT, LIMIT + 1, 16384, 70001, 300007,
};

#define ROUNDS	(sizeof(counts) / sizeof(*counts))

/* Environment: EVERY_ROOT is 0 or 1. */
static int every_count(struct rank *r)
{
	const bool every_root = env_number("EVERY_ROOT", !slow_machine());
	__u32 round, root;

	for (round = 0; round < ROUNDS; round++) {
		__u64 count = counts[round];

		for (root = 0; root < r->nranks; root++) {
			/* For large groups and counts, test one root a round. */
			if (!every_root && root != round % r->nranks &&
			    (count > 100000 || r->nranks > 4))
				continue;
			CHECK_EQ(0, do_gather(r, count, root, root & 1, round));
			CHECK_EQ(0, do_scatter(r, count, root, !(root & 1), round));
			CHECK_EQ(0, do_reduce(r, count, root, root & 1, round));
		}
		CHECK_EQ(0, do_alltoall(r, count, round));
		CHECK_EQ(0, do_exchange(r, count, true, round));
		CHECK_EQ(0, do_exchange(r, count, (r->rank + round) % 2, round));
		CHECK_EQ(0, do_reduce_scatter(r, count, false, round));
		CHECK_EQ(0, do_reduce_scatter(r, count, true, round));
	}
	return 0;
}

FIXTURE_OF_SIZES(direct);

TEST_F_TIMEOUT(direct, every_count, 200)
{
	ASSERT_EQ(0, group_run(&variant->config, every_count, NULL));
}

/* Many operations in a row: frames that arrive early wait for their operation. */
static int rank_consecutive(struct rank *r)
{
	__u32 round;

	for (round = 0; round < 300; round++) {
		__u64 count = (round * 37) % 900 + (round % 11 ? 0 : LIMIT);

		switch (round % 5) {
		case 0:
			CHECK_EQ(0, do_gather(r, count, round % r->nranks, false, round));
			break;
		case 1:
			CHECK_EQ(0, do_scatter(r, count, round % r->nranks, false, round));
			break;
		case 2:
			CHECK_EQ(0, do_reduce(r, count, round % r->nranks, false, round));
			break;
		case 3:
			CHECK_EQ(0, do_exchange(r, count, round % 3 < 2, round));
			break;
		case 4:
			CHECK_EQ(0, do_reduce_scatter(r, count, round & 1, round));
			break;
		}
	}
	return 0;
}

TEST_F_TIMEOUT(direct, rank_consecutive, 200)
{
	ASSERT_EQ(0, group_run(&variant->config, rank_consecutive, NULL));
}

static int refused(struct rank *r)
{
	struct buffers b;

	CHECK_EQ(0, buffers_new(&b, r, 100));
	CHECK_EQ(-EINVAL, submit(r, &b, COLLECTIVE_GATHER, r->nranks, b.send, b.recv));
	CHECK_EQ(-EINVAL, submit(r, &b, COLLECTIVE_ALLTOALL, 1, b.send, b.recv));
	CHECK_EQ(-EINVAL, submit(r, &b, COLLECTIVE_ALLTOALL, 0, b.send, b.send + 100));
	CHECK_EQ(-EINVAL, submit(r, &b, COLLECTIVE_REDUCE_SCATTER, 0, b.send,
				 b.send + (r->rank ? 0 : 100)));
	CHECK_EQ(-EFAULT, submit(r, &b, COLLECTIVE_ALLTOALL, 0, b.send, NULL));
	b.count = 1ULL << 61;
	CHECK_EQ(-EOVERFLOW, submit(r, &b, COLLECTIVE_ALLTOALL, 0, b.send, b.recv));
	buffers_free(&b);
	return do_alltoall(r, 300, 10);
}

TEST_F_TIMEOUT(direct, refused, 60)
{
	if (variant->config.nranks == 1)
		SKIP(return, "a group of one has no other");
	ASSERT_EQ(0, group_run(&variant->config, refused, NULL));
}

/* The last rank dies while the others exchange blocks with it. */
static int rank_peer_dies(struct rank *r)
{
	struct collective_status status = { .size = sizeof(status) };
	struct buffers b;
	int err = 0;

	CHECK_EQ(0, do_alltoall(r, LIMIT + 1000, 1));
	/* All have completed it, but some may not know that the others have. */
	err = member_barrier(r->fd);
	if (r->rank + 1 == r->nranks) {
		sleep_ms(50);
		kill(getpid(), SIGKILL);
	}
	CHECK_EQ(0, buffers_new(&b, r, 50000));
	while (!err)
		err = submit(r, &b, COLLECTIVE_ALLTOALL, 0, b.send, b.recv);
	CHECK_EQ(-ECONNRESET, err);
	CHECK_EQ(0, member_status(r->fd, &status));
	CHECK_EQ(COLLECTIVE_REASON_DEATH, status.group.kind);
	CHECK_EQ(r->nranks - 1, status.group.rank_a);
	return 0;
}

TEST_F_TIMEOUT(direct, rank_peer_dies, 60)
{
	if (variant->config.nranks == 1)
		SKIP(return, "no rank would be left");
	/* The rank that was killed. */
	ASSERT_EQ(1, group_run(&variant->config, rank_peer_dies, NULL));
}

TEST_HARNESS_MAIN
