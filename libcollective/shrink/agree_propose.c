// SPDX-License-Identifier: LGPL-2.1-or-later
/* The proposer: the steps of a ballot, see agree.h. */
#include <errno.h>
#include <string.h>

#include "shrink/agree.h"

#define COUNT_SHIFT	32

bool coll_agree_transient(int err)
{
	return err == -ECONNRESET || err == -ETIMEDOUT;
}

static uint64_t next_ballot(const struct coll_agree *agree)
{
	uint64_t last = agree->promised > agree->highest ? agree->promised : agree->highest;

	if (last < agree->ballot)
		last = agree->ballot;
	return ((last >> COUNT_SHIFT) + 1) << COUNT_SHIFT | agree->rank;
}

/* Ranks to which the present step is sent, without those known to be lost. */
static struct coll_ranks step_ranks(const struct coll_agree *agree)
{
	const struct coll_ranks alive = coll_agree_alive(agree);

	switch (agree->step) {
	case COLL_STEP_IDLE:
		return (struct coll_ranks){ 0 };
	case COLL_STEP_PREPARE:
		return alive;
	case COLL_STEP_ACCEPT:
		return coll_ranks_without(agree->promisers, &agree->lost);
	default:
		return coll_ranks_without(agree->proposal.members, &agree->lost);
	}
}

struct coll_ranks coll_agree_unanswered(const struct coll_agree *agree)
{
	return coll_ranks_without(step_ranks(agree), &agree->answered);
}

static void send_step(struct coll_agree *agree, unsigned int to)
{
	static const enum coll_agree_kind kinds[] = {
		[COLL_STEP_PREPARE]	= COLL_AGREE_PREPARE,
		[COLL_STEP_JOIN]	= COLL_AGREE_BEGIN,
		[COLL_STEP_CONNECT]	= COLL_AGREE_PLACES,
		[COLL_STEP_ACCEPT]	= COLL_AGREE_ACCEPT,
		[COLL_STEP_ANNOUNCE]	= COLL_AGREE_DECIDED,
	};
	struct coll_agree_message message = {
		.kind = kinds[agree->step],
		.ballot = agree->ballot,
	};

	if (agree->step == COLL_STEP_PREPARE) {
		message.lost = agree->ballot_lost;
		message.left = agree->leaving;
	} else if (agree->step == COLL_STEP_CONNECT &&
		   coll_ranks_has(&agree->connecting, to)) {
		message.kind = COLL_AGREE_HELLO;
	} else {
		message.value = agree->proposal;
	}
	if (agree->step == COLL_STEP_ANNOUNCE)
		message.lost = agree->lost;
	coll_agree_send(agree, &message, to);
}

void coll_agree_resend_to(struct coll_agree *agree, unsigned int rank)
{
	send_step(agree, rank);
}

void coll_agree_resend(struct coll_agree *agree)
{
	const struct coll_ranks waits = coll_agree_unanswered(agree);
	unsigned int rank;

	for (rank = 0; rank < agree->nranks; rank++)
		if (rank != agree->rank && coll_ranks_has(&waits, rank))
			send_step(agree, rank);
}

/* Enter a step and send it.  This rank handles it last: if it dies meanwhile, others have it. */
static void enter_step(struct coll_agree *agree, enum coll_agree_step step)
{
	const uint64_t ballot = agree->ballot;

	agree->step = step;
	memset(&agree->answered, 0, sizeof(agree->answered));
	memset(&agree->connecting, 0, sizeof(agree->connecting));
	coll_agree_resend(agree);
	if (agree->step == step && agree->ballot == ballot)
		send_step(agree, agree->rank);
}

static void prepare(struct coll_agree *agree)
{
	agree->ballot = next_ballot(agree);
	agree->ballot_lost = agree->lost;
	agree->best_ballot = 0;
	agree->setback = 0;
	agree->leaving = false;
	memset(&agree->promisers, 0, sizeof(agree->promisers));
	memset(&agree->leavers, 0, sizeof(agree->leavers));
	memset(&agree->proposal, 0, sizeof(agree->proposal));
	enter_step(agree, COLL_STEP_PREPARE);
}

/* Announce the decision to ranks that were left out, for when they call. */
static void send_late(struct coll_agree *agree)
{
	const struct coll_ranks alive = coll_agree_alive(agree);
	unsigned int rank;

	for (rank = 0; rank < agree->nranks; rank++)
		if (coll_ranks_has(&alive, rank) &&
		    !coll_ranks_has(&agree->proposal.members, rank))
			send_step(agree, rank);
}

