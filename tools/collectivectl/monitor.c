// SPDX-License-Identifier: GPL-2.0-only
/* monitor: a line, or a JSON document, for each event. */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ctl.h"
#include "output.h"
#include "table.h"

enum {
	EVENT_TIME,
	EVENT_GROUP,
	EVENT_RANK,
	EVENT_KIND,
	EVENT_STATE,
	EVENT_PID,
	EVENT_OWNER,
	EVENT_SIZE,
	EVENT_OPERATION,
	EVENT_REQUEST,
	EVENT_CALL,
	EVENT_OTHER_CALL,
	EVENT_AGE,
	EVENT_LEFT,
	EVENT_WAITS,
	EVENT_REASON,
	EVENT_REASON_KIND,
	EVENT_RANK_A,
	EVENT_RANK_B,
	EVENT_LOST,
};

static const struct column event_columns[] = {
	[EVENT_TIME]		= { .name = "TIME-NS", .kind = COLUMN_NUMBER },
	[EVENT_GROUP]		= { .name = "GROUP" },
	[EVENT_RANK]		= { .name = "RANK", .kind = COLUMN_NUMBER },
	[EVENT_KIND]		= { .name = "EVENT" },
	[EVENT_STATE]		= { .name = "STATE" },
	[EVENT_PID]		= { .name = "PID", .kind = COLUMN_NUMBER },
	[EVENT_OWNER]		= { .name = "OWNER", .kind = COLUMN_NUMBER },
	[EVENT_SIZE]		= { .name = "RANKS", .kind = COLUMN_NUMBER },
	[EVENT_OPERATION]	= { .name = "OPERATION" },
	[EVENT_REQUEST]		= { .name = "REQUEST", .kind = COLUMN_NUMBER },
	[EVENT_CALL]		= { .name = "CALL" },
	[EVENT_OTHER_CALL]	= { .name = "OTHER-CALL" },
	[EVENT_AGE]		= { .name = "AGE", .kind = COLUMN_DURATION },
	[EVENT_LEFT]		= { .name = "LEFT-MS", .kind = COLUMN_NUMBER },
	[EVENT_WAITS]		= { .name = "WAITS-FOR" },
	[EVENT_REASON]		= { .name = "REASON" },
	[EVENT_REASON_KIND]	= { .name = "REASON-KIND" },
	[EVENT_RANK_A]		= { .name = "RANK-A", .kind = COLUMN_NUMBER },
	[EVENT_RANK_B]		= { .name = "RANK-B", .kind = COLUMN_NUMBER },
	[EVENT_LOST]		= { .name = "LOST", .kind = COLUMN_NUMBER },
};

static void json_reason(struct table *table, const struct coll_admin_reason *reason)
{
	if (!reason->kind)
		return;
	table_text(table, EVENT_REASON, text_reason(reason));
	table_text(table, EVENT_REASON_KIND, coll_admin_name(COLL_ADMIN_REASON, reason->kind));
	if (reason->rank_a != COLL_ADMIN_NONE)
		table_number(table, EVENT_RANK_A, reason->rank_a);
	if (reason->rank_b != COLL_ADMIN_NONE)
		table_number(table, EVENT_RANK_B, reason->rank_b);
}

static void print_json(const struct coll_admin_event *event)
{
	struct table *table = table_new("events", event_columns, ARRAY_SIZE(event_columns));

	table_row(table);
	table_number(table, EVENT_TIME, event->time_ns);
	table_text(table, EVENT_GROUP, event->group);
	table_number(table, EVENT_RANK, event->rank);
	table_text(table, EVENT_KIND, coll_admin_name(COLL_ADMIN_EVENT_KIND, event->kind));
	table_text(table, EVENT_STATE, coll_admin_name(COLL_ADMIN_STATE, event->state));
	table_number(table, EVENT_PID, event->pid);
	table_number(table, EVENT_OWNER, event->owner);
	table_number(table, EVENT_SIZE, event->size);
	table_number(table, EVENT_LOST, event->lost);
	if (event->instance != COLL_ADMIN_NO_INSTANCE)
		table_text(table, EVENT_OPERATION, text_operation(event->instance));
	table_text(table, EVENT_CALL, text_call(&event->calls[0]));
	table_text(table, EVENT_OTHER_CALL, text_call(&event->calls[1]));
	if (event->kind == COLL_ADMIN_EVENT_SLOW) {
		table_number(table, EVENT_REQUEST, event->request);
		table_number(table, EVENT_AGE, event->age_ns);
		table_number(table, EVENT_LEFT, event->left_ms);
		table_text(table, EVENT_WAITS, text_ranks(event->waits, event->nwaits));
	}
	json_reason(table, &event->reason);
	table_print(table);
}

