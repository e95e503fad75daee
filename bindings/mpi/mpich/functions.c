// SPDX-License-Identifier: LGPL-2.1-or-later
/* The functions of MPI: each becomes an operation of the kernel, or is left to MPICH. */
#include <stdint.h>

#include "common/call.h"
#include "mpich.h"

/* ---- what MPICH refuses ---- */

static bool valid_buffer(const struct cm_buffer *buffer, int blocks)
{
	int i;

	if (buffer->addr == MPI_IN_PLACE)
		return true;
	if (!type_valid(buffer->type))
		return false;
	for (i = 0; i < (buffer->counts ? blocks : 1); i++)
		if (cm_buffer_count(buffer, i) > PTRDIFF_MAX)
			return false;
	return true;
}

/* Is an array of counts missing? */
static bool has_counts(const struct cm_group *group, const struct cm_call *call)
{
	const bool root = group->rank == call->root;

	switch (call->function) {
	case CM_ALLTOALLV:
		return call->recv.counts && (call->send.addr == MPI_IN_PLACE || call->send.counts);
	case CM_ALLGATHERV:
	case CM_REDUCE_SCATTER:
		return call->recv.counts;
	case CM_GATHERV:
		return !root || call->recv.counts;
	case CM_SCATTERV:
		return !root || call->send.counts;
	default:
		return true;
	}
}

/* MPICH refuses a reduction whose two buffers are one. */
static bool aliased(const struct cm_group *group, const struct cm_call *call)
{
	switch (call->function) {
	case CM_REDUCE:
		if (group->rank != call->root)
			return false;
		break;
	case CM_ALLREDUCE:
	case CM_SCAN:
	case CM_EXSCAN:
		break;
	default:
		return false;
	}
	return call->recv.count && call->send.addr == call->recv.addr;
}

/* A call that is wrong in itself is one of which MPICH knows what to say. */
static bool valid(const struct cm_group *group, const struct cm_call *call)
{
	return call->function == CM_BARRIER ||
	       (call->root >= 0 && call->root < group->size && has_counts(group, call) &&
		valid_buffer(&call->send, group->size) && valid_buffer(&call->recv, group->size) &&
		!aliased(group, call));
}

/* ---- the forms ---- */

static bool take_blocking(struct communicator *communicator, const struct cm_call *call)
{
	return valid(&communicator->group, call) &&
	       cm_call_take(&communicator->group, call, CM_BLOCKING,
			    communicator_blocking(communicator, call));
}

/* A call that is wrong on this rank only has a number all the same. */
static bool take_nonblocking(struct communicator *communicator, const struct cm_call *call,
			     unsigned long long *key)
{
	const bool up = cm_group_nonblocking(&communicator->group, key);

	return valid(&communicator->group, call) &&
	       cm_call_take(&communicator->group, call, CM_NONBLOCKING, up);
}

static int blocking(struct communicator *communicator, const struct cm_call *call)
{
	int err = cm_call_run(&communicator->group, call);

	return err ? communicator_error(communicator, err) : MPI_SUCCESS;
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

/* @C: end of the function's name; @TYPES: types of its counts; @IS_LARGE: 1 if they are large. */
#define BLOCKING(NAME, name, Name, C, TYPES, IS_LARGE)						\
EXPORT int MPI_##Name##C(CM_PARAMS(NAME, CM_TYPES_##TYPES) MPI_Comm comm)			\
{												\
	struct communicator *communicator = communicator_find(comm);				\
	struct cm_call call;									\
												\
	if (!communicator)									\
		return PMPI_##Name##C(CM_ARGS(NAME) comm);					\
	call = cm_call_##name(CM_ARGS(NAME) communicator->group.rank);				\
	if (IS_LARGE)										\
		cm_call_large(&call);								\
	if (take_blocking(communicator, &call))							\
		return blocking(communicator, &call);						\
	return PMPI_##Name##C(CM_ARGS(NAME) comm);						\
}

#define NONBLOCKING(NAME, name, Name, C, TYPES, IS_LARGE)					\
EXPORT int MPI_I##name##C(CM_PARAMS(NAME, CM_TYPES_##TYPES) MPI_Comm comm,			\
			  MPI_Request *request)							\
{												\
	struct communicator *communicator = communicator_find(comm);				\
	unsigned long long key;									\
	struct cm_call call;									\
												\
	if (!communicator)									\
		return PMPI_I##name##C(CM_ARGS(NAME) comm, request);				\
	call = cm_call_##name(CM_ARGS(NAME) communicator->group.rank);				\
	if (IS_LARGE)										\
		cm_call_large(&call);								\
	if (take_nonblocking(communicator, &call, &key))					\
		return nonblocking(communicator, &call, key, request);				\
	return PMPI_I##name##C(CM_ARGS(NAME) comm, request);					\
}

/* MPICH starts no request but its own. */
#define PERSISTENT(NAME, name, Name, C, TYPES, IS_LARGE)					\
EXPORT int MPI_##Name##_init##C(CM_PARAMS(NAME, CM_TYPES_##TYPES) MPI_Comm comm, MPI_Info info,	\
				MPI_Request *request)						\
{												\
	no_form(comm, CM_##NAME);								\
	return PMPI_##Name##_init##C(CM_ARGS(NAME) comm, info, request);			\
}

#define FORMS(...)										\
	BLOCKING(__VA_ARGS__)									\
	NONBLOCKING(__VA_ARGS__)								\
	PERSISTENT(__VA_ARGS__)

#define NOTHING
#define WITH_INT(NAME, name, Name)	FORMS(NAME, name, Name, NOTHING, INT, 0)
#define WITH_LARGE(NAME, name, Name)	FORMS(NAME, name, Name, _c, LARGE, 1)

CM_FUNCTIONS(WITH_INT)
CM_COUNTED_FUNCTIONS(WITH_LARGE)
