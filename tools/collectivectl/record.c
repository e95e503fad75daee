// SPDX-License-Identifier: GPL-2.0-only
/* Flight records: those of all ranks of this host, merged by time. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctl.h"
#include "table.h"

enum {
	RECORD_SECONDS,
	RECORD_TIME,
	RECORD_AGO,
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

static const struct column record_columns[] = {
	[RECORD_SECONDS]	= { .name = "SECONDS", .kind = COLUMN_NUMBER },
	[RECORD_TIME]		= { "TIME-NS", COLUMN_NUMBER, true },
	[RECORD_AGO]		= { .name = "AGO", .kind = COLUMN_DURATION },
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

/**
 * struct records - the records that were found
 * @record: the records; their groups are copies
 * @n: number of them
 */
struct records {
	struct coll_admin_record *record;
	size_t n;
};

static int record_add(const struct coll_admin_record *record, void *arg)
{
	struct records *records = arg;
	struct coll_admin_record *copy;

	copy = reallocarray(records->record, records->n + 1, sizeof(*copy));
	if (!copy)
		err(CTL_FAILED, "memory");
	records->record = copy;
	copy += records->n++;
	*copy = *record;
	copy->group = strdup(record->group);
	if (!copy->group)
		err(CTL_FAILED, "memory");
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct coll_admin_record *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static void record_row(struct table *table, const struct coll_admin_record *record, uint64_t now)
{
	unsigned int error = record->error ? record->error : record->reason.error;
	bool link = record->kind == COLL_ADMIN_RECORD_LINK;
	char seconds[32];

	snprintf(seconds, sizeof(seconds), "%.6f", record->time_ns / 1e9);
	table_row(table);
	table_text(table, RECORD_SECONDS, seconds);
	table_number(table, RECORD_TIME, record->time_ns);
	table_number(table, RECORD_AGO, now > record->time_ns ? now - record->time_ns : 0);
	table_text(table, RECORD_GROUP, record->group);
	table_number(table, RECORD_RANK, record->rank);
	table_number(table, RECORD_NUMBER, record->number);
	table_text(table, RECORD_KIND, coll_admin_name(COLL_ADMIN_RECORD_KIND, record->kind));
	table_text(table, RECORD_OPERATION, text_operation(record->instance));
	if (record->kind == COLL_ADMIN_RECORD_STATE)
		table_text(table, RECORD_STATE, coll_admin_name(COLL_ADMIN_STATE, record->state));
	if (record->call.rank != COLL_ADMIN_NONE) {
		table_text(table, RECORD_CALL, text_call(&record->call));
		table_number(table, RECORD_BYTES, record->bytes);
	}
	if (error)
		table_number(table, RECORD_ERROR, error);
	table_text(table, RECORD_REASON, text_reason(&record->reason));
	if (record->peer != COLL_ADMIN_NONE)
		table_number(table, RECORD_PEER, record->peer);
	if (link)
		table_text(table, RECORD_CHANGE,
			   coll_admin_name(COLL_ADMIN_LINK_CHANGE, record->change));
}

static int record_show(int argc, char **argv)
{
	struct table *table = table_new("records", record_columns, ARRAY_SIZE(record_columns));
	struct records records = { 0 };
	struct timespec now;
	const char *group;
	unsigned int rank;
	size_t i;
	int err;

	ctl_selection(argc, argv, &group, &rank);
	err = coll_admin_records(ctl.admin, group, rank, record_add, &records);
	if (err < 0)
		return ctl_result(err);
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (records.n)
		qsort(records.record, records.n, sizeof(*records.record), by_time);
	for (i = 0; i < records.n; i++) {
		record_row(table, &records.record[i],
			   now.tv_sec * 1000000000ULL + now.tv_nsec);
		free((char *)records.record[i].group);
	}
	free(records.record);
	table_print(table);
	return 0;
}

const struct verb record_verbs[] = {
	{ "show", record_show },
	{ 0 }
};
