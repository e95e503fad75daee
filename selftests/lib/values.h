/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Input values that differ from rank to rank and from element to element.
 *
 * Integers have arbitrary bits. Floats are small integers, zeros of both signs, infinities and
 * NaN, so that every order of reduction gives the same result. Elements repeat after PERIOD, so
 * that the slow reference computes only PERIOD elements.
 */
#ifndef COLL_VALUES_H
#define COLL_VALUES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef uint32_t u32;
typedef uint64_t u64;
#define U64_MAX	UINT64_MAX

#include "lib/memory.h"
#include "unit/reduce_reference.h"

#define PERIOD	61

/* Bytes on each side of a buffer that must not change. */
#define GUARD	64

static inline u32 hash(u32 a, u32 b, u32 c)
{
	u32 h = a * 0x9e3779b1U ^ b * 0x85ebca77U ^ c * 0xc2b2ae3dU;

	h ^= h >> 15;
	h *= 0x2c1b3c6dU;
	h ^= h >> 12;
	h *= 0x297a2d39U;
	return h ^ h >> 15;
}

/* Return: the bits of element @i of a rank. */
static inline u64 input(int type, int reduction, u32 rank, u32 i)
{
	const struct reference_type *t = &reference_types[type];
	u32 h = hash(type * 16 + reduction, rank, i);
	double value;

	if (t->kind != REFERENCE_FLOAT)
		return ((u64)h << 32 | hash(h, 1, 2)) & reference_mask(t);
	if (h % 97 == 3)
		return reference_encode(t, NAN);
	if (h % 97 == 5)
		return reference_encode(t, h & 0x10000 ? INFINITY : -INFINITY);
	if (reduction == COLLECTIVE_PROD)
		value = 1 << (h >> 20 & 1);
	else
		value = h >> 20 & 7;
	return reference_encode(t, h & 0x20000 ? -value : value);
}

static inline void fill(void *to, const void *period, size_t count, size_t size)
{
	size_t i;

	for (i = 0; i < count; i += PERIOD)
		memcpy((char *)to + i * size, period,
		       (count - i < PERIOD ? count - i : PERIOD) * size);
}

static inline bool filled(const void *at, const void *period, size_t count, size_t size)
{
	size_t i;

	for (i = 0; i < count; i += PERIOD)
		if (memcmp((char *)at + i * size, period,
			   (count - i < PERIOD ? count - i : PERIOD) * size))
			return false;
	return true;
}

static inline bool all_are(const __u8 *at, __u8 value, size_t len)
{
	while (len--)
		if (*at++ != value)
			return false;
	return true;
}

/* The bitwise operations take integers only. */
static inline bool valid(int type, int reduction)
{
	return reference_types[type].kind != REFERENCE_FLOAT || reduction < COLLECTIVE_BAND ||
	       reduction > COLLECTIVE_BXOR;
}

#endif /* COLL_VALUES_H */
