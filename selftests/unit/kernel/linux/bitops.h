/* SPDX-License-Identifier: GPL-2.0-only */
/* Bits of words, for one thread. */
#ifndef COLL_KERNEL_BITOPS_H
#define COLL_KERNEL_BITOPS_H

#include "env.h"

#define BITS_PER_LONG		64
#define BITS_TO_LONGS(n)	DIV_ROUND_UP(n, BITS_PER_LONG)
#define lower_32_bits(n)	((u32)(n))
#define upper_32_bits(n)	((u32)((u64)(n) >> 32))

static inline bool test_bit(unsigned int bit, const unsigned long *word)
{
	return word[bit / BITS_PER_LONG] >> bit % BITS_PER_LONG & 1;
}

static inline void set_bit(unsigned int bit, unsigned long *word)
{
	word[bit / BITS_PER_LONG] |= BIT(bit % BITS_PER_LONG);
}

static inline void clear_bit(unsigned int bit, unsigned long *word)
{
	word[bit / BITS_PER_LONG] &= ~BIT(bit % BITS_PER_LONG);
}

static inline bool test_and_set_bit(unsigned int bit, unsigned long *word)
{
	bool was = test_bit(bit, word);

	set_bit(bit, word);
	return was;
}

static inline bool test_and_clear_bit(unsigned int bit, unsigned long *word)
{
	bool was = test_bit(bit, word);

	clear_bit(bit, word);
	return was;
}

#define __set_bit		set_bit
#define __clear_bit		clear_bit
#define __test_and_set_bit	test_and_set_bit

static inline int fls64(u64 n)
{
	return n ? 64 - __builtin_clzll(n) : 0;
}

static inline int fls(u32 n)
{
	return n ? 32 - __builtin_clz(n) : 0;
}

static inline unsigned long __ffs(unsigned long n)
{
	return __builtin_ctzl(n);
}

static inline unsigned long __ffs64(u64 n)
{
	return __builtin_ctzll(n);
}

/* The first set bit from @bit on; @size: none. */
static inline unsigned int find_next_bit(const unsigned long *word, unsigned int size,
					 unsigned int bit)
{
	while (bit < size && !test_bit(bit, word))
		bit++;
	return bit;
}

#define for_each_set_bit(bit, word, size)				\
	for (bit = find_next_bit(word, size, 0); bit < (size);		\
	     bit = find_next_bit(word, size, bit + 1))

#endif /* COLL_KERNEL_BITOPS_H */
