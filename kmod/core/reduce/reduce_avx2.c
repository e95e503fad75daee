// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/* Reductions with AVX2; empty on other architectures than x86-64. */
#include "core/reduce/reduce.h"

#if defined(__x86_64__)
#include "core/reduce/reduce_impl.h"

const struct coll_reduce_impl coll_reduce_avx2 = {
	.name = "avx2",
	COLL_REDUCE_TABLES,
	.copy = coll_copy_words,
};
#endif
