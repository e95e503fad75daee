/* SPDX-License-Identifier: GPL-2.0-only */
/* What protects a field, [a] and so on: coll.h. */
#ifndef COLL_CREW_H
#define COLL_CREW_H

#include <linux/kref.h>
#include <linux/list.h>

#include "core/data/mem.h"

struct coll_group;
struct coll_helper;
struct coll_lane;

/**
 * struct coll_copy_helper - who copies for a lane: its runner, and at times a helper
 *
 * The runner offers the second half of what it copies and does the first; the helper takes
 * it, or the runner does then.  @copy to @len are written before they are offered, and belong
 * to who has taken them.  A helper may be away for a while, and may stay longer than the lane;
 * then it finds nothing.
 *
 * @ref: the lane's, and its helpers'
 * @lane: for its runner only
 * @helper: who was called last and has not parted, only for a name; [a], changed under
 *	the group's idle_lock
 * @missed: pieces in a row that it was not there for [L]
 * @half: enum crew_half [a]
 * @copy: how
 * @mem: where to
 * @off: where in it
 * @ptr: where from
 * @len: how much
 */
struct coll_copy_helper {
	struct kref ref;
	struct coll_lane *lane;
	const struct coll_helper *helper;
	u32 missed;

	atomic_t half ____cacheline_aligned_in_smp;
	coll_copy_fn copy;
	const struct coll_mem *mem;
	u64 off;
	const void *ptr;
	size_t len;
};

/**
 * struct coll_helper - a thread that waits for something large, with a CPU to itself
 * @group: whose ranks it helps; NULL: none
 * @node: in the group's list while it is idle and not called, under its idle_lock
 * @news: completed when it is called, if @dozes
 * @cpu: where it was idle, under idle_lock
 * @crew: that has called it, with a reference; [a], set by who calls, under idle_lock
 * @dozes: it has to be told that it is called, under idle_lock
 * @warm: it has been called lately, and may be again
 * @idle: how often it has found nothing since...
 * @until: ...and how long it goes on looking, ns; 0: not known yet
 */
struct coll_helper {
	struct coll_group *group;
	struct list_head node;
	struct completion *news;
	int cpu;
	struct coll_copy_helper *crew;
	bool dozes;
	bool warm;
	u32 idle;
	u64 until;
};

struct coll_copy_helper *coll_copy_helper_new(struct coll_lane *lane);
void coll_copy_helper_put(struct coll_copy_helper *crew);
bool coll_copy_helper_split(struct coll_copy_helper *crew, coll_copy_fn copy,
			    const struct coll_mem *dst,
			    u64 off, const void *ptr, size_t len, u64 left);
void coll_helper_begin(struct coll_helper *helper, struct coll_group *group,
		       struct completion *news);
void coll_helper_offer(struct coll_helper *helper);
bool coll_helper_poll(struct coll_helper *helper);
void coll_helper_withdraw(struct coll_helper *helper);
void coll_helper_detach(struct coll_helper *helper);

#endif /* COLL_CREW_H */
