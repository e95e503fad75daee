// SPDX-License-Identifier: GPL-2.0-only
/* Measures an MPI library; selftests/bench/systems has the settings of its launcher. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "method.h"

static void *in_place(const struct trial *trial)
{
	return trial->in == trial->out ? MPI_IN_PLACE : trial->in;
}

static void run(const struct trial *trial)
{
	int count = trial->count;

	switch (trial->collective) {
	case ALLREDUCE:
		MPI_Allreduce(in_place(trial), trial->out, count, MPI_FLOAT, MPI_SUM,
			      MPI_COMM_WORLD);
		break;
	case BROADCAST:
		MPI_Bcast(trial->out, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
		break;
	case ALLGATHER:
		MPI_Allgather(trial->in, count, MPI_FLOAT, trial->out, count, MPI_FLOAT,
			      MPI_COMM_WORLD);
		break;
	case REDUCE_SCATTER:
		MPI_Reduce_scatter_block(in_place(trial), trial->out, count, MPI_FLOAT, MPI_SUM,
					 MPI_COMM_WORLD);
		break;
	case ALLTOALL:
		MPI_Alltoall(trial->in, count, MPI_FLOAT, trial->out, count, MPI_FLOAT,
			     MPI_COMM_WORLD);
		break;
	case BARRIER:
		MPI_Barrier(MPI_COMM_WORLD);
		break;
	}
}

static void barrier(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
}

static void maximum(double *values, int n)
{
	MPI_Allreduce(MPI_IN_PLACE, values, n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	struct peer peer = { .run = run, .barrier = barrier, .maximum = maximum };
	int status;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &peer.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &peer.nranks);
	status = method_main(&peer, argc, argv);
	MPI_Barrier(MPI_COMM_WORLD);
#ifdef MPICH
	/* Over TCP, MPI_Finalize() sometimes hangs.  All lines have been printed. */
	_exit(status);
#endif
	MPI_Finalize();
	return status;
}
