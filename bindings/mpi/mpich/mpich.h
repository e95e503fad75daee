/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Communicators and requests of the preloaded library, which calls MPICH by its PMPI names. */
#ifndef MPICH_BINDING_H
#define MPICH_BINDING_H

#include <stdatomic.h>
#include <stdbool.h>

#include <mpi.h>

#include "common/group.h"
#include "common/profile.h"
#include "common/task.h"

/* Functions that replace those of MPICH. */
#define EXPORT	__attribute__((visibility("default")))

#if MPICH_NUMVERSION < 40200000
int MPI_Request_get_status_all(int count, MPI_Request requests[], int *flag,
			       MPI_Status statuses[]);
int MPI_Request_get_status_any(int count, MPI_Request requests[], int *index, int *flag,
			       MPI_Status *status);
int MPI_Request_get_status_some(int count, MPI_Request requests[], int *completed, int indices[],
				MPI_Status statuses[]);
#endif

/*
 * Functions that this library replaces by both names, because the module mpi_f08 calls most of them
 * by that of the profiling interface.  MPICH before 4.2 does not have all.
 */
#define REPLACED_TWICE(X)							\
	X(Init) X(Init_thread) X(Session_init)					\
	X(Wait) X(Waitany) X(Waitall) X(Waitsome)				\
	X(Test) X(Testany) X(Testall) X(Testsome)				\
	X(Request_get_status) X(Request_get_status_any) X(Request_get_status_all) \
	X(Request_get_status_some)						\
	X(Probe) X(Mprobe)							\
	X(Barrier) X(Ibarrier) X(Barrier_init)					\
	X(Alltoallw) X(Alltoallw_c)						\
	X(Neighbor_allgather) X(Neighbor_allgather_c)				\
	X(Neighbor_allgatherv) X(Neighbor_allgatherv_c)				\
	X(Neighbor_alltoall) X(Neighbor_alltoall_c)				\
	X(Neighbor_alltoallv) X(Neighbor_alltoallv_c)				\
	X(Neighbor_alltoallw) X(Neighbor_alltoallw_c)				\
	X(Sendrecv_replace) X(Sendrecv_replace_c)				\
	X(Comm_dup) X(Comm_dup_with_info) X(Comm_create) X(Comm_create_group)	\
	X(Comm_split) X(Comm_split_type) X(Comm_disconnect)			\
	X(Intercomm_create) X(Intercomm_merge)					\
	X(Cart_create) X(Graph_create)						\
	X(Dist_graph_create) X(Dist_graph_create_adjacent)

#define MPICH_POINTER(name)	__typeof__(MPI_##name) *name;

/* The same functions as MPICH has them; those that it does not have are NULL. */
struct mpich_functions {
	REPLACED_TWICE(MPICH_POINTER)
};

extern struct mpich_functions mpich;

