// SPDX-License-Identifier: LGPL-2.1-or-later
/* The acceptor: answers to proposers, see agree.h. */
#include <errno.h>
#include <string.h>

#include "shrink/agree.h"

static void answer(struct coll_agree *agree, const struct coll_agree_message *to,
		   struct coll_agree_message *message)
{
	message->ballot = to->ballot;
	coll_agree_send(agree, message, to->from);
}

static void answer_decided(struct coll_agree *agree, const struct coll_agree_message *to)
{
	answer(agree, to, &(struct coll_agree_message){
		.kind = COLL_AGREE_DECIDED,
		.value = agree->value,
		.lost = agree->lost,
	});
}

static void answer_outdated(struct coll_agree *agree, const struct coll_agree_message *to)
{
	answer(agree, to, &(struct coll_agree_message){
		.kind = COLL_AGREE_OUTDATED,
		.accepted = agree->promised,
	});
}

/* Has this rank accepted the group in which it is a member? */
static bool form_is_accepted(const struct coll_agree *agree)
{
	return (agree->accepted || agree->decided) && agree->form != COLL_FORM_NONE &&
	       agree->formed.id == agree->value.id;
}

static void form_abandon(struct coll_agree *agree)
{
	if (agree->form == COLL_FORM_NONE)
		return;
	agree->ops->abandon(agree->env);
	agree->form = COLL_FORM_NONE;
	memset(&agree->formed, 0, sizeof(agree->formed));
}

static void answer_form(struct coll_agree *agree)
{
	static const enum coll_agree_kind kinds[] = {
		[COLL_FORM_FAILED]	= COLL_AGREE_UNABLE,
		[COLL_FORM_JOINED]	= COLL_AGREE_PLACE,
		[COLL_FORM_CONNECTING]	= COLL_AGREE_CONNECTING,
		[COLL_FORM_READY]	= COLL_AGREE_READY,
	};
	struct coll_agree_message message = {
		.kind = kinds[agree->form],
		.ballot = agree->form_ballot,
		.error = agree->form == COLL_FORM_FAILED ? agree->form_error : 0,
	};

	coll_agree_send(agree, &message, coll_ballot_rank(agree->form_ballot));
}

void coll_agree_learn(struct coll_agree *agree, const struct coll_agree_message *message)
{
	if (!agree->sealed)
		agree->lost = coll_ranks_or(agree->lost, &message->lost);
	coll_ranks_remove(&agree->lost, agree->rank);
}

/*
 * Leave the old group.  After that, this rank's death is no longer given as the reason for the
 * failure of the old group.  Return: false if it cannot; the proposer is told.
 */
static bool leave(struct coll_agree *agree, const struct coll_agree_message *message)
{
	const int err = agree->left ? 0 : agree->ops->leave(agree->env);

	if (err)
		answer(agree, message, &(struct coll_agree_message){
			.kind = COLL_AGREE_UNABLE,
			.error = err,
		});
	else
		agree->left = true;
	return !err;
}

/* A rank that has accepted a group of all without leaving is not lost either: all are sealed. */
static void promise(struct coll_agree *agree, const struct coll_agree_message *message)
{
	agree->promised = message->ballot;
	if (agree->ballot != message->ballot)
		agree->step = COLL_STEP_IDLE;
	if (message->left && !agree->accepted && !leave(agree, message))
		return;
	answer(agree, message, &(struct coll_agree_message){
		.kind = COLL_AGREE_PROMISE,
		.accepted = agree->accepted,
		.value = agree->value,
		.lost = agree->lost,
		.left = agree->left || agree->accepted,
	});
}

static void on_prepare(struct coll_agree *agree, const struct coll_agree_message *message)
{
	if (coll_ranks_has(&message->lost, agree->rank))
		return;
	coll_agree_learn(agree, message);
	if (agree->decided)
		answer_decided(agree, message);
	else if (!coll_agree_may_promise(agree, message->ballot))
		answer_outdated(agree, message);
	else
		promise(agree, message);
}

/* Does the message belong to the ballot that was promised last?  If not, answer why. */
static bool is_current_ballot(struct coll_agree *agree, const struct coll_agree_message *message)
{
	if (agree->decided)
		answer_decided(agree, message);
	else if (!coll_agree_may_promise(agree, message->ballot))
		answer_outdated(agree, message);
	else
		return coll_agree_may_accept(agree, message->ballot);
	return false;
}

static void on_begin(struct coll_agree *agree, const struct coll_agree_message *message)
{
	if (!is_current_ballot(agree, message) ||
	    !coll_ranks_has(&message->value.members, agree->rank))
		return;
	if (agree->form == COLL_FORM_NONE || agree->formed.id != message->value.id) {
		/*
		 * The accepted value was sent with the promise, and the proposer may propose no
		 * other.
		 */
		if (form_is_accepted(agree))
			return;
		form_abandon(agree);
		agree->formed = message->value;
		agree->form_ballot = message->ballot;
		agree->form_error = agree->ops->join(agree->env, &agree->formed);
		agree->form = agree->form_error ? COLL_FORM_FAILED : COLL_FORM_JOINED;
	}
	answer_form(agree);
}

static void on_places(struct coll_agree *agree, const struct coll_agree_message *message)
{
	if (!is_current_ballot(agree, message))
		return;
	/* The proposer has the address of the member that an earlier call has abandoned. */
	if (agree->form == COLL_FORM_NONE) {
		answer(agree, message, &(struct coll_agree_message){
			.kind = COLL_AGREE_UNABLE,
			.error = -ECONNRESET,
		});
		return;
	}
	if (agree->formed.id != message->value.id || agree->form_ballot != message->ballot)
		return;
	if (agree->form == COLL_FORM_JOINED) {
		agree->form = COLL_FORM_CONNECTING;
		agree->ops->connect(agree->env);
	}
	answer_form(agree);
}

