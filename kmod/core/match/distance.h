/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Distance: how far a rank may be ahead of the others, in collectives without a key.
 *
 * What a rank knows of operations that it has not submitted yet is kept in a table, by the low
 * bits of the number.  So no rank may submit an operation that is the table's size or more ahead
 * of the operations that all ranks are known to have submitted.  A successful operation proves
 * that all ranks have submitted it and all before it.  After failures the ranks tell each other:
 * the rank 2^k after this one is told the minimum of the 2^k ranks up to this one, for each k, so
 * that ceil(log2 n) frames span the group.  These numbers only rise, and an old one is safe.
 */
#ifndef COLL_DISTANCE_H
#define COLL_DISTANCE_H

#include "core/env.h"

#define COLL_DISTANCE_ROUNDS	10

/**
 * struct coll_distance - known numbers of submitted operations
 * @rounds: ceil(log2(ranks)), at most COLL_DISTANCE_ROUNDS
 * @slack: increase that is sent at once; a smaller one waits for the next heartbeat
 * @succeeded: number of the latest operation that succeeded here, plus one
 * @received: by round k: minimum of the 2^k ranks up to the rank 2^k before this one
 * @sent: by round k: number last sent to the rank 2^k after this one
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
 * coll_distance_known() - number of operations that all ranks are known to have submitted
 * @distance: known numbers
 * @own: number of operations that this rank has submitted
 */
static inline u64 coll_distance_known(const struct coll_distance *distance, u64 own)
{
	return coll_distance_least(distance, own, distance->rounds);
}

#endif /* COLL_DISTANCE_H */
