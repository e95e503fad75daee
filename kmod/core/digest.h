/* SPDX-License-Identifier: GPL-2.0-only */
/* What should be the same on several ranks, as one number that can be compared. */
#ifndef COLL_DIGEST_H
#define COLL_DIGEST_H

#include "env.h"

/**
 * coll_digest() - a number for a list of numbers
 * @words: the list
 * @n: how many
 *
 * FNV-1a: ranks whose lists differ by mistake find out.
 *
 * Return: the number, never 0, which stands for no list.
 */
static inline u64 coll_digest(const u64 *words, u32 n)
{
	u64 hash = 0xcbf29ce484222325ULL;
	u32 i, shift;

	for (i = 0; i < n; i++)
		for (shift = 0; shift < 64; shift += 8) {
			hash ^= words[i] >> shift & 0xff;
			hash *= 0x100000001b3ULL;
		}
	return hash ? hash : 1;
}

#endif /* COLL_DIGEST_H */
