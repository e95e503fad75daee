// SPDX-License-Identifier: GPL-2.0-only
/*
 * COLL_CONFIG_NOSYNC: ranks run ahead, in their processes and in the kernel; random programs have
 * the right results; and a rank that has run ahead of a wrong call learns both calls.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "lib/lib_group.h"
#include "lib/local_only.h"
#include "lib/machine.h"

#define NRANKS	3
#define COUNT	500
#define AHEAD	10

static __u32 random_next(__u64 *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

/* Element @i of the input of a rank. */
static __s64 input(int rank, int i, int round)
{
	return 100000LL * rank + 7 * i + round;
}

static __s64 sum(int ranks, int i, int round)
{
	__s64 all = 0;
	int rank;

	for (rank = 0; rank < ranks; rank++)
		all += input(rank, i, round);
	return all;
}

/* One operation of a program, which all ranks choose alike. */
struct step {
	int what, root, count, round;
};

enum { BROADCAST, REDUCE, GATHER, SCATTER, SCAN, EXSCAN, ALLREDUCE, BARRIER, WHATS };

static int call(struct lib_rank *me, const struct step *s, __s64 *send, __s64 *recv)
{
	switch (s->what) {
	case BROADCAST:
		memcpy(recv, send, s->count * sizeof(*recv));
		return coll_broadcast(me->comm, recv, s->count, COLL_INT64, s->root);
	case REDUCE:
		return coll_reduce(me->comm, send, recv, s->count, COLL_INT64, COLL_SUM, s->root);
	case GATHER:
		return coll_gather(me->comm, send, recv, s->count, COLL_INT64, s->root);
	case SCATTER:
		return coll_scatter(me->comm, send, recv, s->count, COLL_INT64, s->root);
	case SCAN:
		return coll_scan(me->comm, send, recv, s->count, COLL_INT64, COLL_SUM);
	case EXSCAN:
		return coll_exscan(me->comm, send, recv, s->count, COLL_INT64, COLL_SUM);
	case ALLREDUCE:
		return coll_allreduce(me->comm, send, recv, s->count, COLL_INT64, COLL_SUM);
	default:
		return coll_barrier(me->comm);
	}
}

/* Element @i of the result; @has: whether the rank has one. */
static __s64 expected(const struct lib_rank *me, const struct step *s, int i, bool *has)
{
	*has = true;
	switch (s->what) {
	case BROADCAST:
		return input(s->root, i, s->round);
	case REDUCE:
		*has = me->rank == s->root;
		return sum(NRANKS, i, s->round);
	case GATHER:
		*has = me->rank == s->root;
		return input(i / s->count, i % s->count, s->round);
	case SCATTER:
		return input(s->root, me->rank * s->count + i, s->round);
	case SCAN:
		return sum(me->rank + 1, i, s->round);
	case EXSCAN:
		*has = me->rank;
		return sum(me->rank, i, s->round);
	case ALLREDUCE:
		return sum(NRANKS, i, s->round);
	default:
		*has = false;
		return 0;
	}
}

static int do_step(struct lib_rank *me, const struct step *s)
{
	static __s64 send[NRANKS * COUNT], recv[NRANKS * COUNT];
	const int results = s->what == GATHER ? NRANKS * s->count : s->count;
	bool has;
	int i;

	for (i = 0; i < NRANKS * s->count; i++)
		send[i] = input(me->rank, i, s->round);
	CHECK_EQ(0, call(me, s, send, recv));
	for (i = 0; i < results; i++) {
		const __s64 value = expected(me, s, i, &has);

		CHECK(!has || recv[i] == value);
	}
	return 0;
}

/* Ranks are slow by turns, and some operations are not those of the board. */
static int rank_random(struct lib_rank *me)
{
	static const int counts[] = { 1, 1, 6, 7, 40, 100, COUNT };
	const int rounds = slow_machine() ? 600 : 6000;
	__u64 state = 12345;
	struct step s;

	for (s.round = 0; s.round < rounds; s.round++) {
		s.what = random_next(&state) % WHATS;
		s.root = random_next(&state) % NRANKS;
		s.count = counts[random_next(&state) % 7];
		if (random_next(&state) % 16 == 0 && (int)(state >> 40) % NRANKS == me->rank)
			usleep(200);
		CHECK_EQ(0, do_step(me, &s));
	}
	return coll_barrier(me->comm);
}

/* Rank 0 is the root of some broadcasts, and ends them all, before others begin. */
static int rank_ahead(struct lib_rank *me)
{
	struct step s = { BROADCAST, 0, 6, 0 };

	CHECK_EQ(0, coll_barrier(me->comm));
	if (me->rank)
		CHECK(flag_wait(me->shared, 0, 1, 30000));
	for (s.round = 0; s.round < AHEAD; s.round++)
		CHECK_EQ(0, do_step(me, &s));
	if (!me->rank)
		flag_set(me->shared, 0, 1);
	return coll_barrier(me->comm);
}

/* Rank 1 and another one: the one that looks first. */
static int detail_names(struct lib_rank *me)
{
	const char *text = coll_error_detail(me->comm);

	CHECK(strstr(text, "rank 1"));
	CHECK(strstr(text, "rank 0") || strstr(text, "rank 2"));
	CHECK(strstr(text, "6") && strstr(text, "5"));
	return 0;
}

/* Rank 1 calls another broadcast, long after rank 0. */
static int rank_differs(struct lib_rank *me)
{
	struct step s = { BROADCAST, 0, 6, 0 };

	CHECK_EQ(0, coll_barrier(me->comm));
	if (!me->rank) {
		CHECK_EQ(0, do_step(me, &s));
		flag_set(me->shared, 0, 1);
		CHECK(flag_wait(me->shared, 0, NRANKS, 30000));
		/* The failure has come, or comes. */
		usleep(1000 * enough_ms(500));
		CHECK_EQ(-EBADMSG, coll_barrier(me->comm));
	} else {
		__s64 memory[6];

		CHECK(flag_wait(me->shared, 0, me->rank, 30000));
		CHECK_EQ(-EBADMSG, coll_broadcast(me->comm, memory, me->rank == 1 ? 5 : 6,
						  COLL_INT64, 0));
		CHECK_EQ(0, detail_names(me));
		flag_set(me->shared, 0, me->rank + 1);
		CHECK_EQ(0, coll_barrier(me->comm));
		return 0;
	}
	return detail_names(me);
}

FIXTURE_VARIANT(nosync) {
	unsigned int flags;
};

FIXTURE(nosync) {
	struct coll_config config;
};

FIXTURE_VARIANT_ADD(nosync, in_the_process) { COLL_CONFIG_NOSYNC };
FIXTURE_VARIANT_ADD(nosync, in_the_kernel) { COLL_CONFIG_NOSYNC | COLL_CONFIG_PRIVATE };

FIXTURE_SETUP(nosync)
{
	self->config = (struct coll_config){
		.size = sizeof(self->config),
		.flags = variant->flags,
	};
}

FIXTURE_TEARDOWN(nosync) {}

TEST_F_TIMEOUT(nosync, random, 200)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, &self->config, rank_random, NULL));
}

TEST_F_TIMEOUT(nosync, ahead, 100)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, &self->config, rank_ahead, NULL));
}

TEST_F_TIMEOUT(nosync, differs, 100)
{
	EXPECT_EQ(0, lib_group_run(NRANKS, &self->config, rank_differs, NULL));
}

TEST_HARNESS_MAIN
