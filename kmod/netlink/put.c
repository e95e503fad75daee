// SPDX-License-Identifier: GPL-2.0-only
/* Messages, the attributes that several objects share, groups and records. */
#include <linux/cred.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "member/group.h"
#include "member/member.h"
#include "netlink/generated.h"
#include "netlink/family.h"
#include "trace/record.h"
#include "trace/recorder.h"

/**
 * coll_message_begin() - begin a message about an object of a group
 * @message: its fields but @header are set; the attributes of the group and its owner are added
 *
 * Return: 0 or -EMSGSIZE.
 */
int coll_message_begin(struct coll_message *message)
{
	message->header = genlmsg_put(message->skb, NETLINK_CB(message->cb->skb).portid,
				      message->cb->nlh->nlmsg_seq, &collective_nl_family,
				      NLM_F_MULTI, message->cmd);
	if (!message->header)
		return -EMSGSIZE;
	genl_dump_check_consistent(message->cb, message->header);
	if (nla_put_string(message->skb, COLLECTIVE_A_GROUP_GROUP, message->group->name) ||
	    nla_put_u32(message->skb, message->owner_attr, coll_group_owner(message->group)))
		return coll_message_end(message, -EMSGSIZE);
	return 0;
}

/**
 * coll_message_end() - end a message, or drop it if it has no place
 * @message: after coll_message_begin()
 * @err: 0, or not 0 if an attribute had no place
 *
 * Return: 0 or -EMSGSIZE.
 */
int coll_message_end(struct coll_message *message, int err)
{
	if (err) {
		genlmsg_cancel(message->skb, message->header);
		return -EMSGSIZE;
	}
	genlmsg_end(message->skb, message->header);
	return 0;
}

static bool put_rank(struct sk_buff *skb, int attr, u32 rank)
{
	return rank != COLLECTIVE_RANK_NONE && nla_put_u32(skb, attr, rank);
}

/**
 * coll_put_reason() - add a reason
 * @skb: the message
 * @attr: number of the attribute
 * @reason: not added if its kind is NONE
 * @instance: the operation; COLL_INSTANCE_GROUP: the whole group
 *
 * Return: 0 or -EMSGSIZE.
 */
