/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How far a rank may be ahead of the others, in collectives without a key.
 *
 * What is known of an operation that a rank has not submitted yet is kept by the low bits of
 * its number, so no rank may submit one that is a table's size or more ahead of what all ranks
 * are known to have submitted.  An operation that succeeds says so of itself and of all before
 * it.  After failures the ranks tell each other: the rank 2^k further is told the least that
 * the 2^k ranks up to this one have submitted, for each k, so that ceil(log2 n) frames span the
 * group.  All of these numbers only rise, and an old one is only too careful.
 */
#ifndef COLL_DISTANCE_H
#define COLL_DISTANCE_H

#include "core/env.h"

#define COLL_DISTANCE_ROUNDS	10

/**
 * struct coll_distance - what is known of the number of operations that ranks have submitted
 * @rounds: ceil(log2(ranks)), at most COLL_DISTANCE_ROUNDS
 * @slack: so much more is told at once, not at the next heartbeat
 * @succeeded: one more than the number of the latest operation that succeeded here
 * @received: by round k: the least of the 2^k ranks up to the one that is 2^k before this one
 * @sent: by round k: what the rank 2^k further was told last
 */
struct coll_distance {
	u32 rounds;
	u32 slack;
	u64 succeeded;
	u64 received[COLL_DISTANCE_ROUNDS];
	u64 sent[COLL_DISTANCE_ROUNDS];
};

void coll_distance_init(struct coll_distance *distance, u32 rounds, u32 bound);
u64 coll_distance_least(const struct coll_distance *distance, u64 own, u32 round);
void coll_distance_receive(struct coll_distance *distance, u32 round, u64 count);
bool coll_distance_due(const struct coll_distance *distance, u64 own);

/**
 * coll_distance_known() - how many operations all ranks are known to have submitted
 * @distance: what is known
 * @own: how many this rank has
 */
static inline u64 coll_distance_known(const struct coll_distance *distance, u64 own)
{
	return coll_distance_least(distance, own, distance->rounds);
}

#endif /* COLL_DISTANCE_H */
