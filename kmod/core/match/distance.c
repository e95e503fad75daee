// SPDX-License-Identifier: GPL-2.0-only
#include "core/match/distance.h"

#include <linux/collective.h>

static_assert(COLLECTIVE_RANKS_MAX <= 1 << COLL_DISTANCE_ROUNDS);

/**
 * coll_distance_init() - nothing is known yet
 * @distance: zeroed memory
 * @rounds: ceil(log2(ranks))
 * @bound: operations that a rank may be ahead of another one
 *
 * What each of @rounds ranks on the way does not tell at once is half of @bound in all, so a rank
 * that waits because of the bound hears in time of those that it waits for.
 */
void coll_distance_init(struct coll_distance *distance, u32 rounds, u32 bound)
{
	distance->rounds = rounds;
	distance->slack = max(bound / 2 / max(rounds, 1U), 1U);
}

/**
 * coll_distance_least() - the least that some ranks are known to have submitted
 * @distance: what is known
 * @own: how many operations this rank has submitted
 * @round: of the 2^@round ranks up to this one
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
 * coll_distance_receive() - another rank tells what it knows
 * @distance: what is known
 * @round: that rank is 2^@round before this one
 * @count: the least that the 2^@round ranks up to it have submitted
 */
void coll_distance_receive(struct coll_distance *distance, u32 round, u64 count)
{
	distance->received[round] = max(distance->received[round], count);
}

/**
 * coll_distance_due() - is there much more to tell than was told?
 * @distance: what is known
 * @own: how many operations this rank has submitted
 */
bool coll_distance_due(const struct coll_distance *distance, u64 own)
{
	u32 k;

	for (k = 0; k < distance->rounds; k++)
		if (coll_distance_least(distance, own, k) - distance->sent[k] >= distance->slack)
			return true;
	return false;
}
