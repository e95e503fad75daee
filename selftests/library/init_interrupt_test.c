// SPDX-License-Identifier: GPL-2.0-only
/*
 * coll_init() ends while the kernel connects the ranks: a function of the caller's wants it, with a
 * signal whose handler restarts system calls, and with none.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <collective.h>

#include "lib/group.h"
#include "kselftest_harness.h"

#define AFTER_MS	300
#define LIMIT_MS	5000	/* of a busy machine; the time limit of coll_init() is 60 s */
#define RANKS		2

/**
 * struct meeting - two threads that give each other their cards
 * @barrier: of the exchange
 * @cards: by rank
 * @rounds: after so many rank 0 does not return from its exchange; then rank 1 waits in CONNECT
 *	for its call
 * @left: true if rank 0 may return
 */
static struct meeting {
	pthread_barrier_t barrier;
	char cards[RANKS][4096];
	int rounds;
	bool left;
} meeting;

static int exchange(void *context, const void *mine, size_t size, void *all)
{
	static __thread int round;
	const int rank = *(int *)context;
	int i;

	memcpy(meeting.cards[rank], mine, size);
	pthread_barrier_wait(&meeting.barrier);
	for (i = 0; i < RANKS; i++)
		memcpy((char *)all + i * size, meeting.cards[i], size);
	pthread_barrier_wait(&meeting.barrier);
	if (++round < meeting.rounds)
		return 0;
	round = 0;
	while (!rank && !__atomic_load_n(&meeting.left, __ATOMIC_ACQUIRE))
		poll(NULL, 0, 10);
	return rank ? 0 : -EIO;
}

static __u64 begun;
static int asked;

static int interrupt(void *context)
{
	(void)context;
	asked++;
	return now_ms() >= begun + AFTER_MS;
}

static void *run_rank(void *arg)
{
	int rank = *(int *)arg;
	struct coll_config config = {
		.size = sizeof(config),
		.rank = rank,
		.nranks = RANKS,
		.exchange = exchange,
		.exchange_context = &rank,
		.interrupt = rank ? interrupt : NULL,
	};
	struct coll_comm *comm;

	return (void *)(long)coll_init(&comm, &config);
}

static void on_signal(int sig)
{
	(void)sig;
}

static void interrupted(struct __test_metadata *_metadata, bool signals)
{
	int ranks[RANKS] = { 0, 1 }, i;
	pthread_t threads[RANKS];
	void *result[RANKS];
	__u64 took;

	signal(SIGUSR1, on_signal);	/* with SA_RESTART */
	meeting.rounds = 2;
	__atomic_store_n(&meeting.left, false, __ATOMIC_RELEASE);
	pthread_barrier_init(&meeting.barrier, NULL, RANKS);
	asked = 0;
	begun = now_ms();
	for (i = 0; i < RANKS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, run_rank, &ranks[i]));
	if (signals) {
		poll(NULL, 0, AFTER_MS);
		pthread_kill(threads[1], SIGUSR1);
	}
	pthread_join(threads[1], &result[1]);
	took = now_ms() - begun;
	__atomic_store_n(&meeting.left, true, __ATOMIC_RELEASE);
	pthread_join(threads[0], &result[0]);
	EXPECT_EQ(-EIO, (long)result[0]);
	EXPECT_EQ(-ECANCELED, (long)result[1]);
	EXPECT_LE(AFTER_MS, took);
	EXPECT_GT(AFTER_MS + LIMIT_MS, took);
	EXPECT_LE(1, asked);
}

TEST(without_a_signal)
{
	interrupted(_metadata, false);
}

TEST(by_a_signal_that_restarts_calls)
{
	interrupted(_metadata, true);
}

TEST_HARNESS_MAIN
