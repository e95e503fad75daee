// SPDX-License-Identifier: GPL-2.0-only
/* Which algorithm a call gets: its own, the group's, or what AUTO means. */
#include <errno.h>
#include <stdint.h>

#include "group.h"
#include "kselftest_harness.h"

#define RANKS	4
#define SMALL	64

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

/* Messages that the root of a small broadcast sends; or a negative errno. */
static long long broadcast_fan(struct rank *r, unsigned int algorithm)
{
	long long before = rank_value(r, "bytes_sent");
	int err = broadcast(r, algorithm, SMALL);

	if (!err)
		err = member_barrier(r->fd);
	return err ? err : (rank_value(r, "bytes_sent") - before) / SMALL;
}

/* Along the ring the root sends to one, in a tree of four to two. */
static int fans(struct rank *r)
{
	const unsigned int group = r->group->config.algorithm[COLLECTIVE_BROADCAST];
	const long long ring = r->rank ? -1 : 1, tree = r->rank ? -1 : 2;
	long long fan[] = {
		broadcast_fan(r, COLLECTIVE_ALGORITHM_AUTO),
		broadcast_fan(r, COLLECTIVE_ALGORITHM_RING),
		broadcast_fan(r, COLLECTIVE_ALGORITHM_TREE),
	};

	if (r->rank)
		return 0;
	CHECK_EQ(group == COLLECTIVE_ALGORITHM_RING ? ring : tree, fan[0]);
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
	/* The group's choice is taken where there is one, a call's is not refused. */
	CHECK_EQ(0, broadcast(r, COLLECTIVE_ALGORITHM_AUTO, SMALL));
	CHECK_EQ(-EOPNOTSUPP, broadcast(r, COLLECTIVE_ALGORITHM_DIRECT, SMALL));
	return 0;
}

TEST(no_such_schedule)
{
	struct group_config config = { .nranks = RANKS };

	config.algorithm[COLLECTIVE_BROADCAST] = COLLECTIVE_ALGORITHM_DIRECT;
	EXPECT_EQ(0, group_run(&config, without, NULL));
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
