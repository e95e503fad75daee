// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages of a rank to itself: two requests of one instance, the send and the receive, which are
 * the halves of the message.
 *
 * The half that starts first waits for the other: no lane has its part, and the part stands for
 * matching (COLL_MATCH_PENDING).  When the other half starts, the lane of the receive copies out of
 * the memory of the send.  What that lane reports completes both, so that the send owns its memory
 * for as long as it is read.  If a half fails, the other one fails, too: at once, if it waits, and
 * else as soon as the lane has stopped.  Documentation/design/matching.rst.
 */
#include <linux/ktime.h>

#include "core/engine/instance.h"
#include "fail/failed_ops.h"
#include "lane/lane.h"
#include "op/match.h"
#include "op/request.h"
#include "op/requests.h"
#include "op/times.h"
#include "trace/recorder.h"

static bool is_receive(const struct coll_plan *plan)
{
	return plan->collective == COLLECTIVE_RECV;
}

/**
 * coll_self_message_next() - number of the next half without a key
 * @reqs: of the member, locked
 * @plan: of the half
 *
 * Return: the number of sends, or of receives, before it.
 */
u64 coll_self_message_next(const struct coll_requests *reqs, const struct coll_plan *plan)
{
	lockdep_assert_held(&reqs->state->lock);
	return is_receive(plan) ? reqs->self_received : reqs->self_sent;
}

/**
 * coll_self_message_count() - count a half without a key
 * @reqs: of the member, locked
 * @plan: of the half
 */
void coll_self_message_count(struct coll_requests *reqs, const struct coll_plan *plan)
{
	lockdep_assert_held(&reqs->state->lock);
	if (is_receive(plan))
		reqs->self_received++;
	else
		reqs->self_sent++;
}

/**
 * coll_self_message_start() - find out whether a message has failed before this half has started
 * @request: the half; locked
 * @failure: out: why; else unchanged
 */
void coll_self_message_start(const struct coll_request *request, struct coll_failure *failure)
{
	const struct coll_failure *failed = coll_failed_ops_find(request->reqs->state->failed_ops,
								 request->call.instance);

	lockdep_assert_held(&request->reqs->state->lock);
	if (failed)
		*failure = *failed;
}

/* As between two ranks: with VARLEN the count of the receive is a capacity. */
static bool halves_differ(const struct coll_request *send, const struct coll_request *recv)
{
	return send->plan.type != recv->plan.type ||
	       (send->plan.count != recv->plan.count && !recv->plan.varlen);
}

/* Have the receive read the memory of the send. */
static void join_halves(struct coll_request *send, struct coll_request *recv)
{
	coll_request_set_match(send, COLL_MATCH_SETTLED);
	coll_request_set_match(recv, COLL_MATCH_SETTLED);
	recv->self_send = send;
	recv->mem[COLL_AREA_SEND] = send->mem[COLL_AREA_SEND];
	recv->off[COLL_AREA_SEND] = send->off[COLL_AREA_SEND];
	recv->part[0].task.received = send->plan.count * send->plan.size;
}

/**
 * coll_self_message_pair() - match a half that starts with the other one, or let it wait
 * @request: the half; locked
 * @failure: out: why the message must fail, if the halves differ; else unchanged
 *
 * Return: the receive, which the caller gives to its lane; NULL: there is nothing to do yet.
 */
struct coll_request *coll_self_message_pair(struct coll_request *request,
					    struct coll_failure *failure)
{
	const bool receives = is_receive(&request->plan);
	const u32 rank = request->reqs->id->rank;
	struct coll_request *other, *send, *recv;

	lockdep_assert_held(&request->reqs->state->lock);
	coll_request_set_match(request, COLL_MATCH_PENDING);
	other = coll_request_half(request->reqs, request->call.instance, !receives);
	/* One that waits no more is of an earlier use of the tag, or fails. */
	if (!other || other->match != COLL_MATCH_PENDING)
		return NULL;
	send = receives ? other : request;
	recv = receives ? request : other;
	if (halves_differ(send, recv)) {
		*failure = coll_match_signature_failure(rank, &send->call.signature, rank,
							&recv->call.signature);
		return NULL;
	}
	/* Its wait was for a call of this process, not for another rank. */
	coll_times_queued(other, ktime_get_ns());
	join_halves(send, recv);
	return recv;
}

/* Fail a half.  Return: it, if it waits and is to be reported; else NULL. */
static struct coll_request *fail_half(struct coll_request *half,
				      const struct coll_failure *failure, int error)
{
	if (!half || half->abort.error)
		return NULL;
	return coll_match_fail_request(half, failure, error) ? half : NULL;
}

/**
 * coll_self_message_fail() - fail a message, both halves of it, now and later
 * @reqs: of the member; locked, and unlocked by this function
 * @instance: of the message
 * @failure: why
 *
 * As between two ranks, a half that is submitted later fails with the same reason.
 *
 * Context: process or work item.
 */
void coll_self_message_fail(struct coll_requests *reqs, u64 instance,
			    const struct coll_failure *failure)
	__releases(&reqs->state->lock)
{
	const int error = coll_errno_for_rank(reqs->state, &failure->reason);
	struct coll_request *half[2];
	int known;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(half); i++)
		half[i] = fail_half(coll_request_half(reqs, instance, i), failure, error);
	known = coll_unexpected_fail(reqs, instance, failure);
	if (known > 0)
		coll_record_fail(&reqs->state->trace, instance, &failure->reason);
	spin_unlock(&reqs->state->lock);

	if (known < 0)
		coll_state_fail_kind(reqs->state, COLLECTIVE_REASON_RESOURCES, reqs->id->rank,
				     COLLECTIVE_RANK_NONE);
	/* One of them may copy. */
	for (i = 0; i < reqs->id->nlanes; i++)
		coll_lane_check_aborts(&reqs->lanes[i]);
	for (i = 0; i < ARRAY_SIZE(half); i++)
		if (half[i])
			coll_request_report(half[i], error);
}
