// SPDX-License-Identifier: GPL-2.0-only
/*
 * Spare requests: of operations that are over, for the next ones of the same calls.
 *
 * Programs call the same again and again.  What a request knows of its call is true of
 * every operation that is called so, as nobody calls before the group is up, from when on
 * a member stays what it is.  Only a layout, which is the user's memory, has to be read
 * again; buffers are looked up or pinned for each operation.  And a request's memory need
 * not be the allocator's in between.
 *
 * A place belongs to whoever takes out what is there, without a lock.
 */
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "op/request.h"
#include "op/request_cache.h"
#include "op/requests.h"

/* Bytes of a request that its call says. */
#define CACHE_CALL_BYTES	offsetof(struct coll_request, node)

static struct coll_request **cache_slot(struct coll_requests *reqs,
					const struct collective_op *op)
{
	u64 mix = op->send ^ op->count << 16 ^ op->opcode;

	return &reqs->cache[hash_64(mix, ilog2(COLL_REQUEST_CACHE))];
}

/**
 * coll_request_cache_get() - take out the request of a call, or memory for it
 * @reqs: the member
 * @op: the call, not checked
 *
 * Return: a request of a single part, of whatever call: the caller's; or NULL.
 */
struct coll_request *coll_request_cache_get(struct coll_requests *reqs,
					    const struct collective_op *op)
{
	struct coll_request **slot = cache_slot(reqs, op);

	return READ_ONCE(*slot) ? xchg(slot, NULL) : NULL;
}

/**
 * coll_request_cache_hit() - is a call the same?  Then make a new request of the old one
 * @request: from coll_request_cache_get()
 * @op: the call, not checked
 *
 * Return: true: it is, and nothing is set of @request but what it knows of the call.
 */
bool coll_request_cache_hit(struct coll_request *request, const struct collective_op *op)
{
	if (!request || op->layout || memcmp(&request->op, op, sizeof(*op)))
		return false;
	memset((void *)request + CACHE_CALL_BYTES, 0,
	       struct_size(request, part, 1) - CACHE_CALL_BYTES);
	return true;
}

/* KASAN is to see who uses what is over, so what is known is kept in other memory there. */
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
 * coll_request_cache_put() - keep a request that is over, or what is known of its call
 * @request: nobody's any more
 *
 * Context: may sleep.
 * Return: false if it is still to be freed.
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
 * coll_request_cache_clear() - give all memory back
 * @reqs: one that has no requests any more
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
