// SPDX-License-Identifier: GPL-2.0-only
/*
 * What only the library for MPICH has: functions of large counts, which are taken, and persistent
 * ones, which are left; types of large counts, and others whose elements lie as they are packed;
 * functions that MPICH has from 4.2 on.
 *
 * As a program, or as a plug-in that is opened by plugin.c.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <mpi.h>

#include "layout.h"

#define RANKS_MAX	8
#define COUNT		5

static int rank, size;

static void check(const char *what, int at, int value, int expected)
{
	if (value != expected)
		die("%s: element %d is %d, expected %d", what, at, value, expected);
}

/* In the order of ranks, and in the reverse one. */
static void large_alltoallv(int reverse)
{
	int in[RANKS_MAX * COUNT], out[RANKS_MAX * COUNT] = { 0 }, i, k, place;
	MPI_Count counts[RANKS_MAX];
	MPI_Aint displs[RANKS_MAX];

	for (i = 0; i < size; i++) {
		counts[i] = COUNT;
		displs[i] = (reverse ? size - 1 - i : i) * COUNT;
		for (k = 0; k < COUNT; k++)
			in[displs[i] + k] = rank * 100 + i * 10 + k;
	}
	MPI_Alltoallv_c(in, counts, displs, MPI_INT, out, counts, displs, MPI_INT, MPI_COMM_WORLD);
	for (i = 0; i < size; i++)
		for (k = 0; k < COUNT; k++) {
			place = displs[i] + k;
			check("alltoallv", place, out[place], i * 100 + rank * 10 + k);
		}
}

