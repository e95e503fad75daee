// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is known of operations that have not been submitted here: what others have
 * called, and which have failed.
 *
 * Those that are named by the order of calls have a place by the low bits of their
 * number.  Keys can be any, so what others have called is kept in a hash, a call a
 * name.  How many there can be: a rank tells us of what it has in flight only, for
 * none completes before we have submitted it, too; and only those tell us that
 * are a power of two before us.  More is no honest peer's.
 *
 * A message, or an operation with a key, that has failed is remembered for ever, because
 * frames of it may be under way for any time: the key would name them, too, if it were used
 * again.  So that this is bounded, no more are submitted when COLL_FAILED_MAX have failed;
 * a new group starts afresh.
 */
#include <linux/slab.h>

#include "core/engine/instance.h"
#include "fail/failed_ops.h"
#include "limits.h"
#include "mem/account.h"
#include "net/net.h"
#include "op/match.h"
#include "op/requests.h"

/* Twice, for what has failed there already when we do not know it yet. */
static u32 unexpected_max(const struct coll_requests *reqs)
{
	return 2 * COLL_INFLIGHT * coll_match_rounds(reqs->id->nranks);
}

/**
 * coll_unexpected_setup() - make room for what is known
 * @reqs: the member
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int coll_unexpected_setup(struct coll_requests *reqs)
{
	struct coll_unexpected *unexpected = kvzalloc(sizeof(*unexpected), GFP_KERNEL_ACCOUNT);

	if (!unexpected)
		return -ENOMEM;
	coll_distance_init(&unexpected->distance, coll_match_rounds(reqs->id->nranks),
			   COLL_AHEAD_MAX);
	reqs->match.unexpected = unexpected;
	return 0;
}

static void unexpected_free(struct coll_requests *reqs, struct coll_unexpected_call *call)
{
	hlist_del(&call->node);
	reqs->match.unexpected->nkeyed--;
	coll_uncharge(reqs->charges, sizeof(*call));
	kfree(call);
}

/**
 * coll_unexpected_cleanup() - undo coll_unexpected_setup()
 * @reqs: the member; nobody tells it anything any more
 */
void coll_unexpected_cleanup(struct coll_requests *reqs)
{
	struct coll_unexpected *unexpected = reqs->match.unexpected;
	struct coll_unexpected_call *call;
	struct hlist_node *next;
	u32 i;

	if (!unexpected)
		return;
	for (i = 0; i < COLL_INFLIGHT; i++)
		hlist_for_each_entry_safe(call, next, &unexpected->keyed[i], node)
			unexpected_free(reqs, call);
	kvfree(unexpected);
	reqs->match.unexpected = NULL;
}

static struct hlist_head *unexpected_bucket(struct coll_requests *reqs, u64 instance)
{
	return &reqs->match.unexpected->keyed[coll_instance_hash(instance, COLL_INFLIGHT)];
}

/**
 * coll_unexpected_find() - what others have called
 * @reqs: the member, locked
 * @instance: of an operation that is to be submitted
 *
 * Return: the call, or NULL.
 */
struct coll_unexpected_call *coll_unexpected_find(struct coll_requests *reqs, u64 instance)
{
	struct coll_unexpected_call *call =
		&reqs->match.unexpected->counted[instance & (COLL_AHEAD_MAX - 1)];

	lockdep_assert_held(&reqs->fail->lock);
	if (coll_instance_is_counted(instance))
		return call->instance == instance && call->rounds_heard ? call : NULL;
	/* unexpected_max() in all, spread by a factor that no peer knows. */
	hlist_for_each_entry(call, unexpected_bucket(reqs, instance), node)
		if (call->instance == instance)
			return call;
	return NULL;
}

/**
 * coll_unexpected_get_or_add() - somebody has called an operation
 * @reqs: the member, locked
 * @instance: of the operation, which is not in flight here
 *
 * Return: the call, a new one if there was none (nobody was heard yet); NULL when it
 * is over here or has failed; -EPROTO, -EDQUOT or -ENOMEM.
 */
struct coll_unexpected_call *coll_unexpected_get_or_add(struct coll_requests *reqs, u64 instance)
{
	struct coll_unexpected *unexpected = reqs->match.unexpected;
	struct coll_unexpected_call *call = coll_unexpected_find(reqs, instance);
	int err;

