// SPDX-License-Identifier: GPL-2.0-only
/* top: ranks of this host with their rates, and which ranks they wait for, again and again. */
#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl.h"
#include "late.h"
#include "output.h"
#include "table.h"

#define NAME_SIZE	48

/* Time for the ranks of other hosts to answer; ms.  One that does not would delay each screen. */
#define ANSWER_MS	200

/**
 * struct sample - a rank at a moment
 * @group: name of its group
 * @rank: the rank
 * @member: the rank's counters; its group is not valid
 * @oldest: its oldest operation in flight; @age_ns is 0 if there is none
 */
struct sample {
	char group[NAME_SIZE];
	struct coll_admin_member member;
	struct coll_admin_request oldest;
};

/**
 * struct samples - all ranks at a moment
 * @sample: the ranks
 * @n: number of them
 * @lates: which ranks were waited for
 * @at: the moment; ns
 */
struct samples {
	struct sample *sample;
	size_t n;
	struct lates lates;
	uint64_t at;
};

enum {
	TOP_GROUP,
	TOP_RANK,
	TOP_PID,
	TOP_STATE,
	TOP_OPS,
	TOP_SENT,
	TOP_RECEIVED,
	TOP_READ,
	TOP_INFLIGHT,
	TOP_OPERATION,
	TOP_AGE,
	TOP_WAITS,
	TOP_WAIT,
	TOP_LATE,
};

static const struct column top_columns[] = {
	[TOP_GROUP]	= { .name = "GROUP" },
	[TOP_RANK]	= { .name = "RANK", .kind = COLUMN_NUMBER },
	[TOP_PID]	= { .name = "PID", .kind = COLUMN_NUMBER },
	[TOP_STATE]	= { .name = "STATE" },
	[TOP_OPS]	= { .name = "OPS/S", .kind = COLUMN_NUMBER },
	[TOP_SENT]	= { .name = "SENT/S", .kind = COLUMN_BYTES },
	[TOP_RECEIVED]	= { .name = "RECEIVED/S", .kind = COLUMN_BYTES },
	[TOP_READ]	= { .name = "READ/S", .kind = COLUMN_BYTES },
	[TOP_INFLIGHT]	= { .name = "INFLIGHT", .kind = COLUMN_NUMBER },
	[TOP_OPERATION]	= { .name = "OLDEST" },
	[TOP_AGE]	= { .name = "AGE", .kind = COLUMN_DURATION },
	[TOP_WAITS]	= { .name = "WAITS-FOR" },
	[TOP_WAIT]	= { .name = "WAIT%", .kind = COLUMN_NUMBER },
	[TOP_LATE]	= { .name = "LATE%", .kind = COLUMN_NUMBER },
};

static int add_sample(const struct coll_admin_member *member, void *arg)
{
	struct samples *samples = arg;
	struct sample *sample;

	samples->sample = reallocarray(samples->sample, samples->n + 1, sizeof(*sample));
	if (!samples->sample)
		err(CTL_FAILED, "memory");
	sample = &samples->sample[samples->n++];
	*sample = (struct sample){ .member = *member };
	snprintf(sample->group, sizeof(sample->group), "%s", member->group);
	return 0;
}

static struct sample *find_sample(const struct samples *samples, const char *group,
				  unsigned int rank)
{
	size_t i;

	for (i = 0; i < samples->n; i++)
		if (samples->sample[i].member.rank == rank &&
		    !strcmp(samples->sample[i].group, group))
			return &samples->sample[i];
	return NULL;
}

static int add_request(const struct coll_admin_request *request, void *arg)
{
	struct sample *sample = find_sample(arg, request->group, request->rank);

	if (sample && sample->oldest.age_ns < request->age_ns)
		sample->oldest = *request;
	return 0;
}

static int take_samples(struct samples *samples, const char *group)
{
	int error;

	memset(samples, 0, sizeof(*samples));
	samples->at = ctl_clock_ns(CLOCK_MONOTONIC);
	error = coll_admin_members(ctl.admin, group, COLL_ADMIN_ALL, add_sample, samples);
	if (error < 0)
		return error;
	/* Requests and times of other users are not shown, which is no error here. */
	coll_admin_requests(ctl.admin, group, COLL_ADMIN_ALL, add_request, samples);
	lates_take(&samples->lates, ctl.admin, group, ANSWER_MS);
	return error;
}

static void free_samples(struct samples *samples)
{
	free(samples->sample);
	lates_free(&samples->lates);
}

static double late_percent(const struct late_group *group, unsigned int rank, uint64_t ns)
{
	return ns ? 100.0 * group->rank[rank].late / ns : 0;
}

/* A wait is counted when it ends, so it may have begun before the screen did. */
static unsigned int percent(double value)
{
	return value < 100 ? value + 0.5 : 100;
}

/* @late: the waits of the last @ns; NULL: they are not known. */
static void set_waits(struct table *table, const struct late_group *late, unsigned int rank,
		      uint64_t ns)
{
	if (!late || rank >= late->size || !late->rank[rank].known || !ns)
		return;
	table_number(table, TOP_WAIT, percent(100.0 * late->rank[rank].waited / ns));
	table_number(table, TOP_LATE, percent(late_percent(late, rank, ns)));
	if (late->rank[rank].straggler || rank == late->slow)
		table_color(table, TOP_LATE, COLOR_WARNING);
}

