// SPDX-License-Identifier: LGPL-2.1-or-later
/* Queries: every rank of a group is asked, on all hosts. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "admin.h"

/* Times between two looks at the answers; ms. */
#define LOOK_FIRST	2
#define LOOK_MOST	50

static_assert(COLLECTIVE_A_ANSWER_MAX <= ATTRS_MAX, "all attributes are parsed");

/* Times that a query is begun again, because its rank has gone or has asked again. */
#define RESTARTS	3

/**
 * struct kept - an answer that the library keeps
 * @answer: it; its texts are those below
 * @group: name of the group
 * @node: name of the host
 */
struct kept {
	struct coll_admin_answer answer;
	char group[COLL_ADMIN_GROUP_SIZE];
	char node[80];
};

/**
 * struct query - a query in progress
 * @rank: rank of this host that asks
 * @number: of the query, of those of this rank
 * @pending: true if more answers may come
 * @overtaken: true if answers to another query were seen
 * @kept: the answers of all ranks, at the latest look
 * @ranks: entries of @kept; 0: the rank that asks has gone
 * @missing: ranks that have not answered
 */
struct query {
	unsigned int rank;
	unsigned int number;
	bool pending;
	bool overtaken;
	struct kept *kept;
	unsigned int ranks;
	unsigned int missing;
};

static int take_query(struct nlattr **attrs, void *ctx)
{
	struct query *query = ctx;

	query->rank = attr_u32(attrs[COLLECTIVE_A_ANSWER_RANK], COLL_ADMIN_NONE);
	query->number = attr_u32(attrs[COLLECTIVE_A_ANSWER_NUMBER], 0);
	return 0;
}

static void parse_operation(struct nlattr *attr, struct coll_admin_operation *operation)
{
	struct nlattr *attrs[COLLECTIVE_A_OPERATION_MAX + 1] = { 0 };

	operation->instance = COLL_ADMIN_NO_INSTANCE;
	if (!attr || nla_parse_nested(attrs, COLLECTIVE_A_OPERATION_MAX, attr, NULL))
		return;
	/* For attr_u32s(). */
	attrs[0] = nla_data(attr);
	operation->instance = attr_uint(attrs[COLLECTIVE_A_OPERATION_INSTANCE],
					COLL_ADMIN_NO_INSTANCE);
	operation->opcode = attr_u32(attrs[COLLECTIVE_A_OPERATION_OPCODE], 0);
	operation->age_ms = attr_uint(attrs[COLLECTIVE_A_OPERATION_AGE_MS], 0);
	operation->state = attr_u32(attrs[COLLECTIVE_A_OPERATION_STATE], 0);
	operation->kind = attr_u32(attrs[COLLECTIVE_A_OPERATION_KIND], 0);
	operation->nwaits = attr_u32s(attrs, COLLECTIVE_A_OPERATION_WAITS_FOR, operation->waits,
				      COLL_ADMIN_WAITS);
}

static void parse_longest(struct nlattr **attrs, struct coll_admin_answer *answer)
{
	struct nlattr *found[COLL_ADMIN_LONGEST];
	unsigned int i;

	answer->nlongest = attr_all(attrs, COLLECTIVE_A_ANSWER_WAITED, found, COLL_ADMIN_LONGEST);
	for (i = 0; i < answer->nlongest; i++)
		parse_wait(found[i], &answer->longest[i]);
}

static void parse_answer(struct nlattr **attrs, struct coll_admin_answer *answer)
{
	struct nlattr *node = attrs[COLLECTIVE_A_ANSWER_NODE];

	*answer = (struct coll_admin_answer){
		.group = attrs[COLLECTIVE_A_ANSWER_GROUP] ?
			 nla_get_string(attrs[COLLECTIVE_A_ANSWER_GROUP]) : "",
		.asker = attr_u32(attrs[COLLECTIVE_A_ANSWER_RANK], COLL_ADMIN_NONE),
		.rank = attr_u32(attrs[COLLECTIVE_A_ANSWER_PEER], COLL_ADMIN_NONE),
		.answered = attrs[COLLECTIVE_A_ANSWER_AGE_NS],
		.age_ns = attr_uint(attrs[COLLECTIVE_A_ANSWER_AGE_NS], 0),
		.pid = attr_u32(attrs[COLLECTIVE_A_ANSWER_PID], 0),
		.own_pid = attr_u32(attrs[COLLECTIVE_A_ANSWER_OWN_PID], 0),
		.node = node ? nla_get_string(node) : "",
		.state = attr_u32(attrs[COLLECTIVE_A_ANSWER_STATE], 0),
		.stopped = attrs[COLLECTIVE_A_ANSWER_STOPPED],
		.inflight = attr_u32(attrs[COLLECTIVE_A_ANSWER_INFLIGHT], 0),
		.counted = attr_uint(attrs[COLLECTIVE_A_ANSWER_COUNTED], 0),
		.reason_age_ms = attr_uint(attrs[COLLECTIVE_A_ANSWER_REASON_AGE_MS], 0),
		.failure_age_ms = attr_uint(attrs[COLLECTIVE_A_ANSWER_FAILURE_AGE_MS], 0),
		.waited_ns = attr_uint(attrs[COLLECTIVE_A_ANSWER_WAITED_NS], 0),
		.called_ms = attr_u32(attrs[COLLECTIVE_A_ANSWER_CALLED_MS], 0),
		.span_ms = attr_u32(attrs[COLLECTIVE_A_ANSWER_SPAN_MS], 0),
		.links.far = attr_u32(attrs[COLLECTIVE_A_ANSWER_FAR], COLL_ADMIN_NONE),
		.links.far_us = attr_u32(attrs[COLLECTIVE_A_ANSWER_FAR_US], 0),
		.links.near_us = attr_u32(attrs[COLLECTIVE_A_ANSWER_NEAR_US], 0),
		.links.lossy = attr_u32(attrs[COLLECTIVE_A_ANSWER_LOSSY], COLL_ADMIN_NONE),
		.links.lost = attr_u32(attrs[COLLECTIVE_A_ANSWER_LOST], 0),
		.links.narrow = attr_u32(attrs[COLLECTIVE_A_ANSWER_NARROW], COLL_ADMIN_NONE),
		.links.narrow_ms = attr_u32(attrs[COLLECTIVE_A_ANSWER_NARROW_MS], 0),
		.links.narrow_kib = attr_u32(attrs[COLLECTIVE_A_ANSWER_NARROW_KIB], 0),
		.links.wide_kib = attr_u32(attrs[COLLECTIVE_A_ANSWER_WIDE_KIB], 0),
	};
	parse_operation(attrs[COLLECTIVE_A_ANSWER_SUBMITTED], &answer->submitted);
	parse_operation(attrs[COLLECTIVE_A_ANSWER_COMPLETED], &answer->completed);
	parse_operation(attrs[COLLECTIVE_A_ANSWER_OLDEST], &answer->oldest);
	parse_reason(attrs[COLLECTIVE_A_ANSWER_REASON], &answer->reason);
	parse_reason(attrs[COLLECTIVE_A_ANSWER_LAST_FAILURE], &answer->last);
	parse_longest(attrs, answer);
}

