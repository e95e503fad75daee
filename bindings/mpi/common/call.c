// SPDX-License-Identifier: LGPL-2.1-or-later
/* The arguments of each function of MPI as a call, and what becomes of it. */
#include <errno.h>

#include "common/call.h"
#include "common/group.h"
#include "common/progress.h"
#include "common/settings.h"
#include "common/vote.h"

static struct cm_buffer buffer(const void *addr, size_t count, MPI_Datatype type)
{
	return (struct cm_buffer){ .addr = (void *)addr, .count = count, .type = type };
}

static struct cm_buffer blocks(const void *addr, const void *counts, const void *displs,
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

static struct cm_call movement(enum cm_function function, struct cm_buffer send,
			       struct cm_buffer recv, int root)
{
	return (struct cm_call){
		.function = function,
		.send = send,
		.recv = recv,
		.root = root,
	};
}

static struct cm_call reduction(enum cm_function function, CM_VECTOR_PARAMS(size_t), int root)
{
	return (struct cm_call){
		.function = function,
		.send = buffer(send, count, type),
		.recv = buffer(recv, count, type),
		.op = op,
		.root = root,
	};
}

/* The beginning of the definition of a function. */
#define CALL(NAME, name) \
	struct cm_call cm_call_##name(CM_PARAMS(NAME, CM_TYPES_ANY) int rank)

CALL(ALLGATHER, allgather)
{
	return movement(CM_ALLGATHER, buffer(CM_SEND_ARGS), buffer(CM_RECV_ARGS), rank);
}

CALL(ALLGATHERV, allgatherv)
{
	return movement(CM_ALLGATHERV, buffer(CM_SEND_ARGS), blocks(CM_RECVS_ARGS), rank);
}

CALL(ALLREDUCE, allreduce)
{
	return reduction(CM_ALLREDUCE, CM_VECTOR_ARGS, rank);
}

CALL(ALLTOALL, alltoall)
{
	return movement(CM_ALLTOALL, buffer(CM_SEND_ARGS), buffer(CM_RECV_ARGS), rank);
}

CALL(ALLTOALLV, alltoallv)
{
	return movement(CM_ALLTOALLV, blocks(CM_SENDS_ARGS), blocks(CM_RECVS_ARGS), rank);
}

CALL(BARRIER, barrier)
{
	return (struct cm_call){ .function = CM_BARRIER, .root = rank };
}

CALL(BCAST, bcast)
{
	(void)rank;
	return movement(CM_BCAST, buffer(CM_RECV_ARGS), buffer(CM_RECV_ARGS), root);
}

CALL(EXSCAN, exscan)
{
	return reduction(CM_EXSCAN, CM_VECTOR_ARGS, rank);
}

CALL(GATHER, gather)
{
	return movement(CM_GATHER, buffer(CM_SEND_ARGS),
			rank == root ? buffer(CM_RECV_ARGS) : unused(send_type), root);
}

CALL(GATHERV, gatherv)
{
	return movement(CM_GATHERV, buffer(CM_SEND_ARGS),
			rank == root ? blocks(CM_RECVS_ARGS) : unused(send_type), root);
}

CALL(REDUCE, reduce)
{
	(void)rank;
	return reduction(CM_REDUCE, CM_VECTOR_ARGS, root);
}

CALL(REDUCE_SCATTER, reduce_scatter)
{
	return (struct cm_call){
		.function = CM_REDUCE_SCATTER,
		.send = blocks(send, counts, NULL, type),
		.recv = blocks(recv, counts, NULL, type),
		.op = op,
		.root = rank,
	};
}

CALL(REDUCE_SCATTER_BLOCK, reduce_scatter_block)
{
	return reduction(CM_REDUCE_SCATTER_BLOCK, CM_VECTOR_ARGS, rank);
}

CALL(SCAN, scan)
{
	return reduction(CM_SCAN, CM_VECTOR_ARGS, rank);
}

CALL(SCATTER, scatter)
{
	return movement(CM_SCATTER, rank == root ? buffer(CM_SEND_ARGS) : unused(recv_type),
			buffer(CM_RECV_ARGS), root);
}

CALL(SCATTERV, scatterv)
{
	return movement(CM_SCATTERV, rank == root ? blocks(CM_SENDS_ARGS) : unused(recv_type),
			buffer(CM_RECV_ARGS), root);
}

void cm_call_large(struct cm_call *call)
{
	call->send.large = true;
	call->recv.large = true;
}

/*
 * With reproducible, a sum has the same bits in the first call and in all that follow.  So once one
 * was left because there was no group yet, all others of its form are.  So are all persistent ones,
 * of which the kernel takes as many as can be started at a time.  All ranks come to the same: MPI
 * itself reduces no floating point numbers out of its progress.
 */
static enum cm_reason keep_bits(struct cm_group *group, const struct cm_call *call,
				enum cm_form form, enum cm_reason reason)
{
	if (group->bits_left[form] || form == CM_PERSISTENT)
		return CM_BITS;
	/* Blocking calls that are too small never go to the kernel. */
	if (reason == CM_EARLY && (form != CM_BLOCKING || cm_call_is_small(group, call) ||
				   cm_call_large_enough(group, call)))
		group->bits_left[form] = true;
	return reason;
}

static enum cm_reason find_reason(struct cm_group *group, const struct cm_call *call,
				  enum cm_form form, bool up)
{
	enum cm_reason reason = up ? cm_call_reason(group, call, form) : cm_group_reason(group);

	return cm_settings.reproducible && cm_call_rounds(call) ?
	       keep_bits(group, call, form, reason) : reason;
}

bool cm_call_take(struct cm_group *group, const struct cm_call *call, enum cm_form form, bool up)
{
	enum cm_reason reason = find_reason(group, call, form, up);

	cm_count(call->function, form, reason);
	return reason == CM_TAKEN;
}

int cm_call_fail(struct cm_group *group, const struct cm_call *call, int err)
{
	cm_group_failed(group, err, cm_function_name(call->function), true);
	return cm_group_error(group, err);
}

/* ---- blocking ---- */

static enum cm_reason run(struct cm_group *group, const struct cm_call *call, int *code)
{
	const bool fits = cm_call_fits(group, call, CM_BLOCKING);
	enum cm_reason reason = CM_TAKEN;
	struct cm_task task;
	int err;

	if (!fits && !cm_vote_is_due(group, call))
		return CM_LOCKED_MEMORY;
	err = cm_task_build(&task, group, call, CM_BLOCKING);
	if (!fits)
		reason = cm_vote_run(&task, call, !err, &err);
	else if (err)
		cm_group_failed(group, err, cm_function_name(call->function), true);
	else
		err = cm_task_run(&task);
	cm_task_end(&task);
	*code = err ? cm_group_error(group, err) : MPI_SUCCESS;
	return reason;
}

bool cm_call_run(struct cm_group *group, const struct cm_call *call, bool up, int *err)
{
	enum cm_reason reason = find_reason(group, call, CM_BLOCKING, up);

	if (reason == CM_TAKEN)
		reason = run(group, call, err);
	/* A call out of MPI's own path, while that makes the group, is none of the program's. */
	if (!cm_group_busy(group))
		cm_count(call->function, CM_BLOCKING, reason);
	return reason == CM_TAKEN;
}
