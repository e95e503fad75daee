// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/collective.yaml */
/* YNL-GEN kernel source */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "generated.h"

#include <uapi/linux/collective_netlink.h>
#include <linux/collective.h>
#include <linux/collective.h>
#include <linux/collective.h>
#include <linux/collective.h>
#include <linux/collective.h>
#include <linux/collective.h>
#include <linux/collective.h>

/* COLLECTIVE_CMD_GROUP_GET - dump */
static const struct nla_policy collective_group_get_nl_policy[COLLECTIVE_A_GROUP_OWNER + 1] = {
	[COLLECTIVE_A_GROUP_GROUP] = { .type = NLA_NUL_STRING, .len = 32, },
	[COLLECTIVE_A_GROUP_OWNER] = { .type = NLA_U32, },
};

/* COLLECTIVE_CMD_GROUP_SET - do */
static const struct nla_policy collective_group_set_nl_policy[COLLECTIVE_A_GROUP_SLOW_PERCENT + 1] = {
	[COLLECTIVE_A_GROUP_GROUP] = { .type = NLA_NUL_STRING, .len = 32, },
	[COLLECTIVE_A_GROUP_OWNER] = { .type = NLA_U32, },
	[COLLECTIVE_A_GROUP_TIMEOUT_MS] = NLA_POLICY_MIN(NLA_U32, 1),
	[COLLECTIVE_A_GROUP_SLOW_PERCENT] = NLA_POLICY_MAX(NLA_U32, 100),
};

/* COLLECTIVE_CMD_GROUP_ABORT - do */
static const struct nla_policy collective_group_abort_nl_policy[COLLECTIVE_A_GROUP_OWNER + 1] = {
	[COLLECTIVE_A_GROUP_GROUP] = { .type = NLA_NUL_STRING, .len = 32, },
	[COLLECTIVE_A_GROUP_OWNER] = { .type = NLA_U32, },
};

/* COLLECTIVE_CMD_MEMBER_GET - dump */
static const struct nla_policy collective_member_get_nl_policy[COLLECTIVE_A_MEMBER_OWNER + 1] = {
	[COLLECTIVE_A_MEMBER_GROUP] = { .type = NLA_NUL_STRING, .len = 32, },
	[COLLECTIVE_A_MEMBER_RANK] = { .type = NLA_U32, },
	[COLLECTIVE_A_MEMBER_OWNER] = { .type = NLA_U32, },
};

/* COLLECTIVE_CMD_LANE_GET - dump */
static const struct nla_policy collective_lane_get_nl_policy[COLLECTIVE_A_LANE_OWNER + 1] = {
	[COLLECTIVE_A_LANE_GROUP] = { .type = NLA_NUL_STRING, .len = 32, },
	[COLLECTIVE_A_LANE_RANK] = { .type = NLA_U32, },
	[COLLECTIVE_A_LANE_OWNER] = { .type = NLA_U32, },
};

/* COLLECTIVE_CMD_LANE_SET - do */
static const struct nla_policy collective_lane_set_nl_policy[COLLECTIVE_A_LANE_OWNER + 1] = {
	[COLLECTIVE_A_LANE_GROUP] = { .type = NLA_NUL_STRING, .len = 32, },
	[COLLECTIVE_A_LANE_RANK] = { .type = NLA_U32, },
	[COLLECTIVE_A_LANE_LANE] = { .type = NLA_U32, },
	[COLLECTIVE_A_LANE_CPU] = { .type = NLA_U32, },
	[COLLECTIVE_A_LANE_OWNER] = { .type = NLA_U32, },
};

/* COLLECTIVE_CMD_LINK_GET - dump */
static const struct nla_policy collective_link_get_nl_policy[COLLECTIVE_A_LINK_OWNER + 1] = {
	[COLLECTIVE_A_LINK_GROUP] = { .type = NLA_NUL_STRING, .len = 32, },
	[COLLECTIVE_A_LINK_RANK] = { .type = NLA_U32, },
	[COLLECTIVE_A_LINK_OWNER] = { .type = NLA_U32, },
};

