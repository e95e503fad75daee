// SPDX-License-Identifier: GPL-2.0-only
/*
 * Errors reach the error handler of the communicator, with the rank at fault in their text.
 *
 *	errors mismatch		ranks give different counts
 *	errors size		rank 1 receives from itself what it does not send
 *	errors limit		the same beside a lower limit of 24 bytes, on 3 ranks
 *	errors type		a type is not one, or not committed
 *	errors refused		calls of rank 1 are wrong in themselves, the others do not make them
 *	errors death		rank 1 dies; run it so that the others go on
 *	errors fatal		ranks give different counts, and MPI ends the program
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#include "layout.h"

#define CALLS	12

static int rank, handled;
static char text[MPI_MAX_ERROR_STRING];

static void handler(MPI_Comm *comm, int *code, ...)
{
	int length;

	(void)comm;
	handled++;
	MPI_Error_string(*code, text, &length);
}

static void expect(int err, const char *words)
{
	if (err == MPI_SUCCESS || !handled || !strstr(text, words))
		die("rank %d: error %d, %d times handled: \"%s\", expected \"%s\"", rank, err,
		    handled, text,
		    words);
	printf("rank %d: %s\n", rank, text);
	handled = 0;
}

static void mismatch(MPI_Comm comm)
{
	int values[100] = { 0 }, sums[100];
	MPI_Request request;

	expect(MPI_Allreduce(values, sums, rank == 1 ? 99 : 100, MPI_INT, MPI_SUM, comm), "rank 1");
	if (MPI_Allreduce(values, sums, 100, MPI_INT, MPI_SUM, comm) != MPI_SUCCESS)
		die("rank %d: the communicator has not survived: %s", rank, text);
	MPI_Iallreduce(values, sums, rank == 1 ? 99 : 100, MPI_INT, MPI_SUM, comm, &request);
	expect(MPI_Wait(&request, MPI_STATUS_IGNORE), "rank 1");
}

/* One of several requests has failed, which its status tells. */
static void mismatch_in_array(MPI_Comm comm)
{
	int values[100] = { 0 }, sums[2][100], i, err, length;
	MPI_Status statuses[2];
	MPI_Request requests[2];

	for (i = 0; i < 2; i++)
		MPI_Iallreduce(values, sums[i], i && rank == 1 ? 99 : 100, MPI_INT, MPI_SUM, comm,
			       &requests[i]);
	err = MPI_Waitall(2, requests, statuses);
	MPI_Error_class(err, &err);
	if (err != MPI_ERR_IN_STATUS || !handled)
		die("rank %d: class %d, %d times handled", rank, err, handled);
	handled = 0;
	MPI_Error_string(statuses[1].MPI_ERROR, text, &length);
	/* Open MPI may not have looked at the first one after the failure. */
	if (statuses[0].MPI_ERROR == MPI_ERR_PENDING)
		statuses[0].MPI_ERROR = MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
	if (statuses[0].MPI_ERROR != MPI_SUCCESS || !strstr(text, "rank 1"))
		die("rank %d: statuses %d and \"%s\"", rank, statuses[0].MPI_ERROR, text);
}

/*
 * A failed request is told by MPI_Request_get_status() as complete, and by MPI_Testall() as failed.
 */