static void large_counts(void)
{
	MPI_Count counts[RANKS_MAX];
	int in[RANKS_MAX * COUNT], out[COUNT], i;
	MPI_Request request;

	for (i = 0; i < size * COUNT; i++)
		in[i] = i + rank;
	for (i = 0; i < size; i++)
		counts[i] = i < COUNT ? i : 1;
	MPI_Reduce_scatter_c(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	for (i = 0; i < counts[rank]; i++)
		check("reduce_scatter", i, out[i],
		      size * (rank * (rank - 1) / 2 + i) + size * (size - 1) / 2);
	MPI_Iallreduce_c(in, out, COUNT, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	for (i = 0; i < COUNT; i++)
		check("iallreduce", i, out[i], i + size - 1);
}

static void broadcast(const char *what, MPI_Datatype type, const int *places)
{
	int values[2 * COUNT], i;

	MPI_Type_commit(&type);
	for (i = 0; i < 2 * COUNT; i++)
		values[i] = rank == size - 1 ? i : -1;
	MPI_Bcast(values, 1, type, size - 1, MPI_COMM_WORLD);
	for (i = 0; i < 2 * COUNT; i++)
		check(what, i, values[i], places[i] || rank == size - 1 ? i : -1);
	MPI_Type_free(&type);
}

static void types(void)
{
	const int one[2 * COUNT] = { 1 }, first[2 * COUNT] = { 1, 1, 1, 1, 1 };
	const int even[2 * COUNT] = { 1, 0, 1, 0, 1, 0, 1 };
	const int odd[2 * COUNT] = { 0, 1, 0, 1, 0, 1, 0, 1 };
	const int places[] = { 1, 3, 5, 7 };
	const int lengths[] = { 2, 3 }, forwards[] = { 0, 2 }, backwards[] = { 3, 0 };
	const MPI_Aint addresses[] = { 0, 2 * sizeof(int) };
	const MPI_Datatype parts[] = { MPI_INT, MPI_FLOAT };
	MPI_Datatype type;

	MPI_Type_contiguous_c(COUNT, MPI_INT, &type);
	broadcast("contiguous of a large count", type, first);
	MPI_Type_dup(MPI_INT, &type);
	broadcast("dup", type, one);
	MPI_Type_vector(COUNT, 1, 1, MPI_INT, &type);
	broadcast("vector without gaps", type, first);
	MPI_Type_create_hvector_c(4, 1, 2 * sizeof(int), MPI_INT, &type);
	broadcast("vector with gaps", type, even);
	MPI_Type_create_indexed_block(4, 1, places, MPI_INT, &type);
	broadcast("indexed block", type, odd);
	MPI_Type_indexed(2, lengths, forwards, MPI_INT, &type);
	broadcast("indexed", type, first);
	MPI_Type_indexed(2, lengths, backwards, MPI_INT, &type);
	broadcast("indexed backwards", type, first);
	MPI_Type_create_struct(2, lengths, addresses, parts, &type);
	broadcast("struct", type, first);
	MPI_Type_create_f90_integer(9, &type);
	MPI_Type_contiguous(COUNT, type, &type);
	broadcast("type of Fortran 90", type, first);
}

/* Types of which one has its bytes in order and the other has not, with one signature. */
static void signatures(void)
{
	const int lengths[COUNT] = { 1, 1, 1, 1, 1 }, backwards[COUNT] = { 4, 3, 2, 1, 0 };
	int values[COUNT] = { 0 }, i;
	MPI_Datatype type;

	if (rank)
		MPI_Type_indexed(COUNT, lengths, backwards, MPI_INT, &type);
	else
		MPI_Type_contiguous(1, MPI_INT, &type);
	MPI_Type_commit(&type);
	for (i = 0; i < COUNT && !rank; i++)
		values[i] = i;
	MPI_Bcast(values, rank ? 1 : COUNT, type, 0, MPI_COMM_WORLD);
	for (i = 0; i < COUNT; i++)
		check("signature", i, values[i], rank ? COUNT - 1 - i : i);
	MPI_Type_free(&type);
}

static void persistent(void)
{
	MPI_Request request;
	int sum = 0;

	MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
			   &request);
	MPI_Start(&request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	check("persistent", 0, sum, size * (size - 1) / 2);
	MPI_Request_free(&request);
}

/* Looks at several requests advance them. */
static void looks(void)
{
	int (*all)(int count, MPI_Request *requests, int *flag, MPI_Status *statuses);
	int (*some)(int count, MPI_Request *requests, int *completed, int *indices,
		    MPI_Status *statuses);
	int (*any)(int count, MPI_Request *requests, int *which, int *flag, MPI_Status *status);
	int sums[2], indices[2], done = 0, completed = 0, which, length, err;
	char version[MPI_MAX_LIBRARY_VERSION_STRING];
	MPI_Request requests[2];
	int i;

	all = dlsym(RTLD_DEFAULT, "MPI_Request_get_status_all");
	some = dlsym(RTLD_DEFAULT, "MPI_Request_get_status_some");
	any = dlsym(RTLD_DEFAULT, "MPI_Request_get_status_any");
	if (!all || !some || !any)
		die("the library does not look at several requests");
	for (i = 0; i < 2; i++)
		MPI_Iallreduce(&rank, &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
	err = all(2, requests, &done, MPI_STATUSES_IGNORE);
	while (err == MPI_SUCCESS && !done)
		err = all(2, requests, &done, MPI_STATUSES_IGNORE);
	if (err == MPI_SUCCESS) {
		some(2, requests, &completed, indices, MPI_STATUSES_IGNORE);
		check("completed", 0, completed, 2);
		any(2, requests, &which, &done, MPI_STATUS_IGNORE);
		check("any", 0, done, 1);
	} else {
		MPI_Get_library_version(version, &length);
		if (!strstr(version, "4.0") && !strstr(version, "4.1"))
			die("error %d of a look, by %s", err, version);
	}
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	for (i = 0; i < 2; i++)
		check("sum", i, sums[i], size * (size - 1) / 2);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size > RANKS_MAX)
		die("at most %d ranks", RANKS_MAX);
	MPI_Barrier(MPI_COMM_WORLD);
	large_alltoallv(0);
	large_alltoallv(1);
	large_counts();
	types();
	signatures();
	persistent();
	looks();
	if (!rank)
		printf("large counts are right\n");
	MPI_Finalize();
	return 0;
}
