// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures the lines of a collective, each with its result apart from the input, over it, or both.
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

#include "report.h"
#include "times.h"

#define KIB	((size_t)1 << 10)

int bench_fail(struct bench *bench, const char *what, int err)
{
	const char *detail = coll_error_detail(bench->comm);

	fprintf(stderr, "collective-bench: rank %d: %s: %s%s%s\n", bench->rank,
		what, coll_strerror(err), *detail ? ": " : "", detail);
	return 1;
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

/*
 * The times of a line.  Beyond TIMES_MAX, a new one replaces a random one of those that are kept.
 * All ranks choose alike.
 */
#define TIMES_MAX	100000

/**
 * struct times - times of the repetitions of a line, of the slowest rank each
 * @us: those that are kept
 * @n: number of those that are kept
 * @all: number of all
 * @min: shortest of all
 * @random: state of a generator
 */
struct times {
	double *us;
	int n;
	uint64_t all;
	double min;
	uint64_t random;
};

static void times_add(struct times *times, double us)
{
	if (!times->all++ || us < times->min)
		times->min = us;
	if (times->n < TIMES_MAX) {
		times->us[times->n++] = us;
		return;
	}
	times->random = times->random * 6364136223846793005 + 1442695040888963407;
	if (times->random >> 11 < (1ULL << 53) / times->all * TIMES_MAX)
		times->us[(times->random >> 32) % TIMES_MAX] = us;
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
		if (!bench->seconds && i >= 0)
			progress_show(bench, trial, i + 1, trial->iters);
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

/* Measures @n repetitions.  @elapsed: how long they took, on the slowest rank; microseconds. */
static int measure_some(struct bench *bench, const struct collective *collective,
			const struct trial *trial, int n, struct times *times, uint64_t *wrong,
			double *elapsed)
{
	double *us = calloc(n + 1, sizeof(*us)), begin = bench_now_us();
	int i, err;

	if (!us)
		return bench_fail(bench, "memory", -ENOMEM);
	err = repeat(bench, collective, trial, 0, n, us, wrong);
	us[n] = bench_now_us() - begin;
	if (!err) {
		err = coll_allreduce(bench->comm, COLL_IN_PLACE, us, n + 1, COLL_FLOAT64, COLL_MAX);
		if (err)
			err = bench_fail(bench, "gathering the times", err);
	}
	for (i = 0; !err && i < n; i++)
		times_add(times, us[i]);
	*elapsed = us[n];
	free(us);
	return err;
}

/* Time between two questions whether --time is over; us. */
#define MEASURE_SOME	200e3

/* Measures for --time.  All ranks have the same times, so they end together. */
static int measure_for(struct bench *bench, const struct collective *collective,
		       struct trial *trial, struct times *times, uint64_t *wrong)
{
	double all = bench->seconds * 1e6, done = 0, elapsed = 0;
	int n = 1, err = 0;

	while (!err && done < all) {
		trial->iters = n;
		err = measure_some(bench, collective, trial, n, times, wrong, &elapsed);
		done += elapsed;
		progress_show(bench, trial, done, all);
		n = elapsed > 0 ? n * MEASURE_SOME / elapsed : 1;
		n = n < 1 ? 1 : n > 10000 ? 10000 : n;
	}
	return err;
}

static int measure_times(struct bench *bench, const struct collective *collective,
			 struct trial *trial, struct times *times, uint64_t *wrong)
{
	double elapsed;
	int err = warm_up(bench, collective, trial, wrong);

	if (err)
		return err;
	times->us = malloc((bench->seconds ? TIMES_MAX : trial->iters) * sizeof(*times->us));
	if (!times->us)
		return bench_fail(bench, "memory", -ENOMEM);
	if (bench->seconds)
		return measure_for(bench, collective, trial, times, wrong);
	return measure_some(bench, collective, trial, trial->iters, times, wrong, &elapsed);
}

static int measure(struct bench *bench, const struct collective *collective,
		   struct trial *trial, struct outcome *outcome)
{
	struct times times = { .random = 1 };
	uint64_t wrong = 0;
	int err;

	err = measure_times(bench, collective, trial, &times, &wrong);
	if (!err) {
		err = coll_allreduce(bench->comm, COLL_IN_PLACE, &wrong, 1, COLL_UINT64, COLL_SUM);
		if (err)
			err = bench_fail(bench, "counting wrong elements", err);
	}
	if (err)
		goto free;
	bench->wrong += wrong;
	times_sort(times.us, times.n);
	*outcome = (struct outcome){
		.measured = true,
		.repetitions = times.all,
		.min_us = times.min,
		.median_us = times_median(times.us, times.n),
		.p99_us = times_p99(times.us, times.n),
		.wrong = wrong,
	};
	/* The times are the same on all ranks, so all ranks repeat equally often. */
	if (bench->cpu)
		err = bench_cpu(bench, collective, trial, outcome->median_us, &outcome->cpu_us);
free:
	free(times.us);
	return err;
}

/* Measures one size in each place. */
static int measure_places(struct bench *bench, const struct collective *collective,
			  struct trial *trial)
{
	struct outcome outcomes[PLACES] = { 0 };
	int place, err = 0;

	for (place = 0; !err && place < PLACES; place++) {
		if (!(bench->places & 1U << place))
			continue;
		bench->in_place = place == PLACE_IN;
		bench->send_base = bench->in_place ? bench->recv_base : bench->out_base;
		trial->iters = bench->iters ?: trial->size <= 64 * KIB ? 100 : 20;
		trial->warmup = bench->warmup >= 0 ? bench->warmup :
				trial->size <= 64 * KIB ? 10 : 3;
		if (bench->overlap)
			return bench_overlap(bench, collective, trial);
		err = measure(bench, collective, trial, &outcomes[place]);
	}
	if (!err && !bench->rank)
		report_line(bench, collective, trial, outcomes);
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
		if (!trial.count)
			continue;
		err = measure_places(bench, collective, &trial);
		bench->lines++;
	}
	free(trial.counts);
	return err;
}

int bench_measure(struct bench *bench, const struct collective *collective)
{
	struct trial none = { .size = 0 };
	int type, op, err = 0;

	if (!collective->typed)
		return measure_places(bench, collective, &none);
	for (type = 0; type < BENCH_TYPES; type++)
		for (op = 0; !err && op < BENCH_OPS; op++)
			if (bench->types & 1U << type &&
			    takes(bench, collective, type, op))
				err = sizes(bench, collective, type, op);
	if (err || bench->lines)
		return err;
	if (!bench->rank)
		fprintf(stderr,
			"collective-bench: nothing to measure: no size suffices, or no operation is for a type\n");
	return 2;
}
