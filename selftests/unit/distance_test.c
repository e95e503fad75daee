// SPDX-License-Identifier: GPL-2.0-only
/* The distance: ranks exchange their numbers, so that none is too far ahead of the slowest. */
#include "tap.h"

#include <stdlib.h>

#include "core/match/distance.h"

#include <linux/collective.h>

#define RANKS_MAX	1024
#define BOUND		512

/**
 * struct rank - one rank
 * @distance: the rank's knowledge of the others
 * @own: number of operations that it has submitted
 * @pending: number sent to the rank in each round that has not arrived; ~0: none
 */
struct rank {
	struct coll_distance distance;
	u64 own;
	u64 pending[COLL_DISTANCE_ROUNDS];
};

static struct rank ranks[RANKS_MAX];
static u32 nranks, rounds;
static u64 state = 1;

static u32 below(u32 n)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state >> 33) % n;
}

static u64 least_of_all(void)
{
	u64 least = ~0ULL;
	u32 i;

	for (i = 0; i < nranks; i++)
		least = min(least, ranks[i].own);
	return least;
}

static void group(u32 n, u64 first)
{
	u32 i, k;

	nranks = n;
	for (rounds = 0; 1U << rounds < n; rounds++)
		;
	for (i = 0; i < n; i++) {
		ranks[i] = (struct rank){ .own = first };
		coll_distance_init(&ranks[i].distance, rounds, BOUND);
		ranks[i].distance.succeeded = first;
		for (k = 0; k < rounds; k++)
			ranks[i].pending[k] = ~0ULL;
	}
}

static void announce(u32 i)
{
	u32 k;

	for (k = 0; k < rounds; k++) {
		struct coll_distance *distance = &ranks[i].distance;

		distance->sent[k] = coll_distance_least(distance, ranks[i].own, k);
		ranks[(i + (1U << k)) % nranks].pending[k] = distance->sent[k];
	}
}

static bool may_submit(u32 i)
{
	return ranks[i].own - coll_distance_known(&ranks[i].distance, ranks[i].own) < BOUND;
}

/* Rank @i receives a number, or submits unless it is @frozen; then it sends if that is due. */
static void act(u32 i, u32 frozen)
{
	u32 k = rounds ? below(rounds) : 0;

	if (ranks[i].pending[k] != ~0ULL && below(2)) {
		coll_distance_receive(&ranks[i].distance, k, ranks[i].pending[k]);
		ranks[i].pending[k] = ~0ULL;
	} else if (i != frozen && may_submit(i)) {
		ranks[i].own++;
	}
	if (coll_distance_due(&ranks[i].distance, ranks[i].own))
		announce(i);
}

/*
 * No operation succeeds, and one rank stands still for a while.  No other rank gets further
 * ahead of it than BOUND, and no rank believes the slowest to be further than it is.  When the
 * rank goes on, all do.
 */
static void test_bound(u32 n, u64 first)
{
	u64 far = first + 3 * BOUND, steps = 0, most = 40000000ULL;
	u32 frozen = below(n), i;
	bool passed = true, waited;

	group(n, first);
	for (steps = 0; steps < 4000ULL * n; steps++) {
		i = below(n);
		act(i, frozen);
		passed &= ranks[i].own - least_of_all() <= BOUND || n > 64;
		if (n <= 64)
			passed &= coll_distance_known(&ranks[i].distance, ranks[i].own) <=
				  least_of_all();
	}
	for (i = 0; i < n; i++)
		passed &= ranks[i].own - first <= BOUND;
	waited = n == 1 || least_of_all() == first;
	tap_ok(passed && waited, "%u ranks get at most %u ahead of a rank that stands still", n,
	       BOUND);

	while (least_of_all() < far && --most)
		for (i = 0; i < n; i++)
			act(below(n), COLLECTIVE_RANKS_MAX);
	tap_ok(most, "%u ranks go on when that rank does, though no operation succeeds", n);
}

int main(void)
{
	static const u32 sizes[] = { 1, 2, 3, 4, 5, 7, 8, 16, 33, 64, 300, 1024 };
	static const u64 firsts[] = { 0, (1ULL << 31) - 700, (1ULL << 32) - 700,
				      (1ULL << 61) };
	u32 i, k;

	tap_plan(0);
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		for (k = 0; k < (sizes[i] > 64 ? 1 : ARRAY_SIZE(firsts)); k++)
			test_bound(sizes[i], firsts[k]);
	return tap_exit();
}