static void print_calls(const struct coll_admin_event *event)
{
	unsigned int i;

	for (i = 0; i < COLL_ADMIN_CALLS; i++)
		if (event->calls[i].rank != COLL_ADMIN_NONE)
			printf("; rank %u called %s", event->calls[i].rank,
			       text_call(&event->calls[i]));
}

static void print_slow(const struct coll_admin_event *event)
{
	printf(": %s #%s for %s, %s left",
	       coll_admin_name(COLL_ADMIN_OPCODE, event->calls[0].opcode),
	       text_operation(event->instance), text_duration(event->age_ns),
	       text_duration(event->left_ms * 1000000));
	if (event->nwaits)
		printf(", waits for rank%s %s", event->nwaits > 1 ? "s" : "",
		       text_ranks(event->waits, event->nwaits));
}

static void print_kind(unsigned int kind)
{
	const char *name = coll_admin_name(COLL_ADMIN_EVENT_KIND, kind);

	if (kind == COLL_ADMIN_EVENT_ABORTED || kind == COLL_ADMIN_EVENT_MISMATCH)
		printf("%s%s%s", color_begin(COLOR_BAD), name, color_end());
	else if (kind == COLL_ADMIN_EVENT_SLOW)
		printf("%s%s%s", color_begin(COLOR_WARNING), name, color_end());
	else
		fputs(name, stdout);
}

static void print_line(const struct coll_admin_event *event)
{
	printf("%.6f %s rank %u ", event->time_ns / 1e9, event->group, event->rank);
	print_kind(event->kind);
	switch (event->kind) {
	case COLL_ADMIN_EVENT_JOINED:
		printf(" (pid %u, %u ranks)", event->pid, event->size);
		break;
	case COLL_ADMIN_EVENT_SLOW:
		print_slow(event);
		break;
	case COLL_ADMIN_EVENT_MISMATCH:
		printf(": #%s, %s", text_operation(event->instance), text_reason(&event->reason));
		print_calls(event);
		break;
	default:
		if (event->reason.kind)
			printf(": %s", text_reason(&event->reason));
		break;
	}
	if (event->lost)
		printf(" (%u events before this one were lost)", event->lost);
	putchar('\n');
}

/* Does the name of a group match NAME, of any owner, or NAME@UID? */
static bool is_named(const char *group, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(group, name, length) && (!group[length] || group[length] == '@');
}

static int print_event(const struct coll_admin_event *event, void *arg)
{
	const char *group = arg;

	if (group && !is_named(event->group, group))
		return 0;
	if (ctl.json)
		print_json(event);
	else
		print_line(event);
	return 0;
}

int ctl_monitor(int argc, char **argv)
{
	struct pollfd pfd = { .events = POLLIN };
	int error;

	if (argc > 1)
		ctl_usage("too many arguments");
	error = coll_admin_listen(ctl.admin);
	if (error)
		return ctl_result(error);
	pfd.fd = coll_admin_fd(ctl.admin);
	/* Until a signal, or until the output is not read any more. */
	while (!output_flush() && poll(&pfd, 1, -1) >= 0) {
		error = coll_admin_events(ctl.admin, print_event, argc ? argv[0] : NULL);
		if (error == -ENOBUFS || error == -ENODEV)
			warnx("%s", coll_admin_error(ctl.admin));
		else if (error < 0 && error != -EAGAIN)
			return ctl_result(error);
	}
	return CTL_FAILED;
}
