// SPDX-License-Identifier: GPL-2.0-only
/*
 * Submission of a request, until its last part is reported.
 *
 * Lanes hold no reference to a request.  Each lane reports its part once.  Matching, if the request
 * waits for it, reports once it is known that all ranks have called the same, or that they never
 * will.  The last report completes the request; no context that has reported accesses the request
 * again.
 *
 * A request gets its instance, and its lanes get its parts, under one lock.  So every lane sees the
 * requests in the order of their instances.
 */
#include <linux/ktime.h>

#include "core/engine/instance.h"
#include "fail/member_state.h"
#include "op/request.h"
#include "op/requests.h"
#include "op/times.h"
#include "lane/lane.h"
#include "limits.h"
#include "net/link.h"
#include "op/wait.h"
#include "trace/recorder.h"

static void start_lanes(struct coll_request *request)
{
	const struct coll_request *send = coll_request_self_send(request);
	struct coll_requests *reqs = request->reqs;
	u32 i, area;

	for (i = 0; i < request->nparts; i++) {
		struct coll_part *part = &request->part[i];
		struct coll_task_args *args = &part->task.args;

		part->owner = request;
		part->abort = &request->abort;
		part->mismatch_peer = COLL_NO_RANK;
		args->plan = request->plan;
		/* With VARLEN, one count is the capacity. */
		if (send)
			args->plan.count = min(request->plan.count, send->plan.count);
		args->eager = request->eager;
		args->instance = request->call.instance;
		args->signature = request->implicit_match ? &request->call.signature : NULL;
		args->user = part;
		for (area = 0; area < COLL_AREA_SCRATCH; area++) {
			args->area[area] = request->mem[area];
			args->area_off[area] = request->off[area];
		}
		if (part->scratch.bytes)
			args->area[COLL_AREA_SCRATCH] = &part->scratch.mem;
		coll_lane_submit(&reqs->lanes[request->first_lane + i], part);
	}
}

/**
 * coll_request_too_far_ahead() - is this rank so far ahead of another one that the next operation
 *	has no place in that rank's tables?
 * @reqs: of the member, locked
 *
 * An operation that fails completes without all ranks, so only the other ranks can tell.
 */
bool coll_request_too_far_ahead(const struct coll_requests *reqs)
{
	const struct coll_distance *distance = &reqs->match.unexpected->distance;

	return reqs->next_instance - distance->succeeded >= COLL_AHEAD_MAX &&
	       reqs->next_instance - coll_distance_known(distance, reqs->next_instance) >=
	       COLL_AHEAD_MAX;
}

/*
 * Return: 0 if there is space for the request and for what it leaves behind if it fails; else a
 * negative errno.
 */
static int check_space(const struct coll_request *request)
{
	struct coll_requests *reqs = request->reqs;
	bool p2p = coll_plan_is_p2p(&request->plan);

	/* It is called already, so only the table can be too small. */
	if (request->origin != COLL_FROM_CALL)
		return reqs->nrequests == COLL_INFLIGHT ? -EAGAIN : 0;
	if (coll_table_full(reqs))
		return -EAGAIN;
	if (p2p || request->call.signature.flags & COLLECTIVE_F_KEYED)
		return coll_unexpected_full(reqs) ? -ENOSPC : 0;
	/* Other ranks may be behind what is in flight, and behind what is complete. */
	return coll_requests_unsettled(reqs) >= COLL_INFLIGHT || coll_request_too_far_ahead(reqs) ?
	       -EAGAIN : 0;
}

static bool is_counted(const struct coll_request *request)
{
	return !coll_plan_is_p2p(&request->plan) &&
	       !(request->call.signature.flags & COLLECTIVE_F_KEYED);
}

