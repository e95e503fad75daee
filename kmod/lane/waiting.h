/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_WAITING_H
#define COLL_WAITING_H

#include <linux/types.h>

struct coll_lane;
struct coll_part;

/**
 * struct coll_waiting - the time that a lane waits for other ranks
 * @since: time since which nothing can be moved, though tasks are active; ns; 0: not now [L]
 * @total: sum of the waits that have ended; ns [L]
 * @part: the part that waits now, the oldest one [L]
 * @peer: rank that it waits for; COLL_NO_RANK: not known [L]
 */
struct coll_waiting {
	u64 since;
	u64 total;
	struct coll_part *part;
	u32 peer;
};

void coll_waiting_begin(struct coll_lane *lane);
void coll_waiting_end(struct coll_lane *lane);

#endif /* COLL_WAITING_H */
