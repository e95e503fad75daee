// SPDX-License-Identifier: GPL-2.0-only
#include "core/data/nt_policy.h"

/* Each time that nothing changes it is four times as long until the next trial, up to so often. */
#define CACHING_AGAIN		5

/*
 * Samples until memory is where a way of copying leaves it: of the first trial, which is short
 * and may be wrong, and of the others.
 */
#define CACHING_FILL_FIRST	COLL_NT_SAMPLES
#define CACHING_FILL		(6 * COLL_NT_SAMPLES)

/*
 * Past the caches has to take four fifths of the time at most: who reads the result next has
 * it from memory.
 */
#define CACHING_GAIN_NUM	4
#define CACHING_GAIN_DEN	5

/* A way that takes three quarters of the time or less is doubted as late as one found thrice. */
#define CACHING_CLEAR_NUM	3
#define CACHING_CLEAR_DEN	4
#define CACHING_CLEAR		3

/*
 * A trial is given up after so many samples, if each of these took longer than usual; or what
 * is stored in the caches, which gets quicker, half as long again.
 */
#define CACHING_GIVE_UP_PAST	3
#define CACHING_GIVE_UP_IN	(3 * COLL_NT_SAMPLES)

/**
 * coll_nt_policy_find() - what holds for an operation
 * @policies: where
 * @volume: bytes of it
 * @source: of what is copied
 *
 * Return: that; NULL: its bytes are stored in the caches.
 */
struct coll_nt_policy *coll_nt_policy_find(struct coll_nt_policies *policies, u64 volume,
					   enum coll_nt_policy_source source)
{
	struct coll_nt_policy *policy;
	u32 size = 0;

	if (volume < COLL_NT_MIN)
		return NULL;
	while (size < COLL_NT_SIZES - 1 && volume >> (size + 1) >= COLL_NT_MIN)
		size++;
	policy = &policies->policy[size][source];
	policy->unit = (u64)COLL_NT_MIN << size;
	return policy;
}

static bool caching_other(const struct coll_nt_policy *policy)
{
	return policy->round > COLL_NT_CURRENT;
}

/**
 * coll_nt_policy_use() - are the next bytes stored past the caches?
 * @policy: of their operation
 */
bool coll_nt_policy_use(const struct coll_nt_policy *policy)
{
	return policy->nontemporal != caching_other(policy);
}

/**
 * coll_nt_policy_timing() - does it matter how long the next bytes take?
 * @policy: of their operation
 */
bool coll_nt_policy_timing(const struct coll_nt_policy *policy)
{
	return policy->round != COLL_NT_SETTLED;
}

static void caching_round(struct coll_nt_policy *policy, enum coll_nt_policy_round round)
{
	policy->round = round;
	policy->samples = 0;
	policy->bytes = 0;
	policy->ns = 0;
}

/* Bytes until the next trial, or sample. */
static u64 caching_interval(const struct coll_nt_policy *policy)
{
	if (policy->round != COLL_NT_SETTLED)
		return policy->unit / COLL_NT_SAMPLES;
	return policy->streak ? policy->unit << (2 * policy->streak + 1) : policy->unit;
}

/* Did the other way take so much of the time, or less? */
static bool caching_within(const struct coll_nt_policy *policy, u32 num, u32 den)
{
	u64 as_ever = policy->cost[false][COLL_NT_SAMPLES / 2];
	u64 other = policy->cost[true][COLL_NT_SAMPLES / 2];

	return other * den < as_ever * num;
}

static void caching_settle(struct coll_nt_policy *policy, bool change)
{
	policy->nontemporal ^= change;
	if (!change)
		policy->streak = min(policy->streak + 1, CACHING_AGAIN);
	else
		policy->streak = caching_within(policy, CACHING_CLEAR_NUM, CACHING_CLEAR_DEN) ?
				 CACHING_CLEAR : 1;
	caching_round(policy, COLL_NT_SETTLED);
}

/* Is the other way better? */
static bool caching_better(const struct coll_nt_policy *policy)
{
	if (policy->nontemporal)
		return caching_within(policy, CACHING_GAIN_DEN, CACHING_GAIN_NUM);
	return caching_within(policy, CACHING_GAIN_NUM, CACHING_GAIN_DEN);
}

static bool caching_hopeless(const struct coll_nt_policy *policy)
{
	u64 as_ever = policy->cost[false][COLL_NT_SAMPLES / 2];

	if (policy->nontemporal)
		return policy->samples >= CACHING_GIVE_UP_IN && policy->best > as_ever * 3 / 2;
	return policy->samples >= CACHING_GIVE_UP_PAST && policy->best > as_ever;
}

/* One sample while memory is on its way. */
static void caching_fill(struct coll_nt_policy *policy, u32 cost)
{
	u8 fill = policy->streak ? CACHING_FILL : CACHING_FILL_FIRST;

	policy->best = policy->samples++ ? min(policy->best, cost) : cost;
	if (caching_hopeless(policy))
		caching_settle(policy, false);
	else if (policy->samples == fill)
		caching_round(policy, COLL_NT_TRIAL);
}

/* One that counts. */
static void caching_count(struct coll_nt_policy *policy, u32 now)
{
	u32 *cost = policy->cost[caching_other(policy)];
	u8 at;

	for (at = policy->samples++; at && cost[at - 1] > now; at--)
		cost[at] = cost[at - 1];
	cost[at] = now;
	if (policy->samples < COLL_NT_SAMPLES)
		return;
	if (policy->round == COLL_NT_CURRENT)
		caching_round(policy, COLL_NT_WARMUP);
	else
		caching_settle(policy, caching_better(policy));
}

static void caching_sample(struct coll_nt_policy *policy)
{
	u32 cost = min_t(u64, div_u64(policy->ns << 14, policy->bytes), U32_MAX);

	policy->bytes = 0;
	policy->ns = 0;
	if (policy->round == COLL_NT_WARMUP)
		caching_fill(policy, cost);
	else
		caching_count(policy, cost);
}

/**
 * coll_nt_policy_update() - bytes have been copied, as was wanted
 * @policy: of their operation
 * @len: how many, less than 1 GiB
 * @ns: time that it took, if coll_nt_policy_timing(); else 0
 */
void coll_nt_policy_update(struct coll_nt_policy *policy, size_t len, u64 ns)
{
	policy->bytes += len;
	policy->ns += min_t(u64, ns, U32_MAX);
	if (policy->bytes < caching_interval(policy))
		return;
	if (policy->round == COLL_NT_SETTLED)
		caching_round(policy, COLL_NT_CURRENT);
	else
		caching_sample(policy);
}
