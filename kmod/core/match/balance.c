// SPDX-License-Identifier: GPL-2.0-only
#include "core/match/balance.h"

static_assert(COLLECTIVE_RANKS_MAX == 1 << COLL_ROUNDS_MAX);

/* Elements: a larger count shows that the counts of another pair differ. */
#define BALANCE_LIKELY	(1024ULL * 1024 * 1024 * 1024)

/*
 * An odd weight for what one rank sends to another.  Because it is odd, a count times the weight
 * is a multiple of 2^64 only if the count is.
 */
static u64 balance_weight(u32 from, u32 to)
{
	u64 mix = (from * (u64)COLLECTIVE_RANKS_MAX + to + 1) * 0x9e3779b97f4a7c15ULL;

	mix = (mix ^ mix >> 30) * 0xbf58476d1ce4e5b9ULL;
	mix = (mix ^ mix >> 27) * 0x94d049bb133111ebULL;
	return (mix ^ mix >> 31) | 1;
}

/*
 * The multiplicative inverse of a weight, by Newton's method; each iteration doubles the bits.
 */
static u64 balance_inverse(u64 weight)
{
	u64 inverse = weight;
	u32 i;

	for (i = 0; i < 5; i++)
		inverse *= 2 - weight * inverse;
	return inverse;
}

static u64 balance_block(const u64 *first, u32 block)
{
	return first[block + 1] - first[block];
}

/* Elements that a rank sends to another; false: there is no count that only these two know. */
static bool balance_sent(const struct coll_plan *plan, u32 to, u64 *count)
{
	bool root = coll_plan_is_root(plan);

	switch (plan->collective) {
	case COLLECTIVE_GATHER:
		*count = plan->count;
		return !root && to == plan->root;
	case COLLECTIVE_SCATTER:
		if (!root)
			return false;
		fallthrough;
	default:
		*count = balance_block(plan->send_first, to);
		return true;
	}
}

/* Likewise, elements that it expects from another. */
static bool balance_expected(const struct coll_plan *plan, u32 from, u64 *count)
{
	bool root = coll_plan_is_root(plan);

	switch (plan->collective) {
	case COLLECTIVE_SCATTER:
		*count = plan->count;
		return !root && from == plan->root;
	case COLLECTIVE_GATHER:
		if (!root)
			return false;
		fallthrough;
	default:
		*count = balance_block(plan->recv_first, from);
		return true;
	}
}

/**
 * coll_balance_own() - the part of this rank in the sum
 * @plan: an operation with a coll_signature_paired() signature
 *
 * A rank's own block is left out; it was checked at submission.
 */
u64 coll_balance_own(const struct coll_plan *plan)
{
	u64 own = 0, count;
	u32 peer;

	for (peer = 0; peer < plan->nranks; peer++) {
		if (peer == plan->rank)
			continue;
		if (balance_sent(plan, peer, &count))
			own += count * balance_weight(plan->rank, peer);
		if (balance_expected(plan, peer, &count))
			own -= count * balance_weight(peer, plan->rank);
	}
	return own;
}

/*
 * The sum of @ranks ranks up to this one: the window of the largest power of two, and the rest
 * from the rank that is so far before.
 */
static u64 balance_sum(const struct coll_balance *heard, u64 own, u32 ranks)
{
	u64 sum = own;
	u32 round;

	if (!ranks)
		return 0;
	for (round = 0; ranks >> (round + 1); round++)
		sum += heard[round].window;
	return ranks & ((1U << round) - 1) ? sum + heard[round].rest : sum;
}

/**
 * coll_balance_put() - fill in the announcement of a round
 * @heard: balances received in the rounds before
 * @own: result of coll_balance_own()
 * @nranks: number of ranks of the group
 * @round: number of the round
 * @signature: its count and layout are filled in
 */
void coll_balance_put(const struct coll_balance *heard, u64 own, u32 nranks, u32 round,
		      struct coll_signature *signature)
{
	signature->count = balance_sum(heard, own, 1U << round);
	signature->layout = balance_sum(heard, own, nranks & ((1U << round) - 1));
}

/**
 * coll_balance_get() - take the balance out of an announcement
 * @signature: signature as received; afterwards, as ranks compare it
 *
 * Return: the balance; 0 if the announcement has none.
 */
struct coll_balance coll_balance_get(struct coll_signature *signature)
{
	struct coll_balance balance = { 0 };

	if (!coll_signature_paired(signature))
		return balance;
	balance.window = signature->count;
	balance.rest = signature->layout;
	signature->count = 0;
	signature->layout = 0;
	return balance;
}

/**
 * coll_balance_total() - the sum of all ranks
 * @heard: balances received in all rounds
 * @own: result of coll_balance_own()
 * @nranks: number of ranks of the group
 *
 * Return: the same on every rank; 0 if all counts match.
 */
u64 coll_balance_total(const struct coll_balance *heard, u64 own, u32 nranks)
{
	return balance_sum(heard, own, nranks);
}

/**
 * coll_balance_find() - find the pair of ranks with different counts
 * @plan: the operation, on this rank
 * @total: sum of all ranks, not 0
 * @found: filled in
 *
 * If one pair differs, the sum is the difference times the weight of the pair.  For a wrong pair,
 * the division gives a difference that is out of range.
 *
 * Return: true if this rank is one of the pair.
 */
bool coll_balance_find(const struct coll_plan *plan, u64 total,
		       struct coll_imbalance *found)
{
	u32 rank = plan->rank, peer;
	u64 count, other;

	for (peer = 0; peer < plan->nranks; peer++) {
		if (peer == rank)
			continue;
		if (balance_sent(plan, peer, &count)) {
			other = count - total * balance_inverse(balance_weight(rank, peer));
			*found = (struct coll_imbalance){ rank, peer, count, other };
			if (other < BALANCE_LIKELY)
				return true;
		}
		if (balance_expected(plan, peer, &count)) {
			other = count + total * balance_inverse(balance_weight(peer, rank));
			*found = (struct coll_imbalance){ peer, rank, other, count };
			if (other < BALANCE_LIKELY)
				return true;
		}
	}
	return false;
}
