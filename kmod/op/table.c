// SPDX-License-Identifier: GPL-2.0-only
/*
 * The requests of a member: by id until they are collected, by instance while they are in flight.
 *
 * An instance is used by one started request at a time.  Requests with the same key, or messages
 * with the same tag, start one after the other, each when the previous one is complete.  Those that
 * have not started are in the @same_instance ring of the one that has.
 */
#include "core/engine/instance.h"
#include "fail/failure.h"
#include "op/request.h"
#include "op/requests.h"
#include "limits.h"

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
	return oldest && reqs->next_instance - oldest->instance >= COLL_INFLIGHT;
}

static struct coll_request **table_slot(struct coll_requests *reqs, u64 id)
{
	lockdep_assert_held(&reqs->fail->lock);
	return &reqs->table[id & (COLL_INFLIGHT - 1)];
}

/**
 * coll_table_find() - the request with an id
 * @reqs: of the member, which is locked
 * @id: of the request; 0: of none
 *
 * Return: a request that is not collected yet, or NULL.
 */
struct coll_request *coll_table_find(struct coll_requests *reqs, u64 id)
{
	struct coll_request *request = *table_slot(reqs, id);

	return id && request && request->id == id ? request : NULL;
}

/**
 * coll_table_insert() - give a request an id that was not used before
 * @request: in flight; its member is locked, and coll_table_full() was false
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
	return &reqs->by_instance[coll_instance_hash(instance, COLL_INFLIGHT)];
}

/* The request in flight of an instance that has started, or starts next; or NULL. */
static struct coll_request *find_oldest(struct coll_requests *reqs, u64 instance)
{
	struct coll_request *request;

	hlist_for_each_entry(request, request_bucket(reqs, instance), instance_node)
		if (request->instance == instance)
			return request;
	return NULL;
}

/**
 * coll_request_find() - find the started request of an instance
 * @reqs: of the member, locked
 * @instance: of the operation
 *
 * Return: the request; NULL if there is none, or if all its parts have been reported.
 */
struct coll_request *coll_request_find(struct coll_requests *reqs, u64 instance)
{
	struct coll_request *request;

	lockdep_assert_held(&reqs->fail->lock);
	request = find_oldest(reqs, instance);
	return request && !request->waits_for_instance &&
		atomic_read(&request->parts_pending) ? request : NULL;
}

/**
 * coll_table_start() - put a request in flight
 * @request: with its instance; its member is locked
 *
 * Sets @waits_for_instance if a request of the same instance is in flight.
 */
void coll_table_start(struct coll_request *request)
{
	struct coll_requests *reqs = request->reqs;
	struct coll_request *first = find_oldest(reqs, request->instance);

	request->waits_for_instance = first;
	INIT_LIST_HEAD(&request->same_instance);
	INIT_LIST_HEAD(&request->counted);
	list_add_tail(&request->node, &reqs->inflight_list);
	if (coll_instance_is_counted(request->instance))
		list_add_tail(&request->counted, &reqs->counted);
	if (first)
		list_add_tail(&request->same_instance, &first->same_instance);
	else
		hlist_add_head(&request->instance_node, request_bucket(reqs, request->instance));
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
		hlist_add_head(&next->instance_node, request_bucket(reqs, next->instance));
	list_del(&request->counted);
	list_del_init(&request->node);
	WRITE_ONCE(reqs->inflight, reqs->inflight - 1);
	return next;
}
