// SPDX-License-Identifier: GPL-2.0-only
/* why: one sentence and an exit status for each group, from what all its ranks say. */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "table.h"

/* What is to be said of a group, the worst last; an exit status. */
enum verdict {
	VERDICT_OK = 0,
	VERDICT_SLOW = 10,
	VERDICT_INCOMPLETE,
	VERDICT_MISMATCH,
	VERDICT_DEAD,
};

/* An operation that is younger is no reason to say anything. */
#define PATIENCE_MS	1000

/* Queries until a rank is said not to answer: an answer may be lost. */
#define QUERIES		3

#define RANKS_MAX	1024

/**
 * struct state - what is known of a group
 * @size: number of ranks
 * @connected: true if the rank that asks has all its links
 * @missing: ranks that have not answered
 * @answer: by rank; of a rank that has answered an earlier query only, that answer
 * @at: by rank: time at which the answer was read; ns
 * @node: names of hosts, by rank
 * @oldest: the oldest operation in flight; NULL: there is none
 * @oldest_ms: its age
 * @oldest_rank: rank that has it in flight for longest
 * @waiting: ranks that have it in flight
 * @text: the sentence
 * @culprit: the rank that it names first; COLL_ADMIN_NONE: none
 */
struct state {
	unsigned int size;
	bool connected;
	unsigned int missing;
	struct coll_admin_answer answer[RANKS_MAX];
	uint64_t at[RANKS_MAX];
	char node[RANKS_MAX][80];
	const struct coll_admin_operation *oldest;
	uint64_t oldest_ms;
	unsigned int oldest_rank;
	unsigned int waiting;
	char text[512];
	unsigned int culprit;
};

/**
 * struct groups - the groups that are asked about
 * @name: their names
 * @size: their numbers of ranks
 * @n: number of groups
 */
struct groups {
	char (*name)[64];
	unsigned int *size;
	size_t n;
};

static int add_group(const struct coll_admin_group *group, void *arg)
{
	struct groups *groups = arg;

	groups->name = reallocarray(groups->name, groups->n + 1, sizeof(*groups->name));
	groups->size = reallocarray(groups->size, groups->n + 1, sizeof(*groups->size));
	if (!groups->name || !groups->size)
		err(CTL_FAILED, "memory");
	snprintf(groups->name[groups->n], sizeof(*groups->name), "%s", group->name);
	groups->size[groups->n++] = group->size;
	return 0;
}

/* An answer to an earlier query is better than none. */
static int keep_answer(const struct coll_admin_answer *answer, void *arg)
{
	unsigned int rank = answer->rank;
	struct state *state = arg;

	if (rank >= state->size || (!answer->answered && state->answer[rank].answered))
		return 0;
	state->answer[rank] = *answer;
	state->at[rank] = ctl_clock_ns(CLOCK_MONOTONIC);
	snprintf(state->node[rank], sizeof(state->node[0]), "%s", answer->node);
	if (rank == answer->asker)
		state->connected = answer->state == COLL_ADMIN_STATE_UP;
	return 0;
}

/* Ranks that have answered no query, and the ages of the answers just now. */
static void finish_answers(struct state *state)
{
	uint64_t now = ctl_clock_ns(CLOCK_MONOTONIC);
	unsigned int rank;

	state->missing = 0;
	for (rank = 0; rank < state->size; rank++) {
		if (!state->answer[rank].answered) {
			state->missing++;
			continue;
		}
		state->answer[rank].age_ns += now - state->at[rank];
		state->at[rank] = now;
	}
}

/* Asks until all ranks of a group that is connected have answered.  Return: 0 or an errno. */
static int look(struct state *state, const char *name)
{
	unsigned int queries = 0;
	int err;

	for (;;) {
		err = coll_admin_query(ctl.admin, name, COLL_ADMIN_QUERY_MS, keep_answer, state);
		finish_answers(state);
		if (err < 0 || !state->missing || !state->connected || ++queries == QUERIES)
			return err < 0 ? err : 0;
		usleep(COLL_ADMIN_QUERY_MS * 1000);
	}
}

