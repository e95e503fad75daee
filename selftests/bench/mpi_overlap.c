// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures MPI_Iallreduce as collective-bench --overlap measures its collectives: with the
 * same computation and the same lines.
 *
 *	mpirun -n 2 mpi_overlap MIN MAX FACTOR [device]
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute.h"

#define ITERS	20
#define WARMUP	3

static double mean(float *vector, int count, bool device, uint64_t units)
{
	double total = 0, begin;
	MPI_Request request;
	int i, k;

	for (i = -WARMUP; i < ITERS; i++) {
		for (k = 0; k < count; k++)
			vector[k] = k % 1000;
		MPI_Barrier(MPI_COMM_WORLD);
		begin = MPI_Wtime();
		MPI_Iallreduce(MPI_IN_PLACE, vector, count, MPI_FLOAT, MPI_SUM,
			       MPI_COMM_WORLD, &request);
		compute(device, units);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		if (i >= 0)
			total += MPI_Wtime() - begin;
	}
	return total / ITERS * 1e6;
}

static double average(double x)
{
	int n;

	MPI_Comm_size(MPI_COMM_WORLD, &n);
	MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return x / n;
}

int main(int argc, char **argv)
{
	size_t min = 65536, max = 16 << 20, factor = 4, size;
	float *vector;
	bool device;
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (argc >= 4) {
		min = strtoull(argv[1], NULL, 10);
		max = strtoull(argv[2], NULL, 10);
		factor = strtoull(argv[3], NULL, 10);
	}
	device = argc == 5 && !strcmp(argv[4], "device");
	vector = malloc(max);
	memset(vector, 0, max);
	for (size = min; size <= max; size *= factor) {
		int count = size / sizeof(*vector);
		double pure = average(mean(vector, count, device, 0)), alone, overall, hidden;
		uint64_t units = compute_units(device, pure);

		alone = average(compute_time(device, units));
		overall = average(mean(vector, count, device, units));
		hidden = 100 * (1 - (overall - alone) / pure);
		if (!rank)
			printf("%zu,%d,f32,sum,%.2f,%.2f,%.2f,%.1f\n", size, count, pure, alone,
			       overall, hidden < 0 ? 0 : hidden > 100 ? 100 : hidden);
	}
	free(vector);
	MPI_Finalize();
	return 0;
}
