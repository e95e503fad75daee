// SPDX-License-Identifier: GPL-2.0-only
/*
 * Collectives of processes that may lock little memory: what they have under way at a time would
 * need more than that, and one rank is late.  None fails, and all that fit are taken.
 *
 *	locked KIB [SECONDS]	limit for each rank, and by how much rank 1 is late
 *	locked refused		rank 0, without a limit at first, may lock nothing for a while
 *	locked spent		other programs of a rank's user lock all that is left, for a while
 *	locked paused		no memory is left for many calls, and then there is some
 *	locked differ		ranks make different calls, one of which locks memory
 *	locked groups		more groups than there is memory for, for several threads
 */
#include <glob.h>
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
#define GROUPS		24

/* Elements of calls that fit a region, and of those that do not. */
#define SMALL		64
#define LARGE		(1 << 16)
/* Elements of a call for which there is memory once, and not twice. */
#define ONCE		(3 << 17)
/* Calls that are left while votes pause, and most votes on them. */
#define PAUSED		128
#define VOTES_MAX	9

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
	MPI_Request requests[REFUSED][2], barrier;
	MPI_Comm comms[REFUSED + 1];
	int i, k, done = 0;
	double start;

	obey_limit(RLIM_INFINITY);
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
		may_lock(RLIM_INFINITY);
	MPI_Waitall(2 * REFUSED, requests[0], MPI_STATUSES_IGNORE);
	for (i = 0; i < REFUSED; i++)
		for (k = 0; k < 2; k++)
			check(out[i][k], MANY, size * (size - 1) / 2 + size * (i + k), "refused");
	for (i = 0; i <= REFUSED; i++)
		MPI_Comm_free(&comms[i]);
}

/* ---- memory that is spent ---- */

static int *in, *out;
static MPI_Request prepared[2];

/* Result of an allreduce of what begin_sum() has given. */
static void check_sum(int count, int n, const char *what)
{
	check(out, count, size * (size - 1) / 2 + size * n, what);
}

static void begin_sum(int count, int n)
{
	fill(in, count, rank + n);
	fill(out, count, -1);
}

static void sum_all(MPI_Comm comm, int count, int n)
{
	MPI_Request request;

	begin_sum(count, n);
	MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comm);
	check_sum(count, n, "spent, blocking");
	fill(out, count, rank + n);
	MPI_Allreduce(MPI_IN_PLACE, out, count, MPI_INT, MPI_SUM, comm);
	check_sum(count, n, "spent, in place");
	begin_sum(count, n);
	MPI_Iallreduce(in, out, count, MPI_INT, MPI_SUM, comm, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	check_sum(count, n, "spent, nonblocking");
	begin_sum(count, n);
	if (HAS_PERSISTENT) {
		MPI_Start(&prepared[count == LARGE]);
		MPI_Wait(&prepared[count == LARGE], MPI_STATUS_IGNORE);
		check_sum(count, n, "spent, persistent");
	}
}

/* Of the blocks of a gatherv only the root knows all. */
static void move(MPI_Comm comm, int count, int n)
{
	int counts[16], displs[16], i;

	fill(out, count, rank ? -1 : n);
	MPI_Bcast(out, count, MPI_INT, 0, comm);
	check(out, count, n, "spent, broadcast");
	for (i = 0; i < size; i++) {
		counts[i] = count / size - i;
		displs[i] = count / size * i;
	}
	fill(in, counts[rank], rank + n);
	fill(out, count, -1);
	MPI_Gatherv(in, counts[rank], MPI_INT, out, counts, displs, MPI_INT, 1, comm);
	for (i = 0; i < size && rank == 1; i++) {
		check(out + displs[i], counts[i], i + n, "spent, gatherv");
		check(out + displs[i] + counts[i], i < size - 1 ? i : 0, -1, "spent, gap");
	}
	fill(out, count, -1);
	MPI_Allgatherv(in, counts[rank], MPI_INT, out, counts, displs, MPI_INT, comm);
	for (i = 0; i < size; i++) {
		check(out + displs[i], counts[i], i + n, "spent, allgatherv");
		check(out + displs[i] + counts[i], i < size - 1 ? i : 0, -1, "spent, gap");
	}
}

/* The kernel needs no result of rank 0, and takes its input from there. */
static void scan_in_place(MPI_Comm comm)
{
	fill(out, ONCE, rank);
	MPI_Scan(MPI_IN_PLACE, out, ONCE, MPI_INT, MPI_SUM, comm);
	check(out, ONCE, rank * (rank + 1) / 2, "spent, scan in place");
	fill(out, ONCE, rank);
	MPI_Exscan(MPI_IN_PLACE, out, ONCE, MPI_INT, MPI_SUM, comm);
	if (rank)
		check(out, ONCE, rank * (rank - 1) / 2, "spent, exscan in place");
}

