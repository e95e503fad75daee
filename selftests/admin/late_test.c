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
	group->rank[rank].called += ns;
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
	answer->called += ns;
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
	late_rank_3(self->group, SECOND, SECOND);
	lates_sum(&self->now);
	EXPECT_EQ(4, self->group->known);
	EXPECT_EQ(3, self->group->straggler);
	EXPECT_EQ(SECOND, self->group->rank[3].late);
	EXPECT_EQ(0, self->group->rank[2].late);
}

/* A rank that has not answered is not said to be late: it may have waited itself. */
TEST_F(late, silent)
{
	wait_here(self->group, 0, 2, SECOND);
	wait_here(self->group, 0, 1, 500 * MS);
	lates_sum(&self->now);
	EXPECT_EQ(2, self->group->known);
	EXPECT_EQ(0, self->group->rank[2].late);
	EXPECT_EQ(1, self->group->straggler);
}

/* The root of a tree waits for a late leaf, and all others wait for the root. */
TEST_F(late, leaf_of_a_tree)
{
	wait_here(self->group, 0, 1, SECOND);
	wait_there(self->group, 2, SECOND, 0, SECOND);
	wait_there(self->group, 3, SECOND, 0, SECOND);
	lates_sum(&self->now);
	EXPECT_EQ(1, self->group->straggler);
	EXPECT_EQ(SECOND, self->group->rank[1].late);
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
	wait_here(self->group, 0, 1, SECOND);
	wait_there(self->group, 2, SECOND, 1, SECOND);
	self->group->answer[3].answered = true;
	lates_sum(&self->now);
	EXPECT_EQ(1, self->group->straggler);
	EXPECT_EQ(0, self->group->rank[3].late);
}

TEST_F(late, none)
{
	lates_sum(&self->now);
	EXPECT_EQ(COLL_ADMIN_NONE, self->group->straggler);
}

/* Rank 1 was late before; since then rank 3 is. */
TEST_F(late, since_earlier)
{
	wait_here(self->earlier, 0, 1, 5 * SECOND);
	wait_here(self->group, 0, 1, 5 * SECOND);
	wait_there(self->earlier, 2, SECOND, 1, 5 * SECOND);
	late_rank_3(self->group, 2 * SECOND, SECOND);
	wait_there(self->group, 2, 2 * SECOND, 1, 5 * SECOND);
	self->earlier->answer[3].answered = true;
	lates_subtract(&self->now, &self->before);
	lates_sum(&self->now);
	EXPECT_EQ(3, self->group->straggler);
	EXPECT_EQ(SECOND, self->group->rank[3].late);
	EXPECT_EQ(SECOND, self->group->rank[2].waited);
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
	late_rank_3(self->earlier, SECOND, SECOND);
	late_rank_3(self->group, SECOND + MS, SECOND);
	self->group->answer[3].at = 2 * SECOND;
	self->earlier->answer[3].answered = false;
	lates_subtract(&self->now, &self->before);
	lates_sum(&self->now);
	EXPECT_FALSE(self->group->rank[2].known);
	EXPECT_FALSE(self->group->rank[3].known);
	EXPECT_EQ(COLL_ADMIN_NONE, self->group->straggler);
}

static void spans(struct late_group *group, uint64_t ns)
{
	unsigned int rank;

	for (rank = 0; rank < 4; rank++) {
		group->rank[rank].span = ns;
		group->answer[rank].span = ns;
	}
}

/* All of them wait for rank 1, for some longer than for others. */
static void late_rank_1(struct late_group *group, uint64_t span, uint64_t ns, uint64_t own)
{
	spans(group, span);
	wait_here(group, 0, 1, ns);
	wait_here(group, 1, 0, own);
	wait_there(group, 2, SECOND, 1, ns + 5 * MS);
	wait_there(group, 3, SECOND, 1, ns + 2 * MS);
}

TEST_F(late, fourth)
{
	late_rank_1(self->group, 10 * SECOND, 2600 * MS, 50 * MS);
	lates_sum(&self->now);
	EXPECT_EQ(1, self->group->straggler);
}

