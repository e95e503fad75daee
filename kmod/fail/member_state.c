// SPDX-License-Identifier: GPL-2.0-only
/*
 * The states of a member, and the reason of a failure.
 *
 *	NEW -> JOINED -> CONNECTING -> UP -> LEFT
 *	          \___________\________\___> ABORTED -> LEFT
 *
 * A group fails as a whole.  A member tells its first reason to every neighbour, which tells
 * its own neighbours.  Where reasons meet, the strongest one wins: the lowest enum
 * collective_reason_kind, then the lowest rank.  During a settle time a stronger reason may
 * still replace the first; after it requests fail with the reason, and STATUS reports it.
 */
#include <linux/ktime.h>

#include "fail/member_state.h"
#include "limits.h"
#include "trace/recorder.h"

/**
 * coll_state_init() - begin in state NEW, without a reason
 * @state: zeroed
 * @id: of the member
 * @notify: see struct coll_member_state
 */
void coll_state_init(struct coll_member_state *state, const struct coll_ident *id,
		     void (*notify)(struct coll_member_state *state))
{
	spin_lock_init(&state->lock);
	init_waitqueue_head(&state->wait);
	state->id = id;
	state->trace.id = id;
	coll_notices_init(&state->notices);
	state->notify = notify;
}

/**
 * coll_reason_error() - errno of a reason
 * @kind: enum collective_reason_kind
 *
 * Return: a negative errno.
 */
int coll_reason_error(u32 kind)
{
	switch (kind) {
	case COLLECTIVE_REASON_MISMATCH:
		return -EBADMSG;
	case COLLECTIVE_REASON_PROTOCOL:
		return -EPROTO;
	case COLLECTIVE_REASON_DEADLINE:
		return -ETIMEDOUT;
	case COLLECTIVE_REASON_RESOURCES:
		return -ENOMEM;
	case COLLECTIVE_REASON_CANCELLED:
		return -ECANCELED;
	}
	return -ECONNRESET;
}

static void state_notify_programs(struct coll_member_state *state, enum collective_event_kind kind)
{
	lockdep_assert_held(&state->lock);
	coll_notice_post(&state->notices, &(struct coll_notice){
		.kind = kind,
		.state = state->value,
		.reason = state->reason,
		.instance = COLL_INSTANCE_GROUP,
		.calls = {
			{ .rank = COLLECTIVE_RANK_NONE },
			{ .rank = COLLECTIVE_RANK_NONE },
		},
	});
}

/**
 * coll_reason_error_told() - errno of a reason that a peer has told
 * @reason: the reason, with the errno that the peer has put into the frame
 *
 * All ranks report the same errno.  But the peer may choose only among those of the kind: a breach
 * of the protocol is also a handshake that was rejected, and a transport or a version that is not
 * shared.
 *
 * Return: a negative errno.
 */
int coll_reason_error_told(const struct coll_reason *reason)
{
	if (reason->kind == COLLECTIVE_REASON_PROTOCOL &&
	    (reason->error == EACCES || reason->error == EOPNOTSUPP ||
	     reason->error == EPROTONOSUPPORT))
		return -(int)reason->error;
	return coll_reason_error(reason->kind);
}

/**
 * coll_state_set() - change the state of a member
 * @state: of the member; @lock is held
 * @value: the new state
 */
void coll_state_set(struct coll_member_state *state, enum collective_state value)
{
	lockdep_assert_held(&state->lock);
	coll_record_state(&state->trace, state->value, value);
	WRITE_ONCE(state->value, value);
	if (value == COLLECTIVE_STATE_JOINED)
		state_notify_programs(state, COLLECTIVE_EVENT_KIND_JOINED);
	else if (value == COLLECTIVE_STATE_UP)
		state_notify_programs(state, COLLECTIVE_EVENT_KIND_UP);
	wake_up_all(&state->wait);
}

