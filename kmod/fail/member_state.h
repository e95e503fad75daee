/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state of a member and the reason why its group failed.
 *
 * The lock of struct coll_member_state is the one spinlock of a member: [l] of every room means
 * this lock.  It is here because every room above may report a failure.
 */
#ifndef COLL_MEMBER_STATE_H
#define COLL_MEMBER_STATE_H

#include <linux/bitmap.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include <linux/collective.h>

#include "core/wire/wire.h"
#include "ident.h"
#include "trace/notice.h"
#include "trace/recorder.h"

struct coll_failed_ops;

/**
 * struct coll_failure - why one operation fails
 * @reason: the reason
 * @calls: for a mismatch: the calls of @rank_a and @rank_b of the reason, as far as known
 */
struct coll_failure {
	struct coll_reason reason;
	struct coll_rank_call calls[2];
};

/**
 * struct coll_member_state - state of a member, and the reason of its failure
 * @lock: the member's spinlock [l]
 * @id: of the member [c]
 * @trace: of the member
 * @notices: of the member, not sent yet
 * @value: enum collective_state; changed by coll_state_set() only [l]
 * @reason: why the group failed [l]
 * @aborted: negative errno with which operations fail; 0: the group has not failed [a]
 * @aborted_at: time of the first reason, ns [l]
 * @died: true if the end of this rank's process was a reason, whether or not another one has
 *	outranked it since [l]
 * @settled_at: time from which @reason is final, ns [a]
 * @told: true if a notice has told @reason [l]
 * @wait: woken when @value changes, a reason is final, a request can be collected, or the
 *	last call or operation ends in a member that is stopped or has failed
 * @stopped: the teardown has begun, so no reason is recorded any more; written under the
 *	member's mutex and [l], read by calls that must not begin [a]
 * @peers_left: ranks that have sent LEAVE; set by the control runner before the frame's other
 *	effects [a]
 * @failed_ops: operations that have failed; from JOIN to the teardown
 * @notify: a reason was recorded that is final at @settled_at: tell the peers and the lanes, and
 *	the lanes again then.  Called with [l]; must not sleep
 */
struct coll_member_state {
	spinlock_t lock;
	const struct coll_ident *id;
	struct coll_trace trace;
	struct coll_notices notices;
	enum collective_state value;
	struct coll_reason reason;
	int aborted;
	u64 aborted_at;
	bool died;
	u64 settled_at;
	bool told;
	wait_queue_head_t wait;
	bool stopped;
	DECLARE_BITMAP(peers_left, COLLECTIVE_RANKS_MAX);
	struct coll_failed_ops *failed_ops;
	void (*notify)(struct coll_member_state *state);
};

void coll_state_init(struct coll_member_state *state, const struct coll_ident *id,
		     void (*notify)(struct coll_member_state *state));
void coll_state_set(struct coll_member_state *state, enum collective_state value);
void coll_state_fail(struct coll_member_state *state, const struct coll_reason *reason);
void coll_state_fail_kind(struct coll_member_state *state, u32 kind, u32 rank_a, u32 rank_b);
void coll_state_peer_left(struct coll_member_state *state);
void coll_state_tell(struct coll_member_state *state);
void coll_state_tell_end(struct coll_member_state *state);
bool coll_state_is_final(const struct coll_member_state *state, u64 now);
bool coll_state_leases_expired(const struct coll_member_state *state, u64 now);
u64 coll_state_heartbeats_ns(const struct coll_member_state *state, u32 beats);
int coll_reason_error(u32 kind);
int coll_reason_error_told(const struct coll_reason *reason);
int coll_errno_for_rank(const struct coll_member_state *state, const struct coll_reason *reason);

#endif /* COLL_MEMBER_STATE_H */