static void announce(struct coll_agree *agree)
{
	agree->proposal = agree->value;
	enter_step(agree, COLL_STEP_ANNOUNCE);
	coll_ranks_add(&agree->answered, agree->rank);
	send_late(agree);
}

static void finish_announce(struct coll_agree *agree)
{
	const struct coll_ranks members = step_ranks(agree);
	unsigned int rank;

	/* Once more, because this rank does not answer after the end of its call. */
	send_late(agree);
	for (rank = 0; rank < agree->nranks; rank++)
		if (rank != agree->rank && coll_ranks_has(&members, rank))
			coll_agree_send(agree, &(struct coll_agree_message){
				.kind = COLL_AGREE_DONE,
				.ballot = agree->ballot,
				.value = agree->value,
			}, rank);
	agree->step = COLL_STEP_IDLE;
	coll_agree_finish(agree);
}

/* Would @set be a quorum of a new ballot, which takes account of ranks that were lost since? */
static bool new_ballot_has_quorum(const struct coll_agree *agree, const struct coll_ranks *set)
{
	const struct coll_ranks left = coll_ranks_without(*set, &agree->lost);
	struct coll_agree next = *agree;

	if (coll_ranks_equal(&agree->lost, &agree->ballot_lost))
		return false;
	next.ballot_lost = agree->lost;
	return coll_agree_quorum(&next, &left);
}

/* Have all ranks answered, except slow ones? */
static bool all_answered(const struct coll_agree *agree)
{
	const struct coll_ranks waits = coll_agree_unanswered(agree);

	return coll_ranks_within(&waits, &agree->slow);
}

/* Has a member of the proposed group been lost? */
static bool member_is_lost(const struct coll_agree *agree)
{
	const struct coll_ranks alive = coll_agree_alive(agree);

	return !coll_ranks_within(&agree->proposal.members, &alive);
}

/*
 * A quorum has promised: propose the value of the highest accepted ballot, which may have been
 * chosen, or a new one.
 */
static void choose_value(struct coll_agree *agree)
{
	const struct coll_ranks silent = coll_agree_unanswered(agree);

	if (agree->best_ballot) {
		enter_step(agree, COLL_STEP_ACCEPT);
		return;
	}
	/* A rank may have promised, and be silent since it was asked to leave the old group. */
	agree->proposal.members = coll_ranks_without(agree->promisers, &agree->lost);
	agree->proposal.members = coll_ranks_without(agree->proposal.members, &silent);
	if (!coll_agree_quorum(agree, &agree->proposal.members)) {
		prepare(agree);
		return;
	}
	agree->proposal.id = agree->ops->number(agree->env);
	enter_step(agree, COLL_STEP_JOIN);
}

/*
 * Too few ranks have promised to go on while a rank among them may be lost.  Some rank is silent,
 * so it will be left out: the others can leave the old group now.
 */
static void ask_to_leave(struct coll_agree *agree)
{
	agree->leaving = true;
	enter_step(agree, COLL_STEP_PREPARE);
}

/* Take one step.  Return: true if one was due. */
static bool take_step(struct coll_agree *agree)
{
	switch (agree->step) {
	case COLL_STEP_IDLE:
		return false;
	case COLL_STEP_PREPARE:
		if (!all_answered(agree))
			return false;
		if (coll_agree_promised(agree))
			choose_value(agree);
		else if (!agree->leaving && coll_agree_quorum(agree, &agree->promisers))
			ask_to_leave(agree);
		else if (new_ballot_has_quorum(agree, &agree->promisers))
			prepare(agree);
		else
			return false;
		return true;
	case COLL_STEP_JOIN:
	case COLL_STEP_CONNECT:
		if (member_is_lost(agree))
			prepare(agree);
		else if (coll_ranks_within(&agree->proposal.members, &agree->answered))
			enter_step(agree, agree->step + 1);
		else
			return false;
		return true;
	case COLL_STEP_ACCEPT:
		if (!all_answered(agree))
			return false;
		if (coll_agree_quorum(agree, &agree->answered)) {
			coll_agree_decide(agree, &agree->proposal);
			announce(agree);
		} else if (new_ballot_has_quorum(agree, &agree->answered)) {
			prepare(agree);
		} else {
			return false;
		}
		return true;
	case COLL_STEP_ANNOUNCE:
		if (!all_answered(agree))
			return false;
		finish_announce(agree);
		return true;
	}
	return false;
}

