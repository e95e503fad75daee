/* SPDX-License-Identifier: GPL-2.0-only */
/* Pseudo-random numbers (splitmix64): the same seed gives the same numbers. */
#ifndef COLL_SIM_RNG_H
#define COLL_SIM_RNG_H

#include "core/env.h"

struct rng {
	u64 state;
};

/* Return: 64 bits that depend on all bits of @x; no state. */
static inline u64 rng_mix(u64 x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ULL;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static inline u64 rng_next(struct rng *rng)
{
	rng->state += 0x9e3779b97f4a7c15ULL;
	return rng_mix(rng->state);
}

/* Return: 0 to @n - 1. */
static inline u64 rng_below(struct rng *rng, u64 n)
{
	return rng_next(rng) % n;
}

/* Return: @low to @high, both included. */
static inline u64 rng_between(struct rng *rng, u64 low, u64 high)
{
	return low + rng_below(rng, high - low + 1);
}

/* Return: true with a probability of 1/@n. */
static inline bool rng_once_in(struct rng *rng, u64 n)
{
	return !rng_below(rng, n);
}

#endif /* COLL_SIM_RNG_H */
