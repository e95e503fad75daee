// SPDX-License-Identifier: GPL-2.0-only
/*
 * What public benchmarks and suites of tests call, in their order: sizes from nothing to a megabyte
 * with a barrier between, a test of the request during computation, subsets of the ranks while the
 * others wait, rotating roots, blocks that are empty on some ranks, calls of types that are never
 * taken between those that are, every way to make a communicator, sessions.
 *
 *	benchmarks
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#include "layout.h"

#define RANKS_MAX	16
#define BYTES_MAX	1048576
#define WARM		6

static int rank, size;
static char *in, *out;

static void check(const char *what, long at, long value, long expected)
{
	if (value != expected)
		die("rank %d of %d: %s: %ld at %ld, expected %ld", rank, size, what, value, at,
		    expected);
}

/* Byte @at of what rank @from sends to rank @to. */
static char byte_of(int from, int to, long at)
{
	return 31 * from + 7 * to + at;
}

static void fill(char *buffer, int from, int to, long bytes)
{
	long i;

	for (i = 0; i < bytes; i++)
		buffer[i] = byte_of(from, to, i);
}

static void check_block(const char *what, const char *buffer, int from, int to, long bytes)
{
	long i;

	for (i = 0; i < bytes; i++)
		if (buffer[i] != byte_of(from, to, i))
			check(what, i, buffer[i], byte_of(from, to, i));
}

static void set_ints(int value, int count)
{
	int *values = (int *)in, i;

	for (i = 0; i < count; i++)
		values[i] = value + i;
	memset(out, -1, count * sizeof(int));
}

static void check_ints(const char *what, int ranks, int count)
{
	const int *values = (int *)out;
	int i;

	for (i = 0; i < count; i++)
		if (values[i] != ranks * (ranks - 1) / 2 + ranks * i)
			check(what, i, values[i], ranks * (ranks - 1) / 2 + ranks * i);
}

/* Times of an iteration are compared like this after each size. */
static void report(MPI_Comm comm)
{
	double time = MPI_Wtime(), least = 0, most = 0, sum = 0;

	MPI_Reduce(&time, &least, 1, MPI_DOUBLE, MPI_MIN, 0, comm);
	MPI_Reduce(&time, &most, 1, MPI_DOUBLE, MPI_MAX, 0, comm);
	MPI_Reduce(&time, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, comm);
	MPI_Barrier(comm);
	if (least > most || sum < 0)
		die("times from %f to %f", least, most);
}

/* ---- sizes ---- */

static void blocks(MPI_Comm comm, long bytes)
{
	int ranks, me, root = bytes % 3, i;

	MPI_Comm_rank(comm, &me);
	MPI_Comm_size(comm, &ranks);
	root %= ranks;
	bytes /= ranks;
	for (i = 0; i < ranks; i++)
		fill(in + i * bytes, me, i, bytes);
	memset(out, -1, ranks * bytes);
	MPI_Alltoall(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, comm);
	for (i = 0; i < ranks; i++)
		check_block("alltoall", out + i * bytes, i, me, bytes);
	memset(out, -1, ranks * bytes);
	MPI_Gather(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, root, comm);
	for (i = 0; i < ranks && me == root; i++)
		check_block("gather", out + i * bytes, i, 0, bytes);
	memset(out, -1, ranks * bytes);
	MPI_Scatter(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, root, comm);
	check_block("scatter", out, root, me, bytes);
	/* The same in place. */
	memcpy(out, in, ranks * bytes);
	MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, bytes, MPI_CHAR, comm);
	for (i = 0; i < ranks; i++)
		check_block("alltoall in place", out + i * bytes, i, me, bytes);
	fill(out + me * bytes, me, 5, bytes);
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, bytes, MPI_CHAR, comm);
	for (i = 0; i < ranks; i++)
		check_block("allgather in place", out + i * bytes, i, 5, bytes);
	memcpy(out, in, ranks * bytes);
	if (me == root)
		MPI_Scatter(out, bytes, MPI_CHAR, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, comm);
	else
		MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, out, bytes, MPI_CHAR, root, comm);
	check_block("scatter in place", out + (me == root ? me * bytes : 0), root, me, bytes);
	if (me == root)
		MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, bytes, MPI_CHAR, root, comm);
	else
		MPI_Gather(in, bytes, MPI_CHAR, NULL, 0, MPI_DATATYPE_NULL, root, comm);
	for (i = 0; i < ranks && me == root; i++)
		if (i != me)
			check_block("gather in place", in + i * bytes, i, 0, bytes);
}

