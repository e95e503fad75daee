/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Instances: the identity of an operation.
 *
 * An instance is a number of 64 bits that is the same on every rank that takes part.  Every frame
 * carries it.  An instance that has failed is never used again, so that a late frame of it is not
 * taken for another operation: struct coll_engine_ops, @failed.
 */
#ifndef COLL_INSTANCE_H
#define COLL_INSTANCE_H

#include "core/env.h"

#include <linux/collective.h>

/*
 * The two highest bits give the kind of an instance:
 *
 *	63 62
 *	 0  0	collective without a key: number of those submitted before it
 *	 1  0	collective with a key: the key
 *	 0  1	message: sender, receiver, number of messages sent that way before it
 *	 1  1	message with a key: sender, receiver, key
 *
 * Instances of the first kind are submitted in order.  The others come in any order, and keys are
 * used again: see below how two uses are told apart.
 */
#define COLL_INSTANCE_KEYED		COLLECTIVE_INSTANCE_KEYED
#define COLL_INSTANCE_P2P		COLLECTIVE_INSTANCE_MESSAGE
#define COLL_INSTANCE_NUMBER_BITS	40
#define COLL_INSTANCE_RANK_BITS	10

static_assert(COLLECTIVE_RANKS_MAX <= 1 << COLL_INSTANCE_RANK_BITS);

/**
 * coll_instance_is_counted() - is it a collective without a key?
 * @instance: the instance
 *
 * Return: true if its place in the order of submission identifies the operation.
 */
static inline bool coll_instance_is_counted(u64 instance)
{
	return !(instance & (COLL_INSTANCE_KEYED | COLL_INSTANCE_P2P));
}

/*
 * How two uses of one key are told apart, without a counter on every rank: a rank uses a key
 * again only after success, and a stream delivers in order.  So of the frames of one instance
 * from one peer, the first run belongs to the first use, the next run to the next use.  A frame
 * that arrives when the run from its peer is over here, or where no run from it is expected, is
 * of a later use and stays in the unexpected buffer.  Such a frame is always eager: other frames
 * need a grant, and a grant for a later use comes only from a peer that has finished this one.
 * For the same reason a grant that arrives when the run to its peer is over is for the next use.
 * No grant arrives too late, because a run does not end before all of its grants have arrived.
 */

/**
 * coll_instance_keyed() - make the instance of a collective with a key
 * @key: up to COLLECTIVE_KEY_MAX
 */
static inline u64 coll_instance_keyed(u64 key)
{
	return COLL_INSTANCE_KEYED | key;
}

/**
 * coll_instance_p2p() - make the instance of a message
 * @from: rank of the sender
 * @to: rank of the receiver
 * @number: the key, or the number of earlier messages from @from to @to
 * @keyed: true if @number is a key
 */
static inline u64 coll_instance_p2p(u32 from, u32 to, u64 number, bool keyed)
{
	u64 mask = BIT_ULL(COLL_INSTANCE_NUMBER_BITS) - 1;

	return (keyed ? COLL_INSTANCE_KEYED : 0) | COLL_INSTANCE_P2P |
	       (u64)from << (COLL_INSTANCE_NUMBER_BITS + COLL_INSTANCE_RANK_BITS) |
	       (u64)to << COLL_INSTANCE_NUMBER_BITS | (number & mask);
}

/**
 * coll_instance_from() - the sender of a message
 * @instance: instance of a message
 */
static inline u32 coll_instance_from(u64 instance)
{
	return COLLECTIVE_INSTANCE_FROM(instance);
}

/**
 * coll_instance_to() - the receiver of a message
 * @instance: instance of a message
 */
static inline u32 coll_instance_to(u64 instance)
{
	return COLLECTIVE_INSTANCE_TO(instance);
}

/**
 * coll_instance_is_between() - is it a message between two ranks?
 * @instance: the instance
 * @a: rank
 * @b: rank
 *
 * Return: true if it is a message and @a and @b are its two ends, in either order.
 */
static inline bool coll_instance_is_between(u64 instance, u32 a, u32 b)
{
	u32 from = coll_instance_from(instance), to = coll_instance_to(instance);

	return instance & COLL_INSTANCE_P2P && ((from == a && to == b) || (from == b && to == a));
}

/**
 * coll_instance_is_self() - is it a message of a rank to itself?
 * @instance: the instance
 *
 * Such a message has two requests here, its halves: op/self_message.c.
 */
static inline bool coll_instance_is_self(u64 instance)
{
	return instance & COLL_INSTANCE_P2P &&
	       coll_instance_from(instance) == coll_instance_to(instance);
}

/*
 * Multiplier of coll_instance_hash(): odd.  main.c makes it random, because peers and users
 * choose some of the instances that are looked up.
 */
extern u64 coll_instance_hash_factor;

/**
 * coll_instance_hash() - hash an instance
 * @instance: the instance
 * @size: size of the table, a power of two
 *
 * Return: a number below @size.
 */
static inline u32 coll_instance_hash(u64 instance, u32 size)
{
	return (instance * coll_instance_hash_factor >> 32) * size >> 32;
}

#endif /* COLL_INSTANCE_H */
