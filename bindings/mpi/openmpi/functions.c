// SPDX-License-Identifier: LGPL-2.1-or-later
/* The functions of a module: each becomes a task, or is left to the module that was replaced. */
#include "compat.h"

#include "common/functions.h"
#include "common/progress.h"
#include "forms.h"
#include "module.h"

/* ---- the arguments of each function, as a call ---- */

static struct cm_buffer buffer(const void *addr, size_t count, MPI_Datatype type)
{
	return (struct cm_buffer){ .addr = (void *)addr, .count = count, .type = type };
}

static struct cm_buffer blocks(const void *addr, const int *counts, const int *displs,
			       MPI_Datatype type)
{
	return (struct cm_buffer){
		.addr = (void *)addr,
		.counts = counts,
		.displs = displs,
		.type = type,
	};
}

/* A buffer that means nothing on this rank; a valid type is needed. */
static struct cm_buffer unused(MPI_Datatype type)
{
	return (struct cm_buffer){ .type = type };
}

static struct cm_call movement(struct cm_buffer send, struct cm_buffer recv, int root)
{
	return (struct cm_call){ .send = send, .recv = recv, .root = root };
}

static struct cm_call reduction(VECTOR_PARAMS, int root)
{
	return (struct cm_call){
		.send = buffer(send, count, type),
		.recv = buffer(recv, count, type),
		.op = op,
		.root = root,
	};
}

static struct cm_call call_allgather(ALLGATHER_PARAMS int rank)
{
	return movement(buffer(SEND_ARGS), buffer(RECV_ARGS), rank);
}

static struct cm_call call_allgatherv(ALLGATHERV_PARAMS int rank)
{
	return movement(buffer(SEND_ARGS), blocks(RECVS_ARGS), rank);
}

static struct cm_call call_allreduce(ALLREDUCE_PARAMS int rank)
{
	return reduction(VECTOR_ARGS, rank);
}

static struct cm_call call_alltoall(ALLTOALL_PARAMS int rank)
{
	return movement(buffer(SEND_ARGS), buffer(RECV_ARGS), rank);
}

static struct cm_call call_alltoallv(ALLTOALLV_PARAMS int rank)
{
	return movement(blocks(SENDS_ARGS), blocks(RECVS_ARGS), rank);
}

static struct cm_call call_barrier(BARRIER_PARAMS int rank)
{
	return (struct cm_call){ .root = rank };
}

static struct cm_call call_bcast(BCAST_PARAMS int rank)
{
	(void)rank;
	return movement(buffer(RECV_ARGS), buffer(RECV_ARGS), root);
}

static struct cm_call call_exscan(EXSCAN_PARAMS int rank)
{
	return reduction(VECTOR_ARGS, rank);
}

static struct cm_call call_gather(GATHER_PARAMS int rank)
{
	return movement(buffer(SEND_ARGS), rank == root ? buffer(RECV_ARGS) : unused(send_type),
			root);
}

static struct cm_call call_gatherv(GATHERV_PARAMS int rank)
{
	return movement(buffer(SEND_ARGS), rank == root ? blocks(RECVS_ARGS) : unused(send_type),
			root);
}

static struct cm_call call_reduce(REDUCE_PARAMS int rank)
{
	(void)rank;
	return reduction(VECTOR_ARGS, root);
}

static struct cm_call call_reduce_scatter(REDUCE_SCATTER_PARAMS int rank)
{
	return (struct cm_call){
		.send = blocks(send, counts, NULL, type),
		.recv = blocks(recv, counts, NULL, type),
		.op = op,
		.root = rank,
	};
}

static struct cm_call call_reduce_scatter_block(REDUCE_SCATTER_BLOCK_PARAMS int rank)
{
	return reduction(VECTOR_ARGS, rank);
}

static struct cm_call call_scan(SCAN_PARAMS int rank)
{
	return reduction(VECTOR_ARGS, rank);
}

