// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures which share of an operation is hidden behind computation, as the OSU benchmarks
 * do.  t_pure is the time of an operation that is started and waited for, t_compute that of
 * a computation of the same length, t_overall that of both with the computation between the
 * two calls.  The hidden share is 1 - (t_overall - t_compute) / t_pure.
 *
 * The computation is an amount of work, not a time: it takes longer if it loses the CPU.  Or
 * a device computes and the CPU sleeps.  Times are means over repetitions and ranks.
 */
#include <errno.h>
#include <stdio.h>

#include "bench.h"
#include "compute.h"
#include "times.h"

/* The mean time of a repetition that computes @units before it waits. */
static int mean(struct bench *bench, const struct collective *collective,
		const struct trial *trial, uint64_t units, double *us)
{
	double total = 0, begin;
	int i, err;

	for (i = -trial->warmup; i < trial->iters; i++) {
		struct coll_request *request;

		bench->round++;
		if (collective->prepare && bench->check != CHECK_NONE)
			collective->prepare(bench, trial);
		err = coll_barrier(bench->comm);
		if (err)
			return bench_fail(bench, "barrier", err);
		begin = bench_now_us();
		err = collective->icall(bench, trial, &request);
		if (!err) {
			compute(bench->device, units);
			err = coll_wait(request);
		}
		if (i >= 0)
			total += bench_now_us() - begin;
		if (err)
			return bench_fail(bench, collective->name, err);
		if (collective->check && bench->check == CHECK_ALL)
			bench->wrong += collective->check(bench, trial);
	}
	*us = total / trial->iters;
	return 0;
}

void bench_overlap_header(const struct bench *bench)
{
	if (bench->format == FORMAT_CSV) {
		printf("size,count,type,op,pure_us,compute_us,overall_us,overlap_percent\n");
		return;
	}
	printf("%11s %11s %5s %5s %11s %11s %11s %8s\n", "size", "count", "type",
	       "op", "pure", "compute", "overall", "overlap");
	printf("%11s %11s %5s %5s %11s %11s %11s %8s\n", "(bytes)", "", "", "",
	       "(us)", "(us)", "(us)", "(%)");
	fflush(stdout);
}

static void line(const struct bench *bench, const struct collective *collective,
		 const struct trial *trial, const double *times)
{
	double hidden = 100 * (1 - (times[2] - times[1]) / times[0]);
	const char *format = bench->format == FORMAT_CSV ?
		"%zu,%zu,%s,%s,%.2f,%.2f,%.2f,%.1f\n" :
		"%11zu %11zu %5s %5s %11.1f %11.1f %11.1f %8.1f\n";

	printf(format, trial->size, trial->count,
	       collective->typed ? bench_type_name(trial->type) : "-",
	       collective->reduces ? bench_op_name(trial->op) : "-",
	       times[0], times[1], times[2],
	       hidden < 0 ? 0 : hidden > 100 ? 100 : hidden);
	fflush(stdout);
}

int bench_overlap(struct bench *bench, const struct collective *collective,
		  const struct trial *trial)
{
	double times[3];
	uint64_t units;
	int err;

	bench->send = bench->send_base;
	bench->recv = bench->recv_base;
	err = mean(bench, collective, trial, 0, &times[0]);
	if (err)
		return err;
	/* All ranks compute as long, or the quick ranks would wait for the slow ones. */
	err = coll_allreduce(bench->comm, COLL_IN_PLACE, &times[0], 1,
			     COLL_FLOAT64, COLL_AVG);
	if (err)
		return bench_fail(bench, "gathering the times", err);
	units = compute_units(bench->device, times[0]);
	times[1] = compute_time(bench->device, units);
	err = mean(bench, collective, trial, units, &times[2]);
	if (err)
		return err;
	err = coll_allreduce(bench->comm, COLL_IN_PLACE, &times[1], 2,
			     COLL_FLOAT64, COLL_AVG) ?:
	      coll_allreduce(bench->comm, COLL_IN_PLACE, &bench->wrong, 1,
			     COLL_UINT64, COLL_MAX);
	if (err)
		return bench_fail(bench, "gathering the times", err);
	if (!bench->rank)
		line(bench, collective, trial, times);
	return 0;
}
