/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_SCHED_USER_H
#define COLL_KERNEL_SCHED_USER_H

#include <linux/atomic.h>

struct user_struct {
	atomic_long_t locked_vm;
};

#endif /* COLL_KERNEL_SCHED_USER_H */
