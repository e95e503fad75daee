/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many operations are timed together, for collective-bench and the benchmarks of its peers
 * (selftests/bench/) alike.
 *
 * A batch is the operations between two readings of the clock, one after the other.  Because
 * reading the clock is a system call in User-Mode Linux, two readings would be most of the time
 * of an operation of a microsecond.  So a batch lasts for 50 readings, whose cost then is 2 % of
 * it, but has at most 512 operations, whose buffers stay in a CPU's cache.
 */
#ifndef BENCH_BATCH_H
#define BENCH_BATCH_H

#include <stddef.h>

/* Operations of a batch. */
#define BATCH_MAX	512

/* Operations of larger vectors are timed one by one; bytes. */
#define BATCH_SIZE_MAX	((size_t)64 << 10)

/* Buffers of the inputs, or of the results, of a batch whose length is not asked for; bytes. */
#define BATCH_BYTES	((size_t)256 << 10)

/* Tries of a length; the quickest counts, as other processes disturb some. */
#define BATCH_TRIES	3

/* Cost of reading the clock; microseconds.  Measured by the first call. */
double batch_clock_us(void);

/* Distance between the buffers of two operations of @size bytes, on cache lines of their own. */
size_t batch_stride(size_t size);

/*
 * The most operations of @size bytes in a batch, if @together of them are started before one is
 * waited for and count as one; at least 1.
 */
int batch_most(size_t size, int together);

/*
 * The length to try after @batch, a power of two, of which a batch takes @us on the slowest rank
 * and for which reading the clock costs @clock_us.  @batch itself if that is long enough, or if
 * the next one has more than @most operations or lasts longer than a millisecond.  Ranks that
 * pass the same values get the same length.
 */
int batch_next(int batch, double us, double clock_us, int most);

#endif /* BENCH_BATCH_H */
