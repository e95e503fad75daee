/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The generic netlink family: what its files share.
 *
 * Documentation/netlink/collective.yaml specifies the messages, Documentation/design/netlink.rst
 * says how they are made.
 */
#ifndef COLL_FAMILY_H
#define COLL_FAMILY_H

#include <linux/types.h>
#include <linux/uidgid.h>
#include <net/genetlink.h>

#include <linux/collective.h>
#include <linux/collective_netlink.h>

#include "core/wire/wire.h"

struct coll_group;
struct coll_member;
struct coll_record;
struct coll_recorder;
struct net;
struct user_namespace;

/**
 * struct coll_viewer - the user on whose behalf a socket reads or changes
 * @uid: user that has opened the socket and makes the call; INVALID_UID: two different ones
 * @admin: true if both have CAP_NET_ADMIN in the network namespace
 */
struct coll_viewer {
	kuid_t uid;
	bool admin;
};

/**
 * struct coll_dump - place of a dump, kept in netlink_callback.ctx between messages
 * @viewer: of the dump
 * @begun: true if the other fields are valid
 * @rank: the rank that is asked for; COLLECTIVE_RANK_NONE: all
 * @until: time at which the dump began, ns; requests and records that are newer are left out, so
 *	that it ends
 * @group: serial number of the group to go on with
 * @member: serial number of the member to go on with; of records the rank
 * @item: item of the member to go on with: rank, id or number; of waits see put_time.c
 */
struct coll_dump {
	struct coll_viewer viewer;
	bool begun;
	u32 rank;
	u64 until;
	u64 group;
	u64 member;
	u64 item;
};

/**
 * struct coll_message - a message that is being filled
 * @skb: holds it
 * @cb: of the dump
 * @cmd: enum of the uapi header
 * @owner_attr: number of the attribute of a group's owner
 * @group: the group that it is about
 * @owned: true if the reader sees all of the group, also what admits to it: its number and the
 *	addresses of its ranks
 * @header: of the message
 */
struct coll_message {
	struct sk_buff *skb;
	struct netlink_callback *cb;
	u8 cmd;
	int owner_attr;
	const struct coll_group *group;
	bool owned;
	void *header;
};

/**
 * struct coll_object - a kind of object that is dumped
 * @cmd: of its messages
 * @owner_attr: number of the attribute of a group's owner
 * @private: true if only the owner and an administrator see it
 * @put_group: add the group's own message; NULL: it has none
 * @put_member: add the messages of a member, from item @dump->item on; NULL: it has none.  Returns
 *	-EMSGSIZE with @dump->item at the first one that is left
 * @put_recorder: likewise of a flight recorder; NULL: it has none
 */
struct coll_object {
	u8 cmd;
	int owner_attr;
	bool private;
	int (*put_group)(struct coll_message *message, struct coll_group *group);
	int (*put_member)(struct coll_message *message, struct coll_dump *dump,
			  struct coll_member *member);
	int (*put_recorder)(struct coll_message *message, struct coll_dump *dump,
			    struct coll_recorder *recorder);
};

/* change.c */
struct coll_viewer coll_viewer_of(struct sk_buff *skb, const struct net *net);
bool coll_viewer_owns(const struct coll_viewer *viewer, const struct coll_group *group);
struct coll_group *coll_viewer_group(const struct coll_viewer *viewer, const struct net *net,
				     const struct nlattr *name, const struct nlattr *owner,
				     struct netlink_ext_ack *extack);
struct coll_group *coll_change_group(struct sk_buff *skb, struct genl_info *info, int owner,
				     struct coll_viewer *viewer);

/* put.c */
int coll_message_begin(struct coll_message *message);
int coll_message_end(struct coll_message *message, int err);
int coll_put_reason(struct sk_buff *skb, int attr, const struct coll_reason *reason, u64 instance);
int coll_put_call(struct sk_buff *skb, int attr, const struct coll_rank_call *call);
int coll_put_ranks(struct sk_buff *skb, int attr, const u32 *ranks, u32 n);
int coll_put_addr(struct sk_buff *skb, int attr, const struct sockaddr_storage *addr);
u32 coll_group_owner(const struct coll_group *group);
int coll_put_group(struct coll_message *message, struct coll_group *group);
int coll_put_records(struct coll_message *message, struct coll_dump *dump,
		     struct coll_recorder *recorder);

/* put_member.c */
int coll_put_member(struct coll_message *message, struct coll_dump *dump,
		    struct coll_member *member);
int coll_put_lanes(struct coll_message *message, struct coll_dump *dump,
		   struct coll_member *member);
int coll_put_buffers(struct coll_message *message, struct coll_dump *dump,
		     struct coll_member *member);

/* put_link.c */
int coll_put_links(struct coll_message *message, struct coll_dump *dump,
		   struct coll_member *member);

/* put_request.c */
int coll_put_requests(struct coll_message *message, struct coll_dump *dump,
		      struct coll_member *member);

/* put_time.c */
int coll_put_wait(struct sk_buff *skb, int attr, u32 peer, u64 ns);
int coll_put_times(struct coll_message *message, struct coll_dump *dump,
		   struct coll_member *member);
int coll_put_waits(struct coll_message *message, struct coll_dump *dump,
		   struct coll_member *member);

/* ask.c */
int coll_put_answers(struct coll_message *message, struct coll_dump *dump,
		     struct coll_member *member);

/* event.c */
int coll_netlink_setup(void);
void coll_netlink_cleanup(void);

#endif /* COLL_FAMILY_H */
