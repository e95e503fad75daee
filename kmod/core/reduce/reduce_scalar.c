// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/* Reductions with instructions that every CPU of the architecture has. */
#include "core/reduce/reduce_impl.h"

const struct coll_reduce_impl coll_reduce_scalar = {
	.name = "scalar",
	COLL_REDUCE_TABLES,
	.copy = coll_copy_words,
};