TEST_F(late, less_than_a_fourth)
{
	late_rank_1(self->group, 10 * SECOND, 2500 * MS, 50 * MS);
	lates_sum(&self->now);
	EXPECT_EQ(2452 * MS, self->group->rank[1].late);
	EXPECT_EQ(COLL_ADMIN_NONE, self->group->straggler);
}

/* The operations in flight at a time took longer than the time, in sum. */
TEST_F(late, small_part_of_operations)
{
	late_rank_1(self->group, SECOND, 8 * SECOND, 7 * SECOND);
	lates_sum(&self->now);
	EXPECT_EQ(COLL_ADMIN_NONE, self->group->straggler);
}

/* A rank that moves more waits less, and its operations take as long as those of the others. */
TEST_F(late, moves_more)
{
	late_rank_1(self->group, SECOND, 900 * MS, 100 * MS);
	self->group->rank[1].called = 900 * MS;
	lates_sum(&self->now);
	EXPECT_EQ(COLL_ADMIN_NONE, self->group->straggler);
}

/* Rank 1 had no CPU for 8 s: of each rank the longest operation does not count. */
TEST_F(late, once)
{
	unsigned int rank;

	late_rank_1(self->group, SECOND, 8 * SECOND, 50 * MS);
	self->group->rank[0].called = 60 * MS;
	for (rank = 2; rank < 4; rank++)
		self->group->answer[rank].called = 60 * MS;
	lates_sum(&self->now);
	EXPECT_EQ(COLL_ADMIN_NONE, self->group->straggler);
	EXPECT_EQ(COLL_ADMIN_NONE, self->group->unsure);
}

/* Ranks 1 and 3 share a CPU that others use, too. */
TEST_F(late, two_of_four)
{
	spans(self->group, 6 * SECOND);
	wait_here(self->group, 0, 1, 5100 * MS);
	wait_here(self->group, 1, 3, 3400 * MS);
	wait_there(self->group, 2, SECOND, 3, 5300 * MS);
	wait_there(self->group, 3, SECOND, 1, 3100 * MS);
	lates_sum(&self->now);
	EXPECT_EQ(COLL_ADMIN_NONE, self->group->straggler);
	EXPECT_EQ(3, self->group->unsure);
}

/* Each other rank has waited for one that is late. */
static void two_late_ranks(struct late_group *group, uint64_t first, uint64_t second)
{
	spans(group, 6 * SECOND);
	wait_here(group, 0, 1, 5100 * MS);
	wait_here(group, 1, 3, 5100 * MS - first);
	wait_there(group, 2, SECOND, 3, 5300 * MS);
	wait_there(group, 3, SECOND, 1, 5100 * MS - second);
}

TEST_F(late, two_ranks)
{
	two_late_ranks(self->group, 4900 * MS, 5000 * MS);
	lates_sum(&self->now);
	EXPECT_EQ(3, self->group->straggler);
	EXPECT_EQ(COLL_ADMIN_NONE, self->group->unsure);
	EXPECT_FALSE(self->group->rank[0].straggler);
	EXPECT_TRUE(self->group->rank[1].straggler);
	EXPECT_FALSE(self->group->rank[2].straggler);
	EXPECT_TRUE(self->group->rank[3].straggler);
	EXPECT_EQ(4900 * MS, self->group->rank[1].late);
	EXPECT_EQ(5000 * MS, self->group->rank[3].late);
}

/* One of them is late by half as much. */
TEST_F(late, two_ranks_differently)
{
	two_late_ranks(self->group, 2600 * MS, 5000 * MS);
	lates_sum(&self->now);
	EXPECT_EQ(3, self->group->straggler);
	EXPECT_TRUE(self->group->rank[1].straggler);
	EXPECT_TRUE(self->group->rank[3].straggler);
}

