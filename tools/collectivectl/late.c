// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"
#include "late.h"

/* Two answers of a rank are further apart. */
#define SAME_ANSWER_NS	(COLL_ADMIN_QUERY_MS * 1000000ULL / 2)

void late_group_init(struct late_group *group, const char *name, unsigned int size)
{
	*group = (struct late_group){
		.size = size,
		.rank = calloc(size, sizeof(*group->rank)),
		.answer = calloc(size, sizeof(*group->answer)),
	};
	if (!group->rank || !group->answer)
		err(CTL_FAILED, "memory");
	snprintf(group->name, sizeof(group->name), "%s", name);
}

static int add_group(const struct coll_admin_group *group, void *arg)
{
	struct lates *lates = arg;

	lates->group = reallocarray(lates->group, lates->n + 1, sizeof(*lates->group));
	if (!lates->group)
		err(CTL_FAILED, "memory");
	late_group_init(&lates->group[lates->n], group->name, group->size);
	lates->group[lates->n++].members = group->members;
	return 0;
}

static int add_member(const struct coll_admin_member *member, void *arg)
{
	struct late_group *group = arg;

	if (member->rank >= group->size)
		return 0;
	group->rank[member->rank].here = true;
	group->rank[member->rank].known = true;
	return 0;
}

static int add_wait(const struct coll_admin_pair *pair, void *arg)
{
	struct late_group *group = arg;

	if (pair->rank >= group->size || pair->waited.peer >= group->size)
		return 0;
	group->rank[pair->rank].waited += pair->waited.ns;
	group->rank[pair->waited.peer].awaited += pair->waited.ns;
	return 0;
}

static int add_answer(const struct coll_admin_answer *answer, void *arg)
{
	struct late_group *group = arg;
	struct late_answer *late;

	if (!answer->answered || answer->rank >= group->size)
		return 0;
	snprintf(group->rank[answer->rank].node, sizeof(group->rank[answer->rank].node), "%s",
		 answer->node);
	/* Of a rank of this host all waits are known, and not the longest ones only. */
	if (group->rank[answer->rank].here)
		return 0;
	late = &group->answer[answer->rank];
	late->answered = true;
	late->at = ctl_clock_ns(CLOCK_MONOTONIC) - answer->age_ns;
	late->waited = answer->waited_ns;
	late->n = answer->nlongest;
	memcpy(late->longest, answer->longest, late->n * sizeof(*late->longest));
	return 0;
}

static void group_free(struct late_group *group)
{
	free(group->rank);
	free(group->answer);
}

/* Return: 0 or more; or a negative errno, as of a group of another user, or that has ended. */
static int take_group(struct late_group *group, struct coll_admin *admin, unsigned int timeout_ms)
{
	int error = coll_admin_waits(admin, group->name, COLL_ADMIN_ALL, add_wait, group);

	if (error >= 0)
		error = coll_admin_members(admin, group->name, COLL_ADMIN_ALL, add_member,
					   group);
	/* A group that cannot ask, as before it is connected, shows what is known on this host. */
	if (error >= 0 && group->members < group->size)
		coll_admin_query(admin, group->name, timeout_ms, add_answer, group);
	return error;
}

int lates_take(struct lates *lates, struct coll_admin *admin, const char *name,
	       unsigned int timeout_ms)
{
	size_t i, n = 0;
	int error;

	*lates = (struct lates){ 0 };
	error = coll_admin_groups(admin, name, add_group, lates);
	for (i = 0; error >= 0 && i < lates->n; i++) {
		int refused = take_group(&lates->group[i], admin, timeout_ms);

		if (refused >= 0) {
			lates->group[n++] = lates->group[i];
			continue;
		}
		group_free(&lates->group[i]);
		if (name || (refused != -EACCES && refused != -ENOENT))
			error = refused;
	}
	/* After an error the rest was not taken. */
	for (; i < lates->n; i++)
		group_free(&lates->group[i]);
	lates->n = n;
	return error;
}

struct lates lates_copy(const struct lates *lates)
{
	struct lates copy = { .n = lates->n };
	size_t i;

	copy.group = reallocarray(NULL, lates->n + 1, sizeof(*copy.group));
	if (!copy.group)
		err(CTL_FAILED, "memory");
	for (i = 0; i < lates->n; i++) {
		const struct late_group *from = &lates->group[i];
		struct late_group *to = &copy.group[i];

		late_group_init(to, from->name, from->size);
		to->members = from->members;
		memcpy(to->rank, from->rank, from->size * sizeof(*to->rank));
		memcpy(to->answer, from->answer, from->size * sizeof(*to->answer));
	}
	return copy;
}

