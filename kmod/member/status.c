// SPDX-License-Identifier: GPL-2.0-only
/*
 * STATUS: what a process can learn of its member.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/wait.h>

#include "limits.h"
#include "member/member.h"
#include "op/match.h"

static void status_reason(struct collective_reason *out, const struct coll_reason *reason,
			  u64 instance)
{
	*out = (struct collective_reason){
		.kind = reason->kind,
		.error = reason->error,
		.rank_a = reason->kind ? reason->rank_a : COLLECTIVE_RANK_NONE,
		.rank_b = reason->kind ? reason->rank_b : COLLECTIVE_RANK_NONE,
		.instance = instance,
	};
}

/*
 * A process that dumps core may still run for a moment when its death has been reported.  It is
 * told that, whatever other ranks are told: it must not take part in coll_shrink().
 */
static void status_group(struct collective_reason *out, const struct coll_member_state *state)
{
	const struct coll_reason death = {
		.kind = COLLECTIVE_REASON_DEATH,
		.error = -coll_reason_error(COLLECTIVE_REASON_DEATH),
		.rank_a = state->id->rank,
		.rank_b = COLLECTIVE_RANK_NONE,
	};

	status_reason(out, state->died ? &death : &state->reason, COLL_INSTANCE_GROUP);
}

static void status_call(struct collective_call *call, const struct coll_rank_call *rank_call)
{
	const struct coll_signature *signature = &rank_call->signature;

	*call = (struct collective_call){
		.opcode = signature->collective,
		.type = signature->type,
		.reduction = signature->reduction,
		.algorithm = signature->algorithm,
		.flags = signature->flags,
		.root = signature->root,
		.rank = rank_call->rank,
		.count = signature->count,
		.layout = signature->layout,
	};
}

/* A process that was told of the failure may ask for its reason at once, before it is final. */
static void status_settle(struct coll_member *member)
{
	/* @aborted before @settled_at: pairs with reason_record(). */
	if (smp_load_acquire(&member->state.aborted))
		wait_event_killable_timeout(member->state.wait,
					    coll_state_is_final(&member->state, ktime_get_ns()),
					    msecs_to_jiffies(COLL_SETTLE_INFERRED_MS) + 1);
}

/**
 * coll_member_status() - answer STATUS
 * @member: of any state
 * @status: zero but for its size; filled in
 *
 * Context: may sleep, at most COLL_SETTLE_INFERRED_MS, after the group has failed.
 */
void coll_member_status(struct coll_member *member, struct collective_status *status)
{
	u64 executed;

	status_settle(member);
	spin_lock(&member->state.lock);
	status->state = member->state.value;
	status->rank = member->id.rank;
	status->nranks = member->id.nranks;
	status->lanes = member->id.nlanes;
	status->inflight = member->requests.inflight;
	executed = coll_process_calls(&member->requests);
	status->submitted = executed + atomic64_read(&member->requests.counters.submitted);
	status->completed = executed + atomic64_read(&member->requests.counters.completed);
	status_group(&status->group, &member->state);
	status_reason(&status->last, &member->requests.last_failure.reason,
		      member->requests.last_failure.instance);
	status_call(&status->calls[0], &member->requests.last_failure.calls[0]);
	status_call(&status->calls[1], &member->requests.last_failure.calls[1]);
	coll_absent_status(&member->requests, status);
	spin_unlock(&member->state.lock);
}
