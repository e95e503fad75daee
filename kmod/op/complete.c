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
#include "op/ahead.h"
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
	if (plan->rank != plan->root || coll_plan_is_p2p(plan))
		return div_u64(request->part[0].task.received, plan->size);
	return coll_plan_first(plan, plan->send_first, plan->rank + 1) -
	       coll_plan_first(plan, plan->send_first, plan->rank);
}

/**
 * coll_requests_tell_mismatch() - post the event of calls that differ
 * @reqs: of the member, locked; coll_requests_note_failure() was called
 */
void coll_requests_tell_mismatch(struct coll_requests *reqs)
{
	const struct coll_last_failure *last = &reqs->last_failure;
	struct coll_notice notice = {
		.kind = COLLECTIVE_EVENT_KIND_MISMATCH,
		.state = reqs->state->value,
		.reason = last->reason,
		.instance = last->instance,
	};

	lockdep_assert_held(&reqs->state->lock);
	memcpy(notice.calls, last->calls, sizeof(notice.calls));
	coll_notice_post(&reqs->state->notices, &notice);
}

/**
 * coll_requests_note_failure() - note the latest operation that failed
 * @reqs: of the member, locked
 * @failure: why
 * @instance: of the operation
 */
void coll_requests_note_failure(struct coll_requests *reqs, const struct coll_failure *failure,
				u64 instance)
{
	struct coll_last_failure *last = &reqs->last_failure;

	lockdep_assert_held(&reqs->state->lock);
	last->reason = failure->reason;
	last->instance = instance;
	coll_absent_attribute(reqs);
	last->at = ktime_get_ns();
	if (last->reason.kind == COLLECTIVE_REASON_MISMATCH)
		memcpy(last->calls, failure->calls, sizeof(last->calls));
}

/* @instance: of the operation that has failed; @ahead: it had succeeded here: ahead.h. */
static void request_failed(struct coll_request *request, u64 instance, bool ahead)
{
	struct coll_requests *reqs = request->reqs;

	if (!request->abort.error && !ahead)
		request->failure.reason = reqs->state->reason;
	coll_requests_note_failure(reqs, &request->failure, instance);
	if (reqs->last_failure.reason.kind == COLLECTIVE_REASON_MISMATCH && !ahead)
		coll_requests_tell_mismatch(reqs);
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
	last->completed = request->call.instance;
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
	u64 failed_instance = request->call.instance;
	struct coll_request *next;
	bool failed, ahead = false;
	u64 now;

	request->received = request_received(request);
	if (!request->error) {
		coll_ahead_succeeded(reqs, request->call.instance);
		ahead = coll_ahead_take(request, &failed_instance);
	}
	if (request->error)
		request_failed(request, failed_instance, ahead);
	else if (request->received > request->plan.count)
		request->error = -EMSGSIZE;
	failed = request->error && request->error != -EMSGSIZE;
	now = coll_record_done(&reqs->state->trace, request->call.instance, request->error,
			       failed ? &reqs->last_failure.reason : NULL, request->submit_ns);
	coll_times_add(request, now);
	note_completion(request, failed);
	next = coll_table_end(request);
	coll_process_done(request);
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

/**
 * coll_request_complete_ahead() - complete a request whose matching goes on without it
 * @request: whose other parts have been reported: coll_kept_add(); its member is locked
 */
void coll_request_complete_ahead(struct coll_request *request)
{
	atomic_set(&request->parts_pending, 0);
	atomic64_inc(&request->reqs->counters.completed);
	/* A collective without a key has no next one of its instance. */
	coll_request_complete(request);
}
