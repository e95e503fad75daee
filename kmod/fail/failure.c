// SPDX-License-Identifier: GPL-2.0-only
/*
 * The states of a member, and why one fails.
 *
 *	NEW -> JOINED -> CONNECTING -> UP -> LEFT
 *	          \___________\________\___> ABORTED -> LEFT
 *
 * A group fails as a whole: its first reason is told to every neighbour, who
 * tells its own.  Reasons meet and the strongest one wins (enum
 * collective_reason_kind, then the lowest rank), for a settle time, after which
 * requests fail with it and STATUS tells it.
 */
#include <linux/ktime.h>

#include "coll.h"

/**
 * coll_reason_error() - the errno of a reason
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

/**
 * coll_fail_set_state() - change a member's state; the only place that does
 * @member: the member, locked
 * @state: the new one
 */
void coll_fail_set_state(struct coll_member *member, enum collective_state state)
{
	lockdep_assert_held(&member->lock);
	coll_record_state(member, state);
	WRITE_ONCE(member->state, state);
	wake_up_all(&member->state_wait);
}

/**
 * coll_fail_try_up() - the group is up if every link is
 * @member: a link is complete, or CONNECT was called
 */
void coll_fail_try_up(struct coll_member *member)
{
	spin_lock(&member->lock);
	if (member->state == COLLECTIVE_STATE_CONNECTING &&
	    member->nr_required_open == member->nr_required)
		coll_fail_set_state(member, COLLECTIVE_STATE_UP);
	spin_unlock(&member->lock);
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
 * coll_errno_for_rank() - what operations of a rank fail with
 * @member: the rank
 * @cause: why; a rank that leaves has asked for it, and a cancellation is one on every
 *	rank, whatever errno the peer has put beside it
 *
 * Return: a negative errno.
 */
int coll_errno_for_rank(const struct coll_member *member, const struct coll_reason *cause)
{
	if (cause->kind == COLLECTIVE_REASON_CANCELLED ||
	    (cause->kind == COLLECTIVE_REASON_LEFT && cause->rank_a == member->rank))
		return -ECANCELED;
	return -(int)cause->error;
}

/*
 * A reset or silent link is what is seen of a rank that is gone; who knows more may have to
 * run first.
 */
static u64 reason_settle_ns(const struct coll_reason *cause)
{
	bool inferred = cause->kind == COLLECTIVE_REASON_RESET ||
			cause->kind == COLLECTIVE_REASON_SILENCE;

	return (inferred ? COLL_SETTLE_INFERRED_MS : COLL_SETTLE_MS) * NSEC_PER_MSEC;
}

/*
 * A rank that ends after its group has failed is no reason for that.  coll_shrink() relies on
 * it: a rank that is blamed has not accepted a group of survivors (Documentation/shrink.rst).
 */
static bool reason_is_consequence(const struct coll_member *member, const struct coll_reason *cause)
{
	return member->aborted && cause->rank_a == member->rank &&
	       (cause->kind == COLLECTIVE_REASON_DEATH || cause->kind == COLLECTIVE_REASON_LEFT);
}

static bool peer_left(struct coll_member *member, u32 peer)
{
	struct coll_link *link = peer < member->nranks ? coll_link_get(member, peer) : NULL;

	return link && READ_ONCE(link->peer_left);
}

/*
 * Who has called somebody in vain need not have been told that he left, as others were.  A
 * rank says that it leaves if it knows of no failure.
 */
static struct coll_reason reason_refine(struct coll_member *member, const struct coll_reason *cause)
{
	u32 gone = peer_left(member, cause->rank_a) ? cause->rank_a : cause->rank_b;

	if (cause->kind != COLLECTIVE_REASON_RESET || !peer_left(member, gone))
		return *cause;
	return (struct coll_reason){
		.kind = COLLECTIVE_REASON_LEFT,
		.error = -coll_reason_error(COLLECTIVE_REASON_LEFT),
		.rank_a = gone,
		.rank_b = member->rank,
	};
}

/* Is nobody to be told any more? */
static bool member_done(const struct coll_member *member, u64 now)
{
	return member->state == COLLECTIVE_STATE_NEW || member->state == COLLECTIVE_STATE_LEFT ||
	       member->stopped || (member->aborted && coll_fail_reason_final(member, now));
}

/* Return: whether it is the reason now, to be told. */
static bool reason_record(struct coll_member *member, const struct coll_reason *told)
{
	bool first = !member->aborted;
	u64 now = ktime_get_ns(), settled;
	struct coll_reason cause;

	lockdep_assert_held(&member->lock);
	if (member_done(member, now))
		return false;
	cause = reason_refine(member, told);
	if (reason_is_consequence(member, &cause) || !reason_outranks(&cause, &member->reason))
		return false;
	coll_record_abort(member, &cause);
	member->reason = cause;
	if (first)
		member->aborted_at = now;
	settled = member->aborted_at + reason_settle_ns(&cause);
	WRITE_ONCE(member->settled_at, settled);
	/* With what is read after it: pairs with lane_run(). */
	smp_store_release(&member->aborted, coll_errno_for_rank(member, &cause));
	if (first)
		coll_fail_set_state(member, COLLECTIVE_STATE_ABORTED);
	set_bit(COLL_CHORE_FLOOD, &member->control_events);
	mod_delayed_work(coll_wq, &member->tick,
			 settled > now ? nsecs_to_jiffies(settled - now) + 1 : 0);
	return true;
}

/**
 * coll_fail_report() - the group has failed; cannot fail
 * @member: one of its members
 * @cause: why; what is made of it is told to every neighbour
 *
 * Context: process or work item.
 */
noinline void coll_fail_report(struct coll_member *member, const struct coll_reason *cause)
{
	bool news;
	u32 i;

	spin_lock(&member->lock);
	news = reason_record(member, cause);
	spin_unlock(&member->lock);
	if (!news)
		return;

	coll_runner_kick(&member->control_runner);
	for (i = 0; i < member->nlanes; i++)
		coll_runner_kick(&member->lanes[i].runner);
}

/**
 * coll_fail_peer_left() - a peer has said goodbye: that may be why the group failed
 * @member: one of its members
 *
 * Context: control runner.
 */
void coll_fail_peer_left(struct coll_member *member)
{
	struct coll_reason cause;

	spin_lock(&member->lock);
	cause = member->reason;
	spin_unlock(&member->lock);
	if (cause.kind != COLLECTIVE_REASON_NONE)
		coll_fail_report(member, &cause);
}

/**
 * coll_fail_report_kind() - the group has failed, as seen here
 * @member: one of its members
 * @kind: enum collective_reason_kind
 * @rank_a: see struct collective_reason
 * @rank_b: likewise
 */
noinline void coll_fail_report_kind(struct coll_member *member, u32 kind, u32 rank_a, u32 rank_b)
{
	struct coll_reason cause = {
		.kind = kind,
		.error = -coll_reason_error(kind),
		.rank_a = rank_a,
		.rank_b = rank_b,
	};

	coll_fail_report(member, &cause);
}

/**
 * coll_fail_heartbeats_ns() - a number of heartbeats
 * @member: the member
 * @beats: how many
 *
 * Return: nanoseconds.
 */
u64 coll_fail_heartbeats_ns(const struct coll_member *member, u32 beats)
{
	return (u64)beats * member->heartbeat_ms * NSEC_PER_MSEC;
}

/**
 * coll_fail_reason_final() - have the reasons been collected?
 * @member: a failed one
 * @now: ns
 *
 * Return: true when requests may fail with what is known, and STATUS say it.
 */
bool coll_fail_reason_final(const struct coll_member *member, u64 now)
{
	return now >= READ_ONCE(member->settled_at);
}

/**
 * coll_fail_leases_expired() - can no peer succeed any more, reachable or not?
 * @member: a failed one
 * @now: ns
 *
 * Return: true when every lease has ended.
 */
bool coll_fail_leases_expired(struct coll_member *member, u64 now)
{
	return now >= member->aborted_at + coll_fail_heartbeats_ns(member, COLL_FENCE_BEATS);
}
