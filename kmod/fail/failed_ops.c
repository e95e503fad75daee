// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations that have failed.
 *
 * An operation without a key is found by the low bits of its instance.  A message or an operation
 * with a key that has failed is remembered for the lifetime of the group: its frames may arrive
 * at any later time, and would be taken for those of another operation with the same key.  The
 * memory is bounded because a rank refuses to submit more of them once COLL_FAILED_MAX have
 * failed.  One table has those of all members: the end of a table waits for a grace period where
 * irq_work has no interrupt.
 *
 * Memory is allocated when an operation fails.  If there is none, the group fails.
 */
#include <linux/err.h>
#include <linux/rcupdate.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>

#include "core/engine/instance.h"
#include "fail/failed_ops.h"
#include "mem/account.h"

/* An operation of a member. */
struct failed_key {
	const struct coll_failed_ops *ops;
	u64 instance;
};

/**
 * struct coll_failed_op - a message or an operation with a key that has failed
 * @node: in failed_table
 * @next: the one of the same member that failed after it [l]
 * @key: the member and the operation
 * @failure: why it failed
 * @rcu: lookups of other members may still pass it
 */
struct coll_failed_op {
	struct rhash_head node;
	struct coll_failed_op *next;
	struct failed_key key;
	struct coll_failure failure;
	struct rcu_head rcu;
};

/**
 * struct coll_failed_counted - an operation without a key that has failed
 * @instance: of the operation
 * @failure: why it failed
 * @rcu: lanes may look at @instance until the end of a grace period
 */
struct coll_failed_counted {
	u64 instance;
	struct coll_failure failure;
	struct rcu_head rcu;
};

/**
 * struct coll_failed_slots - the latest failures of some slots
 * @latest: by the low bits of the instance; NULL: none.  Written under [l], read under RCU
 *
 * Freed by the teardown only.
 */
struct coll_failed_slots {
	struct coll_failed_counted __rcu *latest[COLL_FAILED_SLOTS];
};

/* Charged for an entry and its share of the table. */
#define FAILED_OP_BYTES	(sizeof(struct coll_failed_op) + 2 * sizeof(void *))

static const struct rhashtable_params failed_params = {
	.head_offset = offsetof(struct coll_failed_op, node),
	.key_offset = offsetof(struct coll_failed_op, key),
	.key_len = sizeof(struct failed_key),
	.automatic_shrinking = true,
};

static struct rhashtable failed_table;

/* Besides the operations of this rank, those that the others have in flight. */
static u32 failed_max(const struct coll_failed_ops *ops)
{
	return COLL_FAILED_MAX + COLL_INFLIGHT * ops->state->id->nranks;
}

/**
 * coll_failed_ops_new() - nothing has failed yet
 * @state: of the member
 * @charges: the entries are charged to
 *
 * Context: may sleep.
 * Return: for coll_failed_ops_free(); or NULL without memory.
 */
struct coll_failed_ops *coll_failed_ops_new(struct coll_member_state *state,
					    struct coll_charges *charges)
{
	struct coll_failed_ops *ops = kvzalloc(sizeof(*ops), GFP_KERNEL_ACCOUNT);

	if (!ops)
		return NULL;
	ops->state = state;
	ops->charges = charges;
	return ops;
}

static void failed_op_free(struct coll_failed_ops *ops, struct coll_failed_op *op)
{
	rhashtable_remove_fast(&failed_table, &op->node, failed_params);
	coll_uncharge(ops->charges, FAILED_OP_BYTES);
	kfree_rcu(op, rcu);
}