/* The instance of a message, or of an operation with a key, the same on all its ranks. */
static u64 make_instance(const struct coll_request *request)
{
	bool keyed = request->call.signature.flags & COLLECTIVE_F_KEYED;
	const struct coll_plan *plan = &request->plan;
	const struct coll_link *link;

	if (!coll_plan_is_p2p(plan))
		return coll_instance_keyed(request->op.key);
	if (coll_plan_is_self(plan))
		return coll_instance_p2p(plan->rank, plan->rank, keyed ? request->op.key :
					 coll_self_message_next(request->reqs, plan), keyed);
	link = coll_link_get(request->reqs->net, plan->root);
	if (plan->collective == COLLECTIVE_SEND)
		return coll_instance_p2p(plan->rank, plan->root,
					    keyed ? request->op.key : link->next_tx_msg, keyed);
	return coll_instance_p2p(plan->root, plan->rank,
				    keyed ? request->op.key : link->next_rx_msg, keyed);
}

/* Give a request its instance.  Return: 0, -EINVAL, or as coll_process_place(). */
static int take_instance(struct coll_request *request)
{
	if (is_counted(request))
		return coll_process_place(request);
	if (request->origin != COLL_FROM_CALL)
		return -EINVAL;
	request->call.instance = make_instance(request);
	return 0;
}

/* Count an operation without a key: a collective for the group, a message for its direction. */
static void advance_counters(struct coll_request *request)
{
	struct coll_link *link;

	if (request->call.signature.flags & COLLECTIVE_F_KEYED)
		return;
	if (!coll_plan_is_p2p(&request->plan)) {
		request->reqs->next_instance = request->call.instance + 1;
		coll_process_notice(request->reqs);
		request->reqs->last_submit_ns = request->submit_ns;
		coll_unexpected_submitted(request->reqs);
		return;
	}
	if (coll_plan_is_self(&request->plan)) {
		coll_self_message_count(request->reqs, &request->plan);
		return;
	}
	link = coll_link_get(request->reqs->net, request->plan.root);
	if (request->plan.collective == COLLECTIVE_SEND)
		link->next_tx_msg++;
	else
		link->next_rx_msg++;
}

/*
 * An operation with a key that is known to fail must not start on a lane: a peer that does not know
 * of the failure yet would take this use's grant for one of the use that failed.  The same holds
 * for a call that differs from the other ranks'.  A counted operation starts on its lanes to be
 * aborted there, so that they know its instance to be over.  So does one that fails because a peer
 * left.
 */
static bool never_starts(const struct coll_request *request,
			 const struct coll_failure *failure)
{
	return !coll_instance_is_counted(request->call.instance) &&
	       failure->reason.kind != COLLECTIVE_REASON_NONE &&
	       failure->reason.kind != COLLECTIVE_REASON_LEFT;
}

/**
 * struct start_result - actions that remain after a request has started, without the lock
 * @instance: of the request
 * @ended: parts that ended at once, to be reported
 * @failure: why the request must fail; the other fields are valid only if its kind is not
 *	COLLECTIVE_REASON_NONE
 */
struct start_result {
	u64 instance;
	u32 ended;
	struct coll_failure failure;
};

static void start_result_init(struct start_result *result)
{
	result->ended = 0;
	result->failure.reason.kind = COLLECTIVE_REASON_NONE;
}

/* Give the parts of a request to matching and to the lanes; its member is locked. */
static void start_request(struct coll_request *request, struct start_result *result)
{
	coll_timer_arm(request);
	result->instance = request->call.instance;
	result->ended = coll_match_start(request, &result->failure);
	if (request->cancelled)
		result->failure = coll_cancel_failure(request->reqs);
	request->abort.at_start = result->failure.reason.kind != COLLECTIVE_REASON_NONE;
	if (never_starts(request, &result->failure)) {
		result->ended += request->nparts;
		return;
	}
	/*
	 * The lanes may complete their parts before they know of the failure: hold one more part.
	 */
	if (result->failure.reason.kind != COLLECTIVE_REASON_NONE && !result->ended &&
	    request->match != COLL_MATCH_PENDING) {
		atomic_inc(&request->parts_pending);
		result->ended++;
	}
	/* Of a message to itself only the receive has work for a lane, once both halves wait. */
	if (coll_plan_is_self(&request->plan))
		request = coll_self_message_pair(request, &result->failure);
	if (request)
		start_lanes(request);
}

