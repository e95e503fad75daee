// SPDX-License-Identifier: GPL-2.0-only
/* The library's functions for lengths that only the sender knows. */
#include <errno.h>
#include <string.h>

#include "kselftest_harness.h"
#include "lib/lib_group.h"

#define ROOM	20000

static int data[ROOM], blocks[4 * ROOM];

static void fill(int *at, size_t count, int from)
{
	size_t i;

	for (i = 0; i < count; i++)
		at[i] = from + i;
}

/* True if @capacity limited the @came elements that begin with @from, and nothing follows them. */
static bool holds(size_t came, size_t capacity, int from)
{
	size_t i;

	for (i = 0; i < ROOM; i++)
		if (data[i] != (i < came && i < capacity ? from + (int)i : -1))
			return false;
	return true;
}

/* The length that is sent in a round, and the buffer of a rank. */
static const struct {
	size_t sent;
	size_t capacity;
} rounds[] = { { 5, 7 }, { 7, 5 }, { 0, 3 }, { 3, 0 }, { 15000, ROOM }, { 15000, 2 } };

static int expect(int err, size_t count, size_t sent, size_t capacity, int from)
{
	CHECK_EQ(sent > capacity ? -EMSGSIZE : 0, err);
	CHECK_EQ(sent, count);
	CHECK(holds(sent, capacity, from));
	return 0;
}

static int lib_messages(struct lib_rank *me)
{
	struct coll_request *request;
	unsigned int i;
	size_t count;
	int err;

	for (i = 0; i < 2 * sizeof(rounds) / sizeof(*rounds); i++) {
		size_t sent = rounds[i / 2].sent, capacity = rounds[i / 2].capacity;

		count = capacity;
		if (me->rank == 0) {
			fill(data, sent, i);
			CHECK_EQ(0, coll_send(me->comm, data, sent, COLL_INT32, 1, i));
		} else if (me->rank == 1) {
			memset(data, -1, sizeof(data));
			if (i & 1) {
				CHECK_EQ(0, coll_irecv_varlen(me->comm, data, &count, COLL_INT32,
							      0, i, &request));
				err = coll_wait(request);
			} else {
				err = coll_recv_varlen(me->comm, data, &count, COLL_INT32, 0, i);
			}
			CHECK_EQ(0, expect(err, count, sent, capacity, i));
		}
	}
	return coll_barrier(me->comm);
}

static int lib_rooted(struct lib_rank *me)
{
	struct coll_request *request;
	size_t counts[4], count;
	unsigned int i;
	int err, to;

	for (i = 0; i < 2 * sizeof(rounds) / sizeof(*rounds); i++) {
		int root = i % me->nranks;
		bool own = me->rank == root;
		size_t sent = rounds[i / 2].sent, capacity = own ? sent : rounds[i / 2].capacity;

		memset(data, -1, sizeof(data));
		if (own)
			fill(data, sent, i);
		count = capacity;
		if (i & 1) {
			CHECK_EQ(0, coll_ibroadcast_varlen(me->comm, data, &count, COLL_INT32,
							   root, &request));
			err = coll_wait(request);
		} else {
			err = coll_broadcast_varlen(me->comm, data, &count, COLL_INT32, root);
		}
		CHECK_EQ(0, expect(err, count, sent, capacity, i));

		memset(data, -1, sizeof(data));
		for (count = 0, to = 0; to < me->nranks; count += counts[to++]) {
			counts[to] = sent / (to + 1);
			fill(blocks + count, counts[to], 1000 * to);
		}
		capacity = own ? counts[root] : capacity;
		count = capacity;
		if (i & 1) {
			CHECK_EQ(0, coll_iscatter_varlen(me->comm, blocks, counts, NULL, data,
							 &count, COLL_INT32, root, &request));
			err = coll_wait(request);
		} else {
			err = coll_scatter_varlen(me->comm, blocks, counts, NULL, data, &count,
						  COLL_INT32, root);
		}
		CHECK_EQ(0, expect(err, count, counts[me->rank], capacity, 1000 * me->rank));
	}
	return coll_barrier(me->comm);
}

TEST(messages)
{
	EXPECT_EQ(0, lib_group_run(2, NULL, lib_messages, NULL));
	EXPECT_EQ(0, lib_group_run(3, NULL, lib_messages, NULL));
}

TEST(rooted)
{
	EXPECT_EQ(0, lib_group_run(2, NULL, lib_rooted, NULL));
	EXPECT_EQ(0, lib_group_run(4, NULL, lib_rooted, NULL));
}

TEST_HARNESS_MAIN
