// SPDX-License-Identifier: GPL-2.0-only
/* The protocol of the board: see board.h. */
#include "core/board/board.h"

static struct coll_board_slot *slot_of(const struct coll_board *board, u32 rank, u64 instance)
{
	return &board->part[rank].words->slot[instance % COLL_BOARD_SLOTS];
}

/* Number of operations of which no rank reads anything any more. */
static u64 least_done(const struct coll_board *board)
{
	u64 least = U64_MAX;
	u32 rank;

	for (rank = 0; rank < board->nranks; rank++) {
		/* What other ranks have read before they stored it: pairs with finish(). */
		const u64 done = smp_load_acquire(&board->part[rank].words->done);

		least = min(least, done);
	}
	return least;
}

/**
 * coll_board_reserve() - may this rank store to the slot, and the page, of an operation?
 * @board: the board
 * @instance: number of the operation
 * @len: bytes of payload
 *
 * A rank may still read what the slot holds of an earlier operation.  The least of all @done is
 * looked at only if what is known of it does not suffice.
 *
 * Return: false if a rank is too far behind.
 */
bool coll_board_reserve(struct coll_board *board, u64 instance, size_t len)
{
	u64 holds = slot_of(board, board->rank, instance)->seq;

	if (len > COLL_BOARD_INLINE)
		holds = max(holds, board->page_seq[instance % COLL_BOARD_PAGES]);
	if (holds <= board->least)
		return true;
	board->least = least_done(board);
	return holds <= board->least;
}

/**
 * coll_board_payload() - where the payload of a rank is
 * @board: the board
 * @rank: the rank
 * @instance: number of the operation
 * @len: bytes that the rank publishes
 */
void *coll_board_payload(const struct coll_board *board, u32 rank, u64 instance, size_t len)
{
	if (len > COLL_BOARD_INLINE)
		return board->part[rank].page[instance % COLL_BOARD_PAGES];
	return slot_of(board, rank, instance)->bytes;
}

/**
 * coll_board_publish() - let the others see this rank's call and its payload
 * @board: coll_board_reserve() has returned true, and the payload is in its place
 * @instance: number of the operation
 * @digest: of the call
 * @len: bytes of payload
 */
void coll_board_publish(struct coll_board *board, u64 instance, u64 digest, size_t len)
{
	struct coll_board_slot *slot = slot_of(board, board->rank, instance);

	if (len > COLL_BOARD_INLINE)
		board->page_seq[instance % COLL_BOARD_PAGES] = instance + 1;
	WRITE_ONCE(slot->digest, digest);
	/* The payload before @seq: pairs with coll_board_scan(). */
	smp_store_release(&slot->seq, instance + 1);
}

/**
 * coll_board_scan() - have all ranks published the operation?
 * @board: the board
 * @instance: number of the operation, which this rank has published
 * @digest: of the call
 * @rank: rank to begin with; afterwards the one that the result is about
 *
 * Until @rank is reset, ranks below it are not looked at again.
 *
 * Return: what was found at the first rank that is not as it should be.
 */
enum coll_board_found coll_board_scan(const struct coll_board *board, u64 instance, u64 digest,
				      u32 *rank)
{
	for (; *rank < board->nranks; ++*rank) {
		const struct coll_board_slot *slot = slot_of(board, *rank, instance);
		/* Before the payload and @digest: pairs with coll_board_publish(). */
		const u64 seq = smp_load_acquire(&slot->seq);

		if (seq < instance + 1)
			return COLL_BOARD_MISSING;
		if (seq > instance + 1)
			return COLL_BOARD_PASSED;
		if (READ_ONCE(slot->digest) != digest)
			return COLL_BOARD_DIFFERS;
	}
	return COLL_BOARD_COMPLETE;
}

/**
 * coll_board_finish() - say that this rank reads nothing of an operation any more
 * @board: the board
 * @instance: number of the operation: each one that was published, in their order, whether it was
 *	complete or was given up
 *
 * Return: true if ranks may sleep: see coll_board_sleepers().
 */
bool coll_board_finish(struct coll_board *board, u64 instance)
{
	/* What was read before @done: pairs with least_done(). */
	smp_store_release(&board->part[board->rank].words->done, instance + 1);
	/*
	 * @seq and @done before @sleepers: pairs with coll_board_sleep().  A rank that sleeps
	 * before this barrier is seen, and one that is about to sleep after it finds both.  The
	 * rank that has published last finds all slots, so that it comes here.
	 */
	smp_mb();
	return READ_ONCE(*board->sleepers);
}

/**
 * coll_board_sleep() - announce that this rank sleeps
 * @board: the board
 *
 * The caller looks again at what it waits for, and sleeps only then.
 */
void coll_board_sleep(const struct coll_board *board)
{
	/* @sleepers before that look: pairs with coll_board_finish(). */
	coll_set_bits(board->sleepers, BIT_ULL(board->rank));
}

/**
 * coll_board_wake_up() - take the announcement back
 * @board: the board
 */
void coll_board_wake_up(const struct coll_board *board)
{
	coll_clear_bits(board->sleepers, BIT_ULL(board->rank));
}

/**
 * coll_board_sleepers() - take some of the ranks that sleep, to wake them
 * @board: the board
 * @most: most ranks; those that are woken take others
 *
 * Return: a set of ranks, which no other rank wakes.
 */
u64 coll_board_sleepers(const struct coll_board *board, u32 most)
{
	u64 left = READ_ONCE(*board->sleepers), some = 0;

	for (; left && most; most--) {
		some |= left & -left;
		left &= left - 1;
	}
	return some & coll_clear_bits(board->sleepers, some);
}