void lates_free(struct lates *lates)
{
	size_t i;

	for (i = 0; i < lates->n; i++)
		group_free(&lates->group[i]);
	free(lates->group);
}

static struct late_group *find(const struct lates *lates, const char *group)
{
	size_t i;

	for (i = 0; i < lates->n; i++)
		if (!strcmp(lates->group[i].name, group))
			return &lates->group[i];
	return NULL;
}

const struct late_group *lates_find(const struct lates *lates, const char *group)
{
	return find(lates, group);
}

void lates_wait(struct lates *lates, const char *group, unsigned int rank, unsigned int peer,
		uint64_t ns)
{
	struct late_group *late = find(lates, group);

	if (!late || rank >= late->size || peer >= late->size || late->rank[rank].waited >= ns)
		return;
	/* Beside waits that have ended, which other hosts tell, it would make their ranks late. */
	if (late->members < late->size)
		return;
	late->rank[peer].awaited += ns - late->rank[rank].waited;
	late->rank[rank].waited = ns;
}

/* A rank that has joined again counts from 0. */
static void subtract(uint64_t *now, uint64_t earlier)
{
	if (*now >= earlier)
		*now -= earlier;
}

/*
 * A rank that an answer does not name was waited for less than those that it names, so the
 * difference is that much at least.
 */
static uint64_t longest_before(const struct late_answer *earlier, unsigned int peer)
{
	unsigned int i;

	for (i = 0; i < earlier->n; i++)
		if (earlier->longest[i].peer == peer)
			return earlier->longest[i].ns;
	return earlier->n < COLL_ADMIN_LONGEST ? 0 : earlier->longest[earlier->n - 1].ns;
}

static void subtract_answer(struct late_answer *now, const struct late_answer *earlier)
{
	unsigned int i;

	/* A group is asked once a second at most: another program may have asked just before. */
	now->answered &= earlier->answered && now->at - earlier->at > SAME_ANSWER_NS;
	/* It has joined again. */
	if (now->waited < earlier->waited)
		return;
	now->waited -= earlier->waited;
	for (i = 0; i < now->n; i++) {
		uint64_t before = longest_before(earlier, now->longest[i].peer);

		now->longest[i].ns -= before < now->longest[i].ns ? before : now->longest[i].ns;
	}
}

void lates_subtract(struct lates *lates, const struct lates *earlier)
{
	const struct late_group *before;
	unsigned int rank;
	size_t i;

	for (i = 0; i < lates->n; i++) {
		before = lates_find(earlier, lates->group[i].name);
		/* Another group may have the name now. */
		if (!before || before->size != lates->group[i].size)
			continue;
		for (rank = 0; rank < before->size; rank++) {
			struct late_rank *now = &lates->group[i].rank[rank];

			subtract(&now->waited, before->rank[rank].waited);
			subtract(&now->awaited, before->rank[rank].awaited);
			subtract_answer(&lates->group[i].answer[rank], &before->answer[rank]);
		}
	}
}

static void sum_answer(struct late_group *group, unsigned int number)
{
	const struct late_answer *answer = &group->answer[number];
	struct late_rank *rank = &group->rank[number];
	unsigned int i;

	if (!answer->answered)
		return;
	rank->known = true;
	rank->waited += answer->waited;
	for (i = 0; i < answer->n; i++)
		if (answer->longest[i].peer < group->size)
			group->rank[answer->longest[i].peer].awaited += answer->longest[i].ns;
}

/* Return: ns. */
static uint64_t lateness(const struct late_rank *rank, uint64_t waited, unsigned int known)
{
	uint64_t mean;

	if (!rank->known || known < 2)
		return 0;
	mean = (waited - rank->waited) / (known - 1);
	if (mean <= rank->waited)
		return 0;
	return mean - rank->waited < rank->awaited ? mean - rank->waited : rank->awaited;
}

static void sum_group(struct late_group *group)
{
	unsigned int number;
	uint64_t waited = 0, most = 0;

	for (number = 0; number < group->size; number++)
		sum_answer(group, number);
	group->known = 0;
	for (number = 0; number < group->size; number++) {
		if (!group->rank[number].known)
			continue;
		group->known++;
		waited += group->rank[number].waited;
	}
	group->worst = COLL_ADMIN_NONE;
	for (number = 0; number < group->size; number++) {
		struct late_rank *rank = &group->rank[number];

		rank->late = lateness(rank, waited, group->known);
		if (rank->late <= most)
			continue;
		most = rank->late;
		group->worst = number;
	}
}

void lates_sum(struct lates *lates)
{
	size_t i;

	for (i = 0; i < lates->n; i++)
		sum_group(&lates->group[i]);
}
