/* SPDX-License-Identifier: GPL-2.0-only */
/* Rings of io_uring for tests, and values that are summed. */
#ifndef COLL_URING_H
#define COLL_URING_H

#include <liburing.h>
#include <linux/types.h>
#include <stddef.h>

/* Elements of a large operation: several pages, not eager. */
#define LARGE	40000

/* Set up a ring with SQEs of 128 bytes. Return: 0 or a positive errno. */
int ring_open(struct io_uring *ring, unsigned int flags);
/* Return: a free SQE; submits those before it if there is none. */
struct io_uring_sqe *next_sqe(struct io_uring *ring);
/* Return: the result of the next completion, or -ETIMEDOUT; *@data: its user_data. */
int ring_wait(struct io_uring *ring, __u64 *data);

/* Make the input of a rank in a round; check the sum of all ranks. Return: 0, or 1 if wrong. */
void values_make(__u32 *to, size_t count, __u32 rank, __u32 round);
int values_summed(const __u32 *from, size_t count, __u32 nranks, __u32 round);

#endif /* COLL_URING_H */
