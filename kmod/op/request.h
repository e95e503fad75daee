/* SPDX-License-Identifier: GPL-2.0-only */
/* What protects a field, [c] and so on: coll.h. */
#ifndef COLL_REQUEST_H
#define COLL_REQUEST_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/llist.h>

#include <linux/collective.h>

#include "op/match.h"
#include "op/layout.h"
#include "core/engine/engine.h"
#include "lane/copy_helper.h"
#include "mem/pin.h"

struct coll_member;

/**
 * struct coll_scratch - memory for partial results on their way
 * @mem: as the engine sees it
 * @bytes: its bytes, by kvmalloc(); NULL: there is none
 */
struct coll_scratch {
	struct coll_mem mem;
	u8 *bytes;
};

/**
 * struct coll_part - what of a request one lane does
 * @submitted: in the lane's inbox
 * @node: in its list of finished ones
 * @request: that it is a part of
 * @inst: the engine's, with what is asked of it
 * @scratch: of the call
 * @mismatch_peer: peer whose frame does not fit and is to be told of, or COLL_NOBODY [L]
 * @error: how it ended
 */
struct coll_part {
	struct llist_node submitted;
	struct list_head node;
	struct coll_request *request;
	struct coll_task inst;
	struct coll_scratch scratch;
	u32 mismatch_peer;
	int error;
};

/**
 * struct coll_byte_range - what is touched of a buffer
 * @skip: bytes from its address to the first one touched
 * @bytes: from there to behind the last one; 0: nothing
 */
struct coll_byte_range {
	u64 skip;
	u64 bytes;
};

/**
 * struct coll_footprint - what an operation does with its two buffers
 * @range: what it reads of its input and writes of its result, by enum coll_area
 * @block: bytes of the vector, or of the longest block that we know of
 * @total: elements of the vector or of a block, on which ranks must agree; where
 *	blocks differ, of all of them, or 0 when some are known to some ranks only
 * @digest: of blocks that differ and are known to all ranks; else 0
 * @own: where our input is in the result when it is in place (or our result in the
 *	input); bytes, the blocks one after the other
 * @in_place: it is
 */
struct coll_footprint {
	struct coll_byte_range range[COLL_AREA_COUNT];
	u64 block;
	u64 total;
	u64 digest;
	u64 own;
	bool in_place;
};

/**
 * struct coll_completion_ops - where requests come from, if nobody waits for them
 * @done: the request is complete: its member is locked, and somebody else has to call
 *	coll_wait_collect() soon
 * @lend: give the memory of a buffer that is not registered, or NULL when it is the
 *	process's own
 */
struct coll_completion_ops {
	void (*done)(struct coll_request *request);
	struct coll_buffer *(*lend)(const struct coll_request *request, u64 addr, u64 length,
				    bool writable);
};

/**
 * struct coll_request - one operation of one member
 *
 * What comes before @node holds for every operation of the same call: see request_cache.c.
 *
 * @member: [c]
 * @op: the call, as it came from user space [c]
 * @signature: what the ranks must agree on [c]
 * @digest: of that, if @implicit_match [c]
 * @balance: what we add to the sum of counts that only two ranks know [c]
 * @balances: what was heard of that sum, of the rounds in @rounds_heard; here because
 *	nothing has to clear it [l]
 * @plan: the same for the schedules, on any lane [c]
 * @footprint: of its buffers [c]
 * @nparts: how many [c]
 * @eager: it is sent on credit, by copy [c]
 * @implicit_match: its frames and grants say what has been called: coll_plan_implicit_match() [c]
 * @links_ready: the group was up before, so there is a link to each rank it needs [c]
 * @node: in the member's list, until it is complete [l]
 * @named: by the hash of its name, if it has begun [l]
 * @same: those of its name that are behind it, in a ring [l]
 * @counted: in the member's list, if it has no key [l]
 * @id: for those who wait, counted from 1 by the member [c]
 * @instance: its name, the same on all ranks [c]
 * @charged: bytes charged for the scratch memory of its parts; returned with that
 * @blocks: where the blocks are in them; NULL: one after the other [c]
 * @buffer: by enum coll_area; the same twice when in place; NULL: not used [c]
 * @mem: the same as the schedules see them: blocks one after the other [c]
 * @off: where in @mem it begins [c]
 * @submit_ns: when, ns [c]
 * @deadline: jiffies, 0: none [c]
 * @abort_error: it is to fail: a negative errno [a]
 * @failure: why [l]
 * @error: how it ended, once complete
 * @received: elements that came, once complete; with VARLEN perhaps more than there
 *	was room for, by which it fails on this rank alone
 * @waits_for_instance: it has not begun: one of the same name is before it [l]
 * @cancelled: it is to fail when it begins [l]
 * @fail_at_start: it began knowing why it fails; who began it sees to it that it does, and
 *	nobody is missed for it [l, then the lane's]
 * @complete: it is; no lane looks at it any more [l]
 * @waiter: of the one thread that waits for it, or NULL [l]
 * @completion_ops: whom else it is for: see struct coll_completion_ops; or NULL [c]
 * @completion_ctx: of @completion_ops [c]
 * @user_data: by which @completion_ops knows it [c]
 * @announce_deferred: its payload tells others of it, as yet [l]
 * @match_pending: it is not known yet whether all ranks have called the same, and
 *	whoever learns it reports it [l]
 * @absent_pending: it has failed, and one more part of it is to learn who was absent [l]
 * @rounds_sent: rounds in which we have told our call [l]
 * @rounds_heard: bit (1 << round) in which the same was heard [l]
 * @mismatch_peer: whose payload does not fit, or COLL_NOBODY [l]
 * @mismatch_ns: when that was seen, ns [l]
 * @parts_pending: parts that are not complete, of them the agreement [a]
 * @first_lane: lane of the first part [c]
 * @part: one a lane
 */
