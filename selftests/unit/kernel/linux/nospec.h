/* SPDX-License-Identifier: GPL-2.0-only */
/* The same without speculation. */
#ifndef COLL_KERNEL_NOSPEC_H
#define COLL_KERNEL_NOSPEC_H

#include "env.h"

#define array_index_nospec(index, size) ({				\
	__typeof__(index) __index = (index);				\
									\
	assert(__index < (size));					\
	__index;							\
})

#endif /* COLL_KERNEL_NOSPEC_H */
