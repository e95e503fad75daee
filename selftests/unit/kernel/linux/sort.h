/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_LINUX_SORT_H
#define COLL_KERNEL_LINUX_SORT_H

#include <stdlib.h>

typedef int (*cmp_r_func_t)(const void *a, const void *b, const void *priv);

/* struct sort_env - what sort_r() was called with, for the other order of arguments here */
struct sort_env {
	cmp_r_func_t compare;
	const void *priv;
};

static inline int sort_env_compare(const void *a, const void *b, void *env)
{
	const struct sort_env *sort = env;

	return sort->compare(a, b, sort->priv);
}

static inline void sort_r(void *base, size_t n, size_t size, cmp_r_func_t compare,
			  const void *swap, const void *priv)
{
	struct sort_env env = { compare, priv };

	(void)swap;
	qsort_r(base, n, size, sort_env_compare, &env);
}

static inline void sort(void *base, size_t n, size_t size,
			int (*compare)(const void *a, const void *b), const void *swap)
{
	(void)swap;
	qsort(base, n, size, compare);
}

#endif /* COLL_KERNEL_LINUX_SORT_H */
