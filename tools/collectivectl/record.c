// SPDX-License-Identifier: GPL-2.0-only
/*
 * The subcommand record: prints the flight records of a group's ranks, merged by time.
 *
 * Each rank has a file in FOLDER/GROUP@NETNS/: two lines that begin with '#', the second of
 * them with the last operation, then a line for each record: time, age, text.
 */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ctl.h"

#define NS		1000000000ULL

/**
 * struct entry - one record
 * @time: time of the event; CLOCK_MONOTONIC, ns
 * @rank: rank that recorded it
 * @serial: number in the order of reading
 * @text: description of the event
 */
struct entry {
	uint64_t time;
	unsigned int rank;
	size_t serial;
	char *text;
};

/**
 * struct recorded - the head of a rank's file
 * @rank: number of the rank
 * @head: first line
 * @last: last operation of the rank; NULL: none
 * @last_time: time of the submission of @last; ns
 */
struct recorded {
	unsigned int rank;
	char *head;
	char *last;
	uint64_t last_time;
};

/**
 * struct record - the records of a group
 * @ranks: heads in the order of ranks
 * @nranks: number of ranks
 * @entries: records in the order of time
 * @n: number of records
 * @now: time when the last file was read; ns
 * @error: errno of a file that could not be read to its end; 0: none
 */
struct record {
	struct recorded *ranks;
	size_t nranks;
	struct entry *entries;
	size_t n;
	uint64_t now;
	int error;
};

static char *copy(const char *text)
{
	char *new = strdup(text);

	if (!new)
		err(2, "memory");
	return new;
}

/* Returns the value of KEY= in a line, or "-".  Valid until the next call. */
static const char *field(const char *line, const char *key)
{
	static char value[64];
	size_t length = strlen(key);
	const char *at = line;

	while (at && (strncmp(at, key, length) || at[length] != '=')) {
		at = strchr(at, ' ');
		at += !!at;
	}
	if (!at)
		return "-";
	snprintf(value, sizeof(value), "%.*s", (int)strcspn(at + length + 1, " "),
		 at + length + 1);
	return value;
}

static uint64_t number(const char *line, const char *key)
{
	return strtoull(field(line, key), NULL, 10);
}

/* Returns the text after "TIME AGE ", or NULL if the line does not begin so. */
static char *stamped(char *line, uint64_t *time)
{
	char *end;

	*time = strtoull(line, &end, 10);
	if (end == line || *end != ' ')
		return NULL;
	line = end + 1;
	strtoull(line, &end, 10);
	return end == line || *end != ' ' ? NULL : end + 1;
}

static void entry_add(struct record *record, unsigned int rank, char *line)
{
	struct entry *entry;
	uint64_t time;
	char *text = stamped(line, &time);

	if (!text)
		return;
	record->entries = reallocarray(record->entries, record->n + 1, sizeof(*entry));
	if (!record->entries)
		err(2, "memory");
	entry = &record->entries[record->n];
	*entry = (struct entry) {
		.time = time,
		.rank = rank,
		.serial = record->n,
		.text = copy(text),
	};
	record->n++;
}

static void head_add(struct recorded *recorded, struct record *record, char *line)
{
	char *last;

	if (!strncmp(line, "# last ", 7)) {
		last = stamped(line + 7, &recorded->last_time);
		if (last && !recorded->last)
			recorded->last = copy(last);
	} else if (!recorded->head) {
		recorded->head = copy(line);
		if (number(line, "now") > record->now)
			record->now = number(line, "now");
	}
}

/* Return: 0 or an errno; ENOENT: the file has been removed meanwhile. */
static int file_read(struct record *record, const char *folder, const char *name)
{
	struct recorded recorded = { .rank = strtoul(name, NULL, 10) };
	char *path, *line = NULL;
	size_t room = 0;
	int error = 0;
	FILE *file;

	if (asprintf(&path, "%s/%s", folder, name) < 0)
		err(2, "memory");
	file = fopen(path, "re");
	if (!file)
		error = errno;
	if (error && error != ENOENT)
		warn("%s", path);
	free(path);
	if (error)
		return error;
	while (errno = 0, getline(&line, &room, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (*line == '#')
			head_add(&recorded, record, line);
		else
			entry_add(record, recorded.rank, line);
	}
	/* The lines that were read are printed nevertheless. */
	if (ferror(file)) {
		error = errno ? errno : EIO;
		warn("%s/%s", folder, name);
	}
	free(line);
	fclose(file);
	if (!recorded.head)
		recorded.head = copy("#");
	record->ranks = reallocarray(record->ranks, record->nranks + 1, sizeof(recorded));
	if (!record->ranks)
		err(2, "memory");
	record->ranks[record->nranks++] = recorded;
	record->error = record->error ? record->error : error;
	return 0;
}

static int is_rank(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length && strspn(entry->d_name, "0123456789") == length;
}

static int by_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->serial > y->serial) - (x->serial < y->serial);
}

