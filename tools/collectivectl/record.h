/* SPDX-License-Identifier: GPL-2.0-only */
/* Flight records, of this host and of saved ones. */
#ifndef RECORD_H
#define RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct entry - a record as it is printed and saved; texts are "" if they are empty
 * @clock: number of the host or file whose clock @realtime_ns is of
 * @host: name of the host
 * @group: name of the group
 * @rank: the rank
 * @number: of the record, in the order of the rank
 * @time_ns: CLOCK_MONOTONIC of the host
 * @realtime_ns: the same as CLOCK_REALTIME
 * @kind: the event
 * @operation: the operation
 * @state: new state
 * @call: the call, whose first word is the collective
 * @bytes: of the call
 * @error: positive errno; 0: none
 * @reason: why it has failed
 * @peer: the other rank; COLL_ADMIN_NONE: none
 * @link: how a link has changed
 */
struct entry {
	unsigned int clock;
	char *host;
	char *group;
	unsigned int rank;
	uint64_t number;
	uint64_t time_ns;
	uint64_t realtime_ns;
	char *kind;
	char *operation;
	char *state;
	char *call;
	uint64_t bytes;
	unsigned int error;
	char *reason;
	unsigned int peer;
	char *link;
};

/**
 * struct entries - records of one or several hosts
 * @entry: the records
 * @n: number of them
 */
struct entries {
	struct entry *entry;
	size_t n;
};

/* Order by group and rank, and by group and operation; 0: the same. */
int entry_by_rank(const struct entry *a, const struct entry *b);
int entry_by_operation(const struct entry *a, const struct entry *b);

struct entry *entries_add(struct entries *entries);

/* Return: a copy, as of text_printable(). */
char *entry_text(const char *text);

/* Adds the records that `collectivectl -j record` has saved; ends if they cannot be read. */
void entries_read(struct entries *entries, const char *path, unsigned int clock);

/* Sets clocks of hosts right that contradict the order of operations. */
void entries_align(struct entries *entries, unsigned int clocks);

/* Prints the sorted entries as a timeline. */
void entries_print_chrome(const struct entries *entries);

#endif /* RECORD_H */