static void vectors(MPI_Comm comm, int count)
{
	int ranks, me;

	MPI_Comm_rank(comm, &me);
	MPI_Comm_size(comm, &ranks);
	set_ints(me, count);
	MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comm);
	check_ints("allreduce", ranks, count);
	memcpy(out, in, count * sizeof(int));
	MPI_Allreduce(MPI_IN_PLACE, out, count, MPI_INT, MPI_SUM, comm);
	check_ints("allreduce in place", ranks, count);
	set_ints(me, count);
	memcpy(out, in, count * sizeof(int));
	MPI_Reduce(me == count % ranks ? MPI_IN_PLACE : in, me == count % ranks ? out : NULL, count,
		   MPI_INT, MPI_SUM, count % ranks, comm);
	if (me == count % ranks)
		check_ints("reduce in place", ranks, count);
	memcpy(out, in, count * sizeof(int));
	MPI_Scan(MPI_IN_PLACE, out, count, MPI_INT, MPI_SUM, comm);
	if (me == ranks - 1)
		check_ints("scan in place", ranks, count);
	memcpy(out, in, count * sizeof(int));
	MPI_Exscan(MPI_IN_PLACE, out, count, MPI_INT, MPI_SUM, comm);
	if (me && count)
		check("exscan in place", 0, ((int *)out)[0], me * (me - 1) / 2);
	if (me == count % ranks)
		set_ints(0, count);
	MPI_Bcast(in, count, MPI_INT, count % ranks, comm);
	if (count)
		check("bcast", 0, ((int *)in)[count - 1], count - 1);
}

static void sizes(MPI_Comm comm)
{
	long bytes;

	for (bytes = 0; bytes <= BYTES_MAX; bytes = bytes ? 4 * bytes : 1) {
		MPI_Barrier(comm);
		blocks(comm, bytes);
		vectors(comm, bytes / sizeof(int));
		report(comm);
	}
}

/* Subsets of growing size; the ranks that are in none wait in a barrier. */
static void subsets(void)
{
	MPI_Comm comm;
	int ranks;

	for (ranks = 2; ranks < size; ranks++) {
		MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &comm);
		if (comm != MPI_COMM_NULL) {
			sizes(comm);
			MPI_Comm_free(&comm);
		}
		MPI_Barrier(MPI_COMM_WORLD);
	}
}

/* ---- overlap ---- */

static void compute(MPI_Request *request, int tests)
{
	double x = rank;
	int done = 0, i;

	for (i = 0; i < 2000; i++) {
		x = x * 0.9 + 1;
		if (tests && !done && i % 100 == 0)
			MPI_Test(request, &done, MPI_STATUS_IGNORE);
	}
	if (x > rank + 11)
		die("%f was computed", x);
}

