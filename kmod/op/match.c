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
 * it is not (coll_plan_telling()), and a barrier by its signals.  Of these a rank is quiet:
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

#include "coll.h"

/* What an odd frame means should be known so long after all that is quiet has spoken. */
#define AGREE_PATIENCE_NS	(500 * NSEC_PER_MSEC)

static bool signatures_differ(const struct coll_signature *a, const struct coll_signature *b)
{
	return a->collective != b->collective || a->type != b->type ||
	       a->reduction != b->reduction || a->algorithm != b->algorithm ||
	       a->flags != b->flags || a->root != b->root || a->count != b->count ||
	       a->layout != b->layout;
}

/**
 * coll_agree_rounds() - how often a rank tells what it has called
 * @nranks: of the group
 */
u32 coll_agree_rounds(u32 nranks)
{
	return order_base_2(nranks);
}

/**
 * coll_agree_before() - who tells us in a round
 * @member: the member
 * @round: below coll_agree_rounds()
 *
 * Return: a rank that JOIN has made a link to.
 */
u32 coll_agree_before(const struct coll_member *member, u32 round)
{
	return (member->rank + member->nranks - (1U << round)) % member->nranks;
}

/**
 * coll_agree_after() - whom we tell in a round
 * @member: the member
 * @round: below coll_agree_rounds()
 *
 * Return: a rank that JOIN has made a link to.
 */
u32 coll_agree_after(const struct coll_member *member, u32 round)
{
	return (member->rank + (1U << round)) % member->nranks;
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

	failure.calls[0] = (struct coll_evidence){ .rank = rank_a, .signature = *a };
	failure.calls[1] = (struct coll_evidence){ .rank = rank_b, .signature = *b };
	return failure;
}

/* A rank known to have called what is in a mask of rounds: if it can be, the next one. */
static u32 agree_witness(const struct coll_member *member, u32 heard, u32 round)
{
	if (round && heard & BIT(round - 1))
		return (coll_agree_before(member, round) + 1) % member->nranks;
	return heard ? coll_agree_before(member, __ffs(heard)) : member->rank;
}

/**
 * coll_agree_odd_failure() - what payload has shown, which is not how calls differ
 * @request: an operation with @odd; its member is locked
 */
struct coll_failure coll_agree_odd_failure(const struct coll_request *request)
{
	u32 rank = request->member->rank;
	struct coll_failure failure = failure_mismatch(request->odd, rank);

