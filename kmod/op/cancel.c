// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cancelling an operation: it fails here and on every other rank.
 */
#include "core/engine/instance.h"
#include "fail/failure.h"
#include "op/request.h"
#include "op/requests.h"

/**
 * coll_cancel_failure() - why a cancelled operation fails
 * @reqs: of the member that cancels it
 */
struct coll_failure coll_cancel_failure(const struct coll_requests *reqs)
{
	return (struct coll_failure){
		.cause = {
			.kind = COLLECTIVE_REASON_CANCELLED,
			.error = ECANCELED,
			.rank_a = reqs->id->rank,
			.rank_b = COLLECTIVE_RANK_NONE,
		},
	};
}

static bool request_is(const struct coll_request *request, enum coll_find_by by, u64 number)
{
	switch (by) {
	case COLL_FIND_BY_USER_DATA:
		return request->completion_ops && request->user_data == number;
	case COLL_FIND_BY_CTX:
		return request->completion_ops && (uintptr_t)request->completion_ctx == number;
	default:
		return request->id == number;
	}
}

static struct coll_request *request_by(struct coll_requests *reqs, enum coll_find_by by, u64 number)
{
	struct coll_request *request;

	/* COLL_INFLIGHT of them at most. */
	list_for_each_entry(request, &reqs->inflight_list, node)
		if (request_is(request, by, number))
			return request;
	return NULL;
}

/**
 * coll_request_cancel() - have an operation fail, here and on every other rank
 * @reqs: the member
 * @by: which, ...
 * @number: ... by that; the oldest of them
 *
 * Context: any that does not hold a lock of ours.
 * Return: 0, -ENOENT when it is not in flight, -EALREADY when it fails already.
 */
int coll_request_cancel(struct coll_requests *reqs, enum coll_find_by by, u64 number)
{
	struct coll_failure failure = coll_cancel_failure(reqs);
	struct coll_request *request;
	int err = 0;

	spin_lock(&reqs->fail->lock);
	request = request_by(reqs, by, number);
	if (!request || !atomic_read(&request->parts_pending)) {
		err = -ENOENT;
	} else if (reqs->fail->aborted || request->abort.error || request->cancelled) {
		/* Of a failed group all operations fail, and for its reason. */
		err = -EALREADY;
	} else {
		u64 instance = request->instance;

		request->cancelled = true;
		/* The end of a ring does not wait for what is before it. */
		if (request->waits_for_instance && by == COLL_FIND_BY_CTX)
			request = coll_request_find(reqs, instance);
		if (request && !request->waits_for_instance) {
			coll_match_fail(reqs, request, instance, &failure);
			return 0;
		}
	}
	spin_unlock(&reqs->fail->lock);
	return err;
}
