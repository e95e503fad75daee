// SPDX-License-Identifier: GPL-2.0-only
/*
 * Agreement: no rank completes an operation before all have called the same.  Where
 * payload does not say so by itself (below), they tell each other.
 *
 * Each rank tells its call to the rank after it (round 0), then to the one two
 * further, to the one four further and so on, ceil(log2 n) rounds; a round when
 * all before it have been heard, from as far behind, and were equal.  So what is
 * said in round k stands for the 2^k ranks up to the one that says it, and who has
 * heard all rounds knows of everybody.
 *
 * If any two ranks differ then some rank differs from the one before it.  Nobody's
 * knowledge spans these two: no rank has completed, or will.  The one that sees a
 * difference aborts the operation on all, and says what the two called.
 *
 * What depends on everybody says all this by its payload if it is small, by its grants if
 * it is not (coll_plan_implicit_match()), and a barrier by its signals.  Of these a rank is quiet:
 * it announces them, to the rank after it, when somebody else does, when payload does not
 * fit, or when it takes long.
 *
 * Counts that only two ranks know are no part of the call that is compared.  The same rounds make a
 * sum of them, which is 0 if they match, and which every rank knows when it has heard all rounds
 * (core/match/balance.h).  If it is not 0 then the operation fails on every rank by itself, and
 * the two ranks whose counts differ, if no others do, tell all how.
 *
 * For a request this is one more part that is to be done, besides those of the
 * lanes.  It goes on beside the payload, in the control runners.  A frame of
 * payload that does not fit means that calls differ too, but not how; so what the
 * ranks say is waited for, for a while.
 */
#include <linux/jiffies.h>
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

/* What an odd frame means should be known so long after all that is quiet has spoken. */
#define MISMATCH_GRACE_NS	(500 * NSEC_PER_MSEC)

static bool signatures_differ(const struct coll_signature *a, const struct coll_signature *b)
{
	return a->collective != b->collective || a->type != b->type ||
	       a->reduction != b->reduction || a->algorithm != b->algorithm ||
	       a->flags != b->flags || a->root != b->root || a->count != b->count ||
	       a->layout != b->layout;
}

/**
 * coll_match_rounds() - how often a rank tells what it has called
 * @nranks: of the group
 */
u32 coll_match_rounds(u32 nranks)
{
	return order_base_2(nranks);
}

/**
 * coll_match_prev_peer() - who tells us in a round
 * @reqs: the member
 * @round: below coll_match_rounds()
 *
 * Return: a rank that JOIN has made a link to.
 */
u32 coll_match_prev_peer(const struct coll_requests *reqs, u32 round)
{
	return (reqs->id->rank + reqs->id->nranks - (1U << round)) % reqs->id->nranks;
}

/**
 * coll_match_next_peer() - whom we tell in a round
 * @reqs: the member
 * @round: below coll_match_rounds()
 *
 * Return: a rank that JOIN has made a link to.
 */
u32 coll_match_next_peer(const struct coll_requests *reqs, u32 round)
{
	return (reqs->id->rank + (1U << round)) % reqs->id->nranks;
}

