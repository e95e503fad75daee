// SPDX-License-Identifier: GPL-2.0-only
/*
 * One rank initializes a session of MPICH before MPI itself, so that the addresses of all ranks
 * may be exchanged before the library is asked.
 */
#include <stdlib.h>

#include <mpi.h>

#include "layout.h"

int main(int argc, char **argv)
{
	int rank, size, i, sum;
	MPI_Session session;
	const char *number = getenv("PMI_RANK");

	if (number && *number == '1')
		MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (i = 0; i < 20; i++) {
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		if (sum != size * (size - 1) / 2)
			die("rank %d: sum is %d in call %d", rank, sum, i);
	}
	if (rank == 1)
		MPI_Session_finalize(&session);
	MPI_Finalize();
	return 0;
}
