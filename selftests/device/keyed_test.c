// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations with keys: submitted in another order on each rank, many at once, repeatedly; and
 * failures of them.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/timed.h"
#include "lib/record.h"

#define KEYS	500

TIMED_TESTS(keyed)

/**
 * struct use - one use of a key, in a thread of its own
 * @gate: unlocked when the operation is submitted
 */
struct use {
	pthread_t thread;
	pthread_mutex_t gate;
	struct rank *r;
	__u64 key;
	__u64 count;
	unsigned int rounds;
	float *data;
	int err;
};

static struct collective_op sum_op(__u64 key, float *data, __u64 count)
{
	return (struct collective_op){
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_FLOAT32,
		.reduction = COLLECTIVE_SUM,
		.flags = COLLECTIVE_F_KEYED,
		.key = key,
		.count = count,
		.send = (uintptr_t)data,
		.recv = (uintptr_t)data,
	};
}

/* The input of a rank; sums of no two keys or rounds are equal. */
static float value_of(unsigned int rank, __u64 key, unsigned int round)
{
	return rank + 1 + 8 * (key % 1000) + 8192 * round;
}

static void *use_thread(void *arg)
{
	struct use *use = arg;
	unsigned int round, rank;
	__u64 i;

	pthread_mutex_lock(&use->gate);
	for (round = 0; !use->err && round < use->rounds; round++) {
		struct collective_op op = sum_op(use->key, use->data, use->count);
		float want = 0;

		for (rank = 0; rank < use->r->nranks; rank++)
			want += value_of(rank, use->key, round);
		for (i = 0; i < use->count; i++)
			use->data[i] = value_of(use->r->rank, use->key, round);
		use->err = member_submit(use->r->fd, &op);
		for (i = 0; !use->err && i < use->count; i++)
			if (use->data[i] != want)
				use->err = -ERANGE;
	}
	pthread_mutex_unlock(&use->gate);
	return NULL;
}

/* Another order on each rank: steps that have no divisor in common with KEYS. */
static unsigned int order(const struct rank *r, unsigned int i, unsigned int n)
{
	static const unsigned int step[] = { 1, 499, 7, 293 };

	return (i * step[r->rank % 4] + 31 * r->rank) % n;
}

static __u64 some_count(unsigned int i)
{
	/* Most are small and use up the credit; some need a grant. */
	return i % 16 == 3 ? 9000 : i % 3 ? 1 + i : 2048;
}

static int uses_run(struct rank *r, unsigned int n, unsigned int rounds)
{
	struct use *use = calloc(n, sizeof(*use));
	pthread_attr_t attr;
	unsigned int i;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	for (i = 0; i < n; i++) {
		use[i] = (struct use){ .r = r, .key = i, .count = some_count(i), .rounds = rounds };
		use[i].data = malloc(use[i].count * sizeof(float));
		pthread_mutex_init(&use[i].gate, NULL);
		pthread_mutex_lock(&use[i].gate);
		CHECK_EQ(0, pthread_create(&use[i].thread, &attr, use_thread, &use[i]));
	}
	for (i = 0; i < n; i++) {
		struct collective_status status;
		unsigned int tries = 0;

		pthread_mutex_unlock(&use[order(r, i, n)].gate);
		/* The kernel may run threads in any order: force this order at times. */
		do {
			CHECK_EQ(0, member_status(r->fd, &status));
		} while (i % 8 == 0 && status.submitted <= i && rounds == 1 && tries++ < 200 &&
			 !sched_yield());
	}
	for (i = 0; i < n; i++) {
		pthread_join(use[i].thread, NULL);
		CHECK_EQ(0, use[i].err);
		free(use[i].data);
	}
	pthread_attr_destroy(&attr);
	free(use);
	return 0;
}

static int rank_many(struct rank *r)
{
	int err = uses_run(r, KEYS, 1);

	return err ? err : member_barrier(r->fd);
}

TEST_F_TIMEOUT(keyed, many, 180)
{
	struct group_config config = { .nranks = 2, .timeout_ms = 120000 };

	EXPECT_EQ(0, group_run(&config, rank_many, NULL));
	config.nranks = 4;
	config.lanes = 2;
	EXPECT_EQ(0, group_run(&config, rank_many, NULL));
}

static int rank_again(struct rank *r)
{
	int err = uses_run(r, 23, 40);

	return err ? err : member_leave(r->fd);
}

TEST_F_TIMEOUT(keyed, again, 180)
{
	struct group_config config = { .nranks = 3, .timeout_ms = 120000 };

	EXPECT_EQ(0, group_run(&config, rank_again, NULL));
}

/* The largest key, and operations without a key in between. */
static int rank_mixed(struct rank *r)
{
	struct collective_op op;
	float data[4], all[16];
	unsigned int i;

	for (i = 0; i < 20; i++) {
		data[0] = r->rank;
		op = sum_op(i & 1 ? COLLECTIVE_KEY_MAX : 0, data, 1);
		CHECK_EQ(0, member_submit(r->fd, &op));
		CHECK_EQ(3, data[0]);
		CHECK_EQ(0, member_barrier(r->fd));
		/* The same key, for another call. */
		op = (struct collective_op){
			.opcode = COLLECTIVE_ALLGATHER,
			.type = COLLECTIVE_FLOAT32,
			.flags = COLLECTIVE_F_KEYED,
			.key = i & 1 ? COLLECTIVE_KEY_MAX : 0,
			.count = 4,
			.send = (uintptr_t)data,
			.recv = (uintptr_t)all,
		};
		data[0] = 10 * r->rank + i;
		CHECK_EQ(0, member_submit(r->fd, &op));
		CHECK_EQ(20 + i, all[8]);
	}
	op = (struct collective_op){ .opcode = COLLECTIVE_BARRIER, .flags = COLLECTIVE_F_KEYED };
	for (i = 0; i < 20; i++)
		CHECK_EQ(0, member_submit(r->fd, &op));
	return 0;
}

