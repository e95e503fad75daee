// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unexpected calls: operations that other ranks have announced and this rank has not submitted, or
 * that this rank has completed before it has heard all others (coll_unexpected_keep()).
 *
 * They are in a hash, one for each instance.  Their number is bounded: a rank announces only what
 * it has in flight or keeps, which completes nowhere long before this rank has submitted it
 * (ahead.h), and only ranks a power of two before this one announce to it.
 *
 * A message or an operation with a key that has failed is remembered until the group ends, because
 * late frames of it may still arrive, and would be taken for a later use of the key.  To bound
 * that, no more are submitted once COLL_FAILED_MAX have failed.
 */
#include <linux/slab.h>

#include "core/engine/instance.h"
#include "fail/failed_ops.h"
#include "limits.h"
#include "mem/account.h"
#include "net/net.h"
#include "op/match.h"
#include "op/request.h"
#include "op/requests.h"

/* A member has them from JOIN on, so they should fill what the allocator gives. */
static_assert(sizeof(struct coll_unexpected) <= 2048);

/*
 * Twice, for operations that have failed at the peer while this rank does not know it yet.  To what
 * is in flight at a peer come the calls that it keeps, and those that this rank keeps itself.
 */
static u32 unexpected_max(const struct coll_requests *reqs)
{
	return COLL_AHEAD_MAX + COLL_CALLS_AHEAD +
	       2 * (COLL_INFLIGHT + COLL_CALLS_AHEAD) * coll_match_rounds(reqs->id->nranks);
}

/**
 * coll_unexpected_setup() - allocate the tables of unexpected calls
 * @reqs: of the member
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int coll_unexpected_setup(struct coll_requests *reqs)
{
	struct coll_unexpected *unexpected = kvzalloc(sizeof(*unexpected), GFP_KERNEL_ACCOUNT);
	u32 i;

	if (!unexpected)
		return -ENOMEM;
	for (i = 0; i < COLL_UNEXPECTED_SPARE; i++)
		hlist_add_head(&unexpected->reserve[i].node, &unexpected->spare);
	coll_distance_init(&unexpected->distance, coll_match_rounds(reqs->id->nranks),
			   COLL_AHEAD_MAX);
	reqs->match.unexpected = unexpected;
	return 0;
}

static bool is_reserve(const struct coll_unexpected *unexpected,
		       const struct coll_unexpected_call *entry)
{
	return entry >= unexpected->reserve &&
	       entry < unexpected->reserve + COLL_UNEXPECTED_SPARE;
}

static void unexpected_free(struct coll_requests *reqs, struct coll_unexpected_call *entry)
{
	struct coll_unexpected *unexpected = reqs->match.unexpected;

	hlist_del(&entry->node);
	unexpected->ncalls--;
	if (entry->call.is_own) {
		WRITE_ONCE(reqs->match.kept, reqs->match.kept - 1);
		/* A LEAVE may wait for it, and coll_match_run() gives its place to a request. */
		if (!reqs->match.kept)
			wake_up_all(&reqs->state->wait);
		if (reqs->match.kept_out)
			coll_runner_kick(reqs->net->control);
	}
	if (is_reserve(unexpected, entry)) {
		hlist_add_head(&entry->node, &unexpected->spare);
		return;
	}
	coll_uncharge(reqs->charges, sizeof(*entry));
	kfree(entry);
}

/* Return: one of those that need no allocation, or NULL. */
static struct coll_unexpected_call *unexpected_take_spare(struct coll_unexpected *unexpected)
{
	struct coll_unexpected_call *entry;

	if (hlist_empty(&unexpected->spare))
		return NULL;
	entry = hlist_entry(unexpected->spare.first, struct coll_unexpected_call, node);
	hlist_del(&entry->node);
	return entry;
}

/* Return: one that is not zeroed; or -EDQUOT or -ENOMEM as a pointer. */
static struct coll_unexpected_call *unexpected_alloc(struct coll_requests *reqs)
{
	struct coll_unexpected_call *entry;
	int err;

