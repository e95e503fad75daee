/* SPDX-License-Identifier: GPL-2.0-only */
/* Without cgroups. */
#ifndef COLL_KERNEL_LINUX_MEMCONTROL_H
#define COLL_KERNEL_LINUX_MEMCONTROL_H

struct mem_cgroup;

static inline struct mem_cgroup *set_active_memcg(struct mem_cgroup *cgroup)
{
	return cgroup;
}

#define get_mem_cgroup_from_mm(mm)	((void)(mm), (struct mem_cgroup *)NULL)
#define mem_cgroup_put(cgroup)		((void)(cgroup))

#endif /* COLL_KERNEL_LINUX_MEMCONTROL_H */
