/* SPDX-License-Identifier: GPL-2.0-only */
/* What ranks have called, and what is known of what others have. */
#ifndef COLL_AGREE_H
#define COLL_AGREE_H

#include <linux/bitmap.h>
#include <linux/list.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>

#include <linux/collective.h>

#include "limits.h"
#include "core/match/balance.h"
#include "core/match/distance.h"
#include "core/engine/engine.h"

struct coll_failed_name;
struct coll_member;
struct coll_request;

/**
 * struct coll_rank_call - what a rank has called
 * @rank: which one; COLLECTIVE_RANK_NONE: it is not known
 * @signature: of its call
 */
struct coll_rank_call {
	u32 rank;
	struct coll_signature signature;
};

/**
 * struct coll_failure - why an operation fails
 * @cause: the reason
 * @calls: of a mismatch: of @rank_a and @rank_b of the reason, as far as known
 */
struct coll_failure {
	struct coll_reason cause;
	struct coll_rank_call calls[2];
};

/**
 * struct coll_unexpected_call - what others have called and this rank has not
 * @node: with a key: among those of the same hash
 * @name: of the operation
 * @heard: bit (1 << round) in which they said so
 * @signature: what they called
 * @balances: of the rounds that were heard, where counts are known to two ranks only
 */
struct coll_unexpected_call {
	struct hlist_node node;
	u64 name;
	u32 heard;
	struct coll_signature signature;
	struct coll_balance balances[COLL_ROUNDS_MAX];
};

/**
 * struct coll_failures - names that have failed, one after the other
 * @named: the latest message, or operation with a key, that was given; NULL: none
 * @ahead: of others, which failed before they were submitted here, so many were given
 */
struct coll_failures {
	const struct coll_failed_name *named;
	u64 ahead;
};

/**
 * struct coll_unexpected - what is known of operations not submitted here (unexpected.c)
 * @counted: without a key, by the low bits of their number [l]
 * @keyed: with one, by the hash of their name [l]
 * @nkeyed: how many of these, at most memos_max() [l]
 * @failed_counted: without a key, by the low bits of their number: one more than the number of
 *	the latest that has failed; written under [l], read by lanes [a]
 * @failure: why that one has [l]
 * @failed: struct coll_failed_name: all others that have ever failed.  Inserted under [l], read
 *	by lanes under RCU, freed at the teardown only
 * @nfailed: how many of these, at most COLL_FAILED_MAX and what is in flight anywhere [l]
 * @first: of these, the first one; each refers to the next [l]
 * @last: and the last one [l]
 * @ahead: without a key: the latest that failed before they were submitted here, in that order.
 *	Those that still are not lie within COLL_AHEAD_MAX, so they are among them [l]
 * @nahead: how many there were in all [l]
 * @distance: how far other ranks have come [l]
 * @lapsed: an operation without a key has failed since the last one that succeeded [l]
 */
struct coll_unexpected {
	struct coll_unexpected_call counted[COLL_AHEAD_MAX];
	struct hlist_head keyed[COLL_INFLIGHT];
	u32 nkeyed;
	u64 failed_counted[COLL_AHEAD_MAX];
	struct coll_failure failure[COLL_AHEAD_MAX];
	struct rhashtable failed;
	u32 nfailed;
	struct coll_failed_name *first;
	struct coll_failed_name *last;
	u64 ahead[2 * COLL_AHEAD_MAX];
	u64 nahead;
	struct coll_distance distance;
	bool lapsed;
};

/**
 * struct coll_absent - what a rank submitted that has not submitted an operation
 * @rank: which
 * @before: how many before that operation the last one was; 0: there was none
 * @since: when that was, ns
 */
struct coll_absent {
	u32 rank;
	u32 before;
	u64 since;
};

/**
 * struct coll_absents - who has not submitted an operation that was late (absent.c)
 * @instance: its name
 * @n: how many; 0: nothing is known
 * @ranks: who
 * @last: of the first ones that were heard of
 */
struct coll_absents {
	u64 instance;
	u32 n;
	DECLARE_BITMAP(ranks, COLLECTIVE_RANKS_MAX);
	struct coll_absent last[COLLECTIVE_ABSENT_MAX];
};

/* match.c */
bool coll_match_waits(const struct coll_request *request);
u32 coll_match_rounds(u32 nranks);
u32 coll_match_prev_peer(const struct coll_member *member, u32 round);
u32 coll_match_next_peer(const struct coll_member *member, u32 round);
bool coll_match_start(struct coll_request *request, struct coll_failure *failure);
void coll_match_fail_started(struct coll_member *member, u64 instance,
			     const struct coll_failure *failure);
int coll_match_receive_announce(struct coll_member *member, u32 peer,
				const struct coll_control *control);
struct coll_failure coll_match_mismatch_failure(const struct coll_request *request);
void coll_match_payload_mismatch(struct coll_member *member, u64 instance, u32 peer);
void coll_match_peer_left(struct coll_member *member);
void coll_match_heartbeat(struct coll_member *member, u64 now);
u64 coll_match_submitted(struct coll_member *member, u32 peer);
void coll_match_hear_submitted(struct coll_member *member, u32 peer, u64 count);
void coll_match_send_submitted(struct coll_member *member, u64 now);
void coll_match_fail(struct coll_member *member, struct coll_request *request, u64 instance,
		     const struct coll_failure *failure) __releases(&member->lock);
void coll_match_abort(struct coll_member *member, u64 instance,
		      const struct coll_failure *failure);

/* unexpected.c */
int coll_unexpected_setup(struct coll_member *member);
void coll_unexpected_cleanup(struct coll_member *member);
struct coll_unexpected_call *coll_unexpected_find(struct coll_member *member, u64 name);
struct coll_unexpected_call *coll_unexpected_get_or_add(struct coll_member *member, u64 name);
void coll_unexpected_remove(struct coll_member *member, u64 name);
const struct coll_failure *coll_failed_ops_find(struct coll_member *member, u64 name);
bool coll_failed_ops_has(const struct coll_member *member, u64 name);
bool coll_unexpected_expects(const struct coll_member *member, u64 name);
int coll_failed_ops_add(struct coll_member *member, u64 name, const struct coll_failure *failure);
bool coll_failed_ops_next(struct coll_member *member, struct coll_failures *at, u64 *name);
bool coll_unexpected_full(const struct coll_member *member);
void coll_unexpected_submitted(struct coll_member *member);
void coll_unexpected_succeeded(struct coll_member *member, u64 name);
void coll_unexpected_hear(struct coll_member *member, u32 round, u64 count);
u64 coll_unexpected_told(struct coll_member *member, u32 round);

/* absent.c */
void coll_absent_attribute(struct coll_member *member);
void coll_absent_hold_completion(struct coll_request *request);
bool coll_absent_release_completion(struct coll_request *request);
bool coll_absent_self_report(struct coll_member *member, u64 instance,
			     const struct coll_reason *cause, struct coll_control *control);
void coll_absent_broadcast(struct coll_member *member, const struct coll_control *control);
void coll_absent_receive(struct coll_member *member, const struct coll_control *control);
void coll_absent_status(const struct coll_member *member, struct collective_status *status);

#endif /* COLL_AGREE_H */
