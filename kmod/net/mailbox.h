/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_MAILBOX_H
#define COLL_MAILBOX_H

#include <linux/spinlock.h>

#include "core/engine/engine.h"
#include "limits.h"

struct coll_charges;
struct coll_control;

/* Buckets of a mailbox's hash of instances. */
#define COLL_MAILBOX_HASH	32

/* Grants that a mailbox has space for after the first one, and at most. */
#define COLL_MAILBOX_FIRST	8U
#define COLL_MAILBOX_MOST	(2 * COLL_INFLIGHT)

/**
 * struct coll_mailbox_grant - a grant in a mailbox
 * @grant: see coll_stream_granted()
 * @next: index of the previous grant of the same hash plus one; 0: none
 */
struct coll_mailbox_grant {
	struct coll_grant grant;
	u32 next;
};

/**
 * struct coll_mailbox - flow control from the control runner to one data connection's lane
 *
 * It belongs to the link, because the control connection may be open before the data connection.
 * The control runner makes it larger when a peer grants operations before the lane runs.
 *
 * @lock: protects the rest
 * @charges: of the member [c]
 * @posted: true if there is something to take
 * @consumed: see coll_stream_consumed()
 * @credited: see coll_stream_credited()
 * @reply: likewise; taken once
 * @blocked: see coll_stream_blocked()
 * @has_blocked: true if it is to be taken
 * @ngrants: entries of @grants that are in use
 * @size: entries of @grants; changed by the control runner
 * @grants: one per instance, with the latest limit; taken from the end.  NULL: none has come
 * @head: by the hash of the instance: index of the latest grant plus one; 0: none
 */
struct coll_mailbox {
	spinlock_t lock;
	struct coll_charges *charges;
	bool posted;
	u64 consumed;
	u64 credited;
	u8 reply;
	bool has_blocked;
	u64 blocked;
	u32 ngrants;
	u32 size;
	struct coll_mailbox_grant *grants;
	u16 head[COLL_MAILBOX_HASH];
};

void coll_mailbox_init(struct coll_mailbox *mailbox, struct coll_charges *charges);
void coll_mailbox_cleanup(struct coll_mailbox *mailbox);

/* Is there something to take? */
static inline bool coll_mailbox_posted(const struct coll_mailbox *mailbox)
{
	return READ_ONCE(mailbox->posted);
}

int coll_mailbox_put(struct coll_mailbox *mailbox, const struct coll_control *control);
int coll_mailbox_take(struct coll_mailbox *mailbox, struct coll_stream *stream, u32 max,
		      u32 *more);

#endif /* COLL_MAILBOX_H */