/* COLLECTIVE_CMD_REQUEST_GET - dump */
static const struct nla_policy collective_request_get_nl_policy[COLLECTIVE_A_REQUEST_OWNER + 1] = {
	[COLLECTIVE_A_REQUEST_GROUP] = { .type = NLA_NUL_STRING, .len = 32, },
	[COLLECTIVE_A_REQUEST_RANK] = { .type = NLA_U32, },
	[COLLECTIVE_A_REQUEST_OWNER] = { .type = NLA_U32, },
};

/* COLLECTIVE_CMD_REQUEST_CANCEL - do */
static const struct nla_policy collective_request_cancel_nl_policy[COLLECTIVE_A_REQUEST_OWNER + 1] = {
	[COLLECTIVE_A_REQUEST_GROUP] = { .type = NLA_NUL_STRING, .len = 32, },
	[COLLECTIVE_A_REQUEST_RANK] = { .type = NLA_U32, },
	[COLLECTIVE_A_REQUEST_ID] = { .type = NLA_UINT, },
	[COLLECTIVE_A_REQUEST_OWNER] = { .type = NLA_U32, },
};

/* COLLECTIVE_CMD_BUFFER_GET - dump */
static const struct nla_policy collective_buffer_get_nl_policy[COLLECTIVE_A_BUFFER_OWNER + 1] = {
	[COLLECTIVE_A_BUFFER_GROUP] = { .type = NLA_NUL_STRING, .len = 32, },
	[COLLECTIVE_A_BUFFER_RANK] = { .type = NLA_U32, },
	[COLLECTIVE_A_BUFFER_OWNER] = { .type = NLA_U32, },
};

/* COLLECTIVE_CMD_RECORD_GET - dump */
static const struct nla_policy collective_record_get_nl_policy[COLLECTIVE_A_RECORD_OWNER + 1] = {
	[COLLECTIVE_A_RECORD_GROUP] = { .type = NLA_NUL_STRING, .len = 32, },
	[COLLECTIVE_A_RECORD_RANK] = { .type = NLA_U32, },
	[COLLECTIVE_A_RECORD_OWNER] = { .type = NLA_U32, },
};

/* COLLECTIVE_CMD_TIME_GET - dump */
static const struct nla_policy collective_time_get_nl_policy[COLLECTIVE_A_TIME_OWNER + 1] = {
	[COLLECTIVE_A_TIME_GROUP] = { .type = NLA_NUL_STRING, .len = 32, },
	[COLLECTIVE_A_TIME_RANK] = { .type = NLA_U32, },
	[COLLECTIVE_A_TIME_OWNER] = { .type = NLA_U32, },
};

/* COLLECTIVE_CMD_QUERY - do */
static const struct nla_policy collective_query_nl_policy[COLLECTIVE_A_ANSWER_OWNER + 1] = {
	[COLLECTIVE_A_ANSWER_GROUP] = { .type = NLA_NUL_STRING, .len = 32, },
	[COLLECTIVE_A_ANSWER_OWNER] = { .type = NLA_U32, },
};

/* COLLECTIVE_CMD_ANSWER_GET - dump */
static const struct nla_policy collective_answer_get_nl_policy[COLLECTIVE_A_ANSWER_OWNER + 1] = {
	[COLLECTIVE_A_ANSWER_GROUP] = { .type = NLA_NUL_STRING, .len = 32, },
	[COLLECTIVE_A_ANSWER_RANK] = { .type = NLA_U32, },
	[COLLECTIVE_A_ANSWER_OWNER] = { .type = NLA_U32, },
};

/* COLLECTIVE_CMD_WAIT_GET - dump */
static const struct nla_policy collective_wait_get_nl_policy[COLLECTIVE_A_TIME_OWNER + 1] = {
	[COLLECTIVE_A_TIME_GROUP] = { .type = NLA_NUL_STRING, .len = 32, },
	[COLLECTIVE_A_TIME_RANK] = { .type = NLA_U32, },
	[COLLECTIVE_A_TIME_OWNER] = { .type = NLA_U32, },
};