	err = coll_charge(reqs->charges, sizeof(*entry));
	if (err)
		return ERR_PTR(err);
	entry = kmalloc(sizeof(*entry), GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
	if (entry)
		return entry;
	coll_uncharge(reqs->charges, sizeof(*entry));
	return ERR_PTR(-ENOMEM);
}

/**
 * coll_unexpected_cleanup() - undo coll_unexpected_setup()
 * @reqs: of the member; no frames are received any more
 */
void coll_unexpected_cleanup(struct coll_requests *reqs)
{
	struct coll_unexpected *unexpected = reqs->match.unexpected;
	struct coll_unexpected_call *entry;
	struct hlist_node *next;
	u32 i;

	if (!unexpected)
		return;
	/* No place is needed any more. */
	reqs->match.kept_out = false;
	for (i = 0; i < COLL_UNEXPECTED_HASH; i++)
		hlist_for_each_entry_safe(entry, next, &unexpected->calls[i], node)
			unexpected_free(reqs, entry);
	kvfree(unexpected);
	reqs->match.unexpected = NULL;
}

static struct hlist_head *unexpected_bucket(const struct coll_requests *reqs, u64 instance)
{
	return &reqs->match.unexpected->calls[coll_instance_hash(instance, COLL_UNEXPECTED_HASH)];
}

static void unexpected_add(struct coll_requests *reqs, struct coll_unexpected_call *entry)
{
	reqs->match.unexpected->ncalls++;
	hlist_add_head(&entry->node, unexpected_bucket(reqs, entry->call.instance));
}

static struct coll_unexpected_call *unexpected_find(const struct coll_requests *reqs, u64 instance)
{
	struct coll_unexpected_call *entry;

	lockdep_assert_held(&reqs->state->lock);
	/* At most unexpected_max() in all, spread by a factor that no peer knows. */
	hlist_for_each_entry(entry, unexpected_bucket(reqs, instance), node)
		if (entry->call.instance == instance)
			return entry;
	return NULL;
}

/**
 * coll_unexpected_find() - find the unexpected call of an instance
 * @reqs: of the member, locked
 * @instance: of an operation that is not submitted here
 *
 * Return: the call, or NULL.
 */
struct coll_call *coll_unexpected_find(const struct coll_requests *reqs, u64 instance)
{
	struct coll_unexpected_call *entry = unexpected_find(reqs, instance);

	return entry ? &entry->call : NULL;
}

/**
 * coll_unexpected_get_or_add() - find or add the unexpected call of an instance
 * @reqs: of the member, locked
 * @instance: of an announced operation that is not in flight here
 *
 * Return: the call; new ones have no @rounds_heard and are not this rank's own; NULL if the
 * operation is over here or has failed; or as a pointer -EPROTO if the peers announce too many,
 * -EDQUOT or -ENOMEM.
 */
struct coll_call *coll_unexpected_get_or_add(struct coll_requests *reqs, u64 instance)
{
	struct coll_unexpected *unexpected = reqs->match.unexpected;
	struct coll_call *call = coll_unexpected_find(reqs, instance);
	struct coll_unexpected_call *entry;