void coll_agree_advance(struct coll_agree *agree)
{
	while (!agree->finished && take_step(agree))
		;
}

void coll_agree_propose(struct coll_agree *agree)
{
	if (agree->finished)
		return;
	if (agree->decided) {
		agree->ballot = next_ballot(agree);
		announce(agree);
	} else {
		prepare(agree);
	}
	coll_agree_advance(agree);
}

void coll_agree_slow(struct coll_agree *agree, unsigned int rank)
{
	coll_ranks_add(&agree->slow, rank);
	if ((agree->step == COLL_STEP_JOIN || agree->step == COLL_STEP_CONNECT) &&
	    coll_ranks_has(&agree->proposal.members, rank))
		prepare(agree);
	coll_agree_advance(agree);
}

void coll_agree_stop_announcing(struct coll_agree *agree)
{
	if (agree->step == COLL_STEP_ANNOUNCE)
		finish_announce(agree);
}

void coll_agree_give_up(struct coll_agree *agree, int err)
{
	const struct coll_ranks alive = coll_agree_alive(agree);
	unsigned int rank;

	for (rank = 0; rank < agree->nranks; rank++)
		if (rank != agree->rank && coll_ranks_has(&alive, rank))
			coll_agree_send(agree, &(struct coll_agree_message){
				.kind = COLL_AGREE_GIVE_UP,
				.ballot = agree->ballot,
				.error = err,
			}, rank);
	agree->step = COLL_STEP_IDLE;
	agree->finished = true;
	agree->result = err;
}

static void on_unable(struct coll_agree *agree, const struct coll_agree_message *message)
{
	if (agree->step > COLL_STEP_ACCEPT)
		return;
	if (coll_agree_transient(message->error)) {
		agree->setback = message->error;
		agree->step = COLL_STEP_IDLE;
	} else {
		coll_agree_give_up(agree, message->error);
	}
}

static void on_promise(struct coll_agree *agree, const struct coll_agree_message *message)
{
	coll_agree_learn(agree, message);
	coll_ranks_add(&agree->promisers, message->from);
	if (message->left)
		coll_ranks_add(&agree->leavers, message->from);
	if (message->accepted > agree->best_ballot) {
		agree->best_ballot = message->accepted;
		agree->proposal = message->value;
	}
}

void coll_agree_handle_proposer(struct coll_agree *agree,
				const struct coll_agree_message *message)
{
	static const enum coll_agree_kind answers[] = {
		[COLL_STEP_PREPARE]	= COLL_AGREE_PROMISE,
		[COLL_STEP_JOIN]	= COLL_AGREE_PLACE,
		[COLL_STEP_CONNECT]	= COLL_AGREE_READY,
		[COLL_STEP_ACCEPT]	= COLL_AGREE_ACCEPTED,
		[COLL_STEP_ANNOUNCE]	= COLL_AGREE_NOTED,
	};

	if ((message->kind == COLL_AGREE_OUTDATED || message->kind == COLL_AGREE_ALIVE) &&
	    message->accepted > agree->highest)
		agree->highest = message->accepted;
	if (agree->step == COLL_STEP_IDLE || message->ballot != agree->ballot)
		return;
	switch (message->kind) {
	case COLL_AGREE_OUTDATED:
		if (message->accepted > agree->ballot && agree->step != COLL_STEP_ANNOUNCE)
			agree->step = COLL_STEP_IDLE;
		return;
	case COLL_AGREE_UNABLE:
		on_unable(agree, message);
		return;
	case COLL_AGREE_CONNECTING:
		coll_ranks_add(&agree->connecting, message->from);
		return;
	case COLL_AGREE_ALIVE:
		/* To HELLO of step CONNECT: it has called again, and forgotten the addresses. */
		if (!coll_ranks_has(&agree->connecting, message->from))
			return;
		coll_ranks_remove(&agree->connecting, message->from);
		send_step(agree, message->from);
		return;
	default:
		if (message->kind != answers[agree->step])
			return;
		if (message->kind == COLL_AGREE_PROMISE) {
			on_promise(agree, message);
			/* It was said before the rank was asked to leave. */
			if (agree->leaving && !message->left)
				return;
		}
		coll_ranks_add(&agree->answered, message->from);
		return;
	}
}
