// SPDX-License-Identifier: GPL-2.0-only
/* The user that makes a call, and changes: defaults of a group, CPU of a lane, cancel, abort. */
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/net.h>
#include <linux/nospec.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "fail/member_state.h"
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

/**
 * coll_viewer_group() - find the group that a message names
 * @viewer: the user
 * @net: its network namespace
 * @name: attribute of the name
 * @owner: attribute of the user that the group belongs to; NULL: the viewer's own group is meant,
 *	or else the only one of that name
 * @extack: a text is put in on failure
 *
 * Context: may sleep.
 * Return: the group, locked until coll_group_unlock(); or a negative errno.
 */
struct coll_group *coll_viewer_group(const struct coll_viewer *viewer, const struct net *net,
				     const struct nlattr *name, const struct nlattr *owner,
				     struct netlink_ext_ack *extack)
{
	kuid_t uid = owner ? make_kuid(net->user_ns, nla_get_u32(owner)) : viewer->uid;
	struct coll_group *group = coll_group_find(net, nla_data(name), uid, !owner);

	if (group == ERR_PTR(-ENOTUNIQ))
		NL_SET_ERR_MSG_ATTR(extack, name,
				    "several users have a group of this name: name its owner");
	else if (group == ERR_PTR(-ENOENT))
		NL_SET_ERR_MSG_ATTR(extack, name, "no such group in this network namespace");
	return group;
}

/**
 * coll_change_group() - find the group that a change or a query is about
 * @skb: the message
 * @info: of the message
 * @owner: number of the attribute of the group's owner
 * @viewer: out: the user
 *
 * Return: the group, locked until coll_group_unlock(); or a negative errno, with a text.
 */
struct coll_group *coll_change_group(struct sk_buff *skb, struct genl_info *info, int owner,
				     struct coll_viewer *viewer)
{
	const struct net *net = genl_info_net(info);
	struct nlattr *name = info->attrs[COLLECTIVE_A_GROUP_GROUP];
	struct coll_group *group;

	if (GENL_REQ_ATTR_CHECK(info, COLLECTIVE_A_GROUP_GROUP))
		return ERR_PTR(-EINVAL);
	*viewer = coll_viewer_of(skb, net);
	group = coll_viewer_group(viewer, net, name, info->attrs[owner], info->extack);
	if (IS_ERR(group) || coll_viewer_owns(viewer, group))
		return group;
	coll_group_unlock(group);
	NL_SET_ERR_MSG_ATTR(info->extack, name,
			    "the group belongs to another user: CAP_NET_ADMIN is needed");
	return ERR_PTR(-EPERM);
}

/*
 * Finds the member that a change is about.  If this succeeds, its group is locked and the member
 * is held (coll_member_hold()).
 *
 * Return: the member or a negative errno.
 */
static struct coll_member *change_member(struct sk_buff *skb, struct genl_info *info, int owner,
					 struct coll_viewer *viewer)
{
	struct nlattr *rank = info->attrs[COLLECTIVE_A_MEMBER_RANK];
	struct coll_member *member;
	struct coll_group *group;
	int err = -ENOENT;

	if (GENL_REQ_ATTR_CHECK(info, COLLECTIVE_A_MEMBER_RANK))
		return ERR_PTR(-EINVAL);
	group = coll_change_group(skb, info, owner, viewer);
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
	coll_group_unlock(group);
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
	group = coll_change_group(skb, info, COLLECTIVE_A_GROUP_OWNER, &viewer);
	if (IS_ERR(group))
		return PTR_ERR(group);
	coll_group_set_defaults(group, &defaults);
	coll_group_unlock(group);
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
		if (READ_ONCE(member->state.value) == COLLECTIVE_STATE_NEW)
			continue;
		alive |= !READ_ONCE(member->state.aborted) && !READ_ONCE(member->state.stopped);
		coll_state_fail(&member->state, &reason);
	}
	return alive;
}

int collective_nl_group_abort_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct coll_viewer viewer;
	struct coll_group *group;
	int err = 0;

	group = coll_change_group(skb, info, COLLECTIVE_A_GROUP_OWNER, &viewer);
	if (IS_ERR(group))
		return PTR_ERR(group);
	if (!abort_members(group)) {
		NL_SET_ERR_MSG(info->extack, "the group has failed already");
		err = -EALREADY;
	}
	coll_group_unlock(group);
	return err;
}

/* Return: 0 or a negative errno, with a text. */
static int check_cpu(struct genl_info *info, const struct coll_member *member,
		     u32 cpu, bool any)
{
	struct nlattr *attr = info->attrs[COLLECTIVE_A_LANE_CPU];

	/* Work items run on CPUs that have been online only. */
	if (cpu >= nr_cpu_ids || !cpu_online(cpu)) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr, "no such CPU is online");
		return -EINVAL;
	}
	if (!any && !coll_member_may_use_cpus(member, cpumask_of(cpu))) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "the caller or the rank may not run on this CPU: CAP_SYS_NICE is needed");
		return -EPERM;
	}
	return 0;
}

int collective_nl_lane_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	/* Of the initial user namespace: both the opener of the socket and its user. */
	bool any = netlink_capable(skb, CAP_SYS_NICE);
	struct coll_viewer viewer;
	struct coll_member *member;
	u32 lane, cpu;
	int err;

	if (GENL_REQ_ATTR_CHECK(info, COLLECTIVE_A_LANE_LANE) ||
	    GENL_REQ_ATTR_CHECK(info, COLLECTIVE_A_LANE_CPU))
		return -EINVAL;
	lane = nla_get_u32(info->attrs[COLLECTIVE_A_LANE_LANE]);
	cpu = nla_get_u32(info->attrs[COLLECTIVE_A_LANE_CPU]);
	member = change_member(skb, info, COLLECTIVE_A_LANE_OWNER, &viewer);
	if (IS_ERR(member))
		return PTR_ERR(member);
	err = check_cpu(info, member, cpu, any);
	if (!err && lane >= member->id.nlanes) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[COLLECTIVE_A_LANE_LANE],
				    "the group has fewer lanes");
		err = -ENOENT;
	}
	if (!err)
		coll_member_set_lane_cpu(member, array_index_nospec(lane, member->id.nlanes), cpu,
					 any);
	coll_group_unlock(member->group);
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
	member = change_member(skb, info, COLLECTIVE_A_REQUEST_OWNER, &viewer);
	if (IS_ERR(member))
		return PTR_ERR(member);
	/* An operation that fails here may start another one: no lock is held meanwhile. */
	coll_group_unlock(member->group);
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
