// SPDX-License-Identifier: GPL-2.0-only
/*
 * A function of the caller's ends coll_split() and coll_shrink(), wherever they wait: on time, with
 * no rank in a group that another one does not have, and with the calls of all ranks in step.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "kselftest_harness.h"
#include "lib/before_ioctl.h"
#include "lib/lib_group.h"
#include "lib/values.h"

#define AFTER_MS	300
#define LIMIT_MS	5000	/* of a busy machine; the calls have 60 s and more */
#define SHORT_MS	4000	/* time limit of a shrink that has to go on without a rank */
#define RANKS		3
#define RANDOM_RANKS	4
#define LATE		0	/* rank that the others wait for */
#define INTERRUPTED	1
#define SPLITS		200
#define SHRINKS		150

/*
 * Where the late rank stops: before this ioctl, when @skip of them have passed, until the others
 * have returned.
 */
static struct stop {
	unsigned long request;
	int skip;
	unsigned int *returned;
} stop;

static int stop_here(unsigned long request, const void *arg)
{
	if (stop.request == request && !stop.skip--) {
		stop.request = 0;
		word_wait(stop.returned, RANKS - 1, 4 * LIMIT_MS);
	}
	return 0;
}

static void __attribute__((constructor)) look_at_ioctls(void)
{
	before_ioctl = stop_here;
}

/* When the function of this rank wants the end; 0: not until a signal comes. */
static __u64 want_at;
static int signalled;
static int asked;

static void on_signal(int sig)
{
	__atomic_store_n(&signalled, 1, __ATOMIC_RELAXED);
}

static int interrupt(void *context)
{
	if (context != &want_at)
		abort();
	asked++;
	return __atomic_load_n(&signalled, __ATOMIC_RELAXED) || (want_at && now_ms() >= want_at);
}

/* A group works, and is that of all ranks. */
static int check_group(struct coll_comm *comm, int nranks)
{
	int sum = 1;

	CHECK_EQ(nranks, coll_size(comm));
	CHECK_EQ(0, coll_allreduce(comm, COLL_IN_PLACE, &sum, 1, COLL_INT32, COLL_SUM));
	CHECK_EQ(nranks, sum);
	return 0;
}

static int check_split(struct lib_rank *me)
{
	struct coll_comm *new;

	CHECK_EQ(0, coll_split(me->comm, 0, 0, &new));
	if (check_group(new, me->nranks))
		return 1;
	CHECK_EQ(0, coll_barrier(new));
	CHECK_EQ(0, coll_finalize(new));
	return 0;
}

/**
 * struct where - where the late rank stops
 * @request: before this ioctl
 * @skip: when so many of them have passed
 * @other: error of the rank that waits for it, too, but is not interrupted; 0: any
 */
struct where {
	unsigned long request;
	int skip;
	int other;
};

FIXTURE(stops) {
};

FIXTURE_VARIANT(stops) {
	struct where where;
};

/* Without a board each exchange and each barrier is one SUBMIT. */
FIXTURE_VARIANT_ADD(stops, first_exchange) {
	.where = { .request = COLLECTIVE_IOC_SUBMIT, .skip = 0, .other = -ECANCELED } };
FIXTURE_VARIANT_ADD(stops, join) {
	.where = { .request = COLLECTIVE_IOC_JOIN, .skip = 0, .other = -ECANCELED } };
FIXTURE_VARIANT_ADD(stops, second_exchange) {
	.where = { .request = COLLECTIVE_IOC_SUBMIT, .skip = 1, .other = -ECANCELED } };
FIXTURE_VARIANT_ADD(stops, connect) {
	.where = { .request = COLLECTIVE_IOC_CONNECT, .skip = 0 } };
FIXTURE_VARIANT_ADD(stops, barrier) {
	.where = { .request = COLLECTIVE_IOC_SUBMIT, .skip = 2 } };

FIXTURE_SETUP(stops)
{
}

FIXTURE_TEARDOWN(stops)
{
}

/* The late rank stops in its call; another one is interrupted. */
static int rank_split(struct lib_rank *me)
{
	const struct where *where = me->arg;
	const __u64 begun = now_ms();
	struct coll_comm *new = me->comm;
	__u64 took;
	int err;

	if (me->rank == LATE)
		stop = (struct stop){ where->request, where->skip, &me->shared->flag[0] };
	if (me->rank == INTERRUPTED)
		want_at = begun + AFTER_MS;
	err = coll_split(me->comm, 0, 0, &new);
	took = now_ms() - begun;
	want_at = 0;
	if (me->rank != LATE)
		flag_add(me->shared, 0);
	CHECK(!new);
	CHECK(took >= AFTER_MS);
	CHECK(took < AFTER_MS + LIMIT_MS);
	CHECK(*coll_error_detail(me->comm));
	if (me->rank == INTERRUPTED) {
		CHECK_EQ(-ECANCELED, err);
		CHECK(!strcmp("rank 1 was interrupted", coll_error_detail(me->comm)));
		CHECK(asked > 1);
		CHECK(asked < 100);
	} else {
		CHECK(err);
		CHECK(me->rank == LATE || !where->other || err == where->other);
	}
	/* The calls of all ranks are in step. */
	CHECK(!coll_comm_failed(me->comm));
	CHECK_EQ(0, coll_barrier(me->comm));
	return check_split(me);
}

