/* SPDX-License-Identifier: GPL-2.0-only */
/* Queries of a group of RANKS at most, and what they have given. */
#ifndef COLL_TEST_QUERIES_H
#define COLL_TEST_QUERIES_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <collective_admin.h>

#include "lib/group.h"

#define RANKS		64

/* A query ends by itself, after a second at most; the rest is what a slow machine needs. */
#define BOUND_MS	20000

/* Queries at most until all ranks have answered that can. */
#define QUERIES		5

/**
 * struct seen - what a query has given
 * @n: ranks
 * @answered: of these, ranks that have answered
 * @answer: by rank
 * @node: likewise
 */
struct seen {
	unsigned int n;
	unsigned int answered;
	struct coll_admin_answer answer[RANKS];
	char node[RANKS][80];
};

static inline int see(const struct coll_admin_answer *answer, void *arg)
{
	struct seen *seen = arg;

	if (answer->rank != seen->n || seen->n == RANKS)
		return -EINVAL;
	seen->answer[seen->n] = *answer;
	snprintf(seen->node[seen->n], sizeof(seen->node[0]), "%s", answer->node);
	seen->n++;
	seen->answered += answer->answered;
	return 0;
}

/* Return: as coll_admin_query(), or -ETIMEDOUT if it took too long. */
static inline int ask_for(const char *group, unsigned int timeout_ms, struct seen *seen)
{
	struct coll_admin *admin;
	__u64 begin = now_ms();
	int err = coll_admin_open(&admin);

	memset(seen, 0, sizeof(*seen));
	if (err)
		return err;
	err = coll_admin_query(admin, group, timeout_ms, see, seen);
	if (err < 0)
		printf("# %s\n", coll_admin_error(admin));
	coll_admin_close(admin);
	return now_ms() - begin > BOUND_MS ? -ETIMEDOUT : err;
}

static inline int ask_once(const char *group, struct seen *seen)
{
	return ask_for(group, COLL_ADMIN_QUERY_MS, seen);
}

/* A query within a second of the one before has that one's answers. */
static inline void next_query(void)
{
	sleep_ms(COLL_ADMIN_QUERY_MS + 50);
}

/*
 * Asks until so many ranks have answered: a query waits for no rank, and a virtual CPU may stand
 * for longer than a query lasts.
 */
static inline int ask(const char *group, unsigned int ranks, struct seen *seen)
{
	int err = ask_once(group, seen);
	unsigned int i;

	for (i = 1; i < QUERIES && err == 1 && seen->answered < ranks; i++) {
		printf("# %u ranks of %u have answered\n", seen->answered, seen->n);
		next_query();
		err = ask_once(group, seen);
	}
	return err;
}

static inline int ask_again(const char *group, unsigned int ranks, struct seen *seen)
{
	next_query();
	return ask(group, ranks, seen);
}

#endif /* COLL_TEST_QUERIES_H */