/* Fail a request that must.  It may have been freed by now, unless @ended is not 0. */
static void start_result_finish(const struct start_result *result, struct coll_requests *reqs)
{
	if (result->failure.reason.kind != COLLECTIVE_REASON_NONE)
		coll_match_fail_started(reqs, result->instance, &result->failure);
}

/* Have the work items run the lanes and the control runner. */
static void kick_lanes(struct coll_request *request)
{
	struct coll_requests *reqs = request->reqs;
	u32 i;

	for (i = 0; i < request->nparts; i++)
		coll_runner_kick(&reqs->lanes[request->first_lane + i].runner);
	if (READ_ONCE(reqs->net->tx_pending))
		coll_runner_kick(reqs->net->control);
}

/* For queries. */
static void note_submission(const struct coll_request *request)
{
	struct coll_last_ops *last = &request->reqs->last_ops;

	last->has_submitted = true;
	last->submitted_opcode = request->op.opcode;
	last->submitted = request->call.instance;
	last->submitted_at = request->submit_ns;
}

/**
 * coll_request_has_space() - has the table a place, and have the links space for the frames, for
 *	one more request?
 * @reqs: of the member, locked: the numbers change under the lock only
 */
bool coll_request_has_space(const struct coll_requests *reqs)
{
	return coll_table_has_place(reqs) && reqs->inflight < READ_ONCE(reqs->net->tx_ops) &&
	       !READ_ONCE(reqs->net->tx_low);
}

/* The thread of SUBMIT has counted what it has begun. */
static void count_submission(const struct coll_request *request)
{
	struct coll_requests *reqs = request->reqs;

	atomic64_inc(&reqs->counters.submitted);
	coll_record_submit(&reqs->state->trace, request->call.instance, &request->call.signature,
			   request->footprint.block, request->nparts, request->submit_ns);
}

/*
 * Give a request its id and instance and, unless one of the same instance is in flight, start it.
 * With @wait, the request stays the caller's until the claim is given up.  Without, it belongs to
 * the completion_ops.
 *
 * Return: 0; -ENOBUFS: reserve_space() is needed first; -EBUSY: coll_process_await(); or another
 * negative errno.
 */
static int admit(struct coll_request *request, struct coll_wait *wait,
		 struct start_result *result)
{
	struct coll_requests *reqs = request->reqs;
	int err = 0;

	spin_lock(&reqs->state->lock);
	coll_process_sync(reqs);
	if (reqs->state->aborted)
		err = reqs->state->aborted;
	else if (reqs->state->value != COLLECTIVE_STATE_UP || !request->links_ready)
		err = -ENOTCONN;
	else
		err = check_space(request) ?: (coll_request_has_space(reqs) ? 0 : -ENOBUFS);
	err = err ?: take_instance(request);
	if (err) {
		spin_unlock(&reqs->state->lock);
		return err;
	}

	advance_counters(request);
	note_submission(request);
	if (coll_plan_is_p2p(&request->plan))
		request->first_lane = request->call.instance % reqs->id->nlanes;
	start_result_init(result);
	if (request->origin != COLL_FROM_THREAD)
		count_submission(request);
	coll_table_start(request);
	coll_table_insert(request);
	if (wait)
		coll_wait_claim(wait, request);
	coll_net_resume(reqs->net);
	if (request->stage == COLL_REQUEST_STARTED)
		start_request(request, result);
	if (!wait)
		kick_lanes(request);
	spin_unlock(&reqs->state->lock);

	return 0;
}

