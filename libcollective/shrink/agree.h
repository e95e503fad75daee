/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Agreement of coll_shrink(): the state machine of one rank, acceptor and proposer of a
 * single-decree Paxos.  A value is a new group of connected ranks.  Documentation/design/shrink.rst
 * has the rules and their proof.
 *
 * It has no socket, clock or memory management: messages and events are its input, messages and
 * requests to the environment (struct coll_agree_ops) its output.  Safety does not depend on
 * the environment: when it proposes, for which ranks it waits, which messages are lost,
 * repeated or late.
 */
#ifndef COLL_AGREE_H
#define COLL_AGREE_H

#include "shrink/rank_set.h"

enum coll_agree_kind {
	COLL_AGREE_HELLO = 1,	/* sender waits for the receiver */
	COLL_AGREE_ALIVE,	/* answer to HELLO; @accepted: highest known ballot */
	COLL_AGREE_PREPARE,	/* begin a ballot: @lost, @left */
	COLL_AGREE_PROMISE,	/* promise it: @accepted, @value, @lost, @left */
	COLL_AGREE_OUTDATED,	/* a higher ballot was promised, in @accepted */
	COLL_AGREE_BEGIN,	/* join @value */
	COLL_AGREE_PLACE,	/* joined; the body has the address */
	COLL_AGREE_PLACES,	/* connect @value; the body has all addresses */
	COLL_AGREE_CONNECTING,	/* all addresses have arrived */
	COLL_AGREE_READY,	/* connected */
	COLL_AGREE_UNABLE,	/* cannot go on: @error; the body has a text */
	COLL_AGREE_ACCEPT,	/* accept @value */
	COLL_AGREE_ACCEPTED,	/* accepted */
	COLL_AGREE_DECIDED,	/* decided: @value, @lost */
	COLL_AGREE_NOTED,	/* answer to DECIDED */
	COLL_AGREE_DONE,	/* the call may return: @value */
	COLL_AGREE_GIVE_UP,	/* the call ends on all ranks: @error; the body has a text */
	COLL_AGREE_CHECK,	/* of no call: shrink/check.h */
	COLL_AGREE_KINDS
};

/**
 * struct coll_value - value of the agreement: a new group
 * @id: id of the group; 0: none
 * @members: its ranks, numbered as in the old group
 */
struct coll_value {
	uint64_t id;
	struct coll_ranks members;
};

/**
 * struct coll_agree_message - message from one rank to another
 * @kind: kind; fields that the kind does not use are 0
 * @from: sending rank
 * @to: receiving rank
 * @session: number of the sender's call (pace.h)
 * @echo: number of the receiver's call as last heard by the sender; 0: none
 * @left_ms: time until the end of the sender's call in ms
 * @ballot: ballot to which the message belongs
 * @accepted: another ballot, see enum coll_agree_kind
 * @value: new group
 * @lost: ranks that died before they could accept anything
 * @left: PREPARE: leave the old group before you promise; PROMISE: the sender cannot be called
 *	lost any more
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
	struct coll_ranks lost;
	bool left;
	int error;
};

/**
 * struct coll_agree_ops - functions of the environment; none may call back
 * @send: send a message to another rank; it may be lost
 * @join: become a member of the new group; 0 or a negative errno
 * @connect: start to connect that member; coll_agree_connected() reports the result later
 * @abandon: free the member of the new group, whatever its state
 * @leave: leave the old group unless it has failed; 0 or a negative errno
 * @number: random id for a group, not 0
 */
struct coll_agree_ops {
	void (*send)(void *env, const struct coll_agree_message *message);
	int (*join)(void *env, const struct coll_value *value);
	void (*connect)(void *env);
	void (*abandon)(void *env);
	int (*leave)(void *env);
	uint64_t (*number)(void *env);
};

/* State of this rank as a member of a new group. */
enum coll_agree_form {
	COLL_FORM_NONE,
	COLL_FORM_FAILED,
	COLL_FORM_JOINED,
	COLL_FORM_CONNECTING,
	COLL_FORM_READY,
};

/* State of this rank as a proposer. */
enum coll_agree_step {
	COLL_STEP_IDLE,
	COLL_STEP_PREPARE,
	COLL_STEP_JOIN,
	COLL_STEP_CONNECT,
	COLL_STEP_ACCEPT,
	COLL_STEP_ANNOUNCE,
};

