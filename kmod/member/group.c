// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups: the ranks of this host, by network namespace, user and name.
 *
 * A group is found under the lock of its namespace, which is held for a look-up only.  What is in
 * a group belongs to its own mutex.  Memory is allocated, folders are made and messages are filled
 * with that held.  Because a dump of all groups waits for it, and making a folder holds the lock of
 * the folder above, which all users share, that memory is charged to no cgroup.
 */
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "compat/memneq.h"
#include "mem/account.h"
#include "member/group.h"
#include "member/member.h"
#include "member/sysfs.h"
#include "trace/recorder.h"

#define NAMES_BITS	6

/**
 * struct groups - the groups of a network namespace
 * @lock: protects all fields; innermost but for spinlocks
 * @list: struct coll_group, in the order of their serial numbers
 * @names: the same, by name
 * @last_serial: of the latest group
 * @changes: how often groups and members have come or gone; not 0
 */
struct groups {
	struct mutex lock; /* all fields */
	struct list_head list;
	DECLARE_HASHTABLE(names, NAMES_BITS);
	u64 last_serial;
	u32 changes;
};

static unsigned int groups_net_id;
static struct kobject *groups_kobj;

static struct groups *groups_of(const struct net *net)
{
	return net_generic(net, groups_net_id);
}

static u32 name_hash(const char *name)
{
	return jhash(name, strlen(name), 0);
}

static void groups_changed(struct coll_group *group)
{
	struct groups *groups = groups_of(group->net);

	mutex_lock(&groups->lock);
	groups->changes++;
	mutex_unlock(&groups->lock);
}

/**
 * coll_groups_changes() - how often groups and members of a network namespace have come or gone
 * @net: the namespace
 *
 * Context: may sleep.
 */
u32 coll_groups_changes(const struct net *net)
{
	struct groups *groups = groups_of(net);
	u32 changes;

	mutex_lock(&groups->lock);
	changes = groups->changes;
	mutex_unlock(&groups->lock);
	return changes;
}

/*
 * Lock a group that was found, and that this thread has a reference to.  Its user may allocate
 * with the mutex held, and be long about that, so a signal that kills ends the waiting.
 * Return: 0; -ESTALE: the group has ended; or -EINTR.  Without success the reference is dropped.
 */
static int group_lock(struct coll_group *group)
{
	int err = mutex_lock_killable(&group->mutex);

	if (!err && group->ended) {
		mutex_unlock(&group->mutex);
		err = -ESTALE;
	}
	if (err)
		kobject_put(&group->kobj);
	return err;
}

/**
 * coll_group_unlock() - let members come and go again, and forget the group
 * @group: of coll_group_from() or coll_group_find()
 */
void coll_group_unlock(struct coll_group *group)
{
	mutex_unlock(&group->mutex);
	kobject_put(&group->kobj);
}

/* Return: the first group from a serial number on, with a reference; or NULL. */
static struct coll_group *group_get_from(struct groups *groups, u64 serial)
{
	struct coll_group *group, *found = NULL;

	mutex_lock(&groups->lock);
	list_for_each_entry(group, &groups->list, node)
		if (group->serial >= serial) {
			found = group;
			kobject_get(&found->kobj);
			break;
		}
	mutex_unlock(&groups->lock);
	return found;
}

/**
 * coll_group_from() - the first group of a network namespace, from a serial number on
 * @net: the namespace
 * @serial: least serial number
 *
 * While a group is locked, no member comes or goes.  What a member has from JOIN to the end of the
 * teardown stays: lanes, links, tables and registered buffers.
 *
 * Context: no group is locked; may sleep.
 * Return: the group, locked until coll_group_unlock(); NULL; or -EINTR.
 */
struct coll_group *coll_group_from(const struct net *net, u64 serial)
{
	struct coll_group *group;
	int err;

	/* Ends: each turn begins behind a group that has ended. */
	for (;;) {
		group = group_get_from(groups_of(net), serial);
		if (!group)
			return NULL;
		serial = group->serial + 1;
		err = group_lock(group);
		if (!err)
			return group;
		if (err != -ESTALE)
			return ERR_PTR(err);
	}
}

