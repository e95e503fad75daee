// SPDX-License-Identifier: GPL-2.0-only
/* Operations that a rank has completed before all others have called them: see ahead.h. */
#include "core/board/board.h"
#include "core/engine/instance.h"
#include "fail/failed_ops.h"
#include "lane/lane.h"
#include "limits.h"
#include "op/ahead.h"
#include "op/match.h"
#include "op/process_ops.h"
#include "op/request.h"
#include "op/requests.h"

/* Such operations are on the board.  Return: NULL: the group has none. */
static struct coll_board *board_of(const struct coll_requests *reqs)
{
	return reqs->lanes ? READ_ONCE(reqs->lanes[0].engine.board) : NULL;
}

/**
 * coll_ahead_call_of() - the call of a rank that may have completed an operation
 * @reqs: of the member, locked
 * @rank: the rank
 * @instance: of the operation
 * @signature: out: its call
 *
 * Return: false if it has not said that it need not synchronize, or if that is long ago.
 */
bool coll_ahead_call_of(const struct coll_requests *reqs, u32 rank, u64 instance,
			struct coll_signature *signature)
{
	const struct coll_board *board = board_of(reqs);

	lockdep_assert_held(&reqs->state->lock);
	return board && coll_instance_is_counted(instance) &&
	       coll_board_ahead_call(board, rank, instance, signature);
}

/**
 * coll_ahead_call() - the call of this rank of an operation that it has completed
 * @reqs: of the member, locked; coll_process_sync() was called
 * @instance: of the operation
 * @signature: out: its call
 *
 * Return: false if other ranks cannot be behind it.
 */
bool coll_ahead_call(const struct coll_requests *reqs, u64 instance,
		     struct coll_signature *signature)
{
	return instance < reqs->next_instance &&
	       coll_ahead_call_of(reqs, reqs->id->rank, instance, signature);
}

/**
 * coll_ahead_is_used() - does this rank run ahead?
 * @reqs: of the member, locked
 * @instance: number of an operation
 *
 * Return: false if it waits for all ranks, in that operation and since.
 */
bool coll_ahead_is_used(const struct coll_requests *reqs, u64 instance)
{
	const struct coll_board *board = board_of(reqs);

	lockdep_assert_held(&reqs->state->lock);
	return board && coll_board_is_ahead(board, instance);
}

/**
 * coll_ahead_may_fail() - may an operation have failed that this rank has completed?
 * @reqs: of the member, locked; coll_process_sync() was called
 * @instance: of the operation
 * @reason: why
 *
 * The call may be kept no longer.  But no rank finds that calls differ if this one has waited for
 * all.
 */
bool coll_ahead_may_fail(const struct coll_requests *reqs, u64 instance,
			 const struct coll_reason *reason)
{
	struct coll_signature own;

	if (!coll_instance_is_counted(instance) || instance >= reqs->next_instance ||
	    reqs->next_instance - instance >= COLL_AHEAD_MAX)
		return false;
	return coll_unexpected_keeps(reqs, instance) ||
	       coll_ahead_call(reqs, instance, &own) ||
	       (reason->kind == COLLECTIVE_REASON_MISMATCH && coll_ahead_is_used(reqs, instance));
}

/**
 * coll_ahead_fail() - an operation has failed that this rank has completed
 * @reqs: of the member, locked
 * @instance: of the operation: coll_ahead_may_fail()
 * @failure: why
 *
 * Calls that differ are what no rank could know when it completed the operation.  For all else the
 * rank's own part is done.  Of several failures the first is kept.
 */
void coll_ahead_fail(struct coll_requests *reqs, u64 instance,
		     const struct coll_failure *failure)
{
	lockdep_assert_held(&reqs->state->lock);
	if (reqs->ahead.failed || failure->reason.kind != COLLECTIVE_REASON_MISMATCH)
		return;
	reqs->ahead = (struct coll_ahead){
		.failed = true,
		.instance = instance,
		.failure = *failure,
	};
	/* At once: this rank may call nothing any more. */
	coll_requests_note_failure(reqs, failure, instance);
	coll_requests_tell_mismatch(reqs);
	coll_process_notice(reqs);
}

/**
 * coll_ahead_succeeded() - note what the success of a collective without a key says
 * @reqs: of the member, locked
 * @instance: of the operation
 *
 * All ranks have called it, or, if it need not synchronize, those that all have finished.  Then it
 * may have failed while this rank has completed it.
 */
void coll_ahead_succeeded(struct coll_requests *reqs, u64 instance)
{
	const struct coll_board *board = board_of(reqs);
	const struct coll_failure *failure;
	struct coll_signature signature;

	/* Matching goes on, and tells when all ranks have called it. */
	if (coll_unexpected_keeps(reqs, instance))
		return;
	if (!coll_ahead_call_of(reqs, reqs->id->rank, instance, &signature)) {
		coll_unexpected_succeeded(reqs, instance);
		return;
	}
	coll_unexpected_called(reqs, min(coll_board_finished_by_all(board), instance + 1));
	failure = coll_failed_ops_find(reqs->state->failed_ops, instance);
	if (failure)
		coll_ahead_fail(reqs, instance, failure);
}

/**
 * coll_ahead_take() - fail a request for an earlier operation
 * @request: in flight, and about to complete with success; its member is locked
 * @instance: out: number of that operation
 *
 * Return: false if there is none.
 */
bool coll_ahead_take(struct coll_request *request, u64 *instance)
{
	struct coll_requests *reqs = request->reqs;

	lockdep_assert_held(&reqs->state->lock);
	if (!reqs->ahead.failed || !coll_instance_is_counted(request->call.instance))
		return false;
	reqs->ahead.failed = false;
	*instance = reqs->ahead.instance;
	request->failure = reqs->ahead.failure;
	request->error = coll_errno_for_rank(reqs->state, &request->failure.reason);
	coll_process_notice(reqs);
	return true;
}

/* A call that was announced before this rank has completed the operation with another one. */
static const struct coll_call *find_differing(struct coll_requests *reqs,
					      struct coll_signature *own)
{
	const struct coll_unexpected_call *entry;
	u32 i;

	lockdep_assert_held(&reqs->state->lock);
	for (i = 0; i < COLL_UNEXPECTED_HASH; i++)
		hlist_for_each_entry(entry, &reqs->match.unexpected->calls[i], node)
			if (coll_ahead_call(reqs, entry->call.instance, own))
				return &entry->call;
	return NULL;
}

/**
 * coll_ahead_run() - fail the operations of which coll_unexpected_forget() has kept calls
 * @reqs: of the member
 *
 * Context: control runner.
 */
void coll_ahead_run(struct coll_requests *reqs)
{
	const struct coll_call *call;
	struct coll_failure failure;
	struct coll_signature own;
	u64 instance;
	u32 peer;

	if (!READ_ONCE(reqs->match.differs) || !xchg(&reqs->match.differs, false))
		return;
	/* As many as there are calls; each is removed. */
	for (;;) {
		spin_lock(&reqs->state->lock);
		call = find_differing(reqs, &own);
		if (!call)
			break;
		instance = call->instance;
		peer = coll_match_prev_peer(reqs, __ffs(call->rounds_heard));
		failure = coll_match_signature_failure(peer, &call->signature, reqs->id->rank,
						       &own);
		coll_unexpected_remove(reqs, instance);
		coll_match_fail(reqs, NULL, instance, &failure);
	}
	spin_unlock(&reqs->state->lock);
}
