/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests for grants that came too early and were not kept.
 *
 * When the run of such an operation starts, its sender is asked for the request again, by a GRANT
 * of 0 bytes.  The request may come too early once more, for the next use of a key, and is added
 * again then.
 *
 * Collectives without a key start in the order of their instances, and so do the messages of a
 * sender, so the latest one says enough: an operation before it is asked for in vain at most.
 * Operations with a key start in any order.  Each is listed until it starts or fails; once there
 * are too many, the senders of all of them are asked.
 */
#ifndef COLL_DROPPED_H
#define COLL_DROPPED_H

#include "core/engine/instance.h"

/* Operations with a key that are listed. */
#define COLL_DROPPED_KEYED	8

/**
 * struct coll_dropped - requests of a peer that were dropped
 * @counted: instance after the latest collective without a key
 * @message: likewise of messages without a key
 * @keyed: operations with a key whose senders have not been asked again
 * @nkeyed: entries of @keyed
 * @more_keyed: true if there was no place for one
 */
struct coll_dropped {
	u64 counted;
	u64 message;
	u64 keyed[COLL_DROPPED_KEYED];
	u32 nkeyed;
	bool more_keyed;
};

void coll_dropped_add(struct coll_dropped *dropped, u64 instance);
bool coll_dropped_take(struct coll_dropped *dropped, u64 instance);
void coll_dropped_forget(struct coll_dropped *dropped, u64 instance);

#endif /* COLL_DROPPED_H */