static void mismatch_in_tests(MPI_Comm comm)
{
	int values[100] = { 0 }, sums[2][100], i, flag = 0, err, class, length;
	MPI_Status statuses[2];
	MPI_Request requests[2];

	for (i = 0; i < 2; i++)
		MPI_Iallreduce(values, sums[i], i && rank == 1 ? 99 : 100, MPI_INT, MPI_SUM, comm,
			       &requests[i]);
	while (!flag)
		if (MPI_Request_get_status(requests[1], &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS)
			die("rank %d: a look at a request has failed: %s", rank, text);
	if (handled)
		die("rank %d: %d times handled by a look", rank, handled);
	for (flag = 0, err = MPI_SUCCESS; !flag && err == MPI_SUCCESS;)
		err = MPI_Testall(2, requests, &flag, statuses);
	MPI_Error_class(err, &class);
	if (class != MPI_ERR_IN_STATUS || !handled)
		die("rank %d: class %d, %d times handled", rank, class, handled);
	handled = 0;
	MPI_Error_string(statuses[1].MPI_ERROR, text, &length);
	if (!strstr(text, "rank 1"))
		die("rank %d: status \"%s\"", rank, text);
	for (i = 0; i < 2; i++)
		if (requests[i] != MPI_REQUEST_NULL)
			MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
	handled = 0;
}

/*
 * The communicator is freed while a request of it is under way: its handler is told all the same.
 */
static void mismatch_after_free(MPI_Comm comm)
{
	int values[100] = { 0 }, sums[100];
	MPI_Request request;

	MPI_Iallreduce(values, sums, rank == 1 ? 99 : 100, MPI_INT, MPI_SUM, comm, &request);
	MPI_Comm_free(&comm);
	expect(MPI_Wait(&request, MPI_STATUS_IGNORE), "rank 1");
}

#ifdef MPICH_NUMVERSION
/* The same with a size for each rank.  Open MPI refuses it on rank 1, and the others wait. */
static void wrong_size_of_vectors(MPI_Comm comm)
{
	int sent[2 * 16], all[2 * 16] = { 0 }, counts[16], fewer[16], displs[16], i, err;

	for (i = 0; i < 16; i++) {
		sent[2 * i] = rank + 1;
		sent[2 * i + 1] = rank + 1;
		counts[i] = 2;
		fewer[i] = i == 1 && rank == 1 ? 1 : 2;
		displs[i] = 2 * i;
	}
	err = MPI_Alltoallv(sent, counts, displs, MPI_INT, all, fewer, displs, MPI_INT, comm);
	if (rank == 1)
		expect(err, "longer than the buffer");
	else if (err != MPI_SUCCESS || all[2] != 2 || all[3] != 2)
		die("rank %d: error %d, received %d %d", rank, err, all[2], all[3]);
}
#endif

/* What a rank sends to itself is not what it receives. */
static void wrong_size(MPI_Comm comm)
{
	int values[2] = { rank, rank }, all[2 * 16], counts[16], displs[16], i, k, sum, err;
	MPI_Request request;

	for (i = 0; i < 16; i++) {
		counts[i] = 2;
		displs[i] = 2 * i;
	}
	for (i = 0; i < 2; i++) {
		/* The others see that it does not send what they receive. */
		expect(MPI_Allgather(values, rank == 1 ? 1 : 2, MPI_INT, all, 2, MPI_INT, comm),
		       "rank 1");
		expect(MPI_Allgatherv(values, rank == 1 ? 1 : 2, MPI_INT, all, counts, displs,
				      MPI_INT, comm), "rank 1");
		/* The others are right. */
		err = MPI_Allgather(values, 2, MPI_INT, all, rank == 1 ? 1 : 2, MPI_INT, comm);
		if (rank == 1)
			expect(err, "longer than the buffer");
		for (k = 0; k < 2 && rank != 1; k++)
			if (err != MPI_SUCCESS || all[2 * 1 + k] != 1)
				die("rank %d: error %d, received %d", rank, err, all[2 + k]);
		err = MPI_Gather(values, rank == 1 ? 2 : 1, MPI_INT, all, 1, MPI_INT, 1, comm);
		if (rank == 1)
			expect(err, "longer than the buffer");
		err = MPI_Gatherv(values, rank == 1 ? 1 : 2, MPI_INT, all, counts, displs, MPI_INT,
				  1, comm);
		if (rank == 1)
			expect(err, "longer than the buffer");
		err = MPI_Scatter(all, 2, MPI_INT, values, rank == 1 ? 1 : 2, MPI_INT, 1, comm);
		if (rank == 1)
			expect(err, "longer than the buffer");
		err = MPI_Iallgather(values, 2, MPI_INT, all, rank == 1 ? 1 : 2, MPI_INT, comm,
				     &request);
		if (err == MPI_SUCCESS)
			err = MPI_Wait(&request, MPI_STATUS_IGNORE);
		if (rank == 1)
			expect(err, "longer than the buffer");
		/* The communicator survives. */
		if (MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm) != MPI_SUCCESS ||
		    handled)
			die("rank %d: the communicator has not survived: %s", rank, text);
	}
}

/* The failure goes to the handler of the communicator of the call, and to no other. */
static void wrong_type(MPI_Comm comm)
{
	int values[2] = { 0 }, sums[2];
	MPI_Datatype type;
	MPI_Request request;

	MPI_Type_contiguous(2, MPI_INT, &type);
	if (MPI_Bcast(values, 1, type, 0, comm) == MPI_SUCCESS || handled != 1)
		die("rank %d: %d times handled: broadcast of a type that is not committed", rank,
		    handled);
	MPI_Type_free(&type);
	if (MPI_Allgather(values, 1, MPI_INT, values, 1, MPI_DATATYPE_NULL, comm) ==
	    MPI_SUCCESS || handled != 2)
		die("rank %d: %d times handled: no type", rank, handled);
#ifdef MPICH_NUMVERSION
	if (MPI_Bcast(values, 1, (MPI_Datatype)MPI_COMM_WORLD, 0, comm) == MPI_SUCCESS ||
	    MPI_Ibcast(values, 1, (MPI_Datatype)-1, 0, comm, &request) == MPI_SUCCESS ||
	    handled != 4)
		die("rank %d: %d times handled: not a type", rank, handled);
#endif
	/* Both are called as before. */
	if (MPI_Allreduce(values, sums, 2, MPI_INT, MPI_SUM, comm) != MPI_SUCCESS ||
	    MPI_Iallreduce(values, sums, 2, MPI_INT, MPI_SUM, comm, &request) != MPI_SUCCESS ||
	    MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS)
		die("rank %d: the communicator has not survived: %s", rank, text);
	handled = 0;
}