/* Return: number of parts that ended at once; all of them if the group has failed. */
static u32 start_next(struct coll_request *request, struct start_result *result)
{
	struct coll_requests *reqs = request->reqs;
	u64 now;

	start_result_init(result);
	coll_request_set_stage(request, COLL_REQUEST_STARTED);
	if (reqs->state->aborted && coll_state_is_final(reqs->state, ktime_get_ns())) {
		result->ended = atomic_read(&request->parts_pending);
	} else {
		now = coll_record_begin(&reqs->state->trace, request->call.instance);
		coll_times_queued(request, now);
		start_request(request, result);
		kick_lanes(request);
	}
	return result->ended;
}

/*
 * Report ended parts of a request.  The last report completes it, after which it may be freed.
 * Then the next request of its instance starts; if that one must fail at once, the loop completes
 * it, too.
 */
static void request_report(struct coll_request *request, u32 parts, int error)
{
	struct coll_requests *reqs = request->reqs;
	struct coll_request *next;
	struct start_result result __uninitialized;

	while (parts) {
		if (error)
			WRITE_ONCE(request->error, error);
		if (!atomic_sub_and_test(parts, &request->parts_pending))
			return;
		atomic64_inc(&reqs->counters.completed);

		spin_lock(&reqs->state->lock);
		next = coll_request_complete(request);
		parts = next ? start_next(next, &result) : 0;
		spin_unlock(&reqs->state->lock);
		if (!next)
			return;
		start_result_finish(&result, reqs);
		request = next;
		error = parts ? READ_ONCE(next->abort.error) ?: reqs->state->aborted : 0;
	}
}

/**
 * coll_request_report() - report one ended part of a request
 * @request: the request; must not be used afterwards
 * @error: result of the part; negative errno or 0
 *
 * Context: process or work item; no lock held.
 */
void coll_request_report(struct coll_request *request, int error)
{
	request_report(request, 1, error);
}

/* Have memory for one more request, before it has its instance. */
static int reserve_space(struct coll_requests *reqs)
{
	return coll_table_reserve(reqs, min(READ_ONCE(reqs->nrequests) + 1, COLL_INFLIGHT)) ?:
	       coll_net_reserve(reqs->net, min(READ_ONCE(reqs->inflight) + 1, COLL_INFLIGHT));
}

/* Time for which a call without a wait of its own waits for its turn; jiffies. */
#define TURN_MOST	HZ

/* How long a call waits for its turn after an operation of the process. */
static long await_limit(const struct coll_wait *wait)
{
	return wait && wait->timeout ? wait->timeout : TURN_MOST;
}

/**
 * coll_request_start() - submit a request
 * @request: from coll_request_new()
 * @wait: of the thread that waits for it, initialised; NULL: @completion_ops are told, and the
 *	request may be freed when this returns 0
 *
 * Context: process; may sleep.
 * Return: 0 or a negative errno.
 */
int coll_request_start(struct coll_request *request, struct coll_wait *wait)
{
	struct coll_requests *reqs = request->reqs;
	struct start_result result __uninitialized;
	int err;

	while ((err = admit(request, wait, &result)) == -ENOBUFS || err == -EBUSY) {
		err = err == -EBUSY ? coll_process_await(request, await_limit(wait)) :
				      reserve_space(reqs);
		if (err)
			return err;
	}
	if (err == -EPROTO)
		coll_state_fail_kind(reqs->state, COLLECTIVE_REASON_PROTOCOL, reqs->id->rank,
				     reqs->id->rank);
	if (err)
		return err;
	start_result_finish(&result, reqs);
	if (result.ended)
		request_report(request, result.ended, READ_ONCE(request->abort.error));
	return 0;
}

/* Submit a request, and wait until it is complete: see coll_request_submit(). */
static int submit_and_wait(struct coll_request *request, u64 *id, struct coll_wait *wait)
{
	struct coll_requests *reqs = request->reqs;
	int err;

	coll_wait_init(wait);
	err = coll_request_start(request, wait);
	if (err) {
		coll_request_free(request);
		return err;
	}
	*id = request->id;
	if (!wait->timeout) {
		kick_lanes(request);
		coll_wait_unclaim_all(wait, reqs);
		return 0;
	}
	err = coll_wait_sleep_and_collect(wait, reqs);
	if (wait->index < wait->n)
		*id = 0;
	return err;
}

