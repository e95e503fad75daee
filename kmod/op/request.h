/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_REQUEST_H
#define COLL_REQUEST_H

#include <linux/completion.h>
#include <linux/list.h>

#include <linux/collective.h>

#include "core/engine/engine.h"
#include "fail/member_state.h"
#include "lane/part.h"
#include "op/call.h"
#include "op/footprint.h"
#include "op/layout.h"
#include "op/process_ops.h"

struct coll_buffer;
struct coll_request;
struct coll_requests;
struct coll_wait;
struct work_struct;

/**
 * struct coll_completion_ops - the receiver of a completion where no thread waits
 * @done: the request is complete.  Called with the member's lock held; coll_wait_collect() must
 *	follow soon, from another context
 * @import: give the memory of a buffer that is not registered, or a negative errno as a pointer;
 *	NULL: the memory is the process's own
 */
struct coll_completion_ops {
	void (*done)(struct coll_request *request);
	struct coll_buffer *(*import)(const struct coll_request *request, u64 addr, u64 length,
				      bool writable);
};

/* The life of a request: coll_request_set_stage(). */
enum coll_request_stage {
	COLL_REQUEST_NEW,	/* it is not in flight */
	COLL_REQUEST_QUEUED,	/* in flight behind one of the same instance */
	COLL_REQUEST_STARTED,	/* lanes and matching have its parts */
	COLL_REQUEST_COMPLETE,	/* all parts are reported; no lane accesses it any more */
	COLL_REQUEST_STAGES
};

/* What matching still has to do for a request that has started. */
enum coll_request_match {
	COLL_MATCH_SETTLED,	/* nothing */
	COLL_MATCH_DEFERRED,	/* the call is not announced while the payload alone tells it */
	/*
	 * A part is reported once it is known whether all ranks match.  The half of a message to
	 * itself that waits for the other half has no other part.
	 */
	COLL_MATCH_PENDING,
};

/**
 * struct coll_request - one operation of one member, from SUBMIT to its completion
 *
 * @reqs: of the member [c]
 * @op: the call, as it came from user space [c]
 * @call: the part of it that must be the same on all ranks, and the identity of the operation
 * @balance: what this rank adds to the sum of counts that only two ranks know; of a collective [c]
 * @self_send: of the receive of a message to itself that is matched: the send, from whose memory it
 *	receives; else NULL.  Set once under [l], before the lane sees the part
 * @plan: the call as the schedules see it, on any lane [c]
 * @footprint: bytes of the buffers that the call touches [c]
 * @nparts: number of parts [c]
 * @eager: true if all its frames are eager [c]
 * @implicit_match: true if its frames and grants prove that the calls match:
 *	coll_plan_implicit_match() [c]
 * @links_ready: true if the group was up before, so that a link to each rank that the schedule
 *	needs exists [c]
 * @origin: enum coll_request_origin [c]
 * @node: in coll_requests.inflight_list until the request is complete [l]
 * @instance_node: in coll_requests.by_instance, if the request has started [l]
 * @same_instance: ring of the requests of the same instance; those that have not started follow the
 *	one that has [l]
 * @counted: in coll_requests.counted, if the request has no key [l]
 * @id: number by which threads wait for the request; from 1, local to the member [c]
 * @charged: bytes charged for the scratch memory of the parts; uncharged when that is freed
 * @layout: where the blocks lie in the buffers; NULL: one after the other [c]
 * @buffer: memory by enum coll_area; the same twice if in place; NULL: not used [c]
 * @mem: the same memory as the schedules see it: blocks one after the other [c]
 * @off: offset in @mem at which the operation's bytes begin [c]
 * @submit_ns: time of submission; ns [c]
 * @deadline: time at which the operation fails; jiffies; 0: never.  Set to the present when the
 *	operation fails, see coll_timer_due() [l]
 * @slow_at: time from which the operation is slow; jiffies; 0: never, or it has been told [l]
 * @abort: whether the operation is to fail, and the errno; read by lanes [a]
 * @failure: why the operation fails; valid if @abort.error is set [l]
 * @calls_after: time from submission until only the calls of other ranks were missing; ns; valid
 *	once it is complete; 0: that was never so [a]
 * @received: elements received; valid once it is complete.  With VARLEN it may exceed the capacity
 *	of the buffer, in which case the operation fails with -EMSGSIZE on this rank only
 * @waiter: completion of the one thread that has claimed the request; NULL: none [l]
 * @completion_ops: receiver of the completion if no thread waits; NULL: a thread may claim it [c]
 * @completion_ctx: of @completion_ops [c]
 * @user_data: with @completion_ops: number by which the receiver knows the request [c]
 * @wait_end: else: end of the latest wait that ended before the request; jiffies; 0: none [l]
 * @stage: enum coll_request_stage [l]
 * @match: enum coll_request_match.  The context that settles what was pending reports one part [l]
 * @cancelled: true if the request is to fail when it starts [l]
 * @absent_pending: true if the request has failed and one more part waits for the absent ranks to
 *	report themselves [l]
 * @waits_vary: true if the request has several parts, was queued, or waits for calls after its
 *	parts; if not, it has waited for as long as its one part [a]
 * @calls_peer: rank whose announcement was missing at @calls_after [a]
 * @error: result; negative errno or 0; valid once it is complete
 * @queued: time behind an operation of the same instance; ns [l]
 * @mismatch_peer: sender of payload that did not match the operation; COLL_NO_RANK: none [l]
 * @mismatch_ns: time at which that was seen; ns [l]
 * @parts_pending: parts that are not complete, including one for matching if it is waited for [a]
 * @first_lane: lane of the first part [c]
 * @part: one for each lane in use
 */
