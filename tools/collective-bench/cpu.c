// SPDX-License-Identifier: GPL-2.0-only
/*
 * The CPU time of an operation, including that of the kernel: see times.h.  The input is
 * zero, because repeated sums in place would grow.
 */
#include <string.h>

#include "bench.h"
#include "times.h"

int bench_cpu(struct bench *bench, const struct collective *collective,
	      const struct trial *trial, double median_us, double *cpu_us)
{
	int n = cpu_passes(median_us), i, err;
	double begin = 0;

	if (bench->recv_base) {
		memset(bench->send, 0, trial->size);
		memset(bench->recv, 0, trial->size);
	}
	err = coll_barrier(bench->comm);
	if (!bench->rank)
		begin = cpu_time_us();
	for (i = 0; !err && i < n; i++) {
		bench->round++;
		err = collective->call(bench, trial);
	}
	if (!err)
		err = coll_barrier(bench->comm);
	if (err)
		return bench_fail(bench, collective->name, err);
	if (!bench->rank)
		*cpu_us = (cpu_time_us() - begin) / n;
	return 0;
}
