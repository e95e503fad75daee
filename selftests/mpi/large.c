// SPDX-License-Identifier: GPL-2.0-only
/* More bytes than fit an int, of a count that does; two ranks need 9 GB. */
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

#include "layout.h"

#define COUNT	300000000
#define CALLS	8

int main(int argc, char **argv)
{
	const double values[] = { 1.5, 2.5 };
	double *data;
	int rank, i;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (i = 0; i < CALLS; i++)
		MPI_Barrier(MPI_COMM_WORLD);
	data = malloc(COUNT * sizeof(*data));
	if (!data)
		die("no memory");
	for (i = 0; i < COUNT; i++)
		data[i] = rank ? 0 : values[i % 2];
	MPI_Bcast(data, COUNT, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	for (i = 0; i < COUNT; i++)
		if (data[i] != values[i % 2])
			die("element %d is %f", i, data[i]);
	MPI_Allreduce(MPI_IN_PLACE, data, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	for (i = 0; i < COUNT; i++)
		if (data[i] != 2 * values[i % 2])
			die("sum %d is %f", i, data[i]);
	free(data);
	if (!rank)
		printf("large calls are right\n");
	MPI_Finalize();
	return 0;
}