TEST_F_TIMEOUT(stops, split, 100)
{
	const struct coll_config config = {
		.flags = COLL_CONFIG_PRIVATE,
		.interrupt = interrupt,
		.interrupt_context = &want_at,
	};

	EXPECT_EQ(0, lib_group_run(RANKS, &config, rank_split, (void *)&variant->where));
}

/* A child has the function of its parent. */
static int rank_nested(struct lib_rank *me)
{
	struct coll_comm *child, *grandchild;

	CHECK_EQ(0, coll_dup(me->comm, &child));
	if (me->rank != LATE) {
		want_at = me->rank == INTERRUPTED ? now_ms() + AFTER_MS : 0;
		CHECK_EQ(-ECANCELED, coll_dup(child, &grandchild));
		want_at = 0;
		flag_add(me->shared, 0);
	} else {
		CHECK(flag_wait(me->shared, 0, RANKS - 1, 4 * LIMIT_MS));
		CHECK_EQ(-ECANCELED, coll_dup(child, &grandchild));
	}
	CHECK_EQ(0, coll_barrier(child));
	CHECK_EQ(0, coll_finalize(child));
	return check_split(me);
}

static const struct coll_config base = { .interrupt = interrupt, .interrupt_context = &want_at };

TEST(nested)
{
	EXPECT_EQ(0, lib_group_run(RANKS, &base, rank_nested, NULL));
}

static void signal_after(unsigned int us)
{
	const struct itimerval timer = { .it_value = { us / 1000000, us % 1000000 } };

	signal(SIGALRM, on_signal);	/* with SA_RESTART */
	setitimer(ITIMER_REAL, &timer, NULL);
	if (!us)
		__atomic_store_n(&signalled, 0, __ATOMIC_RELAXED);
}

static bool same_color(int round, int a, int b)
{
	return round % 3 || a % 2 == b % 2;
}

/* One split, in which a rank may be interrupted after some time. */
static int split_round(struct lib_rank *me, int round, unsigned int us, int *interrupted)
{
	int errs[RANDOM_RANKS], err, i;
	struct coll_comm *new;
	__u64 begun;

	CHECK_EQ(0, coll_barrier(me->comm));
	begun = now_ms();
	if (me->rank == round % me->nranks)
		signal_after(1 + us);
	err = coll_split(me->comm, round % 3 ? 0 : me->rank % 2, 0, &new);
	signal_after(0);
	CHECK(now_ms() - begun < LIMIT_MS);
	CHECK(!err == !!new);
	CHECK_EQ(0, coll_allgather(me->comm, &err, errs, 1, COLL_INT32));
	for (i = 0; i < me->nranks; i++)
		CHECK(!same_color(round, me->rank, i) || !err == !errs[i]);
	i = errs[round % me->nranks];
	CHECK(!i || i == -ECANCELED);
	*interrupted += !!i;
	return new ? check_group(new, round % 3 ? me->nranks : me->nranks / 2) ||
		     coll_finalize(new) : 0;
}

/* Ranks of one colour all get their group, or none does, whenever one is interrupted. */
static int rank_split_random(struct lib_rank *me)
{
	int round, interrupted = 0;
	__u64 begun, took;

	CHECK_EQ(0, coll_barrier(me->comm));
	begun = now_ms();
	for (round = 0; round < 4; round++)
		if (check_split(me))
			return 1;
	took = (now_ms() - begun + 3) / 4;
	for (round = 0; round < SPLITS; round++)
		if (split_round(me, round, hash(round, 0, 1) % (1000 * took), &interrupted))
			return 1;
	if (!me->rank)
		dprintf(STDOUT_FILENO, "# a split takes %llu ms; %d of %d interrupted\n", took,
			interrupted, SPLITS);
	CHECK(interrupted);
	CHECK(interrupted < SPLITS);
	return 0;
}

FIXTURE(long) {
};

FIXTURE_SETUP(long)
{
}

FIXTURE_TEARDOWN(long)
{
}

