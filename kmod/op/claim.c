// SPDX-License-Identifier: GPL-2.0-only
/*
 * Claims: which thread collects a request.
 *
 * A thread claims a request by storing the address of its completion in it.  So a request has at
 * most one waiter, and a woken thread collects only requests of its own.  A request with
 * completion_ops is claimed by these from the beginning.  Claims are made, checked and given up
 * under the member's lock, so the completion may be on the stack.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>

#include "fail/member_state.h"
#include "limits.h"
#include "op/request.h"
#include "op/requests.h"
#include "op/wait.h"

/**
 * coll_wait_init() - prepare a thread to submit, or to wait
 * @wait: of the thread; @ids, @n and @timeout are set
 */
void coll_wait_init(struct coll_wait *wait)
{
	init_completion(&wait->event);
	wait->task = current;
	wait->index = wait->n;
}

/**
 * coll_wait_notify() - wake the thread that has claimed a request
 * @request: complete, with a waiter; its member is locked
 */
void coll_wait_notify(struct coll_request *request)
{
	struct coll_wait *wait = container_of(request->waiter, struct coll_wait, event);

	lockdep_assert_held(&request->reqs->state->lock);
	/* The waiter itself runs the lane that completed the request. */
	if (wait->task == current) {
		wait->self_notified = true;
		return;
	}
	complete(&wait->event);
}

/**
 * coll_wait_claim() - claim a request for a thread
 * @wait: of the thread
 * @request: not claimed yet; its member is locked
 */
void coll_wait_claim(struct coll_wait *wait, struct coll_request *request)
{
	lockdep_assert_held(&request->reqs->state->lock);
	request->waiter = &wait->event;
	wait->nparts = max(wait->nparts, request->first_lane + request->nparts);
	wait->bytes = max(wait->bytes, request->plan.count * request->plan.size);
}

/**
 * coll_wait_unclaim() - give up all claims
 * @wait: of the thread
 * @reqs: of the requests; locked
 */
void coll_wait_unclaim(struct coll_wait *wait, struct coll_requests *reqs)
{
	struct coll_request *request;
	u32 i;

	for (i = 0; i < wait->n; i++) {
		request = coll_request_by_id(reqs, wait->ids[i]);
		if (!request || request->waiter != &wait->event)
			continue;
		request->waiter = NULL;
		/* A look that does not wait leaves the end that an interrupted wait has kept. */
		if (wait->end)
			request->wait_end = wait->end;
		/* Threads in poll() were not woken while the request was claimed. */
		if (request->stage == COLL_REQUEST_COMPLETE)
			wake_up_all(&reqs->state->wait);
	}
}

/**
 * coll_wait_unclaim_all() - coll_wait_unclaim() under the lock
 * @wait: of the thread
 * @reqs: of the requests
 */
void coll_wait_unclaim_all(struct coll_wait *wait, struct coll_requests *reqs)
{
	spin_lock(&reqs->state->lock);
	coll_wait_unclaim(wait, reqs);
	spin_unlock(&reqs->state->lock);
}

/**
 * coll_wait_pop() - take out the first claimed request that is complete
 * @wait: of the thread; @index is set, and its claims are given up if there is one
 * @reqs: of the requests; locked
 *
 * A request that is not found was collected before.
 *
 * Return: the request, which the caller frees; or NULL.
 */
struct coll_request *coll_wait_pop(struct coll_wait *wait, struct coll_requests *reqs)
{
	struct coll_request *request;

	for (wait->index = 0; wait->index < wait->n; wait->index++) {
		request = coll_request_by_id(reqs, wait->ids[wait->index]);
		if (!request || request->stage != COLL_REQUEST_COMPLETE)
			continue;
		coll_table_remove(request);
		coll_wait_unclaim(wait, reqs);
		return request;
	}
	return NULL;
}

/**
 * coll_wait_reap() - coll_wait_pop() under the lock
 * @wait: of the thread
 * @reqs: of the requests
 * @last: true to give the claims up if no request is complete
 *
 * Return: the request, which the caller frees; or NULL.
 */
struct coll_request *coll_wait_reap(struct coll_wait *wait, struct coll_requests *reqs, bool last)
{
	struct coll_request *request;

	wait->self_notified = false;
	spin_lock(&reqs->state->lock);
	request = coll_wait_pop(wait, reqs);
	if (!request && last)
		coll_wait_unclaim(wait, reqs);
	spin_unlock(&reqs->state->lock);
	return request;
}

/**
 * coll_wait_left() - time left of a wait
 * @wait: of the thread
 *
 * Return: jiffies; 0: the timeout has passed, however often the thread was woken to run a lane.
 */
long coll_wait_left(const struct coll_wait *wait)
{
	long left = wait->end - jiffies;

	return wait->timeout == MAX_SCHEDULE_TIMEOUT ? wait->timeout : max(left, 0L);
}
