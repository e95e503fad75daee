// SPDX-License-Identifier: GPL-2.0-only
/*
 * Matching: no rank completes an operation with success before all ranks have called the same,
 * unless the call need not synchronize (ahead.h).
 *
 * In round k, of ceil(log2 n), each rank announces its call to the rank 2^k after it, once it has
 * heard all rounds before.  So an announcement of round k stands for the 2^k ranks up to its
 * sender.  If two ranks differ, some rank differs from the one before it, and no rank hears all
 * rounds.  The rank that finds a mismatch fails the operation everywhere, and sends both calls.
 *
 * Matching is one more part of a request, and runs in the control runner.  If payload, grants or
 * signals prove the match (coll_plan_implicit_match()), announcements are deferred.  The rounds
 * also add up the counts that only two ranks know (core/match/balance.h).
 */
#include <linux/ktime.h>
#include <linux/log2.h>

#include "core/engine/instance.h"
#include "fail/failed_ops.h"
#include "lane/lane.h"
#include "limits.h"
#include "net/link.h"
#include "op/match.h"
#include "op/request.h"
#include "op/requests.h"
#include "trace/recorder.h"

/* Time for the announcements to explain a mismatched frame, after all deferred ones are sent. */
#define MISMATCH_GRACE_NS	(500 * NSEC_PER_MSEC)

/**
 * coll_match_rounds() - number of rounds in which a rank announces a call
 * @nranks: of the group
 *
 * Return: ceil(log2(@nranks)), at most COLL_ROUNDS_MAX.
 */
u32 coll_match_rounds(u32 nranks)
{
	return order_base_2(nranks);
}

/**
 * coll_match_prev_peer() - the rank that announces to this one in a round
 * @reqs: of the member
 * @round: below coll_match_rounds()
 *
 * Return: a rank to which JOIN has made a link.
 */
u32 coll_match_prev_peer(const struct coll_requests *reqs, u32 round)
{
	return (reqs->id->rank + reqs->id->nranks - (1U << round)) % reqs->id->nranks;
}

/**
 * coll_match_next_peer() - the rank that this one announces to in a round
 * @reqs: of the member
 * @round: below coll_match_rounds()
 *
 * Return: a rank to which JOIN has made a link.
 */
u32 coll_match_next_peer(const struct coll_requests *reqs, u32 round)
{
	return (reqs->id->rank + (1U << round)) % reqs->id->nranks;
}

/**
 * coll_match_awaited() - the rank whose announcement of a call is missing
 * @request: in flight
 *
 * Context: any; without the member's lock the answer may be that of a moment ago.
 * Return: of the ranks that announce to this one the first, by rounds; COLL_NO_RANK: none.
 */
u32 coll_match_awaited(const struct coll_request *request)
{
	u32 round, rounds = coll_match_rounds(request->reqs->id->nranks);
	u32 heard = READ_ONCE(request->call.rounds_heard);

	for (round = 0; round < rounds; round++)
		if (!(heard & BIT(round)))
			return coll_match_prev_peer(request->reqs, round);
	return COLL_NO_RANK;
}

/* A rank that made the call heard in these rounds: the rank after @round's sender, if possible. */
static u32 known_caller(const struct coll_requests *reqs, u32 rounds_heard, u32 round)
{
	if (round && rounds_heard & BIT(round - 1))
		return (coll_match_prev_peer(reqs, round) + 1) % reqs->id->nranks;
	return rounds_heard ? coll_match_prev_peer(reqs, __ffs(rounds_heard)) : reqs->id->rank;
}

/**
 * coll_match_waits() - does a request wait for the announcements of all ranks?
 * @request: the request
 *
 * A message does not, nor does an operation with an implicit match.  One with a key always does: no
 * announcement of it may arrive after the key is used again.
 *
 * Return: true if one part of the request stands for matching.
 */
bool coll_match_waits(const struct coll_request *request)
{
	if (request->reqs->id->nranks == 1 || coll_plan_is_p2p(&request->plan))
		return false;
	return !request->implicit_match ||
	       request->call.signature.flags & COLLECTIVE_F_KEYED;
}

