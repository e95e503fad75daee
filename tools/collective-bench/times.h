/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Clocks and statistics of times, shared by collective-bench and the benchmarks of its peers
 * (selftests/bench/).
 */
#ifndef BENCH_TIMES_H
#define BENCH_TIMES_H

/*
 * Microseconds of CLOCK_MONOTONIC.  The time stamp counter would not do: that of User-Mode
 * Linux is the host's.
 */
double bench_now_us(void);

/* times_median() and times_p99() take @n sorted times. */
void times_sort(double *times, int n);
double times_median(const double *times, int n);
double times_p99(const double *times, int n);

/*
 * The factor by which @n repetitions of @us microseconds must be multiplied to last @ms
 * milliseconds; 1 to 20.  Shorter measurements are disturbed by the start of other ranks and
 * by the timer tick.
 */
int times_stretch(int ms, double us, int n);

/*
 * The CPU time of an operation is that of the whole host, which includes work items and
 * softirqs, so the host should have no other work.  The kernel counts in ticks of 10 ms, so
 * the operation is repeated for half a second.
 */

/* CPU time of all CPUs since boot; microseconds; negative: unknown. */
double cpu_time_us(void);
/* Number of repetitions of an operation that takes @median_us. */
int cpu_passes(double median_us);

#endif /* BENCH_TIMES_H */