static void find_oldest(struct state *state)
{
	unsigned int i;

	for (i = 0; i < state->size; i++) {
		const struct coll_admin_answer *answer = &state->answer[i];
		uint64_t age_ms = answer->oldest.age_ms + answer->age_ns / 1000000;

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
	const struct coll_admin_answer *answer = &state->answer[rank];

	state->culprit = rank;
	say(state, "rank %u", rank);
	if (answer->answered)
		say(state, " (pid %u on %s)", answer->own_pid, state->node[rank]);
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
 * Is a rank that has answered known not to have called the oldest operation?  Of an operation with
 * a key, and of a message, that is known of a rank with nothing else in flight.
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
	return !state->answer[rank].answered;
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

/* The first reason that a rank gives.  Return: true if the group has failed. */
static bool judge_dead(struct state *state)
{
	unsigned int i;

	for (i = 0; i < state->size; i++) {
		const struct coll_admin_answer *answer = &state->answer[i];

		if (!answer->reason.kind)
			continue;
		say(state, "the group has failed: %s, %s ago", text_reason(&answer->reason),
		    text_duration(answer->reason_age_ms * 1000000 + answer->age_ns));
		state->culprit = answer->reason.rank_a;
		return true;
	}
	return false;
}

static enum verdict judge(struct state *state)
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
	if (state->oldest_ms > PATIENCE_MS)
		return judge_oldest(state);
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

static const char *verdict_name(enum verdict verdict)
{
	switch (verdict) {
	case VERDICT_SLOW:
		return "SLOW";
	case VERDICT_INCOMPLETE:
		return "INCOMPLETE";
	case VERDICT_MISMATCH:
		return "MISMATCH";
	case VERDICT_DEAD:
		return "DEAD";
	default:
		return "OK";
	}
}

enum {
	WHY_GROUP,
	WHY_VERDICT,
	WHY_TEXT,
	WHY_RANK,
	WHY_PID,
	WHY_NODE,
	WHY_SILENT,
};

static const struct column why_columns[] = {
	[WHY_GROUP]	= { .name = "GROUP" },
	[WHY_VERDICT]	= { .name = "VERDICT" },
	[WHY_TEXT]	= { .name = "WHY" },
	[WHY_RANK]	= { .name = "RANK", .kind = COLUMN_NUMBER },
	[WHY_PID]	= { .name = "PID", .kind = COLUMN_NUMBER },
	[WHY_NODE]	= { .name = "NODE" },
	[WHY_SILENT]	= { .name = "SILENT", .kind = COLUMN_NUMBER },
};

static void add_row(struct table *table, const struct state *state, const char *name,
		    enum verdict verdict)
{
	table_row(table);
	table_text(table, WHY_GROUP, name);
	table_text(table, WHY_VERDICT, verdict_name(verdict));
	table_text(table, WHY_TEXT, state->text);
	table_number(table, WHY_SILENT, state->missing);
	if (state->culprit >= state->size)
		return;
	table_number(table, WHY_RANK, state->culprit);
	if (!state->answer[state->culprit].answered)
		return;
	table_number(table, WHY_PID, state->answer[state->culprit].own_pid);
	table_text(table, WHY_NODE, state->node[state->culprit]);
}

/* Return: the verdict on a group, or a negative errno. */
static int explain(const char *name, unsigned int size, struct table *table)
{
	struct state *state = calloc(1, sizeof(*state));
	enum verdict verdict = VERDICT_INCOMPLETE;
	int error;

	if (!state)
		err(CTL_FAILED, "memory");
	state->size = size < RANKS_MAX ? size : RANKS_MAX;
	state->culprit = COLL_ADMIN_NONE;
	error = look(state, name);
	if (error == -ENOTCONN)
		say(state, "%s", coll_admin_error(ctl.admin));
	else if (error >= 0)
		verdict = judge(state);
	if (error >= 0 || error == -ENOTCONN) {
		add_row(table, state, name, verdict);
		if (!ctl.json)
			printf("%s: %s: %s\n", name, verdict_name(verdict), state->text);
		error = verdict;
	}
	free(state);
	return error;
}

int ctl_why(int argc, char **argv)
{
	struct table *table = table_new("why", why_columns, ARRAY_SIZE(why_columns));
	struct groups groups = { 0 };
	int error, worst = VERDICT_OK;
	size_t i;

	if (argc > 1)
		ctl_usage("too many arguments");
	error = coll_admin_groups(ctl.admin, argc ? argv[0] : NULL, add_group, &groups);
	if (error < 0)
		return ctl_result(error);
	for (i = 0; i < groups.n; i++) {
		error = explain(groups.name[i], groups.size[i], table);
		/* Without a name, groups of other users are left out, and those that have ended. */
		if (error < 0 && (argc || (error != -EPERM && error != -ENOENT)))
			return ctl_result(error);
		worst = error > worst ? error : worst;
	}
	free(groups.name);
	free(groups.size);
	if (ctl.json)
		table_print(table);
	return worst;
}