/* Have all rounds before this one been heard? */
static bool may_announce(u32 rounds_heard, u32 round)
{
	u32 needed = BIT(round) - 1;

	return (rounds_heard & needed) == needed;
}

/**
 * coll_match_announce() - announce a call in the rounds in which that is possible now
 * @reqs: of the member, locked
 * @call: of this rank
 * @rounds: number of rounds in which it is to be announced
 * @balance: what this rank adds to the sum of counts that only two ranks know
 */
void coll_match_announce(struct coll_requests *reqs, struct coll_call *call, u32 rounds,
			 u64 balance)
{
	struct coll_control control = {
		.kind = COLL_CONTROL_ANNOUNCE,
		.instance = call->instance,
		.signature = call->signature,
	};
	struct coll_link *next;

	/* At most COLL_ROUNDS_MAX rounds. */
	for (; call->rounds_sent < rounds && may_announce(call->rounds_heard, call->rounds_sent);
	     call->rounds_sent++) {
		if (coll_signature_paired(&call->signature))
			coll_balance_put(call->balances, balance, reqs->id->nranks,
					 call->rounds_sent, &control.signature);
		control.position = call->rounds_sent;
		next = coll_link_get(reqs->net, coll_match_next_peer(reqs, call->rounds_sent));
		coll_link_queue_frame(next, &control);
	}
}

/*
 * If the request does not wait for announcements, round 0 is enough: a mismatch always shows
 * between two neighbours.
 */
static void announce_request(struct coll_request *request)
{
	u32 rounds = coll_match_waits(request) ? coll_match_rounds(request->reqs->id->nranks) : 1;

	coll_match_announce(request->reqs, &request->call, rounds, request->balance);
}

/* A deferred announcement is sent once a peer announces, payload mismatches, or time passes. */
static void announce_now(struct coll_request *request)
{
	if (request->match != COLL_MATCH_DEFERRED)
		return;
	coll_request_set_match(request, COLL_MATCH_SETTLED);
	announce_request(request);
}

/**
 * coll_match_all_heard() - have all ranks announced a call?
 * @reqs: of the member
 * @call: of this rank
 */
bool coll_match_all_heard(const struct coll_requests *reqs, const struct coll_call *call)
{
	return call->rounds_heard == BIT(coll_match_rounds(reqs->id->nranks)) - 1;
}

static bool match_complete(const struct coll_request *request)
{
	return coll_match_all_heard(request->reqs, &request->call);
}

/* Return: true if all ranks have been heard and counts that only two ranks know differ. */
static bool match_unbalanced(const struct coll_request *request, struct coll_failure *failure)
{
	u64 total;

	if (!coll_signature_paired(&request->call.signature) || !match_complete(request))
		return false;
	total = coll_balance_total(request->call.balances, request->balance,
				   request->reqs->id->nranks);
	if (total)
		*failure = coll_match_balance_failure(request, total);
	return total;
}

/* Lanes that need a peer that has left have waited for what matching says of the operation. */
static void kick_if_departed(struct coll_requests *reqs)
{
	u32 i;

	if (bitmap_empty(reqs->state->peers_left, reqs->id->nranks))
		return;
	for (i = 0; i < reqs->id->nlanes; i++)
		coll_runner_kick(&reqs->lanes[i].runner);
}

/* Return: true if all ranks have just been heard; the caller reports the part. */
static bool is_decided(struct coll_request *request)
{
	if (request->match != COLL_MATCH_PENDING || !match_complete(request))
		return false;
	coll_request_set_match(request, COLL_MATCH_SETTLED);
	kick_if_departed(request->reqs);
	coll_record_agreed(&request->reqs->state->trace, request->call.instance);
	return true;
}

/**
 * coll_match_departed() - find a peer that has left without announcing a call
 * @reqs: of the member
 * @call: of this rank
 *
 * Return: its rank; COLL_NO_RANK: there is none.
 */
