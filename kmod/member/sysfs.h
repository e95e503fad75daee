/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_SYSFS_H
#define COLL_SYSFS_H

#include <linux/kobject.h>

#include <linux/collective.h>

/* sysfs.c */
extern const char * const coll_state_names[COLLECTIVE_STATE_COUNT];
extern const struct kobj_type coll_group_ktype;
extern const struct kobj_type coll_member_ktype;
extern const struct kobj_type coll_groups_ktype;
extern struct kobj_attribute coll_cpus_attr;	/* exec/cpu.c */

#endif /* COLL_SYSFS_H */
