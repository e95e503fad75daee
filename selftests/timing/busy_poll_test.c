// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread that has a CPU to itself, or yields to other ranks there, runs its lanes while it waits
 * for a small operation, and sleeps until there is work.  Whatever happens to the thread, its lanes
 * go on.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/machine.h"
#include "lib/values.h"

#define LARGE	(1U << 20)
#define LATE_MS	20

FIXTURE(busy_poll) {
	struct group_config config;
};

FIXTURE_VARIANT(busy_poll) {
	unsigned int lanes;
	unsigned int cpus;
};

FIXTURE_VARIANT_ADD(busy_poll, one_lane) { .lanes = 1 };
FIXTURE_VARIANT_ADD(busy_poll, three_lanes) { .lanes = 3 };
FIXTURE_VARIANT_ADD(busy_poll, one_cpu) { .lanes = 1, .cpus = 1 };
FIXTURE_VARIANT_ADD(busy_poll, one_cpu_three_lanes) { .lanes = 3, .cpus = 1 };

FIXTURE_SETUP(busy_poll)
{
	self->config = (struct group_config) {
		.nranks = 2,
		.lanes = variant->lanes,
		.bound = true,
		.cpus = variant->cpus,
	};
}

FIXTURE_TEARDOWN(busy_poll)
{
}

static struct collective_op sum_of(__u8 *at, __u64 count, __u64 key)
{
	return (struct collective_op) {
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_UINT8,
		.reduction = COLLECTIVE_SUM,
		.flags = key ? COLLECTIVE_F_KEYED : 0,
		.key = key,
		.count = count,
		.send = (uintptr_t)at,
		.recv = (uintptr_t)at,
	};
}

/* Submit and be interrupted, or wait for an event; the other rank is late at times. */
static int random_wait(struct rank *r, const struct collective_op *op, int way)
{
	struct collective_wait wait = { .timeout_ms = 1 };
	__u64 id;
	int err;

	if (way % 5 == 4)
		sleep_ms(2 * (r->rank ^ (way / 5 & 1)));
	if (way % 3 == 0)
		return member_submit(r->fd, op);
	CHECK_EQ(0, member_start(r->fd, op, &id));
	do {
		wait.flags = 0;
		err = way % 3 == 1 ? member_wait(r->fd, id, 0) :
		      member_wait_any(r->fd, &wait, &id, 1);
	} while (err == -EINTR || (err == -EINPROGRESS && !wait.request));
	return err;
}

static void on_signal(int signal)
{
}

static int rank_signalled(struct rank *r)
{
	static const unsigned int counts[] = { 1, 100, 4096, 20000, 32768, 60000, 65536 };
	const struct itimerval timer = { { 0, 2000 }, { 0, 2000 } };
	const struct sigaction action = { .sa_handler = on_signal };
	__u8 *at = memory(LARGE);
	int i, rounds = slow_machine() ? 150 : 1000;

	CHECK(at);
	CHECK_EQ(0, sigaction(SIGALRM, &action, NULL));
	CHECK_EQ(0, setitimer(ITIMER_REAL, &timer, NULL));
	for (i = 0; i < rounds; i++) {
		unsigned int count = counts[i % ARRAY_SIZE(counts)];
		struct collective_op op = sum_of(at, count, 0);

		memset(at, i + r->rank, count);
		CHECK_EQ(0, random_wait(r, &op, i));
		CHECK(all_are(at, 2 * i + 1, count));
	}
	CHECK_EQ(0, setitimer(ITIMER_REAL, &(struct itimerval) {}, NULL));
	return 0;
}

TEST_F_TIMEOUT(busy_poll, interrupted, 100)
{
	EXPECT_EQ(0, group_run(&self->config, rank_signalled, NULL));
}

static char process_state(pid_t pid)
{
	char path[32], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(file);
	return state;
}

static bool state_await(pid_t pid, char state)
{
	__u64 end = now_ms() + 10000;

	while (process_state(pid) != state && now_ms() < end)
		sleep_ms(1);
	return process_state(pid) == state;
}

/*
 * Rank 1 sleeps as the runner of its lanes when it is stopped: its part of the operations
 * completes.
 */
