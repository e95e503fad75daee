// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which rank `collectivectl time straggler` and `top` name, from the waits of this host and the
 * answers of others.  Ranks 0 and 1 are here, 2 and 3 are not.
 */
#include <stdlib.h>

#include <kselftest_harness.h>

#include "../../tools/collectivectl/late.h"

#define MS	1000000ULL
#define SECOND	(1000 * MS)

FIXTURE(late) {
	struct lates now;
	struct lates before;
	struct late_group *group;
	struct late_group *earlier;
};

static struct late_group *group_new(struct lates *lates)
{
	unsigned int rank;

	lates->group = malloc(sizeof(*lates->group));
	if (!lates->group)
		return NULL;
	lates->n = 1;
	late_group_init(lates->group, "group", 4);
	lates->group->members = 2;
	for (rank = 0; rank < 2; rank++) {
		lates->group->rank[rank].here = true;
		lates->group->rank[rank].known = true;
	}
	return lates->group;
}

FIXTURE_SETUP(late)
{
	self->group = group_new(&self->now);
	self->earlier = group_new(&self->before);
	ASSERT_NE(NULL, self->group);
	ASSERT_NE(NULL, self->earlier);
}

FIXTURE_TEARDOWN(late)
{
	lates_free(&self->now);
	lates_free(&self->before);
}

/* A rank of this host has waited for another one. */
static void wait_here(struct late_group *group, unsigned int rank, unsigned int peer, uint64_t ns)
{
	group->rank[rank].waited += ns;
	group->rank[peer].awaited += ns;
}

/* A rank of the other host has. */
static void wait_there(struct late_group *group, unsigned int rank, uint64_t at, unsigned int peer,
		       uint64_t ns)
{
	struct late_answer *answer = &group->answer[rank];

	answer->answered = true;
	answer->at = at;
	answer->waited += ns;
	answer->longest[answer->n++] = (struct coll_admin_wait){ .peer = peer, .ns = ns };
}

/* Rank 2 passes on the delay of rank 3, which only the other host knows. */
static void late_rank_3(struct late_group *group, uint64_t at, uint64_t ns)
{
	wait_here(group, 0, 2, ns);
	wait_here(group, 1, 2, ns / 2);
	wait_here(group, 1, 3, ns / 2);
	wait_there(group, 2, at, 3, ns);
	group->answer[3].answered = true;
	group->answer[3].at = at;
}

TEST_F(late, other_host)
{
	late_rank_3(self->group, SECOND, 1000);
	lates_sum(&self->now);
	EXPECT_EQ(4, self->group->known);
	EXPECT_EQ(3, self->group->worst);
	EXPECT_EQ(1000, self->group->rank[3].late);
	EXPECT_EQ(0, self->group->rank[2].late);
}

/* A rank that has not answered is not said to be late: it may have waited itself. */
TEST_F(late, silent)
{
	wait_here(self->group, 0, 2, 1000);
	wait_here(self->group, 0, 1, 10);
	lates_sum(&self->now);
	EXPECT_EQ(2, self->group->known);
	EXPECT_EQ(0, self->group->rank[2].late);
	EXPECT_EQ(1, self->group->worst);
}

/* The root of a tree waits for a late leaf, and all others wait for the root. */
TEST_F(late, leaf_of_a_tree)
{
	wait_here(self->group, 0, 1, 1000);
	wait_there(self->group, 2, SECOND, 0, 1000);
	wait_there(self->group, 3, SECOND, 0, 1000);
	lates_sum(&self->now);
	EXPECT_EQ(1, self->group->worst);
	EXPECT_EQ(1000, self->group->rank[1].late);
	EXPECT_EQ(0, self->group->rank[0].late);
}

/* Of a wait in progress, what was counted already counts once. */
TEST_F(late, in_progress)
{
	wait_here(self->group, 0, 1, 300);
	lates_wait(&self->now, "group", 0, 1, 1000);
	EXPECT_EQ(300, self->group->rank[0].waited);
	self->group->members = self->group->size;
	lates_wait(&self->now, "group", 0, 1, 1000);
	lates_wait(&self->now, "group", 0, 1, 1000);
	lates_wait(&self->now, "group", 0, 9, 2000);
	lates_wait(&self->now, "other", 0, 1, 2000);
	EXPECT_EQ(1000, self->group->rank[0].waited);
	EXPECT_EQ(1000, self->group->rank[1].awaited);
}

/* A rank that takes no part waits for none, and none waits for it. */
TEST_F(late, bystander)
{
	wait_here(self->group, 0, 1, 1000);
	wait_there(self->group, 2, SECOND, 1, 1000);
	self->group->answer[3].answered = true;
	lates_sum(&self->now);
	EXPECT_EQ(1, self->group->worst);
	EXPECT_EQ(0, self->group->rank[3].late);
}

TEST_F(late, none)
{
	lates_sum(&self->now);
	EXPECT_EQ(COLL_ADMIN_NONE, self->group->worst);
}

/* Rank 1 was late before; since then rank 3 is. */
TEST_F(late, since_earlier)
{
	wait_here(self->earlier, 0, 1, 5 * SECOND);
	wait_here(self->group, 0, 1, 5 * SECOND);
	wait_there(self->earlier, 2, SECOND, 1, 5 * SECOND);
	late_rank_3(self->group, 2 * SECOND, 1000);
	wait_there(self->group, 2, 2 * SECOND, 1, 5 * SECOND);
	self->earlier->answer[3].answered = true;
	lates_subtract(&self->now, &self->before);
	lates_sum(&self->now);
	EXPECT_EQ(3, self->group->worst);
	EXPECT_EQ(1000, self->group->rank[3].late);
	EXPECT_EQ(1000, self->group->rank[2].waited);
	EXPECT_EQ(0, self->group->rank[1].awaited);
}

/* A rank that comes among the four was waited for before, too, but for less than they were. */
TEST_F(late, new_among_longest)
{
	unsigned int i;

	for (i = 0; i < COLL_ADMIN_LONGEST; i++)
		wait_there(self->earlier, 2, SECOND, 4 + i, 1000);
	wait_there(self->group, 2, 2 * SECOND, 3, 1100);
	self->group->answer[2].waited = 4200;
	lates_subtract(&self->now, &self->before);
	lates_sum(&self->now);
	EXPECT_EQ(200, self->group->rank[2].waited);
	EXPECT_EQ(100, self->group->rank[3].awaited);
}

/* The same answer twice says nothing of the time between, and nor does one alone. */
TEST_F(late, answered_once)
{
	late_rank_3(self->earlier, SECOND, 1000);
	late_rank_3(self->group, SECOND + MS, 1000);
	self->group->answer[3].at = 2 * SECOND;
	self->earlier->answer[3].answered = false;
	lates_subtract(&self->now, &self->before);
	lates_sum(&self->now);
	EXPECT_FALSE(self->group->rank[2].known);
	EXPECT_FALSE(self->group->rank[3].known);
	EXPECT_EQ(COLL_ADMIN_NONE, self->group->worst);
}

TEST_HARNESS_MAIN
