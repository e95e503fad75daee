// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The functions that wait for a message.
 *
 * MPICH does nothing else meanwhile.  The message may be one that another rank sends when a
 * collective is complete that waits here for its turn (common/queue.h).  While any does, these
 * functions are the nonblocking ones, and wait as those of requests do (wait.c).
 */
#include "common/queue.h"
#include "mpich.h"

/* @err: of the start of @request. */
static int wait_for(int err, MPI_Request *request, MPI_Status *status)
{
	return err == MPI_SUCCESS ? MPI_Wait(request, status) : err;
}

/* @err: of the start of @sent, while a message is @received. */
static int wait_for_both(int err, MPI_Request *sent, MPI_Request *received, MPI_Status *status)
{
	int send_err;

	if (err != MPI_SUCCESS) {
		PMPI_Cancel(received);
		PMPI_Request_free(received);
		return err;
	}
	err = MPI_Wait(received, status);
	send_err = MPI_Wait(sent, MPI_STATUS_IGNORE);
	return err == MPI_SUCCESS ? send_err : err;
}

EXPORT int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
	int err = MPI_SUCCESS, found = false;

	library_load();
	while (completion_looks_again(err, found))
		err = PMPI_Iprobe(source, tag, comm, &found, status);
	return err != MPI_SUCCESS || found ? err : mpich.Probe(source, tag, comm, status);
}

EXPORT int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
	int err = MPI_SUCCESS, found = false;

	library_load();
	while (completion_looks_again(err, found))
		err = PMPI_Improbe(source, tag, comm, &found, message, status);
	return err != MPI_SUCCESS || found ? err :
	       mpich.Mprobe(source, tag, comm, message, status);
}

REPLACE_TWICE(Probe)
REPLACE_TWICE(Mprobe)

/* @C: end of the function's name; @COUNT: type of its counts. */
#define SEND(Name, Iname, C, COUNT)								\
EXPORT int MPI_##Name##C(const void *buf, COUNT count, MPI_Datatype type, int dest, int tag,	\
			 MPI_Comm comm)								\
{												\
	MPI_Request request;									\
												\
	if (!cm_queue_waits())									\
		return PMPI_##Name##C(buf, count, type, dest, tag, comm);			\
	return wait_for(PMPI_##Iname##C(buf, count, type, dest, tag, comm, &request),		\
			&request, MPI_STATUS_IGNORE);						\
}

#define MESSAGES(C, COUNT)									\
SEND(Send, Isend, C, COUNT)									\
SEND(Ssend, Issend, C, COUNT)									\
SEND(Rsend, Irsend, C, COUNT)									\
												\
EXPORT int MPI_Recv##C(void *buf, COUNT count, MPI_Datatype type, int source, int tag,		\
		       MPI_Comm comm, MPI_Status *status)					\
{												\
	MPI_Request request;									\
												\
	if (!cm_queue_waits())									\
		return PMPI_Recv##C(buf, count, type, source, tag, comm, status);		\
	return wait_for(PMPI_Irecv##C(buf, count, type, source, tag, comm, &request),		\
			&request, status);							\
}												\
												\
EXPORT int MPI_Mrecv##C(void *buf, COUNT count, MPI_Datatype type, MPI_Message *message,	\
			MPI_Status *status)							\
{												\
	MPI_Request request;									\
												\
	if (!cm_queue_waits())									\
		return PMPI_Mrecv##C(buf, count, type, message, status);			\
	return wait_for(PMPI_Imrecv##C(buf, count, type, message, &request), &request, status);	\
}												\
												\
EXPORT int MPI_Sendrecv##C(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype,		\
			   int dest, int sendtag, void *recvbuf, COUNT recvcount,		\
			   MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,	\
			   MPI_Status *status)							\
{												\
	MPI_Request received, sent;								\
	int err;										\
												\
	if (!cm_queue_waits())									\
		return PMPI_Sendrecv##C(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf,	\
					recvcount, recvtype, source, recvtag, comm, status);	\
	err = PMPI_Irecv##C(recvbuf, recvcount, recvtype, source, recvtag, comm, &received);	\
	if (err != MPI_SUCCESS)									\
		return err;									\
	err = PMPI_Isend##C(sendbuf, sendcount, sendtype, dest, sendtag, comm, &sent);		\
	return wait_for_both(err, &sent, &received, status);					\
}

MESSAGES(, int)
MESSAGES(_c, MPI_Count)
