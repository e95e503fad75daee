// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many communicators: made and freed by the thousand, hundreds at a time, by several threads, and
 * while MPI makes others.
 *
 *	communicators [MADE [ALIVE]]
 */
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

#include "layout.h"

#define THREADS	3
#define CALLS	12

static int rank, size;

static void sum(MPI_Comm comm, int n)
{
	int value = rank + n, result = -1;

	MPI_Allreduce(&value, &result, 1, MPI_INT, MPI_SUM, comm);
	if (result != size * (size - 1) / 2 + size * n)
		die("sum is %d in call %d", result, n);
}

/* A pending collective keeps what it needs of a communicator that is freed. */
static void free_pending(MPI_Comm comm)
{
	int value = rank, result = -1;
	MPI_Request request;
	MPI_Datatype type;

	MPI_Type_contiguous(1, MPI_INT, &type);
	MPI_Type_commit(&type);
	MPI_Ibcast(&value, 1, type, size - 1, comm, &request);
	MPI_Type_free(&type);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	if (value != size - 1)
		die("value is %d after the type was freed", value);
	MPI_Iallreduce(&rank, &result, 1, MPI_INT, MPI_SUM, comm, &request);
	MPI_Comm_free(&comm);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	if (result != size * (size - 1) / 2)
		die("sum is %d after the communicator was freed", result);
}

static void made_and_freed(int count)
{
	MPI_Comm comm;
	int i, k;

	for (i = 0; i < count; i++) {
		if (i % 3)
			MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		else
			MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
		for (k = 0; k < CALLS; k++)
			sum(comm, k);
		if (i % 5)
			MPI_Comm_free(&comm);
		else
			free_pending(comm);
	}
}

/* Print what the kernel's memory of all groups of this host is. */
static void print_memory(void)
{
	static const char pattern[] = "/sys/class/collective/collective/groups/*/*/memory_bytes";
	unsigned long long bytes, least = -1ULL, most = 0, sum = 0;
	glob_t files;
	FILE *file;
	size_t i;

	if (glob(pattern, 0, NULL, &files))
		return;
	for (i = 0; i < files.gl_pathc; i++) {
		file = fopen(files.gl_pathv[i], "r");
		if (!file || fscanf(file, "%llu", &bytes) != 1)
			die("no %s", files.gl_pathv[i]);
		fclose(file);
		least = bytes < least ? bytes : least;
		most = bytes > most ? bytes : most;
		sum += bytes;
	}
	printf("kernel memory: %zu ranks of groups of %d, %llu to %llu bytes each, mean %llu\n",
	       files.gl_pathc, size, least, most, sum / files.gl_pathc);
	globfree(&files);
}

static void alive(int count)
{
	MPI_Comm *comms = calloc(count, sizeof(*comms));
	int i, k;

	for (i = 0; i < count; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
	for (k = 0; k < CALLS; k++)
		for (i = 0; i < count; i++)
			sum(comms[i], k);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!rank)
		print_memory();
	MPI_Barrier(MPI_COMM_WORLD);
	for (i = 0; i < count; i++)
		MPI_Comm_free(&comms[i]);
	free(comms);
}

/* MPI calls nonblocking collectives of the parent while the parent makes its group. */
static void idup_meanwhile(void)
{
	MPI_Comm parent, comms[8];
	MPI_Request requests[8];
	int i, k;

	for (k = 0; k < 10; k++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &parent);
		for (i = 0; i < 8; i++)
			MPI_Comm_idup(parent, &comms[i], &requests[i]);
		for (i = 0; i < CALLS; i++)
			sum(parent, i);
		MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
		for (i = 0; i < 8; i++) {
			sum(comms[i], i);
			MPI_Comm_free(&comms[i]);
		}
		MPI_Comm_free(&parent);
	}
}

struct started {
	MPI_Comm comm;
	int value;
	int result;
	MPI_Request request;
};

static void *start(void *argument)
{
	struct started *started = argument;

	MPI_Iallreduce(&started->value, &started->result, 1, MPI_INT, MPI_SUM, started->comm,
		       &started->request);
	return NULL;
}

/* A collective outlives the thread that has started it. */
static void started_elsewhere(MPI_Comm comm)
{
	struct started started = { .comm = comm, .value = rank };
	pthread_t thread;
	int i;

	for (i = 0; i < 50; i++) {
		pthread_create(&thread, NULL, start, &started);
		pthread_join(thread, NULL);
		MPI_Wait(&started.request, MPI_STATUS_IGNORE);
		if (started.result != size * (size - 1) / 2)
			die("sum of another thread is %d", started.result);
	}
}

static void *work(void *argument)
{
	const MPI_Comm comm = *(MPI_Comm *)argument;
	MPI_Request requests[4];
	int values[4], results[4], i, k;

	for (k = 0; k < 60; k++) {
		sum(comm, k);
		for (i = 0; i < 4; i++) {
			values[i] = i * rank;
			MPI_Iallreduce(&values[i], &results[i], 1, MPI_INT, MPI_SUM, comm,
				       &requests[i]);
		}
		MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
		for (i = 0; i < 4; i++)
			if (results[i] != i * size * (size - 1) / 2)
				die("sum of a thread is %d", results[i]);
	}
	started_elsewhere(comm);
	return NULL;
}

static void threads(void)
{
	pthread_t ids[THREADS];
	MPI_Comm comms[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
	for (i = 0; i < THREADS; i++)
		pthread_create(&ids[i], NULL, work, &comms[i]);
	for (i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
	for (i = 0; i < THREADS; i++)
		MPI_Comm_free(&comms[i]);
}

int main(int argc, char **argv)
{
	int provided;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (provided != MPI_THREAD_MULTIPLE)
		die("no threads");
	made_and_freed(argc > 1 ? atoi(argv[1]) : 200);
	alive(argc > 2 ? atoi(argv[2]) : 200);
	idup_meanwhile();
	threads();
	if (!rank)
		printf("communicators are right\n");
	MPI_Finalize();
	return 0;
}
