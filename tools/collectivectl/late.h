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
 * @called: how long its own operations took, without the longest one; ns
 * @span: time from its first call to its latest completion, without that one; ns
 * @calls: number of operations that it has called
 * @links: its slow links
 * @early: by how much it has waited less than others, and its operations took less time, by
 *	lates_sum(); ns
 * @late: how late it is: the less of @early and @awaited; ns; 0: it is not, or that is not known
 * @straggler: true if the others wait for it, likewise
 * @node: name of its host; empty: not known
 */
struct late_rank {
	bool here;
	bool known;
	uint64_t waited;
	uint64_t awaited;
	uint64_t called;
	uint64_t span;
	uint64_t calls;
	struct coll_admin_slow_links links;
	uint64_t early;
	uint64_t late;
	bool straggler;
	char node[68];
};

/**
 * struct late_answer - what a rank of a group on several hosts has answered
 * @answered: true if it has
 * @at: when; CLOCK_MONOTONIC ns
 * @waited: how long it has waited for other ranks; ns
 * @called: as of the rank
 * @span: likewise
 * @oldest: age of its oldest operation in flight; ns; 0: there is none
 * @awaits: the first rank that this operation waits for; COLL_ADMIN_NONE: not known
 * @calls: number of operations that it has called
 * @links: its slow links
 * @n: entries of @longest
 * @longest: the ranks that it has waited for longest, the longest first
 */
struct late_answer {
	bool answered;
	uint64_t at;
	uint64_t waited;
	uint64_t called;
	uint64_t span;
	uint64_t oldest;
	unsigned int awaits;
	uint64_t calls;
	struct coll_admin_slow_links links;
	unsigned int n;
	struct coll_admin_wait longest[COLL_ADMIN_LONGEST];
};

/**
 * struct late_group - a group
 * @name: its name
 * @size: number of ranks
 * @members: number of ranks on this host
 * @known: number of ranks that have said what they have waited, by lates_sum()
 * @span: the shortest one of its ranks, by lates_sum(); ns; 0: not known
 * @straggler: the latest rank that the others wait for, by lates_sum(); COLL_ADMIN_NONE: none is
 * @unsure: a rank that is as late while the others differ as much; likewise
 * @slow: the rank whose link or links are slow, likewise; COLL_ADMIN_NONE: none is
 * @slow_peer: the other end of the link; COLL_ADMIN_NONE: several links of @slow
 * @cost: how long that has held up the group; ns
 * @way_us: the way there and back on that link; 0: it is not named for that
 * @lost: segments that were lost on that link; likewise
 * @rate_kib: the rate of that link; KiB/s; likewise
 * @usual_us: the usual way there and back; 0: not known
 * @usual_kib: the usual rate; KiB/s; 0: not known
 * @rank: by rank; sums of this host, until lates_sum() has added those of others
 * @answer: by rank
 */
struct late_group {
	char name[48];
	unsigned int size;
	unsigned int members;
	unsigned int known;
	uint64_t span;
	unsigned int straggler;
	unsigned int unsure;
	unsigned int slow;
	unsigned int slow_peer;
	uint64_t cost;
	unsigned int way_us;
	unsigned int lost;
	unsigned int rate_kib;
	uint64_t usual_us;
	uint64_t usual_kib;
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
 * Takes what the ranks of a group on this host have waited, and asks those of a group on several
 * hosts, so that each host sees the same.  What does not come within @timeout_ms is not known.
 * @name: of a group; NULL: all that the user may see.
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
 * ranks of the group are on this host: those of several hosts have answered.
 */
void lates_wait(struct lates *lates, const char *group, unsigned int rank, unsigned int peer,
		uint64_t ns);

/*
 * Adds what ranks have answered, and says how late each rank is, and whether that or a link is what
 * the group waits for; once.
 *
 * Of ranks that call the same operations, the one that calls late waits least, and its operations
 * take the least time.  So a rank is late by the less of these two, compared with the median of
 * the others, but not by more than they have waited for it.  How long it was waited for is not
 * enough: ranks that wait make others wait, in a tree several of them.  How long it has waited
 * itself is not enough either: a rank with more to move waits less.  Several ranks may be late, up
 * to half of them.
 *
 * A link is slow if the way there and back takes much longer than on other links, as ranks at both
 * ends say, if bytes take much longer than on other links, or if it loses segments.
 *
 * Documentation/design/times.rst has the shares from which on this is a verdict.
 */
void lates_sum(struct lates *lates);

/* Prints what a group waits for, or nothing. */
void late_print(const struct late_group *group);

/* Return: the group, or NULL. */
const struct late_group *lates_find(const struct lates *lates, const char *group);

#endif /* LATE_H */