/**
 * struct coll_agree - agreement of one rank
 * @ops: functions of the environment
 * @env: their first argument
 * @rank: this rank
 * @nranks: number of ranks of the old group
 * @minority: true if ballots of this rank need no quorum
 *
 * State of the acceptor, which lasts as long as the old communicator:
 *
 * @promised: highest ballot promised
 * @accepted: ballot in which @value was accepted; 0: none
 * @value: accepted or decided value
 * @decided: true if @value is decided
 * @left: true if it has left the old group, or found that it has failed
 * @lost: ranks that died without having accepted anything; their messages are ignored
 * @sealed: true if no more ranks may be added to @lost, because ranks may have accepted
 * @formed: new group in which this rank is a member
 * @form: state of that membership
 * @form_error: error if @form is COLL_FORM_FAILED
 * @form_ballot: ballot in which @formed was begun
 *
 * State of the proposer, for one ballot:
 *
 * @step: step that is under way
 * @ballot: number of the ballot
 * @ballot_lost: @lost when the ballot began
 * @promisers: ranks that have promised the ballot
 * @leaving: true if ranks are asked to leave the old group before they promise
 * @leavers: promisers that cannot be called lost any more
 * @answered: ranks that have answered @step
 * @connecting: ranks that have received PLACES
 * @best_ballot: highest ballot of an accepted value among the promises; 0: none
 * @proposal: the value of that ballot, or a new one
 *
 * State of one call of coll_shrink():
 *
 * @highest: highest ballot heard of
 * @slow: ranks for which the proposer does not wait; the environment removes ranks that answer
 * @setback: error of the last ballot if another ballot may succeed; 0: none
 * @finished: true if the call is over
 * @result: 0: @value is decided and this rank is ready in it; -ETIMEDOUT: it is decided without
 *	this rank; otherwise the error with which the ranks gave up
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
	bool left;
	struct coll_ranks lost;
	bool sealed;
	struct coll_value formed;
	enum coll_agree_form form;
	int form_error;
	uint64_t form_ballot;

	enum coll_agree_step step;
	uint64_t ballot;
	struct coll_ranks ballot_lost;
	struct coll_ranks promisers;
	bool leaving;
	struct coll_ranks leavers;
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

/* Rank that proposes a ballot.  Ballots are ordered by a count, then by this rank. */
static inline unsigned int coll_ballot_rank(uint64_t ballot)
{
	return ballot & 0xffffffff;
}

/* May another ballot succeed after this error? */
bool coll_agree_transient(int err);

/* Called once, before the first call; @agree is zeroed. */
void coll_agree_init(struct coll_agree *agree, const struct coll_agree_ops *ops, void *env,
		     unsigned int rank, unsigned int nranks);

/*
 * Begin and end a call of coll_shrink().  The end abandons a group in which this rank is not ready.
 */
void coll_agree_begin(struct coll_agree *agree, bool minority);
void coll_agree_end(struct coll_agree *agree);

/* Handle a message that is authenticated as sent by @message->from. */
void coll_agree_receive(struct coll_agree *agree, const struct coll_agree_message *message);

/* Report the result of @ops->connect. */
void coll_agree_connected(struct coll_agree *agree, int err);

/* Report a rank that has died and has never accepted anything. */
void coll_agree_lost(struct coll_agree *agree, unsigned int rank);

/* Begin a ballot; or, if the value is decided, announce it. */
void coll_agree_propose(struct coll_agree *agree);

/* Ranks that have not answered the present step. */
struct coll_ranks coll_agree_unanswered(const struct coll_agree *agree);

/* Send the present step again, to one rank or to all that have not answered. */
void coll_agree_resend_to(struct coll_agree *agree, unsigned int rank);
void coll_agree_resend(struct coll_agree *agree);

/* Stop waiting for a rank, as far as a quorum allows; stop announcing the decision. */
void coll_agree_slow(struct coll_agree *agree, unsigned int rank);
void coll_agree_stop_announcing(struct coll_agree *agree);

/* Give up: end the call on all ranks, with @err. */
void coll_agree_give_up(struct coll_agree *agree, int err);

/* Private to agree*.c */

/* Is @set a quorum of the ballot, given the lost that were known when it began? */
bool coll_agree_quorum(const struct coll_agree *agree, const struct coll_ranks *set);

/* May a value be chosen on what the promisers have said? */
bool coll_agree_promised(const struct coll_agree *agree);

/* May this rank promise, or accept, the ballot? */
bool coll_agree_may_promise(const struct coll_agree *agree, uint64_t ballot);
bool coll_agree_may_accept(const struct coll_agree *agree, uint64_t ballot);

/* Are messages of @rank ignored? */
bool coll_agree_fenced(const struct coll_agree *agree, unsigned int rank);

/* Ranks that are not lost, as far as this rank knows. */
struct coll_ranks coll_agree_alive(const struct coll_agree *agree);

/* Send a message; one to this rank itself is handled at once. */
void coll_agree_send(struct coll_agree *agree, struct coll_agree_message *message,
		     unsigned int to);
void coll_agree_handle(struct coll_agree *agree, const struct coll_agree_message *message);
bool coll_agree_handle_acceptor(struct coll_agree *agree,
				const struct coll_agree_message *message);
void coll_agree_handle_proposer(struct coll_agree *agree,
				const struct coll_agree_message *message);

/* Add the lost ranks of a message to those of this rank. */
void coll_agree_learn(struct coll_agree *agree, const struct coll_agree_message *message);

/* Note that the value is decided; end the call. */
void coll_agree_decide(struct coll_agree *agree, const struct coll_value *value);
void coll_agree_finish(struct coll_agree *agree);

/* Take all steps of the proposer that are due. */
void coll_agree_advance(struct coll_agree *agree);

#endif /* COLL_AGREE_H */
