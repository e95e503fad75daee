/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_MAILBOX_H
#define COLL_MAILBOX_H

#include <linux/spinlock.h>

#include "core/engine/engine.h"
#include "limits.h"

struct coll_control;

/* Buckets of a mailbox's hash of instances. */
#define COLL_MAILBOX_HASH	64

/**
 * struct coll_mailbox - flow control from the control runner to one data connection's lane
 *
 * It belongs to the link, because the control connection may be open before the data connection.
 *
 * @lock: protects the rest
 * @posted: true if there is something to take
 * @consumed: see coll_stream_consumed()
 * @credited: see coll_stream_credited()
 * @ngrants: entries of @grants
 * @grants: see coll_stream_granted(); one per instance, with the latest limit; taken from the end
 * @head: by the hash of the instance: index of the latest grant plus one; 0: none
 * @next: by index in @grants: the previous grant of the same hash, likewise
 */
struct coll_mailbox {
	spinlock_t lock;
	bool posted;
	u64 consumed;
	u64 credited;
	u32 ngrants;
	struct coll_grant grants[2 * COLL_INFLIGHT];
	u16 head[COLL_MAILBOX_HASH];
	u16 next[2 * COLL_INFLIGHT];
};

void coll_mailbox_init(struct coll_mailbox *mailbox);
int coll_mailbox_put(struct coll_mailbox *mailbox, const struct coll_control *control);
int coll_mailbox_take(struct coll_mailbox *mailbox, struct coll_stream *stream, u32 max,
		      bool *more);

#endif /* COLL_MAILBOX_H */
