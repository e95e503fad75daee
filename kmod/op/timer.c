// SPDX-License-Identifier: GPL-2.0-only
/* The timer of deadlines: a member has one delayed work item, queued for the earliest of them. */
#include <linux/jiffies.h>

#include "exec/runner.h"
#include "fail/member_state.h"
#include "limits.h"
#include "op/request.h"
#include "op/requests.h"

static unsigned long fence_jiffies(const struct coll_requests *reqs)
{
	return nsecs_to_jiffies(coll_state_heartbeats_ns(reqs->state, COLL_FENCE_BEATS));
}

/**
 * coll_timer_due() - time at which coll_expire_work() must act on a request
 * @request: with a deadline; locked
 *
 * A request that becomes slow is told first.  One that has failed has until the fence to end.  If
 * the absent ranks are still to report themselves, it waits COLL_SETTLE_MS for them.
 *
 * Return: jiffies.
 */
unsigned long coll_timer_due(const struct coll_request *request)
{
	if (request->slow_at && !request->abort.error)
		return request->slow_at;
	if (request->absent_pending)
		return request->deadline + msecs_to_jiffies(COLL_SETTLE_MS) + 1;
	return request->deadline +
	       (request->abort.error ? fence_jiffies(request->reqs) : 0);
}

/**
 * coll_timer_arm() - queue the work item no later than a request is due
 * @request: a request that starts or fails; its member is locked and UP
 */
void coll_timer_arm(struct coll_request *request)
{
	struct coll_requests *reqs = request->reqs;
	unsigned long next = coll_timer_due(request) | 1;

	lockdep_assert_held(&reqs->state->lock);
	if (!request->deadline || (reqs->expire_by && !time_before(next, reqs->expire_by)))
		return;
	reqs->expire_by = next;
	mod_delayed_work(coll_unbound_wq, &reqs->expiry, max_t(long, next - jiffies, 0));
}