static struct coll_failure failure_mismatch(u32 rank_a, u32 rank_b)
{
	return (struct coll_failure){
		.cause = {
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

/* Of whom two different signatures are. */
static struct coll_failure failure_differ(u32 rank_a, const struct coll_signature *a,
					  u32 rank_b, const struct coll_signature *b)
{
	struct coll_failure failure = failure_mismatch(rank_a, rank_b);

	failure.calls[0] = (struct coll_rank_call){ .rank = rank_a, .signature = *a };
	failure.calls[1] = (struct coll_rank_call){ .rank = rank_b, .signature = *b };
	return failure;
}

/* A rank known to have called what is in a mask of rounds: if it can be, the next one. */
static u32 known_caller(const struct coll_requests *reqs, u32 rounds_heard, u32 round)
{
	if (round && rounds_heard & BIT(round - 1))
		return (coll_match_prev_peer(reqs, round) + 1) % reqs->id->nranks;
	return rounds_heard ? coll_match_prev_peer(reqs, __ffs(rounds_heard)) : reqs->id->rank;
}

/**
 * coll_match_mismatch_failure() - what payload has shown, which is not how calls differ
 * @request: an operation with @odd; its lock is held
 */
struct coll_failure coll_match_mismatch_failure(const struct coll_request *request)
{
	u32 rank = request->reqs->id->rank;
	struct coll_failure failure = failure_mismatch(request->mismatch_peer, rank);

	failure.calls[1] = (struct coll_rank_call){ .rank = rank,
						   .signature = request->signature };
	return failure;
}

/* All ranks have been heard, and some counts that only two ranks know differ. */
static noinline struct coll_failure failure_unbalanced(const struct coll_request *request,
						       u64 total)
{
	struct coll_signature sent = request->signature, expected = request->signature;
	struct coll_imbalance between;

	if (coll_balance_find(&request->plan, total, &between)) {
		sent.count = between.sent;
		expected.count = between.expected;
		return failure_differ(between.from, &sent, between.to, &expected);
	}
	if (request->mismatch_peer != COLL_NOBODY)
		return coll_match_mismatch_failure(request);
	return failure_mismatch(COLLECTIVE_RANK_NONE, COLLECTIVE_RANK_NONE);
}

/**
 * coll_match_waits() - does an operation wait for the agreement?
 * @request: the operation
 *
 * Not one between two ranks, nor one whose payload says what all have called.  One with
 * a key does: what is told of it must not come when the key may name another.
 */
bool coll_match_waits(const struct coll_request *request)
{
	if (request->reqs->id->nranks == 1 || coll_plan_is_p2p(&request->plan))
		return false;
	return !request->implicit_match ||
	       request->signature.flags & COLLECTIVE_F_KEYED;
}

/* Tell all that may be told; where nobody waits it is enough that two neighbours differ. */
static void send_rounds(struct coll_request *request)
{
	struct coll_requests *reqs = request->reqs;
	u32 rounds = coll_match_waits(request) ? coll_match_rounds(reqs->id->nranks) : 1;

	/* Ten rounds, for 1,024 ranks. */
	for (; request->rounds_sent < rounds; request->rounds_sent++) {
		struct coll_control control = {
			.kind = COLL_CONTROL_ANNOUNCE,
			.instance = request->instance,
			.position = request->rounds_sent,
			.signature = request->signature,
		};
		u32 needed = BIT(request->rounds_sent) - 1;
		u32 next;

		if ((request->rounds_heard & needed) != needed)
			return;
		if (coll_signature_paired(&request->signature))
			coll_balance_put(request->balances, request->balance, reqs->id->nranks,
					 request->rounds_sent, &control.signature);
		next = coll_match_next_peer(reqs, request->rounds_sent);
		coll_link_queue_frame(coll_link_get(reqs->net, next), &control);
	}
}

static void announce_now(struct coll_request *request)
{
	if (!request->announce_deferred)
		return;
	request->announce_deferred = false;
	send_rounds(request);
}

static bool match_complete(const struct coll_request *request)
{
	u32 rounds = coll_match_rounds(request->reqs->id->nranks);

	return request->rounds_heard == BIT(rounds) - 1;
}

/* Has everybody been heard, and do counts differ that only two ranks know?  Then it is to fail. */
static bool match_unbalanced(const struct coll_request *request, struct coll_failure *failure)
{
	u64 total;

	if (!coll_signature_paired(&request->signature) || !match_complete(request))
		return false;
	total = coll_balance_total(request->balances, request->balance,
				   request->reqs->id->nranks);
	if (total)
		*failure = failure_unbalanced(request, total);
	return total;
}

/* Has everybody been heard?  Then whoever asks has to report it. */
static bool is_decided(struct coll_request *request)
{
	if (!request->match_pending || !match_complete(request))
		return false;
	request->match_pending = false;
	coll_record_agreed(&request->reqs->fail->trace, request->instance);
	return true;
}

/* Somebody who has left without a word, or COLL_NOBODY. */
static u32 departed_peer(const struct coll_request *request)
{
	struct coll_requests *reqs = request->reqs;
	u32 round;

	if (!request->match_pending || request->abort.at_start)
		return COLL_NOBODY;
	for (round = 0; round < coll_match_rounds(reqs->id->nranks); round++) {
		u32 peer = coll_match_prev_peer(reqs, round);

		if (!(request->rounds_heard & BIT(round)) &&
		    READ_ONCE(coll_link_get(reqs->net, peer)->peer_left))
			return peer;
	}
	return COLL_NOBODY;
}

/* What was said before this rank was asked to. */
static void apply_unexpected(struct coll_request *request, struct coll_failure *failure)
{
	struct coll_requests *reqs = request->reqs;
	const struct coll_failure *failed = coll_failed_ops_find(reqs->fail->failed_ops,
								 request->instance);
	const struct coll_unexpected_call *call = coll_unexpected_find(reqs, request->instance);

	if (failed)
		*failure = *failed;
	else if (call && signatures_differ(&call->signature, &request->signature))
		*failure = failure_differ(coll_match_prev_peer(reqs, __ffs(call->rounds_heard)),
					  &call->signature, reqs->id->rank, &request->signature);
	else if (call)
		request->rounds_heard = call->rounds_heard;
	if (request->rounds_heard && coll_signature_paired(&request->signature))
		memcpy(request->balances, call->balances, sizeof(request->balances));
	coll_unexpected_remove(reqs, request->instance);
}

/**
 * coll_match_start() - tell others of an operation, and see what they have told
 * @request: that has got a number; its lock is held
 * @failure: out: why it is to fail, if its cause is of a kind: coll_match_fail_started()
 *
 * Return: true when all agree already: coll_request_report() it.
 */
bool coll_match_start(struct coll_request *request, struct coll_failure *failure)
{
	struct coll_requests *reqs = request->reqs;
	u32 departed;

	failure->cause.kind = COLLECTIVE_REASON_NONE;
	if (reqs->id->nranks == 1)
		return false;
	request->match_pending = coll_match_waits(request);
	apply_unexpected(request, failure);
	if (failure->cause.kind != COLLECTIVE_REASON_NONE || coll_plan_is_p2p(&request->plan))
		return false;
	request->announce_deferred = !request->match_pending && !request->rounds_heard;
	if (!request->announce_deferred)
		send_rounds(request);
	departed = departed_peer(request);
	if (departed != COLL_NOBODY)
		failure->cause = (struct coll_reason){
			.kind = COLLECTIVE_REASON_LEFT,
			.error = ECONNRESET,
			.rank_a = departed,
			.rank_b = reqs->id->rank,
		};
	else if (match_unbalanced(request, failure))
		return false;
	return is_decided(request);
}

/**
 * coll_match_fail_started() - an operation has to fail: see coll_match_start()
 * @reqs: the member
 * @instance: number of the operation
 * @failure: why
 */
noinline void coll_match_fail_started(struct coll_requests *reqs, u64 instance,
				      const struct coll_failure *failure)
{
	if (failure->cause.kind == COLLECTIVE_REASON_LEFT)
		coll_fail_report(reqs->fail, &failure->cause);
	else
		coll_match_abort(reqs, instance, failure);
}

/* Before it is in flight here.  Return: 1 when it is to fail, or a negative errno. */
static int match_unexpected(struct coll_requests *reqs, u64 instance, u32 round,
			    const struct coll_signature *signature,
			    const struct coll_balance *balance, struct coll_failure *failure)
{
	struct coll_unexpected_call *call = coll_unexpected_get_or_add(reqs, instance);

	if (IS_ERR_OR_NULL(call))
		return PTR_ERR_OR_ZERO(call);
	if (!call->rounds_heard)
		call->signature = *signature;
	if (signatures_differ(&call->signature, signature)) {
		*failure = failure_differ(coll_match_prev_peer(reqs, round), signature,
					  known_caller(reqs, call->rounds_heard, round),
					  &call->signature);
		return 1;
	}
	call->rounds_heard |= BIT(round);
	call->balances[round] = *balance;
	return 0;
}

/* Return: whether the operation is to fail. */
static bool match_request(struct coll_request *request, u32 round,
			  const struct coll_signature *signature,
			  const struct coll_balance *balance, struct coll_failure *failure)
{
	struct coll_requests *reqs = request->reqs;
	u32 first = BIT(round) >> 1;

	if (signatures_differ(&request->signature, signature)) {
		*failure = failure_differ(coll_match_prev_peer(reqs, round), signature,
					  known_caller(reqs, request->rounds_heard & first,
						       round),
					  &request->signature);
		return true;
	}
	request->rounds_heard |= BIT(round);
	request->balances[round] = *balance;
	request->announce_deferred = false;
	if (!request->abort.error)
		send_rounds(request);
	if (match_unbalanced(request, failure))
		return true;
	if (request->mismatch_peer == COLL_NOBODY || !match_complete(request))
		return false;
	*failure = coll_match_mismatch_failure(request);
	return true;
}

static void send_failure(struct coll_link *link, u64 instance,
			 const struct coll_failure *failure)
{
	if (failure->cause.kind == COLLECTIVE_REASON_MISMATCH)
		coll_link_queue_calls(link, instance, failure->calls);
	coll_link_queue_frame(link, &(struct coll_control) {
		.kind = COLL_CONTROL_ABORT,
		.instance = instance,
		.cause = failure->cause,
	});
}

/**
 * coll_match_receive_announce() - another rank tells what it has called
 * @reqs: the member
 * @peer: who says so
 * @control: an ANNOUNCE
 *
 * Context: control runner.
 * Return: 0; -EPROTO when it is not for that rank to say, or too much is said.
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
	int fails;

	/* Messages are not announced. */
	if (instance & COLL_INSTANCE_P2P ||
	    control->position >= coll_match_rounds(reqs->id->nranks) ||
	    peer != coll_match_prev_peer(reqs, control->position))
		return -EPROTO;

	spin_lock(&reqs->fail->lock);
	request = coll_request_find(reqs, instance);
	/* A key may be used again before all is done here: that is not said twice. */
	if (request && !(request->rounds_heard & BIT(control->position))) {
		fails = match_request(request, control->position, &signature, &balance,
				      &failure);
		decided = !fails && is_decided(request);
	} else {
		fails = match_unexpected(reqs, instance, control->position, &signature, &balance,
					 &failure);
		if (!request)
			failed = coll_failed_ops_find(reqs->fail->failed_ops, instance);
	}
	if (fails > 0) {
		coll_match_fail(reqs, request, instance, &failure);
		return 0;
	}
	if (failed)
		failure = *failed;
	spin_unlock(&reqs->fail->lock);

	/* It was told when it failed; a rank that submits it all the same has not heard. */
	if (failed)
		send_failure(coll_link_get(reqs->net, peer), instance, &failure);
	if (fails == -ENOMEM)
		coll_fail_report_kind(reqs->fail, COLLECTIVE_REASON_RESOURCES, reqs->id->rank,
				      COLLECTIVE_RANK_NONE);
	else if (decided)
		coll_request_report(request, 0);
	return fails == -EPROTO ? fails : 0;
}

/**
 * coll_match_payload_mismatch() - payload has come that does not fit an operation
 * @reqs: the member
 * @instance: number of the operation
 * @peer: from whom
 *
 * Context: a lane's runner.
 */
noinline void coll_match_payload_mismatch(struct coll_requests *reqs, u64 instance, u32 peer)
{
	struct coll_request *request;
	struct coll_failure failure;
	bool fails = false;

	spin_lock(&reqs->fail->lock);
	request = coll_request_find(reqs, instance);
	if (request && !request->abort.error && request->mismatch_peer == COLL_NOBODY) {
		request->mismatch_peer = peer;
		request->mismatch_ns = ktime_get_ns();
		announce_now(request);
		failure = coll_match_mismatch_failure(request);
		fails = coll_plan_is_p2p(&request->plan) || match_complete(request);
	}
	if (fails)
		coll_match_fail(reqs, request, instance, &failure);
	else
		spin_unlock(&reqs->fail->lock);
}

/**
 * coll_match_peer_left() - some peer has said goodbye
 * @reqs: the member
 *
 * Context: control runner.
 */
void coll_match_peer_left(struct coll_requests *reqs)
{
	struct coll_request *request;
	u32 departed = COLL_NOBODY;

	spin_lock(&reqs->fail->lock);
	/* COLL_INFLIGHT at most, once a goodbye. */
	list_for_each_entry(request, &reqs->inflight_list, node) {
		departed = departed_peer(request);
		if (departed != COLL_NOBODY)
			break;
	}
	spin_unlock(&reqs->fail->lock);

	if (departed != COLL_NOBODY)
		coll_fail_report_kind(reqs->fail, COLLECTIVE_REASON_LEFT, departed, reqs->id->rank);
}

static struct coll_request *match_pending(struct coll_requests *reqs)
{
	struct coll_request *request;

	list_for_each_entry(request, &reqs->inflight_list, node)
		if (request->match_pending || request->absent_pending)
			return request;
	return NULL;
}

/* The group has failed: nobody is heard any more. */
static void match_end(struct coll_requests *reqs)
{
	struct coll_request *request;

	/* COLL_INFLIGHT turns, each from the beginning: once, as the group has failed. */
	do {
		spin_lock(&reqs->fail->lock);
		request = match_pending(reqs);
		if (request && !coll_absent_release_completion(request))
			request->match_pending = false;
		spin_unlock(&reqs->fail->lock);
		if (request)
			coll_request_report(request, READ_ONCE(reqs->fail->aborted));
	} while (request);
}

static bool is_unexplained(const struct coll_request *request, u64 now)
{
	u64 announce_ns = min_t(u64, coll_fail_heartbeats_ns(request->reqs->fail, 1), NSEC_PER_SEC);

	return request->mismatch_peer != COLL_NOBODY && !request->abort.error &&
		atomic_read(&request->parts_pending) &&
	       now >= request->mismatch_ns + announce_ns + MISMATCH_GRACE_NS;
}

/* Somebody may have called otherwise: no operation is quiet for longer than this. */
static void announce_overdue(struct coll_requests *reqs)
{
	struct coll_request *request;

	spin_lock(&reqs->fail->lock);
	/* COLL_INFLIGHT at most, once a heartbeat. */
	list_for_each_entry(request, &reqs->inflight_list, node)
		if (!request->abort.error)
			announce_now(request);
	spin_unlock(&reqs->fail->lock);
}

/* Payload does not fit, and some rank that could tell why has not called at all. */
static void fail_unexplained(struct coll_requests *reqs, u64 now)
{
	struct coll_request *request;
	struct coll_failure failure;

	spin_lock(&reqs->fail->lock);
	list_for_each_entry(request, &reqs->inflight_list, node) {
		if (!is_unexplained(request, now))
			continue;
		failure = coll_match_mismatch_failure(request);
		/* Others have their turn at the next heartbeat. */
		coll_match_fail(reqs, request, request->instance, &failure);
		return;
	}
	spin_unlock(&reqs->fail->lock);
}

/**
 * coll_match_heartbeat() - a heartbeat
 * @reqs: the member
 * @now: ns
 *
 * Context: control runner.
 */
void coll_match_heartbeat(struct coll_requests *reqs, u64 now)
{
	if (!smp_load_acquire(&reqs->fail->aborted)) {	/* then when */
		announce_overdue(reqs);
		fail_unexplained(reqs, now);
	} else if (coll_fail_reason_final(reqs->fail, now)) {
		match_end(reqs);
	}
}

/*
 * Tell all links; but not that some counts differ if it is not known whose.  Each rank has the same
 * sum and fails by itself, and the two ranks, which may have it later, can say more.
 */
static void broadcast_abort(struct coll_requests *reqs, u64 instance,
			    const struct coll_failure *failure)
{
	bool known = failure->cause.rank_a != COLLECTIVE_RANK_NONE;
	struct coll_link *link;
	u32 i;

	/* A failure of ours, or one that is is_new: a rank passes a name on once. */
	coll_for_each_link(link, reqs->net) {
		/* A message is no business of others. */
		if (!known || (instance & COLL_INSTANCE_P2P &&
			       !coll_instance_is_between(instance, reqs->id->rank, link->peer)))
			continue;
		send_failure(link, instance, failure);
	}
	coll_runner_kick(reqs->net->control);
	for (i = 0; i < reqs->id->nlanes; i++)
		coll_lane_check_aborts(&reqs->lanes[i]);
}

/**
 * coll_match_fail() - fail one operation on every rank: coll_match_abort(), locked
 * @reqs: the member, locked; not any more
 * @request: the operation, or NULL when it is not in progress here
 * @instance: its name
 * @failure: why
 *
 * Context: process or work item.
 */
void coll_match_fail(struct coll_requests *reqs, struct coll_request *request, u64 instance,
		     const struct coll_failure *failure)
	__releases(&reqs->fail->lock)
{
	int error = coll_errno_for_rank(reqs->fail, &failure->cause);
	bool is_new = false, report = false, absent = false;
	struct coll_control control;
	int known = 0;

	if (request && !request->abort.error) {
		request->failure = *failure;
		WRITE_ONCE(request->abort.error, error);
		report = request->match_pending;
		request->match_pending = false;
		request->announce_deferred = false;
		is_new = true;
		coll_absent_hold_completion(request);
		/* From now on it has as long as after a deadline. */
		request->deadline = jiffies | 1;
		coll_timer_arm(request);
	}
	if (is_new || (!request && coll_unexpected_expects(reqs, instance)))
		known = coll_unexpected_fail(reqs, instance, failure);
	is_new |= known > 0;
	if (is_new)
		coll_record_fail(&reqs->fail->trace, instance, &failure->cause);
	if (is_new && !request)
		absent = coll_absent_self_report(reqs, instance, &failure->cause, &control);
	spin_unlock(&reqs->fail->lock);

	if (known < 0)
		coll_fail_report_kind(reqs->fail, COLLECTIVE_REASON_RESOURCES, reqs->id->rank,
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
 * @reqs: the member
 * @instance: its number; it need not be submitted here yet
 * @failure: why
 *
 * Context: process or work item.
 */
noinline void coll_match_abort(struct coll_requests *reqs, u64 instance,
			       const struct coll_failure *failure)
{
	spin_lock(&reqs->fail->lock);
	coll_match_fail(reqs, coll_request_find(reqs, instance), instance, failure);
}

/**
 * coll_match_submitted_for() - what a PING or a PONG tells a rank
 * @reqs: the member
 * @peer: that rank
 *
 * Context: control runner.
 * Return: the least number of collectives without a key that the 2^k ranks up to this one are
 * known to have submitted, if @peer is 2^k further; else 0.
 */
u64 coll_match_submitted_for(struct coll_requests *reqs, u32 peer)
{
	u32 rounds = coll_match_rounds(reqs->id->nranks), round;
	u64 count = 0;

	for (round = 0; round < rounds && peer != coll_match_next_peer(reqs, round); round++)
		;
	if (round == rounds)
		return 0;
	spin_lock(&reqs->fail->lock);
	count = coll_unexpected_submitted_for(reqs, round);
	spin_unlock(&reqs->fail->lock);
	return count;
}

/**
 * coll_match_receive_submitted() - the same, of another rank
 * @reqs: the member
 * @peer: that rank
 * @count: what it told
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
	spin_lock(&reqs->fail->lock);
	coll_unexpected_receive_submitted(reqs, round, count);
	spin_unlock(&reqs->fail->lock);
}

/**
 * coll_match_run() - tell the ranks that may wait for it how far this rank has submitted
 * @reqs: the member
 * @now: ns
 *
 * Context: control runner.
 */
void coll_match_run(struct coll_requests *reqs, u64 now)
{
	u32 round;

	if (!READ_ONCE(reqs->match.submitted_due) || !xchg(&reqs->match.submitted_due, false))
		return;
	for (round = 0; round < coll_match_rounds(reqs->id->nranks); round++)
		coll_link_ping(coll_link_get(reqs->net, coll_match_next_peer(reqs, round)), now);
}
