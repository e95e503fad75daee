// SPDX-License-Identifier: GPL-2.0-only
/*
 * Absent ranks: those that have not submitted an operation when its deadline passes.
 *
 * Matching tells a rank only about the ranks up to the first absent one.  But an absent rank knows
 * it itself, once an ABORT tells it of the failure.  It then reports its last submission and the
 * time since to all ranks, and each rank forwards each report once.  The failed request waits
 * COLL_SETTLE_MS for such reports if no other reason is known.
 *
 * Only collectives without a key are reported, because only their instances are ordered: a rank is
 * sure that it has not submitted one.  Reports are kept for the latest such operation.
 */
#include <linux/ktime.h>

#include "core/engine/instance.h"
#include "limits.h"
#include "net/link.h"
#include "op/match.h"
#include "op/request.h"
#include "op/requests.h"
#include "trace/recorder.h"

/*
 * The position of an ABORT: distance to the last submission of rank_b, and time since in ms plus 1;
 * 0: rank_b has not reported itself.
 */
static u64 absent_position(u64 before, u64 ms)
{
	return min_t(u64, before, U32_MAX) << 32 | (min_t(u64, ms, U32_MAX - 1) + 1);
}

/* A deadline has passed, and no absent rank is known as the reason. */
static bool is_unattributed(const struct coll_reason *reason)
{
	return reason->kind == COLLECTIVE_REASON_DEADLINE &&
	       reason->rank_b == COLLECTIVE_RANK_NONE;
}

/* Has some rank reported that it has not submitted the operation? */
static bool absent_known(const struct coll_requests *reqs, u64 instance)
{
	return reqs->match.absent.n && reqs->match.absent.instance == instance;
}

/**
 * coll_absent_attribute() - name an absent rank as the reason of the latest failure, if it is known
 * @reqs: of the member, locked
 */
void coll_absent_attribute(struct coll_requests *reqs)
{
	lockdep_assert_held(&reqs->state->lock);
	if (is_unattributed(&reqs->last_failure.reason) &&
	    absent_known(reqs, reqs->last_failure.instance))
		reqs->last_failure.reason.rank_b = reqs->match.absent.last[0].rank;
}

/**
 * coll_absent_hold_completion() - delay a failed request until an absent rank reports itself
 * @request: in flight and failed; its member is locked
 *
 * Only if no reason is known yet, and for COLL_SETTLE_MS at most (expire.c).  The delay is one more
 * part of the request.
 */
void coll_absent_hold_completion(struct coll_request *request)
{
	const struct coll_requests *reqs = request->reqs;

	lockdep_assert_held(&reqs->state->lock);
	if (is_unattributed(&request->failure.reason) &&
	    coll_instance_is_counted(request->call.instance) &&
	    !absent_known(reqs, request->call.instance))
		request->absent_pending = atomic_inc_not_zero(&request->parts_pending);
}

/**
 * coll_absent_release_completion() - end the delay of a failed request
 * @request: in flight; its member is locked
 *
 * Return: true if the request was delayed; the caller reports the part.
 */
bool coll_absent_release_completion(struct coll_request *request)
{
	bool held = request->absent_pending;

	lockdep_assert_held(&request->reqs->state->lock);
	request->absent_pending = false;
	return held;
}

/* Return: true if @rank had not reported itself for this operation. */
static bool absent_add(struct coll_requests *reqs, u64 instance, u32 rank, u64 position)
{
	struct coll_absents *absents = &reqs->match.absent;
	u64 ms = lower_32_bits(position) - 1;

	lockdep_assert_held(&reqs->state->lock);
	if (absents->n && instance < absents->instance)
		return false;
	if (!absents->n || instance > absents->instance)
		*absents = (struct coll_absents){ .instance = instance };
	if (__test_and_set_bit(rank, absents->ranks))
		return false;
	if (absents->n < ARRAY_SIZE(absents->last))
		absents->last[absents->n] = (struct coll_absent){
			.rank = rank,
			.before = upper_32_bits(position),
			.since = ktime_get_ns() - ms * NSEC_PER_MSEC,
		};
	absents->n++;
	coll_absent_attribute(reqs);
	coll_record_absent(&reqs->state->trace, instance, rank);
	return true;
}

static void absent_send_all(struct coll_requests *reqs, const struct coll_control *control,
			    bool passed_on)
{
	struct coll_link *link;

	/* Each absent rank is reported once for each operation. */
	coll_for_each_link(link, reqs->net)
		if (!passed_on || coll_tx_ring_has_space(&link->tx_ring))
			coll_link_queue_frame(link, control);
	coll_runner_kick(reqs->net->control);
}

