// SPDX-License-Identifier: GPL-2.0-only
/*
 * More of MPI's text, beside collectives that are taken: intercommunicators, operators of the
 * program and of pairs, types that begin before their address, neighbours, windows, files, arrays
 * of requests of all kinds, messages of other threads; while a timer interrupts the process all the
 * time.
 *
 *	standard
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <mpi.h>

#include "layout.h"

#define CALLS		6
#define RANKS_MAX	16
#define SIGNAL_US	2000

static int rank, size;
static atomic_int interrupts;

static void check(const char *what, int at, long value, long expected)
{
	if (value != expected)
		die("rank %d: %s: %ld at %d, expected %ld", rank, what, value, at, expected);
}

/* Enough calls that the communicator has a group. */
static void warm(MPI_Comm comm)
{
	int i, sum, ranks;

	MPI_Comm_size(comm, &ranks);
	for (i = 0; i < CALLS; i++) {
		MPI_Allreduce(&(int){ 1 }, &sum, 1, MPI_INT, MPI_SUM, comm);
		check("ranks", i, sum, ranks);
	}
}

/* ---- intercommunicators ---- */

/* Ranks of both halves are counted from 0; values tell the half, too. */
static int value_of(int low, int r, int block)
{
	return 1000 * low + 10 * r + block;
}

static void to_one(MPI_Comm inter, int low, int me, int n, int others)
{
	const int root = low ? (me ? MPI_PROC_NULL : MPI_ROOT) : 0;
	int mine[RANKS_MAX], all[RANKS_MAX], counts[RANKS_MAX], displs[RANKS_MAX], i, v;

	for (i = 0; i < others; i++) {
		mine[i] = value_of(low, me, i);
		counts[i] = 1;
		displs[i] = i;
	}
	v = value_of(low, me, 0);
	memset(all, -1, sizeof(all));
	MPI_Gather(&v, 1, MPI_INT, all, 1, MPI_INT, root, inter);
	for (i = 0; i < others && root == MPI_ROOT; i++)
		check("gathered", i, all[i], value_of(!low, i, 0));
	MPI_Gatherv(&v, 1, MPI_INT, all, counts, displs, MPI_INT, root, inter);
	for (i = 0; i < others && root == MPI_ROOT; i++)
		check("gathered", i, all[i], value_of(!low, i, 0));
	v = -1;
	MPI_Scatter(mine, 1, MPI_INT, &v, 1, MPI_INT, root, inter);
	if (!low)
		check("scattered", me, v, value_of(1, 0, me));
	v = me;
	all[0] = -1;
	MPI_Reduce(&v, all, 1, MPI_INT, MPI_SUM, root, inter);
	if (root == MPI_ROOT)
		check("reduced", 0, all[0], others * (others - 1) / 2);
	(void)n;
}

static void to_all(MPI_Comm inter, int low, int me, int n, int others)
{
	int mine[RANKS_MAX], all[RANKS_MAX], counts[RANKS_MAX], displs[RANKS_MAX], i, v = me;
	MPI_Request request;

	for (i = 0; i < RANKS_MAX; i++) {
		mine[i] = value_of(low, me, i);
		counts[i] = 1;
		displs[i] = i;
		all[i] = -1;
	}
	MPI_Allgather(mine, 1, MPI_INT, all, 1, MPI_INT, inter);
	for (i = 0; i < others; i++)
		check("of all", i, all[i], value_of(!low, i, 0));
	MPI_Alltoallv(mine, counts, displs, MPI_INT, all, counts, displs, MPI_INT, inter);
	for (i = 0; i < others; i++)
		check("to all", i, all[i], value_of(!low, i, me));
	MPI_Iallreduce(&v, all, 1, MPI_INT, MPI_MAX, inter, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	check("maximum", 0, all[0], others - 1);
	MPI_Barrier(inter);
	(void)n;
}

static void intercommunicators(void)
{
	const int low = rank < size / 2;
	const int n = low ? size / 2 : size - size / 2, others = size - n;
	MPI_Comm half, inter;
	int i, me;

	MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half);
	MPI_Comm_rank(half, &me);
	warm(half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? size / 2 : 0, 3, &inter);
	for (i = 0; i < CALLS; i++) {
		to_one(inter, low, me, n, others);
		warm(half);
		to_all(inter, low, me, n, others);
	}
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
}

/* ---- operators ---- */