void coll_agree_connected(struct coll_agree *agree, int err)
{
	const struct coll_ranks all = coll_ranks_first(agree->nranks);

	if (agree->form != COLL_FORM_CONNECTING)
		return;
	agree->form_error = err;
	agree->form = err ? COLL_FORM_FAILED : COLL_FORM_READY;
	/*
	 * From now on any rank may accept this group and die afterwards, so no rank can be
	 * called lost.
	 */
	if (!err && coll_ranks_equal(&agree->formed.members, &all))
		agree->sealed = true;
	if (!agree->decided && agree->form_ballot == agree->promised)
		answer_form(agree);
	coll_agree_advance(agree);
}

static void on_accept(struct coll_agree *agree, const struct coll_agree_message *message)
{
	const struct coll_ranks all = coll_ranks_first(agree->nranks);

	if (!is_current_ballot(agree, message))
		return;
	if (!coll_ranks_equal(&message->value.members, &all) && !leave(agree, message))
		return;
	agree->accepted = message->ballot;
	agree->value = message->value;
	if (agree->formed.id != agree->value.id)
		form_abandon(agree);
	answer(agree, message, &(struct coll_agree_message){ .kind = COLL_AGREE_ACCEPTED });
}

static bool is_ready_member(const struct coll_agree *agree)
{
	return coll_ranks_has(&agree->value.members, agree->rank) &&
	       agree->formed.id == agree->value.id && agree->form == COLL_FORM_READY;
}

void coll_agree_finish(struct coll_agree *agree)
{
	agree->finished = true;
	agree->result = is_ready_member(agree) ? 0 : -ETIMEDOUT;
}

void coll_agree_decide(struct coll_agree *agree, const struct coll_value *value)
{
	if (agree->decided)
		return;
	agree->decided = true;
	agree->value = *value;
	agree->step = COLL_STEP_IDLE;
	if (agree->formed.id != value->id)
		form_abandon(agree);
}

static void on_decided(struct coll_agree *agree, const struct coll_agree_message *message)
{
	/* All ranks then report the same ranks as left out. */
	coll_agree_learn(agree, message);
	coll_agree_decide(agree, &message->value);
	answer(agree, message, &(struct coll_agree_message){ .kind = COLL_AGREE_NOTED });
	/* A proposer still has to announce the decision. */
	if (!is_ready_member(agree) && agree->step != COLL_STEP_ANNOUNCE)
		coll_agree_finish(agree);
}

static void on_done(struct coll_agree *agree, const struct coll_agree_message *message)
{
	coll_agree_decide(agree, &message->value);
	coll_agree_finish(agree);
}

static void on_give_up(struct coll_agree *agree, const struct coll_agree_message *message)
{
	if (agree->decided || agree->promised != message->ballot)
		return;
	agree->step = COLL_STEP_IDLE;
	agree->finished = true;
	agree->result = message->error;
}

static void on_hello(struct coll_agree *agree, const struct coll_agree_message *message)
{
	const uint64_t ballot = agree->promised > agree->highest ? agree->promised :
				agree->highest;
	struct coll_agree_message alive = { .kind = COLL_AGREE_ALIVE, .accepted = ballot };
	const struct coll_ranks waits = coll_agree_unanswered(agree);

	if (agree->decided) {
		answer_decided(agree, message);
		return;
	}
	/* The answer to the proposer was lost: send it again. */
	if (agree->form != COLL_FORM_NONE && agree->form_ballot == agree->promised &&
	    agree->accepted != agree->promised &&
	    coll_ballot_rank(agree->promised) == message->from)
		answer_form(agree);
	else if (coll_ranks_has(&waits, message->from))
		coll_agree_resend_to(agree, message->from);
	else
		answer(agree, message, &alive);
}

bool coll_agree_handle_acceptor(struct coll_agree *agree,
				const struct coll_agree_message *message)
{
	switch (message->kind) {
	case COLL_AGREE_HELLO:
		on_hello(agree, message);
		return true;
	case COLL_AGREE_PREPARE:
		on_prepare(agree, message);
		return true;
	case COLL_AGREE_BEGIN:
		on_begin(agree, message);
		return true;
	case COLL_AGREE_PLACES:
		on_places(agree, message);
		return true;
	case COLL_AGREE_ACCEPT:
		on_accept(agree, message);
		return true;
	case COLL_AGREE_DECIDED:
		on_decided(agree, message);
		return true;
	case COLL_AGREE_DONE:
		on_done(agree, message);
		return true;
	case COLL_AGREE_GIVE_UP:
		on_give_up(agree, message);
		return true;
	default:
		return false;
	}
}

void coll_agree_begin(struct coll_agree *agree, bool minority)
{
	agree->minority = minority;
	agree->step = COLL_STEP_IDLE;
	agree->highest = 0;
	agree->setback = 0;
	agree->finished = false;
	agree->result = 0;
	memset(&agree->slow, 0, sizeof(agree->slow));
	if (agree->decided && !is_ready_member(agree))
		coll_agree_finish(agree);
}

void coll_agree_end(struct coll_agree *agree)
{
	agree->step = COLL_STEP_IDLE;
	/* The others may still decide for a group in which this rank has said to be ready. */
	if (!form_is_accepted(agree) && agree->form != COLL_FORM_READY)
		form_abandon(agree);
}