	if (call || coll_failed_ops_has(reqs->state->failed_ops, instance) ||
	    !coll_unexpected_expects(reqs, instance))
		return call;
	if (unexpected->ncalls >= unexpected_max(reqs))
		return ERR_PTR(-EPROTO);
	entry = unexpected_take_spare(unexpected) ?: unexpected_alloc(reqs);
	if (IS_ERR(entry))
		return ERR_CAST(entry);
	entry->call = (struct coll_call){ .instance = instance };
	unexpected_add(reqs, entry);
	return &entry->call;
}

/**
 * coll_unexpected_remove() - remove an unexpected call that is submitted here or has failed
 * @reqs: of the member, locked
 * @instance: of the operation
 */
void coll_unexpected_remove(struct coll_requests *reqs, u64 instance)
{
	struct coll_unexpected_call *entry = unexpected_find(reqs, instance);

	if (entry)
		unexpected_free(reqs, entry);
}

/**
 * coll_unexpected_keep() - keep the call of a request that completes before all others are heard
 * @request: a collective without a key and without counts that only two ranks know; its member is
 *	locked
 *
 * Return: false if there is no place for it, or no memory.
 */
bool coll_unexpected_keep(const struct coll_request *request)
{
	struct coll_requests *reqs = request->reqs;
	struct coll_unexpected_call *entry;

	lockdep_assert_held(&reqs->state->lock);
	/* The spare ones are for announcements, which must have a place. */
	entry = reqs->match.kept < COLL_CALLS_AHEAD ? unexpected_alloc(reqs) : ERR_PTR(-EAGAIN);
	if (IS_ERR(entry)) {
		WRITE_ONCE(reqs->match.kept_out, true);
		return false;
	}
	entry->call = request->call;
	unexpected_add(reqs, entry);
	WRITE_ONCE(reqs->match.kept, reqs->match.kept + 1);
	return true;
}

/**
 * coll_unexpected_keeps() - does this rank keep its call of an operation that it has completed?
 * @reqs: of the member, locked
 * @instance: of the operation
 *
 * Return: false if it has not completed it, or has heard all others.
 */
bool coll_unexpected_keeps(const struct coll_requests *reqs, u64 instance)
{
	const struct coll_call *call = coll_unexpected_find(reqs, instance);

	return call && call->is_own;
}

/* Has this rank called something else, and completed it? */
static bool differs_from_own(const struct coll_requests *reqs, const struct coll_call *call)
{
	struct coll_signature own;

	return coll_ahead_call(reqs, call->instance, &own) &&
	       coll_signatures_differ(&own, &call->signature);
}

/**
 * coll_unexpected_forget() - remove the unexpected calls that the process has executed itself
 * @reqs: of the member, locked; its @next_instance has risen, and no request was submitted
 *
 * Those that differ from its own calls stay for coll_ahead_run().
 */
void coll_unexpected_forget(struct coll_requests *reqs)
{
	struct coll_unexpected *unexpected = reqs->match.unexpected;
	struct coll_unexpected_call *entry;
	struct hlist_node *next;
	bool differs = false;
	u32 i;

	lockdep_assert_held(&reqs->state->lock);
	for (i = 0; unexpected->ncalls && i < COLL_UNEXPECTED_HASH; i++)
		hlist_for_each_entry_safe(entry, next, &unexpected->calls[i], node)
			if (!coll_instance_is_counted(entry->call.instance) || entry->call.is_own ||
			    entry->call.instance >= reqs->next_instance)
				continue;
			else if (differs_from_own(reqs, &entry->call))
				differs = true;
			else
				unexpected_free(reqs, entry);
	if (!differs)
		return;
	WRITE_ONCE(reqs->match.differs, true);
	coll_runner_kick(reqs->net->control);
}

/**
 * coll_unexpected_expects() - may an operation that is not in flight still be submitted?
 * @reqs: of the member, locked
 * @instance: of the operation
 *
 * No rank is so far ahead that its operation has no entry here: see struct coll_distance.
 *
 * Return: true if it may; always for messages and operations with a key.
 */
bool coll_unexpected_expects(const struct coll_requests *reqs, u64 instance)
{
	lockdep_assert_held(&reqs->state->lock);
	return !coll_instance_is_counted(instance) ||
	       (instance >= reqs->next_instance && instance - reqs->next_instance < COLL_AHEAD_MAX);
}

/* Other ranks may wait for this rank's number of submitted operations: send it if it is due. */
static void ping_if_due(struct coll_requests *reqs)
{
	if (!coll_distance_due(&reqs->match.unexpected->distance, reqs->next_instance))
		return;
	WRITE_ONCE(reqs->match.submitted_due, true);
	coll_runner_kick(reqs->net->control);
}

/**
 * coll_unexpected_fail() - record that an operation failed which is in flight or may be submitted
 * @reqs: of the member, locked
 * @instance: of the operation
 * @failure: why
 *
 * Return: 1; 0 if the failure was known, or is not kept; or a negative errno as
 * coll_failed_ops_add().
 */
int coll_unexpected_fail(struct coll_requests *reqs, u64 instance,
			 const struct coll_failure *failure)
{
	struct coll_failed_ops *failed_ops = reqs->state->failed_ops;
	int err;

	if (coll_failed_ops_has(failed_ops, instance))
		return 0;
	coll_unexpected_remove(reqs, instance);
	if (coll_instance_is_counted(instance)) {
		coll_process_alarm(reqs, instance);
		reqs->match.unexpected->failed_since_success = true;
		ping_if_due(reqs);
	}
	err = coll_failed_ops_add(failed_ops, instance, failure, reqs->next_instance,
				  coll_process_called(reqs));
	/* Nothing is kept beside a failure that is 1,024 operations later. */
	return err ?: coll_failed_ops_has(failed_ops, instance);
}

/**
 * coll_unexpected_full() - have so many messages and keys failed that no more may be used?
 * @reqs: of the member, locked
 *
 * Operations in flight are counted, because they may fail, too.
 *
 * Return: true if another message or operation with a key must be refused.
 */
bool coll_unexpected_full(const struct coll_requests *reqs)
{
	lockdep_assert_held(&reqs->state->lock);
	return reqs->state->failed_ops->nfailed + reqs->inflight >= COLL_FAILED_MAX;
}

/**
 * coll_unexpected_submitted() - note that a collective without a key was submitted here
 * @reqs: of the member, locked
 *
 * While operations succeed, the other ranks need not be told of it.
 */
void coll_unexpected_submitted(struct coll_requests *reqs)
{
	lockdep_assert_held(&reqs->state->lock);
	if (reqs->match.unexpected->failed_since_success)
		ping_if_due(reqs);
}

/**
 * coll_unexpected_called() - note that all ranks have called some operations
 * @reqs: of the member, locked
 * @count: number of collectives without a key
 */
void coll_unexpected_called(struct coll_requests *reqs, u64 count)
{
	struct coll_distance *distance = &reqs->match.unexpected->distance;

	lockdep_assert_held(&reqs->state->lock);
	distance->succeeded = max(distance->succeeded, count);
}

/**
 * coll_unexpected_succeeded() - note that an operation succeeded, so all ranks have submitted it
 * @reqs: of the member, locked
 * @instance: of the operation
 */
void coll_unexpected_succeeded(struct coll_requests *reqs, u64 instance)
{
	lockdep_assert_held(&reqs->state->lock);
	if (!coll_instance_is_counted(instance))
		return;
	reqs->match.unexpected->failed_since_success = false;
	coll_unexpected_called(reqs, instance + 1);
}

/**
 * coll_unexpected_receive_submitted() - note how many operations other ranks have submitted
 * @reqs: of the member, locked
 * @round: the sender is 2^@round before this rank
 * @count: the least number of collectives without a key that the 2^@round ranks up to the sender
 *	have submitted
 */
void coll_unexpected_receive_submitted(struct coll_requests *reqs, u32 round, u64 count)
{
	lockdep_assert_held(&reqs->state->lock);
	coll_distance_receive(&reqs->match.unexpected->distance, round, count);
	ping_if_due(reqs);
}

/**
 * coll_unexpected_submitted_for() - number of submitted operations to be sent to a rank
 * @reqs: of the member, locked
 * @round: the receiver is 2^@round after this rank
 *
 * Return: the least number of collectives without a key that the 2^@round ranks up to this one are
 * known to have submitted.
 */
u64 coll_unexpected_submitted_for(struct coll_requests *reqs, u32 round)
{
	struct coll_distance *distance = &reqs->match.unexpected->distance;

	lockdep_assert_held(&reqs->state->lock);
	distance->sent[round] = coll_distance_least(distance, reqs->next_instance, round);
	return distance->sent[round];
}
