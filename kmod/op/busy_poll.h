/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_BUSY_POLL_H
#define COLL_BUSY_POLL_H

#include <linux/types.h>

struct coll_request;
struct coll_requests;
struct coll_wait;

/**
 * struct coll_poll - how a thread waits
 * @polled: mask of the runners that it polls: COLL_WAIT_CONTROL and COLL_WAIT_LANES on
 * @pinned: likewise, of those that are redirected to it while it sleeps
 * @ns: time to poll after the last event; ns; 0: do not poll
 * @yields: true if it shares its CPU with one other rank, and lets it run while it polls
 */
struct coll_poll {
	unsigned long polled;
	unsigned long pinned;
	u64 ns;
	bool yields;
};

void coll_poll_choose(const struct coll_wait *wait, struct coll_requests *reqs,
		      struct coll_poll *poll);
struct coll_request *coll_poll(struct coll_wait *wait, struct coll_requests *reqs,
			       const struct coll_poll *poll);
bool coll_poll_until(struct coll_requests *reqs, u64 bytes, bool (*done)(void *ctx), void *ctx);
void coll_poll_run_lanes(struct coll_wait *wait, struct coll_requests *reqs);
void coll_poll_redirect(struct coll_wait *wait, struct coll_requests *reqs,
			unsigned long runners);
void coll_poll_run_redirected(const struct coll_wait *wait, struct coll_requests *reqs);
void coll_poll_stop_redirect(struct coll_wait *wait, struct coll_requests *reqs);

#endif /* COLL_BUSY_POLL_H */