/* Operations that this rank has submitted in its only group; -1: there is no kernel. */
static long submitted(void)
{
	char path[128];
	glob_t found;
	long n = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/collective/collective/groups/*/%d/ops_submitted",
		 rank);
	if (access("/sys/class/collective", F_OK))
		return -1;
	if (glob(path, 0, NULL, &found) || found.gl_pathc != 1)
		die("not one group");
	file = fopen(found.gl_pathv[0], "r");
	if (!file || fscanf(file, "%ld", &n) != 1)
		die("%s: not a number", found.gl_pathv[0]);
	fclose(file);
	globfree(&found);
	return n;
}

/* Memory is left; rank 0, all ranks but that and all ranks have none; and there is some again. */
static void spent(void)
{
	const rlim_t enough = 7 << 20;
	int n;
	MPI_Comm comm;

	in = malloc(LARGE * sizeof(int));
	out = malloc(ONCE * sizeof(int));
	obey_limit(enough);
	make_groups(&comm, 1);
	scan_in_place(comm);
	if (HAS_PERSISTENT) {
		ALLREDUCE_INIT(in, out, SMALL, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &prepared[0]);
		ALLREDUCE_INIT(in, out, LARGE, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &prepared[1]);
	}
	for (n = 0; n < 10; n++) {
		may_lock((n / 2 & 1 && !rank) || (n / 2 & 2 && rank) ? 0 : enough);
		sum_all(comm, SMALL, n);
		sum_all(comm, LARGE, n);
		move(comm, SMALL, n);
		move(comm, LARGE, n);
		MPI_Barrier(comm);
	}
	if (HAS_PERSISTENT) {
		MPI_Request_free(&prepared[0]);
		MPI_Request_free(&prepared[1]);
	}
	MPI_Comm_free(&comm);
	free(in);
	free(out);
}

/* While votes fail, there are few of them; and calls are taken again some time after that. */
static void paused(void)
{
	const rlim_t enough = 7 << 20;
	MPI_Comm comm;
	long before;
	int n;

	in = calloc(LARGE, sizeof(int));
	out = calloc(LARGE, sizeof(int));
	obey_limit(enough);
	make_groups(&comm, 1);
	before = submitted();
	may_lock(0);
	for (n = 0; n < PAUSED; n++)
		MPI_Allreduce(in, out, LARGE, MPI_INT, MPI_SUM, comm);
	if (submitted() - before > VOTES_MAX)
		die("rank %d: %ld votes on %d calls", rank, submitted() - before, PAUSED);
	may_lock(enough);
	for (n = 0; n < 2 * PAUSED; n++)
		MPI_Allreduce(in, out, LARGE, MPI_INT, MPI_SUM, comm);
	if (before >= 0 && submitted() - before < PAUSED)
		die("rank %d: %ld operations in %d calls after the votes", rank,
		    submitted() - before, 2 * PAUSED);
	MPI_Comm_free(&comm);
	free(in);
	free(out);
}

/* Both calls are errors on all ranks, and the next ones are right. */
static void differ(void)
{
	MPI_Comm comm;
	int i, value, err;

	in = calloc(LARGE, sizeof(int));
	out = calloc(LARGE, sizeof(int));
	obey_limit(7 << 20);
	make_groups(&comm, 1);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	for (i = 0; i < 6; i++) {
		if (rank)
			err = MPI_Bcast(out, LARGE, MPI_INT, 1, comm);
		else if (i & 1)
			err = MPI_Allreduce(in, out, LARGE, MPI_INT, MPI_SUM, comm);
		else
			err = MPI_Allreduce(in, out, 1, MPI_INT, MPI_MIN, comm);
		if (!err)
			die("rank %d: different calls are no error", rank);
		if (MPI_Allreduce(&rank, &value, 1, MPI_INT, MPI_SUM, comm))
			die("rank %d: a call after different ones is an error", rank);
		check(&value, 1, size * (size - 1) / 2, "after different calls");
	}
	MPI_Comm_free(&comm);
	free(in);
	free(out);
}

/* All calls are right, whether or not their communicator has a group. */
static void groups(void)
{
	MPI_Comm comms[GROUPS];
	int round, i, sum;

	obey_limit(384 * 1024 * size);
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
	else if (!strcmp(mode, "spent"))
		spent();
	else if (!strcmp(mode, "paused"))
		paused();
	else if (!strcmp(mode, "differ"))
		differ();
	else if (!strcmp(mode, "groups"))
		groups();
	else
		little(argc, argv);
	if (!rank)
		printf("calls with little memory are right\n");
	MPI_Finalize();
	return 0;
}
