/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Notices: what is told of a member to programs that listen (Documentation/design/netlink.rst).
 */
#ifndef COLL_NOTICE_H
#define COLL_NOTICE_H

#include <linux/list.h>
#include <linux/types.h>

#include <linux/collective.h>
#include <linux/collective_netlink.h>

#include "core/wire/wire.h"

struct coll_notices;

/* Ranks that a notice names as waited for.  With more, a member would need 8 KiB. */
#define COLL_NOTICE_RANKS	8

/**
 * struct coll_notice - something has happened to a member
 * @kind: enum collective_event_kind
 * @state: of the member; enum collective_state
 * @at: time; CLOCK_MONOTONIC ns
 * @reason: ABORTED, LEFT, MISMATCH: why; its kind is NONE if there is no reason
 * @request: SLOW: id of the request
 * @instance: SLOW, MISMATCH: the operation
 * @age_ns: SLOW: time since the submission
 * @left_ms: SLOW: time until the deadline
 * @calls: SLOW: the call; MISMATCH: the calls of two ranks; COLLECTIVE_RANK_NONE: not known
 * @nwaits: SLOW: number of entries of @waits
 * @waits: SLOW: ranks that the operation waits for
 */
struct coll_notice {
	enum collective_event_kind kind;
	u32 state;
	u64 at;
	struct coll_reason reason;
	u64 request;
	u64 instance;
	u64 age_ns;
	u64 left_ms;
	struct coll_rank_call calls[2];
	u32 nwaits;
	u32 waits[COLL_NOTICE_RANKS];
};

/* Notices of a member that may wait to be sent. */
#define COLL_NOTICES		8

/**
 * struct coll_notices - notices of a member that are not sent yet
 * @node: in the list of members with notices; empty: there are none
 * @waiting: struct coll_notice_entry, in their order
 * @nwaiting: entries of it, at most COLL_NOTICES
 * @lost: notices that were not sent, in all
 * @lost_told: part of @lost that an event has told
 *
 * All fields belong to the lock in notice.c.
 */
struct coll_notices {
	struct list_head node;
	struct list_head waiting;
	u32 nwaiting;
	u64 lost;
	u64 lost_told;
};

void coll_notices_init(struct coll_notices *notices);
void coll_notice_post(struct coll_notices *notices, const struct coll_notice *notice);
void coll_notices_flush(struct coll_notices *notices);
u64 coll_notices_lost(struct coll_notices *notices);
void coll_notice_setup(int (*send)(struct coll_notices *notices,
				   const struct coll_notice *notice, u32 lost));
void coll_notice_cleanup(void);

#endif /* COLL_NOTICE_H */
