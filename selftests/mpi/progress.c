// SPDX-License-Identifier: GPL-2.0-only
/*
 * Point-to-point messages go on while ranks wait in a collective.
 *
 * Textbook programs: one rank has a large message under way and enters a collective; the others
 * finish their side of the message before they do.  For each collective, in both directions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#include "layout.h"

#define MESSAGE	(4 << 20)
#define COUNT	1000
#define RANKS_MAX	16

static int rank, size;
static int counts[RANKS_MAX], displs[RANKS_MAX];
static int in[COUNT * RANKS_MAX], out[COUNT * RANKS_MAX];

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }
static void bcast(void) { MPI_Bcast(in, COUNT, MPI_INT, 0, MPI_COMM_WORLD); }
static void reduce(void) { MPI_Reduce(in, out, COUNT, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); }
static void allreduce(void) { MPI_Allreduce(in, out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }
static void scan(void) { MPI_Scan(in, out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }
static void exscan(void) { MPI_Exscan(in, out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }

static void allgather(void)
{
	MPI_Allgather(in, COUNT, MPI_INT, out, COUNT, MPI_INT, MPI_COMM_WORLD);
}

static void allgatherv(void)
{
	MPI_Allgatherv(in, COUNT, MPI_INT, out, counts, displs, MPI_INT, MPI_COMM_WORLD);
}

static void gather(void)
{
	MPI_Gather(in, COUNT, MPI_INT, out, COUNT, MPI_INT, 0, MPI_COMM_WORLD);
}

static void gatherv(void)
{
	MPI_Gatherv(in, COUNT, MPI_INT, out, counts, displs, MPI_INT, 0, MPI_COMM_WORLD);
}

static void scatter(void)
{
	MPI_Scatter(in, COUNT, MPI_INT, out, COUNT, MPI_INT, 0, MPI_COMM_WORLD);
}

static void scatterv(void)
{
	MPI_Scatterv(in, counts, displs, MPI_INT, out, COUNT, MPI_INT, 0, MPI_COMM_WORLD);
}

static void alltoall(void)
{
	MPI_Alltoall(in, COUNT, MPI_INT, out, COUNT, MPI_INT, MPI_COMM_WORLD);
}

static void alltoallv(void)
{
	MPI_Alltoallv(in, counts, displs, MPI_INT, out, counts, displs, MPI_INT, MPI_COMM_WORLD);
}

static void reduce_scatter(void)
{
	MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void reduce_scatter_block(void)
{
	MPI_Reduce_scatter_block(in, out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void nonblocking(void)
{
	MPI_Request requests[2];

	MPI_Iallreduce(in, out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
	MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void (*const collectives[])(void) = {
	barrier, bcast, reduce, allreduce, scan, exscan, allgather, allgatherv, gather, gatherv,
	scatter, scatterv, alltoall, alltoallv, reduce_scatter, reduce_scatter_block, nonblocking,
};

#define COLLECTIVES	((int)(sizeof(collectives) / sizeof(collectives[0])))

static void check(const char *message, char value, int which)
{
	int i;

	for (i = 0; i < MESSAGE; i++)
		if (message[i] != value)
			die("collective %d: byte %d of the message is %d", which, i, message[i]);
}

/* Rank 0 has sent and waits in the collective; the others receive before they call it. */
static void sender_first(char *messages, int which)
{
	MPI_Request requests[RANKS_MAX];
	int i;

	if (rank) {
		memset(messages, 0, MESSAGE);
		MPI_Recv(messages, MESSAGE, MPI_CHAR, 0, which, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		check(messages, which, which);
		collectives[which]();
		return;
	}
	memset(messages, which, MESSAGE);
	for (i = 1; i < size; i++)
		MPI_Isend(messages, MESSAGE, MPI_CHAR, i, which, MPI_COMM_WORLD, &requests[i]);
	collectives[which]();
	MPI_Waitall(size - 1, requests + 1, MPI_STATUSES_IGNORE);
}

/* Rank 0 expects messages and waits in the collective; the others send before they call it. */
static void receiver_first(char *messages, int which)
{
	MPI_Request requests[RANKS_MAX];
	int i;

	if (rank) {
		memset(messages, which + 1, MESSAGE);
		MPI_Send(messages, MESSAGE, MPI_CHAR, 0, which, MPI_COMM_WORLD);
		collectives[which]();
		return;
	}
	for (i = 1; i < size; i++)
		MPI_Irecv(messages + (size_t)i * MESSAGE, MESSAGE, MPI_CHAR, i, which,
			  MPI_COMM_WORLD,
			  &requests[i]);
	collectives[which]();
	MPI_Waitall(size - 1, requests + 1, MPI_STATUSES_IGNORE);
	for (i = 1; i < size; i++)
		check(messages + (size_t)i * MESSAGE, which + 1, which);
}

int main(int argc, char **argv)
{
	char *messages;
	int i;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (i = 0; i < size; i++) {
		counts[i] = COUNT;
		displs[i] = i * COUNT;
	}
	messages = malloc((size_t)size * MESSAGE);
	for (i = 0; i < COLLECTIVES; i++) {
		sender_first(messages, i);
		receiver_first(messages, i);
	}
	free(messages);
	if (!rank)
		printf("messages went on during %d collectives\n", COLLECTIVES);
	MPI_Finalize();
	return 0;
}