struct coll_request {
	struct coll_member *member;
	struct collective_op op;
	struct coll_signature signature;
	u64 digest;
	u64 balance;
	struct coll_balance balances[COLL_ROUNDS_MAX];
	struct coll_plan plan;
	struct coll_footprint footprint;
	u32 nparts;
	bool eager;
	bool implicit_match;
	bool links_ready;

	struct list_head node;
	struct hlist_node named;
	struct list_head same;
	struct list_head counted;
	u64 id;
	u64 instance;
	u64 charged;
	struct coll_block_layout *blocks;
	struct coll_buffer *buffer[COLL_AREA_COUNT];
	const struct coll_mem *mem[COLL_AREA_COUNT];
	u64 off[COLL_AREA_COUNT];
	u64 submit_ns;
	unsigned long deadline;
	int abort_error;
	struct coll_failure failure;
	int error;
	u64 received;
	bool waits_for_instance;
	bool cancelled;
	bool fail_at_start;
	bool complete;
	struct completion *waiter;
	const struct coll_completion_ops *completion_ops;
	void *completion_ctx;
	u64 user_data;
	bool announce_deferred;
	bool match_pending;
	bool absent_pending;
	u32 rounds_sent;
	u32 rounds_heard;
	u32 mismatch_peer;
	u64 mismatch_ns;
	atomic_t parts_pending;
	u32 first_lane;
	struct coll_part part[];
};

/**
 * struct coll_wait - a thread that waits for one request, or one of several
 * @ids: their numbers; 0: none
 * @n: how many
 * @timeout: jiffies, 0: only look
 * @end: when they are over
 * @event: one of them is complete, or a runner is handed to us
 * @task: the thread
 * @self_notified: one of them is complete, as we have seen to ourselves
 * @cpu: where we are counted while we run, or are about to (exec/cpu.c); below 0: nowhere
 * @counted: 1: we are [a]
 * @nparts: lanes that they use, at most
 * @bytes: the largest one's
 * @eager_lanes: lane, as a bit, on which one that is small comes; 0: none does
 * @redirected: COLL_WAIT_CONTROL and COLL_WAIT_LANES on: runners that are handed to us instead of
 *	their workers
 * @helper: that we may be of others meanwhile
 * @index: out: which one was collected; @n: none
 * @received: out: see struct coll_request
 */
struct coll_wait {
	const u64 *ids;
	u32 n;
	long timeout;
	unsigned long end;
	struct completion event;
	struct task_struct *task;
	bool self_notified;
	int cpu;
	atomic_t counted;
	u32 nparts;
	u64 bytes;
	unsigned long eager_lanes;
	unsigned long redirected;
	struct coll_helper helper;
	u32 index;
	u64 received;
};

/* How a request is told from others. */
enum coll_find_by {
	COLL_FIND_BY_ID,
	COLL_FIND_BY_USER_DATA,	/* what its source knows it by */
	COLL_FIND_BY_COMMAND,	/* the address of the source's command */
};

/* validate.c */
int coll_validate(const struct collective_op *op, struct coll_member *member,
		  struct coll_plan *plan, struct coll_footprint *extent,
		  struct coll_block_layout **blocks);

/* request.c */
struct coll_request *coll_request_new(struct coll_member *member,
				      const struct collective_op *op,
				      const struct coll_completion_ops *source, void *command);
struct coll_request *coll_request_alloc(struct coll_member *member, u32 nparts);
void coll_request_release(struct coll_request *request);
void coll_request_free(struct coll_request *request);

/* flight.c */
int coll_request_start(struct coll_request *request, struct coll_wait *wait);
int coll_request_submit(struct coll_member *member, const struct collective_op *op,
			bool nowait, u64 *id, u64 *received);
int coll_request_cancel(struct coll_member *member, enum coll_find_by by, u64 number);
void coll_request_part_done(struct coll_part *part);
void coll_request_report(struct coll_request *request, int error);
struct coll_request *coll_request_find(struct coll_member *member, u64 instance);

/* wait.c */
void coll_wait_claim(struct coll_wait *wait, struct coll_request *request);
void coll_wait_init(struct coll_wait *wait, const struct coll_member *member);
void coll_wait_idle(struct coll_wait *wait);
void coll_wait_notify(struct coll_request *request);
void coll_wait_unclaim_all(struct coll_wait *wait, struct coll_member *member);
int coll_wait_sleep_and_collect(struct coll_wait *wait, struct coll_member *member);
int coll_wait(struct coll_wait *wait, struct coll_member *member);
int coll_wait_collect(struct coll_request *request, u64 *received);
bool coll_wait_has_collectable(struct coll_member *member);
void coll_wait_inflight(struct coll_member *member, unsigned long patience);
void coll_wait_free_uncollected(struct coll_member *member);

/* expire.c */
void coll_timer_arm(struct coll_request *request);
void coll_timer_work(struct work_struct *work);

#endif /* COLL_REQUEST_H */
