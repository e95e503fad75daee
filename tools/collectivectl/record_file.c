// SPDX-License-Identifier: GPL-2.0-only
/* Records that were saved as JSON, and the clocks of the hosts that they are of. */
#include <err.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json.h>

#include "ctl.h"
#include "record.h"

static struct json_object *value_of(struct json_object *row, const char *name)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(row, name, &value);
	return value;
}

static char *text_of(struct json_object *row, const char *name)
{
	struct json_object *value = value_of(row, name);

	return entry_text(value ? json_object_get_string(value) : "");
}

static uint64_t number_of(struct json_object *row, const char *name, uint64_t otherwise)
{
	struct json_object *value = value_of(row, name);

	return value ? json_object_get_uint64(value) : otherwise;
}

static void read_row(struct entry *entry, struct json_object *row, const char *path)
{
	if (!value_of(row, "realtime-ns") || !value_of(row, "time-ns"))
		errx(CTL_FAILED, "%s: a record has no time", path);
	entry->host = text_of(row, "host");
	entry->group = text_of(row, "group");
	entry->rank = number_of(row, "rank", 0);
	entry->number = number_of(row, "number", 0);
	entry->time_ns = number_of(row, "time-ns", 0);
	entry->realtime_ns = number_of(row, "realtime-ns", 0);
	/* Differences of two times fit, too. */
	if (entry->realtime_ns > INT64_MAX / 4)
		errx(CTL_FAILED, "%s: a record is later than the year 2043", path);
	entry->kind = text_of(row, "event");
	entry->operation = text_of(row, "operation");
	entry->state = text_of(row, "state");
	entry->call = text_of(row, "call");
	entry->bytes = number_of(row, "bytes", 0);
	entry->error = number_of(row, "error", 0);
	entry->reason = text_of(row, "reason");
	entry->peer = number_of(row, "peer", COLL_ADMIN_NONE);
	entry->link = text_of(row, "link");
}

void entries_read(struct entries *entries, const char *path, unsigned int clock)
{
	struct json_object *document, *rows;
	struct entry *entry;
	size_t i, n;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		err(CTL_FAILED, "%s", path);
	document = json_object_from_fd(fd);
	if (!document)
		errx(CTL_FAILED, "%s: no JSON", path);
	close(fd);
	rows = value_of(document, "records");
	if (!json_object_is_type(rows, json_type_array))
		errx(CTL_FAILED, "%s: not records of collectivectl -j record", path);
	n = json_object_array_length(rows);
	for (i = 0; i < n; i++) {
		entry = entries_add(entries);
		entry->clock = clock;
		read_row(entry, json_object_array_get_idx(rows, i), path);
	}
	json_object_put(document);
}

/**
 * struct span - an operation of a rank
 * @entry: its submission
 * @submit: time of that; ns
 * @done: time of its end; ns
 */
struct span {
	const struct entry *entry;
	int64_t submit;
	int64_t done;
};

/* No rank completes such an operation before all have submitted it. */
static bool synchronises(const char *call)
{
	static const char * const names[] = {
		"barrier ", "allreduce ", "allgather ", "reduce_scatter ", "alltoall ",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(call, names[i], strlen(names[i])))
			return true;
	return false;
}

static int by_operation(const void *a, const void *b)
{
	return entry_by_operation(((const struct span *)a)->entry, ((const struct span *)b)->entry);
}

/* Then the records of an operation of a rank follow one another. */
static int by_rank_and_operation(const void *a, const void *b)
{
	const struct entry *x = *(const struct entry **)a, *y = *(const struct entry **)b;
	int order = entry_by_rank(x, y);

	if (!order)
		order = entry_by_operation(x, y);
	return order ? order : (x->number > y->number) - (x->number < y->number);
}

/* Return: the operations that have succeeded, and that synchronise; @n of them. */
static struct span *spans_of(const struct entries *entries, size_t *n)
{
	const struct entry **sorted = calloc(entries->n + 1, sizeof(*sorted)), *submit = NULL;
	struct span *spans = calloc(entries->n + 1, sizeof(*spans));
	size_t i;

	if (!sorted || !spans)
		err(CTL_FAILED, "memory");
	for (i = 0; i < entries->n; i++)
		sorted[i] = &entries->entry[i];
	qsort(sorted, entries->n, sizeof(*sorted), by_rank_and_operation);
	*n = 0;
	for (i = 0; i < entries->n; i++) {
		const struct entry *entry = sorted[i];

		/* A key names many operations. */
		if (!strcmp(entry->kind, "submit"))
			submit = synchronises(entry->call) &&
				 !strstr(entry->operation, "key:") ? entry : NULL;
		if (strcmp(entry->kind, "done") || entry->error || !submit ||
		    submit->rank != entry->rank || strcmp(submit->operation, entry->operation) ||
		    strcmp(submit->group, entry->group))
			continue;
		spans[(*n)++] = (struct span){ submit, submit->realtime_ns, entry->realtime_ns };
		submit = NULL;
	}
	free(sorted);
	qsort(spans, *n, sizeof(*spans), by_operation);
	return spans;
}

/* Narrows the bounds of what is to be added to the times of @clock by two ranks' spans. */
static void bound(const struct span *first, const struct span *other, int64_t *low, int64_t *high)
{
	if (first->submit - other->done > *low)
		*low = first->submit - other->done;
	if (first->done - other->submit < *high)
		*high = first->done - other->submit;
}

static int64_t clock_offset(const struct span *spans, size_t n, unsigned int clock)
{
	int64_t low = INT64_MIN / 4, high = INT64_MAX / 4;
	size_t i, j;

	for (i = 0; i < n; i++)
		for (j = i; j-- > 0 && !by_operation(&spans[j], &spans[i]);) {
			if (!spans[j].entry->clock && spans[i].entry->clock == clock)
				bound(&spans[j], &spans[i], &low, &high);
			if (!spans[i].entry->clock && spans[j].entry->clock == clock)
				bound(&spans[i], &spans[j], &low, &high);
		}
	return (low <= 0 && high >= 0) || low > high ? 0 : low + (high - low) / 2;
}

/*
 * Operations bound the difference of two hosts' clocks from both sides: all ranks have submitted an
 * operation that one has completed.  A clock that is out of these bounds is set into their middle.
 */
void entries_align(struct entries *entries, unsigned int clocks)
{
	struct span *spans;
	unsigned int clock;
	size_t n, i;

	spans = spans_of(entries, &n);
	for (clock = 1; clock < clocks; clock++) {
		int64_t offset = clock_offset(spans, n, clock);
		const char *host = NULL;

		for (i = 0; offset && i < entries->n; i++)
			if (entries->entry[i].clock == clock) {
				host = entries->entry[i].host;
				entries->entry[i].realtime_ns += offset;
			}
		if (host)
			warnx("the clock of %s is set by %.6f s, as its operations demand", host,
			      offset / 1e9);
	}
	free(spans);
}
