// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/* The protocol of the board: see board.h. */
#include "core/board/board.h"

static struct coll_board_slot *slot_of(const struct coll_board *board, u32 rank, u64 instance)
{
	return &board->part[rank]->words->slot[instance % COLL_BOARD_SLOTS];
}

static struct coll_board_call *ahead_of(const struct coll_board *board, u32 rank, u64 instance)
{
	return &board->part[rank]->words->ahead[instance % COLL_BOARD_AHEAD];
}

/* What a rank has read was before it stored this: pairs with coll_board_finish(). */
static u64 done_of(const struct coll_board_part *part, bool hidden)
{
	const u64 *done = hidden ? &part->hidden_done : &part->words->done;

	/* Before what is stored in its place. */
	return smp_load_acquire(done);
}

/* Number of operations of which no rank reads hidden pages any more, or all else. */
static u64 least_done(const struct coll_board *board, bool hidden)
{
	u64 least = U64_MAX;
	u32 rank;

	for (rank = 0; rank < board->nranks; rank++)
		least = min(least, done_of(board->part[rank], hidden));
	return least;
}

/* Has every rank read what a place holds?  They are looked at only if that is not known. */
static bool is_free(struct coll_board *board, u64 holds, bool hidden)
{
	if (holds > board->least[hidden])
		board->least[hidden] = least_done(board, hidden);
	return holds <= board->least[hidden];
}

/*
 * The latest operation of this rank on the board that may have its payload in the same shown page.
 * The process and its kernel both store there, and only slots tell either what the other has done.
 */
static u64 latest_shown(const struct coll_board *board, u64 instance)
{
	u64 latest = 0;
	u32 i;

	for (i = instance % COLL_BOARD_PAGES; i < COLL_BOARD_SLOTS; i += COLL_BOARD_PAGES)
		latest = max(latest, READ_ONCE(slot_of(board, board->rank, i)->seq));
	return latest;
}

/* Number of the latest operation whose payload may be in the same place, plus 1. */
static u64 held(const struct coll_board *board, u64 instance, enum coll_board_place place)
{
	switch (place) {
	case COLL_BOARD_HIDDEN:
		return board->hidden_seq[instance % COLL_BOARD_PAGES];
	case COLL_BOARD_SHOWN:
		return latest_shown(board, instance);
	case COLL_BOARD_SLOT:
		break;
	}
	return 0;
}

/**
 * coll_board_reserve() - may this rank store to the slot, and to the place of the payload, of an
 *	operation?
 * @board: the board
 * @instance: number of the operation
 * @place: of its payload
 *
 * A rank may still read what they hold of an earlier operation.  Processes can store to @done, but
 * not to @hidden_done, by which no rank sees what it must not.
 *
 * Return: false if a rank is too far behind.
 */
bool coll_board_reserve(struct coll_board *board, u64 instance, enum coll_board_place place)
{
	const u64 slot = READ_ONCE(slot_of(board, board->rank, instance)->seq);

	return is_free(board, slot, false) &&
	       is_free(board, held(board, instance, place), place == COLL_BOARD_HIDDEN);
}

/**
 * coll_board_slowest() - the other rank that is furthest behind
 * @board: the board, on which coll_board_reserve() has returned false
 */
u32 coll_board_slowest(const struct coll_board *board)
{
	u32 rank, slowest = board->nranks;
	u64 least = 0;

	for (rank = 0; rank < board->nranks; rank++) {
		const u64 done = READ_ONCE(board->part[rank]->words->done);

		if (rank != board->rank && (slowest == board->nranks || done < least)) {
			least = done;
			slowest = rank;
		}
	}
	return slowest;
}

/**
 * coll_board_payload() - where the payload of a rank is
 * @board: the board
 * @rank: the rank
 * @instance: number of the operation
 * @place: coll_board_place()
 */
void *coll_board_payload(const struct coll_board *board, u32 rank, u64 instance,
			 enum coll_board_place place)
{
	/* Of a rank without pages whose digest is the same by chance, or by intent. */
	static u8 none[COLL_BOARD_PUBLISHED];
	const struct coll_board_part *part = board->part[rank];
	u8 *pages = place == COLL_BOARD_SHOWN ? part->shown : part->hidden;

	if (place == COLL_BOARD_SLOT)
		return slot_of(board, rank, instance)->bytes;
	return pages ? pages + instance % COLL_BOARD_PAGES * COLL_BOARD_PUBLISHED : none;
}

