/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All that core/ takes from its surroundings, and the kernel's version of it.
 *
 * The unit, simulation and fuzz builds put another file of the same include
 * guard in front (selftests/unit/env.h).  A primitive that is missing here is
 * a reason to shrink the core, not to grow this file.
 */
#ifndef COLL_ENV_H
#define COLL_ENV_H

#include <linux/types.h>
#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mmdebug.h>
#include <linux/overflow.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include <asm/barrier.h>

/* What always holds; looked at in debug builds only. */
#define coll_assert(condition)	VM_WARN_ON_ONCE(!(condition))

/* Set or clear bits of a word that others change; a full barrier.  Return: the word before. */
static inline u64 coll_set_bits(u64 *word, u64 bits)
{
	return atomic64_fetch_or(bits, (atomic64_t *)word);
}

static inline u64 coll_clear_bits(u64 *word, u64 bits)
{
	return atomic64_fetch_andnot(bits, (atomic64_t *)word);
}

/* Replace a word that others change; a full barrier if it held @old.  Return: true if it did. */
static inline bool coll_replace(u64 *word, u64 old, u64 new)
{
	return atomic64_cmpxchg((atomic64_t *)word, old, new) == old;
}

#endif /* COLL_ENV_H */