static int by_rank(const void *a, const void *b)
{
	const struct recorded *x = a, *y = b;

	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Return: 0, or an errno if no file could be read. */
static int record_read(struct record *record, const char *folder)
{
	struct dirent **files;
	int i, n, error = 0, status;

	memset(record, 0, sizeof(*record));
	n = scandir(folder, &files, is_rank, alphasort);
	if (n < 0)
		return errno;
	for (i = 0; i < n; i++) {
		status = file_read(record, folder, files[i]->d_name);
		error = error ? error : status;
		free(files[i]);
	}
	free(files);
	if (record->n)
		qsort(record->entries, record->n, sizeof(*record->entries), by_time);
	if (record->nranks)
		qsort(record->ranks, record->nranks, sizeof(*record->ranks), by_rank);
	return record->nranks ? 0 : error ? error : ENOENT;
}

static void record_free(struct record *record)
{
	size_t i;

	for (i = 0; i < record->n; i++)
		free(record->entries[i].text);
	for (i = 0; i < record->nranks; i++) {
		free(record->ranks[i].head);
		free(record->ranks[i].last);
	}
	free(record->entries);
	free(record->ranks);
}

static double seconds_ago(const struct record *record, uint64_t time)
{
	return time < record->now ? (record->now - time) / (double)NS : 0;
}

/* Returns true if the rank's last operation is complete. */
static bool is_done(const struct record *record, const struct recorded *recorded)
{
	char operation[64];
	size_t i;

	snprintf(operation, sizeof(operation), "%s", field(recorded->last, "op"));
	for (i = record->n; i--;) {
		const struct entry *entry = &record->entries[i];

		if (entry->time < recorded->last_time)
			break;
		if (entry->rank == recorded->rank && !strncmp(entry->text, "done ", 5) &&
		    !strcmp(field(entry->text, "op"), operation))
			return true;
	}
	return false;
}

static void rank_print(const struct record *record, const struct recorded *recorded)
{
	uint64_t submitted = number(recorded->head, "submitted");
	uint64_t completed = number(recorded->head, "completed");

	printf("rank %u: %s", recorded->rank, field(recorded->head, "state"));
	if (!number(recorded->head, "present"))
		printf(", gone");
	printf(" (pid %s)", field(recorded->head, "pid"));
	printf(", %" PRIu64 " submitted, %" PRIu64 " in flight; last ", submitted,
	       submitted - completed);
	if (recorded->last)
		printf("%.6f s ago%s: %s\n", seconds_ago(record, recorded->last_time),
		       is_done(record, recorded) ? "" : ", not complete", recorded->last);
	else
		printf("none\n");
}

static void record_print(const struct record *record, const char *name, bool first)
{
	size_t i;

	printf("%sgroup %s: %zu of %s ranks recorded here\n", first ? "" : "\n", name,
	       record->nranks, field(record->ranks[0].head, "nranks"));
	printf("%19s %14s %5s\n", "seconds", "ago", "rank");
	for (i = 0; i < record->n; i++) {
		const struct entry *entry = &record->entries[i];

		printf("%9" PRIu64 ".%09" PRIu64 " %14.6f %5u  %s\n",
		       (uint64_t)(entry->time / NS), (uint64_t)(entry->time % NS),
		       seconds_ago(record, entry->time), entry->rank, entry->text);
	}
	for (i = 0; i < record->nranks; i++)
		rank_print(record, &record->ranks[i]);
}

/* Returns GROUP@NETNS of the argument; "@NETNS": all groups of this namespace. */
static char *wanted(const char *only)
{
	struct stat info;
	char *name;

	if (only && strchr(only, '@'))
		return copy(only);
	if (stat("/proc/self/ns/net", &info))
		err(2, "/proc/self/ns/net");
	if (asprintf(&name, "%s@%ju", only ? only : "", (uintmax_t)info.st_ino) < 0)
		err(2, "memory");
	return name;
}

static bool is_wanted(const char *name, const char *want)
{
	const char *at = strchr(name, '@');

	return at && !strcmp(*want == '@' ? at : name, want);
}

int ctl_record(const char *debugfs, const char *only)
{
	char *want = wanted(only), *path;
	struct dirent **groups;
	struct record record;
	int i, n, error, shown = 0, status = 0;

	n = scandir(debugfs, &groups, NULL, alphasort);
	if (n < 0) {
		warn("%s (needs root, debugfs, and the module)", debugfs);
		free(want);
		return 2;
	}
	for (i = 0; i < n; i++) {
		if (is_wanted(groups[i]->d_name, want)) {
			if (asprintf(&path, "%s/%s", debugfs, groups[i]->d_name) < 0)
				err(2, "memory");
			error = record_read(&record, path);
			if (!error)
				record_print(&record, groups[i]->d_name, !shown++);
			/* A group that has been removed meanwhile is no error. */
			if (record.error || (error && error != ENOENT))
				status = 2;
			record_free(&record);
			free(path);
		}
		free(groups[i]);
	}
	free(groups);
	if (!shown && !status) {
		if (only)
			warnx("no group %s", want);
		else
			printf("no groups in this network namespace\n");
		status = !!only;
	}
	free(want);
	return status;
}
