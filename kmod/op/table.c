// SPDX-License-Identifier: GPL-2.0-only
/*
 * The requests of a member: by id until they are collected, by instance while they are in flight.
 *
 * An instance is used by one started request at a time.  Requests with the same key, or messages
 * with the same tag, start one after the other, each when the previous one is complete.  Those that
 * have not started are in the @same_instance ring of the one that has.
 *
 * A message of a rank to itself has two started requests, its halves.  Each has a ring of its own.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "core/engine/instance.h"
#include "fail/member_state.h"
#include "op/request.h"
#include "op/requests.h"
#include "limits.h"
#include "mem/account.h"

/* Places for requests at first; a power of two. */
#define TABLE_FIRST	16UL

/**
 * coll_table_full() - is there no space for another request?
 * @reqs: of the member, which is locked
 *
 * Requests without a key are found by the low bits of their instance, so not only their number is
 * bounded, but also how far they are apart.
 *
 * Return: true if a request must not be submitted now.
 */
bool coll_table_full(struct coll_requests *reqs)
{
	const struct coll_request *oldest;

	if (reqs->nrequests == COLL_INFLIGHT)
		return true;
	oldest = list_first_entry_or_null(&reqs->counted, struct coll_request, counted);
	return oldest && reqs->next_instance - oldest->call.instance >= COLL_INFLIGHT;
}

static u32 table_bytes(u32 size)
{
	return size * sizeof(struct coll_request *);
}

/* Give the requests another table.  Return: the old one, with @size entries then. */
static struct coll_request **table_replace(struct coll_requests *reqs,
					   struct coll_request **table, u32 *size)
{
	struct coll_request **old = reqs->table;
	u32 i, n = reqs->table_size;

	lockdep_assert_held(&reqs->state->lock);
	/* Ids that differ in their low bits do so with more of these bits. */
	for (i = 0; i < n; i++)
		if (old[i])
			table[old[i]->id & (*size - 1)] = old[i];
	reqs->table = table;
	WRITE_ONCE(reqs->table_size, *size);
	*size = n;
	return old;
}

/**
 * coll_table_reserve() - have places for more requests
 * @reqs: of the member, not locked
 * @n: requests that are not collected, at most COLL_INFLIGHT
 *
 * Context: may sleep.
 * Return: 0, -EDQUOT or -ENOMEM.
 */
int coll_table_reserve(struct coll_requests *reqs, u32 n)
{
	u32 size = max(roundup_pow_of_two(n), TABLE_FIRST);
	struct coll_request **table;
	int err;

	if (size <= READ_ONCE(reqs->table_size))
		return 0;
	err = coll_charge(reqs->charges, table_bytes(size));
	if (err)
		return err;
	table = kcalloc(size, sizeof(*table), GFP_KERNEL_ACCOUNT);
	if (!table)
		err = -ENOMEM;
	spin_lock(&reqs->state->lock);
	/* Another thread may have been first. */
	if (!err && size > reqs->table_size)
		table = table_replace(reqs, table, &size);
	spin_unlock(&reqs->state->lock);
	kfree(table);
	coll_uncharge(reqs->charges, table_bytes(size));
	return err;
}

/**
 * coll_table_free() - free the table
 * @reqs: of the member; no request is left
 */
void coll_table_free(struct coll_requests *reqs)
{
	if (!reqs->table)
		return;
	kfree(reqs->table);
	coll_uncharge(reqs->charges, table_bytes(reqs->table_size));
	reqs->table = NULL;
	reqs->table_size = 0;
}

/**
 * coll_table_has_place() - can a request be inserted?
 * @reqs: of the member, which is locked
 *
 * Return: false if coll_table_reserve() is needed first.
 */
bool coll_table_has_place(const struct coll_requests *reqs)
{
	return reqs->nrequests < reqs->table_size;
}

static struct coll_request **table_slot(struct coll_requests *reqs, u64 id)
{
	lockdep_assert_held(&reqs->state->lock);
	return &reqs->table[id & (reqs->table_size - 1)];
}

/**
 * coll_request_by_id() - the request with an id
 * @reqs: of the member, which is locked
 * @id: of the request; 0: of none
 *
 * Return: a request that is not collected yet, or NULL.
 */
struct coll_request *coll_request_by_id(struct coll_requests *reqs, u64 id)
{
	struct coll_request *request = *table_slot(reqs, id);

	return id && request && request->id == id ? request : NULL;
}

/**
 * coll_table_insert() - give a request an id that was not used before
 * @request: in flight; its member is locked, and coll_table_has_place() was true
 */
void coll_table_insert(struct coll_request *request)
{
	struct coll_requests *reqs = request->reqs;
	struct coll_request **slot;

	do {
		request->id = ++reqs->last_id;
		slot = table_slot(reqs, request->id);
	} while (*slot);
	*slot = request;
	reqs->nrequests++;
}

/**
 * coll_table_remove() - remove a request that is collected
 * @request: complete; its member is locked
 */
void coll_table_remove(struct coll_request *request)
{
	struct coll_requests *reqs = request->reqs;

	*table_slot(reqs, request->id) = NULL;
	reqs->nrequests--;
}

