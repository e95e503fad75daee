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

/* Of the latest group and member, and how often groups and members have come or gone [g]. */
static u64 last_serial;
static u32 groups_changes;

/**
 * coll_groups_lock() - let no group and no member come or go
 *
 * What a member of a group has from JOIN to the end of the teardown stays until
 * coll_groups_unlock(): lanes, links, tables and registered buffers.
 *
 * Context: may sleep.
 */
void coll_groups_lock(void)
{
	mutex_lock(&groups_mutex);
}

/** coll_groups_unlock() - undo coll_groups_lock() */
void coll_groups_unlock(void)
{
	mutex_unlock(&groups_mutex);
}

/** coll_groups_changes() - how often groups and members have come or gone; groups are locked */
u32 coll_groups_changes(void)
{
	lockdep_assert_held(&groups_mutex);
	return groups_changes;
}

/**
 * coll_group_from() - the first group of a network namespace, from a serial number on
 * @net: the namespace
 * @serial: least serial number
 *
 * Context: groups are locked.
 * Return: the group, or NULL.
 */
struct coll_group *coll_group_from(const struct net *net, u64 serial)
{
	struct coll_group *group;

	lockdep_assert_held(&groups_mutex);
	list_for_each_entry(group, &groups, node)
		if (group->serial >= serial && net_eq(group->net, net))
			return group;
	return NULL;
}

/**
 * coll_group_after() - the next group of a network namespace
 * @group: of that namespace
 *
 * Context: groups are locked.
 * Return: the group, or NULL.
 */
struct coll_group *coll_group_after(struct coll_group *group)
{
	const struct net *net = group->net;

	lockdep_assert_held(&groups_mutex);
	list_for_each_entry_continue(group, &groups, node)
		if (net_eq(group->net, net))
			return group;
	return NULL;
}

/**
 * coll_group_find() - the group of a name
 * @net: its network namespace
 * @name: its name
 *
 * Context: groups are locked.
 * Return: the group, or NULL.
 */
struct coll_group *coll_group_find(const struct net *net, const char *name)
{
	struct coll_group *group;

	lockdep_assert_held(&groups_mutex);
	list_for_each_entry(group, &groups, node)
		if (net_eq(group->net, net) && !strcmp(group->name, name))
			return group;
	return NULL;
}

/**
 * coll_group_member_from() - the first member of a group on this host, from a serial number on
 * @group: the group
 * @serial: least serial number
 *
 * Context: groups are locked.
 * Return: the member, which may not have joined completely yet; or NULL.
 */
struct coll_member *coll_group_member_from(const struct coll_group *group, u64 serial)
{
	struct coll_member *member;

	lockdep_assert_held(&groups_mutex);
	list_for_each_entry(member, &group->members, group_node)
		if (member->serial >= serial)
			return member;
	return NULL;
}

/**
 * coll_group_member_after() - the next member of its group on this host
 * @member: the member
 *
 * Context: groups are locked.
 * Return: as coll_group_member_from().
 */
struct coll_member *coll_group_member_after(struct coll_member *member)
{
	lockdep_assert_held(&groups_mutex);
	if (list_is_last(&member->group_node, &member->group->members))
		return NULL;
	return list_next_entry(member, group_node);
}

/**
 * coll_group_member() - the member of a rank on this host
 * @group: the group
 * @rank: the rank
 *
 * Context: groups are locked.
 * Return: the member, which may not have joined completely yet; or NULL.
 */
struct coll_member *coll_group_member(const struct coll_group *group, u32 rank)
{
	struct coll_member *member;

	lockdep_assert_held(&groups_mutex);
	list_for_each_entry(member, &group->members, group_node)
		if (member->id.rank == rank)
			return member;
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
	group->defaults.slow_percent = COLL_DEFAULT_UNSET;
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
	group->serial = ++last_serial;
	groups_changes++;
	list_add_tail(&group->node, &groups);
	return group;
}

static void group_end(struct coll_group *group)
{
	list_del(&group->node);
	groups_changes++;
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
	if (!uid_eq(group->owner, current_euid()))
		return -EACCES;
	if (group->id != join->id || group->nranks != member->id.nranks ||
	    group->lanes != member->id.nlanes)
		return -EEXIST;
	if (!group_has_secret(group, join->secret))
		return -EACCES;
	return coll_group_member(group, member->id.rank) ? -EBUSY : 0;
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
	group = coll_group_find(net, join->name);
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
	member->serial = ++last_serial;
	groups_changes++;
	list_add_tail(&member->group_node, &group->members);
	coll_member_set_defaults(member, &group->defaults);
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
	/* The last notices have room then, whatever was posted before. */
	coll_notices_flush(&member->fail.notices);
	if (member->fail.state != COLLECTIVE_STATE_NEW)
		coll_fail_tell_end(&member->fail);
	coll_notices_flush(&member->fail.notices);
	mutex_lock(&groups_mutex);
	list_del_init(&member->group_node);
	groups_changes++;
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