/* Composition of permutations of four: associative, but not commutative. */
static void compose(void *in, void *inout, int *count, MPI_Datatype *type)
{
	char (*first)[4] = in, (*second)[4] = inout, result[4];
	int i, k;

	(void)type;
	for (i = 0; i < *count; i++) {
		for (k = 0; k < 4; k++)
			result[k] = second[i][(int)first[i][k]];
		memcpy(second[i], result, 4);
	}
}

static void permutation(char *p, int of)
{
	int k;

	for (k = 0; k < 4; k++)
		p[k] = of % 2 ? (k + 1) % 4 : (k ^ 1 ^ (k > 1));
	if (of % 3 == 0) {
		p[0] = 3;
		p[1] = 0;
		p[2] = 1;
		p[3] = 2;
	}
	if (of % 5 == 4) {
		p[0] = 1;
		p[1] = 0;
		p[2] = 2;
		p[3] = 3;
	}
}

static void operators(void)
{
	struct { double value; int place; } distance = { -rank, rank }, far, near;
	char mine[4], all[4], before[4], expected[4], next[4];
	MPI_Datatype four;
	int i, commutes;
	MPI_Op op;

	MPI_Type_contiguous(4, MPI_CHAR, &four);
	MPI_Type_commit(&four);
	MPI_Op_create(compose, 0, &op);
	MPI_Op_commutative(op, &commutes);
	check("commutes", 0, commutes, 0);
	permutation(mine, rank);
	permutation(expected, 0);
	for (i = 1; i < size; i++) {
		if (i == rank)
			memcpy(before, expected, 4);
		permutation(next, i);
		compose(expected, next, &(int){ 1 }, &four);
		memcpy(expected, next, 4);
	}
	for (i = 0; i < 3; i++) {
		MPI_Allreduce(mine, all, 1, four, op, MPI_COMM_WORLD);
		if (memcmp(all, expected, 4))
			die("rank %d: permutations are in the wrong order", rank);
		MPI_Exscan(mine, all, 1, four, op, MPI_COMM_WORLD);
		if (rank && memcmp(all, before, 4))
			die("rank %d: permutations before this are in the wrong order", rank);
		MPI_Allreduce(&distance, &far, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
		MPI_Allreduce(&distance, &near, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
		check("place of the minimum", i, far.place, size - 1);
		check("place of the maximum", i, near.place, 0);
		warm(MPI_COMM_WORLD);
	}
	MPI_Op_free(&op);
	MPI_Type_free(&four);
}

/* ---- types ---- */

/*
 * Elements lie before the address: negative strides, negative lower bounds, negative displacements.
 */
static void backwards(void)
{
	int memory[64 * RANKS_MAX], values[4] = { 0 }, i, k, displs[RANKS_MAX], counts[RANKS_MAX];
	int *end = memory + 64 * RANKS_MAX - 1;
	MPI_Datatype down, shifted;

	MPI_Type_vector(4, 1, -1, MPI_INT, &down);
	MPI_Type_commit(&down);
	MPI_Type_create_resized(MPI_INT, -(MPI_Aint)sizeof(int), 2 * sizeof(int), &shifted);
	MPI_Type_commit(&shifted);
	memset(memory, -1, sizeof(memory));
	for (i = 0; i < 4; i++)
		values[i] = i + 1;
	MPI_Bcast(rank ? (void *)end : (void *)values, rank ? 1 : 4, rank ? down : MPI_INT, 0,
		  MPI_COMM_WORLD);
	for (i = 0; i < 4 && rank; i++)
		check("broadcast downwards", i, end[-i], i + 1);
	for (i = 0; i < size; i++) {
		counts[i] = 2;
		displs[i] = -4 * (i + 1);
	}
	memset(memory, -1, sizeof(memory));
	for (i = 0; i < 2; i++)
		values[i] = 10 * rank + i;
	MPI_Allgatherv(values, 2, MPI_INT, end, counts, displs, MPI_INT, MPI_COMM_WORLD);
	for (i = 0; i < size; i++)
		for (k = 0; k < 2; k++)
			check("gathered downwards", i, end[displs[i] + k], 10 * i + k);
	memset(memory, -1, sizeof(memory));
	MPI_Allgather(values, 2, MPI_INT, memory, 2, shifted, MPI_COMM_WORLD);
	for (i = 0; i < size; i++)
		for (k = 0; k < 2; k++) {
			check("gathered with gaps", i, memory[4 * i + 2 * k], 10 * i + k);
			check("gap", i, memory[4 * i + 2 * k + 1], -1);
		}
	MPI_Type_free(&shifted);
	MPI_Type_free(&down);
}

/* ---- neighbours, windows, files ---- */

static void neighbours(void)
{
	int mine[2] = { 2 * rank, 2 * rank + 1 }, theirs[2] = { -1, -1 }, i;
	const int left = (rank + size - 1) % size, right = (rank + 1) % size;
	MPI_Request request;
	MPI_Comm ring;

	MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &(int){ 1 }, 0, &ring);
	warm(ring);
	for (i = 0; i < 3; i++) {
		MPI_Neighbor_allgather(mine, 1, MPI_INT, theirs, 1, MPI_INT, ring);
		check("left", i, theirs[0], 2 * left);
		check("right", i, theirs[1], 2 * right);
		warm(ring);
		MPI_Ineighbor_alltoall(mine, 1, MPI_INT, theirs, 1, MPI_INT, ring, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		/* Of two ranks each is the other's neighbour on both sides. */
		if (size > 2) {
			check("to the right", i, theirs[0], 2 * left + 1);
			check("to the left", i, theirs[1], 2 * right);
		}
	}
	MPI_Comm_free(&ring);
}

/* MPICH 4.0's own results are wrong here, without collectives of the program, too. */
#ifdef OPEN_MPI
static void puts_between_fences(MPI_Comm comm)
{
	int *memory, i;
	MPI_Win win;

	MPI_Win_allocate(size * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &win);
	for (i = 0; i < size; i++)
		memory[i] = -1;
	MPI_Win_fence(0, win);
	for (i = 0; i < size; i++)
		MPI_Put(&rank, 1, MPI_INT, i, rank, 1, MPI_INT, win);
	MPI_Win_fence(0, win);
	for (i = 0; i < size; i++)
		check("put", i, memory[i], i);
	MPI_Win_free(&win);
}
#endif

static void windows(void)
{
	int *shared, *theirs, i, disp;
	MPI_Aint bytes;
	MPI_Comm comm;
	MPI_Win win;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	warm(comm);
#ifdef OPEN_MPI
	puts_between_fences(comm);
#endif
	MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &shared, &win);
	*shared = rank;
	MPI_Barrier(comm);
	MPI_Win_fence(0, win);
	for (i = 0; i < size; i++) {
		MPI_Win_shared_query(win, i, &bytes, &disp, &theirs);
		check("shared", i, *theirs, i);
	}
	MPI_Win_fence(0, win);
	MPI_Win_free(&win);
	MPI_Comm_free(&comm);
}

static void files(void)
{
	char name[64] = "";
	int values[100], i;
	MPI_Comm comm;
	MPI_File file;

	if (!rank)
		snprintf(name, sizeof(name), "/tmp/mpi-standard.%d", getpid());
	MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, MPI_COMM_WORLD);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	warm(comm);
	for (i = 0; i < 100; i++)
		values[i] = 100 * rank + i;
	if (MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
			  MPI_INFO_NULL, &file) != MPI_SUCCESS)
		die("no file %s", name);
	MPI_File_write_at_all(file, rank * sizeof(values), values, 100, MPI_INT, MPI_STATUS_IGNORE);
	MPI_File_sync(file);
	MPI_Barrier(comm);
	MPI_File_read_at_all(file, (rank + 1) % size * sizeof(values), values, 100, MPI_INT,
			     MPI_STATUS_IGNORE);
	for (i = 0; i < 100; i++)
		check("file", i, values[i], 100 * ((rank + 1) % size) + i);
	MPI_File_close(&file);
	warm(comm);
	MPI_Comm_free(&comm);
}