static int rank_stopped(struct rank *r)
{
	__u8 *large = memory(LARGE), *small = memory(4096);
	struct collective_op first = sum_of(large, LARGE, 0), second = sum_of(small, 64, 0);
	__u64 id;

	CHECK(large && small);
	memset(large, 1 + r->rank, LARGE);
	memset(small, 10 + r->rank, 64);
	if (r->rank) {
		CHECK_EQ(0, member_start(r->fd, &first, &id));
		r->shared->value[0] = getpid();
		flag_set(r->shared, 0, 1);
		CHECK_EQ(0, member_submit(r->fd, &second));
		CHECK_EQ(0, member_wait(r->fd, id, 0));
	} else {
		pid_t other;

		CHECK(flag_wait(r->shared, 0, 1, 10000));
		other = r->shared->value[0];
		sleep_ms(LATE_MS);
		CHECK(state_await(other, 'S'));
		CHECK_EQ(0, kill(other, SIGSTOP));
		CHECK(state_await(other, 'T'));
		first.timeout_ms = 10000;
		CHECK_EQ(0, member_submit(r->fd, &first));
		CHECK_EQ('T', process_state(other));
		CHECK_EQ(0, kill(other, SIGCONT));
		CHECK_EQ(0, member_submit(r->fd, &second));
	}
	CHECK(all_are(large, 3, LARGE));
	CHECK(all_are(small, 21, 64));
	return 0;
}

TEST_F(busy_poll, stopped)
{
	EXPECT_EQ(0, group_run(&self->config, rank_stopped, NULL));
}

#define OTHERS	20

/* What a second thread of a rank does. */
struct second_thread {
	struct rank *rank;
	int (*what)(struct second_thread *second_thread);
	int enough;
	int failed;
};

static void *beside_thread(void *arg)
{
	struct second_thread *second_thread = arg;

	second_thread->failed = second_thread->what(second_thread);
	return NULL;
}

static int others_do(struct second_thread *second_thread)
{
	struct rank *r = second_thread->rank;
	__u8 *at = memory(LARGE);
	int i;

	CHECK(at);
	for (i = 0; i < OTHERS; i++) {
		struct collective_op op = sum_of(at, i & 1 ? LARGE : 300, 100 + i);

		memset(at, i + r->rank, LARGE);
		CHECK_EQ(0, member_submit(r->fd, &op));
		CHECK(all_are(at, 2 * i + 1, op.count));
	}
	return 0;
}

/* One thread of rank 1 waits for a small operation that is late, while others make calls. */
static int rank_two_threads(struct rank *r)
{
	struct second_thread second_thread = { .rank = r, .what = others_do };
	__u8 *small = memory(4096);
	struct collective_op op = sum_of(small, 64, 1);
	pthread_t thread;

	CHECK(small);
	memset(small, 10 + r->rank, 64);
	CHECK_EQ(0, pthread_create(&thread, NULL, beside_thread, &second_thread));
	if (!r->rank)
		pthread_join(thread, NULL);
	CHECK_EQ(0, member_submit(r->fd, &op));
	if (r->rank)
		pthread_join(thread, NULL);
	CHECK_EQ(0, second_thread.failed);
	CHECK(all_are(small, 21, 64));
	return 0;
}

TEST_F_TIMEOUT(busy_poll, beside_others, 60)
{
	EXPECT_EQ(0, group_run(&self->config, rank_two_threads, NULL));
}

#define PATIENCE_MS	100

/* Small operations one after the other, until rank 1 stops. */
static int small_operations(struct second_thread *busy)
{
	__u8 *enough = memory(4096);
	__u64 key = 100;

	CHECK(enough);
	do {
		struct collective_op op = sum_of(enough, 1, key++);

		*enough = __atomic_load_n(&busy->enough, __ATOMIC_SEQ_CST);
		CHECK_EQ(0, member_submit(busy->rank->fd, &op));
	} while (!*enough);
	return 0;
}

/* Rank 1 waits with a timeout, or until a signal. Meanwhile it is woken to run its lane. */
static int rank_timed(struct rank *r)
{
	const struct sigaction action = { .sa_handler = on_signal };
	const bool signalled = *(bool *)r->arg;
	struct collective_op barrier = {
		.opcode = COLLECTIVE_BARRIER, .flags = COLLECTIVE_F_KEYED, .key = 1,
	};
	struct collective_wait wait = { .timeout_ms = PATIENCE_MS };
	struct second_thread busy = { .rank = r, .what = small_operations };
	pthread_t thread;
	__u64 id, begin, waited = 0;

	if (!r->rank) {
		CHECK_EQ(0, small_operations(&busy));
		return member_submit(r->fd, &barrier);
	}
	CHECK_EQ(0, member_start(r->fd, &barrier, &id));
	CHECK_EQ(0, pthread_create(&thread, NULL, beside_thread, &busy));
	begin = now_ms();
	if (signalled) {
		struct timespec soon = { .tv_nsec = PATIENCE_MS * 1000000 };
		struct sigevent event = {
			.sigev_notify = SIGEV_THREAD_ID,
			.sigev_signo = SIGALRM,
			._sigev_un._tid = gettid(),
		};
		timer_t timer;

		CHECK_EQ(0, sigaction(SIGALRM, &action, NULL));
		CHECK_EQ(0, timer_create(CLOCK_MONOTONIC, &event, &timer));
		CHECK_EQ(0, timer_settime(timer, 0, &(struct itimerspec) { .it_value = soon },
					  NULL));
		CHECK_EQ(-EINTR, member_wait(r->fd, id, 0));
	} else {
		CHECK_EQ(-EINPROGRESS, member_wait_any(r->fd, &wait, &id, 1));
	}
	waited = now_ms() - begin;
	__atomic_store_n(&busy.enough, 1, __ATOMIC_SEQ_CST);
	pthread_join(thread, NULL);
	CHECK_EQ(0, busy.failed);
	CHECK(waited >= PATIENCE_MS - 20 && waited < 20 * PATIENCE_MS);
	return member_wait(r->fd, id, 0);
}