struct coll_request {
	struct coll_requests *reqs;
	struct collective_op op;
	struct coll_call call;
	union {
		u64 balance;
		struct coll_request *self_send;
	};
	struct coll_plan plan;
	struct coll_footprint footprint;
	u32 nparts;
	bool eager;
	bool implicit_match;
	bool links_ready;
	u8 origin;

	struct list_head node;
	struct hlist_node instance_node;
	struct list_head same_instance;
	struct list_head counted;
	u64 id;
	u64 charged;
	struct coll_block_layout *layout;
	struct coll_buffer *buffer[COLL_AREA_SCRATCH];
	const struct coll_mem *mem[COLL_AREA_SCRATCH];
	u64 off[COLL_AREA_SCRATCH];
	u64 submit_ns;
	unsigned long deadline;
	unsigned long slow_at;
	struct coll_abort abort;
	struct coll_failure failure;
	u64 calls_after;
	u64 received;
	struct completion *waiter;
	const struct coll_completion_ops *completion_ops;
	void *completion_ctx;
	union {
		u64 user_data;
		unsigned long wait_end;
	};
	u8 stage;
	u8 match;
	bool cancelled;
	bool absent_pending;
	bool waits_vary;
	u16 calls_peer;
	int error;
	u32 mismatch_peer;
	u64 queued;
	u64 mismatch_ns;
	atomic_t parts_pending;
	u32 first_lane;
	struct coll_part part[];
};

/* That of a small operation has one part.  A larger object of the slab would be cleared in full. */
static_assert(sizeof(struct coll_request) + sizeof(struct coll_part) <= 2048);

/**
 * coll_request_self_send() - the request out of whose memory another one receives
 * @request: in flight
 *
 * Return: the send of a message to itself if @request is its receive and both are matched; else
 * NULL.
 */
static inline struct coll_request *coll_request_self_send(const struct coll_request *request)
{
	return coll_plan_is_self(&request->plan) ? request->self_send : NULL;
}

/* The number by which coll_request_cancel() finds a request. */
enum coll_find_by {
	COLL_FIND_BY_ID,
	COLL_FIND_BY_USER_DATA,	/* coll_request.user_data */
	COLL_FIND_BY_CTX,	/* coll_request.completion_ctx */
};

