/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_LOG2_H
#define COLL_KERNEL_LOG2_H

#include "env.h"

static inline unsigned long roundup_pow_of_two(unsigned long n)
{
	unsigned long power = 1;

	while (power < n)
		power *= 2;
	return power;
}

/* The binary logarithm, rounded up. */
static inline u32 order_base_2(unsigned long n)
{
	u32 order = 0;

	while (1UL << order < n)
		order++;
	return order;
}

static inline u32 ilog2(unsigned long n)
{
	return 63 - __builtin_clzl(n);
}

#endif /* COLL_KERNEL_LOG2_H */
