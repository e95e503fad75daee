// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs whose large collectives are nonblocking or persistent.
 *
 *	started nonblocking	beside barriers, as benchmarks have them
 *	started alone		nonblocking, no other collective
 *	started persistent	no other collective
 *	started idup [ROUNDS]	MPI's own, out of its progress, while groups are made
 *	started inter [ROUNDS]	the same of intercommunicators, whose sides have groups
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#include "layout.h"

#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#define ALLREDUCE_INIT	MPIX_Allreduce_init
#else
#define ALLREDUCE_INIT	MPI_Allreduce_init
#endif

#define COUNT	1000
#define CALLS	60
#define IDUPS	12
#define INTER_IDUPS	1	/* Open MPI 4.1 itself hangs with more */

static int in[COUNT], out[COUNT];
static int rank, size;

static void fill(int call)
{
	int i;

	for (i = 0; i < COUNT; i++) {
		in[i] = rank + call + i;
		out[i] = -1;
	}
}

static void check(int call)
{
	int i;

	for (i = 0; i < COUNT; i++)
		if (out[i] != size * (size - 1) / 2 + size * (call + i))
			die("rank %d: element %d of call %d is %d", rank, i, call, out[i]);
}

static void nonblocking(bool has_barriers)
{
	MPI_Request request;
	int call;

	for (call = 0; call < CALLS; call++) {
		fill(call);
		if (has_barriers)
			MPI_Barrier(MPI_COMM_WORLD);
		MPI_Iallreduce(in, out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		check(call);
	}
}

static void persistent(void)
{
	MPI_Request request;
	int call;

	ALLREDUCE_INIT(in, out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
	for (call = 0; call < CALLS; call++) {
		fill(call);
		MPI_Start(&request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		check(call);
	}
	MPI_Request_free(&request);
}

/* Ranks are late by turns: what MPI calls out of its progress is before or after the group. */
static void idup(int rounds)
{
	MPI_Request requests[IDUPS];
	MPI_Comm parent, comms[IDUPS];
	int round, i, sum;

	for (round = 0; round < rounds; round++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &parent);
		for (i = 0; i < round % IDUPS + 1; i++)
			MPI_Comm_idup(parent, &comms[i], &requests[i]);
		if (round % size == rank)
			usleep(round % 7 * 300);
		for (i = 0; i < 3; i++)
			MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, parent);
		MPI_Waitall(round % IDUPS + 1, requests, MPI_STATUSES_IGNORE);
		for (i = 0; i < round % IDUPS + 1; i++)
			MPI_Comm_free(&comms[i]);
		MPI_Comm_free(&parent);
		if (sum != size * (size - 1) / 2)
			die("rank %d: sum is %d in round %d", rank, sum, round);
	}
}

/* Ranks of each side call collectives of the intercommunicator, which uses those of the side. */
static void inter(int rounds)
{
	MPI_Request requests[INTER_IDUPS];
	MPI_Comm side, between, comms[INTER_IDUPS];
	const int other = rank % 2;
	int round, i, sum, wanted = 0;

	for (i = !other; i < size; i += 2)
		wanted += i;
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &side);
	for (round = 0; round < rounds; round++) {
		MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, !other, round, &between);
		for (i = 0; i < round % INTER_IDUPS + 1; i++)
			MPI_Comm_idup(between, &comms[i], &requests[i]);
		if (round % size == rank)
			usleep(round % 7 * 300);
		for (i = 0; i < 3; i++)
			MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, between);
		MPI_Waitall(round % INTER_IDUPS + 1, requests, MPI_STATUSES_IGNORE);
		for (i = 0; i < round % INTER_IDUPS + 1; i++)
			MPI_Comm_free(&comms[i]);
		MPI_Comm_free(&between);
		if (sum != wanted)
			die("rank %d: sum is %d in round %d", rank, sum, round);
	}
	MPI_Comm_free(&side);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (!strcmp(mode, "persistent"))
		persistent();
	else if (!strcmp(mode, "idup"))
		idup(argc > 2 ? atoi(argv[2]) : 100);
	else if (!strcmp(mode, "inter"))
		inter(argc > 2 ? atoi(argv[2]) : 100);
	else
		nonblocking(strcmp(mode, "alone"));
	if (!rank)
		printf("started calls are right\n");
	MPI_Finalize();
	return 0;
}
