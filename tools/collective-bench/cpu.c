// SPDX-License-Identifier: GPL-2.0-only
/*
 * The CPU time of an operation, the kernel's included.
 *
 * Of the whole host, so that work items and softirqs count: it should have nothing
 * else to do.  The kernel counts in ticks of 10 ms, so the operation is repeated for
 * half a second, one after the other and of zeros, as sums in place would grow.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define CPU_PASS_US	500e3
#define CPU_PASS_MIN	3
#define CPU_PASS_MAX	5000

/* Of all CPUs since they started, microseconds; < 0: unknown. */
static double cpu_time_us(void)
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

int bench_cpu(struct bench *bench, const struct collective *collective,
	      const struct trial *trial, double median_us, double *cpu_us)
{
	double wish = CPU_PASS_US / median_us, begin = 0;
	int n = wish < CPU_PASS_MIN ? CPU_PASS_MIN :
		wish > CPU_PASS_MAX ? CPU_PASS_MAX : wish, i, err;

	if (bench->recv_base) {
		memset(bench->send, 0, trial->size);
		memset(bench->recv, 0, trial->size);
	}
	err = coll_barrier(bench->comm);
	if (!bench->rank)
		begin = cpu_time_us();
	for (i = 0; !err && i < n; i++) {
		bench->round++;
		err = collective->run(bench, trial, NULL);
	}
	if (!err)
		err = coll_barrier(bench->comm);
	if (err)
		return bench_fail(bench, collective->name, err);
	if (!bench->rank)
		*cpu_us = (cpu_time_us() - begin) / n;
	return 0;
}
