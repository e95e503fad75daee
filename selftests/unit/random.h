/* SPDX-License-Identifier: GPL-2.0-only */
/* Random numbers that a seed determines. */
#ifndef COLL_TEST_RANDOM_H
#define COLL_TEST_RANDOM_H

#include "env.h"

#include <stdio.h>
#include <stdlib.h>

static u64 random_state = 1;
static u64 random_seed;

static inline u64 random_u64(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1dULL;
}

static inline u32 random_below(u32 n)
{
	return (random_u64() >> 32) % n;
}

/* Once in @n times. */
static inline bool random_once(u32 n)
{
	return !random_below(n);
}

/* Begin a program that a number repeats. */
static inline void random_begin(u64 seed)
{
	random_seed = seed;
	random_state = (seed + 1) * 0x9e3779b97f4a7c15ULL;
	random_u64();
}

/* The first seed: UNIT_SEED in the environment, or 1. */
static inline u64 random_first(void)
{
	const char *seed = getenv("UNIT_SEED");

	return seed ? strtoull(seed, NULL, 0) : 1;
}

/* Run a program with each of so many seeds, up to the first that is wrong. */
static inline bool random_programs(u64 seeds, bool (*run)(void))
{
	bool good = true;
	u64 i;

	for (i = 0; good && i < seeds; i++) {
		random_begin(random_first() + i);
		good = run();
	}
	return good;
}

/* Does @condition hold?  If it does not, say which one of which program. */
#define HOLDS(condition)						\
	((condition) || random_says(#condition, __func__, __LINE__))

static inline bool random_says(const char *what, const char *function, int line)
{
	printf("# seed %llu: %s(), line %d: not so: %s\n", (unsigned long long)random_seed,
	       function, line, what);
	return false;
}

#endif /* COLL_TEST_RANDOM_H */
