// SPDX-License-Identifier: GPL-2.0-only
/*
 * coll_split() and coll_dup(): the members of the new groups, and that groups are independent of
 * each other, of the order in which they end, and of other threads.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "kselftest_harness.h"
#include "lib/lib_group.h"
#include "lib/values.h"

#define THREADS		4
#define ROUNDS		24
#define GROUPS		10

/* 256 KiB: not eager, and several segments. */
#define LARGE		65536

FIXTURE(split) {
	int groups;
};

FIXTURE_VARIANT(split) {
	int nranks;
	int lanes;
};

FIXTURE_VARIANT_ADD(split, one) { .nranks = 1 };
FIXTURE_VARIANT_ADD(split, two) { .nranks = 2 };
FIXTURE_VARIANT_ADD(split, three_lanes) { .nranks = 3, .lanes = 2 };
FIXTURE_VARIANT_ADD(split, five) { .nranks = 5 };
FIXTURE_VARIANT_ADD(split, eight) { .nranks = 8 };

FIXTURE_SETUP(split)
{
	self->groups = group_count();
	ASSERT_LE(0, self->groups);
}

/* Checks that no group is left. */
FIXTURE_TEARDOWN(split)
{
	EXPECT_EQ(self->groups, group_count());
}

#define RUN(_fn) do {							\
	const struct coll_config config = { .lanes = variant->lanes };	\
									\
	EXPECT_EQ(0, lib_group_run(variant->nranks, &config, _fn, NULL));	\
} while (0)

/* Check that a communicator consists of these world ranks, in this order. */
static int check_ranks(struct coll_comm *comm, int me, const int *ranks, int n)
{
	char name[GROUP_RANKS_MAX][COLLECTIVE_NAME_MAX + 1] = { 0 };
	int seen[GROUP_RANKS_MAX], sum = 0, want = 0, i;

	CHECK_EQ(n, coll_size(comm));
	CHECK_EQ(me, ranks[coll_rank(comm)]);
	CHECK_EQ(0, coll_allgather(comm, &me, seen, 1, COLL_INT32));
	for (i = 0; i < n; i++) {
		CHECK_EQ(ranks[i], seen[i]);
		want += ranks[i];
	}
	CHECK_EQ(0, coll_allreduce(comm, &me, &sum, 1, COLL_INT32, COLL_SUM));
	CHECK_EQ(want, sum);

	strcpy(name[coll_rank(comm)], coll_name(comm));
	CHECK_EQ(0, coll_allgather(comm, COLL_IN_PLACE, name, sizeof(*name), COLL_UINT8));
	for (i = 0; i < n; i++)
		CHECK(!strcmp(name[i], coll_name(comm)));
	return 0;
}

/* Compute the members of a colour, ordered by key, with a simple algorithm. */
static int expected_members(const int *color, const int *key, int nranks, int mine, int *ranks)
{
	int n = 0, i, at;

	for (i = 0; i < nranks; i++) {
		if (color[i] != mine)
			continue;
		for (at = n++; at && key[ranks[at - 1]] > key[i]; at--)
			ranks[at] = ranks[at - 1];
		ranks[at] = i;
	}
	return n;
}

static int check_split(struct lib_rank *me, const int *color, const int *key)
{
	struct coll_comm *comm = me->comm, *new = comm;
	int ranks[GROUP_RANKS_MAX], n;

	CHECK_EQ(0, coll_split(comm, color[me->rank], key[me->rank], &new));
	if (color[me->rank] == COLL_UNDEFINED) {
		CHECK(!new);
	} else {
		CHECK(new);
		CHECK(strcmp(coll_name(new), coll_name(comm)));
		n = expected_members(color, key, me->nranks, color[me->rank], ranks);
		if (check_ranks(new, me->rank, ranks, n))
			return 1;
	}
	CHECK_EQ(0, coll_barrier(comm));
	CHECK_EQ(0, coll_finalize(new));
	CHECK(!*coll_error_detail(comm));
	return 0;
}

static int rank_colors(struct lib_rank *me)
{
	int color[GROUP_RANKS_MAX], key[GROUP_RANKS_MAX], round, i;

	for (round = 0; round < 8; round++) {
		for (i = 0; i < me->nranks; i++) {
			color[i] = (int)(hash(round, i, 1) % 4) - 1;
			key[i] = (int)(hash(round, i, 2) % 3) - 1;
		}
		if (check_split(me, color, key))
			return 1;
	}
	/* All ranks in reverse; large keys; no rank. */
	for (i = 0; i < me->nranks; i++) {
		color[i] = INT32_MAX;
		key[i] = i ? INT32_MIN + me->nranks - i : INT32_MAX;
	}
	if (check_split(me, color, key))
		return 1;
	for (i = 0; i < me->nranks; i++)
		color[i] = COLL_UNDEFINED;
	return check_split(me, color, key);
}

