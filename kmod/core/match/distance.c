// SPDX-License-Identifier: GPL-2.0-only
#include "core/match/distance.h"

#include <linux/collective.h>

static_assert(COLLECTIVE_RANKS_MAX <= 1 << COLL_DISTANCE_ROUNDS);

/**
 * coll_distance_init() - initialise: nothing is known
 * @distance: zeroed memory
 * @rounds: ceil(log2(ranks))
 * @bound: number of operations that a rank may be ahead of another one
 *
 * Each of @rounds ranks on the way may hold back @slack, at most half of @bound in all.  So a
 * rank that waits because of the bound learns in time that the others have caught up.
 */
void coll_distance_init(struct coll_distance *distance, u32 rounds, u32 bound)
{
	distance->rounds = rounds;
	distance->slack = max(bound / 2 / max(rounds, 1U), 1U);
}

/**
 * coll_distance_least() - minimum number of operations that some ranks are known to have
 *	submitted
 * @distance: known numbers
 * @own: number of operations that this rank has submitted
 * @round: for the 2^@round ranks up to this one
 */
u64 coll_distance_least(const struct coll_distance *distance, u64 own, u32 round)
{
	u64 least = own;
	u32 k;

	for (k = 0; k < round; k++)
		least = min(least, distance->received[k]);
	return max(least, distance->succeeded);
}

/**
 * coll_distance_receive() - another rank reports its minimum
 * @distance: known numbers
 * @round: the other rank is 2^@round before this one
 * @count: minimum of the 2^@round ranks up to it
 */
void coll_distance_receive(struct coll_distance *distance, u32 round, u64 count)
{
	distance->received[round] = max(distance->received[round], count);
}

/**
 * coll_distance_due() - has the minimum risen enough to send it at once?
 * @distance: known numbers
 * @own: number of operations that this rank has submitted
 */
bool coll_distance_due(const struct coll_distance *distance, u64 own)
{
	u32 k;

	for (k = 0; k < distance->rounds; k++)
		if (coll_distance_least(distance, own, k) - distance->sent[k] >= distance->slack)
			return true;
	return false;
}
