// SPDX-License-Identifier: GPL-2.0-only
/*
 * The board, each rank in its thread; built with ThreadSanitizer, too.
 *
 * Each rank publishes bytes that depend on the operation, and verifies those of the others.  All
 * order between threads comes from the board: waiting is by its own loads.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "core/board/board.c"
#include "tap.h"

#define RANKS		3U
#define OPERATIONS	20000U
#define LONG		96U	/* bytes: in a page */

static struct coll_board board[RANKS];
static struct coll_board_words words[RANKS];
static u8 pages[RANKS][COLL_BOARD_PAGES][LONG];
static u64 sleepers;
static u32 wrong;

static size_t bytes_of(u64 instance)
{
	return instance % 5 ? 8 : LONG;
}

static u64 value_of(u32 rank, u64 instance, u32 i)
{
	return instance * 1000003 + rank * 101 + i;
}

static void put(struct coll_board *own, u64 instance, size_t len)
{
	u64 *bytes = coll_board_payload(own, own->rank, instance, len);
	u32 i;

	for (i = 0; i < len / 8; i++)
		bytes[i] = value_of(own->rank, instance, i);
	coll_board_publish(own, instance, instance, len);
}

static bool is_right(const struct coll_board *own, u64 instance, size_t len)
{
	bool right = true;
	u32 rank, i;

	for (rank = 0; rank < RANKS; rank++) {
		const u64 *bytes = coll_board_payload(own, rank, instance, len);

		for (i = 0; i < len / 8; i++)
			right &= bytes[i] == value_of(rank, instance, i);
	}
	return right;
}

static void *run(void *argument)
{
	struct coll_board *own = argument;
	enum coll_board_found found;
	u64 instance;
	u32 rank;

	for (instance = 0; instance < OPERATIONS; instance++) {
		const size_t len = bytes_of(instance);

		while (!coll_board_reserve(own, instance, len))
			sched_yield();
		put(own, instance, len);
		rank = 0;
		for (;;) {
			found = coll_board_scan(own, instance, instance, &rank);
			if (found != COLL_BOARD_MISSING)
				break;
			sched_yield();
		}
		if (found != COLL_BOARD_COMPLETE || !is_right(own, instance, len))
			__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
		coll_board_finish(own, instance);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread[RANKS];
	u32 rank, i, k;

	tap_plan(1);
	for (rank = 0; rank < RANKS; rank++) {
		board[rank].rank = rank;
		board[rank].nranks = RANKS;
		board[rank].sleepers = &sleepers;
		for (i = 0; i < RANKS; i++) {
			board[rank].part[i].words = &words[i];
			for (k = 0; k < COLL_BOARD_PAGES; k++)
				board[rank].part[i].page[k] = pages[i][k];
		}
	}
	for (rank = 0; rank < RANKS; rank++)
		if (pthread_create(&thread[rank], NULL, run, &board[rank]))
			exit(1);
	for (rank = 0; rank < RANKS; rank++)
		pthread_join(thread[rank], NULL);
	tap_ok(!wrong, "%u operations of %u threads", OPERATIONS, RANKS);
	return tap_exit();
}
