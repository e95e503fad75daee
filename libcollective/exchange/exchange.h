/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Exchanges: allgathers by which the ranks of a group learn each other's addresses. */
#ifndef COLL_EXCHANGE_H
#define COLL_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>

#include "collective.h"
#include "error/detail.h"

/**
 * struct exchange - allgather between all ranks of a group
 * @gather: copy @size bytes at @mine of every rank to @all, in the order of ranks, until @deadline
 *	(comm/deadline.h); return 0, or a negative errno with a text in @detail
 * @context: argument of a callback of the caller's
 * @callback: callback of the caller's (struct coll_config)
 * @rank: rank of this process
 * @nranks: number of ranks
 */
struct exchange {
	int (*gather)(const struct exchange *exchange, const void *mine, size_t size, void *all,
		      uint64_t deadline, struct coll_detail *detail);
	void *context;
	int (*callback)(void *context, const void *mine, size_t size, void *all);
	int rank;
	int nranks;
};

/* The allgather of struct coll_config. */
int exchange_callback(const struct exchange *exchange, const void *mine, size_t size, void *all,
		      uint64_t deadline, struct coll_detail *detail);

#endif /* COLL_EXCHANGE_H */
