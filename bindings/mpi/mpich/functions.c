// SPDX-License-Identifier: LGPL-2.1-or-later
/* The functions of MPI: each becomes an operation of the kernel, or is left to MPICH. */
#include "common/call.h"
#include "common/progress.h"
#include "mpich.h"

/* ---- the forms ---- */

/* Return: false: the call is left to MPICH. */
static bool run_blocking(struct communicator *communicator, const struct cm_call *call, int *err)
{
	if (!call_valid(&communicator->group, call) ||
	    !cm_call_run(&communicator->group, call, communicator_blocking(communicator, call),
			 err))
		return false;
	if (*err)
		*err = communicator_error(communicator, *err);
	return true;
}

static bool take_nonblocking(struct communicator *communicator, const struct cm_call *call,
			     unsigned long long *key)
{
	return call_valid(&communicator->group, call) &&
	       cm_call_take(&communicator->group, call, CM_NONBLOCKING,
			    cm_group_nonblocking(&communicator->group, call, key));
}

static int nonblocking(struct communicator *communicator, const struct cm_call *call,
		       unsigned long long key, MPI_Request *request)
{
	int err = request_start(communicator, call, key, request);

	return err ? communicator_error(communicator, err) : MPI_SUCCESS;
}

static void no_form(MPI_Comm comm, enum cm_function function)
{
	if (communicator_find(comm))
		cm_count(function, CM_PERSISTENT, CM_UNSUPPORTED);
}

/* MPICH's own function; one that is replaced twice by a pointer. */
#define BY_NAME(name)		PMPI_##name
#define BY_POINTER(name)	mpich.name

/*
 * @OWN: one of these; @C: end of the function's name; @TYPES: types of its counts; @IS_LARGE: 1 if
 * they are large.
 */
#define BLOCKING(OWN, NAME, name, Name, C, TYPES, IS_LARGE)					\
EXPORT int MPI_##Name##C(CM_PARAMS(NAME, CM_TYPES_##TYPES) MPI_Comm comm)			\
{												\
	struct communicator *communicator = communicator_find(comm);				\
	struct cm_starter starter;								\
	struct cm_call call;									\
	int err;										\
												\
	if (communicator) {									\
		call = cm_call_##name(CM_ARGS(NAME) communicator->group.rank);			\
		if (IS_LARGE)									\
			cm_call_large(&call);							\
		if (run_blocking(communicator, &call, &err))					\
			return err;								\
	}											\
	cm_starter_begin(&starter);								\
	err = OWN(Name##C)(CM_ARGS(NAME) comm);							\
	cm_starter_end(&starter);								\
	return err;										\
}

#define NONBLOCKING(OWN, NAME, name, Name, C, TYPES, IS_LARGE)				\
EXPORT int MPI_I##name##C(CM_PARAMS(NAME, CM_TYPES_##TYPES) MPI_Comm comm,			\
			  MPI_Request *request)							\
{												\
	struct communicator *communicator = communicator_find(comm);				\
	unsigned long long key;									\
	struct cm_call call;									\
												\
	if (!communicator)									\
		return OWN(I##name##C)(CM_ARGS(NAME) comm, request);				\
	call = cm_call_##name(CM_ARGS(NAME) communicator->group.rank);				\
	if (IS_LARGE)										\
		cm_call_large(&call);								\
	if (take_nonblocking(communicator, &call, &key))					\
		return nonblocking(communicator, &call, key, request);				\
	return OWN(I##name##C)(CM_ARGS(NAME) comm, request);					\
}

/* MPICH starts no request but its own. */
#define PERSISTENT(OWN, NAME, name, Name, C, TYPES, IS_LARGE)				\
EXPORT int MPI_##Name##_init##C(CM_PARAMS(NAME, CM_TYPES_##TYPES) MPI_Comm comm, MPI_Info info,	\
				MPI_Request *request)						\
{												\
	no_form(comm, CM_##NAME);								\
	return OWN(Name##_init##C)(CM_ARGS(NAME) comm, info, request);			\
}

#define FORMS(...)										\
	BLOCKING(__VA_ARGS__)									\
	NONBLOCKING(__VA_ARGS__)								\
	PERSISTENT(__VA_ARGS__)

#define NOTHING
#define WITH_INT(NAME, name, Name)	FORMS(BY_NAME, NAME, name, Name, NOTHING, INT, 0)
#define WITH_LARGE(NAME, name, Name)	FORMS(BY_NAME, NAME, name, Name, _c, LARGE, 1)

FORMS(BY_POINTER, BARRIER, barrier, Barrier, NOTHING, INT, 0)
CM_COUNTED_FUNCTIONS(WITH_INT)
CM_COUNTED_FUNCTIONS(WITH_LARGE)

REPLACE_TWICE(Barrier)
REPLACE_TWICE(Ibarrier)
REPLACE_TWICE(Barrier_init)
