/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Values with a reduction that is known without computing it, and exact in any order.
 *
 * The values repeat every PATTERN_PERIOD elements.  The period is a prime, so neighbouring
 * chunks, pages and lanes of the transport start at different places of it, and data in a
 * wrong place is detected.  Only one period is computed; buffers are written and compared at
 * memory speed.
 *
 * Integers are random in all bits.  Floating point values are small integers,
 * chosen so that every partial sum or product of @nranks of them is exact in
 * the type.
 */
#ifndef PATTERN_H
#define PATTERN_H

#include <stddef.h>
#include <stdint.h>

#include <collective.h>

#define PATTERN_PERIOD	4093

/**
 * struct pattern - one round's values
 * @type: type of the elements
 * @op: operation that reduces them
 * @nranks: number of ranks
 * @round: number of the round; each has other values
 */
struct pattern {
	enum coll_type type;
	enum coll_op op;
	int nranks;
	uint64_t round;
};

/* Writes @count elements of the input of @rank to @to. */
void pattern_fill(const struct pattern *pattern, int rank, void *to,
		  size_t count);

/* Counts which of @count elements at @from differ from the input of @rank. */
uint64_t pattern_check_input(const struct pattern *pattern, int rank,
			     const void *from, size_t count);

/* Counts which of @count elements at @from differ from the reduction of all ranks. */
uint64_t pattern_check_result(const struct pattern *pattern, const void *from,
			      size_t count);

/* Counts which of @count elements at @from differ from the reduction of ranks 0 to @rank. */
uint64_t pattern_check_scan(const struct pattern *pattern, int rank,
			    const void *from, size_t count);

#endif /* PATTERN_H */