/**
 * struct coll_begun - what was done of an operation before it becomes a request
 * @origin: where it has begun
 * @instance: its number; COLL_FROM_CALL: it has none yet
 * @input: a copy of its input, so that the request works on memory of the kernel; NULL: it pins the
 *	process's
 * @submit_ns: time of the call; ns; 0: now
 */
struct coll_begun {
	enum coll_request_origin origin;
	u64 instance;
	const void *input;
	u64 submit_ns;
};

/* request.c */
struct coll_request *coll_request_new(struct coll_requests *reqs, const struct collective_op *op,
				      const struct coll_completion_ops *completion_ops,
				      void *completion_ctx);
struct coll_request *coll_request_new_begun(struct coll_requests *reqs,
					    const struct collective_op *op,
					    const struct coll_begun *begun);
int coll_request_reserve(struct coll_requests *reqs);
void coll_request_free(struct coll_request *request);
void *coll_request_bounce(const struct coll_request *request);
u64 coll_request_result_bytes(const struct coll_footprint *footprint);
struct coll_signature coll_request_signature(const struct collective_op *op,
					     const struct coll_plan *plan,
					     const struct coll_footprint *footprint);
int coll_request_board(struct coll_requests *reqs, const struct coll_plan *plan);
void coll_request_reserve_times(struct coll_requests *reqs, u32 collective);

/* table.c */
struct coll_request *coll_request_by_instance(struct coll_requests *reqs, u64 instance);
struct coll_request *coll_request_half(struct coll_requests *reqs, u64 instance, bool receives);
struct coll_request *coll_request_by_id(struct coll_requests *reqs, u64 id);
bool coll_table_full(struct coll_requests *reqs);
int coll_table_reserve(struct coll_requests *reqs, u32 n);
bool coll_table_has_place(const struct coll_requests *reqs);
void coll_table_free(struct coll_requests *reqs);
void coll_table_insert(struct coll_request *request);
void coll_table_remove(struct coll_request *request);
void coll_request_set_stage(struct coll_request *request, enum coll_request_stage stage);
void coll_request_set_match(struct coll_request *request, enum coll_request_match match);
void coll_table_start(struct coll_request *request);
struct coll_request *coll_table_end(struct coll_request *request);

/* complete.c */
struct coll_request *coll_request_complete(struct coll_request *request);
void coll_request_complete_ahead(struct coll_request *request);

/* submit.c */
int coll_request_start(struct coll_request *request, struct coll_wait *wait);
int coll_request_submit(struct coll_requests *reqs, const struct collective_op *op, u64 *id,
			struct coll_wait *wait);
bool coll_request_too_far_ahead(const struct coll_requests *reqs);
bool coll_request_has_space(const struct coll_requests *reqs);
int coll_request_submit_begun(struct coll_requests *reqs, const struct collective_op *op,
			      const struct coll_begun *begun, u64 *id, struct coll_wait *wait);
void coll_request_report(struct coll_request *request, int error);

/* cancel.c */
struct coll_failure coll_cancel_failure(const struct coll_requests *reqs);
int coll_request_cancel(struct coll_requests *reqs, enum coll_find_by by, u64 number);

/* self_message.c */
u64 coll_self_message_next(const struct coll_requests *reqs, const struct coll_plan *plan);
void coll_self_message_count(struct coll_requests *reqs, const struct coll_plan *plan);
void coll_self_message_start(const struct coll_request *request, struct coll_failure *failure);
struct coll_request *coll_self_message_pair(struct coll_request *request,
					    struct coll_failure *failure);
void coll_self_message_fail(struct coll_requests *reqs, u64 instance,
			    const struct coll_failure *failure) __releases(&reqs->state->lock);

/* timer.c */
unsigned long coll_timer_due(const struct coll_request *request);
void coll_timer_arm(struct coll_request *request);

/* expire.c */
void coll_expire_work(struct work_struct *work);

/* query_ops.c */
u32 coll_request_state(const struct coll_request *request);

/* awaited_ranks.c */
u32 coll_request_waits(const struct coll_request *request, u32 *ranks, u32 max);

#endif /* COLL_REQUEST_H */
