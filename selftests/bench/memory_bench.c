// SPDX-License-Identifier: GPL-2.0-only
/*
 * The time of the memory traffic that a ring allreduce cannot avoid, without communication.
 * One process a CPU, or a rank if there are fewer ranks, adds and copies.
 *
 *	memory_bench RANKS SIZES ITERS WARMUP [in-place]
 *
 * Each of n ranks adds (n-1)/n of a neighbour's vector to its own, and copies as much.  All
 * ranks together process 2(n-1) vectors with 5(n-1) reads and writes: 240 MiB for 4 ranks of
 * 16 MiB.
 *
 * Each repetition is timed by itself: `run` measures above 64 KiB only, where a batch of any
 * system is one operation.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "method.h"
#include "times.h"

#define MAX_ITERS	1000

struct shared {
	pthread_barrier_t barrier;
	double times[MAX_ITERS];
	pthread_mutex_t lock;
};

static void add(float *restrict to, const float *restrict a, const float *restrict b, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		to[i] = a[i] + b[i];
}

/* Does the work of this process's ranks in turns.  Races between processes do not matter. */
static void move(float **in, float **out, int nranks, int first, int stride, size_t count)
{
	size_t block = count / nranks;
	int rank, before, step;

	for (step = 0; step < nranks - 1; step++)
		for (rank = first; rank < nranks; rank += stride) {
			before = (rank + nranks - 1) % nranks;
			add(out[rank] + step * block, in[rank] + step * block,
			    in[before] + step * block, block);
		}
	for (step = 0; step < nranks - 1; step++)
		for (rank = first; rank < nranks; rank += stride) {
			before = (rank + nranks - 1) % nranks;
			memcpy(out[rank] + (step + 1) * block, in[before] + step * block,
			       block * sizeof(float));
		}
}

static void process(struct shared *shared, float **in, float **out, int nranks, int self,
		    int stride, size_t count, int iters, int warmup)
{
	double begin, time;
	int i, rank;

	for (i = -warmup; i < iters; i++) {
		for (rank = self; rank < nranks; rank += stride) {
			memset(out[rank], 0xa5, count * sizeof(float));
			memset(in[rank], i & 1, count * sizeof(float));
		}
		pthread_barrier_wait(&shared->barrier);
		begin = bench_now_us();
		move(in, out, nranks, self, stride, count);
		time = bench_now_us() - begin;
		pthread_mutex_lock(&shared->lock);
		if (i >= 0 && time > shared->times[i])
			shared->times[i] = time;
		pthread_mutex_unlock(&shared->lock);
	}
}

static struct shared *share(int nprocesses)
{
	struct shared *shared = method_memory(sizeof(*shared), true);
	pthread_barrierattr_t barrier;
	pthread_mutexattr_t mutex;

	pthread_barrierattr_init(&barrier);
	pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->barrier, &barrier, nprocesses);
	pthread_mutexattr_init(&mutex);
	pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&shared->lock, &mutex);
	return shared;
}

int main(int argc, char **argv)
{
	bool in_place = argc == 6 && !strcmp(argv[5], "in-place");
	int nranks = argc >= 5 ? atoi(argv[1]) : 0, cpus = sysconf(_SC_NPROCESSORS_ONLN), i, ended;
	int n = cpus < nranks ? cpus : nranks, iters = argc >= 5 ? atoi(argv[3]) : 0, status = 0;
	float *in[nranks + 1], *out[nranks + 1];
	size_t max = 0;
	char *at;

	if (nranks < 2 || iters < 1 || iters > MAX_ITERS) {
		fprintf(stderr, "usage: memory_bench RANKS SIZES ITERS WARMUP [in-place]\n");
		return 2;
	}
	for (at = argv[2]; *at; at += strcspn(at, ","), at += *at == ',')
		max = strtoull(at, NULL, 10) > max ? strtoull(at, NULL, 10) : max;
	for (i = 0; i < nranks; i++) {
		in[i] = method_memory(max, true);
		out[i] = in_place ? in[i] : method_memory(max, true);
	}
	for (at = argv[2]; *at; at += strcspn(at, ","), at += *at == ',') {
		size_t count = strtoull(at, NULL, 10) / sizeof(float), size = count * sizeof(float);
		struct shared *shared = share(n);

		for (i = 0; i < n; i++)
			if (!fork()) {
				process(shared, in, out, nranks, i, n, count, iters, atoi(argv[4]));
				_exit(0);
			}
		for (i = 0; i < n; i++)
			status |= wait(&ended) < 0 || ended;
		method_line("allreduce", nranks, size, shared->times, iters, 0, 0, 1);
	}
	return status;
}
