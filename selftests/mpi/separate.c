// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two halves of the ranks as if they had been started separately, one without the library: what
 * communicators of both call is left to MPICH, and what the first half calls among itself is taken.
 *
 * MPICH of the distribution can neither start nor connect processes.  So this program gives the
 * library MPI_COMM_WORLD's group of one half only, and the other half calls by the names of the
 * profiling interface.
 */
#include <dlfcn.h>
#include <stdio.h>

#include <mpi.h>

#include "layout.h"

#define CALLS	8

static int rank, size;

static int is_first(void)
{
	return rank < size / 2;
}

/* The library calls this one. */
int PMPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
	int (*own)(MPI_Comm comm, MPI_Group *group) = dlsym(RTLD_NEXT, "PMPI_Comm_group");
	const int first = is_first() ? 0 : size / 2, last = is_first() ? size / 2 - 1 : size - 1;
	int range[1][3] = { { first, last, 1 } };
	int err = own(comm, group);
	MPI_Group all = *group;

	if (err || comm != MPI_COMM_WORLD)
		return err;
	err = PMPI_Group_range_incl(all, 1, range, group);
	PMPI_Group_free(&all);
	return err;
}

static void use(MPI_Comm comm)
{
	int ranks, sum, i;

	MPI_Comm_size(comm, &ranks);
	for (i = 0; i < CALLS; i++) {
		if (is_first())
			MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comm);
		else
			PMPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comm);
		if (sum != ranks * i)
			die("rank %d: the sum of %d ranks is %d", rank, ranks, sum);
	}
}

int main(int argc, char **argv)
{
	MPI_Comm half, both;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_split(MPI_COMM_WORLD, is_first(), rank, &half);
	MPI_Comm_dup(MPI_COMM_WORLD, &both);
	use(both);
	use(half);
	use(both);
	MPI_Comm_free(&both);
	MPI_Comm_free(&half);
	if (!rank)
		printf("processes that were started separately are right\n");
	MPI_Finalize();
	return 0;
}
