// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups: the ranks of this host, by network namespace and name.
 */
#include <linux/cred.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "member/group.h"
#include "member/member.h"
#include "member/sysfs.h"
#include "trace/recorder.h"

static DEFINE_MUTEX(groups_mutex);
static LIST_HEAD(groups);
static struct kobject *groups_kobj;

static struct coll_group *group_find(struct net *net, const char *name)
{
	struct coll_group *group;

	list_for_each_entry(group, &groups, node)
		if (net_eq(group->net, net) && !strcmp(group->name, name))
			return group;
	return NULL;
}

static struct coll_group *group_new(struct net *net, const struct coll_member *member,
				    const struct collective_join *join)
{
	struct coll_group *group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	int err;

	if (!group)
		return ERR_PTR(-ENOMEM);
	group->net = get_net(net);
	group->owner = current_euid();
	group->id = join->id;
	group->nranks = member->id.nranks;
	group->lanes = member->id.nlanes;
	memcpy(group->name, join->name, sizeof(group->name));
	memcpy(group->secret, join->secret, sizeof(group->secret));
	INIT_LIST_HEAD(&group->members);
	err = coll_local_hub_init(&group->hub, group->nranks, group->lanes);
	if (err) {
		coll_local_hub_cleanup(&group->hub);
		put_net(group->net);
		kfree(group);
		return ERR_PTR(err);
	}

	err = kobject_init_and_add(&group->kobj, &coll_group_ktype, groups_kobj, "%s",
				   group->name);
	if (err) {
		kobject_put(&group->kobj);
		return ERR_PTR(err);
	}
	coll_recorder_dir_make(&group->recorders, group->name, net->ns.inum);
	list_add_tail(&group->node, &groups);
	return group;
}

static void group_end(struct coll_group *group)
{
	list_del(&group->node);
	memzero_explicit(group->secret, sizeof(group->secret));
	coll_recorder_dir_remove(&group->recorders);
	kobject_del(&group->kobj);
	kobject_put(&group->kobj);
}

/* Takes the same time for all secrets. */
static bool group_has_secret(const struct coll_group *group, const u8 *secret)
{
	u8 different = 0;
	u32 i;

	for (i = 0; i < sizeof(group->secret); i++) {
		different |= group->secret[i] ^ secret[i];
		OPTIMIZER_HIDE_VAR(different);
	}
	return !different;
}

static int group_admits(const struct coll_group *group, const struct coll_member *member,
			const struct collective_join *join)
{
	const struct coll_member *other;

	if (!uid_eq(group->owner, current_euid()))
		return -EACCES;
	if (group->id != join->id || group->nranks != member->id.nranks ||
	    group->lanes != member->id.nlanes)
		return -EEXIST;
	if (!group_has_secret(group, join->secret))
		return -EACCES;
	list_for_each_entry(other, &group->members, group_node)
		if (other->id.rank == member->id.rank)
			return -EBUSY;
	return 0;
}

/**
 * coll_group_join() - enter a group of the caller's network namespace, making it if needed
 * @member: its @id and @owner are set; its @group is set here
 * @join: the request of the process
 *
 * Context: the process that joins; may sleep.
 * Return: 0; -EBUSY if the rank is taken; -EEXIST if the group of this name has another size or
 * id; -EACCES if it belongs to another user or has another secret; -EDQUOT or -ENOMEM.
 */
int coll_group_join(struct coll_member *member, const struct collective_join *join)
{
	struct net *net = current->nsproxy->net_ns;
	struct coll_group *group;
	int err;

	mutex_lock(&groups_mutex);
	group = group_find(net, join->name);
	if (!group)
		group = group_new(net, member, join);
	if (IS_ERR(group)) {
		err = PTR_ERR(group);
		goto unlock;
	}
	err = group_admits(group, member, join);
	if (err)
		goto unlock;

	member->group = group;
	err = coll_recorder_enter(&group->recorders, &member->charges,
				  &member->fail.trace, member->owner.pid);
	if (err)
		goto end;
	err = kobject_add(&member->kobj, &group->kobj, "%u", member->id.rank);
	if (err)
		goto recorder;
	/* The member uses the group until coll_group_leave(). */
	kobject_get(&group->kobj);
	list_add_tail(&member->group_node, &group->members);
	goto unlock;

recorder:
	coll_recorder_leave(&member->fail.trace);
end:
	member->group = NULL;
	if (list_empty(&group->members))
		group_end(group);
unlock:
	mutex_unlock(&groups_mutex);
	return err;
}

/**
 * coll_group_leave() - undo coll_group_join()
 * @member: no runner of it runs any more
 *
 * Context: may sleep.
 */
void coll_group_leave(struct coll_member *member)
{
	struct coll_group *group = member->group;

	kobject_del(&member->kobj);
	mutex_lock(&groups_mutex);
	list_del_init(&member->group_node);
	coll_recorder_leave(&member->fail.trace);
	if (list_empty(&group->members))
		group_end(group);
	mutex_unlock(&groups_mutex);
	kobject_put(&group->kobj);
	member->group = NULL;
}

/**
 * coll_group_setup() - make the folder of all groups in sysfs
 * @parent: the device
 *
 * Return: 0 or a negative errno.
 */
int coll_group_setup(struct kobject *parent)
{
	int err;

	groups_kobj = kzalloc(sizeof(*groups_kobj), GFP_KERNEL);
	if (!groups_kobj)
		return -ENOMEM;
	err = kobject_init_and_add(groups_kobj, &coll_groups_ktype, parent, "groups");
	if (err)
		kobject_put(groups_kobj);
	return err;
}

/** coll_group_cleanup() - undo coll_group_setup(); no group is left */
void coll_group_cleanup(void)
{
	kobject_del(groups_kobj);
	kobject_put(groups_kobj);
}
