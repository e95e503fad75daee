// SPDX-License-Identifier: GPL-2.0-only
/* Flight records, merged by time: of all ranks of this host, or saved ones of several hosts. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ctl.h"
#include "record.h"
#include "table.h"

enum {
	RECORD_SECONDS,
	RECORD_TIME,
	RECORD_REALTIME,
	RECORD_AGO,
	RECORD_HOST,
	RECORD_GROUP,
	RECORD_RANK,
	RECORD_NUMBER,
	RECORD_KIND,
	RECORD_OPERATION,
	RECORD_STATE,
	RECORD_CALL,
	RECORD_BYTES,
	RECORD_ERROR,
	RECORD_REASON,
	RECORD_PEER,
	RECORD_CHANGE,
};

static struct column record_columns[] = {
	[RECORD_SECONDS]	= { .name = "SECONDS", .kind = COLUMN_NUMBER },
	[RECORD_TIME]		= { "TIME-NS", COLUMN_NUMBER, true },
	[RECORD_REALTIME]	= { "REALTIME-NS", COLUMN_NUMBER, true },
	[RECORD_AGO]		= { .name = "AGO", .kind = COLUMN_DURATION },
	[RECORD_HOST]		= { .name = "HOST", .detail = true },
	[RECORD_GROUP]		= { .name = "GROUP" },
	[RECORD_RANK]		= { .name = "RANK", .kind = COLUMN_NUMBER },
	[RECORD_NUMBER]		= { "NUMBER", COLUMN_NUMBER, true },
	[RECORD_KIND]		= { .name = "EVENT" },
	[RECORD_OPERATION]	= { .name = "OPERATION" },
	[RECORD_STATE]		= { .name = "STATE" },
	[RECORD_CALL]		= { .name = "CALL" },
	[RECORD_BYTES]		= { .name = "BYTES", .kind = COLUMN_BYTES },
	[RECORD_ERROR]		= { .name = "ERROR", .kind = COLUMN_NUMBER },
	[RECORD_REASON]		= { .name = "REASON" },
	[RECORD_PEER]		= { .name = "PEER", .kind = COLUMN_NUMBER },
	[RECORD_CHANGE]		= { .name = "LINK" },
};

/* What is to be known of the clocks of this host. */
struct clocks {
	uint64_t now;
	uint64_t realtime;
};

static struct clocks clocks_now(void)
{
	return (struct clocks){
		.now = ctl_clock_ns(CLOCK_MONOTONIC),
		.realtime = ctl_clock_ns(CLOCK_REALTIME),
	};
}

char *entry_text(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		err(CTL_FAILED, "memory");
	return text_printable(copy);
}

struct entry *entries_add(struct entries *entries)
{
	struct entry *entry;

	/* Room for twice as many whenever a power of two is full. */
	if (!(entries->n & (entries->n - 1))) {
		entry = reallocarray(entries->entry, entries->n ? 2 * entries->n : 1,
				     sizeof(*entry));
		if (!entry)
			err(CTL_FAILED, "memory");
		entries->entry = entry;
	}
	return &entries->entry[entries->n++];
}

static void entry_free(struct entry *entry)
{
	free(entry->host);
	free(entry->group);
	free(entry->kind);
	free(entry->operation);
	free(entry->state);
	free(entry->call);
	free(entry->reason);
	free(entry->link);
}

static void entries_free(struct entries *entries)
{
	size_t i;

	for (i = 0; i < entries->n; i++)
		entry_free(&entries->entry[i]);
	free(entries->entry);
}

/**
 * struct taking - records of this host that are taken
 * @entries: they are added here
 * @host: name of the host
 * @clocks: when it began
 */
struct taking {
	struct entries *entries;
	char host[256];
	struct clocks clocks;
};

static int record_take(const struct coll_admin_record *record, void *arg)
{
	const struct taking *taking = arg;
	bool state = record->kind == COLL_ADMIN_RECORD_STATE;
	bool link = record->kind == COLL_ADMIN_RECORD_LINK;
	struct entry *entry = entries_add(taking->entries);

	*entry = (struct entry){
		.host = entry_text(taking->host),
		.group = entry_text(record->group),
		.rank = record->rank,
		.number = record->number,
		.time_ns = record->time_ns,
		.realtime_ns = record->time_ns + taking->clocks.realtime - taking->clocks.now,
		.kind = entry_text(coll_admin_name(COLL_ADMIN_RECORD_KIND, record->kind)),
		.operation = entry_text(text_operation(record->instance)),
		.state = entry_text(state ? coll_admin_name(COLL_ADMIN_STATE, record->state) : ""),
		.call = entry_text(text_call(&record->call)),
		.bytes = record->bytes,
		.error = record->error ? record->error : record->reason.error,
		.reason = entry_text(text_reason(&record->reason)),
		.peer = record->peer,
		.link = entry_text(link ? coll_admin_name(COLL_ADMIN_LINK_CHANGE, record->change) :
					  ""),
	};
	return 0;
}

