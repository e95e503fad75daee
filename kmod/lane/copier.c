// SPDX-License-Identifier: GPL-2.0-only
/*
 * How a lane copies what is much: in the caches or past them (core/data/nt_policy.h), alone or with
 * a helper (copy_helper.c).
 */
#include <linux/ktime.h>
#include <linux/moduleparam.h>

#include "lane/copy_helper.h"
#include "lane/lane.h"

/* Bytes; less is done as usual. */
#define COPIER_MIN	4096

static int nontemporal = -1;
module_param(nontemporal, int, 0644);
MODULE_PARM_DESC(nontemporal,
		 "Store copied results of 1 MiB and more with non-temporal stores, which bypass the CPU caches. -1 (default): if each lane measures them to be faster, 0: never, 1: always");

/* What is found out; NULL: nothing is. */
static struct coll_nt_policy *copier_caching(struct coll_lane *lane,
					     const struct coll_copy_hint *haul)
{
	if (READ_ONCE(nontemporal) >= 0)
		return NULL;
	return coll_nt_policy_find(&lane->nt_policies, haul->volume, haul->source);
}

static bool copier_past(const struct coll_nt_policy *caching, const struct coll_copy_hint *haul)
{
	if (caching)
		return coll_nt_policy_use(caching);
	return READ_ONCE(nontemporal) > 0 && haul->volume >= COLL_CACHING_MIN;
}

/* See struct coll_copier. */
static bool copier_store(struct coll_copier *copier, const struct coll_mem *dst, u64 off,
			 const void *ptr, size_t len, const struct coll_copy_hint *haul)
{
	struct coll_lane *lane = container_of(copier, struct coll_lane, copier);
	struct coll_nt_policy *caching;
	coll_copy_fn copy = lane->engine.impl->copy;
	u64 begin = 0;

	if (len < COPIER_MIN)
		return false;
	caching = copier_caching(lane, haul);
	if (copier_past(caching, haul)) {
		copy = coll_copy_nontemporal;
		lane->nontemporal_bytes += len;
	}
	if (caching && coll_nt_policy_timing(caching))
		begin = ktime_get_ns();
	if (!coll_copy_helper_split(lane->copy_helper, copy, dst, off, ptr, len, haul->left))
		coll_mem_store(copy, dst, off, ptr, len);
	if (caching)
		coll_nt_policy_update(caching, len, begin ? ktime_get_ns() - begin : 0);
	return true;
}

/**
 * coll_copier_setup() - a lane copies what is much as said here
 * @lane: the lane, whose engine knows how to copy
 */
void coll_copier_setup(struct coll_lane *lane)
{
	lane->copier.store = copier_store;
	lane->engine.copier = &lane->copier;
}
