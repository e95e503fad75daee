// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures the lines of a collective, each with its result apart from the input, over it, or both.
 *
 * A repetition writes the inputs of a batch of operations (batch.h), passes a barrier, times
 * the batch on every rank, passes a second barrier and compares the results.  Because of the
 * second barrier, no rank compares on a CPU that the call of another rank needs.  The time of
 * a repetition is that of its slowest rank, over the number of operations.
 *
 * With several operations in flight, such a group takes the place of a call: all are started,
 * and then all are waited for.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "batch.h"
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

/* Number of operations that are started before one is waited for. */
static int together(const struct bench *bench)
{
	return bench->nonblocking ? bench->nonblocking : 1;
}

/* Makes number @i of the operations of a batch the current one. */
static void select_operation(struct bench *bench, const struct trial *trial, uint64_t first, int i)
{
	size_t at = i * batch_stride(trial->size);

	bench->round = first + i;
	if (!bench->recv_base)
		return;
	bench->send = (char *)bench->send_base + at;
	bench->recv = (char *)bench->recv_base + at;
}

/* Starts the operations from @from that are in flight together, and waits for them. */
static int run_many(struct bench *bench, const struct collective *collective,
		    const struct trial *trial, uint64_t first, int from)
{
	struct coll_request *requests[NONBLOCKING_MAX];
	int i, err = 0, err_wait;

	for (i = 0; !err && i < bench->nonblocking; i++) {
		select_operation(bench, trial, first, from + i);
		err = collective->icall(bench, trial, &requests[i]);
	}
	err_wait = coll_wait_all(requests, i);
	return err ? err : err_wait;
}

/* Runs the operations of a batch, the first of which has number @first. */
static int run_batch(struct bench *bench, const struct collective *collective,
		     const struct trial *trial, uint64_t first)
{
	int i, err = 0;

	for (i = 0; !err && i < trial->batch; i++) {
		if (bench->nonblocking) {
			err = run_many(bench, collective, trial, first, i * bench->nonblocking);
			continue;
		}
		select_operation(bench, trial, first, i);
		err = collective->call(bench, trial);
	}
	return err;
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

/* Writes the inputs of a batch. */
static void prepare_batch(struct bench *bench, const struct collective *collective,
			  const struct trial *trial, uint64_t first)
{
	int n = trial->batch * together(bench), i;

	for (i = 0; i < n; i++) {
		select_operation(bench, trial, first, i);
		if (collective->prepare)
			collective->prepare(bench, trial);
	}
}

/* Counts the wrong elements of the results of a batch. */
static uint64_t check_batch(struct bench *bench, const struct collective *collective,
			    const struct trial *trial, uint64_t first)
{
	int n = trial->batch * together(bench), i;
	uint64_t wrong = 0;

	for (i = 0; i < n; i++) {
		select_operation(bench, trial, first, i);
		if (collective->check)
			wrong += collective->check(bench, trial);
	}
	return wrong;
}

/*
 * Runs the repetitions from @from up to, not including, @to.  @times: the time of an operation
 * in each of them, on this rank; NULL: they are not timed.
 */
static int repeat(struct bench *bench, const struct collective *collective,
		  const struct trial *trial, int from, int to, double *times, uint64_t *wrong)
{
	int n = trial->batch * together(bench);
	double begin, end;
	uint64_t first;
	int i, err;

	for (i = from; i < to; i++) {
		first = bench->round + 1;
		if (bench->check != CHECK_NONE || i == from)
			prepare_batch(bench, collective, trial, first);
		err = coll_barrier(bench->comm);
		if (err)
			return bench_fail(bench, "barrier", err);
		begin = bench_now_us();
		err = run_batch(bench, collective, trial, first);
		end = bench_now_us();
		if (err)
			return bench_fail(bench, collective->name, err);
		if (times)
			times[i - from] = (end - begin) / n;
		err = coll_barrier(bench->comm);
		if (err)
			return bench_fail(bench, "barrier", err);
		if (bench->check == CHECK_ALL ||
		    (bench->check == CHECK_LAST && i == trial->iters - 1))
			*wrong += check_batch(bench, collective, trial, first);
		if (!bench->seconds && i >= 0)
			progress_show(bench, trial, i + 1, trial->iters);
	}
	return 0;
}

/*
 * Determines the length of a batch, by untimed repetitions of rising length.  Each is at least
 * twice as long as the one before, so there are no more than ten.  All ranks agree.
 */
static int choose_batch(struct bench *bench, const struct collective *collective,
			struct trial *trial, uint64_t *wrong)
{
	int most = batch_most(trial->size, together(bench)), before = 0, err, i;
	double us[BATCH_TRIES + 1], least;

	while (before < trial->batch && trial->batch < most) {
		err = repeat(bench, collective, trial, -BATCH_TRIES, 0, us, wrong);
		if (err)
			return err;
		us[BATCH_TRIES] = batch_clock_us();
		err = coll_allreduce(bench->comm, COLL_IN_PLACE, us, BATCH_TRIES + 1, COLL_FLOAT64,
				     COLL_MAX);
		if (err)
			return bench_fail(bench, "gathering the times", err);
		for (least = us[0], i = 1; i < BATCH_TRIES; i++)
			least = us[i] < least ? us[i] : least;
		before = trial->batch;
		trial->batch = batch_next(before, least * before * together(bench),
					  us[BATCH_TRIES], most);
	}
	return 0;
}

/* Runs an untimed repetition.  @us: how long it takes with all its parts, on the slowest rank. */
static int repeat_once(struct bench *bench, const struct collective *collective,
		       const struct trial *trial, double *us, uint64_t *wrong)
{
	double begin = bench_now_us();
	int err = repeat(bench, collective, trial, -1, 0, NULL, wrong);

	if (err)
		return err;
	*us = bench_now_us() - begin;
	err = coll_allreduce(bench->comm, COLL_IN_PLACE, us, 1, COLL_FLOAT64, COLL_MAX);
	return err ? bench_fail(bench, "gathering the times", err) : 0;
}

/*
 * Runs the untimed repetitions, and then determines the length of a batch, because the first
 * operations may take long and tell nothing of the others.  The last repetition of each length
 * tells how far the numbers of repetitions are stretched to take bench->min_time.  All ranks
 * stretch by the same factor.
 */
static int warm_up(struct bench *bench, const struct collective *collective,
		   struct trial *trial, uint64_t *wrong)
{
	const bool choose = !trial->batch;
	double us = 0;
	int more, err;

	if (choose)
		trial->batch = 1;
	if (!trial->warmup)
		return 0;
	err = repeat(bench, collective, trial, -trial->warmup, -1, NULL, wrong) ?:
	      repeat_once(bench, collective, trial, &us, wrong);
	if (err)
		return err;
	more = times_stretch(bench->min_time, us, trial->warmup) - 1;
	err = repeat(bench, collective, trial, -trial->warmup * more, 0, NULL, wrong);
	if (!err && choose)
		err = choose_batch(bench, collective, trial, wrong);
	if (!err && trial->batch > 1)
		err = repeat_once(bench, collective, trial, &us, wrong);
	trial->iters *= times_stretch(bench->min_time, us, trial->iters);
	return err;
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
		.batch = trial->batch,
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
		trial->batch = trial->size > BATCH_SIZE_MAX ? 1 : bench->batch;
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
