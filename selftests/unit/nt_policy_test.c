// SPDX-License-Identifier: GPL-2.0-only
/*
 * The decision for non-temporal stores, tested on models of caches.  A model gives the time of
 * an operation on a machine whose caches it fits, or does not.
 */
#include "core/data/nt_policy.h"
#include "tap.h"

#define MIB	(1024 * 1024ULL)
#define PIECE	(64 * 1024U)

/*
 * A model: ns[0] are the times of a piece with ordinary stores, ns[1] with non-temporal ones.
 * The first of each is the time after two operations' bytes were stored the same way; the
 * second is the time before that.  Every @stall-th piece takes 1,000 times as long; 0: none.
 */
struct model {
	u32 ns[2][2];
	u32 stall;
};

static const struct model large = { .ns = { { 9000, 8000 }, { 5200, 5300 } } };
static const struct model fitting = { .ns = { { 4500, 6000 }, { 5200, 5500 } } };
static const struct model close = { .ns = { { 5000, 5000 }, { 4200, 4200 } } };
static const struct model stalling = { .ns = { { 9000, 8000 }, { 5200, 5300 } }, .stall = 50 };
static const struct model settling = { .ns = { { 3500, 9000 }, { 5000, 5000 } } };

/* Bytes that were stored the same way as the last piece, and that way */
static u64 run;
static bool last;
static u64 pieces;

/* Execute one operation.  Return: its bytes with non-temporal stores. */
static u64 operation(struct coll_nt_policies *policies, const struct model *model, u64 volume,
		     enum coll_nt_policy_source source)
{
	struct coll_nt_policy *policy = coll_nt_policy_find(policies, volume, source);
	u64 nontemporal = 0, off;

	for (off = 0; off < volume; off += PIECE) {
		bool way = coll_nt_policy_use(policy);
		u64 ns;

		run = way == last ? run + PIECE : PIECE;
		last = way;
		ns = model->ns[way][run < 2 * policy->unit];
		if (model->stall && !(++pieces % model->stall))
			ns *= 1000;
		nontemporal += way ? PIECE : 0;
		coll_nt_policy_update(policy, PIECE, coll_nt_policy_timing(policy) ? ns : 0);
	}
	return nontemporal;
}

/* Execute @count operations.  Return: percent of their bytes with non-temporal stores. */
static u64 operations(struct coll_nt_policies *policies, const struct model *model, u64 volume,
		      u32 count)
{
	u64 nontemporal = 0;
	u32 i;

	for (i = 0; i < count; i++)
		nontemporal += operation(policies, model, volume, COLL_NT_RECEIVED);
	return nontemporal * 100 / (volume * count);
}

static bool within(const char *what, u64 is, u64 least, u64 most)
{
	if (is < least || is > most)
		tap_note("%s: %llu %% non-temporal, not %llu to %llu", what, (unsigned long long)is,
			 (unsigned long long)least, (unsigned long long)most);
	return is >= least && is <= most;
}

static bool test_model(const struct model *model, u64 least, u64 most)
{
	u64 volume;
	bool passed = true;

	for (volume = MIB; volume <= 300 * MIB; volume += 23 * MIB) {
		struct coll_nt_policies policies = { 0 };

		run = 0;
		operations(&policies, model, volume, 60);
		passed &= within("later", operations(&policies, model, volume, 3000), least, most);
	}
	return passed;
}

/* A few operations decide, and there is no new trial soon. */
static bool test_soon(void)
{
	struct coll_nt_policies policies = { 0 };

	operations(&policies, &large, 64 * MIB, 4);
	return within("soon", operations(&policies, &large, 64 * MIB, 100), 100, 100);
}

/* A trial of the slower way ends early. */
static bool test_given_up(void)
{
	struct coll_nt_policies policies = { 0 };

	return within("first", operations(&policies, &fitting, 64 * MIB, 60), 0, 6);
}

/* Another program uses the caches for some time. */
static bool test_change(void)
{
	struct coll_nt_policies policies = { 0 };
	bool passed;

	operations(&policies, &fitting, 16 * MIB, 500);
	operations(&policies, &large, 16 * MIB, 2500);
	passed = within("too large now", operations(&policies, &large, 16 * MIB, 50), 90, 100);
	operations(&policies, &fitting, 16 * MIB, 2500);
	return within("no more", operations(&policies, &fitting, 16 * MIB, 50), 0, 10) && passed;
}

/* Sizes and sources do not influence each other's decisions. */
static bool test_apart(void)
{
	struct coll_nt_policies policies = { 0 };
	bool passed;
	u32 i;

	operations(&policies, &large, 64 * MIB, 20);
	passed = within("half", operations(&policies, &fitting, 32 * MIB, 3), 0, 40);
	for (i = 0; i < 3; i++)
		passed &= operation(&policies, &large, 64 * MIB, COLL_NT_LOCAL) < 64 * MIB;
	return passed && within("as it was", operations(&policies, &large, 64 * MIB, 3), 100, 100);
}

static bool test_find(void)
{
	struct coll_nt_policies policies = { 0 };

	return !coll_nt_policy_find(&policies, 0, COLL_NT_LOCAL) &&
	       !coll_nt_policy_find(&policies, COLL_NT_MIN - 1, COLL_NT_LOCAL) &&
	       coll_nt_policy_find(&policies, COLL_NT_MIN, COLL_NT_LOCAL) ==
	       &policies.policy[0][COLL_NT_LOCAL] &&
	       coll_nt_policy_find(&policies, 2 * COLL_NT_MIN - 1, COLL_NT_FORWARDED) ==
	       &policies.policy[0][COLL_NT_FORWARDED] &&
	       coll_nt_policy_find(&policies, 2 * COLL_NT_MIN, COLL_NT_FORWARDED) ==
	       &policies.policy[1][COLL_NT_FORWARDED] &&
	       coll_nt_policy_find(&policies, U64_MAX, COLL_NT_RECEIVED) ==
	       &policies.policy[COLL_NT_SIZES - 1][COLL_NT_RECEIVED];
}

int main(void)
{
	tap_plan(10);
	tap_ok(test_find(), "policy by size and source");
	tap_ok(test_soon(), "too large for the caches: decided after a few operations");
	tap_ok(test_given_up(), "fits the caches: non-temporal stores hardly tried");
	tap_ok(test_model(&large, 98, 100), "too large for the caches: non-temporal stores");
	tap_ok(test_model(&fitting, 0, 1), "fits the caches: ordinary stores");
	tap_ok(test_model(&close, 0, 5), "little to gain: ordinary stores");
	tap_ok(test_model(&stalling, 98, 100), "single slow pieces do not change the decision");
	tap_ok(test_model(&settling, 0, 5), "fits the caches after a while: ordinary stores");
	tap_ok(test_change(), "the decision follows a change");
	tap_ok(test_apart(), "sizes and sources are decided apart");
	return tap_exit();
}