int coll_put_reason(struct sk_buff *skb, int attr, const struct coll_reason *reason, u64 instance)
{
	struct nlattr *nest;

	if (reason->kind == COLLECTIVE_REASON_NONE)
		return 0;
	nest = nla_nest_start(skb, attr);
	if (!nest || nla_put_u32(skb, COLLECTIVE_A_REASON_KIND, reason->kind) ||
	    nla_put_u32(skb, COLLECTIVE_A_REASON_ERROR, reason->error) ||
	    put_rank(skb, COLLECTIVE_A_REASON_RANK_A, reason->rank_a) ||
	    put_rank(skb, COLLECTIVE_A_REASON_RANK_B, reason->rank_b) ||
	    (instance != COLL_INSTANCE_GROUP &&
	     nla_put_uint(skb, COLLECTIVE_A_REASON_INSTANCE, instance)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/**
 * coll_put_call() - add the call of a rank
 * @skb: the message
 * @attr: number of the attribute
 * @call: not added if its rank is COLLECTIVE_RANK_NONE
 *
 * Return: 0 or -EMSGSIZE.
 */
int coll_put_call(struct sk_buff *skb, int attr, const struct coll_rank_call *call)
{
	const struct coll_signature *signature = &call->signature;
	struct nlattr *nest;

	if (call->rank == COLLECTIVE_RANK_NONE)
		return 0;
	nest = nla_nest_start(skb, attr);
	if (!nest || nla_put_u32(skb, COLLECTIVE_A_CALL_RANK, call->rank) ||
	    nla_put_u32(skb, COLLECTIVE_A_CALL_OPCODE, signature->collective) ||
	    nla_put_u32(skb, COLLECTIVE_A_CALL_TYPE, signature->type) ||
	    nla_put_u32(skb, COLLECTIVE_A_CALL_REDUCTION, signature->reduction) ||
	    nla_put_u32(skb, COLLECTIVE_A_CALL_ALGORITHM, signature->algorithm) ||
	    nla_put_u32(skb, COLLECTIVE_A_CALL_FLAGS, signature->flags) ||
	    nla_put_u32(skb, COLLECTIVE_A_CALL_ROOT, signature->root) ||
	    nla_put_uint(skb, COLLECTIVE_A_CALL_COUNT, signature->count) ||
	    (signature->layout &&
	     nla_put_uint(skb, COLLECTIVE_A_CALL_LAYOUT, signature->layout)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/**
 * coll_put_ranks() - add ranks, an attribute for each
 * @skb: the message
 * @attr: number of the attribute
 * @ranks: the ranks
 * @n: number of them
 *
 * Return: 0 or -EMSGSIZE.
 */
int coll_put_ranks(struct sk_buff *skb, int attr, const u32 *ranks, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (nla_put_u32(skb, attr, ranks[i]))
			return -EMSGSIZE;
	return 0;
}

/**
 * coll_put_addr() - add an address of TCP
 * @skb: the message
 * @attr: number of the attribute
 * @addr: not added if it is none of IPv4 or IPv6
 *
 * Return: 0 or -EMSGSIZE.
 */
int coll_put_addr(struct sk_buff *skb, int attr, const struct sockaddr_storage *addr)
{
	switch (addr->ss_family) {
	case AF_INET:
		return nla_put(skb, attr, sizeof(struct sockaddr_in), addr);
	case AF_INET6:
		return nla_put(skb, attr, sizeof(struct sockaddr_in6), addr);
	}
	return 0;
}

static bool put_defaults(struct sk_buff *skb, const struct coll_defaults *defaults)
{
	u32 slow = defaults->slow_percent == COLL_DEFAULT_UNSET ? COLL_DEFAULT_SLOW_PERCENT :
								   defaults->slow_percent;

	return (defaults->has_timeout &&
		nla_put_u32(skb, COLLECTIVE_A_GROUP_TIMEOUT_MS, defaults->timeout_ms)) ||
	       nla_put_u32(skb, COLLECTIVE_A_GROUP_SLOW_PERCENT, slow);
}

/**
 * coll_group_owner() - number of the user that owns a group
 * @group: the group
 *
 * A message may have several readers, in several user namespaces: all get the user id of the one
 * that owns the network namespace.
 */
u32 coll_group_owner(const struct coll_group *group)
{
	return from_kuid_munged(group->net->user_ns, group->owner);
}

/**
 * coll_put_group() - add the message of a group
 * @message: see struct coll_message
 * @group: the group
 *
 * Return: 0 or -EMSGSIZE.
 */
int coll_put_group(struct coll_message *message, struct coll_group *group)
{
	struct sk_buff *skb = message->skb;
	int err = coll_message_begin(message);

	if (err)
		return err;
	err = (message->owned && nla_put_uint(skb, COLLECTIVE_A_GROUP_ID, group->id)) ||
	      nla_put_u32(skb, COLLECTIVE_A_GROUP_SIZE, group->nranks) ||
	      nla_put_u32(skb, COLLECTIVE_A_GROUP_LANES, group->lanes) ||
	      nla_put_u32(skb, COLLECTIVE_A_GROUP_MEMBERS, list_count_nodes(&group->members)) ||
	      (memchr_inv(group->secret, 0, sizeof(group->secret)) &&
	       nla_put_flag(skb, COLLECTIVE_A_GROUP_SECURED)) ||
	      put_defaults(skb, &group->defaults);
	return coll_message_end(message, err);
}

static struct coll_reason record_reason(const struct coll_record *record)
{
	return (struct coll_reason){
		.kind = record->reason,
		.error = record->error,
		.rank_a = record->rank_a,
		.rank_b = record->rank_b,
	};
}

static int put_submit(struct sk_buff *skb, const struct coll_record *record, u32 rank)
{
	struct coll_rank_call call = {
		.rank = rank,
		.signature = {
			.collective = record->opcode,
			.type = record->type,
			.reduction = record->reduction,
			.flags = record->flags,
			.root = record->rank_a,
			.count = record->count,
		},
	};

	return coll_put_call(skb, COLLECTIVE_A_RECORD_CALL, &call) ||
	       nla_put_uint(skb, COLLECTIVE_A_RECORD_BYTES, record->bytes);
}

/* The attributes that depend on the kind. */
static int put_record_kind(struct sk_buff *skb, const struct coll_record *record, u32 rank)
{
	struct coll_reason reason = record_reason(record);

	switch (record->kind) {
	case COLL_RECORD_STATE:
		return nla_put_u32(skb, COLLECTIVE_A_RECORD_STATE, record->state);
	case COLL_RECORD_LINK:
		return nla_put_u32(skb, COLLECTIVE_A_RECORD_PEER, record->rank_a) ||
		       nla_put_u32(skb, COLLECTIVE_A_RECORD_CHANGE, record->state) ||
		       nla_put_u32(skb, COLLECTIVE_A_RECORD_ERROR, record->error);
	case COLL_RECORD_ABORT:
		return coll_put_reason(skb, COLLECTIVE_A_RECORD_REASON, &reason,
				       COLL_INSTANCE_GROUP);
	case COLL_RECORD_GONE:
		return 0;
	}
	if (nla_put_uint(skb, COLLECTIVE_A_RECORD_INSTANCE, record->instance))
		return -EMSGSIZE;
	switch (record->kind) {
	case COLL_RECORD_SUBMIT:
		return put_submit(skb, record, rank);
	case COLL_RECORD_FAIL:
		return coll_put_reason(skb, COLLECTIVE_A_RECORD_REASON, &reason, record->instance);
	case COLL_RECORD_DONE:
		return nla_put_u32(skb, COLLECTIVE_A_RECORD_ERROR, record->error) ||
		       coll_put_reason(skb, COLLECTIVE_A_RECORD_REASON, &reason, record->instance);
	case COLL_RECORD_ABSENT:
		return nla_put_u32(skb, COLLECTIVE_A_RECORD_PEER, record->rank_a);
	}
	return 0;
}

static int put_record(struct coll_message *message, const struct coll_record *record, u32 rank,
		      u64 number)
{
	struct sk_buff *skb = message->skb;
	int err = coll_message_begin(message);

	if (err)
		return err;
	err = nla_put_u32(skb, COLLECTIVE_A_RECORD_RANK, rank) ||
	      nla_put_uint(skb, COLLECTIVE_A_RECORD_NUMBER, number) ||
	      nla_put_u32(skb, COLLECTIVE_A_RECORD_KIND, record->kind) ||
	      nla_put_uint(skb, COLLECTIVE_A_RECORD_TIME_NS, record->ns) ||
	      put_record_kind(skb, record, rank);
	return coll_message_end(message, err);
}

/**
 * coll_put_records() - add the messages of a flight recorder
 * @message: see struct coll_message
 * @dump: @item is the number of the record to go on with
 * @recorder: the recorder
 *
 * Return: 0 or -EMSGSIZE.
 */
int coll_put_records(struct coll_message *message, struct coll_dump *dump,
		     struct coll_recorder *recorder)
{
	struct coll_record record;
	int err;

	/* The kinds are numbered the same. */
	static_assert((int)COLL_RECORD_GONE == (int)COLLECTIVE_RECORD_KIND_GONE);
	static_assert((int)COLL_LINK_DOWN == (int)COLLECTIVE_LINK_CHANGE_DOWN);
	while (coll_recorder_get(recorder, &dump->item, &record) && record.ns <= dump->until) {
		err = put_record(message, &record, coll_recorder_rank(recorder), dump->item);
		if (err)
			return err;
		dump->item++;
	}
	return 0;
}
