// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is known of operations that have not been submitted here: what others have
 * called, and which have failed.
 *
 * Those that are named by the order of calls have a place by the low bits of their
 * number.  Keys can be any, so what others have called is kept in a hash, a memo a
 * name.  How many there can be: a rank tells us of what it has in flight only, for
 * none completes before we have submitted it, too; and only those tell us that
 * are a power of two before us.  More is no honest peer's.
 *
 * A message, or an operation with a key, that has failed is remembered for ever, because
 * frames of it may be under way for any time: the key would name them, too, if it were used
 * again.  So that this is bounded, no more are submitted when COLL_FAILED_MAX have failed;
 * a new group starts afresh.
 */
#include <linux/rhashtable.h>
#include <linux/slab.h>

#include "coll.h"

/**
 * struct coll_failed_name - a message, or an operation with a key, that has failed
 * @node: in the table
 * @next: that failed after it [l]
 * @name: its name
 * @failure: why
 *
 * Charged with its place in the table.
 */
struct coll_failed_name {
	struct rhash_head node;
	struct coll_failed_name *next;
	u64 name;
	struct coll_failure failure;
};

#define MEMO_FAILED_BYTES	(sizeof(struct coll_failed_name) + 2 * sizeof(void *))

static const struct rhashtable_params memo_failed_params = {
	.head_offset = offsetof(struct coll_failed_name, node),
	.key_offset = offsetof(struct coll_failed_name, name),
	.key_len = sizeof_field(struct coll_failed_name, name),
	.automatic_shrinking = false,
};

/* Twice, for what has failed there already when we do not know it yet. */
static u32 memos_max(const struct coll_member *member)
{
	return 2 * COLL_INFLIGHT * coll_match_rounds(member->nranks);
}

/* Beyond those that this rank has submitted there is what the others have in flight. */
static u32 memo_failed_max(const struct coll_member *member)
{
	return COLL_FAILED_MAX + COLL_INFLIGHT * member->nranks;
}

/**
 * coll_unexpected_setup() - make room for what is known
 * @member: the member
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int coll_unexpected_setup(struct coll_member *member)
{
	struct coll_unexpected *memos = kvzalloc(sizeof(*memos), GFP_KERNEL_ACCOUNT);

	if (!memos)
		return -ENOMEM;
	if (rhashtable_init(&memos->failed, &memo_failed_params)) {
		kvfree(memos);
		return -ENOMEM;
	}
	coll_distance_init(&memos->distance, coll_match_rounds(member->nranks),
			   COLL_AHEAD_MAX);
	member->memos = memos;
	return 0;
}

static void memo_free(struct coll_member *member, struct coll_unexpected_call *memo)
{
	hlist_del(&memo->node);
	member->memos->nkeyed--;
	coll_uncharge(&member->charges, sizeof(*memo));
	kfree(memo);
}

static void memo_free_failed(void *failed, void *member)
{
	coll_uncharge(&((struct coll_member *)member)->charges, MEMO_FAILED_BYTES);
	kfree(failed);
}

/**
 * coll_unexpected_cleanup() - undo coll_unexpected_setup()
 * @member: the member; nobody tells it anything any more
 */
void coll_unexpected_cleanup(struct coll_member *member)
{
	struct coll_unexpected *memos = member->memos;
	struct coll_unexpected_call *memo;
	struct hlist_node *next;
	u32 i;

	if (!memos)
		return;
	for (i = 0; i < COLL_INFLIGHT; i++)
		hlist_for_each_entry_safe(memo, next, &memos->keyed[i], node)
			memo_free(member, memo);
	rhashtable_free_and_destroy(&memos->failed, memo_free_failed, member);
	kvfree(memos);
	member->memos = NULL;
}

static struct hlist_head *memo_bucket(struct coll_member *member, u64 name)
{
	return &member->memos->keyed[coll_instance_hash(name, COLL_INFLIGHT)];
}

/**
 * coll_unexpected_find() - what others have called
 * @member: the member, locked
 * @name: of an operation that is to be submitted
 *
 * Return: the memo, or NULL.
 */
struct coll_unexpected_call *coll_unexpected_find(struct coll_member *member, u64 name)
{
	struct coll_unexpected_call *memo = &member->memos->counted[name & (COLL_AHEAD_MAX - 1)];

	lockdep_assert_held(&member->lock);
	if (coll_instance_is_counted(name))
		return memo->name == name && memo->heard ? memo : NULL;
	/* memos_max() in all, spread by a factor that no peer knows. */
	hlist_for_each_entry(memo, memo_bucket(member, name), node)
		if (memo->name == name)
			return memo;
	return NULL;
}

/**
 * coll_unexpected_get_or_add() - somebody has called an operation
 * @member: the member, locked
 * @name: of the operation, which is not in flight here
 *
 * Return: the memo, a new one if there was none (nobody was heard yet); NULL when it
 * is over here or has failed; -EPROTO, -EDQUOT or -ENOMEM.
 */
