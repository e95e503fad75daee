// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures the lines of a peer in the same way as collective-bench.
 *
 * A repetition writes the inputs of a batch of operations (batch.h), overwrites the places of
 * the results, passes a barrier, times the batch on every rank, passes a second barrier and
 * compares the whole results.  The time of a repetition is that of its slowest rank, over the
 * number of operations.
 *
 * For the CPU time of the whole host, the call is then repeated for half a second, without a
 * pause and with an input of zeros.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "batch.h"
#include "method.h"
#include "times.h"

#define PERIOD		4093	/* elements after which the values repeat */
#define HUGE_PAGE	((size_t)2 << 20)

static const char * const names[] = {
	"allreduce", "broadcast", "allgather", "reduce_scatter", "alltoall", "barrier",
};

/* Memory of the device, which coll_mem_alloc() also uses if there are no huge pages. */
static char *device_memory(size_t length)
{
	char *at = MAP_FAILED;
	int fd;

	if (!access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK))
		return at;
	fd = open("/dev/collective", O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
	}
	return at;
}

void *method_memory(size_t size, bool shared)
{
	size_t length = (size + 2 * HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	char *at = shared ? MAP_FAILED : device_memory(length);

	if (at == MAP_FAILED)
		at = mmap(NULL, length, PROT_READ | PROT_WRITE,
			  (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED) {
		perror("memory");
		exit(1);
	}
	at += -(uintptr_t)at & (HUGE_PAGE - 1);
	madvise(at, size, MADV_HUGEPAGE);
	memset(at, 0, size);
	return at;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* Element @i of the block of rank @from for rank @to: an integer, so that sums are exact. */
static float value(uint64_t round, int from, int to, size_t i)
{
	return (int)(mix(mix(mix(round + 1) + from + ((uint64_t)to << 32)) + i) % 1023) - 511;
}

/* One period of the sum over @n ranks, the first of which is @from; 1: of its values. */
static void period(float *one, size_t count, uint64_t round, int from, int n, int to)
{
	size_t i;
	int k;

	for (i = 0; i < count && i < PERIOD; i++) {
		one[i] = 0;
		for (k = from; k < from + n; k++)
			one[i] += value(round, k, to, i);
	}
}

static void fill(float *at, size_t count, uint64_t round, int from, int to)
{
	float one[PERIOD];
	size_t now;

	period(one, count, round, from, 1, to);
	for (; count; count -= now, at += now) {
		now = count < PERIOD ? count : PERIOD;
		memcpy(at, one, now * sizeof(*at));
	}
}

static double compare(const float *at, size_t count, uint64_t round, int from, int n, int to)
{
	float one[PERIOD];
	double wrong = 0;
	size_t now, i;

	period(one, count, round, from, n, to);
	for (; count; count -= now, at += now) {
		now = count < PERIOD ? count : PERIOD;
		if (memcmp(at, one, now * sizeof(*at)))
			for (i = 0; i < now; i++)
				wrong += at[i] != one[i];
	}
	return wrong;
}

/* Writes this round's input, and other values to the place of the result. */
static void write_input(const struct peer *peer, const struct trial *trial, uint64_t round)
{
	int to;

	if (trial->collective == BARRIER)
		return;
	if (trial->out != trial->in || trial->collective == BROADCAST)
		memset(trial->out, 0xa5, trial->size);
	switch (trial->collective) {
	case BROADCAST:
		if (!peer->rank)
			fill(trial->in, trial->count, round, 0, 0);
		break;
	case REDUCE_SCATTER:
	case ALLTOALL:
		for (to = 0; to < peer->nranks; to++)
			fill(trial->in + to * trial->count, trial->count, round, peer->rank, to);
		break;
	default:
		fill(trial->in, trial->count, round, peer->rank, 0);
	}
}

/* Counts the wrong elements of the result. */
static double check_result(const struct peer *peer, const struct trial *trial, uint64_t round)
{
	const float *out = peer->result ? peer->result(trial) : trial->out;
	double wrong = 0;
	int from;

	switch (trial->collective) {
	case ALLREDUCE:
		return compare(out, trial->count, round, 0, peer->nranks, 0);
	case BROADCAST:
		return compare(out, trial->count, round, 0, 1, 0);
	case REDUCE_SCATTER:
		return compare(out, trial->count, round, 0, peer->nranks, peer->rank);
	case ALLGATHER:
	case ALLTOALL:
		for (from = 0; from < peer->nranks; from++)
			wrong += compare(out + from * trial->count, trial->count, round, from, 1,
					 trial->collective == ALLTOALL ? peer->rank : 0);
		return wrong;
	default:
		return 0;
	}
}

void method_line(const char *collective, int nranks, size_t bytes, double *times, int n,
		 double wrong, double cpu_us, int batch)
{
	times_sort(times, n);
	printf("%s,%d,%zu,%d,%.3f,%.3f,%.3f,%.0f,%.1f,%d\n", collective, nranks, bytes, n,
	       times[0], times_median(times, n), times_p99(times, n), wrong, cpu_us, batch);
	fflush(stdout);
}

static double cpu_pass(const struct peer *peer, const struct trial *trial, double median_us)
{
	int n = cpu_passes(median_us), i;
	double begin = 0;

	if (trial->size) {
		memset(trial->in, 0, trial->size);
		memset(trial->out, 0, trial->size);
	}
	peer->barrier();
	if (!peer->rank)
		begin = cpu_time_us();
	for (i = 0; i < n; i++)
		peer->run(trial);
	peer->barrier();
	return peer->rank ? 0 : (cpu_time_us() - begin) / n;
}

/* Adds the wrong elements of all ranks: a maximum of values with a place for each rank. */
static double total(const struct peer *peer, double mine)
{
	double each[peer->nranks], sum = 0;
	int i;

	for (i = 0; i < peer->nranks; i++)
		each[i] = i == peer->rank ? mine : 0;
	peer->maximum(each, peer->nranks);
	for (i = 0; i < peer->nranks; i++)
		sum += each[i];
	return sum;
}

/* Operation @i of a batch, with its own buffers. */
static struct trial operation(const struct trial *trial, int i)
{
	size_t at = i * batch_stride(trial->size) / sizeof(float);
	struct trial one = *trial;

	if (trial->size) {
		one.in += at;
		one.out += at;
	}
	return one;
}

/* Lets the peer prepare the operations from @from up to, not including, @to of a batch. */
static void prepare(const struct peer *peer, const struct trial *trial, int from, int to)
{
	struct trial one;
	int i;

	for (i = from; peer->prepare && i < to; i++) {
		one = operation(trial, i);
		peer->prepare(&one);
	}
}

static void run_batch(const struct peer *peer, const struct trial *trial)
{
	struct trial one;
	int i;

	for (i = 0; i < trial->batch; i++) {
		one = operation(trial, i);
		peer->run(&one);
	}
}

/*
 * Runs @n repetitions.  @times: the time of an operation in each of them, on this rank; NULL:
 * they are not timed.  Return: the number of wrong elements.
 */
static double repeat(const struct peer *peer, const struct trial *trial, int n, double *times)
{
	static uint64_t round;
	double begin, wrong = 0;
	struct trial one;
	int i, k;

	for (i = 0; i < n; i++, round += trial->batch) {
		for (k = 0; k < trial->batch; k++) {
			one = operation(trial, k);
			write_input(peer, &one, round + k);
		}
		peer->barrier();
		begin = bench_now_us();
		run_batch(peer, trial);
		if (times)
			times[i] = (bench_now_us() - begin) / trial->batch;
		/* The comparison must not take a CPU that another rank's call needs. */
		peer->barrier();
		for (k = 0; k < trial->batch; k++) {
			one = operation(trial, k);
			wrong += check_result(peer, &one, round + k);
		}
	}
	return wrong;
}

/* Runs an untimed repetition.  @us: how long it takes with all its parts, on the slowest rank. */
static double repeat_once(const struct peer *peer, const struct trial *trial, double *us)
{
	double begin = bench_now_us(), wrong = repeat(peer, trial, 1, NULL);

	*us = bench_now_us() - begin;
	peer->maximum(us, 1);
	return wrong;
}

/* Determines the length of a batch.  All ranks agree.  Return: the number of wrong elements. */
static double choose_batch(const struct peer *peer, struct trial *trial)
{
	int most = batch_most(trial->size, 1), before = 0, i;
	double us[BATCH_TRIES + 1], least, wrong = 0;

	while (before < trial->batch && trial->batch < most) {
		wrong += repeat(peer, trial, BATCH_TRIES, us);
		us[BATCH_TRIES] = batch_clock_us();
		peer->maximum(us, BATCH_TRIES + 1);
		for (least = us[0], i = 1; i < BATCH_TRIES; i++)
			least = us[i] < least ? us[i] : least;
		before = trial->batch;
		trial->batch = batch_next(before, least * before, us[BATCH_TRIES], most);
		prepare(peer, trial, before, trial->batch);
	}
	return wrong;
}

/* The length of a batch that is asked for; 0: none is. */
static int wished_batch(void)
{
	const char *wish = getenv("BENCH_BATCH");
	int batch = wish ? atoi(wish) : 0;

	return batch < 0 ? 0 : batch > BATCH_MAX ? BATCH_MAX : batch;
}

/*
 * Runs the untimed repetitions and determines the length of a batch, as warm_up() of
 * collective-bench does.  Return: the number of wrong elements.
 */
static double warm_up(const struct peer *peer, struct trial *trial, int *iters, int warmup)
{
	const char *min_time = getenv("BENCH_MIN_TIME");
	const int ms = min_time ? atoi(min_time) : 0;
	int wish = trial->size > BATCH_SIZE_MAX ? 1 : wished_batch();
	double us, wrong;

	trial->batch = wish ? wish : 1;
	prepare(peer, trial, 0, trial->batch);
	if (!warmup)
		return 0;
	wrong = repeat(peer, trial, warmup - 1, NULL);
	wrong += repeat_once(peer, trial, &us);
	wrong += repeat(peer, trial, warmup * (times_stretch(ms, us, warmup) - 1), NULL);
	if (!wish)
		wrong += choose_batch(peer, trial);
	if (trial->batch > 1)
		wrong += repeat_once(peer, trial, &us);
	/* All ranks stretch by the same factor. */
	*iters *= times_stretch(ms, us, *iters);
	return wrong;
}

static double measure(const struct peer *peer, struct trial *trial, int iters, int warmup)
{
	double wrong, *times, cpu_us;

	wrong = warm_up(peer, trial, &iters, warmup);
	times = calloc(iters, sizeof(*times));
	if (!times)
		exit(1);
	wrong += repeat(peer, trial, iters, times);
	peer->maximum(times, iters);
	wrong = total(peer, wrong);
	times_sort(times, iters);
	/* The times are the same on all ranks, so all ranks repeat equally often. */
	cpu_us = peer->cpu ? cpu_pass(peer, trial, times_median(times, iters)) : 0;
	if (!peer->rank)
		method_line(names[trial->collective], peer->nranks, trial->size, times, iters,
			    wrong, cpu_us, trial->batch);
	free(times);
	return wrong;
}

/* Bytes of the inputs, or of the results, of a batch of vectors of up to @max bytes. */
static size_t batch_bytes(size_t max)
{
	size_t small = batch_stride(max < BATCH_SIZE_MAX ? max : BATCH_SIZE_MAX) * wished_batch();

	if (!small)
		small = BATCH_BYTES;
	return small > max ? small : max;
}

/* Ends a rank that hangs, or that its launcher has left behind. */
static void limit_life(void)
{
	const char *seconds = getenv("BENCH_LIMIT");

	alarm(seconds ? atoi(seconds) : 300);
}

int method_main(struct peer *peer, int argc, char **argv)
{
	struct trial trial = { .collective = ALLREDUCE };
	bool in_place = false, blocks;
	int iters, warmup, unit, i;
	double wrong = 0;
	size_t max = 0;
	char *at;

	while (argc >= 5 && trial.collective <= BARRIER &&
	       strcmp(argv[1], names[trial.collective]))
		trial.collective++;
	for (i = 5; i < argc; i++) {
		in_place |= !strcmp(argv[i], "in-place");
		peer->cpu |= !strcmp(argv[i], "cpu");
	}
	if (argc < 5 || argc > 5 + in_place + peer->cpu || trial.collective > BARRIER)
		goto usage;
	limit_life();
	iters = atoi(argv[3]);
	warmup = atoi(argv[4]);
	if (iters < 1 || warmup < 0)
		goto usage;
	if (trial.collective == BARRIER)
		return measure(peer, &trial, iters, warmup) > 0;
	for (at = argv[2]; *at; at += strcspn(at, ","), at += *at == ',') {
		size_t size = strtoull(at, NULL, 10);

		max = size > max ? size : max;
	}
	/* As in collective-bench. */
	in_place &= trial.collective != ALLTOALL;
	in_place |= trial.collective == BROADCAST;
	trial.in = method_memory(batch_bytes(max), false);
	trial.out = in_place ? trial.in : method_memory(batch_bytes(max), false);
	blocks = trial.collective != ALLREDUCE && trial.collective != BROADCAST;
	unit = sizeof(float) * (blocks ? peer->nranks : 1);
	for (at = argv[2]; *at; at += strcspn(at, ","), at += *at == ',') {
		trial.count = strtoull(at, NULL, 10) / unit;
		trial.size = trial.count * unit;
		if (trial.count)
			wrong += measure(peer, &trial, iters, warmup);
	}
	return wrong > 0;

usage:
	fprintf(stderr, "usage: COLLECTIVE SIZES ITERS WARMUP [in-place] [cpu]\n");
	return 2;
}
