// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each allocation of the library fails once, on rank 1: the call fails on all ranks or on none, and
 * no rank waits.
 *
 *	shortage
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#include "layout.h"

#ifdef OPEN_MPI
#if OMPI_MAJOR_VERSION >= 5
#define ALLGATHERV_INIT	MPI_Allgatherv_init
#else
#define ALLGATHERV_INIT	MPIX_Allgatherv_init
#endif
#define FORMS		3
#else
#define ALLGATHERV_INIT	MPI_Allgatherv_init
#define FORMS		2
#endif

#define CALLS		3
#define RANKS_MAX	8
#define SWEEP_MAX	200

enum form {
	BLOCKING,
	NONBLOCKING,
	PERSISTENT,
};

static int rank, size;

/* ---- allocation ---- */

/* Allocations of the library until one fails; negative: none does. */
static int countdown = -1;
static bool has_failed;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

static bool of_library(void *caller)
{
	Dl_info info;
	const char *name;

	if (!dladdr(caller, &info) || !info.dli_fname)
		return false;
	name = strrchr(info.dli_fname, '/');
	return strstr(name ?: info.dli_fname, "collective");
}

static bool fails(void *caller)
{
	if (countdown < 0 || !of_library(caller) || countdown--)
		return false;
	has_failed = true;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, size);
}

/* ---- calls ---- */

/* Blocks that neither rank can give to the kernel as they are. */
static int gather(enum form form, MPI_Comm comm)
{
	static int all[4 * RANKS_MAX];
	const int mine[4] = { rank, -1, rank, -1 };
	int counts[RANKS_MAX], displs[RANKS_MAX], i, err;
	MPI_Request request = MPI_REQUEST_NULL;
	MPI_Datatype two, gaps;

	for (i = 0; i < size; i++) {
		counts[i] = 1;
		displs[i] = size - 1 - i;
	}
	MPI_Type_vector(2, 1, 2, MPI_INT, &two);
	MPI_Type_create_resized(two, 0, 4 * sizeof(int), &gaps);
	MPI_Type_free(&two);
	MPI_Type_commit(&gaps);
	switch (form) {
	case BLOCKING:
		err = MPI_Allgatherv(mine, 1, gaps, all, counts, displs, gaps, comm);
		break;
	case NONBLOCKING:
		err = MPI_Iallgatherv(mine, 1, gaps, all, counts, displs, gaps, comm, &request);
		break;
	default:
		err = ALLGATHERV_INIT(mine, 1, gaps, all, counts, displs, gaps, comm, MPI_INFO_NULL,
				      &request);
		if (err == MPI_SUCCESS)
			err = MPI_Start(&request);
	}
	if (err == MPI_SUCCESS && form != BLOCKING)
		err = MPI_Wait(&request, MPI_STATUS_IGNORE);
	countdown = -1;
	if (request != MPI_REQUEST_NULL)
		MPI_Request_free(&request);
	for (i = 0; i < size && err == MPI_SUCCESS; i++)
		if (all[4 * i] != size - 1 - i || all[4 * i + 2] != size - 1 - i)
			die("rank %d: form %d: gathered %d %d at %d", rank, form, all[4 * i],
			    all[4 * i + 2], i);
	MPI_Type_free(&gaps);
	return err;
}

/*
 * Return: whether allocation @n of rank 1 was made, and so has failed.  The calls that fail with it
 * are counted.
 */
static bool shortage(enum form form, int n, int *failures)
{
	int i, sum, failed, verdicts[2], least[2];
	MPI_Comm comm;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	for (i = 0; i < CALLS; i++)
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
	has_failed = false;
	countdown = rank == 1 ? n : -1;
	verdicts[0] = gather(form, comm) != MPI_SUCCESS;
	verdicts[1] = !verdicts[0];
	MPI_Allreduce(verdicts, least, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	failed = has_failed;
	MPI_Bcast(&failed, 1, MPI_INT, 1, MPI_COMM_WORLD);
	if (least[0] == least[1] || (least[0] && !failed))
		die("rank %d: form %d: allocation %d failed: %d, calls failed: some %d, all %d",
		    rank, form, n, failed, !least[1], least[0]);
	*failures += least[0];
	MPI_Comm_free(&comm);
	return failed;
}

int main(int argc, char **argv)
{
	int form, n, failures;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size > RANKS_MAX)
		die("at most %d ranks", RANKS_MAX);
	for (form = 0; form < FORMS; form++) {
		failures = 0;
		for (n = 0; n < SWEEP_MAX && shortage(form, n, &failures);)
			n++;
		/* Counts and two packed copies at least. */
		if (failures < 3 || n == SWEEP_MAX)
			die("form %d: %d allocations, %d failures", form, n, failures);
		if (!rank)
			printf("form %d: %d allocations, %d failures\n", form, n, failures);
	}
	MPI_Finalize();
	return 0;
}
