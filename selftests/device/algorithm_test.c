// SPDX-License-Identifier: GPL-2.0-only
/* The algorithm of a call: its own, that of the group, or what AUTO stands for. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "lib/group.h"
#include "kselftest_harness.h"

#define RANKS	4
#define SMALL	64
/* Bytes, or elements, that the board does not take, and that are small otherwise */
#define BEYOND	5000

static int broadcast(struct rank *r, unsigned int algorithm, size_t bytes)
{
	static char buffer[1 << 16];
	struct collective_op op = {
		.opcode = COLLECTIVE_BROADCAST,
		.type = COLLECTIVE_UINT8,
		.algorithm = algorithm,
		.count = bytes,
		.send = (uintptr_t)buffer,
		.recv = (uintptr_t)buffer,
	};

	return member_submit(r->fd, &op);
}

/* Do small operations have their place on the board, as AUTO and DIRECT have it? */
static bool has_board(void)
{
	return transport_is_local(transport_choice(NULL));
}

/* Return: the number of messages that the root of a small broadcast sends, or a negative errno. */
static long long broadcast_fan(struct rank *r, unsigned int algorithm)
{
	long long before = rank_value(r, "bytes_sent");
	int err = broadcast(r, algorithm, SMALL);

	if (!err)
		err = member_barrier(r->fd);
	return err ? err : (rank_value(r, "bytes_sent") - before) / SMALL;
}

/*
 * The root sends to one rank along the ring, and to two in a tree of four.  On one host AUTO sends
 * nothing, as the others read what the root has published.
 */
static int fans(struct rank *r)
{
	const unsigned int group = r->group->config.algorithm[COLLECTIVE_BROADCAST];
	const long long ring = r->rank ? -1 : 1, tree = r->rank ? -1 : 2;
	const long long automatic = has_board() ? 0 : tree;
	long long fan[] = {
		broadcast_fan(r, COLLECTIVE_ALGORITHM_AUTO),
		broadcast_fan(r, COLLECTIVE_ALGORITHM_RING),
		broadcast_fan(r, COLLECTIVE_ALGORITHM_TREE),
	};

	if (r->rank)
		return 0;
	CHECK_EQ(group == COLLECTIVE_ALGORITHM_AUTO ? automatic :
		 group == COLLECTIVE_ALGORITHM_RING ? ring : tree, fan[0]);
	CHECK_EQ(ring, fan[1]);
	CHECK_EQ(tree, fan[2]);
	return 0;
}

TEST(broadcast_of_a_group)
{
	struct group_config config = { .nranks = RANKS };

	EXPECT_EQ(0, group_run(&config, fans, NULL));
	config.algorithm[COLLECTIVE_BROADCAST] = COLLECTIVE_ALGORITHM_RING;
	EXPECT_EQ(0, group_run(&config, fans, NULL));
	config.algorithm[COLLECTIVE_BROADCAST] = COLLECTIVE_ALGORITHM_TREE;
	EXPECT_EQ(0, group_run(&config, fans, NULL));
}

static int without(struct rank *r)
{
	/* The group's algorithm applies where it exists; a call's own is not refused. */
	CHECK_EQ(0, broadcast(r, COLLECTIVE_ALGORITHM_AUTO, SMALL));
	CHECK_EQ(has_board() ? 0 : -EOPNOTSUPP, broadcast(r, COLLECTIVE_ALGORITHM_DIRECT, SMALL));
	CHECK_EQ(-EOPNOTSUPP, broadcast(r, COLLECTIVE_ALGORITHM_DIRECT, BEYOND));
	return 0;
}

TEST(no_such_schedule)
{
	struct group_config config = { .nranks = RANKS };

	config.algorithm[COLLECTIVE_BROADCAST] = COLLECTIVE_ALGORITHM_DIRECT;
	EXPECT_EQ(0, group_run(&config, without, NULL));
}

/* A count not divisible by RANKS, with a chunk of more than 1 MiB for each rank. */
#define SUMMED	((RANKS << 18) + 12345)

/* Numbers of which the sum depends on the order. */
static void fill_uneven(float *x, unsigned int rank)
{
	unsigned int bits = 77 + rank, i;

	for (i = 0; i < SUMMED; i++) {
		bits = bits * 1664525 + 1013904223;
		x[i] = (float)(int)bits / (1 << (bits >> 28));
	}
}

static int sum(struct rank *r, unsigned int algorithm, const float *from, float *to, size_t count)
{
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_FLOAT32,
		.reduction = COLLECTIVE_SUM,
		.algorithm = algorithm,
		.count = count,
		.send = (uintptr_t)from,
		.recv = (uintptr_t)to,
	};

	return member_submit(r->fd, &op);
}

/* The algorithm that AUTO chooses among ranks of one host does not matter here. */
static int sums(struct rank *r)
{
	static float in[SUMMED], ring[SUMMED], out[SUMMED];
	const unsigned int others[] = { COLLECTIVE_ALGORITHM_DIRECT, COLLECTIVE_ALGORITHM_AUTO };
	unsigned int i;

	fill_uneven(in, r->rank);
	CHECK_EQ(0, sum(r, COLLECTIVE_ALGORITHM_RING, in, ring, SUMMED));
	for (i = 0; i < 2; i++) {
		CHECK_EQ(0, sum(r, others[i], in, out, SUMMED));
		CHECK(!memcmp(out, ring, sizeof(out)));
		memcpy(out, in, sizeof(out));
		CHECK_EQ(0, sum(r, others[i], out, out, SUMMED));
		CHECK(!memcmp(out, ring, sizeof(out)));
	}
	CHECK_EQ(has_board() ? 0 : -EOPNOTSUPP,
		 sum(r, COLLECTIVE_ALGORITHM_DIRECT, in, out, SMALL));
	CHECK_EQ(-EOPNOTSUPP, sum(r, COLLECTIVE_ALGORITHM_DIRECT, in, out, BEYOND));
	return 0;
}

TEST(ring_or_direct)
{
	struct group_config config = { .nranks = RANKS };

	EXPECT_EQ(0, group_run(&config, sums, NULL));
}

static int dispute(struct rank *r)
{
	unsigned int mine = r->rank == 2 ? COLLECTIVE_ALGORITHM_RING : COLLECTIVE_ALGORITHM_TREE;
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER, .algorithm = mine };

	CHECK_EQ(-EBADMSG, member_submit(r->fd, &op));
	CHECK_EQ(0, member_barrier(r->fd));
	return 0;
}

TEST(disputed)
{
	struct group_config config = { .nranks = RANKS };

	EXPECT_EQ(0, group_run(&config, dispute, NULL));
}

TEST_HARNESS_MAIN
