/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_REQUEST_H
#define COLL_REQUEST_H

#include <linux/completion.h>
#include <linux/list.h>

#include <linux/collective.h>

#include "core/engine/engine.h"
#include "core/match/balance.h"
#include "fail/failure.h"
#include "lane/part.h"
#include "op/footprint.h"
#include "op/layout.h"

struct coll_buffer;
struct coll_request;
struct coll_requests;
struct coll_wait;
struct work_struct;

/**
 * struct coll_completion_ops - where requests come from, if nobody waits for them
 * @done: the request is complete: its member is locked, and somebody else has to call
 *	coll_wait_collect() soon
 * @import: give the memory of a buffer that is not registered, or NULL when it is the
 *	process's own
 */
struct coll_completion_ops {
	void (*done)(struct coll_request *request);
	struct coll_buffer *(*import)(const struct coll_request *request, u64 addr, u64 length,
				      bool writable);
};

/**
 * struct coll_request - one operation of one member
 *
 * What comes before @node holds for every operation of the same call: see request_cache.c.
 *
 * @reqs: of the member [c]
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
 * @instance_node: by the hash of its name, if it has begun [l]
 * @same_instance: those of its name that are behind it, in a ring [l]
 * @counted: in the member's list, if it has no key [l]
 * @id: for those who wait, counted from 1 by the member [c]
 * @instance: its name, the same on all ranks [c]
 * @charged: bytes charged for the scratch memory of its parts; returned with that
 * @layout: where the blocks are in them; NULL: one after the other [c]
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
	struct coll_requests *reqs;
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
	struct hlist_node instance_node;
	struct list_head same_instance;
	struct list_head counted;
	u64 id;
	u64 instance;
	u64 charged;
	struct coll_block_layout *layout;
	struct coll_buffer *buffer[COLL_AREA_COUNT];
	const struct coll_mem *mem[COLL_AREA_COUNT];
	u64 off[COLL_AREA_COUNT];
	u64 submit_ns;
	unsigned long deadline;
	struct coll_abort abort;
	struct coll_failure failure;
	int error;
	u64 received;
	bool waits_for_instance;
	bool cancelled;
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

/* How a request is told from others. */
enum coll_find_by {
	COLL_FIND_BY_ID,
	COLL_FIND_BY_USER_DATA,	/* what its source knows it by */
	COLL_FIND_BY_CTX,	/* the address of the source's command */
};

/* request.c */
struct coll_request *coll_request_new(struct coll_requests *reqs, const struct collective_op *op,
				      const struct coll_completion_ops *completion_ops,
				      void *completion_ctx);
struct coll_request *coll_request_alloc(struct coll_requests *reqs, u32 nparts);
void coll_request_release(struct coll_request *request);
void coll_request_free(struct coll_request *request);

/* table.c */
struct coll_request *coll_request_find(struct coll_requests *reqs, u64 instance);
struct coll_request *coll_table_oldest(struct coll_requests *reqs, u64 instance);
struct coll_request *coll_table_find(struct coll_requests *reqs, u64 id);
bool coll_table_full(struct coll_requests *reqs);
void coll_table_insert(struct coll_request *request);
void coll_table_remove(struct coll_request *request);
void coll_table_start(struct coll_request *request);
struct coll_request *coll_table_end(struct coll_request *request);

/* complete.c */
struct coll_request *coll_request_complete(struct coll_request *request);

/* submit.c */
int coll_request_start(struct coll_request *request, struct coll_wait *wait);
int coll_request_submit(struct coll_requests *reqs, const struct collective_op *op,
			bool nowait, u64 *id, u64 *received);
void coll_request_report(struct coll_request *request, int error);

/* cancel.c */
struct coll_failure coll_cancel_failure(const struct coll_requests *reqs);
int coll_request_cancel(struct coll_requests *reqs, enum coll_find_by by, u64 number);

/* timer.c */
unsigned long coll_timer_due(const struct coll_request *request);
void coll_timer_arm(struct coll_request *request);

/* expire.c */
void coll_expire_work(struct work_struct *work);

#endif /* COLL_REQUEST_H */
