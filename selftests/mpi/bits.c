// SPDX-License-Identifier: GPL-2.0-only
/*
 * The same reductions of the same numbers, again and again: their bits stay the same, before a
 * communicator has a group and after that, in each form.
 *
 *	bits [change]
 *
 * With change it succeeds if the bits of some function do change, as they may without the parameter
 * reproducible.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#include "layout.h"

#ifdef OPEN_MPI
#if OMPI_MAJOR_VERSION >= 5
#define INIT	MPI_Allreduce_init
#else
#define INIT	MPIX_Allreduce_init
#endif
#endif

#define COUNT	1000
#define CALLS	40
#define HELD	300	/* more than the kernel takes of one communicator */

enum { ALLREDUCE, REDUCE, SCAN, REDUCE_SCATTER, SMALL, STARTED, PERSISTENT, HELD_ONES, KINDS };

static const char *const names[KINDS] = {
	"allreduce", "reduce", "scan", "reduce_scatter_block", "allreduce of one number",
	"iallreduce", "persistent allreduce", "persistent allreduce of many",
};

static double in[16 * COUNT], out[COUNT], first[KINDS][COUNT];
static int rank, size;
static bool changed;

/* The result of a function is in @out. */
static void compare(int kind, int call)
{
	if (!call)
		memcpy(first[kind], out, sizeof(out));
	if (!memcmp(first[kind], out, sizeof(out)))
		return;
	changed = true;
	if (!getenv("CHANGE"))
		die("rank %d: the bits of %s change in call %d", rank, names[kind], call);
}

static void start_all(int call)
{
	MPI_Request request;

	memset(out, 0, sizeof(out));
	MPI_Iallreduce(in, out, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	compare(STARTED, call);
#ifdef INIT
	memset(out, 0, sizeof(out));
	INIT(in, out, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
	MPI_Start(&request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Request_free(&request);
	compare(PERSISTENT, call);
#endif
}

static void call_all(int call)
{
	memset(out, 0, sizeof(out));
	MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	compare(SMALL, call);
	MPI_Allreduce(in, out, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	compare(ALLREDUCE, call);
	memset(out, 0, sizeof(out));
	MPI_Reduce(in, out, COUNT, MPI_DOUBLE, MPI_SUM, size - 1, MPI_COMM_WORLD);
	compare(REDUCE, call);
	MPI_Scan(in, out, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	compare(SCAN, call);
	MPI_Reduce_scatter_block(in, out, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	compare(REDUCE_SCATTER, call);
}

/* Many persistent calls at once, in a communicator that has its group before. */
static void hold_many(void)
{
#ifdef INIT
	MPI_Request request[HELD];
	MPI_Comm comm;
	int i;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Allreduce(in, out, COUNT, MPI_DOUBLE, MPI_SUM, comm);
	for (i = 0; i < HELD; i++) {
		memset(out, 0, sizeof(out));
		INIT(in, out, COUNT, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, &request[i]);
		MPI_Start(&request[i]);
		MPI_Wait(&request[i], MPI_STATUS_IGNORE);
		compare(HELD_ONES, i);
	}
	for (i = 0; i < HELD; i++)
		MPI_Request_free(&request[i]);
	MPI_Comm_free(&comm);
#endif
}

int main(int argc, char **argv)
{
	const bool change = argc > 1;
	int call, i;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (change)
		setenv("CHANGE", "1", 1);
	srand(rank + 1);
	for (i = 0; i < size * COUNT; i++)
		in[i] = rand() / 3.0 * (rand() & 1 ? 1 : -1) * (rand() % 7 ? 1 : 1e9);
	for (call = 0; call < CALLS; call++) {
		start_all(call);
		call_all(call);
	}
	hold_many();
	MPI_Allreduce(MPI_IN_PLACE, &changed, 1, MPI_C_BOOL, MPI_LOR, MPI_COMM_WORLD);
	if (change && !changed)
		die("the bits of no function change");
	MPI_Finalize();
	return 0;
}
