// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records as a timeline in the trace event format, which chrome://tracing and Perfetto open.
 *
 * A rank is a process.  Its operations are slices on one or more threads, because slices of one
 * thread must not overlap; all other records are instants.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "record.h"

/* Operations of a rank that are in progress at a time: as many as a member may have. */
#define SLOTS	1024

/**
 * struct slice - an operation of a rank
 * @submit: its submission
 * @begin: its start, behind an earlier one of its key; NULL: at once
 * @agreed: the calls match; NULL: not told
 * @done: its end; NULL: it has none
 * @first_ns: time at which the first rank has submitted the operation
 * @slot: its thread
 */
struct slice {
	const struct entry *submit;
	const struct entry *begin;
	const struct entry *agreed;
	const struct entry *done;
	uint64_t first_ns;
	unsigned int slot;
};

static const char *separator = "";

/* A string of JSON. */
static void print_string(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			printf("\\%c", *text);
		else if ((unsigned char)*text < ' ')
			printf("\\u%04x", (unsigned char)*text);
		else
			putchar(*text);
	}
	putchar('"');
}

static void print_event(char phase, unsigned int process)
{
	printf("%s{\"ph\":\"%c\",\"pid\":%u", separator, phase, process);
	separator = ",\n";
}

/* Microseconds since the first record, of which doubles keep the nanoseconds. */
static void print_time(const char *name, uint64_t ns)
{
	printf(",\"%s\":%" PRIu64 ".%03u", name, ns / 1000, (unsigned int)(ns % 1000));
}

static void print_text(const char *separate, const char *name, const char *text)
{
	printf("%s\"%s\":", separate, name);
	print_string(text);
}

static bool same_rank(const struct entry *a, const struct entry *b)
{
	return !entry_by_rank(a, b);
}

static bool same_operation(const struct entry *a, const struct entry *b)
{
	return !entry_by_operation(a, b);
}

static int by_rank_and_number(const void *a, const void *b)
{
	const struct entry *x = *(const struct entry **)a, *y = *(const struct entry **)b;
	int order = entry_by_rank(x, y);

	return order ? order : (x->number > y->number) - (x->number < y->number);
}

static int by_operation_and_time(const void *a, const void *b)
{
	const struct entry *x = (*(struct slice **)a)->submit, *y = (*(struct slice **)b)->submit;
	int order = entry_by_operation(x, y);

	if (order)
		return order;
	return (x->realtime_ns > y->realtime_ns) - (x->realtime_ns < y->realtime_ns);
}

/* A use of a key is a new operation once the one before is done. */
static struct slice *find_slice(struct slice *slices, size_t from, size_t n,
				const struct entry *entry)
{
	size_t i;

	for (i = from; i < n; i++)
		if (!slices[i].done && same_operation(slices[i].submit, entry))
			return &slices[i];
	return NULL;
}

/* Give a slice the first thread that is free. */
static void set_slot(struct slice *slices, size_t from, size_t n, struct slice *slice)
{
	static bool used[SLOTS];
	unsigned int slot;
	size_t i;

	memset(used, 0, sizeof(used));
	for (i = from; i < n; i++)
		if (!slices[i].done && slices[i].slot < SLOTS)
			used[slices[i].slot] = true;
	for (slot = 0; slot < SLOTS - 1 && used[slot]; slot++)
		;
	slice->slot = slot;
}

static void set_first(struct slice *slices, size_t n)
{
	struct slice **sorted = calloc(n + 1, sizeof(*sorted));
	size_t i;

	if (!sorted)
		err(CTL_FAILED, "memory");
	for (i = 0; i < n; i++)
		sorted[i] = &slices[i];
	qsort(sorted, n, sizeof(*sorted), by_operation_and_time);
	for (i = 0; i < n; i++) {
		bool same = i && same_operation(sorted[i]->submit, sorted[i - 1]->submit);

		sorted[i]->first_ns = same ? sorted[i - 1]->first_ns :
					     sorted[i]->submit->realtime_ns;
	}
	free(sorted);
}

/* The entries of a rank: slices and instants.  Return: number of slices with those of it. */
static size_t take_rank(const struct entry **entry, size_t n, struct slice *slices, size_t from)
{
	size_t i, count = from;
	struct slice *slice;

	for (i = 0; i < n; i++) {
		if (!strcmp(entry[i]->kind, "submit")) {
			slices[count] = (struct slice){ .submit = entry[i] };
			set_slot(slices, from, count, &slices[count]);
			count++;
			continue;
		}
		slice = *entry[i]->operation ? find_slice(slices, from, count, entry[i]) : NULL;
		if (!slice)
			continue;
		if (!strcmp(entry[i]->kind, "begin"))
			slice->begin = entry[i];
		else if (!strcmp(entry[i]->kind, "agreed"))
			slice->agreed = entry[i];
		else if (!strcmp(entry[i]->kind, "done"))
			slice->done = entry[i];
	}
	return count;
}