int entry_by_rank(const struct entry *a, const struct entry *b)
{
	int order = strcmp(a->group, b->group);

	return order ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

int entry_by_operation(const struct entry *a, const struct entry *b)
{
	int order = strcmp(a->group, b->group);

	return order ? order : strcmp(a->operation, b->operation);
}

static int by_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order;

	if (x->realtime_ns != y->realtime_ns)
		return x->realtime_ns < y->realtime_ns ? -1 : 1;
	order = entry_by_rank(x, y);
	return order ? order : (x->number > y->number) - (x->number < y->number);
}

/* 0 of two copies of a record. */
static int by_number(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = entry_by_rank(x, y);

	if (order)
		return order;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

/* In this order the copies of a record follow one another, that of the first file first. */
static int by_copy(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = by_number(a, b);

	return order ? order : (x->clock > y->clock) - (x->clock < y->clock);
}

/* Drops copies of records, of which two files of a host have many. */
static void entries_drop_copies(struct entries *entries)
{
	size_t i, n = 0;

	if (!entries->n)
		return;
	qsort(entries->entry, entries->n, sizeof(*entries->entry), by_copy);
	for (i = 0; i < entries->n; i++) {
		if (n && !by_number(&entries->entry[i], &entries->entry[n - 1]))
			entry_free(&entries->entry[i]);
		else
			entries->entry[n++] = entries->entry[i];
	}
	entries->n = n;
}

static void entry_row(struct table *table, const struct entry *entry, double seconds,
		      uint64_t now)
{
	char text[32];

	snprintf(text, sizeof(text), "%.6f", seconds);
	table_row(table);
	table_text(table, RECORD_SECONDS, text);
	table_number(table, RECORD_TIME, entry->time_ns);
	table_number(table, RECORD_REALTIME, entry->realtime_ns);
	table_number(table, RECORD_AGO, now > entry->realtime_ns ? now - entry->realtime_ns : 0);
	table_text(table, RECORD_HOST, entry->host);
	table_text(table, RECORD_GROUP, entry->group);
	table_number(table, RECORD_RANK, entry->rank);
	table_number(table, RECORD_NUMBER, entry->number);
	table_text(table, RECORD_KIND, entry->kind);
	table_text(table, RECORD_OPERATION, entry->operation);
	if (*entry->state)
		table_text(table, RECORD_STATE, entry->state);
	if (*entry->call) {
		table_text(table, RECORD_CALL, entry->call);
		table_number(table, RECORD_BYTES, entry->bytes);
	}
	if (entry->error)
		table_number(table, RECORD_ERROR, entry->error);
	table_text(table, RECORD_REASON, entry->reason);
	if (entry->error || *entry->reason)
		table_color(table, RECORD_KIND, COLOR_BAD);
	if (entry->peer != COLL_ADMIN_NONE)
		table_number(table, RECORD_PEER, entry->peer);
	if (*entry->link)
		table_text(table, RECORD_CHANGE, entry->link);
}

/* @merged: of several hosts, whose seconds begin with the first record. */
static void entries_print(struct entries *entries, bool merged)
{
	struct clocks clocks = clocks_now();
	struct table *table;
	uint64_t start;
	size_t i;

	if (entries->n)
		qsort(entries->entry, entries->n, sizeof(*entries->entry), by_time);
	if (ctl.format == FORMAT_CHROME) {
		entries_print_chrome(entries);
		return;
	}
	start = entries->n ? entries->entry[0].realtime_ns : 0;
	record_columns[RECORD_HOST].detail = !merged;
	table = table_new("records", record_columns, ARRAY_SIZE(record_columns));
	for (i = 0; i < entries->n; i++) {
		const struct entry *entry = &entries->entry[i];
		uint64_t ns = merged ? entry->realtime_ns - start : entry->time_ns;

		entry_row(table, entry, ns / 1e9, clocks.realtime);
	}
	table_print(table);
}

static int record_show(int argc, char **argv)
{
	struct entries entries = { 0 };
	struct taking taking = { .entries = &entries, .clocks = clocks_now() };
	const char *group;
	unsigned int rank;
	int err;

	ctl_selection(argc, argv, &group, &rank);
	gethostname(taking.host, sizeof(taking.host) - 1);
	err = coll_admin_records(ctl.admin, group, rank, record_take, &taking);
	if (err >= 0)
		entries_print(&entries, false);
	entries_free(&entries);
	return ctl_result(err);
}

static int record_merge(int argc, char **argv)
{
	struct entries entries = { 0 };
	int i;

	if (!argc)
		ctl_usage("record merge needs files that collectivectl -j record has made");
	for (i = 0; i < argc; i++)
		entries_read(&entries, argv[i], i);
	entries_drop_copies(&entries);
	entries_align(&entries, argc);
	entries_print(&entries, true);
	entries_free(&entries);
	return 0;
}

const struct verb record_verbs[] = {
	{ .name = "show", .run = record_show },
	{ .name = "merge", .run = record_merge, .offline = true },
	{ 0 }
};