/* ---- requests ---- */

/* Messages, collectives, and requests that are none, by each function that completes some. */
static void requests(void)
{
	const int to = (rank + 1) % size, from = (rank + size - 1) % size;
	int way, done, count, index, indices[6], flag, received, sum, root;
	MPI_Request all[6];
	MPI_Status status, statuses[6];

	for (way = 0; way < 12; way++) {
		received = -1;
		sum = -1;
		root = rank;
		all[0] = MPI_REQUEST_NULL;
		MPI_Irecv(&received, 1, MPI_INT, from, way, MPI_COMM_WORLD, &all[1]);
		MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &all[2]);
		MPI_Isend(&rank, 1, MPI_INT, to, way, MPI_COMM_WORLD, &all[3]);
		MPI_Ibcast(&root, 1, MPI_INT, size - 1, MPI_COMM_WORLD, &all[4]);
		MPI_Ibarrier(MPI_COMM_WORLD, &all[5]);
		for (done = 0; done < 5; done += count) {
			count = 0;
			switch (way % 6) {
			case 0:
				MPI_Waitany(6, all, &index, &status);
				count = index != MPI_UNDEFINED;
				break;
			case 1:
				MPI_Testany(6, all, &index, &flag, &status);
				count = flag && index != MPI_UNDEFINED;
				break;
			case 2:
				MPI_Waitsome(6, all, &count, indices, statuses);
				break;
			case 3:
				MPI_Testsome(6, all, &count, indices, MPI_STATUSES_IGNORE);
				break;
			case 4:
				MPI_Testall(6, all, &flag, statuses);
				count = flag ? 5 : 0;
				break;
			default:
				MPI_Waitall(6, all, statuses);
				count = 5;
			}
			if (count == MPI_UNDEFINED)
				die("rank %d: %d of 5 requests", rank, done);
		}
		check("received", way, received, from);
		check("sum", way, sum, size * (size - 1) / 2);
		check("broadcast", way, root, size - 1);
		if (way % 6 >= 4) {
			check("source", way, statuses[1].MPI_SOURCE, from);
			check("tag", way, statuses[1].MPI_TAG, way);
			check("source of none", way, statuses[0].MPI_SOURCE, MPI_ANY_SOURCE);
			MPI_Get_count(&statuses[0], MPI_INT, &count);
			check("count of none", way, count, 0);
		}
		MPI_Waitany(6, all, &index, &status);
		check("none", way, index, MPI_UNDEFINED);
	}
}

