// SPDX-License-Identifier: GPL-2.0-only
/* The user that makes a call, and changes: defaults of a group, CPU of a lane, cancel, abort. */
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/net.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "fail/failure.h"
#include "member/defaults.h"
#include "member/group.h"
#include "member/member.h"
#include "netlink/generated.h"
#include "netlink/family.h"
#include "op/request.h"

/**
 * coll_viewer_of() - the user on whose behalf a message came
 * @skb: the message that the calling thread has sent
 * @net: network namespace of the socket
 *
 * Context: the thread that has sent the message.
 * Return: the user; none if another user has opened the socket.
 */
struct coll_viewer coll_viewer_of(struct sk_buff *skb, const struct net *net)
{
	const struct socket *sock = NETLINK_CB(skb).sk->sk_socket;
	struct coll_viewer viewer = {
		.uid = INVALID_UID,
		.admin = netlink_ns_capable(skb, net->user_ns, CAP_NET_ADMIN),
	};

	if (sock && sock->file && uid_eq(sock->file->f_cred->euid, current_euid()))
		viewer.uid = current_euid();
	return viewer;
}

/**
 * coll_viewer_owns() - may a user see and change all of a group?
 * @viewer: the user
 * @group: the group
 */
bool coll_viewer_owns(const struct coll_viewer *viewer, const struct coll_group *group)
{
	return viewer->admin || (uid_valid(viewer->uid) && uid_eq(viewer->uid, group->owner));
}

/*
 * Finds the group that a change is about.  If this succeeds, the groups are locked.
 *
 * Return: the group or a negative errno.
 */
static struct coll_group *change_group(struct sk_buff *skb, struct genl_info *info,
				       struct coll_viewer *viewer)
{
	const struct net *net = genl_info_net(info);
	struct nlattr *name = info->attrs[COLLECTIVE_A_GROUP_GROUP];
	struct coll_group *group;
	int err = 0;

	if (GENL_REQ_ATTR_CHECK(info, COLLECTIVE_A_GROUP_GROUP))
		return ERR_PTR(-EINVAL);
	*viewer = coll_viewer_of(skb, net);
	coll_groups_lock();
	group = coll_group_find(net, nla_data(name));
	if (!group) {
		err = -ENOENT;
		NL_SET_ERR_MSG_ATTR(info->extack, name,
				    "no such group in this network namespace");
	} else if (!coll_viewer_owns(viewer, group)) {
		err = -EPERM;
		NL_SET_ERR_MSG_ATTR(info->extack, name,
				    "the group belongs to another user: CAP_NET_ADMIN is needed");
	}
	if (!err)
		return group;
	coll_groups_unlock();
	return ERR_PTR(err);
}

/*
 * Finds the member that a change is about.  If this succeeds, the groups are locked and the member
 * is held (coll_member_hold()).
 *
 * Return: the member or a negative errno.
 */
static struct coll_member *change_member(struct sk_buff *skb, struct genl_info *info,
					 struct coll_viewer *viewer)
{
	struct nlattr *rank = info->attrs[COLLECTIVE_A_MEMBER_RANK];
	struct coll_member *member;
	struct coll_group *group;
	int err = -ENOENT;

	if (GENL_REQ_ATTR_CHECK(info, COLLECTIVE_A_MEMBER_RANK))
		return ERR_PTR(-EINVAL);
	group = change_group(skb, info, viewer);
	if (IS_ERR(group))
		return ERR_CAST(group);
	member = coll_group_member(group, nla_get_u32(rank));
	if (!member) {
		NL_SET_ERR_MSG_ATTR(info->extack, rank, "the rank is no member on this host");
	} else {
		err = coll_member_hold(member);
		if (!err)
			return member;
		NL_SET_ERR_MSG_ATTR(info->extack, rank, "the rank is joining or leaving");
	}
	coll_groups_unlock();
	return ERR_PTR(err);
}

int collective_nl_group_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *timeout = info->attrs[COLLECTIVE_A_GROUP_TIMEOUT_MS];
	struct nlattr *slow = info->attrs[COLLECTIVE_A_GROUP_SLOW_PERCENT];
	struct coll_defaults defaults = {
		.has_timeout = timeout,
		.timeout_ms = timeout ? nla_get_u32(timeout) : 0,
		.slow_percent = slow ? nla_get_u32(slow) : COLL_DEFAULT_UNSET,
	};
	struct coll_viewer viewer;
	struct coll_group *group;

	if (!timeout && !slow) {
		NL_SET_ERR_MSG(info->extack, "nothing is to be set");
		return -EINVAL;
	}
	group = change_group(skb, info, &viewer);
	if (IS_ERR(group))
		return PTR_ERR(group);
	coll_group_set_defaults(group, &defaults);
	coll_groups_unlock();
	return 0;
}

