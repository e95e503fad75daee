/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_WAIT_H
#define COLL_WAIT_H

#include <linux/completion.h>
#include <linux/sched.h>

#include "lane/copy_helper.h"

struct coll_request;
struct coll_requests;

/**
 * struct coll_wait - a thread that waits for one request, or one of several
 * @ids: their numbers; 0: none
 * @n: how many
 * @timeout: jiffies, 0: only look
 * @end: when they are over
 * @event: one of them is complete, or a runner is handed to us
 * @task: the thread
 * @self_notified: one of them is complete, as we have seen to ourselves
 * @cpu: where we are counted while we run, or are about to (exec/cpu.c); below 0: nowhere
 * @counted: 1: we are [a]
 * @nparts: lanes that they use, at most
 * @bytes: the largest one's
 * @eager_lanes: lane, as a bit, on which one that is small comes; 0: none does
 * @redirected: COLL_WAIT_CONTROL and COLL_WAIT_LANES on: runners that are handed to us instead of
 *	their workers
 * @helper: that we may be of others meanwhile
 * @index: out: which one was collected; @n: none
 * @received: out: see struct coll_request
 */
struct coll_wait {
	const u64 *ids;
	u32 n;
	long timeout;
	unsigned long end;
	struct completion event;
	struct task_struct *task;
	bool self_notified;
	int cpu;
	atomic_t counted;
	u32 nparts;
	u64 bytes;
	unsigned long eager_lanes;
	unsigned long redirected;
	struct coll_helper helper;
	u32 index;
	u64 received;
};

/* claim.c */
void coll_wait_init(struct coll_wait *wait, const struct coll_requests *reqs);
void coll_wait_idle(struct coll_wait *wait);
void coll_wait_notify(struct coll_request *request);
void coll_wait_claim(struct coll_wait *wait, struct coll_request *request);
void coll_wait_unclaim(struct coll_wait *wait, struct coll_requests *reqs);
void coll_wait_unclaim_all(struct coll_wait *wait, struct coll_requests *reqs);
struct coll_request *coll_wait_pop(struct coll_wait *wait, struct coll_requests *reqs);
struct coll_request *coll_wait_reap(struct coll_wait *wait, struct coll_requests *reqs, bool last);
long coll_wait_left(const struct coll_wait *wait);

/* wait.c */
int coll_wait_sleep_and_collect(struct coll_wait *wait, struct coll_requests *reqs);
int coll_wait(struct coll_wait *wait, struct coll_requests *reqs);
int coll_wait_collect(struct coll_request *request, u64 *received);
bool coll_wait_has_collectable(struct coll_requests *reqs);
void coll_wait_inflight(struct coll_requests *reqs, unsigned long timeout);
void coll_wait_free_uncollected(struct coll_requests *reqs);

#endif /* COLL_WAIT_H */
