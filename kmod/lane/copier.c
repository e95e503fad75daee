// SPDX-License-Identifier: GPL-2.0-only
/*
 * How a lane copies large pieces: through the caches or with non-temporal stores
 * (core/data/nt_policy.h).
 */
#include <linux/ktime.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "lane/lane.h"
#include "mem/account.h"
#include "net/net.h"

/* Bytes; shorter pieces are copied by the core itself. */
#define COPIER_MIN	4096

static int nontemporal = -1;
module_param(nontemporal, int, 0644);
MODULE_PARM_DESC(nontemporal,
		 "Store copied results of 1 MiB and more with non-temporal stores, which bypass the CPU caches. -1 (default): if each lane measures them to be faster, 0: never, 1: always");

/* The policy that decides; NULL: the parameter does. */
static struct coll_nt_policy *find_policy(struct coll_lane *lane,
					  const struct coll_copy_hint *hint)
{
	struct coll_nt_policies *policies = READ_ONCE(lane->nt_policies);

	if (READ_ONCE(nontemporal) >= 0 || !policies)
		return NULL;
	return coll_nt_policy_find(policies, hint->volume, hint->source);
}

static bool use_nontemporal(const struct coll_nt_policy *policy, const struct coll_copy_hint *hint)
{
	if (policy)
		return coll_nt_policy_use(policy);
	return READ_ONCE(nontemporal) > 0 && hint->volume >= COLL_NT_MIN;
}

/* See struct coll_copier. */
static bool copier_store(struct coll_copier *copier, const struct coll_mem *dst, u64 off,
			 const void *ptr, size_t len, const struct coll_copy_hint *hint)
{
	struct coll_lane *lane = container_of(copier, struct coll_lane, copier);
	struct coll_nt_policy *policy;
	coll_copy_fn copy = lane->engine.impl->copy;
	u64 begin = 0;

	if (len < COPIER_MIN)
		return false;
	policy = find_policy(lane, hint);
	if (use_nontemporal(policy, hint)) {
		copy = coll_copy_nontemporal;
		lane->nontemporal_bytes += len;
	}
	if (policy && coll_nt_policy_timing(policy))
		begin = ktime_get_ns();
	coll_mem_store(copy, dst, off, ptr, len);
	if (policy)
		coll_nt_policy_update(policy, len, begin ? ktime_get_ns() - begin : 0);
	return true;
}

/**
 * coll_copier_setup() - let a lane copy large pieces as said here
 * @lane: the lane; its engine's reductions are selected
 */
void coll_copier_setup(struct coll_lane *lane)
{
	lane->copier.store = copier_store;
	lane->engine.copier = &lane->copier;
}

static void policies_new(struct coll_lane *lane)
{
	struct coll_charges *charges = lane->net->charges;
	struct coll_nt_policies *policies;

	if (coll_charge(charges, sizeof(*policies)))
		return;
	policies = kzalloc(sizeof(*policies),
			   GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	/* Publishes the zeroed policies, unless another thread was first. */
	if (policies && !cmpxchg(&lane->nt_policies, NULL, policies))
		return;
	kfree(policies);
	coll_uncharge(charges, sizeof(*policies));
}

/**
 * coll_copier_reserve() - have memory for what copies of an operation's result measure
 * @lane: of the operation
 * @volume: bytes of the result
 *
 * Without memory it is stored to the caches.
 *
 * Context: process that submits; may sleep.
 */
void coll_copier_reserve(struct coll_lane *lane, u64 volume)
{
	if (volume >= COLL_NT_MIN && !READ_ONCE(lane->nt_policies))
		policies_new(lane);
}

/**
 * coll_copier_cleanup() - free what was measured
 * @lane: no operation uses it
 */
void coll_copier_cleanup(struct coll_lane *lane)
{
	if (!lane->nt_policies)
		return;
	kfree(lane->nt_policies);
	lane->nt_policies = NULL;
	coll_uncharge(lane->net->charges, sizeof(*lane->nt_policies));
}