TEST_F_TIMEOUT(long, split_at_random, 200)
{
	EXPECT_EQ(0, lib_group_run(RANDOM_RANKS, &base, rank_split_random, NULL));
}

/* A rank that was interrupted calls again, and is in the group of all. */
static int rank_shrink_again(struct lib_rank *me)
{
	const __u64 begun = now_ms();
	struct coll_comm *new;

	if (me->rank == LATE)
		CHECK(flag_wait(me->shared, 0, 1, 4 * LIMIT_MS));
	if (me->rank == INTERRUPTED) {
		want_at = begun + AFTER_MS;
		CHECK_EQ(-ECANCELED, coll_shrink(me->comm, &new));
		want_at = 0;
		CHECK(!new);
		CHECK(!strcmp("rank 1 was interrupted", coll_error_detail(me->comm)));
		CHECK(now_ms() - begun >= AFTER_MS);
		CHECK(now_ms() - begun < AFTER_MS + LIMIT_MS);
		CHECK(asked > 1);
		flag_add(me->shared, 0);
	}
	CHECK_EQ(0, coll_shrink(me->comm, &new));
	CHECK_EQ(0, coll_finalize(me->comm));
	me->comm = new;
	return check_group(new, me->nranks);
}

TEST_F_TIMEOUT(long, shrink_again, 100)
{
	EXPECT_EQ(0, lib_group_run(RANKS, &base, rank_shrink_again, NULL));
}

/* The others go on without a rank that was interrupted, as without one that is late. */
static int rank_shrink_without(struct lib_rank *me)
{
	const bool out = me->rank == INTERRUPTED;
	struct coll_comm *new;

	if (out) {
		want_at = 1;
		CHECK_EQ(-ECANCELED, coll_shrink(me->comm, &new));
		want_at = 0;
		CHECK(flag_wait(me->shared, 0, me->nranks - 1, 4 * LIMIT_MS));
		CHECK_EQ(-ETIMEDOUT, coll_shrink(me->comm, &new));
		CHECK(!new);
		return 0;
	}
	CHECK_EQ(0, coll_shrink(me->comm, &new));
	CHECK(strstr(coll_error_detail(new), "rank 1"));
	CHECK_EQ(0, coll_finalize(me->comm));
	me->comm = new;
	if (check_group(new, me->nranks - 1))
		return 1;
	flag_add(me->shared, 0);
	return 0;
}

TEST_F_TIMEOUT(long, shrink_without, 100)
{
	struct coll_config config = base;

	config.init_timeout_ms = SHORT_MS;
	EXPECT_EQ(0, lib_group_run(RANKS, &config, rank_shrink_without, NULL));
}

/* One shrink, in which a rank may be interrupted after some time; then it calls again. */
static int shrink_round(struct lib_rank *me, int round, unsigned int us, int *interrupted)
{
	struct coll_comm *new;
	int err, again = 0;
	__u64 begun;

	CHECK_EQ(0, coll_barrier(me->comm));
	begun = now_ms();
	if (me->rank == round % me->nranks)
		signal_after(1 + us);
	err = coll_shrink(me->comm, &new);
	signal_after(0);
	if (err) {
		again = 1;
		CHECK_EQ(-ECANCELED, err);
		CHECK_EQ(round % me->nranks, me->rank);
		CHECK_EQ(0, coll_shrink(me->comm, &new));
	}
	CHECK(now_ms() - begun < LIMIT_MS);
	CHECK_EQ(0, coll_finalize(me->comm));
	me->comm = new;
	CHECK_EQ(0, coll_allreduce(new, COLL_IN_PLACE, &again, 1, COLL_INT32, COLL_SUM));
	*interrupted += again;
	return check_group(new, me->nranks);
}

/* All ranks get the same group, of all, whenever one is interrupted. */
static int rank_shrink_random(struct lib_rank *me)
{
	int round, interrupted = 0, unused = 0;
	__u64 begun, took;

	begun = now_ms();
	for (round = 0; round < 4; round++)
		if (shrink_round(me, round, 10000000, &unused))
			return 1;
	took = (now_ms() - begun + 3) / 4;
	for (round = 0; round < SHRINKS; round++)
		if (shrink_round(me, round, hash(round, 0, 2) % (1000 * took), &interrupted))
			return 1;
	if (!me->rank)
		dprintf(STDOUT_FILENO, "# a shrink takes %llu ms; %d of %d interrupted\n", took,
			interrupted, SHRINKS);
	CHECK(interrupted);
	CHECK(interrupted < SHRINKS);
	return 0;
}

TEST_F_TIMEOUT(long, shrink_at_random, 200)
{
	EXPECT_EQ(0, lib_group_run(RANDOM_RANKS, &base, rank_shrink_random, NULL));
}

TEST_HARNESS_MAIN
