/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_PART_H
#define COLL_PART_H

#include <linux/list.h>
#include <linux/llist.h>

#include "core/engine/engine.h"
#include "transport/exposure.h"

/**
 * struct coll_scratch - memory for partial results
 * @mem: as the engine sees it
 * @bytes: from kvmalloc(); NULL: none
 */
struct coll_scratch {
	struct coll_mem mem;
	u8 *bytes;
};

/**
 * struct coll_abort - whether all parts of an operation are to fail, or may be
 * @error: negative errno; 0: no [a]
 * @at_start: true if the reason was known before the lanes got their parts: a peer announced
 *	another call, or the operation was cancelled while it was queued.  @error follows, so peers
 *	that have departed are not reported as the reason.  Written under [l] before the lanes see
 *	the parts
 * @matching: true while it is not known whether the counts of all ranks match.  A peer that knows
 *	that they do not may have departed, and is not reported as the reason either [a]
 */
struct coll_abort {
	int error;
	bool at_start;
	bool matching;
};

/**
 * struct coll_part - what one lane does of an operation
 * @submitted: in coll_lane.submitted, until it begins
 * @node: in coll_lane.done_parts, when it has ended
 * @owner: the operation, for struct coll_lane_ops [c]
 * @abort: of the operation [c]
 * @task: the engine's, with its arguments
 * @scratch: of the task
 * @exposure: memory that the task exposes to other ranks
 * @mismatch_peer: peer whose frame did not match the task and is to be reported; COLL_NO_RANK:
 *	none [L]
 * @error: how the part ended; negative errno or 0
 * @waited_ns: time that the lane had waited when the part began; once it has ended, time that it
 *	has waited; ns [L]
 */
struct coll_part {
	union {
		struct llist_node submitted;
		struct list_head node;
	};
	void *owner;
	const struct coll_abort *abort;
	struct coll_task task;
	struct coll_scratch scratch;
	struct coll_exposure exposure;
	u32 mismatch_peer;
	int error;
	u64 waited_ns;
};

#endif /* COLL_PART_H */
