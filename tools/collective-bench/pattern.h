/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Values whose reduction is known without doing it, and exact in any order.
 *
 * The values repeat every PATTERN_PERIOD elements, a prime, so that no chunk,
 * page or lane of the transport begins at the same place of the period as its
 * neighbour: what lands in a wrong place is seen.  A period's reduction costs
 * nothing, and whole buffers are written and compared at memory speed.
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
 * @type: of the elements
 * @op: that will reduce them
 * @nranks: how many ranks have values
 * @round: another number, other values
 */
struct pattern {
	enum coll_type type;
	enum coll_op op;
	int nranks;
	uint64_t round;
};

/* Write @count elements of @rank to @to. */
void pattern_fill(const struct pattern *pattern, int rank, void *to,
		  size_t count);

/* How many of @count elements at @from are not @rank's input. */
uint64_t pattern_check_input(const struct pattern *pattern, int rank,
			     const void *from, size_t count);

/* How many of @count elements at @from are not the reduction. */
uint64_t pattern_check_result(const struct pattern *pattern, const void *from,
			      size_t count);

/* How many of @count elements at @from are not that of the ranks 0 .. @rank. */
uint64_t pattern_check_scan(const struct pattern *pattern, int rank,
			    const void *from, size_t count);

#endif /* PATTERN_H */
