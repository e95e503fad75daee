/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * The order of a rank's operations, of which the process executes some itself, and the kernel all
 * others.
 *
 * A process that has mapped the board executes small operations without a system call.  All other
 * operations get their numbers in the kernel.  One word has the number of operations without a key
 * that the rank has called, and the owner of the board, which executes the latest one there:
 *
 *	FREE	none: all operations are over there
 *	PROCESS	a thread of the process
 *	KERNEL	requests
 *
 *	coll_order_take()	the process	FREE -> PROCESS, one more
 *	coll_order_release()	the process	PROCESS -> FREE
 *	coll_order_admit()	the kernel	FREE or KERNEL -> KERNEL, or as it is, one more
 *	coll_order_begin()	the kernel	FREE -> PROCESS, one more, for a thread of its own
 *	coll_order_complete()	the kernel	PROCESS -> FREE, of such a thread
 *	coll_order_resume()	the kernel	PROCESS -> KERNEL, with the same number
 *	coll_order_end()	the kernel	KERNEL or PROCESS -> FREE
 *	coll_order_cancel()	the kernel	PROCESS -> FREE, one less
 *
 * So while a thread of the process is at an operation, no other one begins.  The kernel asks it for
 * attention, and waits.  The process may store anything in the word: the kernel looks at each
 * value, and the numbers only rise.
 */
#ifndef COLL_BOARD_ORDER_H
#define COLL_BOARD_ORDER_H

#include "core/board/board.h"

enum coll_order_owner {
	COLL_ORDER_FREE,
	COLL_ORDER_PROCESS,
	COLL_ORDER_KERNEL,
	COLL_ORDER_OWNERS
};

/* What the kernel finds in the word. */
enum coll_order_found {
	COLL_ORDER_READY,	/* the kernel has done what it wanted */
	COLL_ORDER_BUSY,	/* the process is at an operation, or was since @least */
	COLL_ORDER_BROKEN,	/* the process has stored what it must not */
};

/* Operations of a group, more than there ever are. */
#define COLL_ORDER_MAX		(1ULL << 48)

static inline u64 coll_order_word(u64 count, enum coll_order_owner owner)
{
	return count << 2 | owner;
}

static inline u64 coll_order_count(u64 word)
{
	return word >> 2;
}

static inline enum coll_order_owner coll_order_owner(u64 word)
{
	return word & 3;
}

/* The process */
bool coll_order_take(struct coll_board_words *words, u64 *instance);
bool coll_order_release(struct coll_board_words *words, u64 instance);

/* The kernel */
bool coll_order_read(const struct coll_board_words *words, u64 least, u64 *word);
enum coll_order_found coll_order_admit(struct coll_board_words *words, u64 least, bool board,
				       u64 *instance);
enum coll_order_found coll_order_resume(struct coll_board_words *words, u64 least, u64 instance);
bool coll_order_begin(struct coll_board_words *words, u64 instance);
bool coll_order_complete(struct coll_board_words *words, u64 instance);
void coll_order_end(struct coll_board_words *words, enum coll_order_owner owner);
void coll_order_cancel(struct coll_board_words *words, u64 instance);

#endif /* COLL_BOARD_ORDER_H */