static bool reason_outranks(const struct coll_reason *a, const struct coll_reason *b)
{
	if (b->kind == COLLECTIVE_REASON_NONE)
		return true;
	if (a->kind != b->kind)
		return a->kind < b->kind;
	return a->rank_a < b->rank_a;
}

/**
 * coll_errno_for_rank() - errno with which the operations of a rank fail
 * @state: of the member
 * @reason: the reason
 *
 * A rank that leaves has asked for its own failure.  A cancellation is -ECANCELED on every
 * rank, whatever errno the peer has put into the frame.
 *
 * Return: a negative errno.
 */
int coll_errno_for_rank(const struct coll_member_state *state, const struct coll_reason *reason)
{
	if (reason->kind == COLLECTIVE_REASON_CANCELLED ||
	    (reason->kind == COLLECTIVE_REASON_LEFT && reason->rank_a == state->id->rank))
		return -ECANCELED;
	return -(int)reason->error;
}

/*
 * A reset or silent link is only inferred from the end of a rank.  The rank that knows the
 * reason itself may have to be scheduled first, so an inferred reason settles later.
 */
static u64 reason_settle_ns(const struct coll_reason *reason)
{
	bool inferred = reason->kind == COLLECTIVE_REASON_RESET ||
			reason->kind == COLLECTIVE_REASON_SILENCE;

	return (inferred ? COLL_SETTLE_INFERRED_MS : COLL_SETTLE_MS) * NSEC_PER_MSEC;
}

/*
 * A rank that ends after its group has failed is not the reason of the failure.  coll_shrink()
 * relies on this: a rank that is blamed has not accepted a group of survivors.
 */
static bool reason_is_consequence(const struct coll_member_state *state,
				  const struct coll_reason *reason)
{
	return state->aborted && reason->rank_a == state->id->rank &&
	       (reason->kind == COLLECTIVE_REASON_DEATH || reason->kind == COLLECTIVE_REASON_LEFT);
}

static bool peer_left(const struct coll_member_state *state, u32 peer)
{
	return peer < state->id->nranks && test_bit(peer, state->peers_left);
}

/*
 * A peer that could not be reached may have sent LEAVE to others only.  A rank sends LEAVE only
 * if it knows of no failure, so a reset of its link is refined to its leaving.
 */
static struct coll_reason reason_refine(const struct coll_member_state *state,
					const struct coll_reason *reason)
{
	u32 peer = peer_left(state, reason->rank_a) ? reason->rank_a : reason->rank_b;

	if (reason->kind != COLLECTIVE_REASON_RESET || !peer_left(state, peer))
		return *reason;
	return (struct coll_reason){
		.kind = COLLECTIVE_REASON_LEFT,
		.error = -coll_reason_error(COLLECTIVE_REASON_LEFT),
		.rank_a = peer,
		.rank_b = state->id->rank,
	};
}

/* Is it too early or too late for a reason? */
static bool reason_refused(const struct coll_member_state *state, u64 now)
{
	return state->value == COLLECTIVE_STATE_NEW || state->value == COLLECTIVE_STATE_LEFT ||
	       state->stopped || (state->aborted && coll_state_is_final(state, now));
}

static void reason_record(struct coll_member_state *state, const struct coll_reason *reported)
{
	bool first = !state->aborted;
	u64 now = ktime_get_ns();
	struct coll_reason reason;

	lockdep_assert_held(&state->lock);
	if (reason_refused(state, now))
		return;
	reason = reason_refine(state, reported);
	if (reason_is_consequence(state, &reason) || !reason_outranks(&reason, &state->reason))
		return;
	coll_record_abort(&state->trace, &reason);
	state->reason = reason;
	if (reason.kind == COLLECTIVE_REASON_DEATH && reason.rank_a == state->id->rank)
		state->died = true;
	if (first)
		state->aborted_at = now;
	WRITE_ONCE(state->settled_at, state->aborted_at + reason_settle_ns(&reason));
	/* Publishes @settled_at and @aborted_at with @aborted: pairs with lane_run(). */
	smp_store_release(&state->aborted, coll_errno_for_rank(state, &reason));
	if (first)
		coll_state_set(state, COLLECTIVE_STATE_ABORTED);
	state->notify(state);
}