u32 coll_match_departed(const struct coll_requests *reqs, const struct coll_call *call)
{
	u32 round;

	for (round = 0; round < coll_match_rounds(reqs->id->nranks); round++) {
		u32 peer = coll_match_prev_peer(reqs, round);

		if (!(call->rounds_heard & BIT(round)) &&
		    READ_ONCE(coll_link_get(reqs->net, peer)->peer_left))
			return peer;
	}
	return COLL_NO_RANK;
}

/* The same for the call of a request that waits for announcements. */
static u32 departed_peer(const struct coll_request *request)
{
	if (request->match != COLL_MATCH_PENDING || request->abort.at_start ||
	    coll_plan_is_self(&request->plan))
		return COLL_NO_RANK;
	return coll_match_departed(request->reqs, &request->call);
}

/* Apply the calls and failures that arrived before this rank submitted the operation. */
static void apply_unexpected(struct coll_request *request, struct coll_failure *failure)
{
	struct coll_requests *reqs = request->reqs;
	struct coll_call *own = &request->call;
	const struct coll_failure *failed = coll_failed_ops_find(reqs->state->failed_ops,
								 own->instance);
	const struct coll_call *call = coll_unexpected_find(reqs, own->instance);

	if (failed) {
		*failure = *failed;
	} else if (call && coll_signatures_differ(&call->signature, &own->signature)) {
		u32 peer = coll_match_prev_peer(reqs, __ffs(call->rounds_heard));

		*failure = coll_match_signature_failure(peer, &call->signature,
							reqs->id->rank, &own->signature);
	} else if (call) {
		own->rounds_heard = call->rounds_heard;
	}
	if (own->rounds_heard && coll_signature_paired(&own->signature))
		memcpy(own->balances, call->balances, sizeof(own->balances));
	coll_unexpected_remove(reqs, own->instance);
}

/**
 * coll_match_start() - announce a call, and compare it with those that have been announced
 * @request: that starts and has its instance; locked
 * @failure: out: why the request must fail, for coll_match_fail_started(); its kind is
 *	COLLECTIVE_REASON_NONE if it need not
 *
 * Return: true if all ranks are known to match; the caller reports one part.
 */
bool coll_match_start(struct coll_request *request, struct coll_failure *failure)
{
	struct coll_requests *reqs = request->reqs;
	u32 departed;

	failure->reason.kind = COLLECTIVE_REASON_NONE;
	if (coll_plan_is_self(&request->plan))
		coll_self_message_start(request, failure);
	if (reqs->id->nranks == 1 || coll_plan_is_self(&request->plan))
		return false;
	coll_request_set_match(request, coll_match_waits(request) ? COLL_MATCH_PENDING :
			       COLL_MATCH_SETTLED);
	apply_unexpected(request, failure);
	if (failure->reason.kind != COLLECTIVE_REASON_NONE || coll_plan_is_p2p(&request->plan))
		return false;
	if (request->match == COLL_MATCH_SETTLED && !request->call.rounds_heard)
		coll_request_set_match(request, COLL_MATCH_DEFERRED);
	else
		announce_request(request);
	departed = departed_peer(request);
	if (departed != COLL_NO_RANK)
		failure->reason = (struct coll_reason){
			.kind = COLLECTIVE_REASON_LEFT,
			.error = ECONNRESET,
			.rank_a = departed,
			.rank_b = reqs->id->rank,
		};
	else if (match_unbalanced(request, failure))
		return false;
	return is_decided(request);
}

/* The operation is not in flight here.  Return: 0, 1 if it is to fail, or a negative errno. */
static int match_unexpected(struct coll_requests *reqs, u64 instance, u32 round,
			    const struct coll_signature *signature,
			    const struct coll_balance *balance, struct coll_failure *failure)
{
	struct coll_call *call = coll_unexpected_get_or_add(reqs, instance);

	if (IS_ERR_OR_NULL(call))
		return PTR_ERR_OR_ZERO(call);
	if (!call->rounds_heard && !call->is_own)
		call->signature = *signature;
	/* A rank that runs ahead compares it in a request, before it has gone on. */
	if (coll_instance_is_counted(instance) && coll_ahead_is_used(reqs, 0))
		coll_process_alarm(reqs, instance);
	if (coll_signatures_differ(&call->signature, signature)) {
		*failure = coll_match_signature_failure(coll_match_prev_peer(reqs, round),
							signature,
							known_caller(reqs, call->rounds_heard,
								     round),
							&call->signature);
		return 1;
	}
	call->rounds_heard |= BIT(round);
	call->balances[round] = *balance;
	if (call->is_own)
		coll_kept_heard(reqs, call);
	return 0;
}

