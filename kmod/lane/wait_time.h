/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_WAIT_TIME_H
#define COLL_WAIT_TIME_H

#include <linux/types.h>

/**
 * struct coll_waiting - the time that a lane waits for other ranks
 * @since: time since which nothing can be moved, though tasks are active; ns; 0: not now [L]
 * @total: sum of the waits that have ended; ns [L]
 * @woken_for: rank that has published on the board last; COLL_NO_RANK: no rank has woken the lane
 *	since it waits [a]
 *
 * A lane waits from the end of a run that leaves nothing to move, if it has active tasks, to the
 * next run, which some event has caused.  The wait counts for the oldest task, and for the rank
 * that its current step needs: other ranks' frames may come meanwhile, and are not waited for.
 * What a part has waited is what its lane has waited from the part's begin to its end.
 */
struct coll_waiting {
	u64 since;
	u64 total;
	u32 woken_for;
};

#endif /* COLL_WAIT_TIME_H */