TEST_F_TIMEOUT(split, colors, 60)
{
	RUN(rank_colors);
}

/* Halves of halves; parents and children end in any order. */
static int rank_nested(struct lib_rank *me)
{
	struct coll_comm *comm = me->comm, *line[GROUP_RANKS_MAX];
	int first = 0, n = me->nranks, depth = 0, ranks[GROUP_RANKS_MAX], i;

	me->comm = NULL;
	line[depth++] = comm;
	while (n > 1) {
		bool upper = coll_rank(comm) >= n / 2;

		CHECK_EQ(0, coll_split(comm, upper, 0, &comm));
		first += upper ? n / 2 : 0;
		n = upper ? n - n / 2 : n / 2;
		for (i = 0; i < n; i++)
			ranks[i] = first + i;
		if (check_ranks(comm, me->rank, ranks, n))
			return 1;
		line[depth++] = comm;
	}
	for (i = 0; i < depth; i++) {
		int at = me->rank % 2 ? i : depth - 1 - i;

		CHECK_EQ(0, coll_finalize(line[at]));
		line[at] = NULL;
		/* The remaining communicators work if all of their ranks still have them. */
		if (i == depth - 2 && me->rank % 2)
			CHECK_EQ(0, coll_barrier(line[depth - 1]));
	}
	return 0;
}

TEST_F_TIMEOUT(split, nested, 60)
{
	RUN(rank_nested);
}

/* The child is used after the parent has ended. */
static int rank_orphan(struct lib_rank *me)
{
	int ranks[GROUP_RANKS_MAX], i;
	struct coll_comm *new;

	CHECK_EQ(0, coll_dup(me->comm, &new));
	CHECK_EQ(0, coll_finalize(me->comm));
	me->comm = new;
	for (i = 0; i < me->nranks; i++)
		ranks[i] = i;
	return check_ranks(new, me->rank, ranks, me->nranks);
}

TEST_F_TIMEOUT(split, orphan, 30)
{
	RUN(rank_orphan);
}

/**
 * struct worker - a thread of a rank
 * @me: the rank
 * @comm: a communicator of this thread; NULL: it makes one with coll_dup()
 * @number: index of the thread
 * @failed: true if a check failed
 */
struct worker {
	struct lib_rank *me;
	struct coll_comm *comm;
	int number;
	int failed;
};

/* The operations of each thread differ from those of others in kind, size and values. */
static int work(struct worker *w)
{
	const int n = coll_size(w->comm), rank = coll_rank(w->comm);
	__u32 *send = memory(LARGE * 4), *recv = memory(LARGE * 4);
	int round, r;
	__u32 want, i;

	CHECK(send && recv);
	for (round = 0; round < ROUNDS; round++) {
		const int root = round % n;
		const size_t count = round % 3 ? 1 + hash(round, w->number, 3) % 2000 : LARGE;

		for (i = 0; i < count; i++)
			send[i] = hash(w->number, rank, i);
		if ((round + w->number) % 2) {
			CHECK_EQ(0, coll_allreduce(w->comm, send, recv, count, COLL_UINT32,
						   COLL_SUM));
		} else {
			memcpy(recv, send, count * 4);
			CHECK_EQ(0, coll_broadcast(w->comm, recv, count, COLL_UINT32, root));
		}
		for (i = 0; i < count; i += count > 64 ? count / 64 : 1) {
			if ((round + w->number) % 2)
				for (want = 0, r = 0; r < n; r++)
					want += hash(w->number, r, i);
			else
				want = hash(w->number, root, i);
			CHECK_EQ(want, recv[i]);
		}
	}
	munmap(send, LARGE * 4);
	munmap(recv, LARGE * 4);
	return 0;
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;

	if (!w->comm) {
		w->failed = coll_dup(w->me->comm, &w->comm) || work(w) ||
			    coll_finalize(w->comm);
		return NULL;
	}
	w->failed = work(w);
	return NULL;
}

static int run_workers(struct worker *workers, int n)
{
	pthread_t thread[THREADS + 1];
	int i, failed = 0;

	for (i = 0; i < n; i++)
		CHECK_EQ(0, pthread_create(&thread[i], NULL, worker_main, &workers[i]));
	for (i = 0; i < n; i++) {
		pthread_join(thread[i], NULL);
		failed |= workers[i].failed;
	}
	return failed;
}

