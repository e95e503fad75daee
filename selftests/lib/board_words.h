/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The board as a process maps it, version 1, written down again: a rank of a test executes
 * operations here without the library.
 */
#ifndef COLL_BOARD_WORDS_H
#define COLL_BOARD_WORDS_H

#include <assert.h>
#include <errno.h>
#include <linux/collective.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/group.h"

#define BOARD_PAGE	4096UL
#define BOARD_SLOTS	16
#define BOARD_PART	(3 * BOARD_PAGE)

enum { ORDER_FREE, ORDER_PROCESS, ORDER_KERNEL };

struct board_slot {
	__u64 seq, digest;
	__s64 value[6];
};

struct board_words {
	__u64 done, line0[15];
	struct board_slot slot[BOARD_SLOTS];
	__u64 order, calls[16], latest, line1[14];
	__u64 attention, generation;
};

static_assert(offsetof(struct board_words, attention) % 128 == 0, "lines of 128 bytes");

struct board {
	int fd;
	unsigned int rank, nranks;
	const struct collective_board *head;
	struct board_words *own;
};

static inline void *board_mmap(int fd, size_t size, int access, __u64 offset)
{
	void *at = mmap(NULL, size, access, MAP_SHARED, fd, offset);

	return at == MAP_FAILED ? NULL : at;
}

static inline bool board_open(struct board *board, int fd, unsigned int rank, unsigned int nranks)
{
	*board = (struct board){ .fd = fd, .rank = rank, .nranks = nranks };
	board->head = board_mmap(fd, BOARD_PAGE + nranks * BOARD_PART, PROT_READ,
				 COLLECTIVE_MMAP_BOARD);
	board->own = board_mmap(fd, BOARD_PART, PROT_READ | PROT_WRITE, COLLECTIVE_MMAP_BOARD_OWN);
	return board->head && board->own;
}

static inline const struct board_words *board_of(const struct board *board, unsigned int rank)
{
	return (void *)((char *)board->head + board->head->first + rank * board->head->part);
}

/* One of the two pages of longer payload of a rank, as others see it. */
static inline const char *board_page(const struct board *board, unsigned int rank,
				     unsigned int index)
{
	return (char *)board_of(board, rank) + board->head->payload + index * BOARD_PAGE;
}

static inline __u64 board_load(const __u64 *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline bool board_exchange(__u64 *word, __u64 old, __u64 new)
{
	return __atomic_compare_exchange_n(word, &old, new, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

static inline int board_wake(const struct board *board)
{
	struct collective_wake wake = { .size = sizeof(wake) };

	return member_ioctl(board->fd, COLLECTIVE_IOC_WAKE, &wake);
}

/* Begin an operation.  Return: its number, or -1 if the kernel is to execute it. */
static inline long long board_take(struct board *board)
{
	__u64 word = board_load(&board->own->order);

	if (board_load(&board->own->attention) || (word & 3) != ORDER_FREE ||
	    !board_exchange(&board->own->order, word, ((word >> 2) + 1) << 2 | ORDER_PROCESS))
		return -1;
	return word >> 2;
}

/* Have all ranks read what the slot holds?  @digest is without the generation. */
static inline void board_publish(struct board *board, __u64 p, __u64 digest, __s64 value)
{
	struct board_slot *slot = &board->own->slot[p % BOARD_SLOTS];
	unsigned int rank;

	for (rank = 0; rank < board->nranks; rank++)
		while (board_load(&board_of(board, rank)->done) < slot->seq)
			;
	slot->value[0] = value;
	slot->digest = digest + board->own->generation;
	__atomic_store_n(&slot->seq, p + 1, __ATOMIC_RELEASE);
}

static inline bool board_complete(const struct board *board, __u64 p)
{
	unsigned int rank;

	for (rank = 0; rank < board->nranks; rank++)
		if (board_load(&board_of(board, rank)->slot[p % BOARD_SLOTS].seq) != p + 1)
			return false;
	return true;
}

static inline __s64 board_sum(const struct board *board, __u64 p)
{
	unsigned int rank;
	__s64 sum = 0;

	for (rank = 0; rank < board->nranks; rank++)
		sum += board_of(board, rank)->slot[p % BOARD_SLOTS].value[0];
	return sum;
}

static inline int board_finish(struct board *board, __u64 p)
{
	bool wake;

	board->own->calls[COLLECTIVE_ALLREDUCE]++;
	board->own->latest = COLLECTIVE_ALLREDUCE;
	__atomic_store_n(&board->own->done, p + 1, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	wake = board_load(&board->head->sleepers);
	board_exchange(&board->own->order, (p + 1) << 2 | ORDER_PROCESS, (p + 1) << 2 | ORDER_FREE);
	return wake || board_load(&board->own->attention) ? board_wake(board) : 0;
}

static inline struct collective_op board_op(const __s64 *value, __s64 *sum)
{
	return (struct collective_op){
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_INT64,
		.send = (uintptr_t)value,
		.recv = (uintptr_t)sum,
		.count = 1,
	};
}

static inline struct collective_submit board_submit(__u64 p, const struct collective_op *op)
{
	return (struct collective_submit){
		.size = sizeof(struct collective_submit),
		.flags = COLLECTIVE_SUBMIT_BOARD,
		.op = *op,
		.received = p,
	};
}

/* Hand an operation over. */
static inline int board_hand_over(const struct board *board, __u64 p,
				  const struct collective_op *op)
{
	struct collective_submit submit = board_submit(p, op);

	return member_ioctl(board->fd, COLLECTIVE_IOC_SUBMIT, &submit);
}

/* The digest of board_op(), from a slot of an operation that the kernel has published. */
static inline __u64 board_digest(const struct board *board, __u64 p)
{
	return board->own->slot[p % BOARD_SLOTS].digest - board->own->generation;
}

#endif /* COLL_BOARD_WORDS_H */
