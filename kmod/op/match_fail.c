// SPDX-License-Identifier: GPL-2.0-only
/*
 * The failing of one operation on every rank, and the failures that matching finds.
 *
 * A mismatch names two ranks, and carries the call of each one that is known.
 */
#include <linux/jiffies.h>

#include "core/engine/instance.h"
#include "lane/lane.h"
#include "net/link.h"
#include "op/match.h"
#include "op/request.h"
#include "op/requests.h"
#include "trace/recorder.h"

static struct coll_failure failure_mismatch(u32 rank_a, u32 rank_b)
{
	return (struct coll_failure){
		.reason = {
			.kind = COLLECTIVE_REASON_MISMATCH,
			.error = EBADMSG,
			.rank_a = rank_a,
			.rank_b = rank_b,
		},
		.calls = {
			{ .rank = COLLECTIVE_RANK_NONE },
			{ .rank = COLLECTIVE_RANK_NONE },
		},
	};
}

/**
 * coll_match_signature_failure() - the failure of an operation that two ranks call differently
 * @rank_a: one rank
 * @a: its signature
 * @rank_b: the other rank
 * @b: its signature
 *
 * Return: a mismatch of the two ranks, with both calls.
 */
struct coll_failure coll_match_signature_failure(u32 rank_a, const struct coll_signature *a,
						 u32 rank_b, const struct coll_signature *b)
{
	struct coll_failure failure = failure_mismatch(rank_a, rank_b);

	failure.calls[0] = (struct coll_rank_call){ .rank = rank_a, .signature = *a };
	failure.calls[1] = (struct coll_rank_call){ .rank = rank_b, .signature = *b };
	return failure;
}

/**
 * coll_match_mismatch_failure() - the failure that mismatched payload proves
 * @request: an operation with a @mismatch_peer; locked
 *
 * Payload shows that the calls of two ranks differ, but not how.  So only this rank's call is set.
 *
 * Return: a mismatch of @mismatch_peer and this rank.
 */
struct coll_failure coll_match_mismatch_failure(const struct coll_request *request)
{
	u32 rank = request->reqs->id->rank;
	struct coll_failure failure = failure_mismatch(request->mismatch_peer, rank);

	failure.calls[1] = (struct coll_rank_call){ .rank = rank,
						   .signature = request->call.signature };
	return failure;
}

/**
 * coll_match_balance_failure() - the failure of an operation in which counts of a pair differ
 * @request: the operation; locked
 * @total: sum of the balances of all ranks, not 0
 *
 * Return: a mismatch, of the pair whose counts differ if only one does, which @total then
 * identifies.
 */
struct coll_failure coll_match_balance_failure(const struct coll_request *request, u64 total)
{
	struct coll_signature sent = request->call.signature, expected = request->call.signature;
	struct coll_imbalance between;

	if (coll_balance_find(&request->plan, total, &between)) {
		sent.count = between.sent;
		expected.count = between.expected;
		return coll_match_signature_failure(between.from, &sent, between.to, &expected);
	}
	if (request->mismatch_peer != COLL_NO_RANK)
		return coll_match_mismatch_failure(request);
	return failure_mismatch(COLLECTIVE_RANK_NONE, COLLECTIVE_RANK_NONE);
}

/*
 * Send ABORT on all links.  An imbalance of an unknown pair is not sent: every rank computes the
 * same sum and fails by itself, and the two ranks of the pair may still report its counts.
 */
static void broadcast_abort(struct coll_requests *reqs, u64 instance,
			    const struct coll_failure *failure)
{
	bool known = failure->reason.rank_a != COLLECTIVE_RANK_NONE;
	struct coll_link *link;
	u32 i;

	/* Each rank forwards the failure of an instance once. */
	coll_for_each_link(link, reqs->net) {
		/* The failure of a message is sent to its other end only. */
		if (!known || (instance & COLL_INSTANCE_P2P &&
			       !coll_instance_is_between(instance, reqs->id->rank, link->peer)))
			continue;
		coll_link_queue_failure(link, instance, failure);
	}
	coll_runner_kick(reqs->net->control);
	for (i = 0; i < reqs->id->nlanes; i++)
		coll_lane_check_aborts(&reqs->lanes[i]);
}

