// SPDX-License-Identifier: GPL-2.0-only
// Collectives out of C++, on its containers.
#include <complex>
#include <cstdio>
#include <numeric>
#include <vector>

#include <mpi.h>

int main(int argc, char **argv)
{
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int round = 0; round < 50; round++) {
		std::vector<std::complex<double>> mine(10, { double(rank), double(round) }), sum(10);
		std::vector<int> all(size);
		bool true_here = rank == round % size, any = false;
		int value = rank * round;

		MPI_Allreduce(mine.data(), sum.data(), 10, MPI_CXX_DOUBLE_COMPLEX, MPI_SUM,
			      MPI_COMM_WORLD);
		MPI_Allreduce(&true_here, &any, 1, MPI_CXX_BOOL, MPI_LOR, MPI_COMM_WORLD);
		MPI_Allgather(&value, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
		if (sum[9] != std::complex<double>(size * (size - 1) / 2, size * round) || !any ||
		    std::accumulate(all.begin(), all.end(), 0) != round * size * (size - 1) / 2) {
			std::printf("wrong in round %d\n", round);
			MPI_Abort(MPI_COMM_WORLD, 1);
		}
	}
	if (!rank)
		std::printf("C++ is right\n");
	MPI_Finalize();
	return 0;
}
