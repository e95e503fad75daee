/* SPDX-License-Identifier: GPL-2.0-only */
/* An amount of computation, shared by collective-bench and the benchmarks of its peers. */
#ifndef COMPUTE_H
#define COMPUTE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/*
 * Computes without memory accesses, about a microsecond a unit.  @device: sleeps instead, as
 * if a device computed.
 */
static inline void compute(bool device, uint64_t units)
{
	struct timespec rest = { .tv_sec = units / 1000000, .tv_nsec = units % 1000000 * 1000 };
	double x = 1.0;
	int i;

	if (device && units) {
		clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, NULL);
		return;
	}
	for (; units; units--) {
		for (i = 0; i < 256; i++)
			x = x * 0.999999 + 0.5;
		/* Keeps the compiler from removing the loop. */
		__asm__ __volatile__("" : "+m" (x));
	}
}

/* The time of one computation; microseconds. */
static inline double compute_once(bool device, uint64_t units)
{
	struct timespec begin, end;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	compute(device, units);
	clock_gettime(CLOCK_MONOTONIC, &end);
	return (end.tv_sec - begin.tv_sec) * 1e6 +
	       (end.tv_nsec - begin.tv_nsec) / 1e3;
}

/* The mean time of several computations; microseconds. */
static inline double compute_time(bool device, uint64_t units)
{
	double total = 0;
	int i;

	for (i = 0; i < 5; i++)
		total += compute_once(device, units);
	return total / 5;
}

/* Units that take @us, by the quickest of several tries, as other processes disturb some. */
static inline uint64_t compute_units(bool device, double us)
{
	double best;
	int i;

	if (device)
		return us + 1;
	best = compute_once(false, 2000);
	for (i = 0; i < 5; i++) {
		double time = compute_once(false, 2000);

		best = time < best ? time : best;
	}
	return us * 2000 / best + 1;
}

#endif /* COMPUTE_H */