/**
 * coll_board_publish() - let the others see this rank's call and its payload
 * @board: coll_board_reserve() has returned true, and the payload is in its place
 * @instance: number of the operation
 * @digest: of the call
 * @place: of the payload
 */
void coll_board_publish(struct coll_board *board, u64 instance, u64 digest,
			enum coll_board_place place)
{
	struct coll_board_slot *slot = slot_of(board, board->rank, instance);

	if (place == COLL_BOARD_HIDDEN)
		board->hidden_seq[instance % COLL_BOARD_PAGES] = instance + 1;
	WRITE_ONCE(slot->digest, digest + board->generation);
	/* The payload before @seq: pairs with coll_board_scan(). */
	smp_store_release(&slot->seq, instance + 1);
}

/* Others may read the words meanwhile: while they change, no number is there. */
static void keep_call(struct coll_board_call *call, u64 instance,
		      const struct coll_signature *signature)
{
	u64 words[COLL_SIGNATURE_WORDS];
	u32 i;

	coll_signature_pack(signature, words);
	WRITE_ONCE(call->seq, 0);
	/* Before the words: pairs with coll_board_ahead_call(). */
	smp_wmb();
	for (i = 0; i < COLL_SIGNATURE_WORDS; i++)
		WRITE_ONCE(call->words[i], words[i]);
	/* After the words: pairs with coll_board_ahead_call(). */
	smp_store_release(&call->seq, instance + 1);
}

/**
 * coll_board_publish_call() - coll_board_publish(), and keep the call if others may come later
 * @board: as there
 * @plan: the operation
 * @instance: its number
 * @signature: the call
 * @digest: of @signature
 */
void coll_board_publish_call(struct coll_board *board, const struct coll_plan *plan, u64 instance,
			     const struct coll_signature *signature, u64 digest)
{
	const enum coll_board_place place = coll_board_place(plan, plan->rank);

	if (coll_board_needs(plan) == COLL_BOARD_ALL) {
		coll_board_publish(board, instance, digest, place);
		return;
	}
	keep_call(ahead_of(board, board->rank, instance), instance, signature);
	coll_board_publish(board, instance, digest, place);
	/*
	 * The own slot before the others': of two ranks that do not wait for each other, at least
	 * one finds the other's call.
	 */
	smp_mb();
}

/**
 * coll_board_ahead_call() - the call of a rank that may have left an operation
 * @board: the board
 * @rank: the rank
 * @instance: number of the operation
 * @signature: out: its call, if it is kept; the process of the rank may have stored anything there
 *
 * Return: false if it is not kept, or not valid.
 */
bool coll_board_ahead_call(const struct coll_board *board, u32 rank, u64 instance,
			   struct coll_signature *signature)
{
	const struct coll_board_call *call = ahead_of(board, rank, instance);
	u64 words[COLL_SIGNATURE_WORDS];
	u32 i;

	/* Before the words: pairs with keep_call(). */
	if (smp_load_acquire(&call->seq) != instance + 1)
		return false;
	for (i = 0; i < COLL_SIGNATURE_WORDS; i++)
		words[i] = READ_ONCE(call->words[i]);
	/* After the words: pairs with keep_call(). */
	smp_rmb();
	if (READ_ONCE(call->seq) != instance + 1)
		return false;
	coll_signature_unpack(words, signature);
	return coll_signature_valid(signature);
}

/**
 * coll_board_is_ahead() - may this rank have completed an operation, or a later one, before others?
 * @board: the board
 * @instance: number of the operation
 *
 * Return: false if it keeps no call from @instance on.
 */
bool coll_board_is_ahead(const struct coll_board *board, u64 instance)
{
	u32 i;

	for (i = 0; i < COLL_BOARD_AHEAD; i++)
		if (READ_ONCE(ahead_of(board, board->rank, i)->seq) > instance)
			return true;
	return false;
}

/**
 * coll_board_finished_by_all() - number of operations that all ranks have finished on the board
 * @board: the board
 */
u64 coll_board_finished_by_all(const struct coll_board *board)
{
	return least_done(board, false);
}

