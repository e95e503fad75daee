/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables of times: op/times.c makes them and counts operations; lanes count what they wait. */
#ifndef COLL_TIME_TABLE_H
#define COLL_TIME_TABLE_H

#include <linux/atomic.h>
#include <linux/types.h>
#include <linux/u64_stats_sync.h>

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
	u64_stats_t count[COLL_TIME_COUNTS];
	u64_stats_t sum;
};

/**
 * struct coll_times - times of a collective of a member
 * @latency: from the submission to the completion
 * @waiting: part of it in which no lane moved anything, because other ranks had to
 * @moving: the rest since the operation started
 * @since: time of the first call; ns [c]
 * @until: time of the latest completion; ns [l]
 * @longest: the longest latency; ns [l]
 * @waited: by rank: time that lanes have waited for it; ns.  Not only in operations that succeed
 *	[a]
 *
 * Histograms have the operations that succeed.  Made by the first call, and freed after the lanes.
 */
struct coll_times {
	struct coll_histogram latency;
	struct coll_histogram waiting;
	struct coll_histogram moving;
	u64 since;
	u64 until;
	u64 longest;
	atomic64_t waited[];
};

#endif /* COLL_TIME_TABLE_H */
