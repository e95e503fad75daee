// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures the lines of a collective.
 *
 * A repetition writes the input, passes a barrier, times the call on every rank, passes a
 * second barrier and compares the result.  Because of the second barrier, no rank compares
 * on a CPU that the call of another rank needs.  The time of a repetition is that of its
 * slowest rank.  Minimum, median and 99th percentile are over the repetitions; bandwidths
 * are of the median.
 *
 * With several operations in flight, a repetition starts all and waits for all.  Its time
 * is divided by their number.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "times.h"

#define KIB	((size_t)1 << 10)

int bench_fail(struct bench *bench, const char *what, int err)
{
	const char *detail = coll_error_detail(bench->comm);

	fprintf(stderr, "collective-bench: rank %d: %s: %s%s%s\n", bench->rank,
		what, coll_strerror(err), *detail ? ": " : "", detail);
	return 1;
}

static void header(const struct bench *bench,
		   const struct collective *collective)
{
	bool registered = bench->recv_base &&
			  coll_mem_registered(bench->comm, bench->recv_base, 1);

	if (bench->csv && bench->overlap) {
		bench_overlap_header(bench);
		return;
	}
	if (bench->csv) {
		printf("size,count,type,op,min_us,median_us,p99_us,algbw_GBps,busbw_GBps,wrong%s\n",
		       bench->cpu ? ",cpu_us" : "");
		return;
	}
	printf("# %s, %d rank%s", collective->name, bench->nranks,
	       bench->nranks > 1 ? "s" : "");
	if (bench->reproducible)
		printf(", reproducible");
	if (bench->nonblocking)
		printf(", %d in flight", bench->nonblocking);
	if (collective->typed)
		printf(", %s, buffers %s", bench->in_place ? "in place" :
		       "out of place", registered ? "registered" :
		       "not registered");
	printf("; %s\n", bench->overlap ? "mean of repetitions and ranks" :
	       "time of the slowest rank");
	if (bench->overlap) {
		bench_overlap_header(bench);
		return;
	}
	printf("%11s %11s %5s %5s %11s %11s %11s %8s %8s %6s%s\n", "size",
	       "count", "type", "op", "min", "median", "p99", "algbw", "busbw",
	       "wrong", bench->cpu ? "         cpu" : "");
	printf("%11s %11s %5s %5s %11s %11s %11s %8s %8s %6s%s\n", "(bytes)",
	       "", "", "", "(us)", "(us)", "(us)", "(GB/s)", "(GB/s)", "",
	       bench->cpu ? "        (us)" : "");
	fflush(stdout);
}

/* @times are sorted. */
static void line(const struct bench *bench, const struct collective *collective,
		 const struct trial *trial, const double *times, uint64_t wrong,
		 double cpu_us)
{
	int n = trial->iters;
	double median = times_median(times, n);
	double p99 = times_p99(times, n);
	double algorithm = trial->size / median / 1e3;
	double bus = collective->bus_factor ?
		     algorithm * collective->bus_factor(bench->nranks) : 0;
	const char *type = collective->typed ? bench_type_name(trial->type) :
					       "-";
	const char *op = collective->reduces ? bench_op_name(trial->op) : "-";

	if (bench->csv)
		printf("%zu,%zu,%s,%s,%.2f,%.2f,%.2f,%.4f,%.4f,%llu",
		       trial->size, trial->count, type, op, times[0], median,
		       p99, algorithm, bus, (unsigned long long)wrong);
	else
		printf("%11zu %11zu %5s %5s %11.1f %11.1f %11.1f %8.3f %8.3f %6llu",
		       trial->size, trial->count, type, op, times[0], median,
		       p99, algorithm, bus, (unsigned long long)wrong);
	if (bench->cpu)
		printf(bench->csv ? ",%.1f" : " %11.1f", cpu_us);
	printf("\n");
	fflush(stdout);
}

/* Makes number @i of the operations in flight the current one. */
static void select_operation(struct bench *bench, uint64_t first, int i)
{
	size_t at = i * bench_stride(bench);

	bench->round = first + i;
	if (!bench->recv_base)
		return;
	bench->send = (char *)bench->send_base + at;
	bench->recv = (char *)bench->recv_base + at;
}

/* Starts all operations that are in flight together, and waits for them. */
static int run_many(struct bench *bench, const struct collective *collective,
		    const struct trial *trial, uint64_t first)
{
	struct coll_request *requests[NONBLOCKING_MAX];
	int i, err = 0, err_wait;

	for (i = 0; !err && i < bench->nonblocking; i++) {
		select_operation(bench, first, i);
		err = collective->icall(bench, trial, &requests[i]);
	}
	err_wait = coll_wait_all(requests, i);
	return err ? err : err_wait;
}

