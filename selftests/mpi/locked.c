// SPDX-License-Identifier: GPL-2.0-only
/*
 * Collectives of processes that may lock little memory: what they have under way at a time would
 * need more than that, and one rank is late.  None fails, and all that fit are taken.
 *
 *	locked KIB [SECONDS]	limit for each rank, and by how much rank 1 is late
 *	locked refused		rank 0 may lock nothing for a while, after groups were made
 *	locked groups		more groups than there is memory for, for several threads
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#include "layout.h"

#ifdef OPEN_MPI
#define HAS_PERSISTENT	1
#if OMPI_MAJOR_VERSION >= 5
#define ALLREDUCE_INIT	MPI_Allreduce_init
#else
#define ALLREDUCE_INIT	MPIX_Allreduce_init
#endif
#else
#define HAS_PERSISTENT	0
#define ALLREDUCE_INIT	MPI_Allreduce_init
#endif

#define COMMS		3
#define CALLS		8
#define OPERATIONS	(COMMS * CALLS)

/* Communicators and elements of operations that are refused; how long others may take meanwhile. */
#define REFUSED		20
#define MANY		16384
#define REFUSED_SECONDS	5
#define GROUPS		12

static int rank, size, late;
static size_t kib;

/* A process with CAP_IPC_LOCK has no limit. */
static void obey_limit(rlim_t bytes)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	struct rlimit limit = { bytes, bytes };

	if (syscall(SYS_capget, &header, data))
		die("no capabilities");
	data[0].effective &= ~(1U << CAP_IPC_LOCK);
	data[0].permitted &= ~(1U << CAP_IPC_LOCK);
	if (syscall(SYS_capset, &header, data) || setrlimit(RLIMIT_MEMLOCK, &limit))
		die("no limit");
}

/*
 * Ranks start operations of the communicators in different orders; those of each in the same one.
 */
static void place(int n, int *comm, int *call)
{
	if (rank % 2) {
		*comm = COMMS - 1 - n / CALLS;
		*call = n % CALLS;
	} else {
		*comm = n % COMMS;
		*call = n / COMMS;
	}
}

static void check(const int *values, int count, int expected, const char *what)
{
	int i;

	for (i = 0; i < count; i++)
		if (values[i] != expected)
			die("rank %d: %s: element %d is %d, expected %d", rank, what, i, values[i],
			    expected);
}

static void fill(int *values, int count, int value)
{
	while (count--)
		*values++ = value;
}

static void nonblocking(MPI_Comm *comms, int count)
{
	int *in = malloc(sizeof(int) * OPERATIONS * count);
	int *out = malloc(sizeof(int) * OPERATIONS * count);
	MPI_Request requests[OPERATIONS];
	int n, comm, call, at;

	/* By then the others have started more than fits. */
	if (2 * sizeof(int) * OPERATIONS * count > kib * 1024) {
		if (rank == 1)
			sleep(late);
		late = 0;
	}
	for (n = 0; n < OPERATIONS; n++) {
		place(n, &comm, &call);
		at = comm * CALLS + call;
		fill(in + at * count, count, rank + at);
		MPI_Iallreduce(in + at * count, out + at * count, count, MPI_INT, MPI_SUM,
			       comms[comm], &requests[at]);
	}
	MPI_Waitall(OPERATIONS, requests, MPI_STATUSES_IGNORE);
	for (n = 0; n < OPERATIONS; n++)
		check(out + n * count, count, size * (size - 1) / 2 + size * n, "nonblocking");
	free(in);
	free(out);
}

/* Started in opposite orders; their memory is reserved while there is some. */
static void persistent(MPI_Comm comm, int count)
{
	int *in = malloc(sizeof(int) * CALLS * count), *out = malloc(sizeof(int) * CALLS * count);
	MPI_Request requests[CALLS];
	int i, k, round;

	for (i = 0; i < CALLS; i++)
		ALLREDUCE_INIT(in + i * count, out + i * count, count, MPI_INT, MPI_SUM, comm,
			       MPI_INFO_NULL, &requests[i]);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < CALLS; i++)
			fill(in + i * count, count, rank + i + round);
		for (i = 0; i < CALLS; i++) {
			k = rank % 2 ? CALLS - 1 - i : i;
			MPI_Start(&requests[k]);
		}
		MPI_Waitall(CALLS, requests, MPI_STATUSES_IGNORE);
		for (i = 0; i < CALLS; i++)
			check(out + i * count, count, size * (size - 1) / 2 + size * (i + round),
			      "persistent");
	}
	for (i = 0; i < CALLS; i++)
		MPI_Request_free(&requests[i]);
	free(in);
	free(out);
}

