// SPDX-License-Identifier: GPL-2.0-only
/* Cancelling an operation: it fails, here and on every other rank. */
#include "core/engine/instance.h"
#include "fail/member_state.h"
#include "op/request.h"
#include "op/requests.h"

/**
 * coll_cancel_failure() - the failure of a cancelled operation
 * @reqs: of the member that cancels it
 *
 * Return: the failure, with this rank as its reason.
 */
struct coll_failure coll_cancel_failure(const struct coll_requests *reqs)
{
	return (struct coll_failure){
		.reason = {
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

	/* COLL_INFLIGHT at most. */
	list_for_each_entry(request, &reqs->inflight_list, node)
		if (request_is(request, by, number))
			return request;
	return NULL;
}

/**
 * coll_request_cancel() - fail an operation, here and on every other rank
 * @reqs: of the member, not locked
 * @by: meaning of @number
 * @number: id, user_data or completion_ctx of the request; the oldest such request is cancelled
 *
 * Context: any, with no lock of the module held.
 * Return: 0; -ENOENT if no such request is in flight; -EALREADY if it fails already.
 */
int coll_request_cancel(struct coll_requests *reqs, enum coll_find_by by, u64 number)
{
	struct coll_failure failure = coll_cancel_failure(reqs);
	struct coll_request *request;
	int err = 0;

	spin_lock(&reqs->state->lock);
	request = request_by(reqs, by, number);
	if (!request || !atomic_read(&request->parts_pending)) {
		err = -ENOENT;
	} else if (reqs->state->aborted || request->abort.error || request->cancelled) {
		/* In a failed group all operations fail, with the group's reason. */
		err = -EALREADY;
	} else {
		u64 instance = request->call.instance;

		request->cancelled = true;
		/*
		 * A ring that is torn down does not wait for the request in front: that one fails,
		 * too.
		 */
		if (request->stage == COLL_REQUEST_QUEUED && by == COLL_FIND_BY_CTX)
			request = coll_request_by_instance(reqs, instance);
		if (request && request->stage == COLL_REQUEST_STARTED) {
			coll_match_fail(reqs, request, instance, &failure);
			return 0;
		}
	}
	spin_unlock(&reqs->state->lock);
	return err;
}
