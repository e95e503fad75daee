// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where lanes run: an administrator may say so, by sysfs.  A lane's work item moves
 * there the next time that it is queued; the threads that wait for their own operation
 * run it where they are, as ever.
 */
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <net/net_namespace.h>

#include "coll.h"

static ssize_t cpus_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct coll_member *member = container_of(kobj, struct coll_member, kobj);
	ssize_t len = 0;
	u32 i;

	for (i = 0; i < member->nlanes; i++)
		len += sysfs_emit_at(buf, len, "%s%d", i ? "," : "",
				     READ_ONCE(member->lanes[i].runner.cpu));
	return len + sysfs_emit_at(buf, len, "\n");
}

/* Deal the lanes out over them, in turn. */
static void cpus_set(struct coll_member *member, const struct cpumask *cpus)
{
	int cpu = cpumask_first(cpus);
	u32 i;

	WRITE_ONCE(member->control.cpu, cpu);
	for (i = 0; i < member->nlanes; i++) {
		WRITE_ONCE(member->lanes[i].runner.cpu, cpu);
		cpu = cpumask_next(cpu, cpus);
		if (cpu >= nr_cpu_ids)
			cpu = cpumask_first(cpus);
	}
}

static ssize_t cpus_store(struct kobject *kobj, struct kobj_attribute *attr, const char *buf,
			  size_t count)
{
	struct coll_member *member = container_of(kobj, struct coll_member, kobj);
	cpumask_var_t cpus;
	int err = 0;

	if (!ns_capable(member->group->net->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	if (!alloc_cpumask_var(&cpus, GFP_KERNEL))
		return -ENOMEM;
	/* Work items only run on CPUs that have been online. */
	if (cpulist_parse(buf, cpus) || cpumask_empty(cpus) ||
	    !cpumask_subset(cpus, cpu_online_mask))
		err = -EINVAL;
	else
		cpus_set(member, cpus);
	free_cpumask_var(cpus);
	return err ? err : count;
}

struct kobj_attribute coll_cpus_attr = __ATTR_RW(cpus);