#define MANY		200

/* Receive a message from the last rank by one of the functions that wait. */
static int receive_by(int way)
{
	const int from = size - 1;
	MPI_Request request;
	MPI_Message message;
	int value, index;

	if (way < 4)
		MPI_Irecv(&value, 1, MPI_INT, from, way, MPI_COMM_WORLD, &request);
	switch (way) {
	case 0:
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		break;
	case 1:
		MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
		break;
	case 2:
		MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
		break;
	case 3:
		MPI_Waitsome(1, &request, &(int){ 0 }, &index, MPI_STATUSES_IGNORE);
		break;
	case 4:
		MPI_Recv(&value, 1, MPI_INT, from, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		break;
	case 5:
		MPI_Probe(from, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Recv(&value, 1, MPI_INT, from, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		break;
	case 6:
		MPI_Mprobe(from, way, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
		MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
		break;
	default:
		MPI_Sendrecv(&way, 1, MPI_INT, from, way, &value, 1, MPI_INT, from, way,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	return value;
}

/*
 * More collectives than are under way at a time.  Rank 0 first waits for a message that is sent
 * when they are complete.
 */
static void message_after_many(void)
{
	MPI_Request collectives[MANY];
	int way, i, value, sums[MANY];

	for (way = 0; way < 9; way++) {
		for (i = 0; i < MANY; i++)
			MPI_Iallreduce(&rank, &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
				       &collectives[i]);
		if (!rank && way == 8)
			MPI_Ssend(&way, 1, MPI_INT, size - 1, way, MPI_COMM_WORLD);
		else if (!rank)
			check("value", way, receive_by(way), size - 1);
		MPI_Waitall(MANY, collectives, MPI_STATUSES_IGNORE);
		for (i = 0; i < MANY; i++)
			check("sum of many", i, sums[i], size * (size - 1) / 2);
		if (rank == size - 1 && way < 8)
			MPI_Send(&rank, 1, MPI_INT, 0, way, MPI_COMM_WORLD);
		if (rank == size - 1 && way >= 7) {
			MPI_Recv(&value, 1, MPI_INT, 0, way, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			check("way", way, value, way);
		}
	}
}

/* Wait for all ranks in a function that is left to MPI, or that makes a group. */
static void meet_by(int way, MPI_Comm ring, MPI_Comm unused)
{
	int value = rank, others[RANKS_MAX], counts[RANKS_MAX], displs[RANKS_MAX];
	int same[RANKS_MAX] = { 0 }, pair[2] = { 1, rank }, i;
	MPI_Datatype types[RANKS_MAX];
	MPI_Comm comm;

	for (i = 0; i < RANKS_MAX; i++) {
		types[i] = MPI_INT;
		counts[i] = 1;
		displs[i] = i * sizeof(int);
	}
	switch (way) {
	case 0:
		MPI_Allreduce(MPI_IN_PLACE, pair, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD);
		check("place", way, pair[1], 0);
		break;
	case 1:
		MPI_Alltoallw(&value, counts, same, types, others, counts, displs, types,
			      MPI_COMM_WORLD);
		check("rank", way, others[size - 1], size - 1);
		break;
	case 2:
		MPI_Neighbor_allgather(&value, 1, MPI_INT, others, 1, MPI_INT, ring);
		check("neighbour", way, others[1], (rank + 1) % size);
		break;
	case 3:
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		MPI_Comm_free(&comm);
		break;
	case 4:
		MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
		MPI_Comm_free(&comm);
		break;
	case 5:
		MPI_Allreduce(&rank, &value, 1, MPI_INT, MPI_SUM, unused);
		check("first sum", way, value, size * (size - 1) / 2);
		break;
	default:
		MPI_Sendrecv_replace(&value, 1, MPI_INT, (rank + 1) % size, way,
				     (rank + size - 1) % size, way, MPI_COMM_WORLD,
				     MPI_STATUS_IGNORE);
		check("neighbour", way, value, (rank + size - 1) % size);
	}
}

/* Rank 0 is there before the collectives are complete, others are not. */
static void meet_after_many(void)
{
	MPI_Request collectives[MANY];
	int way, i, sums[MANY];
	MPI_Comm ring, unused;

	MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &(int){ 1 }, 0, &ring);
	MPI_Comm_dup(MPI_COMM_WORLD, &unused);
	for (way = 0; way < 7; way++) {
		for (i = 0; i < MANY; i++)
			MPI_Iallreduce(&rank, &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
				       &collectives[i]);
		if (!rank)
			meet_by(way, ring, unused);
		MPI_Waitall(MANY, collectives, MPI_STATUSES_IGNORE);
		if (rank)
			meet_by(way, ring, unused);
		for (i = 0; i < MANY; i++)
			check("sum of many", i, sums[i], size * (size - 1) / 2);
	}
	MPI_Comm_free(&unused);
	MPI_Comm_free(&ring);
}

/* ---- threads ---- */

static void *messages(void *argument)
{
	const MPI_Comm comm = *(MPI_Comm *)argument;
	int i, value;

	for (i = 0; i < 300; i++) {
		MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, i, &value, 1, MPI_INT,
			     (rank + size - 1) % size, i, comm, MPI_STATUS_IGNORE);
		if (value != (rank + size - 1) % size)
			die("rank %d: message %d is %d", rank, i, value);
	}
	return NULL;
}

static void *waiter(void *argument)
{
	MPI_Wait(argument, MPI_STATUS_IGNORE);
	return NULL;
}

/*
 * One thread has messages while another is in collectives; a third waits for what the main one
 * starts.
 */
static void threads(void)
{
	pthread_t sender, other;
	MPI_Datatype gaps, copied;
	MPI_Comm comm;
	MPI_Request request;
	int i, sum, values[10];

	MPI_Type_vector(5, 1, 2, MPI_INT, &gaps);
	MPI_Type_commit(&gaps);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	pthread_create(&sender, NULL, messages, &comm);
	for (i = 0; i < 30; i++) {
		MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
		pthread_create(&other, NULL, waiter, &request);
		warm(MPI_COMM_WORLD);
		pthread_join(other, NULL);
		check("sum of another thread", i, sum, size * (size - 1) / 2);
		/* A type that is copied, and freed by the program before the call is complete. */
		MPI_Type_dup(gaps, &copied);
		memset(values, -1, sizeof(values));
		values[8] = rank + i;
		MPI_Ibcast(values, 1, copied, size - 1, MPI_COMM_WORLD, &request);
		MPI_Type_free(&copied);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		check("element", i, values[8], size - 1 + i);
		check("gap", i, values[7], -1);
	}
	MPI_Type_free(&gaps);
	pthread_join(sender, NULL);
	MPI_Comm_free(&comm);
}

static void interrupted(int signal)
{
	(void)signal;
	interrupts++;
}

/* System calls are not restarted. */
static void interrupt(void)
{
	const struct itimerval often = { { 0, SIGNAL_US }, { 0, SIGNAL_US } };
	struct sigaction action = { .sa_handler = interrupted };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
}

int main(int argc, char **argv)
{
	const struct itimerval never = { 0 };
	int provided;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size > RANKS_MAX)
		die("at most %d ranks", RANKS_MAX);
	warm(MPI_COMM_WORLD);
	interrupt();
	intercommunicators();
	operators();
	backwards();
	neighbours();
	windows();
	requests();
	message_after_many();
	meet_after_many();
	if (provided == MPI_THREAD_MULTIPLE)
		threads();
	/* Reading and writing files may be interrupted, which is not of interest here. */
	setitimer(ITIMER_REAL, &never, NULL);
	files();
	if (!rank)
		printf("the rest of the standard is right, %d interrupts\n", interrupts);
	MPI_Finalize();
	return 0;
}