/* Replace a function, which is defined before, by its second name, too. */
#define REPLACE_TWICE(name)	\
	EXPORT __typeof__(MPI_##name) PMPI_##name __attribute__((alias("MPI_" #name)));

/**
 * struct communicator - intracommunicator of at least two ranks
 * @references: of MPI's communicator, and of requests
 * @handle: MPI's communicator; when that is freed, one of this process with the same error handler
 * @group: its group
 * @next: next of all
 * @link: pointer to this one
 */
struct communicator {
	atomic_int references;
	MPI_Comm handle;
	struct cm_group group;
	struct communicator *next;
	struct communicator **link;
};

/**
 * library_load - make MPICH's functions known to this library
 *
 * They are not if MPICH came with a plug-in, as with mpi4py.  Precedes any call of them.
 */
void library_load(void);

/**
 * communicator_find - find what belongs to a communicator of MPI
 * @handle: the communicator, as the program gives it
 *
 * Return: that, made if need be; or NULL: its collectives are left to MPICH.
 */
struct communicator *communicator_find(MPI_Comm handle);

/** communicator_put - give back a reference */
void communicator_put(struct communicator *communicator);

/**
 * communicator_blocking - cm_group_blocking() for a communicator
 * @communicator: the communicator
 * @call: the collective
 */
bool communicator_blocking(struct communicator *communicator, const struct cm_call *call);

/**
 * type_valid - is a type, as the program gives it, a committed one?
 *
 * A type that is not may be given to no other function here: its failure would go to the error
 * handler of a communicator that the program has not given.
 */
bool type_valid(MPI_Datatype type);

/**
 * call_valid - does MPICH refuse a call on this rank, before it does anything?
 * @group: group of its communicator
 * @call: the call
 *
 * Return: false if it does.
 */
bool call_valid(const struct cm_group *group, const struct cm_call *call);

/** communicator_own - a communicator of this process alone, whose errors are returned */
MPI_Comm communicator_own(void);

/**
 * communicator_error - give a failure to the error handler of a communicator
 * @communicator: the communicator
 * @code: error code of MPI
 *
 * Return: @code, if the handler returns.
 */
int communicator_error(struct communicator *communicator, int code);

/** poll_mpi - progress of MPICH */
void poll_mpi(void);

/**
 * profile_tell - tell the profile of this process
 *
 * Precedes MPI_Init() of MPICH; the settings are read.
 */
void profile_tell(void);

/** profile_learn - learn the profiles of all processes; follows MPI_Init() of MPICH */
void profile_learn(void);

/**
 * profile_of - profile of a rank of MPI_COMM_WORLD
 *
 * Return: NULL: it has told none, so that it need not have this library.
 */
const struct cm_profile *profile_of(int rank);

/** environment_read - read the settings */
void environment_read(void);

/** environment_alias_check - does MPICH refuse buffers that are one? */
bool environment_alias_check(void);

/** environment_stats - are counters to be printed at the end? */
bool environment_stats(void);

/**
 * struct request - nonblocking call
 * @references: of MPI's request, of the operation, and of a list of failures
 * @handle: MPI's generalized request
 * @communicator: its communicator; a reference
 * @task: its operation
 * @error: when complete: MPI_SUCCESS or an error code
 * @is_listed: it is in a list of failures
 * @next_failed: next of that list
 */
struct request {
	atomic_int references;
	MPI_Request handle;
	struct communicator *communicator;
	struct cm_task task;
	int error;
	bool is_listed;
	struct request *next_failed;
};

/**
 * request_start - start a nonblocking call
 * @communicator: its communicator
 * @call: the call
 * @key: key of its operation
 * @handle: set to MPI's request
 *
 * Return: MPI_SUCCESS or an error code.
 */
int request_start(struct communicator *communicator, const struct cm_call *call,
		  unsigned long long key, MPI_Request *handle);

/** request_put - give back a reference */
void request_put(struct request *request);

/** requests_pending - does the program have requests of this library? */
bool requests_pending(void);

/**
 * request_failed - note that a request has failed which a function of MPI completes
 * @request: the request
 *
 * Return: error code of which MPICH may know: MPI_SUCCESS if the function is replaced (wait.c), and
 * gives the failure to the request's communicator itself.
 */
int request_failed(struct request *request);

/**
 * completion_idle - a look at a request has found nothing
 *
 * Sleeps if the function of MPI that looks waits, and yields the CPU if it tests.
 */
void completion_idle(void);

/**
 * completion_looks_again - is a function that waits to look again itself?
 * @err: of its last look, or MPI_SUCCESS
 * @done: what that has found
 *
 * MPICH asks for the progress of the requests that it waits for, and none where it waits for a
 * message.  Both may need that other operations start, which wait for their turn (common/queue.h).
 *
 * Return: false: it is done, has failed, or MPICH can wait as well.
 */
bool completion_looks_again(int err, int done);

#endif /* MPICH_BINDING_H */
