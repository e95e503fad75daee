// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is to be said of a group, from the answers of its ranks to queries.
 *
 * A rank answers for the moment at which the query reaches it.  Between two queries operations
 * complete and others begin, so what ranks say of operations is compared within one query only.
 * That no answer is lost matters more than how new the answers are: of several queries the one
 * counts that most ranks have answered.  In one query moments differ by less than
 * JUDGE_PATIENCE_MS.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "judge.h"

/* Queries until a rank is said not to answer: an answer may be lost. */
#define QUERIES		3

/**
 * judge_query_begin() - the answers that follow are to a new query
 * @state: of the group
 */
void judge_query_begin(struct state *state)
{
	memset(state->next, 0, sizeof(state->next));
	state->nnext = 0;
}

static void keep_known(struct known *known, const struct coll_admin_answer *answer)
{
	known->answered = true;
	known->pid = answer->own_pid;
	snprintf(known->node, sizeof(known->node), "%s", answer->node);
	known->reason = answer->reason;
	known->reason_ns = ctl_clock_ns(CLOCK_MONOTONIC) - answer->age_ns -
			   answer->reason_age_ms * 1000000;
}

/**
 * judge_take() - an answer to the query
 * @answer: the answer, or that there is none
 * @arg: the state of the group
 *
 * Return: 0.
 */
int judge_take(const struct coll_admin_answer *answer, void *arg)
{
	unsigned int rank = answer->rank;
	struct state *state = arg;

	if (rank >= state->size || !answer->answered)
		return 0;
	state->next[rank] = *answer;
	state->nnext++;
	keep_known(&state->known[rank], answer);
	if (rank == answer->asker)
		state->connected = answer->state == COLL_ADMIN_STATE_UP;
	return 0;
}

/**
 * judge_query_end() - all answers to the query have been taken
 * @state: of the group
 *
 * Return: true if no more queries are needed.
 */
bool judge_query_end(struct state *state)
{
	unsigned int rank;

	if (state->nnext >= state->answers) {
		memcpy(state->answer, state->next, sizeof(state->answer));
		state->answers = state->nnext;
	}
	state->missing = 0;
	for (rank = 0; rank < state->size; rank++)
		state->missing += !state->known[rank].answered;
	return state->answers == state->size || !state->connected;
}

/**
 * judge_ask() - ask until all ranks of a group that is connected have answered
 * @state: of the group
 * @group: its name
 * @query: asks for the @nth time, from 0, and calls judge_take() for each rank
 *
 * Return: 0; or the negative errno of the first query.  An error of a later one, as when the group
 * has ended meanwhile, leaves what those before have brought.
 */
int judge_ask(struct state *state, const char *group,
	      int (*query)(const char *group, struct state *state, unsigned int nth))
{
	unsigned int nth;
	int error;

	for (nth = 0; nth < QUERIES; nth++) {
		judge_query_begin(state);
		error = query(group, state, nth);
		if (error < 0)
			return nth ? 0 : error;
		if (judge_query_end(state))
			break;
	}
	return 0;
}

/**
 * judge_take_link() - a link of a rank of this host
 * @link: the link
 * @arg: the state of the group
 *
 * Return: 0.
 */
int judge_take_link(const struct coll_admin_link *link, void *arg)
{
	struct silence *silence = &((struct state *)arg)->silence;
	unsigned int i;

	for (i = 0; i < link->n; i++) {
		const struct coll_admin_connection *connection = &link->connection[i];

		if (link->unanswered[i] < JUDGE_UNANSWERED || link->unanswered[i] <= silence->times)
			continue;
		*silence = (struct silence){
			.times = link->unanswered[i],
			.rank = link->rank,
			.peer = link->peer,
			.control = connection->lane == COLL_ADMIN_NONE,
			.local = connection->local,
			.remote = connection->peer,
		};
	}
	return 0;
}

static void find_oldest(struct state *state)
{
	unsigned int i;

	for (i = 0; i < state->size; i++) {
		const struct coll_admin_answer *answer = &state->answer[i];
		/* As the answer has it: since then the operation may have ended. */
		uint64_t age_ms = answer->oldest.age_ms;

		if (answer->answered && answer->oldest.instance != COLL_ADMIN_NO_INSTANCE &&
		    (!state->oldest || age_ms > state->oldest_ms)) {
			state->oldest = &answer->oldest;
			state->oldest_ms = age_ms;
			state->oldest_rank = i;
		}
	}
	for (i = 0; state->oldest && i < state->size; i++)
		state->waiting += state->answer[i].answered &&
				  state->answer[i].oldest.instance == state->oldest->instance;
}

