// SPDX-License-Identifier: GPL-2.0-only
/*
 * Corners of MPI's text: calls without elements, MPI_BOTTOM, objects that are freed while they
 * are in use, requests of all kinds in one array, communicators of all kinds, processes that are
 * spawned, callbacks that call collectives.
 *
 *	corners [spawn]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#include "layout.h"

#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
#define INIT(name)	MPI_##name##_init
#else
#define INIT(name)	MPIX_##name##_init
#endif

/* Persistent calls of MPICH 4.0 are its own, and wrong in several ways. */
#ifdef OPEN_MPI
#define HAS_PERSISTENT	1
#else
#define HAS_PERSISTENT	0
#endif

#define CALLS	8
#define MANY	300
#define PERSISTENT	600

static int rank, size;
static const char *program;

/* Sums over @comm, blocking and not, each of which must be right. */
static void use(MPI_Comm comm)
{
	int me, ranks, i, value, result;
	MPI_Request request;

	MPI_Comm_rank(comm, &me);
	MPI_Comm_size(comm, &ranks);
	for (i = 0; i < CALLS; i++) {
		value = me + i;
		result = -1;
		if (i % 3 == 2) {
			MPI_Iallreduce(&value, &result, 1, MPI_INT, MPI_SUM, comm, &request);
			MPI_Wait(&request, MPI_STATUS_IGNORE);
		} else {
			MPI_Allreduce(&value, &result, 1, MPI_INT, MPI_SUM, comm);
		}
		if (result != ranks * (ranks - 1) / 2 + ranks * i)
			die("rank %d of %d: sum is %d in call %d", me, ranks, result, i);
	}
}

/* ---- no elements ---- */