static struct coll_group *find_owned(struct groups *groups, const char *name, kuid_t owner)
{
	struct coll_group *group;

	lockdep_assert_held(&groups->lock);
	hash_for_each_possible(groups->names, group, name_node, name_hash(name))
		if (uid_eq(group->owner, owner) && !strcmp(group->name, name))
			return group;
	return NULL;
}

static struct coll_group *find_only(struct groups *groups, const char *name)
{
	struct coll_group *group, *only = NULL;

	lockdep_assert_held(&groups->lock);
	hash_for_each_possible(groups->names, group, name_node, name_hash(name)) {
		if (strcmp(group->name, name))
			continue;
		if (only)
			return ERR_PTR(-ENOTUNIQ);
		only = group;
	}
	return only;
}

/**
 * coll_group_find() - the group of a name
 * @net: its network namespace
 * @name: its name
 * @owner: the user that it belongs to
 * @any: true: if that user has none, the only one of that name is meant
 *
 * Context: no group is locked; may sleep.
 * Return: the group, locked until coll_group_unlock(); -ENOENT; -ENOTUNIQ: several other users have
 * a group of that name; or -EINTR.
 */
struct coll_group *coll_group_find(const struct net *net, const char *name, kuid_t owner, bool any)
{
	struct groups *groups = groups_of(net);
	struct coll_group *group;
	int err;

	mutex_lock(&groups->lock);
	group = uid_valid(owner) ? find_owned(groups, name, owner) : NULL;
	if (!group && any)
		group = find_only(groups, name);
	if (!IS_ERR_OR_NULL(group))
		kobject_get(&group->kobj);
	mutex_unlock(&groups->lock);
	if (!group)
		return ERR_PTR(-ENOENT);
	if (IS_ERR(group))
		return group;
	err = group_lock(group);
	if (err)
		return ERR_PTR(err == -ESTALE ? -ENOENT : err);
	return group;
}

/**
 * coll_group_member_from() - the first member of a group on this host, from a serial number on
 * @group: the group
 * @serial: least serial number
 *
 * Context: the group is locked.
 * Return: the member, which may not have joined completely yet; or NULL.
 */
struct coll_member *coll_group_member_from(const struct coll_group *group, u64 serial)
{
	struct coll_member *member;

	lockdep_assert_held(&group->mutex);
	list_for_each_entry(member, &group->members, group_node)
		if (member->serial >= serial)
			return member;
	return NULL;
}

/**
 * coll_group_member_after() - the next member of its group on this host
 * @member: the member
 *
 * Context: the group is locked.
 * Return: as coll_group_member_from().
 */
struct coll_member *coll_group_member_after(struct coll_member *member)
{
	lockdep_assert_held(&member->group->mutex);
	if (list_is_last(&member->group_node, &member->group->members))
		return NULL;
	return list_next_entry(member, group_node);
}

/**
 * coll_group_member() - the member of a rank on this host
 * @group: the group
 * @rank: the rank
 *
 * Context: the group is locked.
 * Return: the member, which may not have joined completely yet; or NULL.
 */
struct coll_member *coll_group_member(const struct coll_group *group, u32 rank)
{
	struct coll_member *member;

	lockdep_assert_held(&group->mutex);
	list_for_each_entry(member, &group->members, group_node)
		if (member->id.rank == rank)
			return member;
	return NULL;
}

/* Return: a group that is in no list, and to which the caller has the only reference. */
static struct coll_group *group_new(struct net *net, const struct coll_member *member,
				    const struct collective_join *join)
{
	struct coll_group *group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	int err;

	if (!group)
		return ERR_PTR(-ENOMEM);
	kobject_init(&group->kobj, &coll_group_ktype);
	mutex_init(&group->mutex);
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
		memzero_explicit(group->secret, sizeof(group->secret));
		kobject_put(&group->kobj);
		return ERR_PTR(err);
	}
	return group;
}