TEST_F(keyed, mixed)
{
	struct group_config config = { .nranks = 3 };

	EXPECT_EQ(0, group_run(&config, rank_mixed, NULL));
}

/* A key names one operation at a time: further uses wait for their turn. */
#define TURNS	40

static int rank_turns(struct rank *r)
{
	const size_t sizes[] = { 1, 8, 3000, 20000 };
	float *data = calloc(TURNS, 20000 * sizeof(*data));
	struct collective_op op;
	__u64 request[TURNS];
	size_t i, k;

	CHECK(data);
	for (i = 0; i < TURNS; i++) {
		float *mine = data + 20000 * i;

		for (k = 0; k < sizes[i % 4]; k++)
			mine[k] = value_of(r->rank, 77, i) + k % 100;
		op = sum_op(77, mine, sizes[i % 4]);
		CHECK_EQ(0, member_start(r->fd, &op, &request[i]));
		if (r->rank == 1 && i % 7 == 0)
			sleep_ms(1);
	}
	for (i = TURNS; i--;)
		CHECK_EQ(0, member_wait(r->fd, request[i], 0));
	for (i = 0; i < TURNS; i++) {
		float want = 0;

		for (k = 0; k < r->nranks; k++)
			want += value_of(k, 77, i);
		for (k = 0; k < sizes[i % 4]; k++)
			CHECK(data[20000 * i + k] == want + r->nranks * (k % 100));
	}
	free(data);
	return 0;
}

TEST_F(keyed, turns)
{
	struct group_config config = { .nranks = 3 };

	EXPECT_EQ(0, group_run(&config, rank_turns, NULL));
}

/* When one use fails, all later uses that were submitted fail. */
static int rank_turns_fail(struct rank *r)
{
	float data[TURNS][8] = { 0 };
	struct collective_op op;
	__u64 request[TURNS];
	int i;

	for (i = 0; i < TURNS; i++) {
		op = sum_op(78, data[i], i == 3 && r->rank ? 7 : 8);
		CHECK_EQ(0, member_start(r->fd, &op, &request[i]));
	}
	for (i = 0; i < TURNS; i++) {
		int err = member_wait(r->fd, request[i], 0);

		/* The use before it may not have completed on this rank. */
		CHECK(err == (i < 3 ? 0 : -EBADMSG) || (i == 2 && err == -EBADMSG));
	}
	return member_barrier(r->fd);
}

TEST_F(keyed, turns_fail)
{
	struct group_config config = { .nranks = 3 };

	EXPECT_EQ(0, group_run(&config, rank_turns_fail, NULL));
}

/* Uses that wait are released when the group fails. */
static int rank_turns_end(struct rank *r)
{
	struct collective_op op;
	__u64 request[TURNS];
	float data[TURNS][8];
	int i;

	if (r->rank == 2) {
		CHECK(flag_wait(r->shared, 0, 2, 10000));
		_exit(GROUP_SILENT_EXIT);
	}
	for (i = 0; i < TURNS; i++) {
		op = sum_op(79, data[i], 8);
		CHECK_EQ(0, member_start(r->fd, &op, &request[i]));
	}
	__atomic_add_fetch(&r->shared->flag[0], 1, __ATOMIC_SEQ_CST);
	for (i = 0; i < TURNS; i++)
		CHECK_EQ(-ECONNRESET, member_wait(r->fd, request[i], 0));
	return 0;
}

TEST_F(keyed, turns_end)
{
	struct group_config config = { .nranks = 3 };

	EXPECT_EQ(1, group_run(&config, rank_turns_end, NULL));
}

/* A mismatch fails one use of a key; the group lives on. */
static int rank_mismatch(struct rank *r)
{
	struct collective_op op;
	float data[8] = { 0 };

	op = sum_op(5, data, 4 + r->rank);
	CHECK_EQ(-EBADMSG, member_submit(r->fd, &op));
	op = sum_op(6, data, 8);
	CHECK_EQ(0, member_submit(r->fd, &op));
	op = sum_op(5, data, 8);
	CHECK_EQ(-EBADMSG, member_submit(r->fd, &op));
	CHECK_EQ(0, member_barrier(r->fd));
	return 0;
}

TEST_F(keyed, mismatch)
{
	struct group_config config = { .nranks = 3 };

	EXPECT_EQ(0, group_run(&config, rank_mismatch, NULL));
}

/* A rank is late, and then calls all. */
static int rank_late(struct rank *r)
{
	struct collective_op op;
	float data[8] = { 0 };

	op = sum_op(1, data, 8);
	op.timeout_ms = 300;
	if (r->rank)
		CHECK_EQ(-ETIMEDOUT, member_submit(r->fd, &op));
	flag_set(r->shared, r->rank, 1);
	CHECK(r->rank || (flag_wait(r->shared, 1, 1, 20000) && flag_wait(r->shared, 2, 1, 20000)));
	if (!r->rank) {
		CHECK(record_await_failure(r->group->name, 0, "key:1"));
		CHECK_EQ(-ETIMEDOUT, member_submit(r->fd, &op));
	}
	op = sum_op(2, data, 8);
	CHECK_EQ(0, member_submit(r->fd, &op));
	CHECK_EQ(0, member_barrier(r->fd));
	return 0;
}

TEST_F(keyed, late)
{
	struct group_config config = { .nranks = 3 };

	EXPECT_EQ(0, group_run(&config, rank_late, NULL));
}

TEST_HARNESS_MAIN