/**
 * coll_board_scan() - have all ranks that are needed published the operation?
 * @board: the board
 * @instance: number of the operation, which this rank has published
 * @digest: of the call
 * @needs: coll_board_needs()
 * @rank: rank to begin with; afterwards the one that the result is about
 *
 * The calls of the other ranks are compared if they are there.
 *
 * The own slot is not looked at: the process of the rank may have stored anything there meanwhile.
 * Until @rank is reset, ranks below it are not looked at again.
 *
 * Return: what was found at the first rank that is not as it should be.
 */
enum coll_board_found coll_board_scan(const struct coll_board *board, u64 instance, u64 digest,
				      u64 needs, u32 *rank)
{
	for (; *rank < board->nranks; ++*rank) {
		const struct coll_board_slot *slot = slot_of(board, *rank, instance);
		u64 seq;

		if (*rank == board->rank)
			continue;
		/* Before the payload and @digest: pairs with coll_board_publish(). */
		seq = smp_load_acquire(&slot->seq);
		if (seq != instance + 1 && !(needs & BIT_ULL(*rank)))
			continue;
		if (seq < instance + 1)
			return COLL_BOARD_MISSING;
		if (seq > instance + 1)
			return COLL_BOARD_PASSED;
		if (READ_ONCE(slot->digest) != digest + board->generation)
			return COLL_BOARD_DIFFERS;
	}
	return COLL_BOARD_COMPLETE;
}

/**
 * coll_board_has() - has a rank published an operation, and no later one in its slot?
 * @board: the board
 * @rank: the rank
 * @instance: number of the operation
 */
bool coll_board_has(const struct coll_board *board, u32 rank, u64 instance)
{
	return READ_ONCE(slot_of(board, rank, instance)->seq) == instance + 1;
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
	struct coll_board_part *part = board->part[board->rank];

	board->done = instance + 1;
	/* What was read before both: pairs with done_of(). */
	smp_store_release(&part->hidden_done, instance + 1);
	/* Likewise. */
	smp_store_release(&part->words->done, instance + 1);
	/*
	 * @seq and @done before @sleepers: pairs with coll_board_sleep().  A rank that sleeps
	 * before this barrier is seen, and one that is about to sleep after it finds both.  The
	 * rank that has published last finds all slots, so that it comes here.  Ranks that need
	 * not wait for it are woken earlier: coll_board_wakes().
	 */
	smp_mb();
	return READ_ONCE(*board->sleepers);
}

/**
 * coll_board_sleep() - announce that this rank sleeps
 * @board: the board
 * @needs: coll_board_needs() of the operation that it waits for
 *
 * The caller looks again at what it waits for, and sleeps only then.
 */
void coll_board_sleep(const struct coll_board *board, u64 needs)
{
	if (needs != COLL_BOARD_ALL)
		coll_set_bits(board->impatient, BIT_ULL(board->rank));
	/* Both before that look: pairs with coll_board_finish() and coll_board_wakes(). */
	coll_set_bits(board->sleepers, BIT_ULL(board->rank));
}

/**
 * coll_board_wakes() - must ranks be woken by what this one has published?
 * @board: the board
 *
 * A rank that waits for all is woken by the last one, which finishes: coll_board_finish().  One
 * that need not would sleep until this rank finishes, which may wait for others.
 *
 * Return: true if ranks may sleep: see coll_board_sleepers().
 */
bool coll_board_wakes(const struct coll_board *board)
{
	/* @seq before @impatient: pairs with coll_board_sleep(). */
	smp_mb();
	return READ_ONCE(*board->impatient) & ~BIT_ULL(board->rank);
}

/**
 * coll_board_wake_up() - take the announcement back
 * @board: the board
 */
void coll_board_wake_up(const struct coll_board *board)
{
	if (READ_ONCE(*board->impatient) & BIT_ULL(board->rank))
		coll_clear_bits(board->impatient, BIT_ULL(board->rank));
	if (READ_ONCE(*board->sleepers) & BIT_ULL(board->rank))
		coll_clear_bits(board->sleepers, BIT_ULL(board->rank));
}

/**
 * coll_board_sleepers() - take the ranks that sleep, to wake them
 * @board: the board
 *
 * All of them: they may wait for different operations, or for space, so that one that is woken may
 * have nothing to pass on.
 *
 * Return: a set of ranks, which no other rank wakes.
 */
u64 coll_board_sleepers(const struct coll_board *board)
{
	const u64 all = READ_ONCE(*board->sleepers);

	return all & coll_clear_bits(board->sleepers, all);
}