	failure.calls[1] = (struct coll_evidence){ .rank = rank,
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
	if (request->odd != COLL_NOBODY)
		return coll_agree_odd_failure(request);
	return failure_mismatch(COLLECTIVE_RANK_NONE, COLLECTIVE_RANK_NONE);
}

/**
 * coll_agree_waits() - does an operation wait for the agreement?
 * @request: the operation
 *
 * Not one between two ranks, nor one whose payload says what all have called.  One with
 * a key does: what is told of it must not come when the key may name another.
 */
bool coll_agree_waits(const struct coll_request *request)
{
	if (request->member->nranks == 1 || coll_plan_pair(&request->plan))
		return false;
	return !request->telling ||
	       request->signature.flags & COLLECTIVE_F_KEYED;
}

/* Tell all that may be told; where nobody waits it is enough that two neighbours differ. */
static void agree_tell(struct coll_request *request)
{
	struct coll_member *member = request->member;
	u32 rounds = coll_agree_waits(request) ? coll_agree_rounds(member->nranks) : 1;

	/* Ten rounds, for 1,024 ranks. */
	for (; request->told < rounds; request->told++) {
		struct coll_control control = {
			.kind = COLL_CONTROL_ANNOUNCE,
			.instance = request->instance,
			.position = request->told,
			.signature = request->signature,
		};
		u32 needed = BIT(request->told) - 1;

		if ((request->heard & needed) != needed)
			return;
		if (coll_signature_paired(&request->signature))
			coll_balance_tell(request->balances, request->balance, member->nranks,
					  request->told, &control.signature);
		coll_link_post(coll_link_get(member, coll_agree_after(member, request->told)),
			       &control);
	}
}

static void agree_speak(struct coll_request *request)
{
	if (!request->quiet)
		return;
	request->quiet = false;
	agree_tell(request);
}

static bool agree_complete(const struct coll_request *request)
{
	u32 rounds = coll_agree_rounds(request->member->nranks);

	return request->heard == BIT(rounds) - 1;
}

/* Has everybody been heard, and do counts differ that only two ranks know?  Then it is to fail. */
static bool agree_unbalanced(const struct coll_request *request, struct coll_failure *failure)
{
	u64 total;

	if (!coll_signature_paired(&request->signature) || !agree_complete(request))
		return false;
	total = coll_balance_total(request->balances, request->balance,
				   request->member->nranks);
	if (total)
		*failure = failure_unbalanced(request, total);
	return total;
}

/* Has everybody been heard?  Then whoever asks has to report it. */
static bool agree_reached(struct coll_request *request)
{
	if (!request->agreeing || !agree_complete(request))
		return false;
	request->agreeing = false;
	coll_record_agreed(request);
	return true;
}

/* Somebody who has left without a word, or COLL_NOBODY. */
static u32 agree_deserter(const struct coll_request *request)
{
	struct coll_member *member = request->member;
	u32 round;

	if (!request->agreeing || request->doomed)
		return COLL_NOBODY;
	for (round = 0; round < coll_agree_rounds(member->nranks); round++) {
		u32 peer = coll_agree_before(member, round);

		if (!(request->heard & BIT(round)) &&
		    READ_ONCE(coll_link_get(member, peer)->left))
			return peer;
	}
	return COLL_NOBODY;
}

/* What was said before this rank was asked to. */
static void agree_recall(struct coll_request *request, struct coll_failure *failure)
{
	struct coll_member *member = request->member;
	const struct coll_failure *failed = coll_memo_failure(member, request->instance);
	const struct coll_memo *memo = coll_memo_find(member, request->instance);

	if (failed)
		*failure = *failed;
	else if (memo && signatures_differ(&memo->signature, &request->signature))
		*failure = failure_differ(coll_agree_before(member, __ffs(memo->heard)),
					  &memo->signature, member->rank, &request->signature);
	else if (memo)
		request->heard = memo->heard;
	if (request->heard && coll_signature_paired(&request->signature))
		memcpy(request->balances, memo->balances, sizeof(request->balances));
	coll_memo_drop(member, request->instance);
}

/**
 * coll_agree_begin() - tell others of an operation, and see what they have told
 * @request: that has got a number; its member is locked
 * @failure: out: why it is to fail, if its cause is of a kind: coll_agree_doom()
 *
 * Return: true when all agree already: coll_request_report() it.
 */
bool coll_agree_begin(struct coll_request *request, struct coll_failure *failure)
{
	struct coll_member *member = request->member;
	u32 deserter;

	failure->cause.kind = COLLECTIVE_REASON_NONE;
	if (member->nranks == 1)
		return false;
	request->agreeing = coll_agree_waits(request);
	agree_recall(request, failure);
	if (failure->cause.kind != COLLECTIVE_REASON_NONE || coll_plan_pair(&request->plan))
		return false;
	request->quiet = !request->agreeing && !request->heard;
	if (!request->quiet)
		agree_tell(request);
	deserter = agree_deserter(request);
	if (deserter != COLL_NOBODY)
		failure->cause = (struct coll_cause){
			.kind = COLLECTIVE_REASON_LEFT,
			.error = ECONNRESET,
			.rank_a = deserter,
			.rank_b = member->rank,
		};
	else if (agree_unbalanced(request, failure))
		return false;
	return agree_reached(request);
}

/**
 * coll_agree_doom() - an operation has to fail: see coll_agree_begin()
 * @member: the member
 * @instance: number of the operation
 * @failure: why
 */
noinline void coll_agree_doom(struct coll_member *member, u64 instance,
			      const struct coll_failure *failure)
{
	if (failure->cause.kind == COLLECTIVE_REASON_LEFT)
		coll_member_abort(member, &failure->cause);
	else
		coll_agree_abort(member, instance, failure);
}

/* Before it is in flight here.  Return: 1 when it is to fail, or a negative errno. */
static int memo_heard(struct coll_member *member, u64 instance, u32 round,
		      const struct coll_signature *signature,
		      const struct coll_balance *balance, struct coll_failure *failure)
{
	struct coll_memo *memo = coll_memo_get(member, instance);

	if (IS_ERR_OR_NULL(memo))
		return PTR_ERR_OR_ZERO(memo);
	if (!memo->heard)
		memo->signature = *signature;
	if (signatures_differ(&memo->signature, signature)) {
		*failure = failure_differ(coll_agree_before(member, round), signature,
					  agree_witness(member, memo->heard, round),
					  &memo->signature);
		return 1;
	}
	memo->heard |= BIT(round);
	memo->balances[round] = *balance;
	return 0;
}

/* Return: whether the operation is to fail. */
static bool request_heard(struct coll_request *request, u32 round,
			  const struct coll_signature *signature,
			  const struct coll_balance *balance, struct coll_failure *failure)
{
	struct coll_member *member = request->member;
	u32 first = BIT(round) >> 1;

	if (signatures_differ(&request->signature, signature)) {
		*failure = failure_differ(coll_agree_before(member, round), signature,
					  agree_witness(member, request->heard & first, round),
					  &request->signature);
		return true;
	}
	request->heard |= BIT(round);
	request->balances[round] = *balance;
	request->quiet = false;
	if (!request->aborted)
		agree_tell(request);
	if (agree_unbalanced(request, failure))
		return true;
	if (request->odd == COLL_NOBODY || !agree_complete(request))
		return false;
	*failure = coll_agree_odd_failure(request);
	return true;
}

static void agree_tell_failure(struct coll_link *link, u64 instance,
			       const struct coll_failure *failure)
{
	if (failure->cause.kind == COLLECTIVE_REASON_MISMATCH)
		coll_link_evidence(link, instance, failure->calls);
	coll_link_post(link, &(struct coll_control) {
		.kind = COLL_CONTROL_ABORT,
		.instance = instance,
		.cause = failure->cause,
	});
}

/**
 * coll_agree_heard() - another rank tells what it has called
 * @member: the member
 * @peer: who says so
 * @control: an ANNOUNCE
 *
 * Context: control runner.
 * Return: 0; -EPROTO when it is not for that rank to say, or too much is said.
 */
int coll_agree_heard(struct coll_member *member, u32 peer, const struct coll_control *control)
{
	u64 instance = control->instance;
	const struct coll_failure *failed = NULL;
	struct coll_signature signature = control->signature;
	struct coll_balance balance = coll_balance_take(&signature);
	struct coll_request *request;
	struct coll_failure failure;
	bool reached = false;
	int fails;

	/* Messages are not announced. */
	if (instance & COLL_NAME_PAIR || control->position >= coll_agree_rounds(member->nranks) ||
	    peer != coll_agree_before(member, control->position))
		return -EPROTO;

	spin_lock(&member->lock);
	request = coll_request_find(member, instance);
	/* A key may be used again before all is done here: that is not said twice. */
	if (request && !(request->heard & BIT(control->position))) {
		fails = request_heard(request, control->position, &signature, &balance,
				      &failure);
		reached = !fails && agree_reached(request);
	} else {
		fails = memo_heard(member, instance, control->position, &signature, &balance,
				   &failure);
		if (!request)
			failed = coll_memo_failure(member, instance);
	}
	if (fails > 0) {
		coll_agree_fail(member, request, instance, &failure);
		return 0;
	}
	if (failed)
		failure = *failed;
	spin_unlock(&member->lock);

	/* It was told when it failed; a rank that submits it all the same has not heard. */
	if (failed)
		agree_tell_failure(coll_link_get(member, peer), instance, &failure);
	if (fails == -ENOMEM)
		coll_member_fail(member, COLLECTIVE_REASON_RESOURCES, member->rank,
				 COLLECTIVE_RANK_NONE);
	else if (reached)
		coll_request_report(request, 0);
	return fails == -EPROTO ? fails : 0;
}

/**
 * coll_agree_odd() - payload has come that does not fit an operation
 * @member: the member
 * @instance: number of the operation
 * @peer: from whom
 *
 * Context: a lane's runner.
 */
noinline void coll_agree_odd(struct coll_member *member, u64 instance, u32 peer)
{
	struct coll_request *request;
	struct coll_failure failure;
	bool fails = false;

	spin_lock(&member->lock);
	request = coll_request_find(member, instance);
	if (request && !request->aborted && request->odd == COLL_NOBODY) {
		request->odd = peer;
		request->odd_since = ktime_get_ns();
		agree_speak(request);
		failure = coll_agree_odd_failure(request);
		fails = coll_plan_pair(&request->plan) || agree_complete(request);
	}
	if (fails)
		coll_agree_fail(member, request, instance, &failure);
	else
		spin_unlock(&member->lock);
}

/**
 * coll_agree_left() - some peer has said goodbye
 * @member: the member
 *
 * Context: control runner.
 */
void coll_agree_left(struct coll_member *member)
{
	struct coll_request *request;
	u32 deserter = COLL_NOBODY;

	spin_lock(&member->lock);
	/* COLL_INFLIGHT at most, once a goodbye. */
	list_for_each_entry(request, &member->requests, node) {
		deserter = agree_deserter(request);
		if (deserter != COLL_NOBODY)
			break;
	}
	spin_unlock(&member->lock);

	if (deserter != COLL_NOBODY)
		coll_member_fail(member, COLLECTIVE_REASON_LEFT, deserter, member->rank);
}

static struct coll_request *agree_pending(struct coll_member *member)
{
	struct coll_request *request;

