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
	const u64 prime = 0x100000001b3ULL;
	u64 hash = 0xcbf29ce484222325ULL;
	u32 i, bytes;

	for (i = 0; i < n; i++) {
		u64 word = words[i];

		for (bytes = 8; word; bytes--, word >>= 8)
			hash = (hash ^ (word & 0xff)) * prime;
		/* Those above are all 0. */
		while (bytes--)
			hash *= prime;
	}
	return hash ? hash : 1;
}

#endif /* COLL_DIGEST_H */
