// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cache of free requests, each kept for the next operation with the same call.
 *
 * Programs repeat the same calls.  The fields of a request that depend on its call only stay valid,
 * because a member does not change once its group is up.  A call with a layout is never reused,
 * because the layout is user memory and must be read again.  Buffers are looked up or pinned for
 * each operation.  The memory of the request need not be allocated again either.
 *
 * A slot is emptied with xchg() and filled with cmpxchg(), without a lock; a request that was taken
 * out belongs to the caller.
 */
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "op/request.h"
#include "op/request_cache.h"
#include "op/requests.h"

/* Bytes of the fields that depend on the call only. */
#define CACHE_CALL_BYTES	offsetof(struct coll_request, node)

static struct coll_request **cache_slot(struct coll_requests *reqs,
					const struct collective_op *op)
{
	u64 mix = op->send ^ op->count << 16 ^ op->opcode;

	return &reqs->cache[hash_64(mix, ilog2(COLL_REQUEST_CACHE))];
}

/**
 * coll_request_cache_get() - take a cached request out of the slot of a call
 * @reqs: of the member
 * @op: the call, not checked
 *
 * Return: a request of one part, which may be of another call and belongs to the caller; or NULL.
 */
struct coll_request *coll_request_cache_get(struct coll_requests *reqs,
					    const struct collective_op *op)
{
	struct coll_request **slot = cache_slot(reqs, op);

	return READ_ONCE(*slot) ? xchg(slot, NULL) : NULL;
}

/**
 * coll_request_cache_hit() - is a cached request of the same call?  Then clear the other fields
 * @request: from coll_request_cache_get()
 * @op: the call, not checked
 *
 * Return: true if the calls are the same; only the fields before @node are then set.
 */
bool coll_request_cache_hit(struct coll_request *request, const struct collective_op *op)
{
	if (!request || op->layout || memcmp(&request->op, op, sizeof(*op)))
		return false;
	memset((void *)request + CACHE_CALL_BYTES, 0,
	       struct_size(request, part, 1) - CACHE_CALL_BYTES);
	return true;
}

/* With KASAN the request is freed, so that later accesses are found; a copy is cached. */
static void cache_copy(struct coll_request **slot, const struct coll_request *request)
{
	struct coll_request *copy = coll_request_alloc(request->reqs, 1);

	if (IS_ERR(copy))
		return;
	memcpy(copy, request, CACHE_CALL_BYTES);
	if (cmpxchg(slot, NULL, copy))
		coll_request_release(copy);
}

/**
 * coll_request_cache_put() - cache a request that is over, or a copy of it
 * @request: owned by the caller
 *
 * Context: may sleep.
 * Return: true if the request was cached; false if the caller must free it.
 */
bool coll_request_cache_put(struct coll_request *request)
{
	struct coll_request **slot = cache_slot(request->reqs, &request->op);

	if (request->nparts != 1 || READ_ONCE(*slot))
		return false;
	if (!IS_ENABLED(CONFIG_KASAN))
		return !cmpxchg(slot, NULL, request);
	cache_copy(slot, request);
	return false;
}

/**
 * coll_request_cache_clear() - free all cached requests
 * @reqs: of a member that has no requests any more
 */
void coll_request_cache_clear(struct coll_requests *reqs)
{
	u32 i;

	for (i = 0; i < COLL_REQUEST_CACHE; i++) {
		if (reqs->cache[i])
			coll_request_release(reqs->cache[i]);
		reqs->cache[i] = NULL;
	}
}
