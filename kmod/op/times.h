/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_TIMES_H
#define COLL_TIMES_H

#include <linux/atomic.h>
#include <linux/types.h>

struct coll_request;
struct coll_requests;

/* Bounds of times are powers of two: 2^10 ns, ... 2^40 ns.  Longer times have a count, too. */
#define COLL_TIME_SHIFT		10
#define COLL_TIME_COUNTS	32

/**
 * struct coll_histogram - how long something took
 * @count: operations that took at most 2^(COLL_TIME_SHIFT + i) ns, and longer than those before;
 *	the last one: all longer times [l]
 * @sum: of all times; ns [l]
 *
 * Read without a lock.
 */
struct coll_histogram {
	u64 count[COLL_TIME_COUNTS];
	u64 sum;
};

/**
 * struct coll_times - times of a collective of a member
 * @latency: from the submission to the completion
 * @waiting: part of it in which no lane moved anything, because other ranks had to
 * @moving: the rest since the operation started
 * @waited: by rank: time that lanes have waited for it; ns.  Not only in operations that succeed
 *
 * Histograms have the operations that succeed.
 */
struct coll_times {
	struct coll_histogram latency;
	struct coll_histogram waiting;
	struct coll_histogram moving;
	atomic64_t waited[];
};

void coll_times_ensure(struct coll_requests *reqs, u32 collective);
void coll_times_queued(struct coll_request *request, u64 now);
void coll_times_waited(const struct coll_request *request, u32 peer, u64 ns);
void coll_times_wait_for_calls(struct coll_request *request);
void coll_times_add(const struct coll_request *request, u64 now);
void coll_times_free(struct coll_requests *reqs);

#endif /* COLL_TIMES_H */
