/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Times, and what is said of many of them: the same for collective-bench and for what
 * it is compared with (selftests/bench/).
 */
#ifndef BENCH_TIMES_H
#define BENCH_TIMES_H

/*
 * Microseconds since whenever; by the kernel, as User-Mode Linux has a time stamp counter
 * that is not its time.
 */
double bench_now_us(void);

/* The median and the 99th percentile are of @n sorted times. */
void times_sort(double *times, int n);
double times_median(const double *times, int n);
double times_p99(const double *times, int n);

/*
 * How many times as often as @n to do what takes @us, so that it lasts for @ms; at most 20.
 * A few milliseconds may be those in which the neighbours start, or a clock ticks.
 */
int times_stretch(int ms, double us, int n);

/*
 * The CPU time of an operation is that of the whole host, so work items and softirqs
 * count, and it should have nothing else to do.  The kernel counts in ticks of 10 ms:
 * the operation is repeated for half a second.
 */

/* Of all CPUs since they started, microseconds; < 0: unknown. */
double cpu_time_us(void);
/* How often to repeat what takes @median_us. */
int cpu_passes(double median_us);

#endif /* BENCH_TIMES_H */
