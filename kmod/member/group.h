/* SPDX-License-Identifier: GPL-2.0-only */
/* What protects a field, [c] and so on: coll.h. */
#ifndef COLL_GROUP_H
#define COLL_GROUP_H

#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/spinlock.h>

#include <linux/collective.h>

struct coll_member;
struct dentry;

/**
 * struct coll_group - a named set of ranks in a network namespace
 * @kobj: in sysfs
 * @node: in the list of all groups [g]
 * @net: its network namespace [c]
 * @owner: user whose processes may join [c]
 * @name: [c]
 * @id: of this incarnation [c]
 * @nranks: [c]
 * @lanes: [c]
 * @members: those of this host [g]
 * @idle_lock: innermost; protects @idle
 * @idle: threads that wait and may help (lane/copy_helper.c)
 * @recorders: of those that are or were members of this host [g]
 * @recorded: where they can be read, in debugfs; or an error pointer [c]
 */
struct coll_group {
	struct kobject kobj;
	struct list_head node;
	struct net *net;
	kuid_t owner;
	char name[40];
	u64 id;
	u32 nranks;
	u32 lanes;
	struct list_head members;
	spinlock_t idle_lock;
	struct list_head idle;
	struct list_head recorders;
	struct dentry *recorded;
};

/* group.c */
int coll_group_join(struct coll_member *member, const struct collective_join *join);
void coll_group_leave(struct coll_member *member);
int coll_group_setup(struct kobject *parent);
void coll_group_cleanup(void);

#endif /* COLL_GROUP_H */
