/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_CREW_H
#define COLL_CREW_H

#include <linux/kref.h>
#include <linux/list.h>

#include "core/sink.h"

struct coll_group;
struct coll_lane;

/**
 * struct coll_crew - who copies what comes on a lane: its runner, and at times a helper
 *
 * The runner offers the second half of what it copies and does the first; the helper takes
 * it, or the runner does then.  @mem to @len are written before they are offered, and belong
 * to who has taken them.
 *
 * @copier: the lane's engine's
 * @ref: the lane's, and the helper's
 * @lane: used by its runner only
 * @impl: how to copy
 * @helped: somebody looks at @half [a]
 * @half: enum crew_half [a]
 * @mem: where to
 * @off: where in it
 * @ptr: where from
 * @len: how much
 */
struct coll_crew {
	struct coll_copier copier;
	struct kref ref;
	struct coll_lane *lane;
	const struct coll_reduce_impl *impl;
	bool helped;

	atomic_t half ____cacheline_aligned_in_smp;
	const struct coll_mem *mem;
	u64 off;
	const void *ptr;
	size_t len;
};

/**
 * struct coll_helper - a thread that waits for something large, with a CPU to itself
 * @group: whose ranks it helps; NULL: none
 * @node: in the group's list of those who are idle; protected by its idle_lock
 * @news: completed when it is called
 * @cpu: its own
 * @crew: that has called it, with a reference; [a], set while it is idle
 * @idle: how often it has found nothing to do...
 * @until: ...and when it does so no longer, ns; 0: it has found something since
 */
struct coll_helper {
	struct coll_group *group;
	struct list_head node;
	struct completion *news;
	int cpu;
	struct coll_crew *crew;
	u32 idle;
	u64 until;
};

struct coll_crew *coll_crew_new(struct coll_lane *lane);
void coll_crew_put(struct coll_crew *crew);
void coll_helper_offer(struct coll_helper *helper, struct coll_group *group,
		       struct completion *news);
bool coll_helper_turn(struct coll_helper *helper);
void coll_helper_rest(struct coll_helper *helper);
void coll_helper_withdraw(struct coll_helper *helper);

/**
 * coll_helper_called() - has anybody something to copy?
 * @helper: ours
 */
static inline bool coll_helper_called(const struct coll_helper *helper)
{
	return READ_ONCE(helper->crew);
}

#endif /* COLL_CREW_H */
