// SPDX-License-Identifier: GPL-2.0-only
/*
 * Results that the kernel cannot pin, in a shared mapping of a file, on rank 1 only: more calls
 * than can be under way, a message that another rank sends after such a call, and memory that this
 * process may not write.  collectives.c has all functions.
 *
 *	mapped
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mpi.h>

#include "layout.h"

#define CALLS	6
#define MANY	200
#define COUNT	2048	/* several pages */
/* A multiple of the size of a page. */
#define BYTES	((size_t)MANY * COUNT * sizeof(int))

static int rank, size;

/* Enough calls that the communicator has a group. */
static void warm(MPI_Comm comm)
{
	int i, sum;

	for (i = 0; i < CALLS; i++)
		MPI_Allreduce(&(int){ 1 }, &sum, 1, MPI_INT, MPI_SUM, comm);
}

static void check(const int *results, int call)
{
	const int expected = size * (size - 1) / 2 + size * call;
	int i;

	for (i = 0; i < COUNT; i++)
		if (results[i] != expected)
			die("rank %d: call %d: %d at %d, expected %d", rank, call, results[i], i,
			    expected);
}

/* In place on every third one. */
static void start(int *input, int *results, int call, MPI_Request *request)
{
	int *mine = call % 3 ? input : results, i;

	for (i = 0; i < COUNT; i++)
		mine[i] = rank + call;
	MPI_Iallreduce(call % 3 ? input : MPI_IN_PLACE, results, COUNT, MPI_INT, MPI_SUM,
		       MPI_COMM_WORLD, request);
}

/* Blocking calls are between them. */
static void many(int *results)
{
	static MPI_Request requests[MANY];
	int *inputs = malloc(BYTES), one[COUNT], i, k;

	for (i = 0; i < MANY; i++) {
		start(inputs + i * COUNT, results + i * COUNT, i, &requests[i]);
		if (i % 50 || i + 2 > MANY)
			continue;
		for (k = 0; k < COUNT; k++)
			one[k] = rank + i;
		k = i + 1;
		MPI_Allreduce(one, results + k * COUNT, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		check(results + k * COUNT, i);
	}
	MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
	for (i = 0; i < MANY; i++)
		check(results + i * COUNT, i);
	free(inputs);
}

/* Rank 1 waits for a message that is sent when its own call is complete elsewhere. */
static void message(int *results)
{
	int input[COUNT], other, i;
	MPI_Request request;

	for (i = 0; i < 20; i++) {
		start(input, results, i, &request);
		if (rank == 1)
			MPI_Recv(&other, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		if (rank == 0)
			MPI_Send(&i, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
		check(results, i);
	}
}

/* Rank 1 cannot receive: the call fails, on all ranks, and no process ends. */
static void refused(const char *what, char *results)
{
	int *input = calloc(COUNT, sizeof(*input)), *own = calloc(COUNT, sizeof(*own)), err;
	MPI_Request request;
	MPI_Comm comm;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	warm(comm);
	err = MPI_Allreduce(input, rank == 1 ? (int *)results : own, COUNT, MPI_INT, MPI_SUM, comm);
	if (err == MPI_SUCCESS)
		die("rank %d: %s: received", rank, what);
	err = MPI_Iallreduce(input, rank == 1 ? (int *)results : own, COUNT, MPI_INT, MPI_SUM, comm,
			     &request);
	if (err == MPI_SUCCESS)
		err = MPI_Wait(&request, MPI_STATUS_IGNORE);
	if (err == MPI_SUCCESS)
		die("rank %d: %s: received by a nonblocking call", rank, what);
	MPI_Comm_free(&comm);
	free(input);
	free(own);
}

int main(int argc, char **argv)
{
	const long page = sysconf(_SC_PAGESIZE);
	char *results;
	int err;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	warm(MPI_COMM_WORLD);
	results = rank == 1 ? memory_map(BYTES) : malloc(BYTES);
	if (!results)
		die("no folder MAPPED");
	many((int *)results);
	message((int *)results + 1);
	if (rank != 1) {
		free(results);
		results = NULL;
	} else {
		results = mremap(results, BYTES, BYTES + page, MREMAP_MAYMOVE);
		if (results == MAP_FAILED)
			die("mremap failed");
	}
	refused("memory behind the end of a file", results + BYTES - page);
	/* Each time the first page could be written. */
	err = rank == 1 && mprotect(results + page, page, PROT_READ);
	refused("read-only memory", results);
	err = err || (rank == 1 && mprotect(results + page, page, PROT_NONE));
	refused("memory without access", results);
	if (err)
		die("mprotect failed");
	if (!rank)
		printf("results are right\n");
	MPI_Finalize();
	return 0;
}
