/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The method of collective-bench, for its peers.  method.c measures; a peer provides the
 * calls of its collectives.
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
 * @collective: collective; of floats, summed, with root 0
 * @size: size of the vector, or of the blocks of all ranks; bytes
 * @count: number of elements of the vector, or of one rank's block
 * @in: this rank's input; the only buffer of a broadcast
 * @out: place of the result; equal to @in if it is in place
 * @batch: number of operations between two readings of the clock (batch.h), each with buffers of
 *	its own
 */
struct trial {
	enum collective collective;
	size_t size;
	size_t count;
	float *in;
	float *out;
	int batch;
};

/**
 * struct peer - a library of collectives
 * @rank: rank of this process
 * @nranks: number of ranks
 * @prepare: called before the first @run of a line with these buffers, not timed; or NULL
 * @run: the blocking call
 * @barrier: the barrier
 * @maximum: replaces each of @n values by its maximum over the ranks, on all ranks
 * @result: returns the place of the result, if that is not @out; or NULL
 * @cpu: true if the CPU time is measured as well; set by method_main()
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
 * Measures the command line COLLECTIVE SIZES ITERS WARMUP [in-place] [cpu], with SIZES in bytes,
 * separated by commas.  Rank 0 prints a line a size:
 * collective,ranks,bytes,iters,min_us,median_us,p99_us,wrong,cpu_us,batch.  ITERS and WARMUP are
 * multiplied by up to 20 to take BENCH_MIN_TIME milliseconds (in the environment) each.
 * BENCH_BATCH is the number of operations in a batch, up to 64 KiB; default: by batch_next().
 *
 * Return: an exit status.
 */
int method_main(struct peer *peer, int argc, char **argv);

/* Sorts @n times and prints their line. */
void method_line(const char *collective, int nranks, size_t bytes, double *times, int n,
		 double wrong, double cpu_us, int batch);

/* Allocates populated memory, on huge pages if there are any.  @shared: with children. */
void *method_memory(size_t size, bool shared);

#ifdef __cplusplus
}
#endif

#endif /* METHOD_H */