TEST_F(busy_poll, timed)
{
	bool signalled = false;

	EXPECT_EQ(0, group_run(&self->config, rank_timed, &signalled));
	signalled = true;
	EXPECT_EQ(0, group_run(&self->config, rank_timed, &signalled));
}

/* The CPUs that rank 1 may use change during its wait. */
static int rank_moved(struct rank *r)
{
	int i;

	for (i = 0; i < 40; i++) {
		if (!r->rank) {
			sleep_ms(i % 3);
			CHECK_EQ(0, member_set(r->group->name, 1, "cpus", i & 1 ? "0" : "1"));
		}
		CHECK_EQ(0, member_barrier(r->fd));
	}
	return 0;
}

TEST_F(busy_poll, moved)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "there is one CPU");
	EXPECT_EQ(0, group_run(&self->config, rank_moved, NULL));
}

/* A rank is killed while it sleeps as a runner: the others learn of it at once and name it. */
static int rank_killed(struct rank *r)
{
	struct collective_status status;
	__u64 begin;
	int err;

	CHECK_EQ(0, member_barrier(r->fd));
	if (r->rank) {
		r->shared->value[0] = getpid();
		flag_set(r->shared, 0, 1);
		return member_barrier(r->fd);
	}
	CHECK(flag_wait(r->shared, 0, 1, 10000));
	sleep_ms(LATE_MS);
	CHECK(state_await(r->shared->value[0], 'S'));
	begin = now_ms();
	CHECK_EQ(0, kill(r->shared->value[0], SIGKILL));
	/* It had sent all that the first operation needs. */
	err = member_barrier(r->fd);
	CHECK_EQ(-ECONNRESET, err ? err : member_barrier(r->fd));
	/* Not after the silence of six heartbeat periods of a second. */
	CHECK(now_ms() < begin + 4000);
	CHECK_EQ(0, member_status(r->fd, &status));
	CHECK_EQ(COLLECTIVE_STATE_ABORTED, status.state);
	CHECK_EQ(COLLECTIVE_REASON_DEATH, status.group.kind);
	CHECK_EQ(1, status.group.rank_a);
	return 0;
}

TEST_F(busy_poll, killed)
{
	/* The rank that was killed. */
	EXPECT_EQ(1, group_run(&self->config, rank_killed, NULL));
}

#define TURNS	1000
#define ROUNDS	20

/*
 * A rank yields to the other while it waits, and hardly ever sleeps.  After a slow yield, as any
 * load of the machine may cause, it sleeps for about a round: the best round counts.
 */
static int rank_yields(struct rank *r)
{
	struct rusage before, after;
	long least = TURNS;
	int i, round;

	for (round = 0; round < ROUNDS; round++) {
		CHECK_EQ(0, getrusage(RUSAGE_THREAD, &before));
		for (i = 0; i < TURNS; i++)
			CHECK_EQ(0, member_barrier(r->fd));
		CHECK_EQ(0, getrusage(RUSAGE_THREAD, &after));
		if (after.ru_nvcsw - before.ru_nvcsw < least)
			least = after.ru_nvcsw - before.ru_nvcsw;
	}
	CHECK(least < TURNS / 10);
	return 0;
}

TEST(yields)
{
	const struct group_config config = { .nranks = 2, .bound = true, .cpus = 1 };

	if (!transport_is_local(transport_choice(NULL)))
		SKIP(return, "ranks on TCP sleep");
	if (slow_machine())
		SKIP(return, "a turn lasts too long");
	EXPECT_EQ(0, group_run(&config, rank_yields, NULL));
}

TEST_HARNESS_MAIN
