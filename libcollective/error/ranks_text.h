/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lists of ranks in error texts. */
#ifndef COLL_RANKS_TEXT_H
#define COLL_RANKS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/**
 * coll_ranks_text - write a list of ranks, such as "rank 2" or "ranks 2, 5-7"
 * @text: receives the list; a long one ends with ", ..."
 * @size: size of @text in bytes, at least 40
 * @nranks: number of ranks
 * @has: is the rank in the list?
 * @arg: argument of @has
 *
 * Return: number of ranks in the list; 0: @text is empty.
 */
int coll_ranks_text(char *text, size_t size, int nranks, bool (*has)(const void *arg, int rank),
		    const void *arg);

#endif /* COLL_RANKS_TEXT_H */
