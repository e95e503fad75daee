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
	unsigned int i;

	if (time->rank >= LATE_RANKS)
		return 0;
	rank = &group->rank[time->rank];
	group->here += !rank->here;
	rank->here = true;
	rank->waited += time->waited_ns;
	for (i = 0; i < time->nwaited; i++)
		if (time->waited[i].peer < LATE_RANKS)
			group->rank[time->waited[i].peer].awaited += time->waited[i].ns;
	return 0;
}

int lates_take(struct lates *lates, const char *group)
{
	*lates = (struct lates){ 0 };
	return coll_admin_times(ctl.admin, group, COLL_ADMIN_ALL, add_time, lates);
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