/**
 * coll_match_fail_request() - let a request fail, which has not failed yet
 * @request: the request, locked; its lanes are to be told
 * @failure: why
 * @error: of this rank
 *
 * Return: true if its part of matching ends by that, which the caller reports.
 */
bool coll_match_fail_request(struct coll_request *request, const struct coll_failure *failure,
			     int error)
{
	const bool matches = request->match == COLL_MATCH_PENDING;

	request->failure = *failure;
	WRITE_ONCE(request->abort.error, error);
	coll_request_set_match(request, COLL_MATCH_SETTLED);
	coll_absent_hold_completion(request);
	/* From now on the request has as long to end as after its deadline. */
	request->deadline = jiffies | 1;
	coll_timer_arm(request);
	return matches;
}

/**
 * coll_match_fail() - fail one operation on every rank: coll_match_abort(), locked
 * @reqs: of the member; locked, and unlocked by this function
 * @request: the request, or NULL if it is not in flight here
 * @instance: of the operation
 * @failure: why
 *
 * Context: process or work item.
 */
void coll_match_fail(struct coll_requests *reqs, struct coll_request *request, u64 instance,
		     const struct coll_failure *failure)
	__releases(&reqs->state->lock)
{
	int error = coll_errno_for_rank(reqs->state, &failure->reason);
	bool is_new = false, report = false, absent = false, expected, ahead;
	struct coll_control control;
	int known = 0;

	/* No other rank knows of it. */
	if (coll_instance_is_self(instance)) {
		coll_self_message_fail(reqs, instance, failure);
		return;
	}
	if (request && !request->abort.error) {
		report = coll_match_fail_request(request, failure, error);
		is_new = true;
	}
	expected = !request && coll_unexpected_expects(reqs, instance);
	ahead = !request && coll_ahead_may_fail(reqs, instance, &failure->reason);
	if (is_new || expected || ahead)
		known = coll_unexpected_fail(reqs, instance, failure);
	if (ahead && known > 0)
		coll_ahead_fail(reqs, instance, failure);
	is_new |= known > 0;
	if (is_new)
		coll_record_fail(&reqs->state->trace, instance, &failure->reason);
	if (is_new && expected)
		absent = coll_absent_self_report(reqs, instance, &failure->reason, &control);
	spin_unlock(&reqs->state->lock);

	if (known < 0)
		coll_state_fail_kind(reqs->state, COLLECTIVE_REASON_RESOURCES, reqs->id->rank,
				     COLLECTIVE_RANK_NONE);
	if (is_new)
		broadcast_abort(reqs, instance, failure);
	if (absent)
		coll_absent_broadcast(reqs, &control);
	if (report)
		coll_request_report(request, error);
}

/**
 * coll_match_abort() - fail one operation on every rank
 * @reqs: of the member, not locked
 * @instance: of the operation, which need not be submitted here yet
 * @failure: why
 *
 * Context: process or work item.
 */
void coll_match_abort(struct coll_requests *reqs, u64 instance,
		      const struct coll_failure *failure)
{
	spin_lock(&reqs->state->lock);
	coll_process_sync(reqs);
	coll_match_fail(reqs, coll_request_by_instance(reqs, instance), instance, failure);
}

/**
 * coll_match_fail_started() - fail the operation, or the group, as coll_match_start() found
 * @reqs: of the member, not locked
 * @instance: of the operation
 * @failure: why; a peer that has left fails the group
 */
void coll_match_fail_started(struct coll_requests *reqs, u64 instance,
			     const struct coll_failure *failure)
{
	if (failure->reason.kind == COLLECTIVE_REASON_LEFT)
		coll_state_fail(reqs->state, &failure->reason);
	else
		coll_match_abort(reqs, instance, failure);
}
