// SPDX-License-Identifier: LGPL-2.1-or-later
/* Queries: every rank of a group is asked, on all hosts. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "admin.h"

/* Times between two looks at the answers; ms. */
#define LOOK_FIRST	2
#define LOOK_MOST	50

/**
 * struct query - a query in progress
 * @rank: rank of this host that asks
 * @pending: true if more answers may come
 * @ranks: ranks of the group; 0: the rank that asks has gone
 * @missing: ranks that have not answered
 * @each: function of the user; NULL: answers are only counted
 * @arg: for it
 */
struct query {
	unsigned int rank;
	bool pending;
	unsigned int ranks;
	unsigned int missing;
	int (*each)(const struct coll_admin_answer *answer, void *arg);
	void *arg;
};

static int take_query(struct nlattr **attrs, void *ctx)
{
	struct query *query = ctx;

	query->rank = attr_u32(attrs[COLLECTIVE_A_ANSWER_RANK], COLL_ADMIN_NONE);
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
	};
	parse_operation(attrs[COLLECTIVE_A_ANSWER_SUBMITTED], &answer->submitted);
	parse_operation(attrs[COLLECTIVE_A_ANSWER_COMPLETED], &answer->completed);
	parse_operation(attrs[COLLECTIVE_A_ANSWER_OLDEST], &answer->oldest);
	parse_reason(attrs[COLLECTIVE_A_ANSWER_REASON], &answer->reason);
	parse_reason(attrs[COLLECTIVE_A_ANSWER_LAST_FAILURE], &answer->last);
}

static int take_answer(struct nlattr **attrs, void *ctx)
{
	struct coll_admin_answer answer;
	struct query *query = ctx;

	parse_answer(attrs, &answer);
	query->pending |= !!attrs[COLLECTIVE_A_ANSWER_PENDING];
	query->ranks++;
	query->missing += !answer.answered;
	return query->each ? query->each(&answer, query->arg) : 0;
}

/* Reads the answers that there are. */
static int look(struct coll_admin *admin, const char *group, struct query *query)
{
	struct nl_msg *msg = admin_message(admin, COLLECTIVE_CMD_ANSWER_GET,
					   NLM_F_REQUEST | NLM_F_DUMP, group);
	struct answer answer = { .take = take_answer, .ctx = query };

	query->pending = false;
	query->ranks = 0;
	query->missing = 0;
	if (msg)
		nla_put_u32(msg, COLLECTIVE_A_ANSWER_RANK, query->rank);
	return admin_call(admin, msg, &answer);
}

static void sleep_ms(unsigned int ms)
{
	const struct timespec time = { .tv_nsec = ms * 1000000L };

	nanosleep(&time, NULL);
}

int coll_admin_query(struct coll_admin *admin, const char *group, unsigned int timeout_ms,
		     int (*each)(const struct coll_admin_answer *answer, void *arg), void *arg)
{
	struct query query = { .rank = COLL_ADMIN_NONE };
	struct answer answer = { .take = take_query, .ctx = &query };
	unsigned int pause = LOOK_FIRST, waited = 0;
	int err;

	if (!group)
		return admin_fail(admin, -EINVAL, "a query is about one group");
	err = admin_call(admin, admin_message(admin, COLLECTIVE_CMD_QUERY,
					      NLM_F_REQUEST | NLM_F_ACK, group), &answer);
	if (err < 0)
		return err;
	for (;;) {
		err = look(admin, group, &query);
		if (err < 0)
			return err;
		if (!query.pending || waited >= timeout_ms)
			break;
		pause = pause < timeout_ms - waited ? pause : timeout_ms - waited;
		sleep_ms(pause);
		waited += pause;
		pause = 2 * pause < LOOK_MOST ? 2 * pause : LOOK_MOST;
	}
	query.each = each;
	query.arg = arg;
	err = look(admin, group, &query);
	if (err >= 0 && !query.ranks)
		return admin_fail(admin, -ENOTCONN, "the rank that has asked is gone");
	return err < 0 || err > 1 ? err : !!query.missing;
}
