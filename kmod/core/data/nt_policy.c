// SPDX-License-Identifier: GPL-2.0-only
#include "core/data/nt_policy.h"

/*
 * A trial that changes nothing makes the time to the next one four times as long, up to this
 * often.
 */
#define NT_AGAIN		5

/*
 * Samples until the caches are in the state that the other way of copying leaves behind: for the
 * first trial, which is short and may be wrong, and for the others.
 */
#define NT_FILL_FIRST		COLL_NT_SAMPLES
#define NT_FILL			(6 * COLL_NT_SAMPLES)

/*
 * Nontemporal stores must take at most four fifths of the time, because the next reader of the
 * result then has to read it from memory.
 */
#define NT_GAIN_NUM		4
#define NT_GAIN_DEN		5

/* A way that takes at most three quarters of the time counts as confirmed three times. */
#define NT_CLEAR_NUM		3
#define NT_CLEAR_DEN		4
#define NT_CLEAR		3

/*
 * A trial is given up after so many samples if each took longer than usual; for stores to the
 * caches, which become faster with time, if each took half as long again.
 */
#define NT_GIVE_UP_PAST		3
#define NT_GIVE_UP_IN		(3 * COLL_NT_SAMPLES)

/**
 * coll_nt_policy_find() - the policy for an operation
 * @policies: all policies
 * @volume: bytes of the operation's result
 * @source: source of the copied bytes
 *
 * Return: the policy; NULL: store to the caches.
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

static bool policy_other(const struct coll_nt_policy *policy)
{
	return policy->round > COLL_NT_CURRENT;
}

/**
 * coll_nt_policy_use() - are the next bytes stored with nontemporal stores?
 * @policy: policy of their operation
 */
bool coll_nt_policy_use(const struct coll_nt_policy *policy)
{
	return policy->nontemporal != policy_other(policy);
}

/**
 * coll_nt_policy_timing() - must the caller measure the time of the next copy?
 * @policy: policy of its operation
 */
bool coll_nt_policy_timing(const struct coll_nt_policy *policy)
{
	return policy->round != COLL_NT_SETTLED;
}

static void policy_round(struct coll_nt_policy *policy, enum coll_nt_policy_round round)
{
	policy->round = round;
	policy->samples = 0;
	policy->bytes = 0;
	policy->ns = 0;
}

/* Bytes until the next trial or sample. */
static u64 policy_interval(const struct coll_nt_policy *policy)
{
	if (policy->round != COLL_NT_SETTLED)
		return policy->unit / COLL_NT_SAMPLES;
	return policy->streak ? policy->unit << (2 * policy->streak + 1) : policy->unit;
}

/* Did the other way take at most num / den of the time? */
static bool policy_within(const struct coll_nt_policy *policy, u32 num, u32 den)
{
	u64 current_cost = policy->cost[false][COLL_NT_SAMPLES / 2];
	u64 other = policy->cost[true][COLL_NT_SAMPLES / 2];

	return other * den < current_cost * num;
}

static void policy_settle(struct coll_nt_policy *policy, bool change)
{
	policy->nontemporal ^= change;
	if (!change)
		policy->streak = min(policy->streak + 1, NT_AGAIN);
	else
		policy->streak = policy_within(policy, NT_CLEAR_NUM, NT_CLEAR_DEN) ?
				 NT_CLEAR : 1;
	policy_round(policy, COLL_NT_SETTLED);
}

/* Is the other way better? */
static bool policy_better(const struct coll_nt_policy *policy)
{
	if (policy->nontemporal)
		return policy_within(policy, NT_GAIN_DEN, NT_GAIN_NUM);
	return policy_within(policy, NT_GAIN_NUM, NT_GAIN_DEN);
}

static bool policy_hopeless(const struct coll_nt_policy *policy)
{
	u64 current_cost = policy->cost[false][COLL_NT_SAMPLES / 2];

	if (policy->nontemporal)
		return policy->samples >= NT_GIVE_UP_IN && policy->best > current_cost * 3 / 2;
	return policy->samples >= NT_GIVE_UP_PAST && policy->best > current_cost;
}

/* A sample while the state of the caches still changes. */
static void policy_fill(struct coll_nt_policy *policy, u32 cost)
{
	u8 fill = policy->streak ? NT_FILL : NT_FILL_FIRST;

	policy->best = policy->samples++ ? min(policy->best, cost) : cost;
	if (policy_hopeless(policy))
		policy_settle(policy, false);
	else if (policy->samples == fill)
		policy_round(policy, COLL_NT_TRIAL);
}

/* A sample that counts. */
static void policy_count(struct coll_nt_policy *policy, u32 now)
{
	u32 *cost = policy->cost[policy_other(policy)];
	u8 at;

	for (at = policy->samples++; at && cost[at - 1] > now; at--)
		cost[at] = cost[at - 1];
	cost[at] = now;
	if (policy->samples < COLL_NT_SAMPLES)
		return;
	if (policy->round == COLL_NT_CURRENT)
		policy_round(policy, COLL_NT_WARMUP);
	else
		policy_settle(policy, policy_better(policy));
}

static void policy_sample(struct coll_nt_policy *policy)
{
	u32 cost = min_t(u64, div_u64(policy->ns << 14, policy->bytes), U32_MAX);

	policy->bytes = 0;
	policy->ns = 0;
	if (policy->round == COLL_NT_WARMUP)
		policy_fill(policy, cost);
	else
		policy_count(policy, cost);
}

/**
 * coll_nt_policy_update() - record a copy
 * @policy: policy of its operation
 * @len: number of bytes, less than 1 GiB
 * @ns: time of the copy in ns if coll_nt_policy_timing(); else 0
 */
void coll_nt_policy_update(struct coll_nt_policy *policy, size_t len, u64 ns)
{
	policy->bytes += len;
	policy->ns += min_t(u64, ns, U32_MAX);
	if (policy->bytes < policy_interval(policy))
		return;
	if (policy->round == COLL_NT_SETTLED)
		policy_round(policy, COLL_NT_CURRENT);
	else
		policy_sample(policy);
}
