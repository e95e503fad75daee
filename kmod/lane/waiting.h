/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_WAITING_H
#define COLL_WAITING_H

#include <linux/ktime.h>
#include <linux/types.h>

struct coll_lane;

/**
 * struct coll_waiting - the time that a lane waits for other ranks
 * @since: time since which nothing can be moved, though tasks are active; ns; 0: not now [L]
 * @total: sum of the waits that have ended; ns [L]
 */
struct coll_waiting {
	u64 since;
	u64 total;
};

/**
 * coll_waiting_begin() - a run ends, and nothing can be moved
 * @waiting: of a lane that runs and has an active task
 */
static inline void coll_waiting_begin(struct coll_waiting *waiting)
{
	waiting->since = ktime_get_ns();
}

void coll_waiting_end(struct coll_lane *lane);

#endif /* COLL_WAITING_H */
