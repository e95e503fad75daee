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

#include "coll.h"

/* Bytes of a request that its call says. */
#define SPARE_KNOWN	offsetof(struct coll_request, node)

static struct coll_request **spare_place(struct coll_member *member,
					 const struct collective_op *op)
{
	u64 mix = op->send ^ op->count << 16 ^ op->opcode;

	return &member->request_cache[hash_64(mix, ilog2(COLL_SPARES))];
}

/**
 * coll_request_cache_get() - take out the request of a call, or memory for it
 * @member: the member
 * @op: the call, not checked
 *
 * Return: a request of a single part, of whatever call: the caller's; or NULL.
 */
struct coll_request *coll_request_cache_get(struct coll_member *member,
					    const struct collective_op *op)
{
	struct coll_request **place = spare_place(member, op);

	return READ_ONCE(*place) ? xchg(place, NULL) : NULL;
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
	memset((void *)request + SPARE_KNOWN, 0, struct_size(request, part, 1) - SPARE_KNOWN);
	return true;
}

/* KASAN is to see who uses what is over, so what is known is kept in other memory there. */
static void spare_copy(struct coll_request **place, const struct coll_request *request)
{
	struct coll_request *copy = coll_request_alloc(request->member, 1);

	if (IS_ERR(copy))
		return;
	memcpy(copy, request, SPARE_KNOWN);
	if (cmpxchg(place, NULL, copy))
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
	struct coll_request **place = spare_place(request->member, &request->op);

	if (request->nparts != 1 || READ_ONCE(*place))
		return false;
	if (!IS_ENABLED(CONFIG_KASAN))
		return !cmpxchg(place, NULL, request);
	spare_copy(place, request);
	return false;
}

/**
 * coll_request_cache_clear() - give all memory back
 * @member: one that has no requests any more
 */
void coll_request_cache_clear(struct coll_member *member)
{
	u32 i;

	for (i = 0; i < COLL_SPARES; i++) {
		if (member->request_cache[i])
			coll_request_release(member->request_cache[i]);
		member->request_cache[i] = NULL;
	}
}
