/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_WAIT_H
#define COLL_WAIT_H

#include <linux/completion.h>
#include <linux/sched.h>

struct coll_request;
struct coll_requests;

/**
 * struct coll_wait - a thread that waits for one request, or for the first of several
 * @ids: ids of the requests; 0: skipped
 * @n: entries of @ids
 * @timeout: time to wait; jiffies; 0: do not wait; MAX_SCHEDULE_TIMEOUT: no limit
 * @end: time at which the wait ends; jiffies; 0: not known yet
 * @until: in: 0, or that of an earlier wait that was interrupted; out: low bits of @end, for the
 *	next one if this one is interrupted
 * @event: completed when a request is complete or a runner is handed to the thread
 * @task: the thread
 * @self_notified: true if the thread itself has run the lane that completed a request
 * @nparts: lanes in use, from lane 0 to the last one that a claimed request uses
 * @bytes: size of the largest claimed operation
 * @redirected: mask of the runners that are handed to this thread instead of their work items;
 *	COLL_WAIT_CONTROL and COLL_WAIT_LANES on
 * @index: out: entry of @ids that was collected; @n: none
 * @received: out: see struct coll_request
 */
struct coll_wait {
	const u64 *ids;
	u32 n;
	long timeout;
	unsigned long end;
	u32 until;
	struct completion event;
	struct task_struct *task;
	bool self_notified;
	u32 nparts;
	u64 bytes;
	unsigned long redirected;
	u32 index;
	u64 received;
};

/* claim.c */
void coll_wait_init(struct coll_wait *wait);
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
void coll_wait_collect(struct coll_requests *reqs, u64 id);
bool coll_wait_has_collectable(struct coll_requests *reqs);
void coll_wait_free_uncollected(struct coll_requests *reqs);

#endif /* COLL_WAIT_H */
