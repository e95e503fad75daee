/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The board: small operations of ranks that share memory.
 *
 * Each rank has a part that only it writes: a ring of slots, a word that says how far it has read,
 * and two pages of payload.  In operation p a rank publishes its call and its bytes in the slot
 * p mod COLL_BOARD_SLOTS, scans the slots of the others until all are there, and finishes: it takes
 * what it needs from their slots and says that it reads nothing of p any more.
 *
 *	reserve -> publish -> scan (again until complete; sleep) -> take -> finish
 *
 * Other ranks do not see which thread executes these steps, and when.  Nothing here takes a lock,
 * allocates or wakes: the caller sleeps and wakes.  What other ranks have written is not trusted:
 * they can spoil results and have an operation end in COLL_BOARD_PASSED, no more.
 */
#ifndef COLL_BOARD_H
#define COLL_BOARD_H

#include "core/schedule/plan.h"

struct coll_reduce_impl;

/* Slots of a rank, a power of two: how far one may be ahead of another. */
#define COLL_BOARD_SLOTS	16U
/* Payload in a slot, which has one cache line for it and the words; bytes. */
#define COLL_BOARD_INLINE	48U
/* Most bytes that a rank publishes, and pages of them. */
#define COLL_BOARD_PUBLISHED	4096U
#define COLL_BOARD_PAGES	2U
/* Most bytes that a rank reads of all ranks. */
#define COLL_BOARD_READ		65536U
#define COLL_BOARD_RANKS	64U

/**
 * struct coll_board_slot - what a rank has published
 * @seq: number of the operation plus 1; stored last [a]
 * @digest: of the call
 * @bytes: payload, if it fits; otherwise it is in a page
 */
struct coll_board_slot {
	u64 seq;
	u64 digest;
	u8 bytes[COLL_BOARD_INLINE];
} __aligned(128);

/**
 * struct coll_board_words - the words of a rank, a page that only this rank writes
 * @done: number of the last operation of which it reads nothing any more, plus 1 [a]
 * @slot: by number of the operation
 */
struct coll_board_words {
	u64 done __aligned(128);
	struct coll_board_slot slot[COLL_BOARD_SLOTS];
};

/**
 * struct coll_board_part - the part of a rank
 * @words: its words
 * @page: payload that fits no slot, by number of the operation
 */
struct coll_board_part {
	struct coll_board_words *words;
	u8 *page[COLL_BOARD_PAGES];
};

/**
 * struct coll_board - the board as one rank sees it
 * @rank: this rank
 * @nranks: number of ranks, 2 to COLL_BOARD_RANKS
 * @part: parts by rank
 * @sleepers: ranks that sleep until slots or space are there; of the group [a]
 * @least: number of operations of which no rank reads anything any more, when it was looked at last
 * @page_seq: what @page of this rank's part holds: number of the operation plus 1
 */
struct coll_board {
	u32 rank;
	u32 nranks;
	struct coll_board_part part[COLL_BOARD_RANKS];
	u64 *sleepers;
	u64 least;
	u64 page_seq[COLL_BOARD_PAGES];
};

/* What a scan finds. */
enum coll_board_found {
	COLL_BOARD_COMPLETE,	/* all ranks have published the same call */
	COLL_BOARD_MISSING,	/* a rank has not published yet */
	COLL_BOARD_DIFFERS,	/* a rank has published another call */
	COLL_BOARD_PASSED,	/* a rank has given the operation up, or breaks the protocol */
};

/**
 * struct coll_board_out - where a result goes
 * @result: contiguous memory of the result; may be that of the input
 * @impl: functions that reduce
 * @part: memory of COLL_REDUCE_PART bytes, for reductions
 */
struct coll_board_out {
	void *result;
	const struct coll_reduce_impl *impl;
	void *part;
};

bool coll_board_fits(const struct coll_plan *plan);
u64 coll_board_published(const struct coll_plan *plan);

bool coll_board_reserve(struct coll_board *board, u64 instance, size_t len);
void *coll_board_payload(const struct coll_board *board, u32 rank, u64 instance, size_t len);
void coll_board_publish(struct coll_board *board, u64 instance, u64 digest, size_t len);
enum coll_board_found coll_board_scan(const struct coll_board *board, u64 instance, u64 digest,
				      u32 *rank);
void coll_board_take(const struct coll_board *board, const struct coll_plan *plan, u64 instance,
		     const struct coll_board_out *out);
bool coll_board_finish(struct coll_board *board, u64 instance);

void coll_board_sleep(const struct coll_board *board);
void coll_board_wake_up(const struct coll_board *board);
u64 coll_board_sleepers(const struct coll_board *board, u32 most);

#endif /* COLL_BOARD_H */
