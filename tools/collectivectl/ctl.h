/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CTL_H
#define CTL_H

#include <stdbool.h>
#include <time.h>

#include <collective_admin.h>

#define CTL_MODULE	"/sys/module/collective"
#define CTL_DEVICE	"/dev/collective"

#define ARRAY_SIZE(_array)	(sizeof(_array) / sizeof((_array)[0]))

/* Exit statuses. */
#define CTL_REFUSED	1	/* the kernel has refused, or there is no such object */
#define CTL_FAILED	2	/* wrong usage, or the module could not be asked */

/* How records are printed. */
enum format {
	FORMAT_TEXT,
	FORMAT_JSON,
	FORMAT_CHROME,
};

/**
 * struct ctl - options of the command
 * @json: true to print JSON
 * @details: true to print every column
 * @no_heading: true to leave out the heading of a table
 * @color: true to print colours
 * @format: of records
 * @admin: handle
 */
struct ctl {
	bool json;
	bool details;
	bool no_heading;
	bool color;
	enum format format;
	struct coll_admin *admin;
};

extern struct ctl ctl;

/**
 * struct verb - what can be done with an object
 * @name: its name; may be abbreviated
 * @run: does it; @argv has @argc arguments after the name.  Returns the exit status
 * @offline: true if it does not ask the module
 */
struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	bool offline;
};

/* A usage error: says what is wrong, and ends. */
void ctl_usage(const char *wrong, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Arguments: [GROUP [RANK]].  @group: NULL: all. */
void ctl_selection(int argc, char **argv, const char **group, unsigned int *rank);

/* A number below 2^32 that is not COLL_ADMIN_NONE. */
unsigned int ctl_number(const char *text, const char *what);

/* The result of a call of the library; says why it was refused.  Return: the exit status. */
int ctl_result(int err);

/* The time of a clock; ns. */
static inline uint64_t ctl_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/*
 * Replaces what a terminal would not print by '?', in place: names of hosts and interfaces may have
 * any bytes, and so may a file, whereas JSON is UTF-8.  Return: @text.
 */
char *text_printable(char *text);

/* Texts: valid until the next 15 calls of these functions. */
const char *text_bytes(uint64_t bytes);
const char *text_duration(uint64_t ns);
const char *text_rank(unsigned int rank);
const char *text_ranks(const unsigned int *ranks, unsigned int n);
const char *text_operation(uint64_t instance);
const char *text_address(const struct sockaddr_storage *address);
const char *text_reason(const struct coll_admin_reason *reason);
const char *text_call(const struct coll_admin_call *call);

/* Objects and verbs; each ends with an entry without a name. */
extern const struct verb group_verbs[];
extern const struct verb member_verbs[];
extern const struct verb lane_verbs[];
extern const struct verb link_verbs[];
extern const struct verb request_verbs[];
extern const struct verb buffer_verbs[];
extern const struct verb record_verbs[];
extern const struct verb time_verbs[];
extern const struct verb rank_verbs[];

int ctl_show(int argc, char **argv);
int ctl_monitor(int argc, char **argv);
int ctl_why(int argc, char **argv);
int ctl_feature(int argc, char **argv);
int ctl_top(int argc, char **argv);
int ctl_metrics(int argc, char **argv);
int ctl_cancel(int argc, char **argv);
int ctl_abort(int argc, char **argv);
int ctl_check(int argc, char **argv);

#endif /* CTL_H */
