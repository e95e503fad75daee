/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_RCULIST_H
#define COLL_KERNEL_RCULIST_H

#include <linux/list.h>

#define list_for_each_entry_lockless	list_for_each_entry

#endif /* COLL_KERNEL_RCULIST_H */
