// SPDX-License-Identifier: GPL-2.0-only
/* Queries: a rank of this host asks all ranks of its group, and what they have answered. */
#include <linux/ktime.h>

#include "member/query_member.h"
#include "member/group.h"
#include "member/member.h"
#include "netlink/family.h"
#include "netlink/generated.h"

/* Frees the message if it has no place.  Return: 0 or a negative errno. */
static int query_reply(struct genl_info *info, const char *group, u32 owner, u32 rank,
		       u32 number)
{
	struct sk_buff *skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	void *header = skb ? genlmsg_put_reply(skb, info, &collective_nl_family, 0,
					       COLLECTIVE_CMD_QUERY) : NULL;

	if (!header || nla_put_string(skb, COLLECTIVE_A_ANSWER_GROUP, group) ||
	    nla_put_u32(skb, COLLECTIVE_A_ANSWER_RANK, rank) ||
	    nla_put_u32(skb, COLLECTIVE_A_ANSWER_NUMBER, number) ||
	    nla_put_u32(skb, COLLECTIVE_A_ANSWER_OWNER, owner)) {
		nlmsg_free(skb);
		return -ENOMEM;
	}
	genlmsg_end(skb, header);
	return genlmsg_reply(skb, info);
}

/* The group is locked.  Return: 0 or a negative errno, with a text. */
static int query_group(struct genl_info *info, const struct coll_group *group, u32 *rank,
		       u32 *number)
{
	struct coll_member *member = coll_member_asker(group);
	int err;

	if (!member || coll_member_hold(member)) {
		NL_SET_ERR_MSG(info->extack, "no rank of this host has called CONNECT");
		return -ENOTCONN;
	}
	err = coll_member_query(member, number);
	if (err)
		NL_SET_ERR_MSG(info->extack, "no memory for the answers of all ranks");
	*rank = member->id.rank;
	coll_member_unuse(member);
	/* The group, which is locked, still has the member. */
	kobject_put(&member->kobj);
	return err;
}

int collective_nl_query_doit(struct sk_buff *skb, struct genl_info *info)
{
	char name[COLL_GROUP_NAME_SIZE];
	struct coll_viewer viewer;
	struct coll_group *group;
	u32 rank, number, owner;
	int err;

	group = coll_change_group(skb, info, COLLECTIVE_A_ANSWER_OWNER, &viewer);
	if (IS_ERR(group))
		return PTR_ERR(group);
	strscpy(name, group->name, sizeof(name));
	err = query_group(info, group, &rank, &number);
	owner = coll_group_owner(group);
	coll_group_unlock(group);
	return err ? err : query_reply(info, name, owner, rank, number);
}

/*
 * Messages
 */

