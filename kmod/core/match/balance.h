/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Balance: do the counts match that only two ranks know?
 *
 * In a gather, scatter or alltoall with blocks of different lengths, only two ranks know how many
 * elements one sends to the other.  Each rank adds the counts it sends and subtracts the counts
 * it expects; each count is multiplied by a weight of the two ranks and the direction.  The sum
 * over all ranks is 0 if all pairs match.  It is not 0 if one pair differs, because weights are
 * odd; if several pairs differ, it is 0 only by chance.
 *
 * The announcements (kmod/op/match.c) carry the sum, without frames of its own: round k tells the
 * sum of the 2^k ranks up to the sender, and in the end every rank knows the whole.
 */
#ifndef COLL_BALANCE_H
#define COLL_BALANCE_H

#include "core/schedule/schedule.h"
#include "core/wire/wire.h"

/* Rounds of announcements among the maximum number of ranks. */
#define COLL_ROUNDS_MAX	10

/**
 * struct coll_balance - the sums that a rank tells in round k
 * @window: sum of the 2^k ranks up to the sender
 * @rest: sum of the remaining ranks when the number of ranks is divided by 2^k: those in no
 *	window that the receiver has received or will receive
 */
struct coll_balance {
	u64 window;
	u64 rest;
};

/**
 * struct coll_imbalance - two ranks with different counts
 * @from: rank that sends
 * @to: rank that receives
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
 * coll_signature_paired() - does the operation have counts that only two ranks know?
 * @signature: signature of the call
 *
 * Return: true if its announcement carries the balance in place of count and layout.
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