static struct cm_call call_scatter(SCATTER_PARAMS int rank)
{
	return movement(rank == root ? buffer(SEND_ARGS) : unused(recv_type), buffer(RECV_ARGS),
			root);
}

static struct cm_call call_scatterv(SCATTERV_PARAMS int rank)
{
	return movement(rank == root ? blocks(SENDS_ARGS) : unused(recv_type), buffer(RECV_ARGS),
			root);
}

/* ---- taken or left ---- */

/* Should the call be taken?  @up: the group can be used for it. */
static bool take(const struct collective_module *module, const struct cm_call *call,
		 enum cm_form form, bool up)
{
	enum cm_reason reason;

	reason = up ? cm_call_reason(&module->group, call) : cm_group_reason(&module->group);
	/* A call out of MPI's own path, while that makes the group, is none of the program's. */
	if (form != CM_BLOCKING || module->group.state != CM_GROUP_MAKING)
		cm_count(call->function, form, reason);
	return reason == CM_TAKEN;
}

static int run(struct collective_module *module, const struct cm_call *call)
{
	struct cm_task task;
	int err = cm_task_build(&task, &module->group, call);

	if (err)
		cm_group_failed(&module->group, err, cm_function_name(call->function));
	else
		err = cm_task_run(&task);
	cm_task_end(&task);
	return err ? collective_error(module, err) : MPI_SUCCESS;
}

#define BLOCKING(NAME, name)									\
static int blocking_##name(NAME##_PARAMS struct ompi_communicator_t *comm,			\
			   mca_coll_base_module_t *base)					\
{												\
	struct collective_module *module = (struct collective_module *)base;			\
	struct cm_call call = call_##name(NAME##_ARGS module->group.rank);			\
												\
	call.function = CM_##NAME;								\
	if (take(module, &call, CM_BLOCKING, collective_blocking(module, &call)))		\
		return run(module, &call);							\
	return module->previous.coll_##name(NAME##_ARGS comm,					\
					    module->previous.coll_##name##_module);		\
}

CM_FUNCTIONS(BLOCKING)

#define NONBLOCKING(NAME, name)									\
static int nonblocking_##name(NAME##_PARAMS struct ompi_communicator_t *comm,			\
			      ompi_request_t **request, mca_coll_base_module_t *base)		\
{												\
	struct collective_module *module = (struct collective_module *)base;			\
	struct cm_call call = call_##name(NAME##_ARGS module->group.rank);			\
	unsigned long long key;									\
												\
	call.function = CM_##NAME;								\
	if (take(module, &call, CM_NONBLOCKING, cm_group_nonblocking(&module->group, &key)))	\
		return collective_request_new(module, &call, key, false, request);		\
	return module->previous.coll_i##name(NAME##_ARGS comm, request,				\
					     module->previous.coll_i##name##_module);		\
}

CM_FUNCTIONS(NONBLOCKING)

#define PERSISTENT(NAME, name)									\
static int persistent_##name(NAME##_PARAMS struct ompi_communicator_t *comm,			\
			     struct ompi_info_t *info, ompi_request_t **request,		\
			     mca_coll_base_module_t *base)					\
{												\
	struct collective_module *module = (struct collective_module *)base;			\
	struct cm_call call = call_##name(NAME##_ARGS module->group.rank);			\
	unsigned long long key;									\
												\
	call.function = CM_##NAME;								\
	if (take(module, &call, CM_PERSISTENT, cm_group_persistent(&module->group, &key)))	\
		return collective_request_new(module, &call, key, true, request);		\
	return module->previous.coll_##name##_init(NAME##_ARGS comm, info, request,		\
						   module->previous.coll_##name##_init_module);	\
}

CM_FUNCTIONS(PERSISTENT)

#define SET(NAME, name)						\
	module->super.coll_##name = blocking_##name;		\
	module->super.coll_i##name = nonblocking_##name;	\
	module->super.coll_##name##_init = persistent_##name;

void collective_set_functions(struct collective_module *module)
{
	CM_FUNCTIONS(SET)
}
