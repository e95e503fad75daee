/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_SYSFS_H
#define COLL_SYSFS_H

#include <linux/kobject.h>

/* sysfs.c */
extern const struct kobj_type coll_group_ktype;
extern const struct kobj_type coll_member_ktype;
extern const struct kobj_type coll_groups_ktype;

#endif /* COLL_SYSFS_H */
