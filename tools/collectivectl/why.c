// SPDX-License-Identifier: GPL-2.0-only
/*
 * why: one sentence and an exit status for each group.
 *
 * The ranks of this host are asked.  A rank elsewhere is known by what the ranks here wait for.
 */
#include <err.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
#define PATIENCE_NS	1000000000ULL

#define RANKS_MAX	1024

/**
 * struct rank - what is known of a rank of this host
 * @here: true if it is a member
 * @pid: its process
 * @next: number of collectives without a key that it has submitted
 * @mismatched: true if its latest operation that is done failed by a mismatch
 * @done: reason of that, and the operation
 */
struct rank {
	bool here;
	unsigned int pid;
	uint64_t next;
	bool mismatched;
	struct coll_admin_reason done;
};

/**
 * struct state - what is known of a group
 * @name: its name
 * @size: number of ranks
 * @here: ranks of this host
 * @failed: reason of its failure
 * @oldest: the oldest operation in flight; its @age_ns is 0 if there is none
 * @waiting: ranks of this host that have it in flight
 * @moving: of these, ranks that move data
 * @rank: by rank
 */
struct state {
	char name[64];
	unsigned int size;
	unsigned int here;
	struct coll_admin_reason failed;
	struct coll_admin_request oldest;
	unsigned int waiting;
	unsigned int moving;
	struct rank rank[RANKS_MAX];
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

static int look_at_member(const struct coll_admin_member *member, void *arg)
{
	struct state *state = arg;

	if (member->rank >= RANKS_MAX)
		return 0;
	state->rank[member->rank].here = true;
	state->rank[member->rank].pid = member->pid;
	state->here++;
	if (member->reason.kind && !state->failed.kind)
		state->failed = member->reason;
	return 0;
}

static bool is_counted(uint64_t instance)
{
	return !(instance >> 62);
}

static int look_at_record(const struct coll_admin_record *record, void *arg)
{
	struct state *state = arg;
	struct rank *rank = &state->rank[record->rank % RANKS_MAX];

	if (record->kind == COLL_ADMIN_RECORD_SUBMIT && is_counted(record->instance))
		rank->next = record->instance + 1;
	if (record->kind == COLL_ADMIN_RECORD_DONE) {
		rank->mismatched = record->reason.kind == COLL_ADMIN_REASON_MISMATCH;
		rank->done = record->reason;
		rank->done.instance = record->instance;
	}
	return 0;
}

static int find_oldest(const struct coll_admin_request *request, void *arg)
{
	struct state *state = arg;

	if (request->state != COLL_ADMIN_REQUEST_FAILING &&
	    request->age_ns > state->oldest.age_ns)
		state->oldest = *request;
	return 0;
}

static int count_waiting(const struct coll_admin_request *request, void *arg)
{
	struct state *state = arg;

	if (request->instance != state->oldest.instance)
		return 0;
	state->waiting++;
	state->moving += request->state == COLL_ADMIN_REQUEST_MOVING;
	return 0;
}

/* Return: 0 or a negative errno; records and requests of a foreign group are not known. */
static int look(struct state *state)
{
	int err = coll_admin_members(ctl.admin, state->name, COLL_ADMIN_ALL, look_at_member, state);

	if (err >= 0)
		err = coll_admin_records(ctl.admin, state->name, COLL_ADMIN_ALL, look_at_record,
					 state);
	if (err >= 0)
		err = coll_admin_requests(ctl.admin, state->name, COLL_ADMIN_ALL, find_oldest,
					  state);
	if (err >= 0)
		err = coll_admin_requests(ctl.admin, state->name, COLL_ADMIN_ALL, count_waiting,
					  state);
	return err;
}

/*
 * The rank that has not called the oldest operation: one of this host that is known not to have; or
 * the rank elsewhere that this host waits for.  Return: COLL_ADMIN_NONE: none is known.
 */
static unsigned int absent_rank(const struct state *state)
{
	const struct coll_admin_request *oldest = &state->oldest;
	unsigned int i;

	if (is_counted(oldest->instance))
		for (i = 0; i < state->size && i < RANKS_MAX; i++)
			if (state->rank[i].here && state->rank[i].next <= oldest->instance)
				return i;
	for (i = 0; i < oldest->nwaits; i++)
		if (!state->rank[oldest->waits[i] % RANKS_MAX].here ||
		    !is_counted(oldest->instance))
			return oldest->waits[i];
	return COLL_ADMIN_NONE;
}

static void say(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void say(char *text, size_t size, const char *format, ...)
{
	size_t length = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + length, size - length, format, args);
	va_end(args);
}

static void say_rank(char *text, size_t size, const struct state *state, unsigned int rank)
{
	say(text, size, "rank %u", rank);
	if (rank < RANKS_MAX && state->rank[rank].here)
		say(text, size, " (pid %u)", state->rank[rank].pid);
	else
		say(text, size, " (not on this host)");
}

static enum verdict judge_oldest(const struct state *state, char *text, size_t size)
{
	const struct coll_admin_request *oldest = &state->oldest;
	const char *opcode = coll_admin_name(COLL_ADMIN_OPCODE, oldest->call.opcode);
	const char *operation = text_operation(oldest->instance);
	unsigned int absent = absent_rank(state);

