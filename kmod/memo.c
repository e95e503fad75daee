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
 */
#include <linux/slab.h>

#include "coll.h"

/* Twice, for what has failed there already when we do not know it yet. */
static u32 memos_max(const struct coll_member *member)
{
	return 2 * COLL_INFLIGHT * coll_agree_rounds(member->nranks);
}

/**
 * coll_memo_setup() - make room for what is known
 * @member: the member
 *
 * Return: 0 or -ENOMEM.
 */
int coll_memo_setup(struct coll_member *member)
{
	member->memos = kvzalloc(sizeof(*member->memos), GFP_KERNEL_ACCOUNT);
	return member->memos ? 0 : -ENOMEM;
}

static void memo_free(struct coll_member *member, struct coll_memo *memo)
{
	hlist_del(&memo->node);
	member->memos->nkeyed--;
	coll_uncharge(&member->charges, sizeof(*memo));
	kfree(memo);
}

/**
 * coll_memo_cleanup() - undo coll_memo_setup()
 * @member: the member; nobody tells it anything any more
 */
void coll_memo_cleanup(struct coll_member *member)
{
	struct coll_memos *memos = member->memos;
	struct coll_memo *memo;
	struct hlist_node *next;
	u32 i;

	for (i = 0; memos && i < COLL_INFLIGHT; i++)
		hlist_for_each_entry_safe(memo, next, &memos->keyed[i], node)
			memo_free(member, memo);
	kvfree(memos);
	member->memos = NULL;
}

static struct hlist_head *memo_bucket(struct coll_member *member, u64 name)
{
	return &member->memos->keyed[coll_name_hash(name, COLL_INFLIGHT)];
}

/**
 * coll_memo_find() - what others have called
 * @member: the member, locked
 * @name: of an operation that is to be submitted
 *
 * Return: the memo, or NULL.
 */
struct coll_memo *coll_memo_find(struct coll_member *member, u64 name)
{
	struct coll_memo *memo = &member->memos->counted[name & (COLL_INFLIGHT - 1)];

	lockdep_assert_held(&member->lock);
	if (coll_name_counted(name))
		return memo->name == name && memo->heard ? memo : NULL;
	hlist_for_each_entry(memo, memo_bucket(member, name), node)
		if (memo->name == name)
			return memo;
	return NULL;
}

/**
 * coll_memo_get() - somebody has called an operation
 * @member: the member, locked
 * @name: of the operation, which is not in flight here
 *
 * Return: the memo, a new one if there was none (nobody was heard yet); NULL when it
 * is over here or has failed; -EPROTO, -EDQUOT or -ENOMEM.
 */
struct coll_memo *coll_memo_get(struct coll_member *member, u64 name)
{
	struct coll_memos *memos = member->memos;
	struct coll_memo *memo = coll_memo_find(member, name);
	int err;

	if (memo || coll_memo_failure(member, name))
		return memo;
	if (coll_name_counted(name)) {
		if (name < member->instances || name - member->instances >= COLL_INFLIGHT)
			return NULL;
		memo = &memos->counted[name & (COLL_INFLIGHT - 1)];
		*memo = (struct coll_memo){ .name = name };
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
 * coll_memo_drop() - an operation is submitted here, or has failed
 * @member: the member, locked
 * @name: of the operation
 */
void coll_memo_drop(struct coll_member *member, u64 name)
{
	struct coll_memo *memo = coll_memo_find(member, name);

	if (!memo)
		return;
	if (coll_name_counted(name))
		memo->heard = 0;
	else
		memo_free(member, memo);
}

/**
 * coll_memo_failure() - why an operation has failed
 * @member: the member, locked
 * @name: of the operation
 *
 * Return: why, or NULL when it has not, as far as is known.
 */
const struct coll_failure *coll_memo_failure(struct coll_member *member, u64 name)
{
	struct coll_memos *memos = member->memos;
	int index = coll_failed_find(&memos->failed, name);

	lockdep_assert_held(&member->lock);
	return index < 0 ? NULL : &memos->failure[index];
}

/**
 * coll_memo_fail() - an operation has failed
 * @member: the member, locked
 * @name: of the operation
 * @failure: why
 *
 * Return: whether that is news, and matters.
 */
bool coll_memo_fail(struct coll_member *member, u64 name, const struct coll_failure *failure)
{
	struct coll_memos *memos = member->memos;

	if (coll_memo_failure(member, name))
		return false;
	if (coll_name_counted(name) && (name < member->instances ||
					name - member->instances >= COLL_INFLIGHT))
		return false;
	coll_memo_drop(member, name);
	memos->failure[coll_failed_add(&memos->failed, name)] = *failure;
	return true;
}

/**
 * coll_memo_failures() - names that have failed, one after the other
 * @member: the member
 * @next: of the names that have ever failed, the first that was not given; moved on
 * @name: out: one of them
 *
 * Return: what it failed with, a negative errno; 0: there are no more.
 */
noinline int coll_memo_failures(struct coll_member *member, u64 *next, u64 *name)
{
	struct coll_memos *memos = member->memos;
	int error = 0;

	spin_lock(&member->lock);
	if (*next + COLL_FAILED_MAX < memos->failed.count)
		*next = memos->failed.count - COLL_FAILED_MAX;
	if (*next < memos->failed.count) {
		u32 index = (*next)++ % COLL_FAILED_MAX;

		*name = memos->failed.name[index];
		error = -(int)memos->failure[index].cause.error;
	}
	spin_unlock(&member->lock);
	return error;
}