/* Memory for failed operations, zeroed; [l] is held.  Return: -EDQUOT or -ENOMEM as a pointer. */
static void *failed_alloc(struct coll_failed_ops *ops, u32 bytes)
{
	int err = coll_charge(ops->charges, bytes);
	void *memory;

	if (err)
		return ERR_PTR(err);
	memory = kzalloc(bytes, GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
	if (memory)
		return memory;
	coll_uncharge(ops->charges, bytes);
	return ERR_PTR(-ENOMEM);
}

/* The slots of which @slot is one; [l] is held, or nothing runs any more. */
static struct coll_failed_slots *counted_slots(struct coll_failed_ops *ops, u32 slot)
{
	return rcu_dereference_protected(ops->counted[slot / COLL_FAILED_SLOTS], true);
}

/* Forget the latest failure of a slot, which is allocated, for a later one; NULL: none. */
static void counted_replace(struct coll_failed_ops *ops, u32 slot,
			    struct coll_failed_counted *latest)
{
	struct coll_failed_slots *slots = counted_slots(ops, slot);
	struct coll_failed_counted *old =
		rcu_replace_pointer(slots->latest[slot % COLL_FAILED_SLOTS], latest, true);

	if (!old)
		return;
	coll_uncharge(ops->charges, sizeof(*old));
	kfree_rcu(old, rcu);
}

/* Free the slots of which @first is the first one; nothing runs any more. */
static void counted_free(struct coll_failed_ops *ops, u32 first)
{
	struct coll_failed_slots *slots = counted_slots(ops, first);
	u32 i;

	if (!slots)
		return;
	for (i = 0; i < COLL_FAILED_SLOTS; i++)
		counted_replace(ops, first + i, NULL);
	coll_uncharge(ops->charges, sizeof(*slots));
	kfree(slots);
}

/**
 * coll_failed_ops_free() - undo coll_failed_ops_new()
 * @ops: or NULL; no lane runs any more
 */
void coll_failed_ops_free(struct coll_failed_ops *ops)
{
	struct coll_failed_op *op, *next;
	u32 i;

	if (!ops)
		return;
	for (i = 0; i < COLL_AHEAD_MAX; i += COLL_FAILED_SLOTS)
		counted_free(ops, i);
	if (ops->ahead)
		coll_uncharge(ops->charges, COLL_FAILED_AHEAD * sizeof(*ops->ahead));
	kfree(ops->ahead);
	/* At most failed_max() of them. */
	for (op = ops->first; op; op = next) {
		next = op->next;
		failed_op_free(ops, op);
		cond_resched();
	}
	kvfree(ops);
}

/* Valid until coll_failed_ops_free(). */
static const struct coll_failed_op *failed_op_find(struct coll_failed_ops *ops, u64 instance)
{
	const struct failed_key key = { .ops = ops, .instance = instance };

	return rhashtable_lookup_fast(&failed_table, &key, failed_params);
}

static u32 counted_slot(u64 instance)
{
	return instance & (COLL_AHEAD_MAX - 1);
}

/* The latest failure of a slot; [l] is held. */
static struct coll_failed_counted *counted_latest(struct coll_failed_ops *ops, u32 slot)
{
	const struct coll_failed_slots *slots = counted_slots(ops, slot);

	lockdep_assert_held(&ops->state->lock);
	return slots ? rcu_dereference_protected(slots->latest[slot % COLL_FAILED_SLOTS], true) :
		       NULL;
}

/**
 * coll_failed_ops_has() - has an operation failed?
 * @ops: of the member
 * @instance: of the operation; without a key, one that is not complete here
 *
 * Context: any but interrupts; lanes call it without a lock.
 */
bool coll_failed_ops_has(struct coll_failed_ops *ops, u64 instance)
{
	const struct coll_failed_counted *latest = NULL;
	const struct coll_failed_slots *slots;
	u32 slot = counted_slot(instance);
	bool has;

	if (!coll_instance_is_counted(instance))
		return failed_op_find(ops, instance);
	rcu_read_lock();
	slots = rcu_dereference(ops->counted[slot / COLL_FAILED_SLOTS]);
	if (slots)
		latest = rcu_dereference(slots->latest[slot % COLL_FAILED_SLOTS]);
	has = latest && latest->instance == instance;
	rcu_read_unlock();
	return has;
}

/**
 * coll_failed_ops_find() - why an operation has failed
 * @ops: of the member, which is locked
 * @instance: of the operation
 *
 * Return: the failure; NULL if none is known.
 */
const struct coll_failure *coll_failed_ops_find(struct coll_failed_ops *ops, u64 instance)
{
	const struct coll_failed_counted *latest;
	const struct coll_failed_op *op;

	lockdep_assert_held(&ops->state->lock);
	if (coll_instance_is_counted(instance)) {
		latest = counted_latest(ops, counted_slot(instance));
		return latest && latest->instance == instance ? &latest->failure : NULL;
	}
	op = failed_op_find(ops, instance);
	return op ? &op->failure : NULL;
}

/*
 * Have memory for a failure of a slot; @is_ahead: before its submission.  Return: 0, -EDQUOT or
 * -ENOMEM.
 */
static int counted_reserve(struct coll_failed_ops *ops, u32 slot, bool is_ahead)
{
	if (!counted_slots(ops, slot)) {
		struct coll_failed_slots *slots = failed_alloc(ops, sizeof(*slots));

		if (IS_ERR(slots))
			return PTR_ERR(slots);
		rcu_assign_pointer(ops->counted[slot / COLL_FAILED_SLOTS], slots);
	}
	if (is_ahead && !ops->ahead) {
		u16 *ahead = failed_alloc(ops, COLL_FAILED_AHEAD * sizeof(*ahead));

		if (IS_ERR(ahead))
			return PTR_ERR(ahead);
		ops->ahead = ahead;
	}
	return 0;
}

/* The failure of an instance that is not submitted yet is kept until it is submitted. */
static int add_counted(struct coll_failed_ops *ops, u64 instance,
		       const struct coll_failure *failure, u64 next_instance, u64 called)
{
	u32 slot = counted_slot(instance);
	struct coll_failed_counted *latest = counted_latest(ops, slot), *kept;
	int err;

	if (latest && latest->instance >= instance)
		return 0;
	err = counted_reserve(ops, slot, instance >= next_instance);
	if (err)
		return err;
	kept = failed_alloc(ops, sizeof(*kept));
	if (IS_ERR(kept))
		return PTR_ERR(kept);
	kept->instance = instance;
	kept->failure = *failure;
	/* This rank is one of those that were absent, so it need not ask which ones were. */
	if (instance >= called && failure->reason.kind == COLLECTIVE_REASON_DEADLINE &&
	    failure->reason.rank_b == COLLECTIVE_RANK_NONE)
		kept->failure.reason.rank_b = ops->state->id->rank;
	counted_replace(ops, slot, kept);
	if (instance >= next_instance)
		ops->ahead[ops->nahead++ & (COLL_FAILED_AHEAD - 1)] = slot;
	return 0;
}

static int add_keyed(struct coll_failed_ops *ops, u64 instance,
		     const struct coll_failure *failure)
{
	struct coll_failed_op *op;
	int err;

	if (ops->nfailed >= failed_max(ops))
		return -EPROTO;
	err = coll_charge(ops->charges, FAILED_OP_BYTES);
	if (err)
		return err;
	op = kmalloc(sizeof(*op), GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
	if (!op)
		goto uncharge;
	op->next = NULL;
	op->key = (struct failed_key) { .ops = ops, .instance = instance };
	op->failure = *failure;
	err = rhashtable_insert_fast(&failed_table, &op->node, failed_params);
	if (err) {
		kfree(op);
		goto uncharge;
	}
	if (ops->last)
		ops->last->next = op;
	else
		ops->first = op;
	ops->last = op;
	ops->nfailed++;
	return 0;

uncharge:
	coll_uncharge(ops->charges, FAILED_OP_BYTES);
	return -ENOMEM;
}

/**
 * coll_failed_ops_add() - an operation has failed
 * @ops: of the member, which is locked
 * @instance: of the operation, which is in flight here or may still be submitted, and has not
 *	failed before
 * @failure: why
 * @next_instance: instances from this one on have not been submitted here
 * @called: nor called by the process, from this one on
 *
 * Return: 0, -EDQUOT, -ENOMEM, or -EPROTO when more have failed than ranks that obey the
 * protocol can have in flight.
 */
int coll_failed_ops_add(struct coll_failed_ops *ops, u64 instance,
			const struct coll_failure *failure, u64 next_instance, u64 called)
{
	lockdep_assert_held(&ops->state->lock);
	if (!coll_instance_is_counted(instance))
		return add_keyed(ops, instance, failure);
	return add_counted(ops, instance, failure, next_instance, called);
}

/**
 * coll_failed_ops_next() - the next operation that has failed
 * @ops: of the member
 * @cursor: of the caller; advanced
 * @instance: out: of the operation
 *
 * Context: lane.
 * Return: false when the caller has seen all of them.
 */
bool coll_failed_ops_next(struct coll_failed_ops *ops,
			  struct coll_failed_ops_cursor *cursor, u64 *instance)
{
	const struct coll_failed_op *next;
	bool found = true;
	u32 slot;

	spin_lock(&ops->state->lock);
	next = cursor->op ? cursor->op->next : ops->first;
	if (cursor->ahead + COLL_FAILED_AHEAD < ops->nahead)
		cursor->ahead = ops->nahead - COLL_FAILED_AHEAD;
	if (next) {
		cursor->op = next;
		*instance = next->key.instance;
	} else if (cursor->ahead < ops->nahead) {
		slot = ops->ahead[cursor->ahead++ & (COLL_FAILED_AHEAD - 1)];
		/* A later failure of the slot means that the earlier operation is over. */
		*instance = counted_latest(ops, slot)->instance;
	} else {
		found = false;
	}
	spin_unlock(&ops->state->lock);
	return found;
}

/**
 * coll_failed_ops_setup() - make the table of failed messages and operations with a key
 *
 * Return: 0 or -ENOMEM.
 */
int coll_failed_ops_setup(void)
{
	return rhashtable_init(&failed_table, &failed_params);
}

/** coll_failed_ops_cleanup() - undo coll_failed_ops_setup(), when no member is left */
void coll_failed_ops_cleanup(void)
{
	rhashtable_destroy(&failed_table);
}