static void say(struct state *state, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say(struct state *state, const char *format, ...)
{
	size_t length = strlen(state->text);
	va_list args;

	va_start(args, format);
	vsnprintf(state->text + length, sizeof(state->text) - length, format, args);
	va_end(args);
}

/* The first of some ranks, with its process, and how many more there are. */
static void say_ranks(struct state *state, unsigned int rank, unsigned int n)
{
	const struct known *known = &state->known[rank];

	state->culprit = rank;
	say(state, "rank %u", rank);
	if (known->answered)
		say(state, " (pid %u on %s)", known->pid, known->node);
	if (n > 1)
		say(state, " and %u more rank%s", n - 1, n == 2 ? "" : "s");
}

static bool is_counted(uint64_t instance)
{
	return !(instance >> 62);
}

/* Does a rank that has an operation in flight wait for this one? */
static bool is_waited_for(const struct state *state, unsigned int rank)
{
	unsigned int i, k;

	for (i = 0; i < state->size; i++) {
		const struct coll_admin_operation *oldest = &state->answer[i].oldest;

		if (!state->answer[i].answered || oldest->instance != state->oldest->instance)
			continue;
		for (k = 0; k < oldest->nwaits; k++)
			if (oldest->waits[k] == rank)
				return true;
	}
	return false;
}

/*
 * Is a rank that has answered this query known not to have called the oldest operation?  Of an
 * operation with a key, and of a message, that is known of a rank with nothing else in flight.
 */
static bool is_absent(const struct state *state, unsigned int rank)
{
	const struct coll_admin_answer *answer = &state->answer[rank];
	uint64_t instance = state->oldest->instance;

	if (!answer->answered)
		return false;
	if (is_counted(instance))
		return answer->counted <= instance;
	return is_waited_for(state, rank) && answer->oldest.instance != instance &&
	       answer->completed.instance != instance && answer->inflight <= 1;
}

static bool is_silent(const struct state *state, unsigned int rank)
{
	return !state->known[rank].answered;
}

static bool is_mismatched(const struct state *state, unsigned int rank)
{
	return state->answer[rank].answered &&
	       state->answer[rank].completed.kind == COLL_ADMIN_REASON_MISMATCH;
}

static bool is_stopped(const struct state *state, unsigned int rank)
{
	return state->answer[rank].stopped;
}

/* Return: number of ranks of a kind; *@first is the lowest, or 0 if there is none. */
static unsigned int count(const struct state *state, unsigned int *first,
			  bool (*is)(const struct state *state, unsigned int rank))
{
	unsigned int rank, n = 0;

	*first = 0;
	for (rank = 0; rank < state->size; rank++)
		if (is(state, rank) && !n++)
			*first = rank;
	return n;
}

static const char *operation_name(const struct coll_admin_operation *operation)
{
	const char *opcode = coll_admin_name(COLL_ADMIN_OPCODE, operation->opcode);
	static char name[300];

	snprintf(name, sizeof(name), "%s #%s", opcode, text_operation(operation->instance));
	return name;
}

static void say_waiting(struct state *state)
{
	say(state, "; %u rank%s waited %s", state->waiting, state->waiting == 1 ? " has" : "s have",
	    text_duration(state->oldest_ms * 1000000));
}

/* If a control connection is silent, so is the host.  A data connection may be silent by itself. */
static void say_silence(struct state *state)
{
	const struct silence *silence = &state->silence;

	if (!silence->times)
		return;
	say(state, "; rank %u at %s has sent again %u times without an answer to rank %u at %s: %s",
	    silence->rank, text_address(&silence->local), silence->times, silence->peer,
	    text_address(&silence->remote), silence->control ?
	    "its host or the network is down" :
	    "has a firewall forgotten the connection, or are packets too large for the path (MTU)?");
}

static enum verdict judge_oldest(struct state *state)
{
	const struct coll_admin_operation *oldest = state->oldest;
	unsigned int rank, n = count(state, &rank, is_absent);

	if (n) {
		say_ranks(state, rank, n);
		say(state, " %s%s not called %s",
		    is_stopped(state, rank) && n == 1 ? "is stopped and " : "",
		    n == 1 ? "has" : "have", operation_name(oldest));
		say_waiting(state);
		return VERDICT_INCOMPLETE;
	}
	n = count(state, &rank, is_silent);
	if (n) {
		say_ranks(state, rank, n);
		say(state, " %s not answer, and %s is not complete", n == 1 ? "does" : "do",
		    operation_name(oldest));
		say_waiting(state);
		return VERDICT_INCOMPLETE;
	}
	say(state, "%s is in progress for %s", operation_name(oldest),
	    text_duration(state->oldest_ms * 1000000));
	if (oldest->nwaits)
		say(state, "; rank %u waits for rank %s", state->oldest_rank,
		    text_ranks(oldest->waits, oldest->nwaits));
	return VERDICT_SLOW;
}

/* The first reason that a rank gives, in any query.  Return: true if the group has failed. */
static bool judge_dead(struct state *state)
{
	uint64_t now = ctl_clock_ns(CLOCK_MONOTONIC);
	unsigned int i;

	for (i = 0; i < state->size; i++) {
		const struct known *known = &state->known[i];

		if (!known->reason.kind)
			continue;
		say(state, "the group has failed: %s, %s ago", text_reason(&known->reason),
		    text_duration(now - known->reason_ns));
		state->culprit = known->reason.rank_a;
		return true;
	}
	return false;
}

/**
 * judge() - find what is to be said
 * @state: of the group, after judge_ask().  Its @text and @culprit are set
 *
 * Return: the verdict.
 */
enum verdict judge(struct state *state)
{
	unsigned int rank, n;

	if (judge_dead(state))
		return VERDICT_DEAD;
	if (count(state, &rank, is_mismatched)) {
		const struct coll_admin_answer *answer = &state->answer[rank];

		say(state, "the calls of operation #%s differ: %s",
		    text_operation(answer->completed.instance), text_reason(&answer->last));
		state->culprit = answer->last.rank_a;
		return VERDICT_MISMATCH;
	}
	find_oldest(state);
	if (state->oldest_ms > JUDGE_PATIENCE_MS) {
		enum verdict verdict = judge_oldest(state);

		say_silence(state);
		return verdict;
	}
	n = count(state, &rank, is_silent);
	if (n) {
		say_ranks(state, rank, n);
		say(state, " %s not %s; the group has %u ranks", n == 1 ? "does" : "do",
		    state->connected ? "answer" : "answer while the group connects", state->size);
		return VERDICT_INCOMPLETE;
	}
	say(state, "all %u ranks answer, and nothing waits", state->size);
	n = count(state, &rank, is_stopped);
	if (n) {
		say(state, "; ");
		say_ranks(state, rank, n);
		say(state, " %s stopped", n == 1 ? "is" : "are");
	}
	return VERDICT_OK;
}