/* By what rank 1 receives from itself, the call is below the limit there, and nowhere else. */
static void wrong_size_at_limit(MPI_Comm comm)
{
	int values[2] = { rank, rank }, all[2 * 3], sums[100], i, err;
	const int counts[3] = { 2, rank == 1 ? 1 : 2, 2 }, displs[3] = { 0, 2, 4 };
	const int many[100] = { 0 };

	for (i = 0; i < CALLS; i++)
		MPI_Allreduce(many, sums, 100, MPI_INT, MPI_SUM, comm);
	err = MPI_Allgatherv(values, 2, MPI_INT, all, counts, displs, MPI_INT, comm);
	if (rank == 1)
		expect(err, "longer than the buffer");
	else if (err != MPI_SUCCESS || all[2] != 1 || all[3] != 1 || all[5] != 2)
		die("rank %d: error %d, received %d %d %d", rank, err, all[2], all[3], all[5]);
}

/* The others must not wait for calls that MPI refuses on rank 1, nor count them. */
static void make_refused_calls(MPI_Comm comm)
{
	const int counts[16] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	double numbers[16] = { 0 }, results[16];
	int values[16] = { 0 }, all[16], refused = 0, i;
	MPI_Request request;

	for (i = 0; i < CALLS; i++) {
		refused += MPI_Allreduce(values, all, 1, MPI_INT, MPI_OP_NULL, comm) != MPI_SUCCESS;
		refused += MPI_Allreduce(numbers, results, 1, MPI_DOUBLE, MPI_BAND, comm) !=
			   MPI_SUCCESS;
		refused += MPI_Reduce_scatter(values, all, counts, MPI_INT, MPI_OP_NULL, comm) !=
			   MPI_SUCCESS;
		refused += MPI_Iscan(values, all, 1, MPI_INT, MPI_OP_NULL, comm, &request) !=
			   MPI_SUCCESS;
		refused += MPI_Iexscan(values, all, 1, MPI_INT, MPI_OP_NULL, comm, &request) !=
			   MPI_SUCCESS;
	}
	if (refused != 5 * CALLS || handled != refused)
		die("%d of %d calls were refused, %d times handled", refused, 5 * CALLS, handled);
	handled = 0;
}

static void refused(MPI_Comm parent)
{
	int value, sum, size, i;
	MPI_Request request;
	MPI_Comm comm;

	MPI_Comm_dup(parent, &comm);
	MPI_Comm_size(comm, &size);
	for (i = 0; i < 3 * CALLS; i++) {
		if (rank == 1 && i % CALLS == 0)
			make_refused_calls(comm);
		value = rank + i;
		sum = -1;
		if (i % 2) {
			MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
			MPI_Wait(&request, MPI_STATUS_IGNORE);
		} else {
			MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
		}
		if (sum != size * (size - 1) / 2 + size * i || handled)
			die("rank %d: sum %d in call %d: %s", rank, sum, i, text);
	}
	MPI_Comm_free(&comm);
}

static void death(MPI_Comm comm)
{
	int value = rank, sum;

	if (rank == 1)
		raise(SIGKILL);
	expect(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm), "rank 1 died");
	expect(MPI_Barrier(comm), "rank 1 died");
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "mismatch";
	MPI_Errhandler errhandler;
	MPI_Comm comm;
	int i;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_create_errhandler(handler, &errhandler);
	MPI_Comm_set_errhandler(comm, errhandler);
	for (i = 0; i < CALLS; i++)
		MPI_Barrier(comm);
	if (!strcmp(mode, "death")) {
		death(comm);
		/* MPI_Finalize() would wait for rank 1. */
		fflush(stdout);
		_Exit(0);
	}
	if (!strcmp(mode, "fatal"))
		MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
	if (!strcmp(mode, "size")) {
#ifdef MPICH_NUMVERSION
		wrong_size_of_vectors(comm);
#endif
		wrong_size(comm);
	} else if (!strcmp(mode, "limit")) {
		wrong_size_at_limit(comm);
	} else if (!strcmp(mode, "type")) {
		wrong_type(comm);
	} else if (!strcmp(mode, "refused")) {
		refused(comm);
	} else {
		mismatch(comm);
		mismatch_in_array(comm);
		mismatch_in_tests(comm);
		mismatch_after_free(comm);
		comm = MPI_COMM_NULL;
	}
	if (comm != MPI_COMM_NULL)
		MPI_Comm_free(&comm);
	MPI_Errhandler_free(&errhandler);
	if (!rank)
		printf("errors are right\n");
	MPI_Finalize();
	return 0;
}
