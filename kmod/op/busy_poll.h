/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_BUSY_POLL_H
#define COLL_BUSY_POLL_H

#include <linux/types.h>

struct coll_request;
struct coll_requests;
struct coll_wait;

unsigned long coll_poll_pinned_runners(const struct coll_wait *wait,
				       const struct coll_requests *reqs);
u64 coll_poll_ns(const struct coll_wait *wait, unsigned long pinned);
struct coll_request *coll_poll(struct coll_wait *wait, struct coll_requests *reqs, u64 poll_ns,
			       unsigned long pinned);
void coll_poll_run_lanes(struct coll_wait *wait, struct coll_requests *reqs);
void coll_poll_redirect(struct coll_wait *wait, struct coll_requests *reqs,
			unsigned long runners);
void coll_poll_run_redirected(const struct coll_wait *wait, struct coll_requests *reqs);
void coll_poll_stop_redirect(struct coll_wait *wait, struct coll_requests *reqs);

#endif /* COLL_BUSY_POLL_H */
