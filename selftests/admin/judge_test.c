// SPDX-License-Identifier: GPL-2.0-only
/*
 * What `collectivectl why` says of answers: those of one query are compared, and no rank is blamed
 * for what it did before another rank's answer.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <kselftest_harness.h>

#include "../../tools/collectivectl/judge.h"

#define NRANKS	3
#define IDLE	COLL_ADMIN_NO_INSTANCE

FIXTURE(answers) {
	struct state *state;
};

FIXTURE_SETUP(answers)
{
	self->state = calloc(1, sizeof(*self->state));
	ASSERT_NE(NULL, self->state);
	self->state->size = NRANKS;
	self->state->culprit = COLL_ADMIN_NONE;
	self->state->connected = true;
}

FIXTURE_TEARDOWN(answers)
{
	free(self->state);
}

/* A rank that has submitted @counted operations; @oldest: one that waits for rank 1, since @ms. */
static struct coll_admin_answer answer_of(unsigned int rank, uint64_t counted, uint64_t oldest,
					  unsigned int ms)
{
	return (struct coll_admin_answer){
		.group = "group",
		.rank = rank,
		.answered = true,
		.own_pid = 100 + rank,
		.node = "node",
		.state = COLL_ADMIN_STATE_UP,
		.inflight = oldest != IDLE,
		.counted = counted,
		.submitted.instance = counted - 1,
		.completed.instance = oldest == IDLE ? counted - 1 : oldest - 1,
		.oldest = {
			.instance = oldest,
			.opcode = 1,
			.age_ms = ms,
			.nwaits = 1,
			.waits = { 1 },
		},
	};
}

static void take(struct state *state, unsigned int rank, uint64_t counted, uint64_t oldest,
		 unsigned int ms)
{
	struct coll_admin_answer answer = answer_of(rank, counted, oldest, ms);

	judge_take(&answer, state);
}

static void take_nothing(struct state *state, unsigned int rank)
{
	struct coll_admin_answer answer = { .group = "group", .rank = rank, .node = "" };

	judge_take(&answer, state);
}

TEST_F(answers, one_query)
{
	struct state *state = self->state;

	judge_query_begin(state);
	take(state, 0, 18, 17, 1500);
	take(state, 1, 17, IDLE, 0);
	take(state, 2, 18, 17, 1400);
	EXPECT_TRUE(judge_query_end(state));
	EXPECT_EQ(VERDICT_INCOMPLETE, judge(state));
	EXPECT_NE(NULL, strstr(state->text, "rank 1 (pid 101 on node) has not called"));
	EXPECT_NE(NULL, strstr(state->text, "; 2 ranks have waited 1.5"));
	EXPECT_EQ(1, state->culprit);
}

/* An operation that was young when a kept answer was made may be over. */
TEST_F(answers, kept)
{
	struct coll_admin_answer kept = answer_of(0, 18, 17, 60);
	struct state *state = self->state;

	kept.age_ns = 950000000;
	judge_query_begin(state);
	judge_take(&kept, state);
	take(state, 1, 17, IDLE, 0);
	take(state, 2, 18, 17, 60);
	EXPECT_TRUE(judge_query_end(state));
	EXPECT_EQ(VERDICT_OK, judge(state));
}

/* Rank 0 waited when the first query came; when the second one came, its operation was over. */
TEST_F(answers, over_meanwhile)
{
	struct state *state = self->state;

	judge_query_begin(state);
	take(state, 0, 18, 17, 1500);
	take(state, 2, 18, 17, 1500);
	take_nothing(state, 1);
	EXPECT_FALSE(judge_query_end(state));
	judge_query_begin(state);
	take(state, 1, 31, IDLE, 0);
	take(state, 2, 31, IDLE, 0);
	EXPECT_FALSE(judge_query_end(state));
	EXPECT_EQ(0, state->missing);
	EXPECT_EQ(VERDICT_OK, judge(state));
	EXPECT_NE(NULL, strstr(state->text, "all 3 ranks answer, and nothing waits"));
}