/* The second one is late by less than half of what operations of the others take. */
TEST_F(late, second_unsure)
{
	two_late_ranks(self->group, 2400 * MS, 5000 * MS);
	lates_sum(&self->now);
	EXPECT_EQ(3, self->group->straggler);
	EXPECT_FALSE(self->group->rank[1].straggler);
	EXPECT_TRUE(self->group->rank[3].straggler);
}

/* No rank waits for rank 2, as for one that only sends: of the two, the other one is named. */
TEST_F(late, second_not_awaited)
{
	spans(self->group, 6 * SECOND);
	wait_here(self->group, 0, 3, 5100 * MS);
	wait_here(self->group, 1, 2, 100 * MS);
	wait_there(self->group, 2, SECOND, 1, 50 * MS);
	wait_there(self->group, 3, SECOND, 1, 5200 * MS);
	lates_sum(&self->now);
	EXPECT_EQ(1, self->group->straggler);
	EXPECT_FALSE(self->group->rank[2].straggler);
}

/* Those that are not late differ as much. */
TEST_F(late, two_and_others_differ)
{
	two_late_ranks(self->group, 4900 * MS, 5000 * MS);
	self->group->rank[0].waited = 2600 * MS;
	self->group->rank[0].called = 2600 * MS;
	lates_sum(&self->now);
	EXPECT_EQ(COLL_ADMIN_NONE, self->group->straggler);
	EXPECT_EQ(3, self->group->unsure);
	EXPECT_FALSE(self->group->rank[1].straggler);
}

/* Three of four: of those, none differs from the others. */
TEST_F(late, most_ranks)
{
	spans(self->group, 6 * SECOND);
	wait_here(self->group, 0, 1, 5100 * MS);
	wait_here(self->group, 1, 3, 100 * MS);
	wait_there(self->group, 2, SECOND, 3, 150 * MS);
	wait_there(self->group, 3, SECOND, 1, 50 * MS);
	lates_sum(&self->now);
	EXPECT_EQ(COLL_ADMIN_NONE, self->group->straggler);
	EXPECT_EQ(COLL_ADMIN_NONE, self->group->unsure);
}

/* What a rank says of its links; the best one takes 200 us, and the rank has waited for 900 ms. */
static void links(struct late_group *group, unsigned int rank, unsigned int far,
		  unsigned int far_us, unsigned int lossy, unsigned int lost)
{
	struct late_answer *answer = &group->answer[rank];

	answer->answered = true;
	answer->span = SECOND;
	answer->waited = 900 * MS;
	answer->called = 900 * MS;
	answer->calls = 10;
	answer->links = (struct coll_admin_slow_links){
		.far = far, .far_us = far_us, .near_us = far_us < 200 ? far_us : 200,
		.lossy = lossy, .lost = lost, .narrow = COLL_ADMIN_NONE,
	};
}

static void near_links(struct late_group *group)
{
	unsigned int rank;

	for (rank = 0; rank < 4; rank++)
		links(group, rank, (rank + 1) % 4, 300 + 100 * rank, COLL_ADMIN_NONE, 0);
}

/* One link of a ring; all ranks wait as long. */
TEST_F(late, far_link)
{
	near_links(self->group);
	links(self->group, 0, 1, 20000, COLL_ADMIN_NONE, 0);
	links(self->group, 1, 0, 19900, COLL_ADMIN_NONE, 0);
	lates_sum(&self->now);
	EXPECT_EQ(COLL_ADMIN_NONE, self->group->straggler);
	EXPECT_EQ(0, self->group->slow);
	EXPECT_EQ(1, self->group->slow_peer);
	EXPECT_EQ(800 * MS, self->group->cost);
	EXPECT_EQ(20000, self->group->way_us);
}

/* All links of a rank, its best one, too. */
TEST_F(late, far_rank)
{
	links(self->group, 0, 3, 20400, COLL_ADMIN_NONE, 0);
	links(self->group, 1, 3, 20200, COLL_ADMIN_NONE, 0);
	links(self->group, 2, 3, 20100, COLL_ADMIN_NONE, 0);
	links(self->group, 3, 1, 20300, COLL_ADMIN_NONE, 0);
	self->group->answer[3].links.near_us = 20000;
	lates_sum(&self->now);
	EXPECT_EQ(3, self->group->slow);
	EXPECT_EQ(COLL_ADMIN_NONE, self->group->slow_peer);
}

