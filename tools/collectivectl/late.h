/* SPDX-License-Identifier: GPL-2.0-only */
/* Which ranks others have waited for, by group. */
#ifndef LATE_H
#define LATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LATE_RANKS	1024

/**
 * struct late_rank - a rank of a group
 * @here: true if it is a member on this host, and so says what it has waited itself
 * @waited: how long it has waited for other ranks; ns
 * @awaited: how long ranks of this host have waited for it; ns
 */
struct late_rank {
	bool here;
	uint64_t waited;
	uint64_t awaited;
};

/**
 * struct late_group - a group
 * @name: its name
 * @here: number of ranks on this host
 * @rank: by rank
 */
struct late_group {
	char name[40];
	unsigned int here;
	struct late_rank rank[LATE_RANKS];
};

/**
 * struct lates - all groups at a moment
 * @group: the groups
 * @n: number of them
 */
struct lates {
	struct late_group *group;
	size_t n;
};

/* Return: 0 or more, or a negative errno. */
int lates_take(struct lates *lates, const char *group);
struct lates lates_copy(const struct lates *lates);
void lates_free(struct lates *lates);

/* Leaves the times since an earlier moment. */
void lates_subtract(struct lates *lates, const struct lates *earlier);

/* Return: the group, or NULL. */
const struct late_group *lates_find(const struct lates *lates, const char *group);

/*
 * How long others have waited for a rank, less what it has waited itself: a rank that only passes
 * on what it waits for is not late.  Return: ns; 0: it is not late.
 */
uint64_t late_ns(const struct late_rank *rank);

/* The rank that is latest.  Return: its number, or COLL_ADMIN_NONE. */
unsigned int late_worst(const struct late_group *group);

#endif /* LATE_H */
