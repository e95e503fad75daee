/* SPDX-License-Identifier: GPL-2.0-only */
/* Matching of calls, calls that this rank has not submitted, and ranks that are absent. */
#ifndef COLL_MATCH_H
#define COLL_MATCH_H

#include <linux/bitmap.h>
#include <linux/list.h>

#include <linux/collective.h>

#include "core/engine/engine.h"
#include "core/match/distance.h"
#include "fail/member_state.h"
#include "limits.h"
#include "op/call.h"

struct coll_link;
struct coll_request;
struct coll_requests;

/**
 * struct coll_unexpected_call - a call of an operation that is not in flight here: this rank has
 * not submitted it, or has completed it before it has heard all others
 * @node: in coll_unexpected.calls, or in its @spare
 * @call: of the operation; this rank's own if it has completed it
 */
struct coll_unexpected_call {
	struct hlist_node node;
	struct coll_call call;
};

/* Unexpected calls that need no allocation: those of ranks that are a few operations ahead. */
#define COLL_UNEXPECTED_SPARE	7

/* Buckets of the table of unexpected calls; a power of two. */
#define COLL_UNEXPECTED_HASH	32

/**
 * struct coll_unexpected - calls of operations that are not in flight here
 * @calls: by the hash of their instance [l]
 * @ncalls: entries of @calls; at most unexpected_max() [l]
 * @spare: entries of @reserve that are not in use [l]
 * @reserve: the first calls; more of them are allocated, and freed when they are submitted [l]
 * @distance: how far the other ranks have submitted [l]
 * @failed_since_success: true if an operation without a key has failed since the last one that
 *	succeeded [l]
 */
struct coll_unexpected {
	struct hlist_head calls[COLL_UNEXPECTED_HASH];
	u32 ncalls;
	struct hlist_head spare;
	struct coll_unexpected_call reserve[COLL_UNEXPECTED_SPARE];
	struct coll_distance distance;
	bool failed_since_success;
};

/**
 * struct coll_absent - last submission of a rank that has not submitted an operation
 * @rank: number of the rank
 * @before: distance from the rank's last operation to the one it has not submitted; 0: the rank has
 *	submitted none
 * @since: time of the rank's last submission; ns
 */
struct coll_absent {
	u32 rank;
	u32 before;
	u64 since;
};

/**
 * struct coll_absents - ranks that have not submitted an operation that is past its deadline
 * (absent.c)
 * @instance: of the operation
 * @n: number of such ranks; 0: none is known
 * @ranks: set of such ranks
 * @last: last submissions of the first of these ranks that reported themselves
 */
struct coll_absents {
	u64 instance;
	u32 n;
	DECLARE_BITMAP(ranks, COLLECTIVE_RANKS_MAX);
	struct coll_absent last[COLLECTIVE_ABSENT_MAX];
};

/**
 * struct coll_match - what is known of the calls of other ranks
 * @unexpected: calls of operations that are not in flight here; from JOIN to the teardown
 * @kept: of these, the number of calls that this rank has completed; at most COLL_CALLS_AHEAD;
 *	written under [l] [a]
 * @kept_out: true if a request waits for all ranks because there was no place for its call [a]
 * @absent: ranks that have not submitted the latest operation that was late [l]
 * @submitted_due: true if the peers are to be told how far this rank has submitted [a]
 * @differs: true if an unexpected call differs from one that this rank has completed [a]
 */
struct coll_match {
	struct coll_unexpected *unexpected;
	u32 kept;
	bool kept_out;
	struct coll_absents absent;
	bool submitted_due;
	bool differs;
};

/* match.c */
bool coll_match_waits(const struct coll_request *request);
u32 coll_match_rounds(u32 nranks);
u32 coll_match_prev_peer(const struct coll_requests *reqs, u32 round);
u32 coll_match_next_peer(const struct coll_requests *reqs, u32 round);
u32 coll_match_awaited(const struct coll_request *request);
void coll_match_announce(struct coll_requests *reqs, struct coll_call *call, u32 rounds,
			 u64 balance);
