// SPDX-License-Identifier: GPL-2.0-only
/* Events: notices of members become messages to the sockets that may see them. */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/net.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "member/group.h"
#include "member/member.h"
#include "netlink/generated.h"
#include "netlink/family.h"
#include "trace/notice.h"

static bool put_kind(struct sk_buff *skb, const struct coll_notice *notice)
{
	bool slow = notice->kind == COLLECTIVE_EVENT_KIND_SLOW;

	return (notice->instance != COLL_INSTANCE_GROUP &&
		nla_put_uint(skb, COLLECTIVE_A_EVENT_INSTANCE, notice->instance)) ||
	       (slow && (nla_put_uint(skb, COLLECTIVE_A_EVENT_REQUEST, notice->request) ||
			 nla_put_uint(skb, COLLECTIVE_A_EVENT_AGE_NS, notice->age_ns) ||
			 nla_put_uint(skb, COLLECTIVE_A_EVENT_LEFT_MS, notice->left_ms))) ||
	       coll_put_reason(skb, COLLECTIVE_A_EVENT_REASON, &notice->reason,
			       notice->instance) ||
	       coll_put_call(skb, COLLECTIVE_A_EVENT_CALL, &notice->calls[0]) ||
	       coll_put_call(skb, COLLECTIVE_A_EVENT_CALL, &notice->calls[1]) ||
	       coll_put_ranks(skb, COLLECTIVE_A_EVENT_WAITS_FOR, notice->waits, notice->nwaits);
}

static bool put_event(struct sk_buff *skb, const struct coll_member *member,
		      const struct coll_notice *notice, u32 lost)
{
	const struct coll_group *group = member->group;
	void *header = genlmsg_put(skb, 0, 0, &collective_nl_family, 0, COLLECTIVE_CMD_EVENT);

	if (!header || nla_put_string(skb, COLLECTIVE_A_EVENT_GROUP, group->name) ||
	    nla_put_u32(skb, COLLECTIVE_A_EVENT_RANK, member->id.rank) ||
	    nla_put_u32(skb, COLLECTIVE_A_EVENT_KIND, notice->kind) ||
	    nla_put_uint(skb, COLLECTIVE_A_EVENT_TIME_NS, notice->at) ||
	    nla_put_uint(skb, COLLECTIVE_A_EVENT_ID, group->id) ||
	    nla_put_u32(skb, COLLECTIVE_A_EVENT_SIZE, group->nranks) ||
	    nla_put_u32(skb, COLLECTIVE_A_EVENT_OWNER, coll_group_owner(group)) ||
	    nla_put_u32(skb, COLLECTIVE_A_EVENT_PID, member->owner.pid) ||
	    nla_put_u32(skb, COLLECTIVE_A_EVENT_STATE, notice->state) ||
	    (lost && nla_put_u32(skb, COLLECTIVE_A_EVENT_LOST, lost)) || put_kind(skb, notice))
		return false;
	genlmsg_end(skb, header);
	return true;
}

/* An event is no call, so the user that has opened the socket counts.  Returns 0 if it gets it. */
static int event_filter(struct sock *sk, struct sk_buff *skb, void *data)
{
	const struct coll_group *group = data;
	/* A socket in the list of listeners has not been released. */
	const struct file *file = sk->sk_socket ? sk->sk_socket->file : NULL;
	struct coll_viewer viewer;

	if (!file)
		return 1;
	viewer.uid = file->f_cred->euid;
	viewer.admin = file_ns_capable(file, group->net->user_ns, CAP_NET_ADMIN);
	return !coll_viewer_owns(&viewer, group);
}

/* See coll_notice_setup(). */
static int event_send(struct coll_notices *notices, const struct coll_notice *notice, u32 lost)
{
	const struct coll_member *member = container_of(notices, struct coll_member, state.notices);
	struct coll_group *group = member->group;
	struct sk_buff *skb;
	int err;

	/* A notice that no socket listens for is not lost. */
	if (!genl_has_listeners(&collective_nl_family, group->net, COLLECTIVE_NLGRP_EVENTS))
		return 0;
	skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb)
		return -ENOMEM;
	if (!put_event(skb, member, notice, lost)) {
		nlmsg_free(skb);
		return -EMSGSIZE;
	}
	err = genlmsg_multicast_netns_filtered(&collective_nl_family, group->net, skb, 0,
					       COLLECTIVE_NLGRP_EVENTS, GFP_KERNEL, event_filter,
					       group);
	/* A socket without space gets ENOBUFS by itself. */
	return err == -ESRCH || err == -ENOBUFS ? 0 : err;
}

/**
 * coll_netlink_setup() - register the family
 *
 * Return: 0 or a negative errno.
 */
int coll_netlink_setup(void)
{
	int err = genl_register_family(&collective_nl_family);

	if (!err)
		coll_notice_setup(event_send);
	return err;
}

/** coll_netlink_cleanup() - undo coll_netlink_setup(); no member is left */
void coll_netlink_cleanup(void)
{
	coll_notice_cleanup();
	genl_unregister_family(&collective_nl_family);
}
