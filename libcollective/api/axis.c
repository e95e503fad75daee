// SPDX-License-Identifier: LGPL-2.1-or-later
/* Collectives of row-major arrays, of which the blocks follow each other along an axis. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/view.h"

/* Compute the product of @shape[@from] to @shape[@to - 1]. */
static int product(const size_t *shape, int from, int to, size_t *all)
{
	int i;

	*all = 1;
	for (i = from; i < to; i++)
		if (__builtin_mul_overflow(*all, shape[i], all))
			return -EOVERFLOW;
	return 0;
}

/* Compute the view of an array that has one block of shape @block from each rank along @axis. */
static int axis_view(const struct coll_comm *comm, const size_t *block, int ndims, int axis,
		     struct coll_view *view)
{
	int err;

	*view = (struct coll_view){ .size = sizeof(*view) };
	err = product(block, 0, axis, &view->rows) ?:
	      product(block, axis, ndims, &view->distance);
	if (err)
		return err;
	return __builtin_mul_overflow(view->distance, (size_t)comm->nranks, &view->stride) ?
	       -EOVERFLOW : 0;
}

/*
 * Allgather has the blocks of all ranks in its result, reduce_scatter in its input; the other
 * buffer has one block.
 */
static int build(struct coll_operation *operation, struct coll_comm *comm, int opcode,
		 const void *send, void *recv, const size_t *shape, int ndims, int axis,
		 enum coll_type type)
{
	bool gathers = opcode == COLLECTIVE_ALLGATHER;
	struct coll_view view;
	size_t count;
	int err;

	*operation = (struct coll_operation){ .op.opcode = opcode };
	if (!shape || axis < 0 || axis >= ndims)
		return coll_operation_arg_error(operation, -EINVAL, "the array has no such axis");
	err = product(shape, 0, ndims, &count) ?: axis_view(comm, shape, ndims, axis, &view);
	if (err)
		return err;
	return coll_view_build(operation, comm, opcode, send, gathers ? NULL : &view, recv,
			       gathers ? &view : NULL, count, type);
}

static int build_alltoall(struct coll_operation *operation, struct coll_comm *comm,
			  const void *send, void *recv, const size_t *shape, int ndims,
			  int split, int concat, enum coll_type type)
{
	size_t block[COLL_DIMS_MAX] = { 0 }, count;
	struct coll_view from, to;
	int i, err;

	*operation = (struct coll_operation){ .op.opcode = COLLECTIVE_ALLTOALL };
	if (!shape || ndims > COLL_DIMS_MAX || split < 0 || split >= ndims || concat < 0 ||
	    concat >= ndims)
		return coll_operation_arg_error(operation, -EINVAL, "the array has no such axis");
	if (shape[split] % comm->nranks)
		return coll_operation_arg_error(operation, -EINVAL,
						"the axis cannot be divided by the number of ranks");
	if (send == COLL_IN_PLACE && split != concat)
		return coll_operation_arg_error(operation, -EINVAL,
						"in place both axes must be the same");
	for (i = 0; i < ndims; i++)
		block[i] = shape[i];
	block[split] /= comm->nranks;
	err = product(block, 0, ndims, &count) ?:
	      axis_view(comm, block, ndims, split, &from) ?:
	      axis_view(comm, block, ndims, concat, &to);
	if (err)
		return err;
	return coll_view_build(operation, comm, COLLECTIVE_ALLTOALL, send, &from, recv, &to,
			       count, type);
}

int coll_allgather_axis(struct coll_comm *comm, const void *send, void *recv,
			const size_t *shape, int ndims, int axis,
			enum coll_type type)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  build(&operation, comm, COLLECTIVE_ALLGATHER, send,
					recv, shape, ndims, axis, type));
}

int coll_iallgather_axis(struct coll_comm *comm, const void *send, void *recv,
			 const size_t *shape, int ndims, int axis,
			 enum coll_type type, struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    build(&operation, comm, COLLECTIVE_ALLGATHER, send,
					  recv, shape, ndims, axis, type));
}

int coll_reduce_scatter_axis(struct coll_comm *comm, const void *send,
			     void *recv, const size_t *shape, int ndims,
			     int axis, enum coll_type type, enum coll_op op)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  build(&operation, comm, COLLECTIVE_REDUCE_SCATTER, send,
					recv, shape, ndims, axis, type) ?:
				  coll_operation_reduction(comm, &operation, op));
}

int coll_ireduce_scatter_axis(struct coll_comm *comm, const void *send,
			      void *recv, const size_t *shape, int ndims,
			      int axis, enum coll_type type, enum coll_op op,
			      struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    build(&operation, comm, COLLECTIVE_REDUCE_SCATTER,
					  send, recv, shape, ndims, axis, type) ?:
				    coll_operation_reduction(comm, &operation, op));
}

int coll_alltoall_axis(struct coll_comm *comm, const void *send, void *recv,
		       const size_t *shape, int ndims, int split, int concat,
		       enum coll_type type)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  build_alltoall(&operation, comm, send, recv, shape,
						 ndims, split, concat, type));
}

int coll_ialltoall_axis(struct coll_comm *comm, const void *send, void *recv,
			const size_t *shape, int ndims, int split, int concat,
			enum coll_type type, struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    build_alltoall(&operation, comm, send, recv, shape,
						   ndims, split, concat, type));
}