/**
 * coll_absent_self_report() - note that this rank has not submitted a failed operation
 * @reqs: of the member, locked
 * @instance: of the operation
 * @reason: why it failed
 * @control: out: report for coll_absent_broadcast(), valid if true is returned
 *
 * Return: true if the report must be sent.
 */
bool coll_absent_self_report(struct coll_requests *reqs, u64 instance,
			     const struct coll_reason *reason, struct coll_control *control)
{
	u64 now = ktime_get_ns(), before = 0;

	lockdep_assert_held(&reqs->state->lock);
	if (reason->kind != COLLECTIVE_REASON_DEADLINE || !coll_instance_is_counted(instance) ||
	    instance < coll_process_called(reqs))
		return false;
	if (reqs->next_instance)
		before = instance - (reqs->next_instance - 1);
	*control = (struct coll_control){
		.kind = COLL_CONTROL_ABORT,
		.instance = instance,
		.position = absent_position(before, div_u64(now - reqs->last_submit_ns,
							    NSEC_PER_MSEC)),
		.reason = *reason,
	};
	control->reason.rank_b = reqs->id->rank;
	return absent_add(reqs, instance, reqs->id->rank, control->position);
}

/**
 * coll_absent_broadcast() - report to all ranks that this one has not submitted an operation
 * @reqs: of the member, not locked
 * @control: from coll_absent_self_report(); sent behind the operation's ABORT
 */
void coll_absent_broadcast(struct coll_requests *reqs, const struct coll_control *control)
{
	absent_send_all(reqs, control, false);
}

/**
 * coll_absent_receive() - take and forward the report of an absent rank, if an ABORT carries one
 * @reqs: of the member; the operation has been aborted
 * @control: the ABORT frame
 *
 * Context: control runner.
 */
void coll_absent_receive(struct coll_requests *reqs, const struct coll_control *control)
{
	const struct coll_reason *reason = &control->reason;
	u64 instance = control->instance;
	bool is_new = false, released = false;
	struct coll_request *request;

	if (reason->kind != COLLECTIVE_REASON_DEADLINE || !lower_32_bits(control->position) ||
	    !coll_instance_is_counted(instance) || reason->rank_b >= reqs->id->nranks)
		return;
	spin_lock(&reqs->state->lock);
	coll_process_sync(reqs);
	/* No rank can be further ahead. */
	if (instance < reqs->next_instance + COLL_AHEAD_MAX)
		is_new = absent_add(reqs, instance, reason->rank_b, control->position);
	request = is_new ? coll_request_by_instance(reqs, instance) : NULL;
	if (request)
		released = coll_absent_release_completion(request);
	spin_unlock(&reqs->state->lock);
	if (released)
		coll_request_report(request, READ_ONCE(request->abort.error));
	if (is_new)
		absent_send_all(reqs, control, true);
}

/**
 * coll_absent_status() - report the absent ranks to the process
 * @reqs: of the member, locked
 * @status: out: its fields about absent ranks, and @last_ms
 */
void coll_absent_status(const struct coll_requests *reqs, struct collective_status *status)
{
	const struct coll_absents *absents = &reqs->match.absent;
	u64 now = ktime_get_ns();
	u32 i, rank;

	lockdep_assert_held(&reqs->state->lock);
	status->absent_instance = absents->n ? absents->instance : COLL_INSTANCE_GROUP;
	status->nabsent = absents->n;
	if (reqs->last_failure.reason.kind != COLLECTIVE_REASON_NONE)
		status->last_ms = min_t(u64, div_u64(now - reqs->last_failure.at, NSEC_PER_MSEC),
					U32_MAX);
	for_each_set_bit(rank, absents->ranks, COLLECTIVE_RANKS_MAX)
		status->absent_ranks[rank / 64] |= BIT_ULL(rank % 64);
	for (i = 0; i < COLLECTIVE_ABSENT_MAX; i++) {
		const struct coll_absent *last = &absents->last[i];
		bool known = i < absents->n;

		status->absent[i] = (struct collective_absent){
			.rank = known ? last->rank : COLLECTIVE_RANK_NONE,
			.ms = known ? min_t(u64, div_u64(now - last->since, NSEC_PER_MSEC),
					    U32_MAX) : 0,
			.instance = known && last->before ? absents->instance - last->before :
							    COLL_INSTANCE_GROUP,
		};
	}
}
