/* SPDX-License-Identifier: GPL-2.0-only */
/* What should be the same on several ranks, as one number that can be compared. */
#ifndef COLL_FNV_H
#define COLL_FNV_H

#include "core/env.h"

/**
 * coll_fnv() - a number for a list of numbers
 * @words: the list
 * @n: how many
 *
 * FNV-1a: ranks whose lists differ by mistake find out.
 *
 * Return: the number, never 0, which stands for no list.
 */
static inline u64 coll_fnv(const u64 *words, u32 n)
{
	/* The prime, and what so many bytes of 0 come to. */
	static const u64 power[] = {
		0x1ULL, 0x100000001b3ULL, 0x366000002e329ULL,
		0x8a97b0004e7feabULL, 0x9ffaac085635bc91ULL, 0xcaee32a7d4f6a63ULL,
		0xdc966432edf1c639ULL, 0xc5527b8a51d3d2dbULL, 0x1efac7090aef4a21ULL,
	};
	u64 hash = 0xcbf29ce484222325ULL;
	u32 i, bytes;

	for (i = 0; i < n; i++) {
		u64 word = words[i];

		for (bytes = 8; word; bytes--, word >>= 8)
			hash = (hash ^ (word & 0xff)) * power[1];
		hash *= power[bytes];
	}
	return hash ? hash : 1;
}

#endif /* COLL_FNV_H */
