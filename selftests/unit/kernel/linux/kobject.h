/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_KOBJECT_H
#define COLL_KERNEL_KOBJECT_H

struct kobject {
	int refs;
};

#endif /* COLL_KERNEL_KOBJECT_H */
