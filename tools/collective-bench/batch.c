// SPDX-License-Identifier: GPL-2.0-only
#include "batch.h"
#include "times.h"

/* A batch lasts for so many readings of the clock.  Two readings include the cost of one. */
#define BATCH_CLOCKS	50

/* A batch that lasts so long is not doubled; us. */
#define BATCH_LONG	500

#define CACHE_LINE	((size_t)64)

/* The mean cost of some readings. */
static double read_clock(void)
{
	double begin = bench_now_us(), end = begin;
	int i;

	for (i = 0; i < 64; i++)
		end = bench_now_us();
	return (end - begin) / 64;
}

double batch_clock_us(void)
{
	static double least;
	double us;
	int i;

	if (least > 0)
		return least;
	least = read_clock();
	for (i = 0; i < 7; i++) {
		us = read_clock();
		least = us < least ? us : least;
	}
	return least;
}

size_t batch_stride(size_t size)
{
	return (size + CACHE_LINE - 1) & ~(CACHE_LINE - 1);
}

int batch_most(size_t size, int together)
{
	size_t bytes = batch_stride(size) * together, n = bytes ? BATCH_BYTES / bytes : BATCH_MAX;

	if (size > BATCH_SIZE_MAX || !n)
		return 1;
	return n < BATCH_MAX ? n : BATCH_MAX;
}

int batch_next(int batch, double us, double clock_us, int most)
{
	double enough = BATCH_CLOCKS * clock_us;

	if (enough > BATCH_LONG)
		enough = BATCH_LONG;
	for (; us < enough && 2 * batch <= most; us *= 2)
		batch *= 2;
	return batch;
}