/* Each thread has a group, made in a common order; one has the parent. */
static int rank_threads(struct lib_rank *me)
{
	struct worker w[THREADS + 1];
	int i;

	for (i = 0; i <= THREADS; i++) {
		w[i] = (struct worker) { .me = me, .comm = me->comm, .number = i };
		if (i < THREADS)
			CHECK_EQ(0, coll_dup(me->comm, &w[i].comm));
	}
	CHECK_EQ(0, run_workers(w, THREADS + 1));
	for (i = 0; i < THREADS; i++)
		CHECK_EQ(0, coll_finalize(w[i].comm));
	return 0;
}

TEST_F_TIMEOUT(split, threads, 100)
{
	RUN(rank_threads);
}

/* All threads split the same communicator at a time, with the same arguments. */
static int rank_together(struct lib_rank *me)
{
	struct worker w[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		w[i] = (struct worker) { .me = me };
	return run_workers(w, THREADS);
}

TEST_F_TIMEOUT(split, together, 100)
{
	RUN(rank_together);
}

/* One process in many groups, each with other ranks in another order. */
static int rank_many(struct lib_rank *me)
{
	int ranks[GROUPS][GROUP_RANKS_MAX], n = me->nranks, g, h, i;
	struct coll_comm *comm[GROUPS];
	const int files = open_file_count();

	for (g = 0; g < GROUPS; g++) {
		CHECK_EQ(0, coll_split(me->comm, 0, (me->rank + g) % n, &comm[g]));
		for (i = 0; i < n; i++)
			ranks[g][(i + g) % n] = i;
		for (h = 0; h < g; h++)
			CHECK(strcmp(coll_name(comm[g]), coll_name(comm[h])));
	}
	/* Each has a device file and, to find surviving ranks, a socket for coll_shrink(). */
	CHECK_EQ(files + GROUPS * (n > 1 ? 2 : 1), open_file_count());
	for (i = 0; i < 3; i++)
		for (g = GROUPS; g--;)
			if (check_ranks(comm[g], me->rank, ranks[g], n))
				return 1;
	for (g = 0; g < GROUPS; g++)
		CHECK_EQ(0, coll_finalize(comm[g]));
	CHECK_EQ(files, open_file_count());
	return 0;
}

TEST_F_TIMEOUT(split, many, 60)
{
	RUN(rank_many);
}

/* Children inherit the configuration of the parent. */
static int rank_inherits(struct lib_rank *me)
{
	__u32 round, last = me->rank + 1 == me->nranks;
	float x[257], sum[2][257];
	struct coll_comm *new;
	__u64 begun;
	int i;

	CHECK_EQ(0, coll_dup(me->comm, &new));
	CHECK_EQ(0, coll_finalize(me->comm));
	CHECK_EQ(0, coll_dup(new, &me->comm));
	CHECK(!strncmp(coll_name(new), "heirs.", 6));
	CHECK(!strncmp(coll_name(me->comm), "heirs.", 6));
	CHECK_EQ(22, strlen(coll_name(me->comm)));

	/* Reproducible: another number of elements does not change the rounding. */
	for (i = 0; i < 257; i++)
		x[i] = 1.0f / (1 + i + 300 * me->rank);
	for (round = 0; round < 2; round++)
		CHECK_EQ(0, coll_allreduce(new, x, sum[round], round ? 257 : 101, COLL_FLOAT32,
					   COLL_SUM));
	CHECK(!memcmp(sum[0], sum[1], 101 * sizeof(float)));

	/* The timeout of operations. */
	begun = now_ms();
	if (!last)
		CHECK_EQ(-ETIMEDOUT, coll_barrier(me->comm));
	else
		CHECK(flag_wait(me->shared, 0, me->nranks - 1, 10000));
	__atomic_add_fetch(&me->shared->flag[0], 1, __ATOMIC_SEQ_CST);
	CHECK(now_ms() - begun < 5000);
	CHECK(flag_wait(me->shared, 0, me->nranks, 10000));
	CHECK_EQ(0, coll_finalize(new));
	return 0;
}

TEST(inherits)
{
	const struct coll_config config = {
		.name = "heirs",
		.flags = COLL_CONFIG_REPRODUCIBLE,
		.timeout_ms = 1000,
		.lanes = 2,
	};

	EXPECT_EQ(0, lib_group_run(3, &config, rank_inherits, NULL));
}

TEST_HARNESS_MAIN