static void print_name(const char *call, const char *operation)
{
	char name[128];

	snprintf(name, sizeof(name), "%.*s #%s", (int)strcspn(call, " "), call, operation);
	print_text(",", "name", name);
}

static void print_slice(const struct slice *slice, unsigned int process, uint64_t start,
			uint64_t end)
{
	const struct entry *submit = slice->submit, *done = slice->done;

	print_event('X', process);
	printf(",\"tid\":%u,\"cat\":\"operation\"", slice->slot);
	print_name(submit->call, submit->operation);
	print_time("ts", submit->realtime_ns - start);
	print_time("dur", (done ? done->realtime_ns : end) - submit->realtime_ns);
	print_text(",\"args\":{", "call", submit->call);
	printf(",\"bytes\":%" PRIu64, submit->bytes);
	/* A key may be used again. */
	if (!strstr(submit->operation, "key:"))
		print_time("after_first_rank_us", submit->realtime_ns - slice->first_ns);
	if (slice->begin)
		print_time("queued_us", slice->begin->realtime_ns - submit->realtime_ns);
	if (slice->agreed)
		print_time("calls_known_us", slice->agreed->realtime_ns - submit->realtime_ns);
	if (!done)
		printf(",\"in_flight\":true");
	if (done && done->error)
		printf(",\"error\":%u", done->error);
	if (done && *done->reason)
		print_text(",", "reason", done->reason);
	printf("}}");
}

static bool is_part_of_slice(const struct entry *entry)
{
	static const char * const kinds[] = { "submit", "begin", "agreed", "done" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(entry->kind, kinds[i]))
			return true;
	return false;
}

static void print_instant(const struct entry *entry, unsigned int process, uint64_t start)
{
	char name[64];

	snprintf(name, sizeof(name), "%s %s", entry->kind, *entry->state ? entry->state :
							   entry->link);
	print_event('i', process);
	printf(",\"tid\":0,\"s\":\"p\",\"cat\":\"member\"");
	print_text(",", "name", name);
	print_time("ts", entry->realtime_ns - start);
	print_text(",\"args\":{", "operation", entry->operation);
	print_text(",", "reason", entry->reason);
	if (entry->peer != COLL_ADMIN_NONE)
		printf(",\"peer\":%u", entry->peer);
	if (entry->error)
		printf(",\"error\":%u", entry->error);
	printf("}}");
}

static void print_rank(const struct entry **entry, size_t n, const struct slice *slices,
		       size_t nslices, unsigned int process, uint64_t start, uint64_t end)
{
	char name[256];
	size_t i;

	snprintf(name, sizeof(name), "%s rank %u (%s)", entry[0]->group, entry[0]->rank,
		 entry[0]->host);
	print_event('M', process);
	print_text(",\"name\":\"process_name\",\"args\":{", "name", name);
	printf("}}");
	print_event('M', process);
	printf(",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%u}}", process);
	for (i = 0; i < nslices; i++)
		print_slice(&slices[i], process, start, end);
	for (i = 0; i < n; i++)
		if (!is_part_of_slice(entry[i]))
			print_instant(entry[i], process, start);
}

static void print_ranks(const struct entry **sorted, size_t n, struct slice *slices,
			uint64_t start, uint64_t end)
{
	size_t i, from, nslices = 0, slice = 0, of_rank;
	unsigned int process = 0;

	for (from = 0; from < n; from = i) {
		for (i = from; i < n && same_rank(sorted[i], sorted[from]); i++)
			;
		nslices = take_rank(&sorted[from], i - from, slices, nslices);
	}
	set_first(slices, nslices);
	for (from = 0; from < n; from = i) {
		for (i = from; i < n && same_rank(sorted[i], sorted[from]); i++)
			;
		for (of_rank = 0; slice + of_rank < nslices &&
		     same_rank(slices[slice + of_rank].submit, sorted[from]); of_rank++)
			;
		print_rank(&sorted[from], i - from, &slices[slice], of_rank, ++process, start, end);
		slice += of_rank;
	}
}

void entries_print_chrome(const struct entries *entries)
{
	const struct entry **sorted = calloc(entries->n + 1, sizeof(*sorted));
	struct slice *slices = calloc(entries->n + 1, sizeof(*slices));
	uint64_t start = entries->n ? entries->entry[0].realtime_ns : 0;
	uint64_t end = entries->n ? entries->entry[entries->n - 1].realtime_ns : 0;
	size_t i;

	if (!sorted || !slices)
		err(CTL_FAILED, "memory");
	for (i = 0; i < entries->n; i++)
		sorted[i] = &entries->entry[i];
	qsort(sorted, entries->n, sizeof(*sorted), by_rank_and_number);
	printf("{\"displayTimeUnit\":\"ns\",\n");
	printf("\"otherData\":{\"start_realtime_ns\":\"%" PRIu64 "\"},\n", start);
	printf("\"traceEvents\":[\n");
	print_ranks(sorted, entries->n, slices, start, end);
	printf("\n]}\n");
	free(slices);
	free(sorted);
}