static void groups_add(struct groups *groups, struct coll_group *group)
{
	lockdep_assert_held(&groups->lock);
	group->serial = ++groups->last_serial;
	groups->changes++;
	list_add_tail(&group->node, &groups->list);
	hash_add(groups->names, &group->name_node, name_hash(group->name));
}

static void groups_remove(struct coll_group *group)
{
	struct groups *groups = groups_of(group->net);

	mutex_lock(&groups->lock);
	list_del(&group->node);
	hash_del(&group->name_node);
	groups->changes++;
	mutex_unlock(&groups->lock);
}

/*
 * The name of a group's folders depends on its name and owner only, not on which group was first:
 * NAME of the namespace's root, NAME@UID of its other users, and NAME@@UID of users that have no
 * number there, with that of the initial user namespace.
 */
static void folder_name(const struct coll_group *group, char *name, size_t size)
{
	uid_t uid = from_kuid(group->net->user_ns, group->owner);

	if (!uid)
		strscpy(name, group->name, size);
	else if (uid != (uid_t)-1)
		snprintf(name, size, "%s@%u", group->name, uid);
	else
		snprintf(name, size, "%s@@%u", group->name,
			 from_kuid(&init_user_ns, group->owner));
}

/* Make the folders of a group that is in the list.  Return: 0 or a negative errno. */
static int group_make_folders(struct coll_group *group)
{
	char name[COLL_FOLDER_NAME_SIZE];
	int err;

	if (group->kobj.state_in_sysfs)
		return 0;
	folder_name(group, name, sizeof(name));
	err = kobject_add(&group->kobj, groups_kobj, "%s", name);
	if (!err)
		coll_recorder_dir_make(&group->recorders, name, group->net->ns.inum);
	return err;
}

/*
 * End a group without members.  The folders go before the entry in the list, so the next group of
 * this name and user does not find them.
 */
static void group_end(struct coll_group *group)
{
	lockdep_assert_held(&group->mutex);
	if (group->kobj.state_in_sysfs) {
		coll_recorder_dir_remove(&group->recorders);
		kobject_del(&group->kobj);
	}
	memzero_explicit(group->secret, sizeof(group->secret));
	group->ended = true;
	groups_remove(group);
	/* The reference of the list. */
	kobject_put(&group->kobj);
}

static int group_admits(const struct coll_group *group, const struct coll_member *member,
			const struct collective_join *join)
{
	if (group->id != join->id || group->nranks != member->id.nranks ||
	    group->lanes != member->id.nlanes)
		return -EEXIST;
	if (coll_memneq(group->secret, join->secret, sizeof(group->secret)))
		return -EACCES;
	return coll_group_member(group, member->id.rank) ? -EBUSY : 0;
}

/*
 * The caller's group of a name, with a reference; or @fresh, which is added and locked, because a
 * group in the list has members whenever its mutex is free; or NULL.
 */
static struct coll_group *group_get_or_add(struct groups *groups, const char *name,
					   struct coll_group *fresh)
{
	struct coll_group *group;

	mutex_lock(&groups->lock);
	group = find_owned(groups, name, current_euid());
	/* No other thread knows @fresh yet: its mutex is free. */
	if (!group && fresh && mutex_trylock(&fresh->mutex)) {
		group = fresh;
		groups_add(groups, group);
	}
	if (group)
		kobject_get(&group->kobj);
	mutex_unlock(&groups->lock);
	return group;
}

/*
 * The group to enter, locked; a new one is allocated with no lock held.
 * Return: the group or a negative errno.
 */
static struct coll_group *group_enter(struct net *net, const struct coll_member *member,
				      const struct collective_join *join)
{
	struct coll_group *group, *fresh = NULL;
	int err = -ESTALE;

	/* Repeated only while groups of this name and user end. */
	while (err == -ESTALE) {
		group = group_get_or_add(groups_of(net), join->name, fresh);
		if (group && group == fresh)
			return group;
		if (group) {
			err = group_lock(group);
			continue;
		}
		fresh = group_new(net, member, join);
		if (IS_ERR(fresh))
			return fresh;
	}
	if (fresh)
		kobject_put(&fresh->kobj);
	return err ? ERR_PTR(err) : group;
}