bool coll_match_all_heard(const struct coll_requests *reqs, const struct coll_call *call);
u32 coll_match_departed(const struct coll_requests *reqs, const struct coll_call *call);
bool coll_match_start(struct coll_request *request, struct coll_failure *failure);
int coll_match_receive_announce(struct coll_requests *reqs, u32 peer,
				const struct coll_control *control);
void coll_match_payload_mismatch(struct coll_requests *reqs, u64 instance, u32 peer);
void coll_match_peer_left(struct coll_requests *reqs);
void coll_match_heartbeat(struct coll_requests *reqs, u64 now);
u64 coll_match_submitted_for(struct coll_requests *reqs, u32 peer);
void coll_match_receive_submitted(struct coll_requests *reqs, u32 peer, u64 count);
void coll_match_run(struct coll_requests *reqs, u64 now);

/* match_fail.c */
struct coll_failure coll_match_signature_failure(u32 rank_a, const struct coll_signature *a,
						 u32 rank_b, const struct coll_signature *b);
struct coll_failure coll_match_mismatch_failure(const struct coll_request *request);
struct coll_failure coll_match_balance_failure(const struct coll_request *request, u64 total);
bool coll_match_fail_request(struct coll_request *request, const struct coll_failure *failure,
			     int error);
void coll_match_fail(struct coll_requests *reqs, struct coll_request *request, u64 instance,
		     const struct coll_failure *failure) __releases(&reqs->state->lock);
void coll_match_abort(struct coll_requests *reqs, u64 instance,
		      const struct coll_failure *failure);
void coll_match_fail_started(struct coll_requests *reqs, u64 instance,
			     const struct coll_failure *failure);

/* unexpected_calls.c */
int coll_unexpected_setup(struct coll_requests *reqs);
void coll_unexpected_cleanup(struct coll_requests *reqs);
struct coll_call *coll_unexpected_find(const struct coll_requests *reqs, u64 instance);
struct coll_call *coll_unexpected_get_or_add(struct coll_requests *reqs, u64 instance);
void coll_unexpected_remove(struct coll_requests *reqs, u64 instance);
bool coll_unexpected_keep(const struct coll_request *request);
bool coll_unexpected_keeps(const struct coll_requests *reqs, u64 instance);
void coll_unexpected_forget(struct coll_requests *reqs);
bool coll_unexpected_expects(const struct coll_requests *reqs, u64 instance);
int coll_unexpected_fail(struct coll_requests *reqs, u64 instance,
			 const struct coll_failure *failure);
bool coll_unexpected_full(const struct coll_requests *reqs);
void coll_unexpected_submitted(struct coll_requests *reqs);
void coll_unexpected_called(struct coll_requests *reqs, u64 count);
void coll_unexpected_succeeded(struct coll_requests *reqs, u64 instance);
void coll_unexpected_receive_submitted(struct coll_requests *reqs, u32 round, u64 count);
u64 coll_unexpected_submitted_for(struct coll_requests *reqs, u32 round);

/* kept_calls.c */
bool coll_kept_can_add(const struct coll_request *request);
bool coll_kept_add(struct coll_request *request);
void coll_kept_heard(struct coll_requests *reqs, struct coll_call *call);
u32 coll_kept_departed(const struct coll_requests *reqs);
void coll_kept_run(struct coll_requests *reqs);

/* absent.c */
void coll_absent_attribute(struct coll_requests *reqs);
void coll_absent_hold_completion(struct coll_request *request);
bool coll_absent_release_completion(struct coll_request *request);
bool coll_absent_self_report(struct coll_requests *reqs, u64 instance,
			     const struct coll_reason *reason, struct coll_control *control);
void coll_absent_broadcast(struct coll_requests *reqs, const struct coll_control *control);
void coll_absent_receive(struct coll_requests *reqs, const struct coll_control *control);
void coll_absent_status(const struct coll_requests *reqs, struct collective_status *status);

#endif /* COLL_MATCH_H */