static void overlap(void)
{
	const int bytes = 4096;
	MPI_Request request;
	int round, i;

	for (round = 0; round < 20; round++) {
		for (i = 0; i < size; i++)
			fill(in + i * bytes, rank, i, bytes);
		MPI_Ialltoall(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, MPI_COMM_WORLD, &request);
		compute(&request, round % 2);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		for (i = 0; i < size; i++)
			check_block("ialltoall", out + i * bytes, i, rank, bytes);
		set_ints(rank, bytes);
		MPI_Ireduce(in, out, bytes, MPI_INT, MPI_SUM, round % size, MPI_COMM_WORLD,
			    &request);
		compute(&request, round % 2);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		if (rank == round % size)
			check_ints("ireduce", size, bytes);
		MPI_Ibarrier(MPI_COMM_WORLD, &request);
		compute(&request, round % 2);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
}

/* ---- blocks of different sizes ---- */

/* Rank @i has @i % 3 blocks of @unit bytes, so that some have none. */
static void uneven(int unit)
{
	int counts[RANKS_MAX], displs[RANKS_MAX], all = 0, root, i;

	for (i = 0; i < size; i++) {
		counts[i] = i % 3 * unit;
		displs[i] = all;
		all += counts[i];
	}
	for (root = 0; root < size; root++) {
		fill(in, rank, 0, counts[rank]);
		memset(out, -1, all);
		MPI_Gatherv(in, counts[rank], MPI_BYTE, out, counts, displs, MPI_BYTE, root,
			    MPI_COMM_WORLD);
		for (i = 0; i < size && rank == root; i++)
			check_block("gatherv", out + displs[i], i, 0, counts[i]);
		for (i = 0; i < size; i++)
			fill(in + displs[i], rank, i, counts[i]);
		MPI_Scatterv(in, counts, displs, MPI_BYTE, out, counts[rank], MPI_BYTE, root,
			     MPI_COMM_WORLD);
		check_block("scatterv", out, root, rank, counts[rank]);
	}
	fill(in, rank, 0, counts[rank]);
	MPI_Allgatherv(in, counts[rank], MPI_BYTE, out, counts, displs, MPI_BYTE, MPI_COMM_WORLD);
	for (i = 0; i < size; i++)
		check_block("allgatherv", out + displs[i], i, 0, counts[i]);
	memset(out, -1, all);
	fill(out + displs[rank], rank, 0, counts[rank]);
	MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, counts, displs, MPI_BYTE,
		       MPI_COMM_WORLD);
	for (i = 0; i < size; i++)
		check_block("allgatherv in place", out + displs[i], i, 0, counts[i]);
}

/* The vector is not a multiple of the ranks; then only the last rank has a block. */
static void reduce_scatter(int count)
{
	int counts[RANKS_MAX], first = 0, i, last;

	for (last = 0; last < 2; last++) {
		for (i = 0; i < size; i++) {
			counts[i] = last ? (i == size - 1) * count :
				    count / size + (i < count % size);
			first += i < rank ? counts[i] : 0;
		}
		set_ints(rank, count);
		MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		for (i = 0; i < counts[rank]; i++)
			check("reduce_scatter", i, ((int *)out)[i],
			      size * (size - 1) / 2 + size * (first + i));
		MPI_Reduce_scatter(MPI_IN_PLACE, in, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		for (i = 0; i < counts[rank]; i++)
			check("reduce_scatter in place", i, ((int *)in)[i],
			      size * (size - 1) / 2 + size * (first + i));
		first = 0;
	}
}

static void different_blocks(void)
{
	int unit;

	for (unit = 0; unit <= 20000; unit = unit ? 10 * unit : 1) {
		uneven(unit);
		reduce_scatter(unit);
	}
}

/* ---- what is never taken, between what is ---- */

static void alltoallw(int in_place)
{
	int counts[RANKS_MAX], displs[RANKS_MAX], i, blocking;
	MPI_Datatype types[RANKS_MAX];
	MPI_Request request;

	for (blocking = 0; blocking < 2; blocking++) {
		for (i = 0; i < size; i++) {
			counts[i] = 8;
			displs[i] = 8 * i;
			types[i] = MPI_BYTE;
			fill(in + 8 * i, rank, i, 8);
		}
		memcpy(out, in, 8 * size);
		if (blocking) {
			MPI_Alltoallw(in_place ? MPI_IN_PLACE : in, counts, displs, types, out,
				      counts, displs, types, MPI_COMM_WORLD);
		} else {
			MPI_Ialltoallw(in_place ? MPI_IN_PLACE : in, counts, displs, types, out,
				       counts, displs, types, MPI_COMM_WORLD, &request);
			MPI_Wait(&request, MPI_STATUS_IGNORE);
		}
		for (i = 0; i < size; i++)
			check_block("alltoallw", out + 8 * i, i, rank, 8);
	}
}

static void graph(void)
{
	const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
	int values[2], sum, round, weight = 1;
	MPI_Request request;
	MPI_Comm ring;

	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &previous, &weight, 1, &next, &weight,
				       MPI_INFO_NULL, 0, &ring);
	for (round = 0; round < 4; round++) {
		values[0] = rank + round;
		MPI_Neighbor_allgather(&values[0], 1, MPI_INT, &values[1], 1, MPI_INT, ring);
		check("neighbor_allgather", round, values[1], previous + round);
		MPI_Ineighbor_allgatherv(&values[0], 1, MPI_INT, &values[1], &(int){ 1 },
					 &(int){ 0 }, MPI_INT, ring, &request);
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, ring);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		check("ineighbor_allgatherv", round, values[1], previous + round);
		check("allreduce of a graph", round, sum, size * (size - 1) / 2);
	}
	MPI_Comm_free(&ring);
}