/* Return: 0 or a negative errno. */
static int group_add_member(struct coll_group *group, struct coll_member *member)
{
	int err = coll_recorder_enter(&group->recorders, &member->charges, &member->state.trace,
				      member->owner.pid);

	if (err)
		return err;
	member->group = group;
	err = kobject_add(&member->kobj, &group->kobj, "%u", member->id.rank);
	if (err) {
		member->group = NULL;
		coll_recorder_leave(&member->state.trace);
		return err;
	}
	/* The member uses the group until coll_group_leave(). */
	kobject_get(&group->kobj);
	member->serial = ++group->last_serial;
	list_add_tail(&member->group_node, &group->members);
	groups_changed(group);
	coll_member_set_defaults(member, &group->defaults);
	return 0;
}

/**
 * coll_group_join() - enter the caller's group in its network namespace, making it if needed
 * @member: its @id and @owner are set; its @group is set here
 * @join: the request of the process
 *
 * Context: the process that joins; may sleep.
 * Return: 0; -EBUSY if the rank is taken; -EEXIST if the group of this name and user has another
 * size or id; -EACCES if it has another secret; -EDQUOT, -ENOMEM or -EINTR.
 */
int coll_group_join(struct coll_member *member, const struct collective_join *join)
{
	struct coll_group *group = group_enter(current->nsproxy->net_ns, member, join);
	struct mem_cgroup *cgroup;
	int err;

	if (IS_ERR(group))
		return PTR_ERR(group);
	cgroup = coll_no_cgroup_begin();
	err = group_admits(group, member, join) ?: group_make_folders(group) ?:
	      group_add_member(group, member);
	coll_no_cgroup_end(cgroup);
	if (list_empty(&group->members))
		group_end(group);
	coll_group_unlock(group);
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
	/* The last notices have space then, whatever was posted before. */
	coll_notices_flush(&member->state.notices);
	if (member->state.value != COLLECTIVE_STATE_NEW)
		coll_state_tell_end(&member->state);
	coll_notices_flush(&member->state.notices);
	mutex_lock(&group->mutex);
	list_del_init(&member->group_node);
	groups_changed(group);
	coll_recorder_leave(&member->state.trace);
	if (list_empty(&group->members))
		group_end(group);
	coll_group_unlock(group);
	member->group = NULL;
}

static int __net_init groups_net_init(struct net *net)
{
	struct groups *groups = groups_of(net);

	mutex_init(&groups->lock);
	INIT_LIST_HEAD(&groups->list);
	hash_init(groups->names);
	groups->changes = 1;
	return 0;
}

/* A group keeps its network namespace, so none is left here. */
static void __net_exit groups_net_exit(struct net *net)
{
	WARN_ON_ONCE(!list_empty(&groups_of(net)->list));
}

static struct pernet_operations groups_net_ops = {
	.init	= groups_net_init,
	.exit	= groups_net_exit,
	.id	= &groups_net_id,
	.size	= sizeof(struct groups),
};

/**
 * coll_group_setup() - make the folder of all groups in sysfs
 * @parent: the device
 *
 * Return: 0 or a negative errno.
 */
int coll_group_setup(struct kobject *parent)
{
	int err = register_pernet_subsys(&groups_net_ops);

	if (err)
		return err;
	groups_kobj = kzalloc(sizeof(*groups_kobj), GFP_KERNEL);
	if (!groups_kobj) {
		err = -ENOMEM;
		goto pernet;
	}
	err = kobject_init_and_add(groups_kobj, &coll_groups_ktype, parent, "groups");
	if (!err)
		return 0;
	kobject_put(groups_kobj);
pernet:
	unregister_pernet_subsys(&groups_net_ops);
	return err;
}

/** coll_group_cleanup() - undo coll_group_setup(); no group is left */
void coll_group_cleanup(void)
{
	kobject_del(groups_kobj);
	kobject_put(groups_kobj);
	unregister_pernet_subsys(&groups_net_ops);
}
