// SPDX-License-Identifier: GPL-2.0-only
/* why: one sentence and an exit status for each group, from what all its ranks say. */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ctl.h"
#include "judge.h"
#include "table.h"

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

/* See judge_ask(). */
static int ask(const char *group, struct state *state, unsigned int nth)
{
	/* A group is asked once a second at most. */
	if (nth)
		usleep(COLL_ADMIN_QUERY_MS * 1000);
	return coll_admin_query(ctl.admin, group, COLL_ADMIN_QUERY_MS, judge_take, state);
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
	const struct known *known;

	table_row(table);
	table_text(table, WHY_GROUP, name);
	table_text(table, WHY_VERDICT, verdict_name(verdict));
	table_text(table, WHY_TEXT, state->text);
	table_number(table, WHY_SILENT, state->missing);
	if (state->culprit >= state->size)
		return;
	table_number(table, WHY_RANK, state->culprit);
	known = &state->known[state->culprit];
	if (!known->answered)
		return;
	table_number(table, WHY_PID, known->pid);
	table_text(table, WHY_NODE, known->node);
}

/* The links of a group that has ended meanwhile say nothing. */
static enum verdict judge_links(struct state *state, const char *name)
{
	coll_admin_links(ctl.admin, name, COLL_ADMIN_ALL, judge_take_link, state);
	return judge(state);
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
	error = judge_ask(state, name, ask);
	if (error == -ENOTCONN)
		snprintf(state->text, sizeof(state->text), "%s", coll_admin_error(ctl.admin));
	else if (error >= 0)
		verdict = judge_links(state, name);
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