/* A busy CPU makes the way long for the rank there. */
TEST_F(late, far_at_one_end)
{
	near_links(self->group);
	links(self->group, 0, 1, 20000, COLL_ADMIN_NONE, 0);
	lates_sum(&self->now);
	EXPECT_EQ(COLL_ADMIN_NONE, self->group->slow);
}

/* Two sites. */
TEST_F(late, far_sites)
{
	unsigned int rank;

	for (rank = 0; rank < 4; rank++)
		links(self->group, rank, (rank + 2) % 4, 20000, COLL_ADMIN_NONE, 0);
	lates_sum(&self->now);
	EXPECT_EQ(COLL_ADMIN_NONE, self->group->slow);
}

/* A long way by which few operations go. */
TEST_F(late, far_and_idle)
{
	near_links(self->group);
	links(self->group, 0, 1, 20000, COLL_ADMIN_NONE, 0);
	links(self->group, 1, 0, 20000, COLL_ADMIN_NONE, 0);
	self->group->answer[0].calls = 2;
	self->group->answer[1].calls = 2;
	lates_sum(&self->now);
	EXPECT_EQ(COLL_ADMIN_NONE, self->group->slow);
}

/* Links by which bytes went at a rate of 1 GB/s. */
static void wide_links(struct late_group *group)
{
	unsigned int rank;

	near_links(group);
	for (rank = 0; rank < 4; rank++) {
		struct coll_admin_slow_links *links = &group->answer[rank].links;

		links->narrow = (rank + 1) % 4;
		links->narrow_ms = 6;
		links->narrow_kib = 1000000;
		links->wide_kib = 1000000;
	}
}

static void narrow_link(struct late_group *group, unsigned int rank, unsigned int kib)
{
	group->answer[rank].links.narrow_ms = 600;
	group->answer[rank].links.narrow_kib = kib;
	group->answer[rank].links.wide_kib = kib;
}

/* 100 Mbit/s in one direction. */
TEST_F(late, narrow_link)
{
	wide_links(self->group);
	narrow_link(self->group, 3, 12000);
	lates_sum(&self->now);
	EXPECT_EQ(COLL_ADMIN_NONE, self->group->straggler);
	EXPECT_EQ(3, self->group->slow);
	EXPECT_EQ(0, self->group->slow_peer);
	EXPECT_EQ(600 * MS, self->group->cost);
	EXPECT_EQ(12000, self->group->rate_kib);
	EXPECT_EQ(1000000, self->group->usual_kib);
}

/* In both directions: rank 2 sends to rank 3. */
TEST_F(late, narrow_rank)
{
	wide_links(self->group);
	narrow_link(self->group, 2, 12000);
	narrow_link(self->group, 3, 12000);
	self->group->answer[2].links.wide_kib = 1000000;
	lates_sum(&self->now);
	EXPECT_EQ(3, self->group->slow);
	EXPECT_EQ(COLL_ADMIN_NONE, self->group->slow_peer);
}

/* Two sites: ranks 0 and 1 have one, 2 and 3 the other one. */
TEST_F(late, narrow_sites)
{
	wide_links(self->group);
	narrow_link(self->group, 1, 12000);
	narrow_link(self->group, 3, 12000);
	self->group->answer[1].links.wide_kib = 1000000;
	self->group->answer[3].links.wide_kib = 1000000;
	lates_sum(&self->now);
	EXPECT_EQ(COLL_ADMIN_NONE, self->group->slow);
}

/* 1 Gbit/s among links that are faster: hosts with several ranks, whose links leave no host. */
TEST_F(late, less_wide)
{
	wide_links(self->group);
	narrow_link(self->group, 3, 120000);
	lates_sum(&self->now);
	EXPECT_EQ(COLL_ADMIN_NONE, self->group->slow);
}