/* ---- communicators ---- */

static void use(MPI_Comm comm)
{
	int ranks, me, i;

	MPI_Comm_rank(comm, &me);
	MPI_Comm_size(comm, &ranks);
	for (i = 0; i < WARM; i++)
		vectors(comm, 100 * i);
	blocks(comm, 1000 * ranks);
}

static void use_and_free(MPI_Comm comm)
{
	if (comm == MPI_COMM_NULL)
		return;
	use(comm);
	MPI_Comm_free(&comm);
}

/* Overlapping groups, one after the other, without the ranks that are in none. */
static void overlapping(void)
{
	MPI_Group all, pair;
	MPI_Comm comm;
	int first;

	MPI_Comm_group(MPI_COMM_WORLD, &all);
	for (first = 0; first < size - 1; first++) {
		if (rank != first && rank != first + 1)
			continue;
		MPI_Group_incl(all, 2, (int[]){ first + 1, first }, &pair);
		MPI_Comm_create_group(MPI_COMM_WORLD, pair, first, &comm);
		MPI_Group_free(&pair);
		use_and_free(comm);
	}
	MPI_Group_free(&all);
}

static void communicators(void)
{
	MPI_Comm comm, half, inter;
	MPI_Request request;
	MPI_Info info;

	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &comm);
	use_and_free(comm);
	MPI_Comm_split_type(MPI_COMM_WORLD, rank ? MPI_COMM_TYPE_SHARED : MPI_UNDEFINED, rank,
			    MPI_INFO_NULL, &comm);
	use_and_free(comm);
	MPI_Info_create(&info);
	MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
	MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
	MPI_Info_free(&info);
	use_and_free(comm);
	MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	use(comm);
	MPI_Comm_disconnect(&comm);
	/* The same again with the order of ranks reversed. */
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
	use(half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, size - 1 - (size - 1 + rank + 1) % 2, 5,
			     &inter);
	MPI_Barrier(inter);
	MPI_Intercomm_merge(inter, rank % 2, &comm);
	MPI_Comm_free(&inter);
	use_and_free(comm);
	use_and_free(half);
	overlapping();
}

/* ---- sessions ---- */

#if MPI_VERSION >= 4
static MPI_Session session;

static MPI_Comm of_session(void)
{
	MPI_Group group;
	MPI_Comm comm;

	if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) ||
	    MPI_Group_from_session_pset(session, "mpi://WORLD", &group) ||
	    MPI_Comm_create_from_group(group, "benchmarks", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
				       &comm))
		die("rank %d: no communicator of a session", rank);
	MPI_Group_free(&group);
	return comm;
}

static void session_end(MPI_Comm comm)
{
	MPI_Comm_free(&comm);
	MPI_Session_finalize(&session);
}
#endif

int main(int argc, char **argv)
{
#if MPI_VERSION >= 4
	MPI_Comm comm;
#endif

	in = calloc(1, 2 * BYTES_MAX);
	out = calloc(1, 2 * BYTES_MAX);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size > RANKS_MAX)
		die("at most %d ranks", RANKS_MAX);
	sizes(MPI_COMM_WORLD);
	subsets();
	overlap();
	different_blocks();
	alltoallw(0);
	alltoallw(1);
	graph();
	communicators();
#if MPI_VERSION >= 4
	comm = of_session();
	use(comm);
#endif
	if (!rank)
		printf("benchmarks are right\n");
	MPI_Finalize();
#if MPI_VERSION >= 4
	/* All is left to MPI now. */
	use(comm);
	session_end(comm);
#endif
	return 0;
}