/* Runs the repetitions from @from up to, not including, @to.  Negative ones are not timed. */
static int repeat(struct bench *bench, const struct collective *collective,
		  const struct trial *trial, int from, int to, double *times, uint64_t *wrong)
{
	int n = bench->nonblocking ? bench->nonblocking : 1;
	double begin, end;
	uint64_t first;
	bool last;
	int i, k, err;

	for (i = from; i < to; i++) {
		last = i == trial->iters - 1;
		first = bench->round + 1;
		for (k = 0; k < n; k++) {
			select_operation(bench, first, k);
			if (collective->prepare &&
			    (bench->check != CHECK_NONE || i == from))
				collective->prepare(bench, trial);
		}
		err = coll_barrier(bench->comm);
		if (err)
			return bench_fail(bench, "barrier", err);
		begin = bench_now_us();
		err = bench->nonblocking ?
		      run_many(bench, collective, trial, first) :
		      collective->call(bench, trial);
		end = bench_now_us();
		if (err)
			return bench_fail(bench, collective->name, err);
		if (i >= 0)
			times[i] = (end - begin) / n;
		err = coll_barrier(bench->comm);
		if (err)
			return bench_fail(bench, "barrier", err);
		for (k = 0; k < n; k++) {
			select_operation(bench, first, k);
			if (collective->check &&
			    (bench->check == CHECK_ALL ||
			     (bench->check == CHECK_LAST && last)))
				*wrong += collective->check(bench, trial);
		}
	}
	return 0;
}

/*
 * Runs the untimed repetitions.  The last one tells how far the numbers of repetitions are
 * stretched to take bench->min_time.  All ranks stretch by the same factor.
 */
static int warm_up(struct bench *bench, const struct collective *collective,
		   struct trial *trial, uint64_t *wrong)
{
	double begin, us;
	int more, err;

	if (!trial->warmup)
		return 0;
	err = repeat(bench, collective, trial, -trial->warmup, -1, NULL, wrong);
	begin = bench_now_us();
	if (!err)
		err = repeat(bench, collective, trial, -1, 0, NULL, wrong);
	if (err || !bench->min_time)
		return err;
	us = bench_now_us() - begin;
	err = coll_allreduce(bench->comm, COLL_IN_PLACE, &us, 1, COLL_FLOAT64, COLL_MAX);
	if (err)
		return bench_fail(bench, "gathering the times", err);
	more = times_stretch(bench->min_time, us, trial->warmup);
	trial->iters *= times_stretch(bench->min_time, us, trial->iters);
	return repeat(bench, collective, trial, -trial->warmup * (more - 1), 0, NULL, wrong);
}

static int measure(struct bench *bench, const struct collective *collective,
		   struct trial *trial)
{
	uint64_t wrong = 0;
	double *times, cpu_us = 0;
	int err;

	trial->iters = bench->iters ? bench->iters :
		       trial->size <= 64 * KIB ? 100 : 20;
	trial->warmup = bench->warmup >= 0 ? bench->warmup :
			trial->size <= 64 * KIB ? 10 : 3;
	if (bench->overlap)
		return bench_overlap(bench, collective, trial);
	err = warm_up(bench, collective, trial, &wrong);
	if (err)
		return err;
	times = calloc(trial->iters, sizeof(*times));
	if (!times)
		return bench_fail(bench, "memory", -ENOMEM);
	err = repeat(bench, collective, trial, 0, trial->iters, times, &wrong);
	if (err)
		goto free;
	err = coll_allreduce(bench->comm, COLL_IN_PLACE, times, trial->iters,
			     COLL_FLOAT64, COLL_MAX);
	if (!err)
		err = coll_allreduce(bench->comm, COLL_IN_PLACE, &wrong, 1,
				     COLL_UINT64, COLL_SUM);
	if (err) {
		err = bench_fail(bench, "gathering the times", err);
		goto free;
	}
	bench->wrong += wrong;
	times_sort(times, trial->iters);
	/* The times are the same on all ranks, so all ranks repeat equally often. */
	if (bench->cpu)
		err = bench_cpu(bench, collective, trial,
				times_median(times, trial->iters), &cpu_us);
	if (!err && !bench->rank)
		line(bench, collective, trial, times, wrong, cpu_us);
free:
	free(times);
	return err;
}

/* A collective that does not reduce has one line: COLL_MAX, which has the most values. */
static bool takes(const struct bench *bench,
		  const struct collective *collective, enum coll_type type,
		  enum coll_op op)
{
	if (!collective->reduces)
		return op == COLL_MAX;
	if (op == COLL_AVG && collective->no_average)
		return false;
	return bench->ops & 1U << op && bench_type_takes(type, op);
}

static int sizes(struct bench *bench, const struct collective *collective,
		 enum coll_type type, enum coll_op op)
{
	size_t unit = coll_type_size(type);
	struct trial trial = { .type = type, .op = op };
	int i, err = 0;

	if (collective->blocks) {
		unit *= bench->nranks;
		trial.counts = calloc(2 * bench->nranks, sizeof(*trial.counts));
		if (!trial.counts)
			return bench_fail(bench, "memory", -ENOMEM);
		trial.displs = trial.counts + bench->nranks;
	}
	for (i = 0; !err && i < bench->nsizes; i++) {
		trial.count = bench->sizes[i] / unit;
		trial.size = trial.count * unit;
		if (trial.counts)
			bench_deal(bench, collective, &trial);
		if (trial.count)
			err = measure(bench, collective, &trial);
	}
	free(trial.counts);
	return err;
}

int bench_measure(struct bench *bench, const struct collective *collective)
{
	struct trial none = { .size = 0 };
	int type, op, err = 0;

	if (!bench->rank)
		header(bench, collective);
	if (!collective->typed)
		return measure(bench, collective, &none);
	for (type = 0; type < BENCH_TYPES; type++)
		for (op = 0; !err && op < BENCH_OPS; op++)
			if (bench->types & 1U << type &&
			    takes(bench, collective, type, op))
				err = sizes(bench, collective, type, op);
	return err;
}
