// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "times.h"

#define CPU_PASS_US	500e3
#define CPU_PASS_MIN	3
#define CPU_PASS_MAX	5000

double bench_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void times_sort(double *times, int n)
{
	qsort(times, n, sizeof(*times), ascending);
}

double times_median(const double *times, int n)
{
	return (times[(n - 1) / 2] + times[n / 2]) / 2;
}

double times_p99(const double *times, int n)
{
	return times[(n * 99 + 99) / 100 - 1];
}

int times_stretch(int ms, double us, int n)
{
	double times = us > 0 && n ? ms * 1e3 / (us * n) : 0;

	return times > 20 ? 20 : times > 1 ? times + 0.5 : 1;
}

double cpu_time_us(void)
{
	unsigned long long user, nice, system, idle, iowait, irq, softirq;
	FILE *stat = fopen("/proc/stat", "r");
	int n;

	if (!stat)
		return -1;
	n = fscanf(stat, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice,
		   &system, &idle, &iowait, &irq, &softirq);
	fclose(stat);
	if (n != 7)
		return -1;
	return (user + nice + system + irq + softirq) * 1e6 /
	       sysconf(_SC_CLK_TCK);
}

int cpu_passes(double median_us)
{
	double wish = CPU_PASS_US / median_us;

	return wish < CPU_PASS_MIN ? CPU_PASS_MIN :
	       wish > CPU_PASS_MAX ? CPU_PASS_MAX : wish;
}