/**
 * coll_request_submit() - submit an operation, and wait until it is complete
 * @reqs: of the member
 * @op: the call
 * @id: out: id for coll_wait() if the operation goes on; else 0
 * @wait: @ids is @id, @n is 1, @timeout is set; out: as for coll_wait()
 *
 * Context: process of the mm that joined; may sleep.
 * Return: 0 or a negative errno.  The operation goes on: 0 if @timeout is 0, -EINPROGRESS after the
 * timeout, -ERESTARTSYS after a signal.
 */
int coll_request_submit(struct coll_requests *reqs, const struct collective_op *op, u64 *id,
			struct coll_wait *wait)
{
	struct coll_request *request = coll_request_new(reqs, op, NULL, NULL);

	*id = 0;
	return IS_ERR(request) ? PTR_ERR(request) : submit_and_wait(request, id, wait);
}

/**
 * coll_request_submit_begun() - submit an operation that has begun, and wait until it is complete
 * @reqs: of the member
 * @op: the call
 * @begun: what was done of it
 * @id: see coll_request_submit()
 * @wait: likewise
 *
 * Context: process of the mm that joined; may sleep.
 * Return: as coll_request_submit().  The process, or the thread, is still at the operation: -EBUSY,
 * and -ERESTARTSYS with @id 0.  After another error with @id 0 this rank has given it up.
 */
int coll_request_submit_begun(struct coll_requests *reqs, const struct collective_op *op,
			      const struct coll_begun *begun, u64 *id, struct coll_wait *wait)
{
	struct coll_request *request = coll_request_new_begun(reqs, op, begun);
	int err;

	*id = 0;
	err = IS_ERR(request) ? PTR_ERR(request) : submit_and_wait(request, id, wait);
	if (!err || err == -ERESTARTSYS || begun->origin == COLL_FROM_CALL)
		return err;
	return coll_process_failed(reqs, op, begun->origin, begun->instance, err);
}

/*
 * Report a part of a request for which matching may go on without it.  If it is the last one of its
 * lanes, the request is complete.  All of them are reported under the lock, so that the last one
 * finds matching alone, and the errors of the others.  Return: false if the caller reports it.
 */
static bool report_ahead(struct coll_request *request, int error)
{
	struct coll_requests *reqs = request->reqs;
	bool reported;

	spin_lock(&reqs->state->lock);
	if (error)
		WRITE_ONCE(request->error, error);
	reported = atomic_read(&request->parts_pending) == 2 && coll_kept_add(request);
	if (reported)
		coll_request_complete_ahead(request);
	else
		reported = atomic_add_unless(&request->parts_pending, -1, 1);
	spin_unlock(&reqs->state->lock);
	return reported;
}

static void request_part_done(struct coll_part *part)
{
	struct coll_request *request = part->owner;
	struct coll_request *send = coll_request_self_send(request);
	const int error = part->error;

	if (send)
		coll_request_report(send, error);
	if (READ_ONCE(request->match) == COLL_MATCH_PENDING)
		coll_times_wait_for_calls(request);
	else if (request->nparts > 1)
		WRITE_ONCE(request->calls_after, 0);
	if (!coll_kept_can_add(request) || !report_ahead(request, error))
		coll_request_report(request, error);
}

static void request_mismatch(struct coll_part *part, u32 peer)
{
	const struct coll_request *request = part->owner;

	coll_match_payload_mismatch(request->reqs, part->task.args.instance, peer);
}

/* Called by lanes for the parts of a request. */
const struct coll_lane_ops coll_request_lane_ops = {
	.part_done	= request_part_done,
	.mismatch	= request_mismatch,
};