/* All links are as narrow. */
TEST_F(late, narrow_network)
{
	unsigned int rank;

	wide_links(self->group);
	for (rank = 0; rank < 4; rank++)
		narrow_link(self->group, rank, 12000);
	lates_sum(&self->now);
	EXPECT_EQ(COLL_ADMIN_NONE, self->group->slow);
}

/* A narrow link by which little goes. */
TEST_F(late, narrow_and_idle)
{
	wide_links(self->group);
	narrow_link(self->group, 3, 12000);
	self->group->answer[3].links.narrow_ms = 100;
	lates_sum(&self->now);
	EXPECT_EQ(COLL_ADMIN_NONE, self->group->slow);
}

/* What went before does not count, nor by a link that was not the one that took longest before. */
TEST_F(late, narrow_before)
{
	wide_links(self->earlier);
	wide_links(self->group);
	narrow_link(self->earlier, 0, 12000);
	narrow_link(self->group, 0, 12000);
	self->group->answer[0].links.narrow_ms = 700;
	narrow_link(self->group, 1, 12000);
	self->earlier->answer[1].links.narrow = 3;
	self->earlier->answer[2].links.narrow = COLL_ADMIN_NONE;
	lates_subtract(&self->now, &self->before);
	EXPECT_EQ(100, self->group->answer[0].links.narrow_ms);
	EXPECT_EQ(0, self->group->answer[1].links.narrow_ms);
	EXPECT_EQ(6, self->group->answer[2].links.narrow_ms);
}

/* Only the sender knows what was lost. */
TEST_F(late, lossy_link)
{
	near_links(self->group);
	links(self->group, 1, 2, 200, 2, 8);
	links(self->group, 3, 0, 200, 0, 1);
	lates_sum(&self->now);
	EXPECT_EQ(1, self->group->slow);
	EXPECT_EQ(2, self->group->slow_peer);
	EXPECT_EQ(8, self->group->lost);
	EXPECT_EQ(800 * MS, self->group->cost);
}

TEST_F(late, few_losses)
{
	near_links(self->group);
	links(self->group, 1, 2, 200, 2, 3);
	lates_sum(&self->now);
	EXPECT_EQ(COLL_ADMIN_NONE, self->group->slow);
}

/* What was lost before, and a link that was not the one with most losses before. */
TEST_F(late, lossy_before)
{
	links(self->earlier, 0, 1, 200, 1, 100);
	links(self->group, 0, 1, 200, 1, 101);
	links(self->earlier, 1, 3, 200, 3, 90);
	links(self->group, 1, 2, 200, 2, 100);
	links(self->earlier, 2, 3, 200, COLL_ADMIN_NONE, 0);
	links(self->group, 2, 3, 200, 3, 2);
	lates_subtract(&self->now, &self->before);
	EXPECT_EQ(1, self->group->answer[0].links.lost);
	EXPECT_EQ(0, self->group->answer[1].links.lost);
	EXPECT_EQ(2, self->group->answer[2].links.lost);
}

/* A wait in progress of another host, which has not ended since the answer before. */
TEST_F(late, in_progress_there)
{
	unsigned int rank;

	for (rank = 0; rank < 4; rank++) {
		self->earlier->answer[rank].answered = true;
		self->earlier->answer[rank].at = SECOND;
		self->group->answer[rank].answered = true;
		self->group->answer[rank].at = 2 * SECOND;
		self->group->answer[rank].span = SECOND;
		self->group->answer[rank].awaits = rank == 3 ? COLL_ADMIN_NONE : 3;
		self->group->answer[rank].oldest = rank == 3 ? 0 : 5 * SECOND;
	}
	lates_subtract(&self->now, &self->before);
	lates_sum(&self->now);
	EXPECT_EQ(3, self->group->straggler);
	EXPECT_EQ(SECOND, self->group->rank[3].late);
}

TEST_HARNESS_MAIN
