// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting for requests, and collecting them.
 *
 * The thread that removes a request from the table frees it: a thread that was told of its result,
 * or the teardown.  A request that is not complete stays in the table, even if its waiting thread
 * returns.  The teardown begins when no thread waits: LEAVE fails the group instead while a request
 * is in flight, and waits for threads that are about to collect theirs.  An io_uring collects what
 * the teardown has left of its own.
 */
#include <linux/jiffies.h>
#include <linux/sched/signal.h>

#include "fail/member_state.h"
#include "limits.h"
#include "op/busy_poll.h"
#include "op/immediate.h"
#include "op/request.h"
#include "op/requests.h"
#include "op/wait.h"

static int wait_collect(struct coll_wait *wait, struct coll_request *request)
{
	int error = request->error;

	if (!error && coll_request_bounce(request))
		error = coll_immediate_store(request);
	wait->received = request->received;
	coll_request_free(request);
	return error;
}

/*
 * Sleep until an event.  The caller then checks all requests and runners, so further completions of
 * @event are consumed.  Return: jiffies left, or -ERESTARTSYS.  A pending signal counts even if
 * events arrive so fast that the thread never sleeps, and the timeout even if signals do.
 */
static long wait_sleep(struct coll_wait *wait)
{
	long left;

	if (wait->self_notified)
		return 1;
	wait_for_completion_interruptible_timeout(&wait->event, max(coll_wait_left(wait), 1L));
	while (try_wait_for_completion(&wait->event))
		;
	left = coll_wait_left(wait);
	return left && signal_pending(current) ? -ERESTARTSYS : left;
}

/* The whole time, or what is left of an interrupted wait: see wait_resume(). */
static void wait_set_end(struct coll_wait *wait)
{
	unsigned long end = (jiffies + wait->timeout) | 1;

	if (!wait->end || time_after(wait->end, end))
		wait->end = end;
	wait->until = wait->end;
}

/**
 * coll_wait_sleep_and_collect() - wait for claimed requests, and collect one
 * @wait: initialised; @ids, @n and @timeout are set and the claims made.  All claims are given up.
 *	A request that was complete before is collected only after another event
 * @reqs: of the requests
 *
 * Context: process of the mm that joined; may sleep.
 * Return: result of the request at @wait->index; or, with @wait->index equal to @wait->n,
 * -EINPROGRESS after the timeout, -ERESTARTSYS after a signal.
 */
int coll_wait_sleep_and_collect(struct coll_wait *wait, struct coll_requests *reqs)
{
	struct coll_request *request = NULL;
	struct coll_poll poll;
	long left = 1;

	wait_set_end(wait);
	coll_poll_choose(wait, reqs, &poll);
	if (poll.ns) {
		request = coll_poll(wait, reqs, &poll);
	} else {
		coll_poll_redirect(wait, reqs, poll.pinned);
		coll_poll_run_lanes(wait, reqs);
	}
	/* At least once, because coll_wait_reap() gives the claims up. */
	while (!request && left > 0) {
		left = wait_sleep(wait);
		coll_poll_run_redirected(wait, reqs);
		request = coll_wait_reap(wait, reqs, left <= 0);
	}
	coll_poll_stop_redirect(wait, reqs);
	if (request)
		return wait_collect(wait, request);
	if (left >= 0)
		return -EINPROGRESS;
	if (fatal_signal_pending(current))
		coll_state_fail_kind(reqs->state, COLLECTIVE_REASON_DEATH, reqs->id->rank,
				     COLLECTIVE_RANK_NONE);
	return -ERESTARTSYS;
}

/*
 * A wait that was interrupted goes on to its end, which the request keeps.  @until comes from the
 * program, and is only compared: one that is left from a wait for another request has no effect.
 */
static void wait_resume(struct coll_wait *wait, const struct coll_request *request)
{
	if (wait->until && wait->until == (u32)request->wait_end)
		wait->end = request->wait_end;
}