static void state_tell(struct coll_member_state *state)
{
	if (!state->aborted || state->told)
		return;
	state->told = true;
	state_notify_programs(state, COLLECTIVE_EVENT_KIND_ABORTED);
}

/**
 * coll_state_tell() - post the notice that the group has failed, once the reason is final
 * @state: of the member
 *
 * Context: process or work item.
 */
void coll_state_tell(struct coll_member_state *state)
{
	spin_lock(&state->lock);
	if (coll_state_is_final(state, ktime_get_ns()))
		state_tell(state);
	spin_unlock(&state->lock);
}

/**
 * coll_state_tell_end() - post the notice that the rank is no member any more
 * @state: of a member that is stopped, so no reason is recorded any more
 *
 * Context: process or work item.
 */
void coll_state_tell_end(struct coll_member_state *state)
{
	spin_lock(&state->lock);
	state_tell(state);
	state_notify_programs(state, COLLECTIVE_EVENT_KIND_LEFT);
	spin_unlock(&state->lock);
}

/**
 * coll_state_fail() - report a reason why the group has failed; cannot fail
 * @state: of the member
 * @reason: the reason; kept, and told to every neighbour, if it outranks the one so far
 *
 * Context: process or work item.
 */
void coll_state_fail(struct coll_member_state *state, const struct coll_reason *reason)
{
	spin_lock(&state->lock);
	reason_record(state, reason);
	spin_unlock(&state->lock);
}

/**
 * coll_state_peer_left() - a peer has sent LEAVE: that may refine the reason
 * @state: of the member; the peer is in @peers_left
 *
 * Context: control runner.
 */
void coll_state_peer_left(struct coll_member_state *state)
{
	struct coll_reason reason;

	spin_lock(&state->lock);
	reason = state->reason;
	if (reason.kind != COLLECTIVE_REASON_NONE)
		reason_record(state, &reason);
	spin_unlock(&state->lock);
}

/**
 * coll_state_fail_kind() - report a reason that this rank has observed itself
 * @state: of the member
 * @kind: enum collective_reason_kind
 * @rank_a: see struct collective_reason
 * @rank_b: likewise
 *
 * Context: process or work item.
 */
void coll_state_fail_kind(struct coll_member_state *state, u32 kind, u32 rank_a, u32 rank_b)
{
	struct coll_reason reason = {
		.kind = kind,
		.error = -coll_reason_error(kind),
		.rank_a = rank_a,
		.rank_b = rank_b,
	};

	coll_state_fail(state, &reason);
}

/**
 * coll_state_heartbeats_ns() - duration of a number of heartbeats
 * @state: of the member
 * @beats: number of heartbeats
 *
 * Return: ns.
 */
u64 coll_state_heartbeats_ns(const struct coll_member_state *state, u32 beats)
{
	return (u64)beats * state->id->heartbeat_ms * NSEC_PER_MSEC;
}

/**
 * coll_state_is_final() - has the settle time passed?
 * @state: of a member whose group has failed
 * @now: ns
 *
 * Return: true if requests may fail with the reason, and STATUS may report it.
 */
bool coll_state_is_final(const struct coll_member_state *state, u64 now)
{
	return now >= READ_ONCE(state->settled_at);
}

/**
 * coll_state_leases_expired() - has the fence passed?
 * @state: of a member whose group has failed
 * @now: ns
 *
 * Return: true if every lease has expired, so that no peer, reachable or not, can still report
 * success for an operation of this group.
 */
bool coll_state_leases_expired(const struct coll_member_state *state, u64 now)
{
	return now >= state->aborted_at + coll_state_heartbeats_ns(state, COLL_FENCE_BEATS);
}
