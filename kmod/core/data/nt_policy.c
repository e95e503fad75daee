// SPDX-License-Identifier: GPL-2.0-only
#include "core/data/nt_policy.h"

/* Each time that nothing changes it is four times as long until the next trial, up to so often. */
#define CACHING_AGAIN		5

/*
 * Samples until memory is where a way of copying leaves it: of the first trial, which is short
 * and may be wrong, and of the others.
 */
#define CACHING_FILL_FIRST	COLL_CACHING_SAMPLES
#define CACHING_FILL		(6 * COLL_CACHING_SAMPLES)

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
#define CACHING_GIVE_UP_IN	(3 * COLL_CACHING_SAMPLES)

/**
 * coll_nt_policy_find() - what holds for an operation
 * @cachings: where
 * @volume: bytes of it
 * @source: of what is copied
 *
 * Return: that; NULL: its bytes are stored in the caches.
 */
struct coll_nt_policy *coll_nt_policy_find(struct coll_nt_policies *cachings, u64 volume,
					   enum coll_nt_policy_source source)
{
	struct coll_nt_policy *caching;
	u32 size = 0;

	if (volume < COLL_CACHING_MIN)
		return NULL;
	while (size < COLL_CACHING_SIZES - 1 && volume >> (size + 1) >= COLL_CACHING_MIN)
		size++;
	caching = &cachings->of[size][source];
	caching->unit = (u64)COLL_CACHING_MIN << size;
	return caching;
}

static bool caching_other(const struct coll_nt_policy *caching)
{
	return caching->round > COLL_CACHING_AS_EVER;
}

/**
 * coll_nt_policy_use() - are the next bytes stored past the caches?
 * @caching: of their operation
 */
bool coll_nt_policy_use(const struct coll_nt_policy *caching)
{
	return caching->past != caching_other(caching);
}

/**
 * coll_nt_policy_timing() - does it matter how long the next bytes take?
 * @caching: of their operation
 */
bool coll_nt_policy_timing(const struct coll_nt_policy *caching)
{
	return caching->round != COLL_CACHING_SETTLED;
}

static void caching_round(struct coll_nt_policy *caching, enum coll_nt_policy_round round)
{
	caching->round = round;
	caching->samples = 0;
	caching->bytes = 0;
	caching->ns = 0;
}

/* Bytes until the next trial, or sample. */
static u64 caching_interval(const struct coll_nt_policy *caching)
{
	if (caching->round != COLL_CACHING_SETTLED)
		return caching->unit / COLL_CACHING_SAMPLES;
	return caching->again ? caching->unit << (2 * caching->again + 1) : caching->unit;
}

/* Did the other way take so much of the time, or less? */
static bool caching_within(const struct coll_nt_policy *caching, u32 num, u32 den)
{
	u64 as_ever = caching->cost[false][COLL_CACHING_SAMPLES / 2];
	u64 other = caching->cost[true][COLL_CACHING_SAMPLES / 2];

	return other * den < as_ever * num;
}

static void caching_settle(struct coll_nt_policy *caching, bool change)
{
	caching->past ^= change;
	if (!change)
		caching->again = min(caching->again + 1, CACHING_AGAIN);
	else
		caching->again = caching_within(caching, CACHING_CLEAR_NUM, CACHING_CLEAR_DEN) ?
				 CACHING_CLEAR : 1;
	caching_round(caching, COLL_CACHING_SETTLED);
}

/* Is the other way better? */
static bool caching_better(const struct coll_nt_policy *caching)
{
	if (caching->past)
		return caching_within(caching, CACHING_GAIN_DEN, CACHING_GAIN_NUM);
	return caching_within(caching, CACHING_GAIN_NUM, CACHING_GAIN_DEN);
}

static bool caching_hopeless(const struct coll_nt_policy *caching)
{
	u64 as_ever = caching->cost[false][COLL_CACHING_SAMPLES / 2];

	if (caching->past)
		return caching->samples >= CACHING_GIVE_UP_IN && caching->best > as_ever * 3 / 2;
	return caching->samples >= CACHING_GIVE_UP_PAST && caching->best > as_ever;
}

/* One sample while memory is on its way. */
static void caching_fill(struct coll_nt_policy *caching, u32 cost)
{
	u8 fill = caching->again ? CACHING_FILL : CACHING_FILL_FIRST;

	caching->best = caching->samples++ ? min(caching->best, cost) : cost;
	if (caching_hopeless(caching))
		caching_settle(caching, false);
	else if (caching->samples == fill)
		caching_round(caching, COLL_CACHING_OTHER);
}

/* One that counts. */
static void caching_count(struct coll_nt_policy *caching, u32 now)
{
	u32 *cost = caching->cost[caching_other(caching)];
	u8 at;

	for (at = caching->samples++; at && cost[at - 1] > now; at--)
		cost[at] = cost[at - 1];
	cost[at] = now;
	if (caching->samples < COLL_CACHING_SAMPLES)
		return;
	if (caching->round == COLL_CACHING_AS_EVER)
		caching_round(caching, COLL_CACHING_FILL);
	else
		caching_settle(caching, caching_better(caching));
}

static void caching_sample(struct coll_nt_policy *caching)
{
	u32 cost = min_t(u64, div_u64(caching->ns << 14, caching->bytes), U32_MAX);

	caching->bytes = 0;
	caching->ns = 0;
	if (caching->round == COLL_CACHING_FILL)
		caching_fill(caching, cost);
	else
		caching_count(caching, cost);
}

/**
 * coll_nt_policy_update() - bytes have been copied, as was wanted
 * @caching: of their operation
 * @len: how many, less than 1 GiB
 * @ns: time that it took, if coll_nt_policy_timing(); else 0
 */
void coll_nt_policy_update(struct coll_nt_policy *caching, size_t len, u64 ns)
{
	caching->bytes += len;
	caching->ns += min_t(u64, ns, U32_MAX);
	if (caching->bytes < caching_interval(caching))
		return;
	if (caching->round == COLL_CACHING_SETTLED)
		caching_round(caching, COLL_CACHING_AS_EVER);
	else
		caching_sample(caching);
}
