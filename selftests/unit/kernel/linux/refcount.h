/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_REFCOUNT_H
#define COLL_KERNEL_REFCOUNT_H

#include "env.h"

typedef struct {
	int refs;
} refcount_t;

static inline void refcount_set(refcount_t *count, int n)
{
	count->refs = n;
}

static inline void refcount_inc(refcount_t *count)
{
	assert(count->refs > 0);
	count->refs++;
}

static inline bool refcount_dec_and_test(refcount_t *count)
{
	assert(count->refs > 0);
	return !--count->refs;
}

#endif /* COLL_KERNEL_REFCOUNT_H */
