/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_WORKQUEUE_H
#define COLL_KERNEL_WORKQUEUE_H

#include "env.h"

struct workqueue_struct;

struct work_struct {
	bool queued;
};

struct delayed_work {
	struct work_struct work;
};

/* The test runs the work itself. */
#define flush_work(work)	((void)(work))

#endif /* COLL_KERNEL_WORKQUEUE_H */