static void nothing(void)
{
	/* MPICH refuses buffers that are one, also those without elements. */
	int *zeroes = calloc(2 * size, sizeof(int)), *others = zeroes + size;
	MPI_Request requests[20];
	MPI_Datatype empty;
	int n = 0, round, out;

	MPI_Type_contiguous(0, MPI_INT, &empty);
	MPI_Type_commit(&empty);
	for (round = 0; round < 2; round++) {
		const MPI_Datatype type = round ? empty : MPI_INT;
		const int count = round;

		MPI_Bcast(NULL, count, type, 0, MPI_COMM_WORLD);
		MPI_Gather(NULL, count, type, &out, count, type, 0, MPI_COMM_WORLD);
		MPI_Scatter(NULL, count, type, &out, count, type, 0, MPI_COMM_WORLD);
		MPI_Allgather(NULL, count, type, &out, count, type, MPI_COMM_WORLD);
		MPI_Alltoall(NULL, count, type, &out, count, type, MPI_COMM_WORLD);
		MPI_Gatherv(NULL, 0, type, NULL, zeroes, zeroes, type, 0, MPI_COMM_WORLD);
		MPI_Scatterv(NULL, zeroes, zeroes, type, NULL, 0, type, 0, MPI_COMM_WORLD);
		MPI_Allgatherv(NULL, 0, type, NULL, zeroes, zeroes, type, MPI_COMM_WORLD);
		MPI_Alltoallv(NULL, zeroes, zeroes, type, NULL, others, zeroes, type,
			      MPI_COMM_WORLD);
		n = 0;
		MPI_Ibcast(NULL, count, type, 0, MPI_COMM_WORLD, &requests[n++]);
		MPI_Iallgather(NULL, count, type, &out, count, type, MPI_COMM_WORLD,
			       &requests[n++]);
		MPI_Ialltoall(NULL, count, type, &out, count, type, MPI_COMM_WORLD,
			      &requests[n++]);
		MPI_Ialltoallv(NULL, zeroes, zeroes, type, NULL, others, zeroes, type,
			       MPI_COMM_WORLD, &requests[n++]);
		MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
	}
	MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Reduce(NULL, NULL, 0, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Scan(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Exscan(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Reduce_scatter(NULL, NULL, zeroes, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Reduce_scatter_block(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Type_free(&empty);
	free(zeroes);
}

/* ---- addresses ---- */

/* Types that hold addresses, with MPI_BOTTOM as the buffer. */
static void bottom(void)
{
	int *parts[2] = { calloc(4, sizeof(int)), calloc(8, sizeof(int)) };
	int lengths[2] = { 3, 2 }, i, values[5];
	int *all = malloc(5 * size * sizeof(int));
	MPI_Aint addresses[2];
	MPI_Datatype type;

	MPI_Get_address(parts[0], &addresses[0]);
	MPI_Get_address(parts[1], &addresses[1]);
	MPI_Type_create_hindexed(2, lengths, addresses, MPI_INT, &type);
	MPI_Type_commit(&type);
	for (i = 0; i < 5; i++)
		values[i] = i + 7;
	/* The signatures match, the types do not. */
	if (rank == size - 1)
		MPI_Bcast(values, 5, MPI_INT, size - 1, MPI_COMM_WORLD);
	else
		MPI_Bcast(MPI_BOTTOM, 1, type, size - 1, MPI_COMM_WORLD);
	for (i = 0; i < 5 && rank != size - 1; i++)
		if (parts[i / 3][i % 3] != i + 7)
			die("broadcast to addresses: %d", parts[i / 3][i % 3]);
	for (i = 0; i < 5; i++)
		parts[i / 3][i % 3] = 10 * rank + i;
	MPI_Allgather(MPI_BOTTOM, 1, type, all, 5, MPI_INT, MPI_COMM_WORLD);
	for (i = 0; i < 5 * size; i++)
		if (all[i] != i / 5 * 10 + i % 5)
			die("gathered from addresses: %d at %d", all[i], i);
	MPI_Type_free(&type);
	free(parts[0]);
	free(parts[1]);
	free(all);
}

/* ---- objects that are freed ---- */

static void user_sum(void *in, void *inout, int *count, MPI_Datatype *type)
{
	int i;

	(void)type;
	for (i = 0; i < *count; i++)
		((int *)inout)[i] += ((int *)in)[i];
}

static void freed(void)
{
	int ones[2] = { 1, 1 }, sums[4], *all = malloc(2 * size * sizeof(int));
	MPI_Request requests[4];
	MPI_Datatype pair, dup;
	MPI_Comm comm;
	MPI_Op op;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	use(comm);
	MPI_Type_contiguous(2, MPI_INT, &pair);
	MPI_Type_commit(&pair);
	MPI_Type_dup(MPI_INT, &dup);
	MPI_Op_create(user_sum, 1, &op);
	MPI_Iallgather(ones, 1, pair, all, 1, pair, comm, &requests[0]);
	MPI_Iallreduce(ones, sums, 2, MPI_INT, op, comm, &requests[1]);
	MPI_Iallreduce(ones, sums + 2, 1, MPI_INT, MPI_SUM, comm, &requests[2]);
	if (HAS_PERSISTENT)
		INIT(Allgather)(ones, 2, dup, all, 1, pair, comm, MPI_INFO_NULL, &requests[3]);
	MPI_Type_free(&pair);
	MPI_Type_free(&dup);
	MPI_Op_free(&op);
	MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
	if (sums[0] != size || sums[1] != size || sums[2] != size)
		die("sums %d %d %d after the operator was freed", sums[0], sums[1], sums[2]);
	if (all[0] != 1 || all[2 * size - 1] != 1)
		die("%d %d after the types were freed", all[0], all[2 * size - 1]);
	if (HAS_PERSISTENT) {
		ones[1] = 5;
		MPI_Start(&requests[3]);
		MPI_Wait(&requests[3], MPI_STATUS_IGNORE);
		if (all[0] != 1 || all[2 * size - 1] != 5)
			die("%d %d after the types were freed", all[0], all[2 * size - 1]);
		MPI_Request_free(&requests[3]);
	}
	MPI_Comm_free(&comm);
	free(all);
}

/* A collective that is under way can be neither freed nor cancelled, and completes. */
static void not_freed(void)
{
	int value = rank, result = -1, class;
	MPI_Request request;
	MPI_Comm comm;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	use(comm);
	/* The others are late, so that it is under way. */
	if (!rank) {
		MPI_Iallreduce(&value, &result, 1, MPI_INT, MPI_SUM, comm, &request);
		/* MPICH has no such error. */
#ifdef OPEN_MPI
		MPI_Error_class(MPI_Request_free(&request), &class);
		if (class != MPI_ERR_REQUEST || request == MPI_REQUEST_NULL)
			die("a request that is under way was freed: class %d", class);
#else
		(void)class;
#endif
		MPI_Cancel(&request);
		MPI_Barrier(MPI_COMM_WORLD);
	} else {
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Iallreduce(&value, &result, 1, MPI_INT, MPI_SUM, comm, &request);
	}
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	if (result != size * (size - 1) / 2)
		die("sum is %d after the request was to be freed", result);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Comm_free(&comm);
}

/* ---- requests ---- */

/* More than the kernel accepts at a time, completed from the end. */
static void many(void)
{
	static int values[MANY], results[MANY];
	static MPI_Request requests[MANY];
	int i, sum = -1, flag;

	for (i = 0; i < MANY; i++) {
		values[i] = rank + i;
		MPI_Iallreduce(&values[i], &results[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
			       &requests[i]);
	}
	/* A blocking one overtakes them. */
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (sum != size * (size - 1) / 2)
		die("sum is %d among many", sum);
	do
		MPI_Request_get_status(requests[MANY - 1], &flag, MPI_STATUS_IGNORE);
	while (!flag);
	/* Another blocking one, when most of them are complete and none is collected. */
	MPI_Barrier(MPI_COMM_WORLD);
	for (i = MANY - 1; i >= 0; i--) {
		MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
		if (results[i] != size * (size - 1) / 2 + size * i)
			die("sum %d of many is %d", i, results[i]);
	}
}

#ifdef OPEN_MPI
/*
 * More persistent calls than the kernel accepts at a time, started in opposite orders: those that
 * any rank waits for are under way on all.
 */
static void many_persistent(void)
{
	static int values[PERSISTENT], results[PERSISTENT];
	static MPI_Request requests[PERSISTENT];
	int i, k, round;

	for (i = 0; i < PERSISTENT; i++)
		INIT(Allreduce)(&values[i], &results[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
				MPI_INFO_NULL, &requests[i]);
	for (round = 0; round < 2; round++) {
		for (i = 0; i < PERSISTENT; i++) {
			k = rank % 2 ? PERSISTENT - 1 - i : i;
			values[k] = rank + k + round;
			MPI_Start(&requests[k]);
		}
		MPI_Waitall(PERSISTENT, requests, MPI_STATUSES_IGNORE);
		for (i = 0; i < PERSISTENT; i++)
			if (results[i] != size * (size - 1) / 2 + size * (i + round))
				die("sum %d of many persistent ones is %d", i, results[i]);
	}
	for (i = 0; i < PERSISTENT; i++)
		MPI_Request_free(&requests[i]);
}
#else
static void many_persistent(void)
{
}
#endif

/* Messages and collectives, persistent and not, are started and completed together. */
static void mixed(void)
{
	const int to = (rank + 1) % size, from = (rank + size - 1) % size;
	int sent[2] = { rank, rank }, received[2], sum, gathered[64], done, indices[5], round, k;
	MPI_Request requests[5], inactive = MPI_REQUEST_NULL;

	MPI_Send_init(sent, 1, MPI_INT, to, 5, MPI_COMM_WORLD, &requests[0]);
	MPI_Recv_init(received, 1, MPI_INT, from, 5, MPI_COMM_WORLD, &requests[1]);
	if (HAS_PERSISTENT) {
		INIT(Allreduce)(sent, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
				&requests[2]);
		INIT(Allgather)(sent, 1, MPI_INT, gathered, 1, MPI_INT, MPI_COMM_WORLD,
				MPI_INFO_NULL, &requests[3]);
		INIT(Barrier)(MPI_COMM_WORLD, MPI_INFO_NULL, &inactive);
	}
	for (round = 0; round < 20; round++) {
		/* One that was never started is complete. */
		MPI_Wait(&inactive, MPI_STATUS_IGNORE);
		MPI_Startall(HAS_PERSISTENT ? 4 : 2, requests);
		if (!HAS_PERSISTENT) {
			MPI_Iallreduce(sent, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
				       &requests[2]);
			MPI_Iallgather(sent, 1, MPI_INT, gathered, 1, MPI_INT, MPI_COMM_WORLD,
				       &requests[3]);
		}
		MPI_Ibcast(&sent[1], 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[4]);
		for (k = 0; k < 5; k += done)
			MPI_Waitsome(5, requests, &done, indices, MPI_STATUSES_IGNORE);
		if (sum != size * (size - 1) / 2 || received[0] != from || sent[1] ||
		    gathered[size - 1] != size - 1)
			die("round %d: sum %d, received %d, broadcast %d, gathered %d", round, sum,
			    received[0], sent[1], gathered[size - 1]);
		sum = -1;
		received[0] = -1;
		sent[1] = rank;
		gathered[size - 1] = -1;
	}
	for (k = 0; k < 4; k++)
		if (requests[k] != MPI_REQUEST_NULL)
			MPI_Request_free(&requests[k]);
	if (inactive != MPI_REQUEST_NULL)
		MPI_Request_free(&inactive);
}

/* Messages to unknown ranks: a barrier tells that all have arrived. */
static void sparse(void)
{
	int round, i, flag, done, all_sent, received, value = 0, sum, total;
	MPI_Request *sends = malloc(size * sizeof(*sends)), barrier;
	MPI_Status status;

	for (round = 0; round < 20; round++) {
		int count = 0, waits = 0;

		for (i = 0; i < size; i++)
			if ((rank * 7 + i * 3 + round) % 3 == 0)
				MPI_Issend(&value, 1, MPI_INT, i, round, MPI_COMM_WORLD,
					   &sends[count++]);
		received = 0;
		for (done = 0; !done;) {
			MPI_Iprobe(MPI_ANY_SOURCE, round, MPI_COMM_WORLD, &flag, &status);
			if (flag) {
				MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, round,
					 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
				received++;
			}
			if (waits) {
				MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
				continue;
			}
			MPI_Testall(count, sends, &all_sent, MPI_STATUSES_IGNORE);
			if (all_sent) {
				MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
				waits = 1;
			}
		}
		MPI_Allreduce(&count, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		MPI_Allreduce(&received, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		if (sum != total)
			die("round %d: %d messages of %d", round, sum, total);
	}
	free(sends);
}

/* ---- communicators ---- */

static void use_and_free(MPI_Comm comm)
{
	if (comm == MPI_COMM_NULL)
		return;
	use(comm);
	MPI_Comm_free(&comm);
}

static void kinds(void)
{
	const int periods[2] = { 1, 0 };
	int dims[2] = { 0, 0 }, keep[2] = { 1, 0 };
	MPI_Group all, part;
	MPI_Comm comm, row;

	use(MPI_COMM_SELF);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &comm);
	use_and_free(comm);
	MPI_Dims_create(size, 2, dims);
	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &comm);
	MPI_Cart_sub(comm, keep, &row);
	use_and_free(row);
	use_and_free(comm);
	MPI_Comm_group(MPI_COMM_WORLD, &all);
	MPI_Group_excl(all, 1, &(int){ 0 }, &part);
	MPI_Comm_create(MPI_COMM_WORLD, part, &comm);
	use_and_free(comm);
	/* Rank 0 has nothing to do with it. */
	if (rank) {
		MPI_Comm_create_group(MPI_COMM_WORLD, part, 3, &comm);
		MPI_Comm_set_name(comm, "all but rank 0");
		use_and_free(comm);
	}
	MPI_Group_free(&part);
	MPI_Group_free(&all);
}

/* Two halves, and what is made of them. */
static void halves(void)
{
	const int low = rank < size / 2;
	int value = rank, result = -1, i, sum;
	MPI_Comm half, inter, merged;

	MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half);
	use(half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? size / 2 : 0, 9, &inter);
	for (i = 0; i < CALLS; i++) {
		MPI_Barrier(inter);
		MPI_Allreduce(&value, &result, 1, MPI_INT, MPI_SUM, inter);
		sum = size / 2 * (size / 2 - 1) / 2;
		if (result != (low ? size * (size - 1) / 2 - sum : sum))
			die("the sum of the other half is %d", result);
		MPI_Bcast(&value, 1, MPI_INT, low ? (rank ? MPI_PROC_NULL : MPI_ROOT) : 0, inter);
		if (!low && value)
			die("the other half's broadcast is %d", value);
		value = rank;
	}
	MPI_Intercomm_merge(inter, low, &merged);
	use_and_free(merged);
	MPI_Comm_free(&inter);
	use_and_free(half);
}

#define GENERATIONS	2

/* Start two processes, and make one communicator of @all and them. */
static MPI_Comm spawn(MPI_Comm all)
{
	MPI_Comm children, merged;
	int errors[2];

	MPI_Comm_spawn(program, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, all, &children, errors);
	MPI_Intercomm_merge(children, 0, &merged);
	MPI_Comm_free(&children);
	use(merged);
	return merged;
}

/*
 * Processes that are started later, by all that there are.  Those of one generation do not know the
 * others as these know them, for example on which host they are.
 */
static void generations(MPI_Comm all, int generation)
{
	MPI_Comm next;

	for (; generation < GENERATIONS; generation++) {
		next = spawn(all);
		if (all != MPI_COMM_WORLD)
			MPI_Comm_free(&all);
		all = next;
		MPI_Bcast(&(int){ generation }, 1, MPI_INT, 0, all);
	}
	if (all != MPI_COMM_WORLD)
		MPI_Comm_free(&all);
}

/* A process that was spawned. */
static void spawned(MPI_Comm parent)
{
	MPI_Comm merged;
	int generation;

	MPI_Intercomm_merge(parent, 1, &merged);
	MPI_Comm_free(&parent);
	use(merged);
	MPI_Bcast(&generation, 1, MPI_INT, 0, merged);
	generations(merged, generation + 1);
}

/* ---- callbacks ---- */

static int deleted;

static int delete(MPI_Comm comm, int key, void *value, void *extra)
{
	(void)comm;
	(void)key;
	(void)extra;
	/* Of the communicator that is being freed, or of all while MPI ends. */
	use(value ? *(MPI_Comm *)value : MPI_COMM_WORLD);
	deleted++;
	if (deleted == 3 && !rank)
		printf("corners are right\n");
	return MPI_SUCCESS;
}

static void attributes(void)
{
	MPI_Comm comm;
	int key;

	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete, &key, NULL);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	use(comm);
	MPI_Comm_set_attr(comm, key, &comm);
	MPI_Comm_free(&comm);
	if (deleted != 1)
		die("an attribute was deleted %d times", deleted);
	MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
}

/*
 * MPI_Finalize() deletes these in the reverse order, whether they were set before the first call or
 * after.
 */
static void attribute_of_self(void)
{
	int key;

	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete, &key, NULL);
	MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
}

int main(int argc, char **argv)
{
	MPI_Comm parent;

	MPI_Init(&argc, &argv);
	program = argv[0];
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_get_parent(&parent);
	if (parent != MPI_COMM_NULL) {
		use(MPI_COMM_WORLD);
		spawned(parent);
		MPI_Finalize();
		return 0;
	}
	if (!rank)
		attribute_of_self();
	use(MPI_COMM_WORLD);
	if (rank)
		attribute_of_self();
	nothing();
	bottom();
	freed();
	not_freed();
	many();
	mixed();
	many_persistent();
	sparse();
	kinds();
	halves();
	if (argc > 1)
		generations(MPI_COMM_WORLD, 0);
	attributes();
	MPI_Finalize();
	return 0;
}
