// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "late.h"

static struct late_group *group_add(struct lates *lates, const char *name)
{
	struct late_group *group;
	size_t i;

	for (i = 0; i < lates->n; i++)
		if (!strcmp(lates->group[i].name, name))
			return &lates->group[i];
	lates->group = reallocarray(lates->group, lates->n + 1, sizeof(*group));
	if (!lates->group)
		err(CTL_FAILED, "memory");
	group = &lates->group[lates->n++];
	memset(group, 0, sizeof(*group));
	snprintf(group->name, sizeof(group->name), "%s", name);
	return group;
}

static int add_time(const struct coll_admin_time *time, void *arg)
{
	struct late_group *group = group_add(arg, time->group);
	struct late_rank *rank;

	if (time->rank >= LATE_RANKS)
		return 0;
	rank = &group->rank[time->rank];
	group->here += !rank->here;
	rank->here = true;
	return 0;
}

static int add_wait(const struct coll_admin_pair *pair, void *arg)
{
	struct late_group *group = group_add(arg, pair->group);

	if (pair->rank < LATE_RANKS)
		group->rank[pair->rank].waited += pair->waited.ns;
	if (pair->waited.peer < LATE_RANKS)
		group->rank[pair->waited.peer].awaited += pair->waited.ns;
	return 0;
}

/* The ranks of this host are those that have times, also if they have waited for none. */
int lates_take(struct lates *lates, const char *group)
{
	int error;

	*lates = (struct lates){ 0 };
	error = coll_admin_times(ctl.admin, group, COLL_ADMIN_ALL, add_time, lates);
	return error < 0 ? error :
	       coll_admin_waits(ctl.admin, group, COLL_ADMIN_ALL, add_wait, lates);
}

struct lates lates_copy(const struct lates *lates)
{
	struct lates copy = { .n = lates->n };

	copy.group = reallocarray(NULL, lates->n + 1, sizeof(*copy.group));
	if (!copy.group)
		err(CTL_FAILED, "memory");
	if (lates->n)
		memcpy(copy.group, lates->group, lates->n * sizeof(*copy.group));
	return copy;
}

void lates_free(struct lates *lates)
{
	free(lates->group);
}

/* A rank that has joined again counts from 0. */
static void subtract(uint64_t *now, uint64_t earlier)
{
	if (*now >= earlier)
		*now -= earlier;
}

void lates_subtract(struct lates *lates, const struct lates *earlier)
{
	const struct late_group *before;
	unsigned int rank;
	size_t i;

	for (i = 0; i < lates->n; i++) {
		before = lates_find(earlier, lates->group[i].name);
		for (rank = 0; before && rank < LATE_RANKS; rank++) {
			struct late_rank *now = &lates->group[i].rank[rank];

			subtract(&now->waited, before->rank[rank].waited);
			subtract(&now->awaited, before->rank[rank].awaited);
		}
	}
}

const struct late_group *lates_find(const struct lates *lates, const char *group)
{
	size_t i;

	for (i = 0; i < lates->n; i++)
		if (!strcmp(lates->group[i].name, group))
			return &lates->group[i];
	return NULL;
}

uint64_t late_ns(const struct late_rank *rank)
{
	return rank->awaited > rank->waited ? rank->awaited - rank->waited : 0;
}

unsigned int late_worst(const struct late_group *group)
{
	unsigned int rank, worst = COLL_ADMIN_NONE;
	uint64_t most = 0;

	for (rank = 0; rank < LATE_RANKS; rank++) {
		if (late_ns(&group->rank[rank]) <= most)
			continue;
		worst = rank;
		most = late_ns(&group->rank[rank]);
	}
	return worst;
}