/* A blocking one among others that hold the memory of their form. */
static void among_others(MPI_Comm comm, int count)
{
	int *in = malloc(sizeof(int) * CALLS * count), *out = malloc(sizeof(int) * CALLS * count);
	MPI_Request requests[CALLS];
	int i, value = rank, sum = -1;

	for (i = 0; i < CALLS; i++) {
		fill(in + i * count, count, rank + i);
		MPI_Iallreduce(in + i * count, out + i * count, count, MPI_INT, MPI_SUM, comm,
			       &requests[i]);
	}
	MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
	check(&sum, 1, size * (size - 1) / 2, "blocking");
	MPI_Barrier(comm);
	MPI_Waitall(CALLS, requests, MPI_STATUSES_IGNORE);
	for (i = 0; i < CALLS; i++)
		check(out + i * count, count, size * (size - 1) / 2 + size * i, "among others");
	free(in);
	free(out);
}

/* Give each of @count communicators its group. */
static void make_groups(MPI_Comm *comms, int count)
{
	int i, k;

	for (i = 0; i < count; i++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
		for (k = 0; k < 6; k++)
			MPI_Barrier(comms[i]);
	}
}

static void may_lock(rlim_t bytes)
{
	struct rlimit limit;

	getrlimit(RLIMIT_MEMLOCK, &limit);
	limit.rlim_cur = bytes;
	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		die("no limit");
}

/*
 * The kernel refuses operations of more groups than are tried at a time.  Others go on meanwhile,
 * and the refused ones are done as soon as they can.
 */
static void refused(void)
{
	static int in[REFUSED][2][MANY], out[REFUSED][2][MANY];
	const rlim_t enough = 1ULL << 50;
	MPI_Request requests[REFUSED][2], barrier;
	MPI_Comm comms[REFUSED + 1];
	int i, k, done = 0;
	double start;

	obey_limit(enough);
	make_groups(comms, REFUSED + 1);
	if (!rank)
		may_lock(0);
	for (i = 0; i < REFUSED; i++)
		for (k = 0; k < 2; k++) {
			fill(in[i][k], MANY, rank + i + k);
			MPI_Iallreduce(in[i][k], out[i][k], MANY, MPI_INT, MPI_SUM, comms[i],
				       &requests[i][k]);
		}
	start = MPI_Wtime();
	MPI_Ibarrier(comms[REFUSED], &barrier);
	while (!done && MPI_Wtime() - start < REFUSED_SECONDS)
		MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
	if (!done)
		die("rank %d: a barrier waits for operations of other groups", rank);
	if (!rank)
		may_lock(enough);
	MPI_Waitall(2 * REFUSED, requests[0], MPI_STATUSES_IGNORE);
	for (i = 0; i < REFUSED; i++)
		for (k = 0; k < 2; k++)
			check(out[i][k], MANY, size * (size - 1) / 2 + size * (i + k), "refused");
	for (i = 0; i <= REFUSED; i++)
		MPI_Comm_free(&comms[i]);
}

/* All calls are right, whether or not their communicator has a group. */
static void groups(void)
{
	MPI_Comm comms[GROUPS];
	int round, i, sum;

	obey_limit(2048 * 1024 * size);
	for (round = 0; round < 2; round++) {
		make_groups(comms, GROUPS);
		for (i = 0; i < GROUPS; i++) {
			MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comms[i]);
			check(&sum, 1, size * (size - 1) / 2, "groups");
		}
		for (i = 0; i < GROUPS; i++)
			MPI_Comm_free(&comms[i]);
	}
}

static void little(int argc, char **argv)
{
	MPI_Comm comms[COMMS];
	int i, count;

	kib = argc > 1 ? atoi(argv[1]) : 1024;
	late = argc > 2 ? atoi(argv[2]) : 0;
	/* All ranks are processes of one user on one host. */
	obey_limit(kib * 1024 * size);
	make_groups(comms, COMMS);
	/* Small ones, those of which a few fit, and those that are too large for a group. */
	for (count = 16; count <= (int)kib * 64; count *= 4) {
		nonblocking(comms, count);
		if (HAS_PERSISTENT)
			persistent(comms[0], count);
		among_others(comms[0], count);
	}
	for (i = 0; i < COMMS; i++)
		MPI_Comm_free(&comms[i]);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int provided;

	MPI_Init_thread(&argc, &argv,
			strcmp(mode, "groups") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE,
			&provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (!strcmp(mode, "refused"))
		refused();
	else if (!strcmp(mode, "groups"))
		groups();
	else
		little(argc, argv);
	if (!rank)
		printf("calls with little memory are right\n");
	MPI_Finalize();
	return 0;
}
