/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * The board: small operations of ranks that share memory.
 *
 * Each rank has a part that only it writes: a ring of slots, a word that says how far it has read,
 * and pages for longer payload, two that are shown to processes and two that are not.  In operation
 * p a rank publishes its call and its bytes, with the slot p mod COLL_BOARD_SLOTS, scans the slots
 * of the others until all are there, and finishes: it takes what it needs of them and says that it
 * reads nothing of p any more.
 *
 *	reserve -> publish -> scan (again until complete; sleep) -> take -> finish
 *
 * An operation is complete when all ranks have published the same call.  If it need not
 * synchronize, the rank does not wait for those whose bytes it does not need.  It compares its call
 * with what they have published, and they compare theirs with what it has: of any two ranks the
 * later one finds what the earlier has published, which stays until all ranks have finished.
 *
 * Other ranks do not see which thread executes these steps, and when.  Nothing here takes a lock,
 * allocates or wakes: the caller sleeps and wakes.  What other ranks have written is not trusted:
 * they can spoil results and have an operation end in COLL_BOARD_PASSED, no more.
 */
#ifndef COLL_BOARD_H
#define COLL_BOARD_H

#include "core/data/fuse.h"
#include "core/data/mem.h"
#include "core/schedule/schedule.h"
#include "core/wire/signature.h"

struct coll_reduce_impl;

/* Slots of a rank, a power of two: how far one may be ahead of another. */
#define COLL_BOARD_SLOTS	16U
/* Pages of COLL_BOARD_PUBLISHED bytes of a rank, shown and hidden ones each: a power of two. */
#define COLL_BOARD_PAGES	2U
/* Collectives that @calls has room for. */
#define COLL_BOARD_CALLS	16U
/* Calls that @ahead has room for, a power of two: more than slots. */
#define COLL_BOARD_AHEAD	32U

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
} __aligned(64);

/**
 * struct coll_board_call - a call of an operation that a rank may leave before others call it
 * @seq: number of the operation plus 1; 0: none
 * @words: its signature, packed
 */
struct coll_board_call {
	u64 seq;
	u64 words[COLL_SIGNATURE_WORDS];
};

/**
 * struct coll_board_words - the words of a rank, which only this rank writes
 * @done: number of the last operation of which it reads nothing any more, plus 1 [a]
 * @slot: by number of the operation
 * @order: which thread executes the next operation: see order.h [a]
 * @calls: operations that the process has executed itself, by collective [a]
 * @latest: collective of the latest of them [a]
 * @attention: not 0 if the process is to enter the kernel [a]
 * @generation: see struct coll_board
 * @ahead: by number: calls of operations that need not synchronize
 *
 * Those after @slot are for the process of the rank and its kernel, but for @ahead, which all
 * kernels read.
 */
struct coll_board_words {
	u64 done __aligned(128);
	struct coll_board_slot slot[COLL_BOARD_SLOTS] __aligned(128);
	u64 order __aligned(128);
	u64 calls[COLL_BOARD_CALLS];
	u64 latest;
	u64 attention __aligned(128);
	u64 generation;
	struct coll_board_call ahead[COLL_BOARD_AHEAD];
};

/**
 * struct coll_board_part - the part of a rank
 * @words: its words
 * @hidden_done: the same as @done, stored by the kernel only, which executes all operations with
 *	payload in @hidden [a]
 * @shown: payload of COLL_BOARD_SHOWN: COLL_BOARD_PAGES of COLL_BOARD_PUBLISHED bytes, by number of
 *	the operation; NULL until the rank has any [a]
 * @hidden: the same of COLL_BOARD_HIDDEN [a]
 */
struct coll_board_part {
	struct coll_board_words *words;
	u64 hidden_done;
	u8 *shown;
	u8 *hidden;
};

/**
 * struct coll_board - the board as one rank sees it
 * @rank: this rank
 * @nranks: number of ranks, 2 to COLL_BOARD_RANKS
 * @part: parts by rank, which the ranks share
 * @generation: number that ranks with the same parts have, and others hardly
 * @sleepers: ranks that sleep until slots or space are there; of the group [a]
 * @impatient: those of them that need not wait for all ranks; of the group, for kernels [a]
 * @least: number of operations of which no rank reads anything any more, but for hidden pages [0],
 *	or in these [1], when it was looked at last
 * @done: what this rank's @done holds
 * @hidden_seq: what the hidden pages of this rank's part hold: number of the operation plus 1
 */
struct coll_board {
	u32 rank;
	u32 nranks;
	struct coll_board_part **part;
	u64 generation;
	u64 *sleepers;
	u64 *impatient;
	u64 least[2];
	u64 done;
	u64 hidden_seq[COLL_BOARD_PAGES];
};

/* What a scan finds. */
enum coll_board_found {
	COLL_BOARD_COMPLETE,	/* all ranks that are needed have published the same call */
	COLL_BOARD_MISSING,	/* one of these has not published yet */
	COLL_BOARD_DIFFERS,	/* a rank has published another call */
	COLL_BOARD_PASSED,	/* a rank has given the operation up, or breaks the protocol */
};

/**
 * struct coll_board_out - where a result goes
 * @mem: memory of the result
 * @off: offset of the result in it; bytes
 * @input: memory of the input, which has been published and may be overwritten
 * @input_off: offset of the input in it; bytes
 * @impl: functions that copy and reduce
 * @part: memory of COLL_REDUCE_PART bytes, for reductions
 * @stats: counts what is moved
 */
struct coll_board_out {
	const struct coll_mem *mem;
	u64 off;
	const struct coll_mem *input;
	u64 input_off;
	const struct coll_reduce_impl *impl;
	void *part;
	struct coll_fuse_stats *stats;
};

bool coll_board_reserve(struct coll_board *board, u64 instance, enum coll_board_place place);
u32 coll_board_slowest(const struct coll_board *board);
void *coll_board_payload(const struct coll_board *board, u32 rank, u64 instance,
			 enum coll_board_place place);
void coll_board_publish(struct coll_board *board, u64 instance, u64 digest,
			enum coll_board_place place);
void coll_board_publish_call(struct coll_board *board, const struct coll_plan *plan, u64 instance,
			     const struct coll_signature *signature, u64 digest);
enum coll_board_found coll_board_scan(const struct coll_board *board, u64 instance, u64 digest,
				      u64 needs, u32 *rank);
bool coll_board_has(const struct coll_board *board, u32 rank, u64 instance);
void coll_board_take(const struct coll_board *board, const struct coll_plan *plan, u64 instance,
		     const struct coll_board_out *out);
bool coll_board_finish(struct coll_board *board, u64 instance);

u64 coll_board_finished_by_all(const struct coll_board *board);
bool coll_board_is_ahead(const struct coll_board *board, u64 instance);
bool coll_board_ahead_call(const struct coll_board *board, u32 rank, u64 instance,
			   struct coll_signature *signature);

void coll_board_sleep(const struct coll_board *board, u64 needs);
void coll_board_wake_up(const struct coll_board *board);
u64 coll_board_sleepers(const struct coll_board *board);
bool coll_board_wakes(const struct coll_board *board);

#endif /* COLL_BOARD_H */
