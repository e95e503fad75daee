// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dumps: the walk over groups and members, which continues by serial numbers where the message
 * before ended.
 */
#include <linux/ktime.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "member/group.h"
#include "member/member.h"
#include "netlink/generated.h"
#include "netlink/family.h"

/* A group and a rank have the same attributes in all objects. */
static_assert((int)COLLECTIVE_A_MEMBER_GROUP == (int)COLLECTIVE_A_GROUP_GROUP);
static_assert((int)COLLECTIVE_A_LANE_GROUP == (int)COLLECTIVE_A_GROUP_GROUP);
static_assert((int)COLLECTIVE_A_LINK_GROUP == (int)COLLECTIVE_A_GROUP_GROUP);
static_assert((int)COLLECTIVE_A_REQUEST_GROUP == (int)COLLECTIVE_A_GROUP_GROUP);
static_assert((int)COLLECTIVE_A_BUFFER_GROUP == (int)COLLECTIVE_A_GROUP_GROUP);
static_assert((int)COLLECTIVE_A_RECORD_GROUP == (int)COLLECTIVE_A_GROUP_GROUP);
static_assert((int)COLLECTIVE_A_TIME_GROUP == (int)COLLECTIVE_A_GROUP_GROUP);
static_assert((int)COLLECTIVE_A_ANSWER_GROUP == (int)COLLECTIVE_A_GROUP_GROUP);
static_assert((int)COLLECTIVE_A_LANE_RANK == (int)COLLECTIVE_A_MEMBER_RANK);
static_assert((int)COLLECTIVE_A_LINK_RANK == (int)COLLECTIVE_A_MEMBER_RANK);
static_assert((int)COLLECTIVE_A_REQUEST_RANK == (int)COLLECTIVE_A_MEMBER_RANK);
static_assert((int)COLLECTIVE_A_BUFFER_RANK == (int)COLLECTIVE_A_MEMBER_RANK);
static_assert((int)COLLECTIVE_A_RECORD_RANK == (int)COLLECTIVE_A_MEMBER_RANK);
static_assert((int)COLLECTIVE_A_TIME_RANK == (int)COLLECTIVE_A_MEMBER_RANK);
static_assert((int)COLLECTIVE_A_ANSWER_RANK == (int)COLLECTIVE_A_MEMBER_RANK);

static struct coll_dump *dump_of(struct netlink_callback *cb)
{
	BUILD_BUG_ON(sizeof(struct coll_dump) > sizeof(cb->ctx));
	return (struct coll_dump *)cb->ctx;
}

/* Begins at the group that is asked for.  Return: 0 or a negative errno. */
static int dump_begin(struct coll_dump *dump, struct netlink_callback *cb,
		      const struct coll_object *object, const struct net *net)
{
	struct nlattr **attrs = genl_info_dump(cb)->attrs;
	struct nlattr *name = attrs[COLLECTIVE_A_GROUP_GROUP];
	struct nlattr *rank = object->put_group ? NULL : attrs[COLLECTIVE_A_MEMBER_RANK];
	struct coll_group *group;
	int err = 0;

	dump->viewer = coll_viewer_of(cb->skb, net);
	dump->rank = rank ? nla_get_u32(rank) : COLLECTIVE_RANK_NONE;
	dump->until = ktime_get_ns();
	dump->begun = true;
	if (!name)
		return 0;
	group = coll_viewer_group(&dump->viewer, net, name, attrs[object->owner_attr], cb->extack);
	if (IS_ERR(group))
		return PTR_ERR(group);
	if (object->private && !coll_viewer_owns(&dump->viewer, group)) {
		NL_SET_ERR_MSG_ATTR(cb->extack, name,
				    "the group belongs to another user: CAP_NET_ADMIN is needed");
		err = -EACCES;
	}
	dump->group = group->serial;
	coll_group_unlock(group);
	return err;
}

static int dump_members(struct coll_dump *dump, struct coll_message *message,
			const struct coll_object *object)
{
	struct coll_member *member = coll_group_member_from(message->group, dump->member);
	int err;

	for (; member; member = coll_group_member_after(member)) {
		if (member->serial != dump->member)
			dump->item = 0;
		dump->member = member->serial;
		if ((dump->rank == COLLECTIVE_RANK_NONE || dump->rank == member->id.rank) &&
		    READ_ONCE(member->state.value) != COLLECTIVE_STATE_NEW) {
			err = object->put_member(message, dump, member);
			if (err)
				return err;
		}
		dump->member++;
		dump->item = 0;
	}
	return 0;
}

static int dump_recorders(struct coll_dump *dump, struct coll_message *message,
			  const struct coll_object *object)
{
	const struct coll_recorder_dir *dir = &message->group->recorders;
	struct coll_recorder *recorder = coll_recorder_from(dir, dump->member);
	u32 rank;
	int err;

	for (; recorder; recorder = coll_recorder_after(dir, recorder)) {
		rank = coll_recorder_rank(recorder);
		if (rank != dump->member)
			dump->item = 0;
		dump->member = rank;
		if (dump->rank == COLLECTIVE_RANK_NONE || dump->rank == rank) {
			err = object->put_recorder(message, dump, recorder);
			if (err)
				return err;
		}
		dump->member++;
		dump->item = 0;
	}
	return 0;
}

static int dump_group(struct coll_dump *dump, struct coll_message *message,
		      const struct coll_object *object, struct coll_group *group)
{
	message->group = group;
	message->owned = coll_viewer_owns(&dump->viewer, group);
	if (object->private && !message->owned)
		return 0;
	if (object->put_group)
		return object->put_group(message, group);
	return object->put_member ? dump_members(dump, message, object) :
				    dump_recorders(dump, message, object);
}

