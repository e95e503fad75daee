// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The choice of an implementation, in a file of its own: libcollective has the scalar one only.
 */
#include "core/reduce/reduce.h"

/**
 * coll_reduce_select() - choose the implementation for a CPU
 * @features: COLL_REDUCE_HAS_* bits of the CPU
 *
 * Return: the implementation with the widest vectors that the CPU can run; never NULL.
 */
const struct coll_reduce_impl *coll_reduce_select(u32 features)
{
#if defined(__x86_64__)
	if (features & COLL_REDUCE_HAS_AVX512)
		return &coll_reduce_avx512;
	if (features & COLL_REDUCE_HAS_AVX2)
		return &coll_reduce_avx2;
#else
	(void)features;
#endif
	return &coll_reduce_scalar;
}