/* The operation is in flight here.  Return: true if it is to fail. */
static bool match_request(struct coll_request *request, u32 round,
			  const struct coll_signature *signature,
			  const struct coll_balance *balance, struct coll_failure *failure)
{
	struct coll_requests *reqs = request->reqs;
	struct coll_call *call = &request->call;
	u32 first = BIT(round) >> 1;

	if (coll_signatures_differ(&call->signature, signature)) {
		u32 rounds_heard = call->rounds_heard & first;

		*failure = coll_match_signature_failure(coll_match_prev_peer(reqs, round),
							signature,
							known_caller(reqs, rounds_heard, round),
							&call->signature);
		return true;
	}
	call->rounds_heard |= BIT(round);
	call->balances[round] = *balance;
	if (request->match == COLL_MATCH_DEFERRED)
		coll_request_set_match(request, COLL_MATCH_SETTLED);
	if (!request->abort.error)
		announce_request(request);
	if (match_unbalanced(request, failure))
		return true;
	if (request->mismatch_peer == COLL_NO_RANK || !match_complete(request))
		return false;
	*failure = coll_match_mismatch_failure(request);
	return true;
}

/**
 * coll_match_receive_announce() - compare an announced call with this rank's
 * @reqs: of the member
 * @peer: rank that has announced its call
 * @control: the ANNOUNCE frame
 *
 * Context: control runner.
 * Return: 0; -EPROTO if @peer may not send this frame, or has sent too many.
 */
int coll_match_receive_announce(struct coll_requests *reqs, u32 peer,
				const struct coll_control *control)
{
	u64 instance = control->instance;
	const struct coll_failure *failed = NULL;
	struct coll_signature signature = control->signature;
	struct coll_balance balance = coll_balance_get(&signature);
	struct coll_request *request;
	struct coll_failure failure;
	bool decided = false;
	struct coll_signature own;
	int fails;

	/* Messages are not announced, and each peer announces in one round only. */
	if (instance & COLL_INSTANCE_P2P ||
	    control->position >= coll_match_rounds(reqs->id->nranks) ||
	    peer != coll_match_prev_peer(reqs, control->position))
		return -EPROTO;

	spin_lock(&reqs->state->lock);
	coll_process_sync(reqs);
	request = coll_request_by_instance(reqs, instance);
	/* If the round was heard already, the frame belongs to the next use of the key. */
	if (request && !(request->call.rounds_heard & BIT(control->position))) {
		fails = match_request(request, control->position, &signature, &balance,
				      &failure);
		decided = !fails && is_decided(request);
	} else if (!request && coll_ahead_call(reqs, instance, &own)) {
		failed = coll_failed_ops_find(reqs->state->failed_ops, instance);
		fails = !failed && coll_signatures_differ(&own, &signature);
		failure = coll_match_signature_failure(peer, &signature, reqs->id->rank, &own);
	} else {
		fails = match_unexpected(reqs, instance, control->position, &signature, &balance,
					 &failure);
		if (!request)
			failed = coll_failed_ops_find(reqs->state->failed_ops, instance);
	}
	if (fails > 0) {
		coll_match_fail(reqs, request, instance, &failure);
		return 0;
	}
	if (failed)
		failure = *failed;
	spin_unlock(&reqs->state->lock);

	/*
	 * The peer was told of the failure before; a peer that announces the operation has not read
	 * that.
	 */
	if (failed)
		coll_link_queue_failure(coll_link_get(reqs->net, peer), instance, &failure);
	if (fails == -ENOMEM || fails == -EDQUOT)
		coll_state_fail_kind(reqs->state, COLLECTIVE_REASON_RESOURCES, reqs->id->rank,
				     COLLECTIVE_RANK_NONE);
	else if (decided)
		coll_request_report(request, 0);
	return fails == -EPROTO ? fails : 0;
}