	if (call || coll_failed_ops_has(reqs->fail->failed_ops, instance) ||
	    !coll_unexpected_expects(reqs, instance))
		return call;
	if (coll_instance_is_counted(instance)) {
		call = &unexpected->counted[instance & (COLL_AHEAD_MAX - 1)];
		*call = (struct coll_unexpected_call){ .instance = instance };
		return call;
	}
	if (unexpected->nkeyed >= unexpected_max(reqs))
		return ERR_PTR(-EPROTO);
	err = coll_charge(reqs->charges, sizeof(*call));
	if (err)
		return ERR_PTR(err);
	call = kzalloc(sizeof(*call), GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
	if (!call) {
		coll_uncharge(reqs->charges, sizeof(*call));
		return ERR_PTR(-ENOMEM);
	}
	call->instance = instance;
	unexpected->nkeyed++;
	hlist_add_head(&call->node, unexpected_bucket(reqs, instance));
	return call;
}

/**
 * coll_unexpected_remove() - an operation is submitted here, or has failed
 * @reqs: the member, locked
 * @instance: of the operation
 */
void coll_unexpected_remove(struct coll_requests *reqs, u64 instance)
{
	struct coll_unexpected_call *call = coll_unexpected_find(reqs, instance);

	if (!call)
		return;
	if (coll_instance_is_counted(instance))
		call->rounds_heard = 0;
	else
		unexpected_free(reqs, call);
}

/**
 * coll_unexpected_expects() - may an operation that is not in flight still be submitted?
 * @reqs: the member, locked
 * @instance: of the operation
 *
 * No rank is so far ahead that its operation has no place here: see struct coll_distance.
 */
bool coll_unexpected_expects(const struct coll_requests *reqs, u64 instance)
{
	lockdep_assert_held(&reqs->fail->lock);
	return !coll_instance_is_counted(instance) ||
	       (instance >= reqs->next_instance && instance - reqs->next_instance < COLL_AHEAD_MAX);
}

/* Other ranks may wait because they know too little of what this one has submitted. */
static void ping_if_due(struct coll_requests *reqs)
{
	if (!coll_distance_due(&reqs->match.unexpected->distance, reqs->next_instance))
		return;
	WRITE_ONCE(reqs->match.submitted_due, true);
	coll_runner_kick(reqs->net->control);
}

/**
 * coll_unexpected_fail() - an operation has failed, which is in flight here or may be submitted
 * @reqs: of the member, which is locked
 * @instance: of the operation
 * @failure: why
 *
 * Return: 1; 0 when it was known; or as coll_failed_ops_add().
 */
int coll_unexpected_fail(struct coll_requests *reqs, u64 instance,
			 const struct coll_failure *failure)
{
	struct coll_failed_ops *failed_ops = reqs->fail->failed_ops;

	if (coll_failed_ops_has(failed_ops, instance))
		return 0;
	coll_unexpected_remove(reqs, instance);
	if (coll_instance_is_counted(instance)) {
		reqs->match.unexpected->failed_since_success = true;
		ping_if_due(reqs);
	}
	return coll_failed_ops_add(failed_ops, instance, failure, reqs->next_instance) ?: 1;
}

/**
 * coll_unexpected_full() - have so many names failed that no more may be used?
 * @reqs: the member, locked
 *
 * Those in flight may fail, too.
 */
bool coll_unexpected_full(const struct coll_requests *reqs)
{
	lockdep_assert_held(&reqs->fail->lock);
	return reqs->fail->failed_ops->nfailed + reqs->inflight >= COLL_FAILED_MAX;
}

/**
 * coll_unexpected_submitted() - a collective without a key was submitted here
 * @reqs: the member, locked
 *
 * While operations succeed no rank has to be told.
 */
void coll_unexpected_submitted(struct coll_requests *reqs)
{
	lockdep_assert_held(&reqs->fail->lock);
	if (reqs->match.unexpected->failed_since_success)
		ping_if_due(reqs);
}

/**
 * coll_unexpected_succeeded() - an operation has succeeded here, so all ranks have submitted it
 * @reqs: the member, locked
 * @instance: of the operation
 */
void coll_unexpected_succeeded(struct coll_requests *reqs, u64 instance)
{
	struct coll_unexpected *unexpected = reqs->match.unexpected;

	lockdep_assert_held(&reqs->fail->lock);
	if (!coll_instance_is_counted(instance))
		return;
	unexpected->failed_since_success = false;
	unexpected->distance.succeeded = max(unexpected->distance.succeeded, instance + 1);
}

/**
 * coll_unexpected_receive_submitted() - note how many operations other ranks have submitted
 * @reqs: the member, locked
 * @round: that rank is 2^@round before this one
 * @count: the least of the 2^@round ranks up to it
 */
void coll_unexpected_receive_submitted(struct coll_requests *reqs, u32 round, u64 count)
{
	lockdep_assert_held(&reqs->fail->lock);
	coll_distance_receive(&reqs->match.unexpected->distance, round, count);
	ping_if_due(reqs);
}

/**
 * coll_unexpected_submitted_for() - what is to be told of that
 * @reqs: the member, locked
 * @round: to the rank that is 2^@round further
 */
u64 coll_unexpected_submitted_for(struct coll_requests *reqs, u32 round)
{
	struct coll_distance *distance = &reqs->match.unexpected->distance;

	lockdep_assert_held(&reqs->fail->lock);
	distance->sent[round] = coll_distance_least(distance, reqs->next_instance, round);
	return distance->sent[round];
}
