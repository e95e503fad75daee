/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_GROUP_H
#define COLL_GROUP_H

#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/uidgid.h>

#include <linux/collective.h>

#include "member/defaults.h"
#include "trace/recorder.h"
#include "transport/hub.h"

struct coll_member;
struct net;

/**
 * struct coll_group - a named set of ranks of a user in a network namespace, from its first member
 *	of this host to its last
 * @kobj: in sysfs, and the reference count
 * @mutex: protects what is marked [g]
 * @ended: true if it has no members any more, and takes none [g]
 * @node: in the list of the groups of the namespace; its lock protects it
 * @name_node: likewise in those of its name
 * @serial: rises in the order of the list [c]
 * @net: network namespace [c]
 * @owner: user whose processes may join [c]
 * @name: of the group; another user may have one of the same name [c]
 * @id: of this incarnation [c]
 * @nranks: ranks of the group [c]
 * @lanes: lanes of each rank [c]
 * @members: those of this host [g]
 * @last_serial: of the latest member [g]
 * @secret: secret of its first member, which the others must have; all zero: none; wiped with the
 *	group [g]
 * @hub: where its members find each other
 * @defaults: of its members on this host [g]
 * @recorders: of ranks that are or were members on this host [g]
 */
struct coll_group {
	struct kobject kobj;
	struct mutex mutex;
	bool ended;
	struct list_head node;
	struct hlist_node name_node;
	u64 serial;
	struct net *net;
	kuid_t owner;
	char name[40];
	u64 id;
	u32 nranks;
	u32 lanes;
	struct list_head members;
	u64 last_serial;
	u8 secret[COLLECTIVE_SECRET_SIZE];
	struct coll_local_hub hub;
	struct coll_defaults defaults;
	struct coll_recorder_dir recorders;
};

/* group.c */
int coll_group_join(struct coll_member *member, const struct collective_join *join);
void coll_group_leave(struct coll_member *member);
u32 coll_groups_changes(const struct net *net);
struct coll_group *coll_group_from(const struct net *net, u64 serial);
struct coll_group *coll_group_find(const struct net *net, const char *name, kuid_t owner, bool any);
void coll_group_unlock(struct coll_group *group);
struct coll_member *coll_group_member_from(const struct coll_group *group, u64 serial);
struct coll_member *coll_group_member_after(struct coll_member *member);
struct coll_member *coll_group_member(const struct coll_group *group, u32 rank);
int coll_group_setup(struct kobject *parent);
void coll_group_cleanup(void);

#endif /* COLL_GROUP_H */
