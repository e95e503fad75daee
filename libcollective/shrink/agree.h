/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the ranks of coll_shrink() agree on: a state machine for one rank, acceptor and
 * proposer of a single-decree Paxos, in which a value is a group of ranks that are
 * connected.  Documentation/shrink.rst has the rules and why they are sound.
 *
 * It knows no socket, clock or memory management: messages and events go in, messages
 * and requests to the environment (struct coll_agree_ops) come out.  Safety depends on
 * nothing that the environment chooses: when to propose, whom to wait for, what is lost,
 * repeated or late.
 */
#ifndef COLL_AGREE_H
#define COLL_AGREE_H

#include "shrink/rank_set.h"

enum coll_agree_kind {
	COLL_AGREE_HELLO = 1,	/* sender waits for the receiver */
	COLL_AGREE_ALIVE,	/* answer to HELLO; @accepted: highest ballot known */
	COLL_AGREE_PREPARE,	/* @dead, @lost */
	COLL_AGREE_PROMISE,	/* @accepted, @value, @dead, @lost */
	COLL_AGREE_OUTDATED,	/* a higher ballot was promised; @accepted: which */
	COLL_AGREE_BEGIN,	/* @value: join */
	COLL_AGREE_PLACE,	/* joined; the address goes with it */
	COLL_AGREE_PLACES,	/* @value: connect; all addresses go with it */
	COLL_AGREE_CONNECTING,	/* all addresses are known */
	COLL_AGREE_READY,	/* connected */
	COLL_AGREE_UNABLE,	/* @error; a text goes with it */
	COLL_AGREE_ACCEPT,	/* @value */
	COLL_AGREE_ACCEPTED,
	COLL_AGREE_DECIDED,	/* @value, @dead, @lost */
	COLL_AGREE_NOTED,
	COLL_AGREE_DONE,	/* @value */
	COLL_AGREE_GIVE_UP,	/* @error; a text goes with it */
	COLL_AGREE_KINDS
};

/**
 * struct coll_value - what is decided: a group
 * @id: its number; 0: none
 * @members: ranks of the old group
 */
struct coll_value {
	uint64_t id;
	struct coll_ranks members;
};

/**
 * struct coll_agree_message - from one rank to another
 * @kind: what it says; fields that the kind does not have are 0
 * @from: rank
 * @to: rank
 * @session: call of the sender (pace.h)
 * @echo: call of the receiver, as far as the sender has heard; 0: not at all
 * @left_ms: time that the sender's call has left
 * @ballot: which it belongs to
 * @accepted: a ballot, see enum coll_agree_kind
 * @value: a group
 * @dead: ranks that will not answer any more
 * @lost: ranks that died before they could accept anything
 * @error: negative errno
 */
struct coll_agree_message {
	enum coll_agree_kind kind;
	unsigned int from;
	unsigned int to;
	uint64_t session;
	uint64_t echo;
	uint32_t left_ms;
	uint64_t ballot;
	uint64_t accepted;
	struct coll_value value;
	struct coll_ranks dead;
	struct coll_ranks lost;
	int error;
};

/**
 * struct coll_agree_ops - what a rank asks of its environment
 * @send: send a message to another rank; it may be lost
 * @join: become a member of this group; 0 or a negative errno
 * @connect: begin to connect it; coll_agree_connected() tells the end, later
 * @abandon: forget the group, whatever has become of it
 * @leave: leave the old group unless it has failed; 0 or a negative errno
 * @number: a number for a group: random, not 0
 *
 * None of them may call back.
 */
struct coll_agree_ops {
	void (*send)(void *env, const struct coll_agree_message *message);
	int (*join)(void *env, const struct coll_value *value);
	void (*connect)(void *env);
	void (*abandon)(void *env);
	int (*leave)(void *env);
	uint64_t (*number)(void *env);
};

/* How far this rank is in a new group. */
enum coll_agree_form {
	COLL_FORM_NONE,
	COLL_FORM_FAILED,
	COLL_FORM_JOINED,
	COLL_FORM_CONNECTING,
	COLL_FORM_READY,
};

/* How far this rank is as a proposer. */
enum coll_agree_step {
	COLL_STEP_IDLE,
	COLL_STEP_PREPARE,
	COLL_STEP_JOIN,
	COLL_STEP_CONNECT,
	COLL_STEP_ACCEPT,
	COLL_STEP_ANNOUNCE,
};

