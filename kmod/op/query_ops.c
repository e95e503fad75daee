// SPDX-License-Identifier: GPL-2.0-only
/* What a rank answers to a query of its operations. */
#include <linux/ktime.h>
#include <linux/math64.h>

#include "core/wire/answer.h"
#include "fail/member_state.h"
#include "op/request.h"
#include "op/requests.h"
#include "op/times.h"

static u32 age_ms(u64 at, u64 now)
{
	return at < now ? min_t(u64, div_u64(now - at, NSEC_PER_MSEC), U32_MAX) : 0;
}

/**
 * coll_request_state() - what a request does
 * @request: in flight; its member is locked
 *
 * Return: enum collective_request_state.
 */
u32 coll_request_state(const struct coll_request *request)
{
	if (request->abort.error)
		return COLLECTIVE_REQUEST_STATE_FAILING;
	if (request->stage == COLL_REQUEST_QUEUED)
		return COLLECTIVE_REQUEST_STATE_QUEUED;
	if (request->match == COLL_MATCH_PENDING)
		return COLLECTIVE_REQUEST_STATE_MATCHING;
	return COLLECTIVE_REQUEST_STATE_MOVING;
}

/**
 * coll_answer_add_failure() - add a reason to an answer
 * @answer: the answer
 * @part: COLL_ANSWER_GROUP or COLL_ANSWER_FAILED
 * @reason: the reason; if its kind is NONE, nothing is added
 * @instance: the operation; COLL_INSTANCE_GROUP: the whole group
 * @at: time of the failure; ns
 */
void coll_answer_add_failure(struct coll_answer *answer, enum coll_answer_part part,
			     const struct coll_reason *reason, u64 instance, u64 at)
{
	struct coll_answer_failure *failure = part == COLL_ANSWER_GROUP ?
					      &answer->group : &answer->failed;

	if (reason->kind == COLLECTIVE_REASON_NONE)
		return;
	*failure = (struct coll_answer_failure){
		.instance = instance,
		.kind = reason->kind,
		.error = reason->error,
		.rank_a = reason->rank_a,
		.rank_b = reason->rank_b,
		.age_ms = age_ms(at, ktime_get_ns()),
	};
	answer->parts |= BIT(part);
}

static void answer_last(struct coll_answer *answer, const struct coll_requests *reqs, u64 now)
{
	const struct coll_last_ops *last = &reqs->last_ops;

	if (!last->has_submitted)
		return;
	answer->has_submitted = true;
	answer->submitted = last->submitted;
	answer->submitted_opcode = last->submitted_opcode;
	answer->submit_age_ms = age_ms(last->submitted_at, now);
	answer->has_completed = last->has_completed;
	answer->completed = last->completed;
	answer->completed_opcode = last->completed_opcode;
	answer->completed_kind = last->completed_kind;
	answer->parts |= BIT(COLL_ANSWER_LAST);
}

/* The oldest request that has not failed; COLL_INFLIGHT are looked at, at most. */
static void answer_oldest(struct coll_answer *answer, const struct coll_requests *reqs, u64 now)
{
	const struct coll_request *request;

	list_for_each_entry(request, &reqs->inflight_list, node) {
		if (request->abort.error)
			continue;
		answer->oldest = request->call.instance;
		answer->oldest_opcode = request->op.opcode;
		answer->oldest_state = coll_request_state(request);
		answer->oldest_age_ms = age_ms(request->submit_ns, now);
		answer->nwaits = coll_request_waits(request, answer->waits, COLL_ANSWER_WAITS);
		answer->parts |= BIT(COLL_ANSWER_OLDEST);
		return;
	}
}

/**
 * coll_requests_answer() - add what is known of a member's operations to an answer
 * @reqs: of the member, locked
 * @answer: the answer
 */
void coll_requests_answer(struct coll_requests *reqs, struct coll_answer *answer)
{
	const struct coll_last_failure *failed = &reqs->last_failure;
	u64 now = ktime_get_ns();

	lockdep_assert_held(&reqs->state->lock);
	coll_process_sync(reqs);
	answer->inflight = reqs->inflight;
	answer->counted = coll_process_called(reqs);
	answer_last(answer, reqs, now);
	answer_oldest(answer, reqs, now);
	coll_answer_add_failure(answer, COLL_ANSWER_FAILED, &failed->reason, failed->instance,
				failed->at);
}

/*
 * One long wait, as for a rank that had no CPU for once, says nothing of the rest of the time: the
 * longest operation of each collective does not count.
 */
static void answer_calls(const struct coll_requests *reqs, struct coll_answer *answer)
{
	u64 called = 0, span = 0, longest, sum, time;
	const struct coll_times *times;
	u32 i;

	for (i = 0; i < COLLECTIVE_OPCODE_COUNT; i++) {
		/* Pairs with coll_times_new(). */
		times = smp_load_acquire(&reqs->times[i]);
		if (!times)
			continue;
		longest = READ_ONCE(times->longest);
		sum = u64_stats_read(&times->latency.sum);
		called += sum - min(longest, sum);
		time = READ_ONCE(times->until) - times->since;
		span = max(span, time - min(longest, time));
		/* Each part that is sent may keep another one from being sent. */
		if (time)
			answer->parts |= BIT(COLL_ANSWER_TIMES);
	}
	answer->called_ms = age_ms(0, called);
	answer->span_ms = age_ms(0, span);
}

/**
 * coll_requests_answer_times() - add how long operations of a member took, and waited, to an answer
 * @reqs: of the member
 * @answer: the answer
 *
 * Looks at each rank once for each collective: COLLECTIVE_RANKS_MAX times COLLECTIVE_OPCODE_COUNT
 * sums at most, without a lock.
 */
void coll_requests_answer_times(const struct coll_requests *reqs, struct coll_answer *answer)
{
	const struct coll_times *times;
	u32 peer, i;
	u64 ns;

	answer_calls(reqs, answer);
	for (peer = 0; peer < reqs->id->nranks; peer++) {
		ns = 0;
		for (i = 0; i < COLLECTIVE_OPCODE_COUNT; i++) {
			/* Pairs with coll_times_new(). */
			times = smp_load_acquire(&reqs->times[i]);
			if (times)
				ns += atomic64_read(&times->waited[peer]);
		}
		coll_answer_add_wait(answer, peer, ns);
	}
}