/* Rank 1 had not called when the first query came, and may have when the second one came. */
TEST_F(answers, called_meanwhile)
{
	struct state *state = self->state;

	judge_query_begin(state);
	take(state, 0, 17, IDLE, 0);
	take(state, 1, 17, IDLE, 0);
	EXPECT_FALSE(judge_query_end(state));
	judge_query_begin(state);
	take(state, 0, 18, 17, 1100);
	take(state, 2, 18, 17, 1100);
	EXPECT_FALSE(judge_query_end(state));
	EXPECT_EQ(VERDICT_SLOW, judge(state));
	EXPECT_NE(NULL, strstr(state->text, "#17 is in progress for 1.1"));
	EXPECT_NE(NULL, strstr(state->text, "; rank 0 waits for rank 1"));
}

/* A query that lost most answers says less than the one before. */
TEST_F(answers, lost)
{
	struct state *state = self->state;

	judge_query_begin(state);
	take(state, 0, 18, 17, 1500);
	take(state, 1, 17, IDLE, 0);
	EXPECT_FALSE(judge_query_end(state));
	judge_query_begin(state);
	take(state, 2, 18, 17, 2500);
	EXPECT_FALSE(judge_query_end(state));
	judge_query_begin(state);
	EXPECT_FALSE(judge_query_end(state));
	EXPECT_EQ(0, state->missing);
	EXPECT_EQ(VERDICT_INCOMPLETE, judge(state));
	EXPECT_NE(NULL, strstr(state->text, "rank 1 (pid 101 on node) has not called"));
}

/* A group that has failed stays so, whichever query is judged. */
TEST_F(answers, dead)
{
	struct coll_admin_answer failed = answer_of(0, 18, IDLE, 0);
	struct state *state = self->state;

	failed.reason = (struct coll_admin_reason){
		.kind = COLL_ADMIN_REASON_DEATH,
		.rank_a = 2,
		.rank_b = COLL_ADMIN_NONE,
		.instance = COLL_ADMIN_NO_INSTANCE,
	};
	judge_query_begin(state);
	judge_take(&failed, state);
	judge_query_end(state);
	judge_query_begin(state);
	take(state, 1, 18, 17, 1500);
	judge_query_end(state);
	EXPECT_EQ(1, state->missing);
	EXPECT_EQ(VERDICT_DEAD, judge(state));
	EXPECT_NE(NULL, strstr(state->text, "the group has failed: "));
	EXPECT_EQ(2, state->culprit);
}

TEST_F(answers, silent)
{
	struct state *state = self->state;
	unsigned int n;

	for (n = 0; n < 3; n++) {
		judge_query_begin(state);
		take(state, 0, 18, IDLE, 0);
		take(state, 1, 18, IDLE, 0);
		take_nothing(state, 2);
		EXPECT_FALSE(judge_query_end(state));
	}
	EXPECT_EQ(1, state->missing);
	EXPECT_EQ(VERDICT_INCOMPLETE, judge(state));
	EXPECT_NE(NULL, strstr(state->text, "rank 2 does not answer"));
}

/* Rank 2 does not answer, and then the group cannot be asked any more. */
static int refuse_again(const char *group, struct state *state, unsigned int nth)
{
	if (nth)
		return -ENOTCONN;
	take(state, 0, 18, 17, 1500);
	take(state, 1, 17, IDLE, 0);
	take_nothing(state, 2);
	return 1;
}

TEST_F(answers, refused_again)
{
	ASSERT_EQ(0, judge_ask(self->state, "group", refuse_again));
	EXPECT_EQ(1, self->state->missing);
	EXPECT_EQ(VERDICT_INCOMPLETE, judge(self->state));
	EXPECT_NE(NULL, strstr(self->state->text, "rank 1 (pid 101 on node) has not called"));
}

