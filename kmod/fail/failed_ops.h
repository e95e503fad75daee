/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_FAILED_OPS_H
#define COLL_FAILED_OPS_H

#include "fail/member_state.h"
#include "limits.h"

struct coll_charges;
struct coll_failed_counted;
struct coll_failed_op;
struct coll_failed_slots;

/* Slots for instances without a key that are allocated at a time, when one of them fails. */
#define COLL_FAILED_SLOTS	64

/* Entries of coll_failed_ops.ahead; a power of two. */
#define COLL_FAILED_AHEAD	(2 * COLL_AHEAD_MAX)

/**
 * struct coll_failed_ops - operations of a member that have failed, here or elsewhere
 * @state: of the member; its lock is [l] [c]
 * @charges: the memory of failed operations is charged to [c]
 * @counted: by the low bits of an instance without a key: the latest such instance that has
 *	failed, COLL_FAILED_SLOTS of them in each entry; NULL: none of these.  Written under [l],
 *	read by lanes under RCU
 * @nfailed: messages and operations with a key that have failed; at most COLL_FAILED_MAX and
 *	COLL_INFLIGHT for each rank [l]
 * @first: the first of these; each refers to the next [l].  Lanes look them up in the table of all
 *	members under RCU; the teardown frees them
 * @last: the last of these [l]
 * @ahead: indices in @counted of the latest instances without a key that failed before they were
 *	submitted here, a ring of COLL_FAILED_AHEAD.  Those not yet submitted lie within
 *	COLL_AHEAD_MAX, so they are all in it.  NULL: there were none [l]
 * @nahead: such instances so far [l]
 */
struct coll_failed_ops {
	struct coll_member_state *state;
	struct coll_charges *charges;
	struct coll_failed_slots __rcu *counted[COLL_AHEAD_MAX / COLL_FAILED_SLOTS];
	u32 nfailed;
	struct coll_failed_op *first;
	struct coll_failed_op *last;
	u16 *ahead;
	u64 nahead;
};

/**
 * struct coll_failed_ops_cursor - position of a lane in the order in which operations failed
 * @op: the latest message or operation with a key that was returned; NULL: none
 * @ahead: entries of coll_failed_ops.ahead that were returned or skipped
 */
struct coll_failed_ops_cursor {
	const struct coll_failed_op *op;
	u64 ahead;
};

struct coll_failed_ops *coll_failed_ops_new(struct coll_member_state *state,
					    struct coll_charges *charges);
void coll_failed_ops_free(struct coll_failed_ops *ops);
bool coll_failed_ops_has(struct coll_failed_ops *ops, u64 instance);
const struct coll_failure *coll_failed_ops_find(struct coll_failed_ops *ops, u64 instance);
int coll_failed_ops_add(struct coll_failed_ops *ops, u64 instance,
			const struct coll_failure *failure, u64 next_instance, u64 called);
bool coll_failed_ops_next(struct coll_failed_ops *ops, struct coll_failed_ops_cursor *cursor,
			  u64 *instance);
int coll_failed_ops_setup(void);
void coll_failed_ops_cleanup(void);

#endif /* COLL_FAILED_OPS_H */