	if (absent != COLL_ADMIN_NONE) {
		say_rank(text, size, state, absent);
		say(text, size, " has not called %s #%s; %u rank%s waited %s", opcode, operation,
		    state->waiting, state->waiting == 1 ? " has" : "s have",
		    text_duration(oldest->age_ns));
		return VERDICT_INCOMPLETE;
	}
	say(text, size, "%s #%s is in progress for %s", opcode, operation,
	    text_duration(oldest->age_ns));
	if (oldest->nwaits)
		say(text, size, "; rank %u waits for rank %s", oldest->rank,
		    text_ranks(oldest->waits, oldest->nwaits));
	return VERDICT_SLOW;
}

static enum verdict judge(const struct state *state, char *text, size_t size)
{
	const struct coll_admin_reason *done;
	unsigned int i;

	if (state->failed.kind) {
		say(text, size, "the group has failed: %s", text_reason(&state->failed));
		return VERDICT_DEAD;
	}
	for (i = 0; i < state->size && i < RANKS_MAX; i++) {
		if (!state->rank[i].mismatched)
			continue;
		done = &state->rank[i].done;
		say(text, size, "the calls of operation #%s differ: %s",
		    text_operation(done->instance), text_reason(done));
		return VERDICT_MISMATCH;
	}
	if (state->oldest.age_ns > PATIENCE_NS)
		return judge_oldest(state, text, size);
	say(text, size, "%u of %u ranks are here, and nothing waits", state->here, state->size);
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
};

static const struct column why_columns[] = {
	[WHY_GROUP]	= { .name = "GROUP" },
	[WHY_VERDICT]	= { .name = "VERDICT" },
	[WHY_TEXT]	= { .name = "WHY" },
};

/* Return: the verdict on a group, or a negative errno. */
static int explain(const char *name, unsigned int size, struct table *table)
{
	struct state *state = calloc(1, sizeof(*state));
	enum verdict verdict;
	char text[512] = "";
	int error;

	if (!state)
		err(CTL_FAILED, "memory");
	snprintf(state->name, sizeof(state->name), "%s", name);
	state->size = size;
	error = look(state);
	if (error >= 0) {
		verdict = judge(state, text, sizeof(text));
		table_row(table);
		table_text(table, WHY_GROUP, name);
		table_text(table, WHY_VERDICT, verdict_name(verdict));
		table_text(table, WHY_TEXT, text);
		if (!ctl.json)
			printf("%s: %s: %s\n", name, verdict_name(verdict), text);
		error = verdict;
	}
	free(state);
	return error;
}

int ctl_why(int argc, char **argv)
{
	struct table *table = table_new("why", why_columns, 3);
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
		if (error < 0 && argc)
			return ctl_result(error);
		worst = error > worst ? error : worst;
	}
	free(groups.name);
	free(groups.size);
	if (ctl.json)
		table_print(table);
	return worst;
}