/* Ops table for collective */
static const struct genl_split_ops collective_nl_ops[] = {
	{
		.cmd		= COLLECTIVE_CMD_GROUP_GET,
		.dumpit		= collective_nl_group_get_dumpit,
		.policy		= collective_group_get_nl_policy,
		.maxattr	= COLLECTIVE_A_GROUP_OWNER,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= COLLECTIVE_CMD_GROUP_SET,
		.doit		= collective_nl_group_set_doit,
		.policy		= collective_group_set_nl_policy,
		.maxattr	= COLLECTIVE_A_GROUP_SLOW_PERCENT,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= COLLECTIVE_CMD_GROUP_ABORT,
		.doit		= collective_nl_group_abort_doit,
		.policy		= collective_group_abort_nl_policy,
		.maxattr	= COLLECTIVE_A_GROUP_OWNER,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= COLLECTIVE_CMD_MEMBER_GET,
		.dumpit		= collective_nl_member_get_dumpit,
		.policy		= collective_member_get_nl_policy,
		.maxattr	= COLLECTIVE_A_MEMBER_OWNER,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= COLLECTIVE_CMD_LANE_GET,
		.dumpit		= collective_nl_lane_get_dumpit,
		.policy		= collective_lane_get_nl_policy,
		.maxattr	= COLLECTIVE_A_LANE_OWNER,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= COLLECTIVE_CMD_LANE_SET,
		.doit		= collective_nl_lane_set_doit,
		.policy		= collective_lane_set_nl_policy,
		.maxattr	= COLLECTIVE_A_LANE_OWNER,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= COLLECTIVE_CMD_LINK_GET,
		.dumpit		= collective_nl_link_get_dumpit,
		.policy		= collective_link_get_nl_policy,
		.maxattr	= COLLECTIVE_A_LINK_OWNER,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= COLLECTIVE_CMD_REQUEST_GET,
		.dumpit		= collective_nl_request_get_dumpit,
		.policy		= collective_request_get_nl_policy,
		.maxattr	= COLLECTIVE_A_REQUEST_OWNER,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= COLLECTIVE_CMD_REQUEST_CANCEL,
		.doit		= collective_nl_request_cancel_doit,
		.policy		= collective_request_cancel_nl_policy,
		.maxattr	= COLLECTIVE_A_REQUEST_OWNER,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= COLLECTIVE_CMD_BUFFER_GET,
		.dumpit		= collective_nl_buffer_get_dumpit,
		.policy		= collective_buffer_get_nl_policy,
		.maxattr	= COLLECTIVE_A_BUFFER_OWNER,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= COLLECTIVE_CMD_RECORD_GET,
		.dumpit		= collective_nl_record_get_dumpit,
		.policy		= collective_record_get_nl_policy,
		.maxattr	= COLLECTIVE_A_RECORD_OWNER,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= COLLECTIVE_CMD_TIME_GET,
		.dumpit		= collective_nl_time_get_dumpit,
		.policy		= collective_time_get_nl_policy,
		.maxattr	= COLLECTIVE_A_TIME_OWNER,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= COLLECTIVE_CMD_QUERY,
		.doit		= collective_nl_query_doit,
		.policy		= collective_query_nl_policy,
		.maxattr	= COLLECTIVE_A_ANSWER_OWNER,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= COLLECTIVE_CMD_ANSWER_GET,
		.dumpit		= collective_nl_answer_get_dumpit,
		.policy		= collective_answer_get_nl_policy,
		.maxattr	= COLLECTIVE_A_ANSWER_OWNER,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= COLLECTIVE_CMD_WAIT_GET,
		.dumpit		= collective_nl_wait_get_dumpit,
		.policy		= collective_wait_get_nl_policy,
		.maxattr	= COLLECTIVE_A_TIME_OWNER,
		.flags		= GENL_CMD_CAP_DUMP,
	},
};

static const struct genl_multicast_group collective_nl_mcgrps[] = {
	[COLLECTIVE_NLGRP_EVENTS] = { "events", },
};

struct genl_family collective_nl_family __ro_after_init = {
	.name		= COLLECTIVE_FAMILY_NAME,
	.version	= COLLECTIVE_FAMILY_VERSION,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.split_ops	= collective_nl_ops,
	.n_split_ops	= ARRAY_SIZE(collective_nl_ops),
	.mcgrps		= collective_nl_mcgrps,
	.n_mcgrps	= ARRAY_SIZE(collective_nl_mcgrps),
};
