// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kept calls: those of operations that this rank has completed before it has heard all others
 * (COLLECTIVE_F_NOSYNC).  They are unexpected calls that are this rank's own.  Matching goes on
 * with them: see design/matching.rst, "Operations by frames".
 */
#include "core/engine/instance.h"
#include "op/match.h"
#include "op/request.h"
#include "op/requests.h"

/**
 * coll_kept_can_add() - may a call be kept, and matching go on without its request?
 * @request: that has started
 *
 * The rank that finds a pair of counts that differ needs the memory of its counts, so a call with
 * such waits.  A use of a key ends with all its announcements.  Ranks with a board forget the calls
 * that they have completed there, with which this one might have to be compared.
 *
 * Return: true if it may complete when its lanes have ended: COLLECTIVE_F_NOSYNC.
 */
bool coll_kept_can_add(const struct coll_request *request)
{
	return !request->reqs->id->board && coll_plan_may_run_ahead(&request->plan) &&
	       coll_match_waits(request) && coll_instance_is_counted(request->call.instance) &&
	       !coll_signature_paired(&request->call.signature);
}

/**
 * coll_kept_add() - keep the call of a request, and let matching go on without it
 * @request: coll_kept_can_add(), and only the part of matching is left; locked
 *
 * Return: false if it completes only when all ranks are heard, or has failed.
 */
bool coll_kept_add(struct coll_request *request)
{
	lockdep_assert_held(&request->reqs->state->lock);
	if (request->match != COLL_MATCH_PENDING || request->mismatch_peer != COLL_NO_RANK ||
	    READ_ONCE(request->error) || request->abort.error || request->abort.at_start ||
	    request->reqs->state->aborted || !coll_unexpected_keep(request))
		return false;
	coll_request_set_match(request, COLL_MATCH_SETTLED);
	return true;
}

/**
 * coll_kept_heard() - announce a call in further rounds, or forget it
 * @reqs: of the member, locked
 * @call: kept, and heard in one more round
 */
void coll_kept_heard(struct coll_requests *reqs, struct coll_call *call)
{
	coll_match_announce(reqs, call, coll_match_rounds(reqs->id->nranks), 0);
	if (!coll_match_all_heard(reqs, call))
		return;
	/* A later operation may have failed. */
	if (call->instance + 1 == reqs->next_instance)
		coll_unexpected_succeeded(reqs, call->instance);
	else
		coll_unexpected_called(reqs, call->instance + 1);
	coll_unexpected_remove(reqs, call->instance);
}

/**
 * coll_kept_departed() - find a peer that has left without announcing a kept call
 * @reqs: of the member, locked
 *
 * Return: its rank; COLL_NO_RANK: there is none.
 */
u32 coll_kept_departed(const struct coll_requests *reqs)
{
	const struct coll_unexpected *unexpected = reqs->match.unexpected;
	const struct coll_unexpected_call *entry;
	u32 i, peer;

	lockdep_assert_held(&reqs->state->lock);
	for (i = 0; reqs->match.kept && i < COLL_UNEXPECTED_HASH; i++)
		hlist_for_each_entry(entry, &unexpected->calls[i], node) {
			peer = entry->call.is_own ? coll_match_departed(reqs, &entry->call) :
						    COLL_NO_RANK;
			if (peer != COLL_NO_RANK)
				return peer;
		}
	return COLL_NO_RANK;
}

/* A request whose lanes have ended, and that need not wait for matching any more; or NULL. */
static struct coll_request *find_kept_out(struct coll_requests *reqs)
{
	struct coll_request *request;

	lockdep_assert_held(&reqs->state->lock);
	/* COLL_INFLIGHT at most, for each call that was kept since the last look. */
	list_for_each_entry(request, &reqs->counted, counted)
		if (atomic_read(&request->parts_pending) == 1 && coll_kept_can_add(request) &&
		    coll_kept_add(request))
			return request;
	return NULL;
}

/**
 * coll_kept_run() - complete requests for whose calls there was no place
 * @reqs: of the member
 *
 * Context: control runner.
 */
void coll_kept_run(struct coll_requests *reqs)
{
	struct coll_request *request;

	if (!READ_ONCE(reqs->match.kept_out))
		return;
	/* As many as there are places. */
	do {
		spin_lock(&reqs->state->lock);
		WRITE_ONCE(reqs->match.kept_out, false);
		request = find_kept_out(reqs);
		if (request)
			coll_request_complete_ahead(request);
		spin_unlock(&reqs->state->lock);
	} while (request);
}
