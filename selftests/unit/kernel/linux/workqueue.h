/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_KERNEL_WORKQUEUE_H
#define COLL_KERNEL_WORKQUEUE_H

#include <linux/jiffies.h>

struct workqueue_struct;

struct work_struct {
	bool queued;
};

/* struct delayed_work - @at: if it is queued: time at which it is to run, jiffies */
struct delayed_work {
	struct work_struct work;
	unsigned long at;
};

/* The test runs the work itself. */
#define flush_work(work)	((void)(work))
#define to_delayed_work(p)	container_of(p, struct delayed_work, work)

static inline void mod_delayed_work(const struct workqueue_struct *wq, struct delayed_work *work,
				    unsigned long delay)
{
	(void)wq;
	assert(delay <= MAX_JIFFY_OFFSET);
	work->work.queued = true;
	work->at = jiffies + delay;
}

#endif /* COLL_KERNEL_WORKQUEUE_H */
