/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/collective.yaml */
/* YNL-GEN kernel header */

#ifndef _LINUX_COLLECTIVE_GEN_H
#define _LINUX_COLLECTIVE_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/linux/collective_netlink.h>
#include <linux/collective.h>
#include <linux/collective.h>
#include <linux/collective.h>
#include <linux/collective.h>
#include <linux/collective.h>
#include <linux/collective.h>
#include <linux/collective.h>

int collective_nl_group_get_dumpit(struct sk_buff *skb,
				   struct netlink_callback *cb);
int collective_nl_group_set_doit(struct sk_buff *skb, struct genl_info *info);
int collective_nl_group_abort_doit(struct sk_buff *skb, struct genl_info *info);
int collective_nl_member_get_dumpit(struct sk_buff *skb,
				    struct netlink_callback *cb);
int collective_nl_lane_get_dumpit(struct sk_buff *skb,
				  struct netlink_callback *cb);
int collective_nl_lane_set_doit(struct sk_buff *skb, struct genl_info *info);
int collective_nl_link_get_dumpit(struct sk_buff *skb,
				  struct netlink_callback *cb);
int collective_nl_request_get_dumpit(struct sk_buff *skb,
				     struct netlink_callback *cb);
int collective_nl_request_cancel_doit(struct sk_buff *skb,
				      struct genl_info *info);
int collective_nl_buffer_get_dumpit(struct sk_buff *skb,
				    struct netlink_callback *cb);
int collective_nl_record_get_dumpit(struct sk_buff *skb,
				    struct netlink_callback *cb);
int collective_nl_time_get_dumpit(struct sk_buff *skb,
				  struct netlink_callback *cb);
int collective_nl_query_doit(struct sk_buff *skb, struct genl_info *info);
int collective_nl_answer_get_dumpit(struct sk_buff *skb,
				    struct netlink_callback *cb);
int collective_nl_wait_get_dumpit(struct sk_buff *skb,
				  struct netlink_callback *cb);

enum {
	COLLECTIVE_NLGRP_EVENTS,
};

extern struct genl_family collective_nl_family;

#endif /* _LINUX_COLLECTIVE_GEN_H */
