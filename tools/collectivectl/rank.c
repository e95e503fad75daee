// SPDX-License-Identifier: GPL-2.0-only
/* The object rank: the ranks of a group on all hosts, as they answer to a query. */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "table.h"

enum {
	RANK_GROUP,
	RANK_RANK,
	RANK_ANSWERED,
	RANK_NODE,
	RANK_PID,
	RANK_HOST_PID,
	RANK_STATE,
	RANK_STOPPED,
	RANK_INFLIGHT,
	RANK_COUNTED,
	RANK_SUBMITTED,
	RANK_SUBMIT_AGE,
	RANK_COMPLETED,
	RANK_OLDEST,
	RANK_OLDEST_STATE,
	RANK_AGE,
	RANK_WAITS,
	RANK_REASON,
	RANK_LAST,
	RANK_ANSWER_AGE,
};

static const struct column rank_columns[] = {
	[RANK_GROUP]		= { .name = "GROUP" },
	[RANK_RANK]		= { .name = "RANK", .kind = COLUMN_NUMBER },
	[RANK_ANSWERED]		= { .name = "ANSWERED", .kind = COLUMN_FLAG },
	[RANK_NODE]		= { .name = "NODE" },
	[RANK_PID]		= { .name = "PID", .kind = COLUMN_NUMBER },
	[RANK_HOST_PID]		= { "HOST-PID", COLUMN_NUMBER, true },
	[RANK_STATE]		= { .name = "STATE" },
	[RANK_STOPPED]		= { .name = "STOPPED", .kind = COLUMN_FLAG },
	[RANK_INFLIGHT]		= { .name = "INFLIGHT", .kind = COLUMN_NUMBER },
	[RANK_COUNTED]		= { "COUNTED", COLUMN_NUMBER, true },
	[RANK_SUBMITTED]	= { .name = "SUBMITTED" },
	[RANK_SUBMIT_AGE]	= { "SUBMIT-AGE", COLUMN_DURATION, true },
	[RANK_COMPLETED]	= { .name = "COMPLETED" },
	[RANK_OLDEST]		= { .name = "OLDEST" },
	[RANK_OLDEST_STATE]	= { .name = "OLDEST-STATE", .detail = true },
	[RANK_AGE]		= { .name = "AGE", .kind = COLUMN_DURATION },
	[RANK_WAITS]		= { .name = "WAITS-FOR" },
	[RANK_REASON]		= { .name = "REASON" },
	[RANK_LAST]		= { .name = "LAST-FAILURE", .detail = true },
	[RANK_ANSWER_AGE]	= { "ANSWER-AGE", COLUMN_DURATION, true },
};

/**
 * struct ranks - what is shown
 * @table: the table
 * @rank: the only rank that is shown; COLL_ADMIN_ALL: all
 */
struct ranks {
	struct table *table;
	unsigned int rank;
};

static void put_operation(struct table *table, size_t column,
			  const struct coll_admin_operation *operation)
{
	char text[300];

	if (operation->instance == COLL_ADMIN_NO_INSTANCE)
		return;
	snprintf(text, sizeof(text), "%s #%s",
		 coll_admin_name(COLL_ADMIN_OPCODE, operation->opcode),
		 text_operation(operation->instance));
	table_text(table, column, text);
}

static void put_oldest(struct table *table, const struct coll_admin_answer *answer)
{
	const struct coll_admin_operation *oldest = &answer->oldest;

	if (oldest->instance == COLL_ADMIN_NO_INSTANCE)
		return;
	put_operation(table, RANK_OLDEST, oldest);
	table_text(table, RANK_OLDEST_STATE,
		   coll_admin_name(COLL_ADMIN_REQUEST_STATE, oldest->state));
	table_number(table, RANK_AGE, oldest->age_ms * 1000000 + answer->age_ns);
	table_text(table, RANK_WAITS, text_ranks(oldest->waits, oldest->nwaits));
}

static int rank_row(const struct coll_admin_answer *answer, void *arg)
{
	const struct ranks *ranks = arg;
	struct table *table = ranks->table;

	if (ranks->rank != COLL_ADMIN_ALL && ranks->rank != answer->rank)
		return 0;
	table_row(table);
	table_text(table, RANK_GROUP, answer->group);
	table_number(table, RANK_RANK, answer->rank);
	table_flag(table, RANK_ANSWERED, answer->answered);
	if (!answer->answered)
		return 0;
	table_text(table, RANK_NODE, answer->node);
	table_number(table, RANK_PID, answer->own_pid);
	table_number(table, RANK_HOST_PID, answer->pid);
	table_text(table, RANK_STATE, coll_admin_name(COLL_ADMIN_STATE, answer->state));
	table_flag(table, RANK_STOPPED, answer->stopped);
	table_number(table, RANK_INFLIGHT, answer->inflight);
	table_number(table, RANK_COUNTED, answer->counted);
	put_operation(table, RANK_SUBMITTED, &answer->submitted);
	if (answer->submitted.instance != COLL_ADMIN_NO_INSTANCE)
		table_number(table, RANK_SUBMIT_AGE,
			     answer->submitted.age_ms * 1000000 + answer->age_ns);
	put_operation(table, RANK_COMPLETED, &answer->completed);
	put_oldest(table, answer);
	table_text(table, RANK_REASON, text_reason(&answer->reason));
	table_text(table, RANK_LAST, text_reason(&answer->last));
	table_number(table, RANK_ANSWER_AGE, answer->age_ns);
	return 0;
}

/**
 * struct names - names of groups
 * @name: the names
 * @n: number of them
 */
struct names {
	char (*name)[64];
	size_t n;
};

static int add_name(const struct coll_admin_group *group, void *arg)
{
	struct names *names = arg;

	names->name = reallocarray(names->name, names->n + 1, sizeof(*names->name));
	if (!names->name)
		err(CTL_FAILED, "memory");
	snprintf(names->name[names->n++], sizeof(*names->name), "%s", group->name);
	return 0;
}

static int rank_show(int argc, char **argv)
{
	struct ranks ranks = {
		.table = table_new("ranks", rank_columns, ARRAY_SIZE(rank_columns)),
	};
	struct names names = { 0 };
	const char *group;
	size_t i;
	int error;

	ctl_selection(argc, argv, &group, &ranks.rank);
	error = coll_admin_groups(ctl.admin, group, add_name, &names);
	for (i = 0; error >= 0 && i < names.n; i++) {
		error = coll_admin_query(ctl.admin, names.name[i], COLL_ADMIN_QUERY_MS, rank_row,
					 &ranks);
		/* Without a name, groups that cannot be asked are left out. */
		if (!group && (error == -EPERM || error == -ENOENT || error == -ENOTCONN))
			error = 0;
	}
	free(names.name);
	if (error >= 0)
		table_print(ranks.table);
	return ctl_result(error);
}

const struct verb rank_verbs[] = {
	{ .name = "show", .run = rank_show },
	{ 0 }
};
