/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CTL_CHECK_H
#define CTL_CHECK_H

#include <stdbool.h>

enum verdict {
	VERDICT_OK,
	VERDICT_WARN,
	VERDICT_FAIL,
};

/**
 * struct report - the checks so far
 * @table: of JSON
 * @failed: true if one of them has failed
 * @rank: of this process, for the collectivectl that has started it on this host, and prints
 *	what is not OK (check_hosts.c); NULL: this one prints
 */
struct report {
	struct table *table;
	bool failed;
	const char *rank;
};

/* Add a line; @advice: NULL: none. */
void tell(struct report *report, const char *name, enum verdict verdict,
	  const char *advice, const char *found, ...) __attribute__((format(printf, 5, 6)));

/* The rank of this process, if a collectivectl has started it for check_hosts(); or NULL. */
const char *check_hosts_rank(void);

/* What a process does that check_hosts() has started: form a group of all hosts. */
void check_hosts_probe(struct report *report);

/* Check on each of @n hosts what a program needs there, and whether datagrams pass between them. */
void check_hosts(struct report *report, int n, char **hosts);

#endif /* CTL_CHECK_H */
