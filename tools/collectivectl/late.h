/* SPDX-License-Identifier: GPL-2.0-only */
/* Which ranks others have waited for, by group, from what the ranks of all hosts say. */
#ifndef LATE_H
#define LATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <collective_admin.h>

/**
 * struct late_rank - a rank of a group
 * @here: true if it is a member on this host
 * @known: true if it has said how long it has waited itself
 * @waited: how long it has waited for other ranks; ns
 * @awaited: how long ranks that have said so have waited for it; ns
 * @late: how late it is, by lates_sum(); ns; 0: it is not, or that is not known
 * @node: name of its host; empty: not known
 */
struct late_rank {
	bool here;
	bool known;
	uint64_t waited;
	uint64_t awaited;
	uint64_t late;
	char node[68];
};

/**
 * struct late_answer - what a rank of another host has answered
 * @answered: true if it has
 * @at: when; CLOCK_MONOTONIC ns
 * @waited: how long it has waited for other ranks; ns
 * @n: entries of @longest
 * @longest: the ranks that it has waited for longest, the longest first
 */
struct late_answer {
	bool answered;
	uint64_t at;
	uint64_t waited;
	unsigned int n;
	struct coll_admin_wait longest[COLL_ADMIN_LONGEST];
};

/**
 * struct late_group - a group
 * @name: its name
 * @size: number of ranks
 * @members: number of ranks on this host
 * @known: number of ranks that have said what they have waited, by lates_sum()
 * @worst: the rank that is latest, likewise; COLL_ADMIN_NONE: none is
 * @rank: by rank; sums of this host, until lates_sum() has added those of others
 * @answer: by rank
 */
struct late_group {
	char name[48];
	unsigned int size;
	unsigned int members;
	unsigned int known;
	unsigned int worst;
	struct late_rank *rank;
	struct late_answer *answer;
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

/* A group of which nothing is known yet. */
void late_group_init(struct late_group *group, const char *name, unsigned int size);

/*
 * Takes what ranks of this host have waited, and asks those of other hosts for it.  What does not
 * come within @timeout_ms is not known.  @name: of a group; NULL: all that the user may see.
 *
 * Return: 0 or more, or a negative errno.
 */
int lates_take(struct lates *lates, struct coll_admin *admin, const char *name,
	       unsigned int timeout_ms);
struct lates lates_copy(const struct lates *lates);
void lates_free(struct lates *lates);

/* Leaves the times since an earlier moment; a rank that has not answered at both is not known. */
void lates_subtract(struct lates *lates, const struct lates *earlier);

/*
 * A rank of this host waits for another one, for @ns in all, counted or not yet.  It counts if all
 * ranks of the group are on this host.
 */
void lates_wait(struct lates *lates, const char *group, unsigned int rank, unsigned int peer,
		uint64_t ns);

/*
 * Adds what ranks of other hosts have answered, and says how late each rank is; once.
 *
 * Of ranks that call the same operations, the one that is late waits least.  So a rank is late by
 * as much as it has waited less than the others on average, but not by more than they have waited
 * for it.  How long it was waited for is not enough: ranks that wait make others wait, in a tree
 * several of them.
 */
void lates_sum(struct lates *lates);

/* Return: the group, or NULL. */
const struct late_group *lates_find(const struct lates *lates, const char *group);

#endif /* LATE_H */
