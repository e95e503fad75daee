// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures every blocking collective of MPI that the component takes: the same program runs with
 * the component and without.
 *
 *	mpi_functions NAME ROUND SIZES MILLISECONDS
 *
 * SIZES are those of the vector, or of the blocks of all ranks, in bytes, separated by commas.
 * Each line takes at least MILLISECONDS.  Rank 0 prints
 * mpi,NAME,FUNCTION,RANKS,BYTES,ROUND,MEDIAN_US; a time is that of the slowest rank in a batch of
 * calls, of several milliseconds or 1000 calls: the clock costs less than in those of batch.h.
 * FUNCTION "first" is the first collective of a new communicator, in which the component
 * makes its group if told so.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCHES	9
#define FUNCTIONS	(sizeof(functions) / sizeof(*functions))

static int rank, ranks;
static char *send, *recv;
static int counts[64], displs[64];

static void barrier(int count)
{
	(void)count;
	MPI_Barrier(MPI_COMM_WORLD);
}

static void bcast(int count)
{
	MPI_Bcast(recv, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
}

static void reduce(int count)
{
	MPI_Reduce(send, recv, count, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void allreduce(int count)
{
	MPI_Allreduce(send, recv, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void scan(int count)
{
	MPI_Scan(send, recv, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void exscan(int count)
{
	MPI_Exscan(send, recv, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void gather(int count)
{
	MPI_Gather(send, count, MPI_FLOAT, recv, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
}

static void gatherv(int count)
{
	MPI_Gatherv(send, count, MPI_FLOAT, recv, counts, displs, MPI_FLOAT, 0, MPI_COMM_WORLD);
}

static void scatter(int count)
{
	MPI_Scatter(send, count, MPI_FLOAT, recv, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
}

static void scatterv(int count)
{
	MPI_Scatterv(send, counts, displs, MPI_FLOAT, recv, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
}

static void allgather(int count)
{
	MPI_Allgather(send, count, MPI_FLOAT, recv, count, MPI_FLOAT, MPI_COMM_WORLD);
}

static void allgatherv(int count)
{
	MPI_Allgatherv(send, count, MPI_FLOAT, recv, counts, displs, MPI_FLOAT, MPI_COMM_WORLD);
}

static void alltoall(int count)
{
	MPI_Alltoall(send, count, MPI_FLOAT, recv, count, MPI_FLOAT, MPI_COMM_WORLD);
}

static void alltoallv(int count)
{
	(void)count;
	MPI_Alltoallv(send, counts, displs, MPI_FLOAT, recv, counts, displs, MPI_FLOAT,
		      MPI_COMM_WORLD);
}

static void reduce_scatter(int count)
{
	(void)count;
	MPI_Reduce_scatter(send, recv, counts, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void reduce_scatter_block(int count)
{
	MPI_Reduce_scatter_block(send, recv, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static const struct function {
	const char *name;
	void (*call)(int count);
	int has_blocks;
} functions[] = {
	{ "barrier", barrier, 0 },
	{ "bcast", bcast, 0 },
	{ "reduce", reduce, 0 },
	{ "allreduce", allreduce, 0 },
	{ "scan", scan, 0 },
	{ "exscan", exscan, 0 },
	{ "gather", gather, 1 },
	{ "gatherv", gatherv, 1 },
	{ "scatter", scatter, 1 },
	{ "scatterv", scatterv, 1 },
	{ "allgather", allgather, 1 },
	{ "allgatherv", allgatherv, 1 },
	{ "alltoall", alltoall, 1 },
	{ "alltoallv", alltoallv, 1 },
	{ "reduce_scatter", reduce_scatter, 1 },
	{ "reduce_scatter_block", reduce_scatter_block, 1 },
};

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Time of a call in a batch of @calls, on the slowest rank; seconds. */
static double batch(const struct function *function, int count, int calls)
{
	double start, mine, slowest;
	int i;

	/* Ranks of a rooted function could run ahead of each other. */
	MPI_Barrier(MPI_COMM_WORLD);
	start = MPI_Wtime();
	for (i = 0; i < calls; i++)
		function->call(count);
	mine = (MPI_Wtime() - start) / calls;
	/* Not by another name, with which ranks of MPICH would spin on the CPUs of the others. */
	MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return slowest;
}

static void measure(const char *name, const char *round, const struct function *function,
		    size_t bytes, double seconds)
{
	const int count = bytes / sizeof(float) / (function->has_blocks ? ranks : 1);
	double times[BATCHES];
	int i, calls;

	for (i = 0; i < ranks; i++) {
		counts[i] = count;
		displs[i] = i * count;
	}
	batch(function, count, 2);
	calls = seconds / BATCHES / batch(function, count, 3);
	calls = calls < 1 ? 1 : calls > 1000 ? 1000 : calls;
	for (i = 0; i < BATCHES; i++)
		times[i] = batch(function, count, calls);
	qsort(times, BATCHES, sizeof(*times), compare);
	if (!rank)
		printf("mpi,%s,%s,%d,%zu,%s,%.2f\n", name, function->name, ranks, bytes, round,
		       times[BATCHES / 2] * 1e6);
	fflush(stdout);
}

/* A communicator's first collective. */
static void measure_first(const char *name, const char *round)
{
	double times[BATCHES], start;
	MPI_Comm comm;
	int i;

	for (i = 0; i < BATCHES; i++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		MPI_Barrier(MPI_COMM_WORLD);
		start = MPI_Wtime();
		MPI_Barrier(comm);
		times[i] = MPI_Wtime() - start;
		MPI_Comm_free(&comm);
	}
	qsort(times, BATCHES, sizeof(*times), compare);
	if (!rank)
		printf("mpi,%s,first,%d,0,%s,%.2f\n", name, ranks, round,
		       times[BATCHES / 2] * 1e6);
}

int main(int argc, char **argv)
{
	const size_t most = 64UL << 20;
	unsigned int i;
	char *size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc < 5 || ranks > 64)
		MPI_Abort(MPI_COMM_WORLD, 2);
	send = calloc(1, most);
	recv = calloc(1, most);
	/* Pages of their own, and not the page of zeroes. */
	memset(send, 0, most);
	memset(recv, 0, most);
	measure_first(argv[1], argv[2]);
	measure(argv[1], argv[2], &functions[0], 0, atof(argv[4]) / 1000);
	for (size = strtok(argv[3], ","); size; size = strtok(NULL, ","))
		for (i = 1; i < FUNCTIONS; i++)
			measure(argv[1], argv[2], &functions[i], strtoul(size, NULL, 0),
				atof(argv[4]) / 1000);
	MPI_Finalize();
	return 0;
}