/*
 * Dumps one group, which is locked.  Other users' groups and members come and go meanwhile.
 * Return: 0, and @dump is at the next one; or a negative errno.
 */
static int dump_next(struct coll_dump *dump, struct coll_message *message,
		     const struct coll_object *object, struct coll_group *group)
{
	int err;

	if (group->serial != dump->group) {
		dump->member = 0;
		dump->item = 0;
	}
	dump->group = group->serial;
	err = dump_group(dump, message, object, group);
	if (err)
		return err;
	dump->group++;
	dump->member = 0;
	dump->item = 0;
	return 0;
}

static int dump_groups(struct coll_dump *dump, struct coll_message *message,
		       const struct coll_object *object, const struct net *net, bool one)
{
	struct coll_group *group;
	u64 asked = dump->group;
	int err;

	/* Groups that the viewer may not see can be many: each is looked at once in a message. */
	for (;;) {
		group = coll_group_from(net, dump->group);
		if (IS_ERR_OR_NULL(group))
			break;
		/* The group that was asked for has been dumped, or has ended. */
		if (one && group->serial != asked) {
			coll_group_unlock(group);
			break;
		}
		err = dump_next(dump, message, object, group);
		coll_group_unlock(group);
		if (err)
			return err;
	}
	if (IS_ERR(group))
		return PTR_ERR(group);
	dump->group = U64_MAX;
	return 0;
}

static int dump_object(struct sk_buff *skb, struct netlink_callback *cb,
		       const struct coll_object *object)
{
	const struct net *net = sock_net(skb->sk);
	bool one = genl_info_dump(cb)->attrs[COLLECTIVE_A_GROUP_GROUP];
	struct coll_message message = {
		.skb = skb,
		.cb = cb,
		.cmd = object->cmd,
		.owner_attr = object->owner_attr,
	};
	struct coll_dump *dump = dump_of(cb);
	int err = 0;

	cb->seq = coll_groups_changes(net);
	if (!dump->begun)
		err = dump_begin(dump, cb, object, net);
	if (!err)
		err = dump_groups(dump, &message, object, net, one);
	/* A change in the meantime marks the next message, or the end. */
	cb->seq = coll_groups_changes(net);
	/* Objects that have no place any more come in the next message. */
	if (err == -EMSGSIZE && skb->len)
		err = 0;
	return err ? err : skb->len;
}

int collective_nl_group_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	static const struct coll_object groups = {
		.cmd		= COLLECTIVE_CMD_GROUP_GET,
		.owner_attr	= COLLECTIVE_A_GROUP_OWNER,
		.put_group	= coll_put_group,
	};

	return dump_object(skb, cb, &groups);
}

int collective_nl_member_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	static const struct coll_object members = {
		.cmd		= COLLECTIVE_CMD_MEMBER_GET,
		.owner_attr	= COLLECTIVE_A_MEMBER_OWNER,
		.put_member	= coll_put_member,
	};

	return dump_object(skb, cb, &members);
}

int collective_nl_lane_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	static const struct coll_object lanes = {
		.cmd		= COLLECTIVE_CMD_LANE_GET,
		.owner_attr	= COLLECTIVE_A_LANE_OWNER,
		.put_member	= coll_put_lanes,
	};

	return dump_object(skb, cb, &lanes);
}

int collective_nl_link_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	static const struct coll_object links = {
		.cmd		= COLLECTIVE_CMD_LINK_GET,
		.owner_attr	= COLLECTIVE_A_LINK_OWNER,
		.private	= true,
		.put_member	= coll_put_links,
	};

	return dump_object(skb, cb, &links);
}

int collective_nl_request_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	static const struct coll_object requests = {
		.cmd		= COLLECTIVE_CMD_REQUEST_GET,
		.owner_attr	= COLLECTIVE_A_REQUEST_OWNER,
		.private	= true,
		.put_member	= coll_put_requests,
	};

	return dump_object(skb, cb, &requests);
}

int collective_nl_buffer_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	static const struct coll_object buffers = {
		.cmd		= COLLECTIVE_CMD_BUFFER_GET,
		.owner_attr	= COLLECTIVE_A_BUFFER_OWNER,
		.private	= true,
		.put_member	= coll_put_buffers,
	};

	return dump_object(skb, cb, &buffers);
}

int collective_nl_record_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	static const struct coll_object records = {
		.cmd		= COLLECTIVE_CMD_RECORD_GET,
		.owner_attr	= COLLECTIVE_A_RECORD_OWNER,
		.private	= true,
		.put_recorder	= coll_put_records,
	};

	return dump_object(skb, cb, &records);
}

int collective_nl_time_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	static const struct coll_object times = {
		.cmd		= COLLECTIVE_CMD_TIME_GET,
		.owner_attr	= COLLECTIVE_A_TIME_OWNER,
		.private	= true,
		.put_member	= coll_put_times,
	};

	return dump_object(skb, cb, &times);
}

int collective_nl_answer_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	static const struct coll_object answers = {
		.cmd		= COLLECTIVE_CMD_ANSWER_GET,
		.owner_attr	= COLLECTIVE_A_ANSWER_OWNER,
		.private	= true,
		.put_member	= coll_put_answers,
	};

	return dump_object(skb, cb, &answers);
}

int collective_nl_wait_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	static const struct coll_object waits = {
		.cmd		= COLLECTIVE_CMD_WAIT_GET,
		.owner_attr	= COLLECTIVE_A_TIME_OWNER,
		.private	= true,
		.put_member	= coll_put_waits,
	};

	return dump_object(skb, cb, &waits);
}