static struct hlist_head *request_bucket(struct coll_requests *reqs, u64 instance)
{
	return &reqs->by_instance[coll_instance_hash(instance, COLL_REQUESTS_HASH)];
}

/* Is it the receiving half of a message to itself? */
static bool is_receiving_half(const struct coll_request *request)
{
	return coll_plan_is_self(&request->plan) && request->plan.collective == COLLECTIVE_RECV;
}

/* The request in flight of an instance, or half, that has started, or starts next; or NULL. */
static struct coll_request *find_oldest(struct coll_requests *reqs, u64 instance, bool receives)
{
	struct coll_request *request;

	hlist_for_each_entry(request, request_bucket(reqs, instance), instance_node)
		if (request->call.instance == instance && is_receiving_half(request) == receives)
			return request;
	return NULL;
}

/**
 * coll_request_half() - find one half of a message of this rank to itself
 * @reqs: of the member, locked
 * @instance: of the message
 * @receives: true: the receive; false: the send
 *
 * Return: the request; NULL if it has not started, or if its part has been reported.
 */
struct coll_request *coll_request_half(struct coll_requests *reqs, u64 instance, bool receives)
{
	struct coll_request *request;

	lockdep_assert_held(&reqs->state->lock);
	request = find_oldest(reqs, instance, receives);
	return request && request->stage == COLL_REQUEST_STARTED &&
		atomic_read(&request->parts_pending) ? request : NULL;
}

/**
 * coll_request_by_instance() - find the started request of an instance
 * @reqs: of the member, locked
 * @instance: of the operation
 *
 * Return: the request, of a message to itself either half; NULL if there is none, or if all its
 * parts have been reported.
 */
struct coll_request *coll_request_by_instance(struct coll_requests *reqs, u64 instance)
{
	struct coll_request *request = coll_request_half(reqs, instance, false);

	return request || !coll_instance_is_self(instance) ? request :
	       coll_request_half(reqs, instance, true);
}

/**
 * coll_request_set_stage() - let a request go on to another stage of its life
 * @request: the request; its member is locked
 * @stage: one that may follow its stage
 */
void coll_request_set_stage(struct coll_request *request, enum coll_request_stage stage)
{
	static const u8 next[COLL_REQUEST_STAGES] = {
		[COLL_REQUEST_NEW]	= BIT(COLL_REQUEST_QUEUED) | BIT(COLL_REQUEST_STARTED),
		[COLL_REQUEST_QUEUED]	= BIT(COLL_REQUEST_STARTED),
		[COLL_REQUEST_STARTED]	= BIT(COLL_REQUEST_COMPLETE),
	};

	lockdep_assert_held(&request->reqs->state->lock);
	coll_assert(next[request->stage] & BIT(stage));
	request->stage = stage;
}

/**
 * coll_request_set_match() - set what matching still has to do for a request
 * @request: the request; locked
 * @match: what it has
 *
 * Lanes that need a peer that has left are to be kicked when it is pending no more.  They wait for
 * that only if counts may differ that two ranks know: any other mismatch is told to all ranks
 * before one that knows of it can leave.
 */
void coll_request_set_match(struct coll_request *request, enum coll_request_match match)
{
	bool matching = match == COLL_MATCH_PENDING &&
			coll_signature_paired(&request->call.signature);

	request->match = match;
	/* After the error that matching has found: pairs with lane_peer_departed(). */
	smp_store_release(&request->abort.matching, matching);
}

/**
 * coll_table_start() - put a request in flight
 * @request: with its instance; its member is locked
 *
 * It is queued if a request of the same instance, or half, is in flight, and else started.
 */
void coll_table_start(struct coll_request *request)
{
	struct coll_requests *reqs = request->reqs;
	const u64 instance = request->call.instance;
	struct coll_request *first = find_oldest(reqs, instance, is_receiving_half(request));

	coll_request_set_stage(request, first ? COLL_REQUEST_QUEUED : COLL_REQUEST_STARTED);
	INIT_LIST_HEAD(&request->same_instance);
	INIT_LIST_HEAD(&request->counted);
	list_add_tail(&request->node, &reqs->inflight_list);
	if (coll_instance_is_counted(instance))
		list_add_tail(&request->counted, &reqs->counted);
	if (first)
		list_add_tail(&request->same_instance, &first->same_instance);
	else
		hlist_add_head(&request->instance_node, request_bucket(reqs, instance));
	WRITE_ONCE(reqs->inflight, reqs->inflight + 1);
}

/**
 * coll_table_end() - remove a request from those in flight
 * @request: in flight and started; its member is locked
 *
 * Return: the next request of its instance, which the caller starts; or NULL.
 */
struct coll_request *coll_table_end(struct coll_request *request)
{
	struct coll_requests *reqs = request->reqs;
	struct coll_request *next = NULL;

	if (!list_empty(&request->same_instance))
		next = list_first_entry(&request->same_instance, struct coll_request,
					same_instance);
	/* The other requests of the ring follow that one. */
	list_del_init(&request->same_instance);
	hlist_del(&request->instance_node);
	if (next)
		hlist_add_head(&next->instance_node, request_bucket(reqs, next->call.instance));
	list_del(&request->counted);
	list_del_init(&request->node);
	WRITE_ONCE(reqs->inflight, reqs->inflight - 1);
	return next;
}
