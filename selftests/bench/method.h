/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The method of collective-bench, for its peers: what is measured, and how, is in
 * method.c; a peer says how its collectives are called.
 */
#ifndef METHOD_H
#define METHOD_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum collective { ALLREDUCE, BROADCAST, ALLGATHER, REDUCE_SCATTER, ALLTOALL, BARRIER };

/**
 * struct trial - one line of the table
 * @collective: of float, summed; the root is 0
 * @size: bytes of the vector, or of all ranks' blocks
 * @count: elements, of one rank's block where there are blocks
 * @in: this rank's input; of broadcast, where its data is or goes
 * @out: where the result goes; @in when it is in place
 */
struct trial {
	enum collective collective;
	size_t size;
	size_t count;
	float *in;
	float *out;
};

/**
 * struct peer - a library of collectives
 * @rank: this process
 * @nranks: how many there are
 * @prepare: before the first @run of a line, not timed; or NULL
 * @run: the blocking call
 * @barrier: all ranks meet
 * @maximum: over the ranks of each of @n values, on all ranks; NULL: the values stay
 * @result: where the result is, when it is not @out; or NULL
 * @cpu: measure the CPU time, too; method_main() sets it
 */
struct peer {
	int rank;
	int nranks;
	void (*prepare)(const struct trial *trial);
	void (*run)(const struct trial *trial);
	void (*barrier)(void);
	void (*maximum)(double *values, int n);
	float *(*result)(const struct trial *trial);
	bool cpu;
};

/*
 * COLLECTIVE SIZES ITERS WARMUP [in-place] [cpu]; SIZES in bytes, separated by commas.  Rank 0
 * prints a line each: collective,ranks,bytes,iters,min_us,median_us,p99_us,wrong,cpu_us.  Both
 * ITERS and WARMUP are up to 20 times as many, until they take BENCH_MIN_TIME milliseconds (in
 * the environment).
 *
 * Return: an exit status.
 */
int method_main(struct peer *peer, int argc, char **argv);

/* The line, of @n times; they are sorted. */
void method_line(const char *collective, int nranks, size_t bytes, double *times, int n,
		 double wrong, double cpu_us);

/* Memory on huge pages, where there are such, all there; shared with children or not. */
void *method_memory(size_t size, bool shared);

#ifdef __cplusplus
}
#endif

#endif /* METHOD_H */
