// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/* The order of a rank's operations: see order.h. */
#include "core/board/order.h"

/* Exchanges that fail, because the process stores all the time, before the kernel gives up. */
#define EXCHANGES	64

/**
 * coll_order_take() - begin an operation in the process
 * @words: of the rank
 * @instance: out: its number
 *
 * Return: false if the kernel is to execute it, or another thread is at an operation.
 */
bool coll_order_take(struct coll_board_words *words, u64 *instance)
{
	const u64 word = READ_ONCE(words->order);
	const u64 count = coll_order_count(word);

	if (coll_order_owner(word) != COLL_ORDER_FREE)
		return false;
	*instance = count;
	return coll_replace(&words->order, word, coll_order_word(count + 1, COLL_ORDER_PROCESS));
}

/**
 * coll_order_release() - end an operation in the process
 * @words: of the rank
 * @instance: its number
 *
 * Return: true if the kernel waits for that.
 */
bool coll_order_release(struct coll_board_words *words, u64 instance)
{
	coll_order_complete(words, instance);
	/*
	 * The word before @attention: pairs with the kernel, which sets that before it looks at the
	 * word.  The exchange of a process is no barrier everywhere.
	 */
	smp_mb();
	return READ_ONCE(words->attention);
}

/**
 * coll_order_read() - the word, if it can be that of a process which does as it must
 * @words: of the rank
 * @least: number of operations of this rank that are known
 * @word: out
 *
 * Return: false if the process has stored what it must not.
 */
bool coll_order_read(const struct coll_board_words *words, u64 least, u64 *word)
{
	enum coll_order_owner owner;
	u64 count;

	*word = READ_ONCE(words->order);
	owner = coll_order_owner(*word);
	count = coll_order_count(*word);
	return owner < COLL_ORDER_OWNERS && count < COLL_ORDER_MAX &&
	       count >= least + (owner == COLL_ORDER_PROCESS);
}

/**
 * coll_order_admit() - give an operation of the kernel its number
 * @words: of the rank
 * @least: see coll_order_read()
 * @board: is the operation one of the board?
 * @instance: out: the number, if the result is COLL_ORDER_READY
 */
enum coll_order_found coll_order_admit(struct coll_board_words *words, u64 least, bool board,
				       u64 *instance)
{
	enum coll_order_owner owner;
	u32 exchanges;
	u64 word;

	for (exchanges = 0; exchanges < EXCHANGES; exchanges++) {
		if (!coll_order_read(words, least, &word))
			return COLL_ORDER_BROKEN;
		owner = coll_order_owner(word);
		if (owner == COLL_ORDER_PROCESS || coll_order_count(word) != least)
			return COLL_ORDER_BUSY;
		*instance = least;
		if (coll_replace(&words->order, word,
				 coll_order_word(*instance + 1,
						 board ? COLL_ORDER_KERNEL : owner)))
			return COLL_ORDER_READY;
	}
	return COLL_ORDER_BROKEN;
}

/**
 * coll_order_begin() - begin an operation in a thread of the kernel
 * @words: of the rank
 * @instance: its number, which is the kernel's: the process's word is only compared with it
 *
 * Return: false if the board has an owner, or the process stores what it must not.
 */
bool coll_order_begin(struct coll_board_words *words, u64 instance)
{
	return coll_replace(&words->order, coll_order_word(instance, COLL_ORDER_FREE),
			    coll_order_word(instance + 1, COLL_ORDER_PROCESS));
}

/**
 * coll_order_complete() - end it
 * @words: of the rank
 * @instance: its number
 *
 * Return: false if the process has stored what it must not.
 */
bool coll_order_complete(struct coll_board_words *words, u64 instance)
{
	return coll_replace(&words->order, coll_order_word(instance + 1, COLL_ORDER_PROCESS),
			    coll_order_word(instance + 1, COLL_ORDER_FREE));
}

/**
 * coll_order_resume() - have the kernel go on with an operation of the process
 * @words: of the rank
 * @least: see coll_order_read()
 * @instance: number of the operation
 *
 * Return: COLL_ORDER_READY, or COLL_ORDER_BROKEN if the process is at no such operation.
 */
enum coll_order_found coll_order_resume(struct coll_board_words *words, u64 least, u64 instance)
{
	return instance >= least && instance + 1 < COLL_ORDER_MAX &&
	       coll_replace(&words->order, coll_order_word(instance + 1, COLL_ORDER_PROCESS),
			    coll_order_word(instance + 1, COLL_ORDER_KERNEL)) ?
	       COLL_ORDER_READY : COLL_ORDER_BROKEN;
}

/**
 * coll_order_end() - the latest operation on the board is over
 * @words: of the rank
 * @owner: whose it was, COLL_ORDER_KERNEL or COLL_ORDER_PROCESS
 *
 * If the board has another owner now, that stays so.
 */
void coll_order_end(struct coll_board_words *words, enum coll_order_owner owner)
{
	const u64 word = READ_ONCE(words->order);

	/* The process may store at the same time, and then does what it must not. */
	if (coll_order_owner(word) == owner)
		coll_replace(&words->order, word,
			     coll_order_word(coll_order_count(word), COLL_ORDER_FREE));
}

/**
 * coll_order_cancel() - an operation that the process has begun has no place in the order
 * @words: of the rank
 * @instance: its number; no other rank has seen anything of it
 */
void coll_order_cancel(struct coll_board_words *words, u64 instance)
{
	coll_replace(&words->order, coll_order_word(instance + 1, COLL_ORDER_PROCESS),
		     coll_order_word(instance, COLL_ORDER_FREE));
}