/**
 * coll_match_payload_mismatch() - record that a payload frame did not match its operation
 * @reqs: of the member
 * @instance: of the operation
 * @peer: sender of the frame
 *
 * Announces the call, because the other ranks' announcements explain the mismatch.  The operation
 * fails at once if there is nothing to wait for: a message, or all ranks have been heard, or the
 * peer's call is kept on the board.
 *
 * Context: a lane's runner.
 */
void coll_match_payload_mismatch(struct coll_requests *reqs, u64 instance, u32 peer)
{
	struct coll_signature theirs;
	struct coll_request *request;
	struct coll_failure failure;
	bool fails = false;

	spin_lock(&reqs->state->lock);
	request = coll_request_by_instance(reqs, instance);
	if (request && !request->abort.error && request->mismatch_peer == COLL_NO_RANK) {
		request->mismatch_peer = peer;
		request->mismatch_ns = ktime_get_ns();
		announce_now(request);
		if (request->plan.schedule->board &&
		    coll_ahead_call_of(reqs, peer, instance, &theirs)) {
			failure = coll_match_signature_failure(peer, &theirs, reqs->id->rank,
							       &request->call.signature);
			fails = coll_signatures_differ(&theirs, &request->call.signature);
		} else {
			failure = coll_match_mismatch_failure(request);
			fails = coll_plan_is_p2p(&request->plan) || match_complete(request);
		}
	}
	if (fails)
		coll_match_fail(reqs, request, instance, &failure);
	else
		spin_unlock(&reqs->state->lock);
}

/**
 * coll_match_peer_left() - fail the group if an operation still needs the call of a peer that left
 * @reqs: of the member
 *
 * Context: control runner.
 */
void coll_match_peer_left(struct coll_requests *reqs)
{
	struct coll_request *request;
	u32 departed = COLL_NO_RANK;

	spin_lock(&reqs->state->lock);
	/* COLL_INFLIGHT at most, once for each LEAVE. */
	list_for_each_entry(request, &reqs->inflight_list, node) {
		departed = departed_peer(request);
		if (departed != COLL_NO_RANK)
			break;
	}
	if (departed == COLL_NO_RANK)
		departed = coll_kept_departed(reqs);
	spin_unlock(&reqs->state->lock);

	if (departed != COLL_NO_RANK)
		coll_state_fail_kind(reqs->state, COLLECTIVE_REASON_LEFT, departed, reqs->id->rank);
	else if (reqs->id->board)
		kick_if_departed(reqs);
}

static struct coll_request *match_pending(struct coll_requests *reqs)
{
	struct coll_request *request;

	list_for_each_entry(request, &reqs->inflight_list, node)
		if (request->match == COLL_MATCH_PENDING || request->absent_pending)
			return request;
	return NULL;
}

/* The group has failed, so announcements are not read any more: report the parts that wait. */
static void match_end(struct coll_requests *reqs)
{
	struct coll_request *request;

	/*
	 * COLL_INFLIGHT rounds at most, each from the head of the list; the group fails only once.
	 */
	do {
		spin_lock(&reqs->state->lock);
		request = match_pending(reqs);
		if (request && !coll_absent_release_completion(request))
			coll_request_set_match(request, COLL_MATCH_SETTLED);
		spin_unlock(&reqs->state->lock);
		if (request)
			coll_request_report(request, READ_ONCE(reqs->state->aborted));
	} while (request);
}

static bool is_unexplained(const struct coll_request *request, u64 now)
{
	u64 announce_ns = min_t(u64, coll_state_heartbeats_ns(request->reqs->state, 1),
				NSEC_PER_SEC);

	return request->mismatch_peer != COLL_NO_RANK && !request->abort.error &&
		atomic_read(&request->parts_pending) &&
	       now >= request->mismatch_ns + announce_ns + MISMATCH_GRACE_NS;
}

