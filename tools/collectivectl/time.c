// SPDX-License-Identifier: GPL-2.0-only
/* time: how long collectives take, and which ranks are waited for. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ctl.h"
#include "late.h"
#include "table.h"

/* time show */

enum {
	TIME_GROUP,
	TIME_RANK,
	TIME_OPCODE,
	TIME_OPS,
	TIME_LATENCY,
	TIME_P50,
	TIME_P99,
	TIME_LATENCY_SUM,
	TIME_WAITING,
	TIME_WAITING_SUM,
	TIME_MOVING,
	TIME_MOVING_SUM,
	TIME_WAITED,
	TIME_WAITS,
};

static const struct column time_columns[] = {
	[TIME_GROUP]		= { .name = "GROUP" },
	[TIME_RANK]		= { .name = "RANK", .kind = COLUMN_NUMBER },
	[TIME_OPCODE]		= { .name = "OPCODE" },
	[TIME_OPS]		= { .name = "OPS", .kind = COLUMN_NUMBER },
	[TIME_LATENCY]		= { .name = "LATENCY", .kind = COLUMN_DURATION },
	[TIME_P50]		= { .name = "P50", .kind = COLUMN_DURATION },
	[TIME_P99]		= { .name = "P99", .kind = COLUMN_DURATION },
	[TIME_LATENCY_SUM]	= { "LATENCY-SUM", COLUMN_DURATION, true },
	[TIME_WAITING]		= { .name = "WAITING", .kind = COLUMN_DURATION },
	[TIME_WAITING_SUM]	= { "WAITING-SUM", COLUMN_DURATION, true },
	[TIME_MOVING]		= { .name = "MOVING", .kind = COLUMN_DURATION },
	[TIME_MOVING_SUM]	= { "MOVING-SUM", COLUMN_DURATION, true },
	[TIME_WAITED]		= { .name = "WAITED", .kind = COLUMN_DURATION },
	[TIME_WAITS]		= { .name = "WAITED-FOR" },
};

static uint64_t mean(const struct coll_admin_histogram *histogram)
{
	return histogram->count ? histogram->sum_ns / histogram->count : 0;
}

/* The limit of the bucket of a quantile; UINT64_MAX: there is none. */
static uint64_t quantile(const struct coll_admin_histogram *histogram, unsigned int percent)
{
	uint64_t sum = 0, want = (histogram->count * percent + 99) / 100;
	unsigned int i;

	for (i = 0; i < histogram->n; i++) {
		sum += histogram->bucket[i].count;
		if (sum >= want)
			return histogram->bucket[i].limit_ns;
	}
	return UINT64_MAX;
}

static void set_quantile(struct table *table, size_t column,
			 const struct coll_admin_histogram *histogram, unsigned int percent)
{
	uint64_t limit = quantile(histogram, percent);

	if (limit != UINT64_MAX)
		table_number(table, column, limit);
}

/* The three ranks that were waited for longest, with their parts of the waits. */
static void set_waits(struct table *table, const struct coll_admin_time *time)
{
	char text[64];
	size_t length = 0;
	unsigned int i;

	*text = '\0';
	for (i = 0; i < time->nwaited && i < 3 && time->waited_ns; i++)
		length += snprintf(text + length, sizeof(text) - length, "%s%u:%.0f%%",
				   i ? "," : "", time->waited[i].peer,
				   100.0 * time->waited[i].ns / time->waited_ns);
	table_text(table, TIME_WAITS, text);
}

static int time_row(const struct coll_admin_time *time, void *arg)
{
	struct table *table = arg;

	table_row(table);
	table_text(table, TIME_GROUP, time->group);
	table_number(table, TIME_RANK, time->rank);
	table_text(table, TIME_OPCODE, coll_admin_name(COLL_ADMIN_OPCODE, time->opcode));
	table_number(table, TIME_OPS, time->latency->count);
	table_number(table, TIME_LATENCY_SUM, time->latency->sum_ns);
	table_number(table, TIME_WAITING_SUM, time->waiting->sum_ns);
	table_number(table, TIME_MOVING_SUM, time->moving->sum_ns);
	table_number(table, TIME_WAITED, time->waited_ns);
	set_waits(table, time);
	if (!time->latency->count)
		return 0;
	table_number(table, TIME_LATENCY, mean(time->latency));
	set_quantile(table, TIME_P50, time->latency, 50);
	set_quantile(table, TIME_P99, time->latency, 99);
	table_number(table, TIME_WAITING, mean(time->waiting));
	table_number(table, TIME_MOVING, mean(time->moving));
	return 0;
}

static int time_show(int argc, char **argv)
{
	struct table *table = table_new("times", time_columns, ARRAY_SIZE(time_columns));
	const char *group;
	unsigned int rank;
	int err;

	ctl_selection(argc, argv, &group, &rank);
	err = coll_admin_times(ctl.admin, group, rank, time_row, table);
	if (err >= 0)
		table_print(table);
	return ctl_result(err);
}

/* time histogram */

enum {
	HISTOGRAM_GROUP,
	HISTOGRAM_RANK,
	HISTOGRAM_OPCODE,
	HISTOGRAM_TIME,
	HISTOGRAM_LIMIT,
	HISTOGRAM_OPS,
	HISTOGRAM_PERCENT,
};

