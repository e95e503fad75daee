/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_GROUP_H
#define COLL_GROUP_H

#include <linux/kobject.h>
#include <linux/list.h>

#include <linux/collective.h>

#include "trace/recorder.h"
#include "transport/hub.h"

struct coll_member;

/**
 * struct coll_group - a named set of ranks in a network namespace, from its first member of this
 *	host to its last
 * @kobj: in sysfs
 * @node: in the list of all groups [g]
 * @net: network namespace [c]
 * @owner: user whose processes may join [c]
 * @name: of the group [c]
 * @id: of this incarnation [c]
 * @nranks: ranks of the group [c]
 * @lanes: lanes of each rank [c]
 * @members: those of this host [g]
 * @secret: secret of its first member, which the others must have; all zero: none; wiped with the
 *	group [c]
 * @hub: where its members find each other
 * @recorders: of ranks that are or were members on this host [g]
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
	u8 secret[COLLECTIVE_SECRET_SIZE];
	struct coll_local_hub hub;
	struct coll_recorder_dir recorders;
};

/* group.c */
int coll_group_join(struct coll_member *member, const struct collective_join *join);
void coll_group_leave(struct coll_member *member);
int coll_group_setup(struct kobject *parent);
void coll_group_cleanup(void);

#endif /* COLL_GROUP_H */
