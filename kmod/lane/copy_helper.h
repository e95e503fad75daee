/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_COPY_HELPER_H
#define COLL_COPY_HELPER_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>

#include "core/data/mem.h"

struct coll_helper;
struct coll_lane;
struct completion;

/**
 * struct coll_helper_pool - waiting threads of a group that are idle
 * @lock: protects @idle; innermost.  A lane takes it with preemption disabled
 * @idle: struct coll_helper
 */
struct coll_helper_pool {
	raw_spinlock_t lock;
	struct list_head idle;
};

/**
 * struct coll_copy_helper - copying of a lane: by its runner, and at times by a helper, too
 *
 * The runner offers the second half of a piece and copies the first half itself.  The helper takes
 * the offered half, or the runner does so after its own.  @copy to @len are written before the
 * half is offered, and belong to the side that has taken it.  A helper may be busy for a while,
 * and may outlive the lane; then it finds no half offered.
 *
 * @ref: held by the lane and by its helpers
 * @lane: for its runner only
 * @helper: the thread that was woken last and has not detached; only compared; changed under the
 *	pool's lock [a]
 * @misses: consecutive pieces without help [L]
 * @half: enum half_state [a]
 * @copy: copies the half
 * @mem: destination
 * @off: offset in it, bytes
 * @ptr: source
 * @len: bytes
 */
struct coll_copy_helper {
	struct kref ref;
	struct coll_lane *lane;
	const struct coll_helper *helper;
	u32 misses;

	atomic_t half ____cacheline_aligned_in_smp;
	coll_copy_fn copy;
	const struct coll_mem *mem;
	u64 off;
	const void *ptr;
	size_t len;
};

/**
 * struct coll_helper - a thread that waits for a large operation and may help lanes to copy
 * @pool: of the group whose lanes it helps; NULL: none
 * @node: in the pool while it is idle and not woken
 * @event: completed when it is woken, if @needs_wakeup
 * @cpu: where it is idle; under the pool's lock
 * @target: what it copies for, with a reference; written by the waking lane under the pool's lock
 *	[a]
 * @needs_wakeup: true if it sleeps while it is idle; under the pool's lock
 * @recently_used: true if it was woken lately, and may be again
 * @idle_polls: polls without work since it was last used
 * @until: time at which it stops polling, ns; 0: not set yet
 */
struct coll_helper {
	struct coll_helper_pool *pool;
	struct list_head node;
	struct completion *event;
	int cpu;
	struct coll_copy_helper *target;
	bool needs_wakeup;
	bool recently_used;
	u32 idle_polls;
	u64 until;
};

void coll_helper_pool_init(struct coll_helper_pool *pool);
struct coll_copy_helper *coll_copy_helper_new(struct coll_lane *lane);
void coll_copy_helper_put(struct coll_copy_helper *copy_helper);
bool coll_copy_helper_split(struct coll_copy_helper *copy_helper, coll_copy_fn copy,
			    const struct coll_mem *dst, u64 off, const void *ptr, size_t len,
			    u64 left);
void coll_helper_begin(struct coll_helper *helper, struct coll_helper_pool *pool,
		       struct completion *event);
void coll_helper_offer(struct coll_helper *helper);
bool coll_helper_poll(struct coll_helper *helper);
void coll_helper_withdraw(struct coll_helper *helper);
void coll_helper_detach(struct coll_helper *helper);

#endif /* COLL_COPY_HELPER_H */
