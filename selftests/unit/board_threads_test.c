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
#include "core/schedule/board.c"
#include "core/wire/signature.c"
#include "tap.h"

#define RANKS		3U
#define OPERATIONS	20000U

static struct coll_board board[RANKS];
static struct coll_board_words words[RANKS];
static u8 shown[RANKS][COLL_BOARD_PAGES][COLL_BOARD_PUBLISHED];
static u8 hidden[RANKS][COLL_BOARD_PAGES][COLL_BOARD_PUBLISHED];
static struct coll_board_part parts[RANKS];
static struct coll_board_part *views[RANKS];
static u64 sleepers, impatient;
static u32 wrong;

/* Most are in slots, and others in pages of both kinds. */
static size_t bytes_of(u64 instance)
{
	return instance % 5 ? 8 : instance % 3 ? 96 : 104;
}

static u64 value_of(u32 rank, u64 instance, u32 i)
{
	return instance * 1000003 + rank * 101 + i;
}

static enum coll_board_place place_of(size_t len)
{
	return len <= COLL_BOARD_INLINE ? COLL_BOARD_SLOT :
	       len == 96 ? COLL_BOARD_SHOWN : COLL_BOARD_HIDDEN;
}

static void put(struct coll_board *own, u64 instance, size_t len)
{
	u64 *bytes = coll_board_payload(own, own->rank, instance, place_of(len));
	u32 i;

	for (i = 0; i < len / 8; i++)
		bytes[i] = value_of(own->rank, instance, i);
	coll_board_publish(own, instance, instance, place_of(len));
}

static bool is_right(const struct coll_board *own, u64 instance, size_t len)
{
	bool right = true;
	u32 rank, i;

	for (rank = 0; rank < RANKS; rank++) {
		const u64 *bytes = coll_board_payload(own, rank, instance, place_of(len));

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

		while (!coll_board_reserve(own, instance, place_of(len)))
			sched_yield();
		put(own, instance, len);
		rank = 0;
		for (;;) {
			found = coll_board_scan(own, instance, instance, COLL_BOARD_ALL, &rank);
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
	u32 rank;

	tap_plan(1);
	for (rank = 0; rank < RANKS; rank++) {
		board[rank].rank = rank;
		board[rank].nranks = RANKS;
		board[rank].sleepers = &sleepers;
		board[rank].impatient = &impatient;
		board[rank].part = views;
		views[rank] = &parts[rank];
		parts[rank] = (struct coll_board_part){
			.words = &words[rank],
			.shown = shown[rank][0], .hidden = hidden[rank][0],
		};
	}
	for (rank = 0; rank < RANKS; rank++)
		if (pthread_create(&thread[rank], NULL, run, &board[rank]))
			exit(1);
	for (rank = 0; rank < RANKS; rank++)
		pthread_join(thread[rank], NULL);
	tap_ok(!wrong, "%u operations of %u threads", OPERATIONS, RANKS);
	return tap_exit();
}