/* All members here are told the same, so that the rank at fault is the same everywhere. */
static bool abort_members(struct coll_group *group)
{
	struct coll_reason reason = {
		.kind = COLLECTIVE_REASON_CANCELLED,
		.error = ECANCELED,
		.rank_a = COLLECTIVE_RANK_NONE,
		.rank_b = COLLECTIVE_RANK_NONE,
	};
	struct coll_member *member;
	bool alive = false;

	list_for_each_entry(member, &group->members, group_node)
		reason.rank_a = min(reason.rank_a, member->id.rank);
	list_for_each_entry(member, &group->members, group_node) {
		if (READ_ONCE(member->fail.state) == COLLECTIVE_STATE_NEW)
			continue;
		alive |= !READ_ONCE(member->fail.aborted) && !READ_ONCE(member->fail.stopped);
		coll_fail_report(&member->fail, &reason);
	}
	return alive;
}

int collective_nl_group_abort_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct coll_viewer viewer;
	struct coll_group *group;
	int err = 0;

	group = change_group(skb, info, &viewer);
	if (IS_ERR(group))
		return PTR_ERR(group);
	if (!abort_members(group)) {
		NL_SET_ERR_MSG(info->extack, "the group has failed already");
		err = -EALREADY;
	}
	coll_groups_unlock();
	return err;
}

/* Return: 0 or a negative errno, with a text. */
static int check_cpu(struct genl_info *info, const struct coll_viewer *viewer, u32 cpu)
{
	struct nlattr *attr = info->attrs[COLLECTIVE_A_LANE_CPU];

	/* Work items run on CPUs that have been online only. */
	if (cpu >= nr_cpu_ids || !cpu_online(cpu)) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr, "no such CPU is online");
		return -EINVAL;
	}
	if (!viewer->admin && !cpumask_test_cpu(cpu, current->cpus_ptr)) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "the caller may not run on this CPU: CAP_NET_ADMIN is needed");
		return -EPERM;
	}
	return 0;
}

int collective_nl_lane_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct coll_viewer viewer;
	struct coll_member *member;
	u32 lane, cpu;
	int err;

	if (GENL_REQ_ATTR_CHECK(info, COLLECTIVE_A_LANE_LANE) ||
	    GENL_REQ_ATTR_CHECK(info, COLLECTIVE_A_LANE_CPU))
		return -EINVAL;
	lane = nla_get_u32(info->attrs[COLLECTIVE_A_LANE_LANE]);
	cpu = nla_get_u32(info->attrs[COLLECTIVE_A_LANE_CPU]);
	member = change_member(skb, info, &viewer);
	if (IS_ERR(member))
		return PTR_ERR(member);
	err = check_cpu(info, &viewer, cpu);
	if (!err && lane >= member->id.nlanes) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[COLLECTIVE_A_LANE_LANE],
				    "the group has fewer lanes");
		err = -ENOENT;
	}
	if (!err)
		coll_member_set_lane_cpu(member, lane, cpu);
	coll_groups_unlock();
	coll_member_drop(member);
	return err;
}

int collective_nl_request_cancel_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct coll_viewer viewer;
	struct coll_member *member;
	u64 id;
	int err;

	if (GENL_REQ_ATTR_CHECK(info, COLLECTIVE_A_REQUEST_ID))
		return -EINVAL;
	id = nla_get_uint(info->attrs[COLLECTIVE_A_REQUEST_ID]);
	member = change_member(skb, info, &viewer);
	if (IS_ERR(member))
		return PTR_ERR(member);
	/* An operation that fails here may start another one: no lock is held meanwhile. */
	coll_groups_unlock();
	err = coll_request_cancel(&member->requests, COLL_FIND_BY_ID, id);
	coll_member_drop(member);
	if (err == -ENOENT)
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[COLLECTIVE_A_REQUEST_ID],
				    "no such request is in flight");
	else if (err)
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[COLLECTIVE_A_REQUEST_ID],
				    "the request fails already");
	return err;
}
