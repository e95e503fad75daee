// SPDX-License-Identifier: GPL-2.0-only
/*
 * From submission to the last report of a request.
 *
 * Lanes hold no reference to a request.  Each lane reports its part once, and so does matching,
 * when it knows that all ranks agree or that they never will; the last report completes the
 * request, and none of the reporters looks at it again.
 *
 * A request gets its instance, and its lanes get its parts, under one lock.  So every lane sees
 * the requests in the order of their instances.
 */
#include <linux/ktime.h>

#include "core/engine/instance.h"
#include "fail/failure.h"
#include "op/request.h"
#include "op/requests.h"
#include "lane/lane.h"
#include "limits.h"
#include "net/link.h"
#include "op/wait.h"
#include "trace/recorder.h"

static void start_lanes(struct coll_request *request)
{
	struct coll_requests *reqs = request->reqs;
	u32 i, area;

	for (i = 0; i < request->nparts; i++) {
		struct coll_part *part = &request->part[i];
		struct coll_task_args *args = &part->task.args;

		part->owner = request;
		part->abort = &request->abort;
		part->mismatch_peer = COLL_NOBODY;
		args->plan = request->plan;
		args->eager = request->eager;
		args->instance = request->instance;
		args->digest = request->digest;
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

/*
 * Is this rank so far ahead of another one that what it would submit has no place there?  What
 * fails completes without all ranks, so only the others can tell.
 */
static bool is_too_far_ahead(const struct coll_requests *reqs)
{
	const struct coll_distance *distance = &reqs->match.unexpected->distance;

	return reqs->next_instance - distance->succeeded >= COLL_AHEAD_MAX &&
	       reqs->next_instance - coll_distance_known(distance, reqs->next_instance) >=
	       COLL_AHEAD_MAX;
}

/* Return: 0 when there is room for what an operation may leave behind, or why not. */
static int check_room(const struct coll_request *request)
{
	struct coll_requests *reqs = request->reqs;
	bool p2p = coll_plan_is_p2p(&request->plan);

	if (coll_table_full(reqs))
		return -EAGAIN;
	if (p2p || request->signature.flags & COLLECTIVE_F_KEYED)
		return coll_unexpected_full(reqs) ? -ENOSPC : 0;
	return is_too_far_ahead(reqs) ? -EAGAIN : 0;
}

/* What it is called on all ranks. */
static u64 make_instance(const struct coll_request *request)
{
	bool keyed = request->signature.flags & COLLECTIVE_F_KEYED;
	const struct coll_plan *plan = &request->plan;
	const struct coll_link *link;

	if (!coll_plan_is_p2p(plan))
		return keyed ?
			coll_instance_keyed(request->op.key) : request->reqs->next_instance;
	link = coll_link_get(request->reqs->net, plan->root);
	if (plan->collective == COLLECTIVE_SEND)
		return coll_instance_p2p(plan->rank, plan->root,
					    keyed ? request->op.key : link->next_tx_msg, keyed);
	return coll_instance_p2p(plan->root, plan->rank,
				    keyed ? request->op.key : link->next_rx_msg, keyed);
}

/* What has no key is counted: all of it, or what goes one way between two ranks. */
static void advance_counters(struct coll_request *request)
{
	struct coll_link *link;

	if (request->signature.flags & COLLECTIVE_F_KEYED)
		return;
	if (!coll_plan_is_p2p(&request->plan)) {
		request->reqs->next_instance++;
		request->reqs->last_submit_ns = request->submit_ns;
		coll_unexpected_submitted(request->reqs);
		return;
	}
	link = coll_link_get(request->reqs->net, request->plan.root);
	if (request->plan.collective == COLLECTIVE_SEND)
		link->next_tx_msg++;
	else
		link->next_rx_msg++;
}

/* Does this rank move much?  A small operation now and then, as between large ones, is forgiven. */
static void update_recent_bulk(const struct coll_request *request)
{
	u32 *bulk = &request->reqs->recent_bulk;

	if (!request->eager)
		WRITE_ONCE(*bulk, COLL_BULK_DECAY_OPS);
	else if (*bulk)
		WRITE_ONCE(*bulk, *bulk - 1);
}

/*
 * A key that has failed must not begin again on a lane: a peer that has not heard of
 * the failure would take its grant for one of the use that failed.  Nor need what
 * differs from what others have called.  What is counted goes there to be aborted, so
 * that lanes know its number to be over.
 */
static bool never_starts(const struct coll_request *request,
			 const struct coll_failure *failure)
{
	return !coll_instance_is_counted(request->instance) &&
	       failure->cause.kind != COLLECTIVE_REASON_NONE &&
	       failure->cause.kind != COLLECTIVE_REASON_LEFT;
}

/**
 * struct start_result - what remains to be done when a request has begun, without the lock
 * @instance: its name
 * @ended: parts of it that ended at once, to be reported
 * @failure: why it is to fail, if its cause is of a kind; else nothing of it is set
 */
struct start_result {
	u64 instance;
	u32 ended;
	struct coll_failure failure;
};

static void start_result_init(struct start_result *result)
{
	result->ended = 0;
	result->failure.cause.kind = COLLECTIVE_REASON_NONE;
}

/* Have all parts of it done; its lock is held. */
static void start_request(struct coll_request *request, struct start_result *result)
{
	request->waits_for_instance = false;
	coll_timer_arm(request);
	result->instance = request->instance;
	result->ended = coll_match_start(request, &result->failure);
	if (request->cancelled)
		result->failure = coll_cancel_failure(request->reqs);
	request->abort.at_start = result->failure.cause.kind != COLLECTIVE_REASON_NONE;
	if (never_starts(request, &result->failure)) {
		result->ended += request->nparts;
		return;
	}
	/* Its lanes may be done with it before it is known there that it has failed. */
	if (result->failure.cause.kind != COLLECTIVE_REASON_NONE && !result->ended &&
	    !request->match_pending) {
		atomic_inc(&request->parts_pending);
		result->ended++;
	}
	start_lanes(request);
}

/* The request may be gone by now, unless parts of it have ended. */
static void start_result_finish(const struct start_result *result, struct coll_requests *reqs)
{
	if (result->failure.cause.kind != COLLECTIVE_REASON_NONE)
		coll_match_fail_started(reqs, result->instance, &result->failure);
}

/* Have done what it needs, by others. */
static noinline void kick_lanes(struct coll_request *request)
{
	struct coll_requests *reqs = request->reqs;
	u32 i;

	for (i = 0; i < request->nparts; i++)
		coll_runner_kick(&reqs->lanes[request->first_lane + i].runner);
	if (READ_ONCE(reqs->net->tx_pending))
		coll_runner_kick(reqs->net->control);
}

/*
 * Give it its numbers and, unless one of the same name is in flight, to its lanes.
 * It is the caller's until he lets others wait for it; without @wait, its source's.
 */
static int admit(struct coll_request *request, struct coll_wait *wait,
		 struct start_result *result)
{
	struct coll_requests *reqs = request->reqs;
	int err = 0;

	spin_lock(&reqs->fail->lock);
	if (reqs->fail->aborted)
		err = reqs->fail->aborted;
	else if (reqs->fail->state != COLLECTIVE_STATE_UP || !request->links_ready)
		err = -ENOTCONN;
	else
		err = check_room(request);
	if (err) {
		spin_unlock(&reqs->fail->lock);
		return err;
	}

	request->instance = make_instance(request);
	advance_counters(request);
	update_recent_bulk(request);
	if (coll_plan_is_p2p(&request->plan))
		request->first_lane = request->instance % reqs->id->nlanes;
	start_result_init(result);
	atomic64_inc(&reqs->counters.submitted);
	coll_record_submit(&reqs->fail->trace, request->instance, &request->signature,
			   request->footprint.block, request->nparts);
	coll_table_start(request);
	coll_table_insert(request);
	if (wait)
		coll_wait_claim(wait, request);
	else
		reqs->nr_claimed++;
	if (!request->waits_for_instance)
		start_request(request, result);
	if (!wait)
		kick_lanes(request);
	spin_unlock(&reqs->fail->lock);

	return 0;
}

/* Return: how many parts of it end at once, all of them when the group has failed. */
static noinline u32 start_next(struct coll_request *request, struct start_result *result)
{
	struct coll_requests *reqs = request->reqs;

	start_result_init(result);
	if (reqs->fail->aborted && coll_fail_reason_final(reqs->fail, ktime_get_ns())) {
		request->waits_for_instance = false;
		result->ended = atomic_read(&request->parts_pending);
	} else {
		coll_record_begin(&reqs->fail->trace, request->instance);
		start_request(request, result);
		kick_lanes(request);
	}
	return result->ended;
}

/*
 * Parts of a request are done.  If that completes it then it is gone, and one of the
 * same name that was queued begins; what is doomed from the beginning completes, too.
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

		spin_lock(&reqs->fail->lock);
		next = coll_request_complete(request);
		parts = next ? start_next(next, &result) : 0;
		spin_unlock(&reqs->fail->lock);
		if (!next)
			return;
		start_result_finish(&result, reqs);
		request = next;
		error = parts ? READ_ONCE(next->abort.error) ?: reqs->fail->aborted : 0;
	}
}

/**
 * coll_request_report() - one of the parts of a request is done
 * @request: the request; gone afterwards
 * @error: how that part ended
 *
 * Context: process or work item.
 */
void coll_request_report(struct coll_request *request, int error)
{
	request_report(request, 1, error);
}

/**
 * coll_request_start() - give a request its place in the order of operations
 * @request: a new one
 * @wait: who waits for it; its @news is initialised.  NULL: its source is told, and
 *	it may be gone when this returns 0
 *
 * Context: process; may sleep.
 * Return: 0 or a negative errno.
 */
int coll_request_start(struct coll_request *request, struct coll_wait *wait)
{
	struct coll_requests *reqs = request->reqs;
	struct start_result result __uninitialized;
	int err;

	err = admit(request, wait, &result);
	if (err)
		return err;
	start_result_finish(&result, reqs);
	if (result.ended)
		request_report(request, result.ended, READ_ONCE(request->abort.error));
	return 0;
}

static int request_submit(struct coll_wait *wait, struct coll_requests *reqs,
			  const struct collective_op *op, bool nowait, u64 *id)
{
	struct coll_request *request = coll_request_new(reqs, op, NULL, NULL);
	int err;

	if (IS_ERR(request))
		return PTR_ERR(request);
	err = coll_request_start(request, wait);
	if (err) {
		coll_request_free(request);
		return err;
	}
	*id = request->id;
	if (nowait) {
		kick_lanes(request);
		coll_wait_unclaim_all(wait, reqs);
		return 0;
	}
	err = coll_wait_sleep_and_collect(wait, reqs);
	if (err != -ERESTARTSYS)
		*id = 0;
	return err;
}

/**
 * coll_request_submit() - begin an operation, and wait until it is complete
 * @reqs: the member
 * @op: what to do
 * @nowait: do not wait
 * @id: out: its number for coll_wait(), when it goes on: @nowait, or a signal; else 0
 * @received: out: see struct coll_request
 *
 * Context: process of the mm that joined.
 * Return: 0, a negative errno, or -ERESTARTSYS when a signal came first and the
 * operation goes on.
 */
int coll_request_submit(struct coll_requests *reqs, const struct collective_op *op,
			bool nowait, u64 *id, u64 *received)
{
	struct coll_wait wait = { .ids = id, .n = 1, .timeout = MAX_SCHEDULE_TIMEOUT };
	int err;

	*id = 0;
	coll_wait_init(&wait, reqs);
	err = request_submit(&wait, reqs, op, nowait, id);
	coll_wait_idle(&wait);
	*received = wait.received;
	return err;
}

static void request_part_done(struct coll_part *part)
{
	coll_request_report(part->owner, part->error);
}

static void request_mismatch(struct coll_part *part, u32 peer)
{
	const struct coll_request *request = part->owner;

	coll_match_payload_mismatch(request->reqs, part->task.args.instance, peer);
}

/* What lanes tell of the parts of a request. */
const struct coll_lane_ops coll_request_lane_ops = {
	.part_done	= request_part_done,
	.mismatch	= request_mismatch,
};