static int keep_answer(struct query *query, const struct coll_admin_answer *answer)
{
	struct kept *kept = reallocarray(query->kept, query->ranks + 1, sizeof(*kept));

	if (!kept)
		return -ENOMEM;
	query->kept = kept;
	kept += query->ranks++;
	kept->answer = *answer;
	snprintf(kept->group, sizeof(kept->group), "%s", answer->group);
	snprintf(kept->node, sizeof(kept->node), "%s", answer->node);
	return 0;
}

static int take_answer(struct nlattr **attrs, void *ctx)
{
	struct coll_admin_answer answer;
	struct query *query = ctx;

	query->overtaken |= attr_u32(attrs[COLLECTIVE_A_ANSWER_NUMBER], 0) != query->number;
	query->pending |= !!attrs[COLLECTIVE_A_ANSWER_PENDING];
	parse_answer(attrs, &answer);
	query->missing += !answer.answered;
	return keep_answer(query, &answer);
}

/* Reads the answers that there are.  Return: 0 or a negative errno. */
static int look(struct coll_admin *admin, const char *group, struct query *query)
{
	struct nl_msg *msg = admin_message(admin, COLLECTIVE_CMD_ANSWER_GET,
					   NLM_F_REQUEST | NLM_F_DUMP, group);
	struct answer answer = { .take = take_answer, .ctx = query };
	int err;

	query->pending = false;
	query->overtaken = false;
	query->ranks = 0;
	query->missing = 0;
	if (msg)
		nla_put_u32(msg, COLLECTIVE_A_ANSWER_RANK, query->rank);
	err = admin_call(admin, msg, &answer);
	return err < 0 ? err : 0;
}

static void sleep_ms(unsigned int ms)
{
	const struct timespec time = { .tv_nsec = ms * 1000000L };

	nanosleep(&time, NULL);
}

/* Looks until no more answers can come.  Return: 0 or a negative errno. */
static int await_answers(struct coll_admin *admin, const char *group, struct query *query,
			 unsigned int timeout_ms)
{
	unsigned int pause = LOOK_FIRST, waited = 0;
	int err;

	for (;;) {
		err = look(admin, group, query);
		if (err || !query->pending || query->overtaken || waited >= timeout_ms)
			return err;
		pause = pause < timeout_ms - waited ? pause : timeout_ms - waited;
		sleep_ms(pause);
		waited += pause;
		pause = 2 * pause < LOOK_MOST ? 2 * pause : LOOK_MOST;
	}
}

/*
 * Asks, and waits for the answers.  If the rank has asked again meanwhile for another program, the
 * answers to this query are gone, and those to the other one are taken.  If the rank is gone,
 * another one asks.  Return: 0 or a negative errno.
 */
static int ask(struct coll_admin *admin, const char *group, struct query *query,
	       unsigned int timeout_ms)
{
	unsigned int n;
	int err;

	for (n = 0; n < RESTARTS; n++) {
		struct answer answer = { .take = take_query, .ctx = query };

		err = admin_call(admin, admin_message(admin, COLLECTIVE_CMD_QUERY,
						      NLM_F_REQUEST | NLM_F_ACK, group), &answer);
		if (err >= 0)
			err = await_answers(admin, group, query, timeout_ms);
		if (err < 0 || (query->ranks && !query->overtaken))
			return err;
	}
	if (!query->ranks)
		return admin_fail(admin, -ENOTCONN, "the rank that has asked is gone");
	return admin_fail(admin, -EBUSY,
			  "the queries of other programs leave no time for this one");
}

int coll_admin_query(struct coll_admin *admin, const char *group, unsigned int timeout_ms,
		     int (*each)(const struct coll_admin_answer *answer, void *arg), void *arg)
{
	struct query query = { .rank = COLL_ADMIN_NONE };
	unsigned int i;
	int err;

	if (!group)
		return admin_fail(admin, -EINVAL, "a query is about one group");
	err = ask(admin, group, &query, timeout_ms);
	for (i = 0; !err && i < query.ranks; i++) {
		query.kept[i].answer.group = query.kept[i].group;
		query.kept[i].answer.node = query.kept[i].node;
		err = each(&query.kept[i].answer, arg);
	}
	free(query.kept);
	return err ? err : !!query.missing;
}
