/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The requests of a member and the tables that hold them.
 *
 * [l] is the lock of struct coll_member_state.  A request is in @table from the moment it has an id
 * until a thread or its completion_ops has collected it.  While it is in flight it is also in
 * @inflight_list and can be found by its instance.
 */
#ifndef COLL_REQUESTS_H
#define COLL_REQUESTS_H

#include <linux/list.h>
#include <linux/workqueue.h>

#include <linux/collective.h>

#include "core/wire/answer.h"
#include "fail/member_state.h"
#include "op/ahead.h"
#include "op/match.h"
#include "op/process_ops.h"

struct coll_charges;
struct coll_ident;
struct coll_lane;
struct coll_net;
struct coll_registry;
struct coll_request;
struct coll_times;

/* Buckets of the requests in flight by instance; a power of two. */
#define COLL_REQUESTS_HASH	64

/**
 * struct coll_counters - operations of a member, for sysfs and STATUS
 * @submitted: operations submitted
 * @completed: operations completed, with success or not
 * @failed: operations completed without success, by enum collective_reason_kind
 */
struct coll_counters {
	atomic64_t submitted;
	atomic64_t completed;
	atomic64_t failed[COLLECTIVE_REASON_COUNT];
};

/**
 * struct coll_last_failure - the latest operation that failed
 * @reason: why it failed [l]
 * @instance: of the operation; COLL_INSTANCE_GROUP: none has failed [l]
 * @at: time of the failure; ns [l]
 * @calls: calls of two ranks, of the latest mismatch [l]
 */
struct coll_last_failure {
	struct coll_reason reason;
	u64 instance;
	u64 at;
	struct coll_rank_call calls[2];
};

/**
 * struct coll_last_ops - the latest operations, for queries
 * @has_submitted: true if the next three fields are valid [l]
 * @submitted_opcode: collective that was submitted last [l]
 * @submitted: its instance [l]
 * @submitted_at: time of its submission; ns [l]
 * @has_completed: true if the next three fields are valid [l]
 * @completed_opcode: collective that was completed last [l]
 * @completed_kind: kind of the reason for which it failed [l]
 * @completed: its instance [l]
 */
struct coll_last_ops {
	bool has_submitted;
	u8 submitted_opcode;
	u64 submitted;
	u64 submitted_at;
	bool has_completed;
	u8 completed_opcode;
	u8 completed_kind;
	u64 completed;
};

/**
 * struct coll_requests - requests of a member
 * @id: of the member [c]
 * @state: of the member [c]
 * @net: of the member [c]
 * @lanes: of the member [c]
 * @charges: account that the memory of operations is charged to [c]
 * @registry: buffers that the process has registered [c]
 * @pinned: bytes of user memory that are pinned [a]
 * @board_charged: bytes charged for hidden pages of the board [a]
 * @next_instance: instance of the next collective without a key [l]
 * @self_sent: messages without a key that this rank has sent to itself so far [l]
 * @self_received: the same of receives [l]
 * @last_submit_ns: time at which the latest collective without a key was submitted, or at which
 *	JOIN succeeded; ns [l]
 * @last_id: id of the latest request [l]
 * @table: requests that are not collected yet, by the low bits of their id [l]
 * @table_size: entries of @table, a power of two; at most COLL_INFLIGHT [l] [a]
 * @nrequests: entries of @table [l]
 * @spare: memory of the request that takes an immediate operation over; NULL: none yet.  The thread
 *	at that operation takes it [a]
 * @inflight_list: requests in flight, in the order of their submission [l]
 * @by_instance: requests that have started, or start next, by the hash of their instance [l]
 * @counted: requests without a key, in the order of their instances [l]
 * @ensured: request_peers() of the latest request whose links are ready [a]
 * @inflight: number of requests in flight; written under [l] [a]
 * @expiry: work item that fails requests that are past their deadline
 * @expire_by: time at which @expiry runs; jiffies; 0: not queued [l]
 * @yield_pause: number of waits that do not yield: see busy_poll.c [a]
 * @last_failure: the latest operation that failed
 * @last_ops: the latest operations
 * @counters: for sysfs and STATUS [a]
 * @times: by collective; NULL: it was not called; set once [a]
 * @match: what is known of the calls of other ranks
 * @ahead: the failure of an operation that this rank had completed
 * @process: operations that the process executes itself
 */
struct coll_requests {
	const struct coll_ident *id;
	struct coll_member_state *state;
	struct coll_net *net;
	struct coll_lane *lanes;
	struct coll_charges *charges;
	struct coll_registry *registry;
	atomic64_t *pinned;
	u64 board_charged;
	u64 next_instance;
	u64 self_sent;
	u64 self_received;
	u64 last_submit_ns;
	u64 last_id;
	struct coll_request **table;
	u32 table_size;
	u32 nrequests;
	struct coll_request *spare;
	struct list_head inflight_list;
	struct hlist_head *by_instance;
	struct list_head counted;
	u64 ensured;
	u32 inflight;
	struct delayed_work expiry;
	unsigned long expire_by;
	u32 yield_pause;
	struct coll_last_failure last_failure;
	struct coll_last_ops last_ops;
	struct coll_counters counters;
	struct coll_times *times[COLLECTIVE_OPCODE_COUNT];
	struct coll_match match;
	struct coll_ahead ahead;
	struct coll_process_ops process;
};

/* Bytes that coll_requests_setup() allocates and the member is charged. */
#define COLL_REQUESTS_BYTES						\
	(sizeof(struct coll_unexpected) +				\
	 COLL_REQUESTS_HASH * sizeof(struct hlist_head))

/**
 * coll_requests_unsettled() - the operations for which other ranks may wait
 * @reqs: of the member; if it is not locked, the number is that of a moment ago
 *
 * Return: the number of requests in flight, and of completed ones whose matching goes on; at most
 * COLL_INFLIGHT.
 */
static inline u32 coll_requests_unsettled(const struct coll_requests *reqs)
{
	return READ_ONCE(reqs->inflight) + READ_ONCE(reqs->match.kept);
}

void coll_requests_init(struct coll_requests *reqs);
int coll_requests_setup(struct coll_requests *reqs);
void coll_requests_cleanup(struct coll_requests *reqs);

/* complete.c */
void coll_requests_note_failure(struct coll_requests *reqs, const struct coll_failure *failure,
				u64 instance);
void coll_requests_tell_mismatch(struct coll_requests *reqs);

extern const struct coll_lane_ops coll_request_lane_ops;

/* query_ops.c */
void coll_answer_add_failure(struct coll_answer *answer, enum coll_answer_part part,
			     const struct coll_reason *reason, u64 instance, u64 at);
void coll_requests_answer(struct coll_requests *reqs, struct coll_answer *answer);
void coll_requests_answer_times(const struct coll_requests *reqs, struct coll_answer *answer);

#endif /* COLL_REQUESTS_H */
