// SPDX-License-Identifier: GPL-2.0-only
/*
 * Statistics in sysfs, one value a file: Documentation/ABI describes each.
 */
#include <linux/bitmap.h>
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <net/net_namespace.h>

#include "compat/compat.h"
#include "lane/lane.h"
#include "member/defaults.h"
#include "member/group.h"
#include "member/member.h"
#include "member/stats.h"
#include "member/sysfs.h"
#include "net/link.h"
#include "trace/names.h"
#include "transport/transport.h"

static struct coll_member *member_of(struct kobject *kobj)
{
	return container_of(kobj, struct coll_member, kobj);
}

#define COLL_ATTR(_name, _format, _value)					\
static ssize_t _name##_show(struct kobject *kobj, struct kobj_attribute *attr,	\
			    char *buf)						\
{										\
	struct coll_member *member = member_of(kobj);				\
										\
	return sysfs_emit(buf, _format "\n", _value);				\
}										\
static struct kobj_attribute _name##_attr = __ATTR_RO(_name)

#define COLL_ATTR_STAT(_name, _stat)						\
	COLL_ATTR(_name, "%llu", coll_stat_member(member, COLL_STAT_##_stat))

COLL_ATTR(state, "%s", coll_state_names[READ_ONCE(member->state.value)]);
COLL_ATTR(size, "%u", member->id.nranks);
COLL_ATTR(lanes, "%u", member->id.nlanes);
COLL_ATTR(pid, "%d", member->owner.pid);
COLL_ATTR(inflight, "%u", READ_ONCE(member->requests.inflight));
COLL_ATTR(transport, "%s", coll_transport_names[member->net.wish]);
COLL_ATTR_STAT(ops_submitted, OPS_SUBMITTED);
COLL_ATTR_STAT(ops_completed, OPS_COMPLETED);
COLL_ATTR_STAT(ops_failed, OPS_FAILED);
COLL_ATTR_STAT(bytes_sent, BYTES_SENT);
COLL_ATTR_STAT(bytes_received, BYTES_RECEIVED);
COLL_ATTR_STAT(bytes_reduced, BYTES_REDUCED);
COLL_ATTR_STAT(bytes_placed, BYTES_PLACED);
COLL_ATTR_STAT(bytes_read, BYTES_READ);
COLL_ATTR_STAT(bytes_read_own, BYTES_READ_OWN);
COLL_ATTR_STAT(bytes_stored, BYTES_STORED);
COLL_ATTR_STAT(zero_copy_bytes, ZERO_COPY_BYTES);
COLL_ATTR_STAT(nontemporal_bytes, NONTEMPORAL_BYTES);
COLL_ATTR_STAT(pinned_bytes, PINNED_BYTES);
COLL_ATTR_STAT(memory_bytes, MEMORY_BYTES);
COLL_ATTR_STAT(refused_connections, REFUSED_CONNECTIONS);

static ssize_t cpus_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct coll_member *member = member_of(kobj);
	ssize_t len = 0;
	u32 i;

	for (i = 0; i < member->id.nlanes; i++)
		len += sysfs_emit_at(buf, len, "%s%d", i ? "," : "",
				     coll_cpu_pick(&member->lanes[i].runner));
	return len + sysfs_emit_at(buf, len, "\n");
}

static ssize_t cpus_store(struct kobject *kobj, struct kobj_attribute *attr, const char *buf,
			  size_t count)
{
	struct coll_member *member = member_of(kobj);
	bool any = capable(CAP_SYS_NICE);
	cpumask_var_t cpus;
	int err = 0;

	if (!ns_capable(member->group->net->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	if (!alloc_cpumask_var(&cpus, GFP_KERNEL))
		return -ENOMEM;
	/* Work items run on CPUs that have been online only. */
	if (cpulist_parse(buf, cpus) || cpumask_empty(cpus) ||
	    !cpumask_subset(cpus, cpu_online_mask))
		err = -EINVAL;
	else if (!any && !coll_member_may_use_cpus(member, cpus))
		err = -EPERM;
	else
		coll_member_set_cpus(member, cpus, any);
	free_cpumask_var(cpus);
	return err ? err : count;
}

static struct kobj_attribute cpus_attr = __ATTR_RW(cpus);

static struct attribute *member_attrs[] = {
	&state_attr.attr,
	&size_attr.attr,
	&lanes_attr.attr,
	&cpus_attr.attr,
	&pid_attr.attr,
	&inflight_attr.attr,
	&transport_attr.attr,
	&ops_submitted_attr.attr,
	&ops_completed_attr.attr,
	&ops_failed_attr.attr,
	&bytes_sent_attr.attr,
	&bytes_received_attr.attr,
	&bytes_reduced_attr.attr,
	&bytes_placed_attr.attr,
	&bytes_read_attr.attr,
	&bytes_read_own_attr.attr,
	&bytes_stored_attr.attr,
	&zero_copy_bytes_attr.attr,
	&nontemporal_bytes_attr.attr,
	&pinned_bytes_attr.attr,
	&memory_bytes_attr.attr,
	&refused_connections_attr.attr,
	NULL
};

#define COLL_ATTR_ERRORS(_name, _kind) \
	COLL_ATTR(_name, "%llu", coll_stat_errors(member, COLLECTIVE_REASON_##_kind))

COLL_ATTR_ERRORS(death, DEATH);
COLL_ATTR_ERRORS(left, LEFT);
COLL_ATTR_ERRORS(mismatch, MISMATCH);
COLL_ATTR_ERRORS(protocol, PROTOCOL);
COLL_ATTR_ERRORS(reset, RESET);
COLL_ATTR_ERRORS(silence, SILENCE);
COLL_ATTR_ERRORS(deadline, DEADLINE);
COLL_ATTR_ERRORS(cancelled, CANCELLED);
COLL_ATTR_ERRORS(resources, RESOURCES);

static struct attribute *errors_attrs[] = {
	&death_attr.attr,
	&left_attr.attr,
	&mismatch_attr.attr,
	&protocol_attr.attr,
	&reset_attr.attr,
	&silence_attr.attr,
	&deadline_attr.attr,
	&cancelled_attr.attr,
	&resources_attr.attr,
	NULL
};

/*
 * Ranks to which this one has, or had, open links of a transport, which the file is named after.
 * Links outlast the files, because the teardown removes the files first.
 */
static ssize_t peers_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	const struct coll_member *member = member_of(kobj);
	DECLARE_BITMAP(peers, COLLECTIVE_RANKS_MAX) = {};
	const struct coll_transport *transport;
	u32 rank;

	for (rank = 0; rank < member->id.nranks; rank++) {
		transport = coll_stat_transport(coll_link_get(&member->net, rank));
		if (transport && !strcmp(coll_transport_names[transport->kind], attr->attr.name))
			__set_bit(rank, peers);
	}
	/* Fits into a page: even all ranks one by one would take 4,010 bytes. */
	return sysfs_emit(buf, "%*pbl\n", (int)member->id.nranks, peers);
}

static struct kobj_attribute tcp_attr = __ATTR(tcp, 0444, peers_show, NULL);
static struct kobj_attribute rdma_attr = __ATTR(rdma, 0444, peers_show, NULL);
static struct kobj_attribute local_attr = __ATTR(local, 0444, peers_show, NULL);

static struct attribute *links_attrs[] = {
	&tcp_attr.attr,
	&rdma_attr.attr,
	&local_attr.attr,
	NULL
};

static const struct attribute_group member_group = {
	.attrs = member_attrs,
};

static const struct attribute_group errors_group = {
	.name = "errors",
	.attrs = errors_attrs,
};

static const struct attribute_group links_group = {
	.name = "links",
	.attrs = links_attrs,
};

static const struct attribute_group *member_groups[] = {
	&member_group,
	&errors_group,
	&links_group,
	NULL
};

static void member_release(struct kobject *kobj)
{
	kfree(member_of(kobj));
}

const struct kobj_type coll_member_ktype = {
	.release	= member_release,
	.sysfs_ops	= &kobj_sysfs_ops,
	.default_groups	= member_groups,
};

/* Groups are seen in their own network namespace only. */
static coll_kobj_ns group_namespace(const struct kobject *kobj)
{
	return coll_kobj_net(container_of(kobj, struct coll_group, kobj)->net);
}

static void group_release(struct kobject *kobj)
{
	struct coll_group *group = container_of(kobj, struct coll_group, kobj);

	coll_local_hub_cleanup(&group->hub);
	put_net(group->net);
	kfree_sensitive(group);
}

const struct kobj_type coll_group_ktype = {
	.release	= group_release,
	.sysfs_ops	= &kobj_sysfs_ops,
	.namespace	= group_namespace,
};

static const struct kobj_ns_type_operations *groups_child_ns_type(const struct kobject *kobj)
{
	return &net_ns_type_operations;
}

static void groups_release(struct kobject *kobj)
{
	kfree(kobj);
}

const struct kobj_type coll_groups_ktype = {
	.release	= groups_release,
	.sysfs_ops	= &kobj_sysfs_ops,
	.child_ns_type	= groups_child_ns_type,
};
