/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/* Digest of a list of numbers, for lists that must be equal on several ranks. */
#ifndef COLL_FNV_H
#define COLL_FNV_H

#include "core/env.h"

/**
 * coll_fnv() - digest of a list of numbers
 * @words: the list
 * @n: number of words
 *
 * FNV-1a: finds lists that differ by mistake, not by intent.
 *
 * Return: the digest, never 0; 0 stands for no list.
 */
static inline u64 coll_fnv(const u64 *words, u32 n)
{
	u64 hash = 0xcbf29ce484222325ULL;
	u32 i, byte;

	for (i = 0; i < n; i++)
		for (byte = 0; byte < 8; byte++)
			hash = (hash ^ (words[i] >> 8 * byte & 0xff)) * 0x100000001b3ULL;
	return hash ? hash : 1;
}

#endif /* COLL_FNV_H */
