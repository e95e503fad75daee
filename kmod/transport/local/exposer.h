/* SPDX-License-Identifier: GPL-2.0-only */
/* Private header of the local transport: the exposers of a hub. */
#ifndef COLL_EXPOSER_H
#define COLL_EXPOSER_H

#include <linux/rcupdate.h>

#include "transport/exposure.h"

/* Buckets of an exposer's table; a power of two. */
#define COLL_EXPOSER_HASH	16

/**
 * struct coll_exposer - what one lane of a rank exposes
 * @lock: protects the entries; raw, because a read is not preempted; not taken in interrupts
 * @table: entries by the hash of their instance
 * @unread: closed entries whose last read has ended since
 * @closed: true if its owner may be gone
 * @ops: what the lane does with events
 * @owner: argument of @ops
 * @slot: pointer in the hub by which readers find it
 * @rcu: a reader may look at it until the end of a grace period
 */
struct coll_exposer {
	raw_spinlock_t lock;
	struct list_head table[COLL_EXPOSER_HASH];
	struct list_head unread;
	bool closed;
	const struct coll_exposer_ops *ops;
	void *owner;
	struct coll_exposer __rcu **slot;
	struct rcu_head rcu;
};

#endif /* COLL_EXPOSER_H */