/**
 * struct coll_agree - one rank
 * @ops: environment
 * @env: its argument
 * @rank: this rank
 * @nranks: of the old group
 * @minority: this rank's ballots need no quorum
 *
 * The acceptor, which lasts as long as the old communicator:
 *
 * @promised: highest ballot promised
 * @accepted: ballot in which @value was accepted; 0: none
 * @value: accepted, or decided
 * @decided: @value is decided
 * @dead: ranks that will not answer any more; their messages are ignored
 * @lost: those that have never accepted anything; their messages are ignored
 * @sealed: no more ranks are taken for lost
 * @formed: the group in which this rank is a member
 * @form: how far it is
 * @form_error: why it is FAILED
 * @form_ballot: in which @formed was begun
 *
 * The proposer of one ballot:
 *
 * @step: what it waits for
 * @ballot: its number
 * @ballot_dead: @dead at its beginning
 * @ballot_lost: @lost at its beginning
 * @promisers: ranks that have promised it
 * @answered: ranks that have given the answer of @step
 * @connecting: those that need no PLACES any more
 * @best_ballot: highest ballot of an accepted value that promisers have told
 * @proposal: that value, or a new one
 *
 * One call:
 *
 * @highest: highest ballot heard of
 * @slow: ranks that are not waited for; the environment takes out those that speak again
 * @setback: why the last ballot failed, if another one may succeed
 * @finished: the call is over
 * @result: 0: @value is decided, and this rank is ready in it; -ETIMEDOUT: it is decided
 *	without this rank; or what the ranks gave up with
 */
struct coll_agree {
	const struct coll_agree_ops *ops;
	void *env;
	unsigned int rank;
	unsigned int nranks;
	bool minority;

	uint64_t promised;
	uint64_t accepted;
	struct coll_value value;
	bool decided;
	struct coll_ranks dead;
	struct coll_ranks lost;
	bool sealed;
	struct coll_value formed;
	enum coll_agree_form form;
	int form_error;
	uint64_t form_ballot;

	enum coll_agree_step step;
	uint64_t ballot;
	struct coll_ranks ballot_dead;
	struct coll_ranks ballot_lost;
	struct coll_ranks promisers;
	struct coll_ranks answered;
	struct coll_ranks connecting;
	uint64_t best_ballot;
	struct coll_value proposal;

	uint64_t highest;
	struct coll_ranks slow;
	int setback;
	bool finished;
	int result;
};

/* Ballots are ordered by a count, then by the rank that proposes. */
static inline unsigned int coll_ballot_rank(uint64_t ballot)
{
	return ballot & 0xffffffff;
}

/* May a ballot that fails so be followed by one that succeeds? */
bool coll_agree_transient(int err);

/* Once, before the first call; @agree is zero. */
void coll_agree_init(struct coll_agree *agree, const struct coll_agree_ops *ops, void *env,
		     unsigned int rank, unsigned int nranks);

/* A call begins, and ends; a group that was not accepted is abandoned then. */
void coll_agree_begin(struct coll_agree *agree, bool minority);
void coll_agree_end(struct coll_agree *agree);

/* A message has come, which claims to be from @message->from and is. */
void coll_agree_receive(struct coll_agree *agree, const struct coll_agree_message *message);

/* What @ops->connect began has ended. */
void coll_agree_connected(struct coll_agree *agree, int err);

/* Another rank will not answer any more; it has never accepted anything. */
void coll_agree_dead(struct coll_agree *agree, unsigned int rank);
void coll_agree_lost(struct coll_agree *agree, unsigned int rank);

/* Begin a ballot; or, if there is a decision, tell it. */
void coll_agree_propose(struct coll_agree *agree);

/* Ranks that this proposer waits for. */
struct coll_ranks coll_agree_unanswered(const struct coll_agree *agree);

/* Say again what a rank, or all, have not answered. */
void coll_agree_resend_to(struct coll_agree *agree, unsigned int rank);
void coll_agree_resend(struct coll_agree *agree);

/* Go on without a rank, if there is a quorum; or without ranks that do not note the decision. */
void coll_agree_slow(struct coll_agree *agree, unsigned int rank);
void coll_agree_stop_announcing(struct coll_agree *agree);

/* End the call on all ranks. */
void coll_agree_give_up(struct coll_agree *agree, int err);

/*
 * Inside: agree_quorum.c, agree_accept.c, agree_propose.c
 */

/* Are these ranks a quorum of the ballot, by the dead that were known at its beginning? */
bool coll_agree_quorum(const struct coll_agree *agree, const struct coll_ranks *set);

/* May the rank promise, or accept, this ballot? */
bool coll_agree_may_promise(const struct coll_agree *agree, uint64_t ballot);
bool coll_agree_may_accept(const struct coll_agree *agree, uint64_t ballot);

/* Are a rank's messages ignored? */
bool coll_agree_fenced(const struct coll_agree *agree, unsigned int rank);

/* Ranks that are not known to be dead. */
struct coll_ranks coll_agree_alive(const struct coll_agree *agree);

/* Send, to itself at once. */
void coll_agree_send(struct coll_agree *agree, struct coll_agree_message *message,
		     unsigned int to);
void coll_agree_handle(struct coll_agree *agree, const struct coll_agree_message *message);
bool coll_agree_handle_acceptor(struct coll_agree *agree,
				const struct coll_agree_message *message);
void coll_agree_handle_proposer(struct coll_agree *agree,
				const struct coll_agree_message *message);

/* What others know of the dead. */
void coll_agree_learn(struct coll_agree *agree, const struct coll_agree_message *message);

/* The value is decided; the call is over. */
void coll_agree_decide(struct coll_agree *agree, const struct coll_value *value);
void coll_agree_finish(struct coll_agree *agree);

/* Take the proposer's steps that are due. */
void coll_agree_advance(struct coll_agree *agree);

#endif /* COLL_AGREE_H */