	list_for_each_entry(request, &member->requests, node)
		if (request->agreeing || request->asking)
			return request;
	return NULL;
}

/* The group has failed: nobody is heard any more. */
static void agree_end(struct coll_member *member)
{
	struct coll_request *request;

	/* COLL_INFLIGHT turns, each from the beginning: once, as the group has failed. */
	do {
		spin_lock(&member->lock);
		request = agree_pending(member);
		if (request && !coll_absent_answered(request))
			request->agreeing = false;
		spin_unlock(&member->lock);
		if (request)
			coll_request_report(request, READ_ONCE(member->aborted));
	} while (request);
}

static bool agree_desperate(const struct coll_request *request, u64 now)
{
	u64 quiet = min_t(u64, coll_member_beats(request->member, 1), NSEC_PER_SEC);

	return request->odd != COLL_NOBODY && !request->aborted && atomic_read(&request->left) &&
	       now >= request->odd_since + quiet + AGREE_PATIENCE_NS;
}

/* Somebody may have called otherwise: no operation is quiet for longer than this. */
static void agree_break(struct coll_member *member)
{
	struct coll_request *request;

	spin_lock(&member->lock);
	/* COLL_INFLIGHT at most, once a heartbeat. */
	list_for_each_entry(request, &member->requests, node)
		if (!request->aborted)
			agree_speak(request);
	spin_unlock(&member->lock);
}

/* Payload does not fit, and some rank that could tell why has not called at all. */
static void agree_despair(struct coll_member *member, u64 now)
{
	struct coll_request *request;
	struct coll_failure failure;

	spin_lock(&member->lock);
	list_for_each_entry(request, &member->requests, node) {
		if (!agree_desperate(request, now))
			continue;
		failure = coll_agree_odd_failure(request);
		/* Others have their turn at the next heartbeat. */
		coll_agree_fail(member, request, request->instance, &failure);
		return;
	}
	spin_unlock(&member->lock);
}

/**
 * coll_agree_tick() - a heartbeat
 * @member: the member
 * @now: ns
 *
 * Context: control runner.
 */
void coll_agree_tick(struct coll_member *member, u64 now)
{
	if (!smp_load_acquire(&member->aborted)) {	/* then when */
		agree_break(member);
		agree_despair(member, now);
	} else if (coll_member_settled(member, now)) {
		agree_end(member);
	}
}

/*
 * Tell all links; but not that some counts differ if it is not known whose.  Each rank has the same
 * sum and fails by itself, and the two ranks, which may have it later, can say more.
 */
static void agree_flood(struct coll_member *member, u64 instance,
			const struct coll_failure *failure)
{
	bool known = failure->cause.rank_a != COLLECTIVE_RANK_NONE;
	struct coll_link *link;
	u32 i;

	/* A failure of ours, or one that is news: a rank passes a name on once. */
	coll_for_each_link(link, member) {
		/* A message is no business of others. */
		if (!known || (instance & COLL_NAME_PAIR &&
			       !coll_name_between(instance, member->rank, link->peer)))
			continue;
		agree_tell_failure(link, instance, failure);
	}
	coll_runner_kick(&member->control);
	for (i = 0; i < member->nlanes; i++)
		coll_lane_recheck(&member->lanes[i]);
}

/**
 * coll_agree_fail() - fail one operation on every rank: coll_agree_abort(), locked
 * @member: the member, locked; not any more
 * @request: the operation, or NULL when it is not in progress here
 * @instance: its name
 * @failure: why
 *
 * Context: process or work item.
 */
void coll_agree_fail(struct coll_member *member, struct coll_request *request, u64 instance,
		     const struct coll_failure *failure)
	__releases(&member->lock)
{
	int error = coll_cause_here(member, &failure->cause);
	bool news = false, report = false, absent = false;
	struct coll_control control;
	int known = 0;

	if (request && !request->aborted) {
		request->failure = *failure;
		WRITE_ONCE(request->aborted, error);
		report = request->agreeing;
		request->agreeing = false;
		request->quiet = false;
		news = true;
		coll_absent_ask(request);
		/* From now on it has as long as after a deadline. */
		request->deadline = jiffies | 1;
		coll_deadline_arm(request);
	}
	if (news || (!request && coll_memo_expects(member, instance)))
		known = coll_memo_fail(member, instance, failure);
	news |= known > 0;
	if (news)
		coll_record_fail(member, instance, &failure->cause);
	if (news && !request)
		absent = coll_absent_found(member, instance, &failure->cause, &control);
	spin_unlock(&member->lock);

	if (known < 0)
		coll_member_fail(member, COLLECTIVE_REASON_RESOURCES, member->rank,
				 COLLECTIVE_RANK_NONE);
	if (news)
		agree_flood(member, instance, failure);
	if (absent)
		coll_absent_tell(member, &control);
	if (report)
		coll_request_report(request, error);
}

/**
 * coll_agree_abort() - fail one operation on every rank
 * @member: the member
 * @instance: its number; it need not be submitted here yet
 * @failure: why
 *
 * Context: process or work item.
 */
noinline void coll_agree_abort(struct coll_member *member, u64 instance,
			       const struct coll_failure *failure)
{
	spin_lock(&member->lock);
	coll_agree_fail(member, coll_request_find(member, instance), instance, failure);
}

/**
 * coll_agree_submitted() - what a PING or a PONG tells a rank
 * @member: the member
 * @peer: that rank
 *
 * Context: control runner.
 * Return: the least number of collectives without a key that the 2^k ranks up to this one are
 * known to have submitted, if @peer is 2^k further; else 0.
 */
u64 coll_agree_submitted(struct coll_member *member, u32 peer)
{
	u32 rounds = coll_agree_rounds(member->nranks), round;
	u64 count = 0;

	for (round = 0; round < rounds && peer != coll_agree_after(member, round); round++)
		;
	if (round == rounds)
		return 0;
	spin_lock(&member->lock);
	count = coll_memo_told(member, round);
	spin_unlock(&member->lock);
	return count;
}

/**
 * coll_agree_hear_submitted() - the same, of another rank
 * @member: the member
 * @peer: that rank
 * @count: what it told
 *
 * Context: control runner.
 */
void coll_agree_hear_submitted(struct coll_member *member, u32 peer, u64 count)
{
	u32 rounds = coll_agree_rounds(member->nranks), round;

	for (round = 0; round < rounds && peer != coll_agree_before(member, round); round++)
		;
	if (round == rounds)
		return;
	spin_lock(&member->lock);
	coll_memo_hear(member, round, count);
	spin_unlock(&member->lock);
}

/**
 * coll_agree_tell_submitted() - tell the ranks that may wait for it, before the next heartbeat
 * @member: the member
 * @now: ns
 *
 * Context: control runner.
 */
void coll_agree_tell_submitted(struct coll_member *member, u64 now)
{
	u32 round;

	for (round = 0; round < coll_agree_rounds(member->nranks); round++)
		coll_link_ping(coll_link_get(member, coll_agree_after(member, round)), now);
}
