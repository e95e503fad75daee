/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An allgather by put, fence and get, which is what the PMI interfaces offer. */
#ifndef COLL_EXCHANGE_KVS_H
#define COLL_EXCHANGE_KVS_H

#include <stddef.h>
#include <stdint.h>

#include "error/detail.h"

#define KVS_KEY_SIZE	48	/* of a key, with NUL */
#define KVS_VALUE_MAX	1024	/* of a value, with NUL, that is put at most */

/**
 * struct kvs - key-value store of a launcher, as one rank sees it
 * @rank: rank of this process
 * @nranks: number of ranks
 * @value_max: maximum length of a value, with NUL
 * @deadline: end of all waits (comm/deadline.h)
 * @detail: text of a failure
 * @state: private to the functions below
 *
 * The functions return 0 or a negative errno, with a text in @detail.
 */
struct kvs {
	int rank;
	int nranks;
	size_t value_max;
	uint64_t deadline;
	struct coll_detail *detail;
	void *state;
	int (*put)(struct kvs *kvs, const char *key, const char *value);
	/* Wait for all ranks, and make their values available. */
	int (*fence)(struct kvs *kvs);
	/* Get a value of @rank into @size bytes. */
	int (*get)(struct kvs *kvs, int rank, const char *key, char *value, size_t size);
};

/**
 * kvs_gather - copy @size bytes at @mine of every rank to @all
 * @generation: number of this gather, the same on all ranks and never used before
 *
 * Return: 0, -EPROTO: a value is not what a rank has put; or another negative errno.
 */
int kvs_gather(struct kvs *kvs, unsigned int generation, const void *mine, size_t size, void *all);

/* Write the key of a piece of what @rank gives. */
void kvs_name(char key[KVS_KEY_SIZE], unsigned int generation, int rank, size_t piece);

#endif /* COLL_EXCHANGE_KVS_H */