static int refuse(const char *group, struct state *state, unsigned int nth)
{
	return -ENOTCONN;
}

TEST_F(answers, refused)
{
	EXPECT_EQ(-ENOTCONN, judge_ask(self->state, "group", refuse));
}

static int lose_one(const char *group, struct state *state, unsigned int nth)
{
	take(state, 0, 18, IDLE, 0);
	take(state, 1, 18, IDLE, 0);
	if (nth)
		take(state, 2, 18, IDLE, 0);
	return !nth;
}

TEST_F(answers, asked_again)
{
	ASSERT_EQ(0, judge_ask(self->state, "group", lose_one));
	EXPECT_EQ(3, self->state->answers);
	EXPECT_EQ(VERDICT_OK, judge(self->state));
}

/* Two connections from 10.0.0.1 to 10.0.0.2: the control connection, and that of lane 0. */
static void take_link(struct state *state, unsigned int control, unsigned int data)
{
	struct coll_admin_connection connections[] = {
		{ .lane = COLL_ADMIN_NONE, .has_tcp = true },
		{ .lane = 0, .has_tcp = true },
	};
	const unsigned int unanswered[] = { control, data };
	const struct coll_admin_link link = {
		.group = "group",
		.rank = 0,
		.peer = 1,
		.n = 2,
		.connection = connections,
		.unanswered = unanswered,
	};
	unsigned int i;

	for (i = 0; i < 2; i++) {
		*(struct sockaddr_in *)&connections[i].local = (struct sockaddr_in){
			.sin_family = AF_INET,
			.sin_port = htons(4000 + i),
			.sin_addr.s_addr = htonl(0x0a000001),
		};
		*(struct sockaddr_in *)&connections[i].peer = (struct sockaddr_in){
			.sin_family = AF_INET,
			.sin_port = htons(7001),
			.sin_addr.s_addr = htonl(0x0a000002),
		};
	}
	judge_take_link(&link, state);
}

static void take_all(struct state *state, unsigned int ms)
{
	unsigned int rank;

	judge_query_begin(state);
	for (rank = 0; rank < NRANKS; rank++)
		take(state, rank, 18, ms ? 17 : IDLE, ms);
	judge_query_end(state);
}

TEST_F(answers, data_unanswered)
{
	struct state *state = self->state;

	take_all(state, 3000);
	take_link(state, 0, 5);
	EXPECT_EQ(VERDICT_SLOW, judge(state));
	EXPECT_NE(NULL, strstr(state->text, "; rank 0 at 10.0.0.1:4001 has sent again 5 times"));
	EXPECT_NE(NULL, strstr(state->text, "without an answer to rank 1 at 10.0.0.2:7001: has a"));
	EXPECT_NE(NULL, strstr(state->text, "(MTU)"));
}

TEST_F(answers, control_unanswered)
{
	struct state *state = self->state;

	take_all(state, 3000);
	take_link(state, 6, 5);
	EXPECT_EQ(VERDICT_SLOW, judge(state));
	EXPECT_NE(NULL, strstr(state->text, "; rank 0 at 10.0.0.1:4000 has sent again 6 times"));
	EXPECT_EQ(NULL, strstr(state->text, "MTU"));
}

/* A lost packet is no reason to say anything, and nor is silence while nothing waits. */
TEST_F(answers, hardly_unanswered)
{
	struct state *state = self->state;

	take_all(state, 3000);
	take_link(state, 1, 2);
	EXPECT_EQ(VERDICT_SLOW, judge(state));
	EXPECT_EQ(NULL, strstr(state->text, "sent again"));
}

TEST_F(answers, unanswered_and_idle)
{
	struct state *state = self->state;

	take_all(state, 0);
	take_link(state, 0, 5);
	EXPECT_EQ(VERDICT_OK, judge(state));
	EXPECT_EQ(NULL, strstr(state->text, "sent again"));
}

TEST_HARNESS_MAIN