static const struct column histogram_columns[] = {
	[HISTOGRAM_GROUP]	= { .name = "GROUP" },
	[HISTOGRAM_RANK]	= { .name = "RANK", .kind = COLUMN_NUMBER },
	[HISTOGRAM_OPCODE]	= { .name = "OPCODE" },
	[HISTOGRAM_TIME]	= { .name = "TIME" },
	[HISTOGRAM_LIMIT]	= { .name = "UNTIL", .kind = COLUMN_DURATION },
	[HISTOGRAM_OPS]		= { .name = "OPS", .kind = COLUMN_NUMBER },
	[HISTOGRAM_PERCENT]	= { .name = "PERCENT", .kind = COLUMN_NUMBER },
};

static void histogram_rows_of(struct table *table, const struct coll_admin_time *time,
			      const char *name, const struct coll_admin_histogram *histogram)
{
	char percent[32];
	unsigned int i;

	for (i = 0; i < histogram->n; i++) {
		const struct coll_admin_bucket *bucket = &histogram->bucket[i];

		snprintf(percent, sizeof(percent), "%.1f",
			 100.0 * bucket->count / histogram->count);
		table_row(table);
		table_text(table, HISTOGRAM_GROUP, time->group);
		table_number(table, HISTOGRAM_RANK, time->rank);
		table_text(table, HISTOGRAM_OPCODE,
			   coll_admin_name(COLL_ADMIN_OPCODE, time->opcode));
		table_text(table, HISTOGRAM_TIME, name);
		if (bucket->limit_ns != UINT64_MAX)
			table_number(table, HISTOGRAM_LIMIT, bucket->limit_ns);
		table_number(table, HISTOGRAM_OPS, bucket->count);
		table_text(table, HISTOGRAM_PERCENT, percent);
	}
}

static int histogram_rows(const struct coll_admin_time *time, void *arg)
{
	histogram_rows_of(arg, time, "latency", time->latency);
	histogram_rows_of(arg, time, "waiting", time->waiting);
	histogram_rows_of(arg, time, "moving", time->moving);
	return 0;
}

static int time_histogram(int argc, char **argv)
{
	struct table *table = table_new("histograms", histogram_columns,
					ARRAY_SIZE(histogram_columns));
	const char *group;
	unsigned int rank;
	int err;

	ctl_selection(argc, argv, &group, &rank);
	err = coll_admin_times(ctl.admin, group, rank, histogram_rows, table);
	if (err >= 0)
		table_print(table);
	return ctl_result(err);
}

/* time straggler */

enum {
	LATE_GROUP,
	LATE_RANK,
	LATE_HERE,
	LATE_NODE,
	LATE_AWAITED,
	LATE_WAITED,
	LATE_LATE,
	LATE_STRAGGLER,
	LATE_SLOW,
	LATE_SLOW_PEER,
};

static const struct column late_columns[] = {
	[LATE_GROUP]		= { .name = "GROUP" },
	[LATE_RANK]		= { .name = "RANK", .kind = COLUMN_NUMBER },
	[LATE_HERE]		= { .name = "HERE", .kind = COLUMN_FLAG },
	[LATE_NODE]		= { .name = "NODE" },
	[LATE_AWAITED]		= { .name = "AWAITED", .kind = COLUMN_DURATION },
	[LATE_WAITED]		= { .name = "WAITED", .kind = COLUMN_DURATION },
	[LATE_LATE]		= { .name = "LATE", .kind = COLUMN_DURATION },
	[LATE_STRAGGLER]	= { .name = "STRAGGLER", .kind = COLUMN_FLAG },
	[LATE_SLOW]		= { .name = "SLOW-LINK", .kind = COLUMN_FLAG },
	[LATE_SLOW_PEER]	= { .name = "SLOW-PEER", .kind = COLUMN_NUMBER },
};

static void late_row(struct table *table, const struct late_group *group, unsigned int number)
{
	const struct late_rank *rank = &group->rank[number];
	bool slow = number == group->slow;

	table_row(table);
	table_text(table, LATE_GROUP, group->name);
	table_number(table, LATE_RANK, number);
	table_flag(table, LATE_HERE, rank->here);
	table_text(table, LATE_NODE, rank->node);
	table_number(table, LATE_AWAITED, rank->awaited);
	if (rank->known) {
		table_number(table, LATE_WAITED, rank->waited);
		table_number(table, LATE_LATE, rank->late);
	}
	table_flag(table, LATE_STRAGGLER, rank->straggler);
	table_flag(table, LATE_SLOW, slow);
	if (slow && group->slow_peer != COLL_ADMIN_NONE)
		table_number(table, LATE_SLOW_PEER, group->slow_peer);
	if (rank->straggler || slow)
		table_color(table, LATE_RANK, COLOR_WARNING);
}

static void late_rows(struct table *table, const struct late_group *group)
{
	unsigned int number;

	for (number = 0; number < group->size; number++)
		late_row(table, group, number);
}

static int time_straggler(int argc, char **argv)
{
	struct table *table = table_new("stragglers", late_columns, ARRAY_SIZE(late_columns));
	struct lates lates;
	size_t i;
	int err;

	if (argc > 1)
		ctl_usage("too many arguments");
	err = lates_take(&lates, ctl.admin, argc ? argv[0] : NULL, COLL_ADMIN_QUERY_MS);
	lates_sum(&lates);
	for (i = 0; err >= 0 && i < lates.n; i++)
		late_rows(table, &lates.group[i]);
	if (err >= 0)
		table_print(table);
	for (i = 0; err >= 0 && !ctl.json && i < lates.n; i++)
		late_print(&lates.group[i]);
	lates_free(&lates);
	return ctl_result(err);
}

const struct verb time_verbs[] = {
	{ .name = "show", .run = time_show },
	{ .name = "histogram", .run = time_histogram },
	{ .name = "straggler", .run = time_straggler },
	{ 0 }
};
