/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_BITMAP_H
#define COLL_KERNEL_BITMAP_H

#include <linux/bitops.h>

#define DECLARE_BITMAP(name, bits)	unsigned long name[BITS_TO_LONGS(bits)]

static inline bool bitmap_empty(const unsigned long *map, unsigned int bits)
{
	return find_next_bit(map, bits, 0) == bits;
}

#endif /* COLL_KERNEL_BITMAP_H */