/* Send deferred announcements, so that a mismatch is found within a heartbeat. */
static void announce_overdue(struct coll_requests *reqs)
{
	struct coll_request *request;

	spin_lock(&reqs->state->lock);
	/* So that it is known when the process has called something, to a heartbeat. */
	coll_process_sync(reqs);
	/* COLL_INFLIGHT at most, once a heartbeat. */
	list_for_each_entry(request, &reqs->inflight_list, node)
		if (!request->abort.error)
			announce_now(request);
	spin_unlock(&reqs->state->lock);
}

/*
 * Fail one operation with mismatched payload that no announcement has explained.  The rank that
 * could explain it may not have called at all.
 */
static void fail_unexplained(struct coll_requests *reqs, u64 now)
{
	struct coll_request *request;
	struct coll_failure failure;

	spin_lock(&reqs->state->lock);
	list_for_each_entry(request, &reqs->inflight_list, node) {
		if (!is_unexplained(request, now))
			continue;
		failure = coll_match_mismatch_failure(request);
		/* Further ones fail at the next heartbeat. */
		coll_match_fail(reqs, request, request->call.instance, &failure);
		return;
	}
	spin_unlock(&reqs->state->lock);
}

/**
 * coll_match_heartbeat() - send deferred announcements, and fail what they do not explain
 * @reqs: of the member
 * @now: ns
 *
 * Context: control runner.
 */
void coll_match_heartbeat(struct coll_requests *reqs, u64 now)
{
	/* Pairs with the release in coll_state_fail(): @aborted is read before @settled_at. */
	if (!smp_load_acquire(&reqs->state->aborted)) {
		announce_overdue(reqs);
		fail_unexplained(reqs, now);
	} else if (coll_state_is_final(reqs->state, now)) {
		match_end(reqs);
	}
}

/**
 * coll_match_submitted_for() - the number of submitted operations that a PING or PONG carries
 * @reqs: of the member
 * @peer: receiver of the frame
 *
 * Context: control runner.
 * Return: the least number of collectives without a key that the 2^k ranks up to this one are known
 * to have submitted, if @peer is 2^k further; else 0.
 */
u64 coll_match_submitted_for(struct coll_requests *reqs, u32 peer)
{
	u32 rounds = coll_match_rounds(reqs->id->nranks), round;
	u64 count = 0;

	for (round = 0; round < rounds && peer != coll_match_next_peer(reqs, round); round++)
		;
	if (round == rounds)
		return 0;
	spin_lock(&reqs->state->lock);
	coll_process_sync(reqs);
	count = coll_unexpected_submitted_for(reqs, round);
	spin_unlock(&reqs->state->lock);
	return count;
}

/**
 * coll_match_receive_submitted() - take the number of submitted operations from a PING or PONG
 * @reqs: of the member
 * @peer: sender of the frame
 * @count: number in the frame
 *
 * Context: control runner.
 */
void coll_match_receive_submitted(struct coll_requests *reqs, u32 peer, u64 count)
{
	u32 rounds = coll_match_rounds(reqs->id->nranks), round;

	for (round = 0; round < rounds && peer != coll_match_prev_peer(reqs, round); round++)
		;
	if (round == rounds)
		return;
	spin_lock(&reqs->state->lock);
	coll_process_sync(reqs);
	coll_unexpected_receive_submitted(reqs, round, count);
	spin_unlock(&reqs->state->lock);
}

/**
 * coll_match_run() - fail what differs from announced calls, complete requests that have waited for
 *	a place, and ping the ranks that may wait for this rank's number of submitted operations
 * @reqs: of the member
 * @now: ns
 *
 * Context: control runner.
 */
void coll_match_run(struct coll_requests *reqs, u64 now)
{
	u32 round;

	coll_ahead_run(reqs);
	coll_kept_run(reqs);
	if (!READ_ONCE(reqs->match.submitted_due) || !xchg(&reqs->match.submitted_due, false))
		return;
	for (round = 0; round < coll_match_rounds(reqs->id->nranks); round++)
		coll_link_ping(coll_link_get(reqs->net, coll_match_next_peer(reqs, round)), now);
}