static void print_sample(struct table *table, const struct sample *sample,
			 const struct samples *before, const struct lates *waited, uint64_t ns)
{
	const struct coll_admin_member *now = &sample->member;
	const struct sample *earlier = find_sample(before, sample->group, now->rank);
	/* Another process may have the rank now. */
	bool same = earlier && earlier->member.pid == now->pid && ns;
	const struct coll_admin_member *then = same ? &earlier->member : now;
	double scale = same ? 1e9 / ns : 0;
	char operation[64];

	table_row(table);
	table_text(table, TOP_GROUP, sample->group);
	table_number(table, TOP_RANK, now->rank);
	table_number(table, TOP_PID, now->pid);
	table_state(table, TOP_STATE, now->state);
	table_number(table, TOP_OPS, (now->completed - then->completed) * scale);
	table_number(table, TOP_SENT, (now->traffic.sent - then->traffic.sent) * scale);
	table_number(table, TOP_RECEIVED, (now->traffic.received - then->traffic.received) * scale);
	table_number(table, TOP_READ, (now->traffic.read - then->traffic.read) * scale);
	table_number(table, TOP_INFLIGHT, now->inflight);
	set_waits(table, same ? lates_find(waited, sample->group) : NULL, now->rank, ns);
	if (!sample->oldest.age_ns)
		return;
	snprintf(operation, sizeof(operation), "%s #%s",
		 coll_admin_name(COLL_ADMIN_OPCODE, sample->oldest.call.opcode),
		 text_operation(sample->oldest.instance));
	table_text(table, TOP_OPERATION, operation);
	table_number(table, TOP_AGE, sample->oldest.age_ns);
	table_text(table, TOP_WAITS, text_ranks(sample->oldest.waits, sample->oldest.nwaits));
}

static bool moved(const struct coll_admin_traffic *now, const struct coll_admin_traffic *then)
{
	return now->sent != then->sent || now->received != then->received ||
	       now->read != then->read;
}

/*
 * The kernel counts a wait when it ends.  A rank with an operation in flight that has moved nothing
 * for all the time has waited, for the first rank that the operation waits for now.
 */
static void add_waits_in_progress(struct lates *waited, const struct samples *now,
				  const struct samples *before, uint64_t ns)
{
	size_t i;

	for (i = 0; i < now->n; i++) {
		const struct sample *sample = &now->sample[i];
		const struct sample *earlier = find_sample(before, sample->group,
							   sample->member.rank);

		if (earlier && earlier->member.pid == sample->member.pid &&
		    sample->oldest.age_ns >= ns && sample->oldest.nwaits &&
		    !moved(&sample->member.traffic, &earlier->member.traffic))
			lates_wait(waited, sample->group, sample->member.rank,
				   sample->oldest.waits[0], ns);
	}
}

static void print_samples(const struct samples *now, const struct samples *before)
{
	struct lates waited = lates_copy(&now->lates);
	uint64_t ns = now->at - before->at;
	struct table *table = table_new("top", top_columns, ARRAY_SIZE(top_columns));
	size_t i;

	/* A live screen on a terminal only: the cursor goes home, the rest is cleared. */
	if (isatty(STDOUT_FILENO) && !ctl.json)
		fputs("\033[H\033[J", stdout);
	lates_subtract(&waited, &before->lates);
	add_waits_in_progress(&waited, now, before, ns);
	lates_sum(&waited);
	for (i = 0; i < now->n; i++)
		print_sample(table, &now->sample[i], before, &waited, ns);
	table_print(table);
	for (i = 0; !ctl.json && i < waited.n; i++)
		late_print(&waited.group[i]);
	lates_free(&waited);
}

/*
 * Is the module not loaded?  With all groups, no other error is ENOENT.  A group of one name has
 * ended before its module, and so does its top.
 */
static bool is_unloaded(int error, const char *group)
{
	return error == -ENOENT && !group;
}

/* Take samples for the next screen; without a module there are none.  Return: as take_samples(). */
static int take_next(struct samples *samples, const char *group, bool *unloaded)
{
	const bool before = *unloaded;
	int error = take_samples(samples, group);

	*unloaded = is_unloaded(error, group);
	if (!*unloaded)
		return error;
	if (!before)
		warnx("%s", coll_admin_error(ctl.admin));
	return 0;
}

int ctl_top(int argc, char **argv)
{
	bool unloaded = false;
	unsigned int seconds = argc > 0 ? ctl_number(argv[0], "number of seconds") : 1;
	unsigned int rounds = argc > 1 ? ctl_number(argv[1], "number of screens") : 0;
	const char *group = argc > 2 ? argv[2] : NULL;
	struct samples now, before;
	int error;

	if (argc > 3 || !seconds)
		ctl_usage("top takes [SECONDS [SCREENS [GROUP]]]");
	error = take_samples(&before, group);
	while (error >= 0) {
		sleep(seconds);
		error = take_next(&now, group, &unloaded);
		if (error < 0)
			break;
		print_samples(&now, &before);
		free_samples(&before);
		before = now;
		if (output_flush() || (rounds && !--rounds))
			break;
	}
	free_samples(&before);
	return ctl_result(error);
}
