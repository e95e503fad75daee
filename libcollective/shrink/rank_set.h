/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sets of ranks, as bitmaps. */
#ifndef COLL_RANK_SET_H
#define COLL_RANK_SET_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/collective.h>

#ifndef COLL_RANKS_WORDS
#define COLL_RANKS_WORDS	(COLLECTIVE_RANKS_MAX / 64)
#endif

struct coll_ranks {
	uint64_t word[COLL_RANKS_WORDS];
};

static inline bool coll_ranks_has(const struct coll_ranks *set, unsigned int rank)
{
	return set->word[rank / 64] >> rank % 64 & 1;
}

static inline void coll_ranks_add(struct coll_ranks *set, unsigned int rank)
{
	set->word[rank / 64] |= 1ULL << rank % 64;
}

static inline void coll_ranks_remove(struct coll_ranks *set, unsigned int rank)
{
	set->word[rank / 64] &= ~(1ULL << rank % 64);
}

/* The set of ranks 0 to @n - 1. */
static inline struct coll_ranks coll_ranks_first(unsigned int n)
{
	struct coll_ranks set = { 0 };
	unsigned int i;

	for (i = 0; i < n / 64; i++)
		set.word[i] = ~0ULL;
	if (n % 64)
		set.word[i] = (1ULL << n % 64) - 1;
	return set;
}

static inline struct coll_ranks coll_ranks_or(struct coll_ranks a, const struct coll_ranks *b)
{
	int i;

	for (i = 0; i < COLL_RANKS_WORDS; i++)
		a.word[i] |= b->word[i];
	return a;
}

static inline struct coll_ranks coll_ranks_without(struct coll_ranks a,
						   const struct coll_ranks *b)
{
	int i;

	for (i = 0; i < COLL_RANKS_WORDS; i++)
		a.word[i] &= ~b->word[i];
	return a;
}

static inline unsigned int coll_ranks_count(const struct coll_ranks *set)
{
	unsigned int n = 0;
	int i;

	for (i = 0; i < COLL_RANKS_WORDS; i++)
		n += __builtin_popcountll(set->word[i]);
	return n;
}

static inline bool coll_ranks_none(const struct coll_ranks *set)
{
	int i;

	for (i = 0; i < COLL_RANKS_WORDS; i++)
		if (set->word[i])
			return false;
	return true;
}

/* Is @a a subset of @b? */
static inline bool coll_ranks_within(const struct coll_ranks *a, const struct coll_ranks *b)
{
	const struct coll_ranks rest = coll_ranks_without(*a, b);

	return coll_ranks_none(&rest);
}

static inline bool coll_ranks_equal(const struct coll_ranks *a, const struct coll_ranks *b)
{
	return coll_ranks_within(a, b) && coll_ranks_within(b, a);
}

/* The lowest rank of @set, which must not be empty. */
static inline unsigned int coll_ranks_lowest(const struct coll_ranks *set)
{
	unsigned int i = 0;

	while (!set->word[i])
		i++;
	return i * 64 + __builtin_ctzll(set->word[i]);
}

#endif /* COLL_RANK_SET_H */