static int wait_claims(struct coll_wait *wait, struct coll_requests *reqs)
{
	struct coll_request *request;
	bool any = false;
	u32 i;

	if (reqs->state->stopped)
		return -ENOTCONN;
	for (i = 0; i < wait->n; i++) {
		if (!wait->ids[i])
			continue;
		request = coll_request_by_id(reqs, wait->ids[i]);
		if (!request)
			return -ENOENT;
		if (request->waiter || request->completion_ops)
			return -EBUSY;
		wait_resume(wait, request);
		coll_wait_claim(wait, request);
		any = true;
	}
	return any ? 0 : -ENOENT;
}

/**
 * coll_wait() - wait for the first of several requests, and collect it
 * @wait: @ids, @n and @timeout are set
 * @reqs: of the requests
 *
 * Context: process of the mm that joined; may sleep.
 * Return: as coll_wait_sleep_and_collect(); or, with @wait->index equal to @wait->n, -ENOENT,
 * -EBUSY or -ENOTCONN.
 */
int coll_wait(struct coll_wait *wait, struct coll_requests *reqs)
{
	struct coll_request *request = NULL;
	int err;

	coll_wait_init(wait);
	spin_lock(&reqs->state->lock);
	err = wait_claims(wait, reqs);
	/* A request that is complete already is collected without running a lane. */
	if (!err)
		request = coll_wait_pop(wait, reqs);
	if (!err && !request && !wait->timeout)
		err = -EINPROGRESS;
	if (err)
		coll_wait_unclaim(wait, reqs);
	spin_unlock(&reqs->state->lock);
	if (request)
		err = wait_collect(wait, request);
	else if (!err)
		err = coll_wait_sleep_and_collect(wait, reqs);
	return err;
}

/**
 * coll_wait_collect() - collect a complete request that has completion_ops
 * @reqs: of the member
 * @id: of the request; its @done was called.  LEAVE may have freed it since
 *
 * Context: may sleep.
 */
void coll_wait_collect(struct coll_requests *reqs, u64 id)
{
	struct coll_request *request = NULL;

	spin_lock(&reqs->state->lock);
	/* After the teardown there is no table. */
	if (reqs->nrequests)
		request = coll_request_by_id(reqs, id);
	if (request)
		coll_table_remove(request);
	spin_unlock(&reqs->state->lock);
	if (request)
		coll_request_free(request);
}

/**
 * coll_wait_has_collectable() - is a request complete that no thread has claimed?
 * @reqs: of the member, not locked
 *
 * Return: true if coll_wait() can collect such a request at once.
 */
bool coll_wait_has_collectable(struct coll_requests *reqs)
{
	bool ready = false;
	u32 i;

	spin_lock(&reqs->state->lock);
	for (i = 0; !ready && reqs->nrequests && i < reqs->table_size; i++) {
		const struct coll_request *request = reqs->table[i];

		ready = request && request->stage == COLL_REQUEST_COMPLETE && !request->waiter &&
			!request->completion_ops;
	}
	spin_unlock(&reqs->state->lock);
	return ready;
}

/**
 * coll_wait_free_uncollected() - free the requests that no thread has collected
 * @reqs: of a member with @stopped set; none of its lanes runs and no thread waits
 *
 * Context: may sleep.
 */
void coll_wait_free_uncollected(struct coll_requests *reqs)
{
	struct coll_request *request;
	u32 i;

	for (i = 0; i < reqs->table_size; i++) {
		spin_lock(&reqs->state->lock);
		request = reqs->table[i];
		if (request) {
			coll_table_remove(request);
			if (request->stage != COLL_REQUEST_COMPLETE) {
				list_del(&request->node);
				WRITE_ONCE(reqs->inflight, reqs->inflight - 1);
			}
		}
		spin_unlock(&reqs->state->lock);
		if (request)
			coll_request_free(request);
	}
}