struct coll_unexpected_call *coll_unexpected_get_or_add(struct coll_member *member, u64 name)
{
	struct coll_unexpected *memos = member->memos;
	struct coll_unexpected_call *memo = coll_unexpected_find(member, name);
	int err;

	if (memo || coll_failed_ops_has(member, name) || !coll_unexpected_expects(member, name))
		return memo;
	if (coll_instance_is_counted(name)) {
		memo = &memos->counted[name & (COLL_AHEAD_MAX - 1)];
		*memo = (struct coll_unexpected_call){ .name = name };
		return memo;
	}
	if (memos->nkeyed >= memos_max(member))
		return ERR_PTR(-EPROTO);
	err = coll_charge(&member->charges, sizeof(*memo));
	if (err)
		return ERR_PTR(err);
	memo = kzalloc(sizeof(*memo), GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
	if (!memo) {
		coll_uncharge(&member->charges, sizeof(*memo));
		return ERR_PTR(-ENOMEM);
	}
	memo->name = name;
	memos->nkeyed++;
	hlist_add_head(&memo->node, memo_bucket(member, name));
	return memo;
}

/**
 * coll_unexpected_remove() - an operation is submitted here, or has failed
 * @member: the member, locked
 * @name: of the operation
 */
void coll_unexpected_remove(struct coll_member *member, u64 name)
{
	struct coll_unexpected_call *memo = coll_unexpected_find(member, name);

	if (!memo)
		return;
	if (coll_instance_is_counted(name))
		memo->heard = 0;
	else
		memo_free(member, memo);
}

static const struct coll_failed_name *memo_failed_find(struct coll_unexpected *memos, u64 name)
{
	return rhashtable_lookup_fast(&memos->failed, &name, memo_failed_params);
}

/**
 * coll_failed_ops_has() - has an operation failed?
 * @member: the member
 * @name: of the operation; without a key, one that is not over here
 *
 * Context: any but interrupts; for lanes.
 */
bool coll_failed_ops_has(const struct coll_member *member, u64 name)
{
	struct coll_unexpected *memos = member->memos;

	if (coll_instance_is_counted(name))
		return READ_ONCE(memos->failed_counted[name & (COLL_AHEAD_MAX - 1)]) == name + 1;
	return memo_failed_find(memos, name);
}

/**
 * coll_failed_ops_find() - why an operation has failed
 * @member: the member, locked
 * @name: of the operation
 *
 * Return: why, or NULL when it has not, as far as is known.
 */
const struct coll_failure *coll_failed_ops_find(struct coll_member *member, u64 name)
{
	struct coll_unexpected *memos = member->memos;
	const struct coll_failed_name *failed;

	lockdep_assert_held(&member->lock);
	if (!coll_failed_ops_has(member, name))
		return NULL;
	if (coll_instance_is_counted(name))
		return &memos->failure[name & (COLL_AHEAD_MAX - 1)];
	failed = memo_failed_find(memos, name);
	return failed ? &failed->failure : NULL;
}

/**
 * coll_unexpected_expects() - may an operation that is not in flight still be submitted?
 * @member: the member, locked
 * @name: of the operation
 *
 * No rank is so far ahead that its operation has no place here: see struct coll_distance.
 */
bool coll_unexpected_expects(const struct coll_member *member, u64 name)
{
	lockdep_assert_held(&member->lock);
	return !coll_instance_is_counted(name) ||
	       (name >= member->next_instance && name - member->next_instance < COLL_AHEAD_MAX);
}

/* Other ranks may wait because they know too little of what this one has submitted. */
static void memo_tell(struct coll_member *member)
{
	if (!coll_distance_due(&member->memos->distance, member->next_instance))
		return;
	set_bit(COLL_CHORE_SUBMITTED, &member->control_events);
	coll_runner_kick(&member->control_runner);
}

/* The failure of a later one must be known when that is submitted, so it is kept. */
static void memo_fail_counted(struct coll_member *member, u64 name,
			      const struct coll_failure *failure)
{
	struct coll_unexpected *memos = member->memos;
	u64 *latest = &memos->failed_counted[name & (COLL_AHEAD_MAX - 1)];

	memos->lapsed = true;
	memo_tell(member);
	if (*latest > name)
		return;
	memos->failure[name & (COLL_AHEAD_MAX - 1)] = *failure;
	/* Whom others waited for need not be found out: this rank is one of them. */
	if (name >= member->next_instance && failure->cause.kind == COLLECTIVE_REASON_DEADLINE &&
	    failure->cause.rank_b == COLLECTIVE_RANK_NONE)
		memos->failure[name & (COLL_AHEAD_MAX - 1)].cause.rank_b = member->rank;
	WRITE_ONCE(*latest, name + 1);
	if (name >= member->next_instance)
		memos->ahead[memos->nahead++ & (ARRAY_SIZE(memos->ahead) - 1)] = name;
}

static int memo_fail_named(struct coll_member *member, u64 name,
			   const struct coll_failure *failure)
{
	struct coll_unexpected *memos = member->memos;
	struct coll_failed_name *failed;
	int err;

	if (memos->nfailed >= memo_failed_max(member))
		return -EPROTO;
	err = coll_charge(&member->charges, MEMO_FAILED_BYTES);
	if (err)
		return err;
	failed = kmalloc(sizeof(*failed), GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
	if (!failed)
		goto uncharge;
	failed->next = NULL;
	failed->name = name;
	failed->failure = *failure;
	err = rhashtable_insert_fast(&memos->failed, &failed->node, memo_failed_params);
	if (err) {
		kfree(failed);
		goto uncharge;
	}
	if (memos->last)
		memos->last->next = failed;
	else
		memos->first = failed;
	memos->last = failed;
	memos->nfailed++;
	return 0;

uncharge:
	coll_uncharge(&member->charges, MEMO_FAILED_BYTES);
	return -ENOMEM;
}

/**
 * coll_failed_ops_add() - an operation has failed, which is in flight here or to come
 * @member: the member, locked
 * @name: of the operation
 * @failure: why
 *
 * Return: 1; 0 when that was known; -EDQUOT, -ENOMEM, or -EPROTO when more have failed than can be
 * of honest ranks.
 */
int coll_failed_ops_add(struct coll_member *member, u64 name, const struct coll_failure *failure)
{
	int err = 0;

	if (coll_failed_ops_has(member, name))
		return 0;
	coll_unexpected_remove(member, name);
	if (coll_instance_is_counted(name))
		memo_fail_counted(member, name, failure);
	else
		err = memo_fail_named(member, name, failure);
	return err ?: 1;
}

/**
 * coll_failed_ops_next() - names that have failed, one after the other
 * @member: the member
 * @at: those that were given; moved on
 * @name: out: another one
 *
 * Return: false when there are no more.
 */
noinline bool coll_failed_ops_next(struct coll_member *member, struct coll_failures *at,
				   u64 *name)
{
	struct coll_unexpected *memos = member->memos;
	const struct coll_failed_name *next;
	bool found = true;

	spin_lock(&member->lock);
	next = at->named ? at->named->next : memos->first;
	if (at->ahead + ARRAY_SIZE(memos->ahead) < memos->nahead)
		at->ahead = memos->nahead - ARRAY_SIZE(memos->ahead);
	if (next) {
		at->named = next;
		*name = next->name;
	} else if (at->ahead < memos->nahead) {
		*name = memos->ahead[at->ahead++ & (ARRAY_SIZE(memos->ahead) - 1)];
	} else {
		found = false;
	}
	spin_unlock(&member->lock);
	return found;
}

/**
 * coll_unexpected_full() - have so many names failed that no more may be used?
 * @member: the member, locked
 *
 * Those in flight may fail, too.
 */
bool coll_unexpected_full(const struct coll_member *member)
{
	lockdep_assert_held(&member->lock);
	return member->memos->nfailed + member->inflight >= COLL_FAILED_MAX;
}

/**
 * coll_unexpected_submitted() - a collective without a key was submitted here
 * @member: the member, locked
 *
 * While operations succeed no rank has to be told.
 */
void coll_unexpected_submitted(struct coll_member *member)
{
	lockdep_assert_held(&member->lock);
	if (member->memos->lapsed)
		memo_tell(member);
}

/**
 * coll_unexpected_succeeded() - an operation has succeeded here, so all ranks have submitted it
 * @member: the member, locked
 * @name: of the operation
 */
void coll_unexpected_succeeded(struct coll_member *member, u64 name)
{
	struct coll_unexpected *memos = member->memos;

	lockdep_assert_held(&member->lock);
	if (!coll_instance_is_counted(name))
		return;
	memos->lapsed = false;
	memos->distance.succeeded = max(memos->distance.succeeded, name + 1);
}

/**
 * coll_unexpected_hear() - a rank tells how many collectives without a key were submitted
 * @member: the member, locked
 * @round: that rank is 2^@round before this one
 * @count: the least of the 2^@round ranks up to it
 */
void coll_unexpected_hear(struct coll_member *member, u32 round, u64 count)
{
	lockdep_assert_held(&member->lock);
	coll_distance_receive(&member->memos->distance, round, count);
	memo_tell(member);
}

/**
 * coll_unexpected_told() - what is to be told of that
 * @member: the member, locked
 * @round: to the rank that is 2^@round further
 */
u64 coll_unexpected_told(struct coll_member *member, u32 round)
{
	struct coll_distance *distance = &member->memos->distance;

	lockdep_assert_held(&member->lock);
	distance->sent[round] = coll_distance_least(distance, member->next_instance, round);
	return distance->sent[round];
}