static int put_submitted(struct sk_buff *skb, const struct coll_answer *answer)
{
	struct nlattr *nest;

	if (!answer->has_submitted)
		return 0;
	nest = nla_nest_start(skb, COLLECTIVE_A_ANSWER_SUBMITTED);
	if (!nest ||
	    nla_put_uint(skb, COLLECTIVE_A_OPERATION_INSTANCE, answer->submitted) ||
	    nla_put_u32(skb, COLLECTIVE_A_OPERATION_OPCODE, answer->submitted_opcode) ||
	    nla_put_uint(skb, COLLECTIVE_A_OPERATION_AGE_MS, answer->submit_age_ms))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_completed(struct sk_buff *skb, const struct coll_answer *answer)
{
	struct nlattr *nest;

	if (!answer->has_completed)
		return 0;
	nest = nla_nest_start(skb, COLLECTIVE_A_ANSWER_COMPLETED);
	if (!nest ||
	    nla_put_uint(skb, COLLECTIVE_A_OPERATION_INSTANCE, answer->completed) ||
	    nla_put_u32(skb, COLLECTIVE_A_OPERATION_OPCODE, answer->completed_opcode) ||
	    nla_put_u32(skb, COLLECTIVE_A_OPERATION_KIND, answer->completed_kind))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_oldest(struct sk_buff *skb, const struct coll_answer *answer)
{
	struct nlattr *nest;

	if (!(answer->heard & BIT(COLL_ANSWER_OLDEST)))
		return 0;
	nest = nla_nest_start(skb, COLLECTIVE_A_ANSWER_OLDEST);
	if (!nest ||
	    nla_put_uint(skb, COLLECTIVE_A_OPERATION_INSTANCE, answer->oldest) ||
	    nla_put_u32(skb, COLLECTIVE_A_OPERATION_OPCODE, answer->oldest_opcode) ||
	    nla_put_uint(skb, COLLECTIVE_A_OPERATION_AGE_MS, answer->oldest_age_ms) ||
	    nla_put_u32(skb, COLLECTIVE_A_OPERATION_STATE, answer->oldest_state) ||
	    coll_put_ranks(skb, COLLECTIVE_A_OPERATION_WAITS_FOR, answer->waits, answer->nwaits))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_failure(struct sk_buff *skb, int attr, int age,
		       const struct coll_answer_failure *failure)
{
	const struct coll_reason reason = {
		.kind = failure->kind,
		.error = failure->error,
		.rank_a = failure->rank_a,
		.rank_b = failure->rank_b,
	};

	if (!failure->kind)
		return 0;
	return coll_put_reason(skb, attr, &reason, failure->instance) ||
	       nla_put_uint(skb, age, failure->age_ms);
}

static int put_waited(struct sk_buff *skb, const struct coll_answer *answer)
{
	u32 i;

	if (!(answer->heard & BIT(COLL_ANSWER_WAITED)))
		return 0;
	if (nla_put_uint(skb, COLLECTIVE_A_ANSWER_WAITED_NS, answer->waited_ns))
		return -EMSGSIZE;
	for (i = 0; i < COLL_ANSWER_WAITS && answer->longest[i].ns; i++)
		if (coll_put_wait(skb, COLLECTIVE_A_ANSWER_WAITED, answer->longest[i].rank,
				  answer->longest[i].ns))
			return -EMSGSIZE;
	return 0;
}

static int put_links(struct sk_buff *skb, const struct coll_answer_links *links)
{
	if (links->far_us && (nla_put_u32(skb, COLLECTIVE_A_ANSWER_FAR, links->far) ||
			      nla_put_u32(skb, COLLECTIVE_A_ANSWER_FAR_US, links->far_us) ||
			      nla_put_u32(skb, COLLECTIVE_A_ANSWER_NEAR_US, links->near_us)))
		return -EMSGSIZE;
	if (links->lost && (nla_put_u32(skb, COLLECTIVE_A_ANSWER_LOSSY, links->lossy) ||
			    nla_put_u32(skb, COLLECTIVE_A_ANSWER_LOST, links->lost)))
		return -EMSGSIZE;
	return 0;
}

static int put_rates(struct sk_buff *skb, const struct coll_answer *answer)
{
	const struct coll_answer_links *links = &answer->links;

	if (!(answer->heard & BIT(COLL_ANSWER_RATES)))
		return 0;
	return nla_put_u32(skb, COLLECTIVE_A_ANSWER_NARROW, links->narrow) ||
	       nla_put_u32(skb, COLLECTIVE_A_ANSWER_NARROW_MS, links->narrow_ms) ||
	       nla_put_u32(skb, COLLECTIVE_A_ANSWER_NARROW_KIB, links->narrow_kib) ||
	       nla_put_u32(skb, COLLECTIVE_A_ANSWER_WIDE_KIB, links->wide_kib);
}

static int put_times(struct sk_buff *skb, const struct coll_answer *answer)
{
	if (!(answer->heard & BIT(COLL_ANSWER_TIMES)))
		return 0;
	return nla_put_u32(skb, COLLECTIVE_A_ANSWER_CALLED_MS, answer->called_ms) ||
	       nla_put_u32(skb, COLLECTIVE_A_ANSWER_SPAN_MS, answer->span_ms) ||
	       put_links(skb, &answer->links);
}

static int put_fields(struct sk_buff *skb, const struct coll_answer *answer)
{
	return nla_put_u32(skb, COLLECTIVE_A_ANSWER_PID, answer->pid) ||
	       nla_put_u32(skb, COLLECTIVE_A_ANSWER_OWN_PID, answer->own_pid) ||
	       nla_put_string(skb, COLLECTIVE_A_ANSWER_NODE, answer->node) ||
	       nla_put_u32(skb, COLLECTIVE_A_ANSWER_STATE, answer->state) ||
	       (answer->stopped && nla_put_flag(skb, COLLECTIVE_A_ANSWER_STOPPED)) ||
	       nla_put_u32(skb, COLLECTIVE_A_ANSWER_INFLIGHT, answer->inflight) ||
	       nla_put_uint(skb, COLLECTIVE_A_ANSWER_COUNTED, answer->counted) ||
	       put_submitted(skb, answer) || put_completed(skb, answer) ||
	       put_oldest(skb, answer) ||
	       put_failure(skb, COLLECTIVE_A_ANSWER_REASON, COLLECTIVE_A_ANSWER_REASON_AGE_MS,
			   &answer->group) ||
	       put_failure(skb, COLLECTIVE_A_ANSWER_LAST_FAILURE,
			   COLLECTIVE_A_ANSWER_FAILURE_AGE_MS, &answer->failed) ||
	       put_waited(skb, answer) || put_times(skb, answer) || put_rates(skb, answer);
}

/* A rank of which only some parts have come has not answered. */
static int put_answer(struct coll_message *message, const struct coll_survey *survey, u32 asker,
		      u32 rank, u64 now)
{
	const struct coll_survey_entry *entry = &survey->entries[rank];
	struct sk_buff *skb = message->skb;
	int err = coll_message_begin(message);

	if (err)
		return err;
	err = nla_put_u32(skb, COLLECTIVE_A_ANSWER_RANK, asker) ||
	      nla_put_u32(skb, COLLECTIVE_A_ANSWER_PEER, rank) ||
	      nla_put_u32(skb, COLLECTIVE_A_ANSWER_NUMBER, survey->number) ||
	      (coll_survey_pending(survey, now) &&
	       nla_put_flag(skb, COLLECTIVE_A_ANSWER_PENDING)) ||
	      (coll_answer_complete(&entry->answer) &&
	       (nla_put_uint(skb, COLLECTIVE_A_ANSWER_AGE_NS, now - entry->at) ||
		put_fields(skb, &entry->answer)));
	return coll_message_end(message, err);
}

/**
 * coll_put_answers() - add the messages of the answers to a member's latest query
 * @message: see struct coll_message
 * @dump: @item is the rank to go on with
 * @member: the member
 *
 * Return: 0 or -EMSGSIZE.
 */
int coll_put_answers(struct coll_message *message, struct coll_dump *dump,
		     struct coll_member *member)
{
	struct coll_net_query *query = &member->net.query;
	u64 now;
	int err = 0;

	spin_lock(&query->lock);
	/* Under the lock, so that no answer is newer. */
	now = ktime_get_ns();
	for (; query->survey.number && dump->item < query->survey.nranks; dump->item++) {
		err = put_answer(message, &query->survey, member->id.rank, dump->item, now);
		if (err)
			break;
	}
	spin_unlock(&query->lock);
	return err;
}
