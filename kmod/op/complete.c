// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion of a request: its result, its reason if it has failed, and the notification of its
 * thread or completion_ops.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/sched.h>

#include "core/engine/instance.h"
#include "fail/member_state.h"
#include "op/request.h"
#include "op/requests.h"
#include "op/times.h"
#include "op/wait.h"
#include "trace/recorder.h"

/* Elements received if the sender tells the length; on a root, the length of its own block. */
static u64 request_received(const struct coll_request *request)
{
	const struct coll_plan *plan = &request->plan;

	if (!plan->varlen)
		return 0;
	if (plan->rank != plan->root)
		return div_u64(request->part[0].task.received, plan->size);
	return coll_plan_first(plan, plan->send_first, plan->rank + 1) -
	       coll_plan_first(plan, plan->send_first, plan->rank);
}

static void request_tell_mismatch(const struct coll_request *request)
{
	struct coll_member_state *state = request->reqs->state;
	struct coll_notice notice = {
		.kind = COLLECTIVE_EVENT_KIND_MISMATCH,
		.state = state->value,
		.reason = request->reqs->last_failure.reason,
		.instance = request->instance,
	};

	memcpy(notice.calls, request->failure.calls, sizeof(notice.calls));
	coll_notice_post(&state->notices, &notice);
}

static void request_failed(struct coll_request *request)
{
	struct coll_requests *reqs = request->reqs;

	lockdep_assert_held(&reqs->state->lock);
	reqs->last_failure.reason = request->abort.error ?
		request->failure.reason : reqs->state->reason;
	reqs->last_failure.instance = request->instance;
	coll_absent_attribute(reqs);
	reqs->last_failure.at = ktime_get_ns();
	if (reqs->last_failure.reason.kind == COLLECTIVE_REASON_MISMATCH) {
		memcpy(reqs->last_failure.calls, request->failure.calls,
		       sizeof(reqs->last_failure.calls));
		request_tell_mismatch(request);
	}
	atomic64_inc(&reqs->counters.failed[reqs->last_failure.reason.kind]);
}

/* For queries. */
static void note_completion(const struct coll_request *request, bool failed)
{
	struct coll_requests *reqs = request->reqs;
	struct coll_last_ops *last = &reqs->last_ops;

	last->has_completed = true;
	last->completed_opcode = request->op.opcode;
	last->completed_kind = failed ? reqs->last_failure.reason.kind : COLLECTIVE_REASON_NONE;
	last->completed = request->instance;
}

/**
 * coll_request_complete() - complete a request after all its parts have been reported
 * @request: the request; its member is locked.  It may be collected once the lock is released
 *
 * Return: the next request of its instance, which the caller starts; or NULL.
 */
struct coll_request *coll_request_complete(struct coll_request *request)
{
	struct coll_requests *reqs = request->reqs;
	struct coll_request *next;
	bool failed;
	u64 now;

	request->received = request_received(request);
	if (!request->error)
		coll_unexpected_succeeded(reqs, request->instance);
	if (request->error)
		request_failed(request);
	else if (request->received > request->plan.count)
		request->error = -EMSGSIZE;
	failed = request->error && request->error != -EMSGSIZE;
	now = coll_record_done(&reqs->state->trace, request->instance, request->error,
			       failed ? &reqs->last_failure.reason : NULL, request->submit_ns);
	coll_times_add(request, now);
	note_completion(request, failed);
	next = coll_table_end(request);
	coll_request_set_stage(request, COLL_REQUEST_COMPLETE);
	if (request->completion_ops)
		request->completion_ops->done(request);
	else if (request->waiter)
		coll_wait_notify(request);
	else
		wake_up_all(&reqs->state->wait);
	if (!reqs->inflight && reqs->state->aborted)
		wake_up_all(&reqs->state->wait);
	return next;
}
