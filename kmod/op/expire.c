// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deadlines pass whether or not a thread waits, and so do the times from which operations are
 * slow: a member has one work item for all of them, which runs when the earliest passes.
 *
 * An operation that is past its deadline is failed on every rank.  It then has until the fence to
 * release its memory; if it does not, the group fails.  If the reason is not known yet, the request
 * waits COLL_SETTLE_MS for absent ranks to report themselves (absent.c).  A request that is queued
 * behind another of its instance is checked only after it has started.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>

#include "exec/runner.h"
#include "fail/member_state.h"
#include "limits.h"
#include "op/request.h"
#include "op/requests.h"

/* The first request that is due.  If there is none, sets @expire_by for the next one. */
static struct coll_request *find_late(struct coll_requests *reqs, unsigned long now)
{
	struct coll_request *request;
	unsigned long next;

	lockdep_assert_held(&reqs->state->lock);
	reqs->expire_by = 0;
	/* COLL_INFLIGHT at most. */
	list_for_each_entry(request, &reqs->inflight_list, node) {
		if (!request->deadline || request->stage == COLL_REQUEST_QUEUED ||
		    !atomic_read(&request->parts_pending))
			continue;
		next = coll_timer_due(request);
		if (time_after_eq(now, next))
			return request;
		if (!reqs->expire_by || time_before(next, reqs->expire_by))
			reqs->expire_by = next | 1;
	}
	return NULL;
}

/*
 * The rank that is missing: of a message, the other end; otherwise the rank before this one, if it
 * has not announced the call.  If the request does not wait for announcements, an absent rank
 * reports itself (absent.c).
 */
static u32 missing_rank(const struct coll_request *request)
{
	if (coll_plan_is_p2p(&request->plan))
		return request->plan.root;
	if (!coll_match_waits(request))
		return COLLECTIVE_RANK_NONE;
	return request->call.rounds_heard & BIT(0) ? COLLECTIVE_RANK_NONE :
					 coll_match_prev_peer(request->reqs, 0);
}

static struct coll_reason deadline_reason(const struct coll_request *request)
{
	return (struct coll_reason){
		.kind = COLLECTIVE_REASON_DEADLINE,
		.error = ETIMEDOUT,
		.rank_a = request->reqs->id->rank,
		.rank_b = missing_rank(request),
	};
}

/* Payload that did not match is the reason, even if no announcement has explained it. */
static struct coll_failure deadline_failure(const struct coll_request *request)
{
	if (request->mismatch_peer != COLL_NO_RANK)
		return coll_match_mismatch_failure(request);
	return (struct coll_failure){ .reason = deadline_reason(request) };
}

static bool is_slow(const struct coll_request *request)
{
	return request->slow_at && !request->abort.error;
}

/* Post the notice of an operation that is slow, once. */
static void tell_slow(struct coll_request *request)
{
	struct coll_member_state *state = request->reqs->state;
	long left = request->deadline - jiffies;
	struct coll_notice notice = {
		.kind = COLLECTIVE_EVENT_KIND_SLOW,
		.state = state->value,
		.request = request->id,
		.instance = request->call.instance,
		.age_ns = ktime_get_ns() - request->submit_ns,
		.left_ms = jiffies_to_msecs(max(left, 0L)),
		.calls = {
			{ .rank = request->reqs->id->rank, .signature = request->call.signature },
			{ .rank = COLLECTIVE_RANK_NONE },
		},
	};

	lockdep_assert_held(&state->lock);
	request->slow_at = 0;
	notice.nwaits = coll_request_waits(request, notice.waits, ARRAY_SIZE(notice.waits));
	coll_notice_post(&state->notices, &notice);
}

/**
 * coll_expire_work() - fail the operations that are past their deadline
 * @work: coll_requests.expiry
 */
void coll_expire_work(struct work_struct *work)
{
	struct coll_requests *reqs = container_of(to_delayed_work(work),
						  struct coll_requests, expiry);

	for (;;) {
		struct coll_request *request;
		struct coll_failure failure;
		struct coll_reason reason;

		spin_lock(&reqs->state->lock);
		if (reqs->state->aborted) {
			spin_unlock(&reqs->state->lock);
			return;
		}
		request = find_late(reqs, jiffies);
		if (request && is_slow(request)) {
			tell_slow(request);
			spin_unlock(&reqs->state->lock);
			continue;
		}
		if (request && coll_absent_release_completion(request)) {
			spin_unlock(&reqs->state->lock);
			coll_request_report(request, READ_ONCE(request->abort.error));
			continue;
		}
		if (request && !request->abort.error) {
			failure = deadline_failure(request);
			coll_match_fail(reqs, request, request->call.instance, &failure);
			continue;
		}
		if (request) {
			reason = deadline_reason(request);
		} else if (reqs->expire_by) {
			mod_delayed_work(coll_unbound_wq, &reqs->expiry,
					 max_t(long, reqs->expire_by - jiffies, 0));
		}
		spin_unlock(&reqs->state->lock);

		/*
		 * The operation has failed before, and its memory is still in use: fail the group.
		 */
		if (request)
			coll_state_fail(reqs->state, &reason);
		return;
	}
}
