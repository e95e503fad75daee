/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Balance: do the counts that only two ranks know match?
 *
 * In a gather, scatter or alltoall whose blocks differ, only two ranks know how many elements
 * the one sends to the other.  Each rank adds what it sends and subtracts what it expects, each
 * count multiplied by a weight of the two ranks and the direction.  So the sum over all ranks is
 * 0 if the counts of all pairs match.  It is not 0 if those of one pair differ, as weights are
 * odd, and if several differ it is 0 by chance only.
 *
 * The sum is made by the announcements (kmod/op/match.c), without a frame of its own: what a rank
 * tells in round k is a sum of the 2^k ranks up to it, and all ranks know the whole at the end.
 */
#ifndef COLL_BALANCE_H
#define COLL_BALANCE_H

#include "core/schedule/schedule.h"
#include "core/wire/wire.h"

/* Rounds in which the most ranks announce an operation: the next larger power of two. */
#define COLL_ROUNDS_MAX	10

/**
 * struct coll_balance - what a rank tells in round k
 * @window: sum of the 2^k ranks up to it
 * @rest: sum of as many as are left of the number of ranks when it is divided by 2^k: those are
 *	in no window that the receiver has heard of, or is to hear of
 */
struct coll_balance {
	u64 window;
	u64 rest;
};

/**
 * struct coll_imbalance - two ranks whose counts differ
 * @from: who sends
 * @to: who receives
 * @sent: elements that @from has for @to
 * @expected: elements that @to expects
 */
struct coll_imbalance {
	u32 from;
	u32 to;
	u64 sent;
	u64 expected;
};

/**
 * coll_signature_paired() - are there counts that only two ranks know?
 * @signature: of a call
 *
 * Return: true: its announcement has the balance in place of count and layout.
 */
static inline bool coll_signature_paired(const struct coll_signature *signature)
{
	return signature->flags & COLLECTIVE_F_VECTOR &&
	       !(signature->flags & COLLECTIVE_F_VARLEN) &&
	       (signature->collective == COLLECTIVE_GATHER ||
		signature->collective == COLLECTIVE_SCATTER ||
		signature->collective == COLLECTIVE_ALLTOALL);
}

u64 coll_balance_own(const struct coll_plan *plan);
void coll_balance_put(const struct coll_balance *heard, u64 own, u32 nranks, u32 round,
		      struct coll_signature *signature);
struct coll_balance coll_balance_get(struct coll_signature *signature);
u64 coll_balance_total(const struct coll_balance *heard, u64 own, u32 nranks);
bool coll_balance_find(const struct coll_plan *plan, u64 total, struct coll_imbalance *found);

#endif /* COLL_BALANCE_H */
