// SPDX-License-Identifier: LGPL-2.1-or-later
/* The functions of a module: each becomes a task, or is left to the module that was replaced. */
#include "compat.h"

#include "common/call.h"
#include "common/datatype.h"
#include "common/reduction.h"
#include "module.h"

#define BLOCKING(NAME, name, Name)								\
static int blocking_##name(CM_PARAMS(NAME, CM_TYPES_INT) MPI_Comm comm,				\
			   mca_coll_base_module_t *base)					\
{												\
	struct collective_module *module = (struct collective_module *)base;			\
	struct cm_call call = cm_call_##name(CM_ARGS(NAME) module->group.rank);			\
	int err;										\
												\
	if (cm_call_run(&module->group, &call, collective_blocking(module, &call), &err))	\
		return err;									\
	return module->previous.coll_##name(CM_ARGS(NAME) comm,					\
					    module->previous.coll_##name##_module);		\
}

CM_FUNCTIONS(BLOCKING)

/*
 * Open MPI itself finds the maximum or minimum of one int, out of its progress, to number a new
 * communicator (MPI_Comm_idup()): at a place among other calls that differs by rank.  Of an
 * intercommunicator the ranks of each side reduce it to one, and broadcast the result.  So all such
 * calls are left to it, also those of the program.
 */
static bool is_of_mpi(const struct cm_call *call)
{
	struct cm_reduction reduction;

	switch (call->function) {
	case CM_BCAST:
		return call->recv.count * cm_type_size(call->recv.type) == sizeof(int);
	case CM_ALLREDUCE:
	case CM_REDUCE:
		return call->recv.count == 1 && (call->op == MPI_MAX || call->op == MPI_MIN) &&
		       cm_reduction_find(call->recv.type, call->op, &reduction) &&
		       reduction.type == COLLECTIVE_INT32;
	default:
		return false;
	}
}

static bool take_nonblocking(struct collective_module *module, const struct cm_call *call,
			     unsigned long long *key)
{
	if (is_of_mpi(call)) {
		cm_count(call->function, CM_NONBLOCKING, CM_OF_MPI);
		return false;
	}
	return cm_call_take(&module->group, call, CM_NONBLOCKING,
			    cm_group_nonblocking(&module->group, call, key));
}

#define NONBLOCKING(NAME, name, Name)								\
static int nonblocking_##name(CM_PARAMS(NAME, CM_TYPES_INT) MPI_Comm comm,			\
			      ompi_request_t **request, mca_coll_base_module_t *base)		\
{												\
	struct collective_module *module = (struct collective_module *)base;			\
	struct cm_call call = cm_call_##name(CM_ARGS(NAME) module->group.rank);			\
	unsigned long long key;									\
												\
	if (take_nonblocking(module, &call, &key))						\
		return collective_request_new(module, &call, key, CM_NONBLOCKING, request);	\
	return module->previous.coll_i##name(CM_ARGS(NAME) comm, request,			\
					     module->previous.coll_i##name##_module);		\
}

CM_FUNCTIONS(NONBLOCKING)

#define PERSISTENT(NAME, name, Name)								\
static int persistent_##name(CM_PARAMS(NAME, CM_TYPES_INT) MPI_Comm comm,			\
			     struct ompi_info_t *info, ompi_request_t **request,		\
			     mca_coll_base_module_t *base)					\
{												\
	struct collective_module *module = (struct collective_module *)base;			\
	struct cm_call call = cm_call_##name(CM_ARGS(NAME) module->group.rank);			\
												\
	if (cm_call_take(&module->group, &call, CM_PERSISTENT,					\
			 collective_initializing(module, &call)))				\
		return collective_request_new(module, &call,					\
					      cm_group_persistent(&module->group, &call),	\
					      CM_PERSISTENT, request);				\
	return module->previous.coll_##name##_init(CM_ARGS(NAME) comm, info, request,		\
						   module->previous.coll_##name##_init_module);	\
}

CM_FUNCTIONS(PERSISTENT)

#define SET(NAME, name, Name)									\
	module->super.coll_##name = blocking_##name;						\
	module->super.coll_i##name = nonblocking_##name;					\
	module->super.coll_##name##_init = persistent_##name;

void collective_set_functions(struct collective_module *module)
{
	CM_FUNCTIONS(SET)
}
