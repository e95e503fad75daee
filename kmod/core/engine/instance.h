/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of operations.
 *
 * Every frame says which operation it belongs to by a name of 64 bits, the same
 * on every rank that takes part.  The two highest bits tell how it was made:
 *
 *	63 62
 *	 0  0	a collective without a key: how many were submitted before it
 *	 1  0	a collective with a key: the key
 *	 0  1	a message: sender, receiver, how many went that way before it
 *	 1  1	a message with a key: sender, receiver, key
 *
 * The first kind comes in order, so that one number tells which are over.  The
 * others come in any order, and keys come again: a name that is not in progress
 * is one to come, unless it has failed.  A name that has failed is never used again,
 * so a frame of it that is late can not be taken for another use's: the surroundings
 * remember all of them (struct coll_engine_ops, @failed).
 *
 * How the uses of one key are told apart, without a count that all ranks would
 * have to keep for ever: a rank uses a key again only after success, and a
 * stream is in order.  So of what comes from a peer under one name, the first
 * run's worth belongs to the first use, the next to the next: what comes when
 * the run from this peer is over here (or never was to come) is for a later use,
 * and waits.  It is always eager, for what is not needs a grant, and a grant for
 * a later use can only be given by who has finished this one.  For the same
 * reason a grant that comes when the run to that peer is over is for the next
 * use, and none can come too late: a run does not end before all of its grants
 * have come.
 */
#ifndef COLL_INSTANCE_H
#define COLL_INSTANCE_H

#include "core/env.h"

#include <linux/collective.h>

#define COLL_INSTANCE_KEYED		COLLECTIVE_INSTANCE_KEYED
#define COLL_INSTANCE_P2P		COLLECTIVE_INSTANCE_MESSAGE
#define COLL_INSTANCE_NUMBER_BITS	40
#define COLL_INSTANCE_RANK_BITS	10

static_assert(COLLECTIVE_RANKS_MAX <= 1 << COLL_INSTANCE_RANK_BITS);

/**
 * coll_instance_is_counted() - does the order of calls name it?
 * @name: of an operation
 *
 * Return: true for a collective without a key.
 */
static inline bool coll_instance_is_counted(u64 name)
{
	return !(name & (COLL_INSTANCE_KEYED | COLL_INSTANCE_P2P));
}

/**
 * coll_instance_keyed() - the name of a collective with a key
 * @key: up to COLLECTIVE_KEY_MAX
 */
static inline u64 coll_instance_keyed(u64 key)
{
	return COLL_INSTANCE_KEYED | key;
}

/**
 * coll_instance_p2p() - the name of a message
 * @from: rank of the sender
 * @to: rank of the receiver
 * @number: its key, or how many went before it
 * @keyed: it is a key
 */
static inline u64 coll_instance_p2p(u32 from, u32 to, u64 number, bool keyed)
{
	u64 mask = BIT_ULL(COLL_INSTANCE_NUMBER_BITS) - 1;

	return (keyed ? COLL_INSTANCE_KEYED : 0) | COLL_INSTANCE_P2P |
	       (u64)from << (COLL_INSTANCE_NUMBER_BITS + COLL_INSTANCE_RANK_BITS) |
	       (u64)to << COLL_INSTANCE_NUMBER_BITS | (number & mask);
}

/**
 * coll_instance_from() - who sends
 * @name: of a message
 */
static inline u32 coll_instance_from(u64 name)
{
	return COLLECTIVE_INSTANCE_FROM(name);
}

/**
 * coll_instance_to() - who receives
 * @name: of a message
 */
static inline u32 coll_instance_to(u64 name)
{
	return COLLECTIVE_INSTANCE_TO(name);
}

/**
 * coll_instance_is_between() - is it a message between two ranks?
 * @name: of an operation
 * @a: rank
 * @b: rank
 *
 * Return: true when it is a message and these are its ends.
 */
static inline bool coll_instance_is_between(u64 name, u32 a, u32 b)
{
	u32 from = coll_instance_from(name), to = coll_instance_to(name);

	return name & COLL_INSTANCE_P2P && ((from == a && to == b) || (from == b && to == a));
}

/*
 * By which names are spread over tables: odd, and better not known to others, who choose some
 * of the names that we look for.
 */
extern u64 coll_instance_hash_factor;

/* Names of operations that follow each other are kept together, so many of them. */
#define COLL_INSTANCE_NEIGHBOURS	8

/**
 * coll_instance_hash() - spread names over a table
 * @name: the name
 * @size: of the table, a power of two
 *
 * Return: a number below @size, in the same block of COLL_INSTANCE_NEIGHBOURS for names between two
 * multiples of it.
 */
static inline u32 coll_instance_hash(u64 name, u32 size)
{
	u64 spread = name / COLL_INSTANCE_NEIGHBOURS * coll_instance_hash_factor >> 32;

	return ((spread * size >> 32) ^ name % COLL_INSTANCE_NEIGHBOURS) & (size - 1);
}

#endif /* COLL_INSTANCE_H */
