// SPDX-License-Identifier: LGPL-2.1-or-later
/* The view forms: collectives with blocks that consist of rows at equal distances. */
#include <errno.h>
#include <stdint.h>

#include "api/view.h"
#include "comm/operation.h"

/* Size of the struct in version 0.1, which is the minimum. */
#define VIEW_SIZE_MIN	32

/* As of the kernel's structs: a larger size was never set. */
#define VIEW_SIZE_MAX	4096

_Static_assert(sizeof(struct coll_view) == VIEW_SIZE_MIN, "a view that has grown is imported");

/* Check the size.  Bytes that this library does not know must be 0. */
static int view_check(struct coll_operation *operation, const struct coll_view *view)
{
	size_t i;

	if (!view || !view->size)
		return 0;
	if (view->size < VIEW_SIZE_MIN)
		return coll_operation_arg_error(operation, -EINVAL,
						"the size of a struct coll_view is too small");
	if (view->size > VIEW_SIZE_MAX)
		return coll_operation_arg_error(operation, -E2BIG,
						"the size of a struct coll_view is not set");
	for (i = sizeof(*view); i < view->size; i++)
		if (((const char *)view)[i])
			return coll_operation_arg_error(operation, -E2BIG,
							"a struct coll_view has more than this library knows");
	return 0;
}

static struct collective_view kernel_view(const struct coll_view *view)
{
	if (!view)
		return (struct collective_view){ 0 };
	return (struct collective_view){
		.rows = view->rows,
		.stride = view->stride,
		.distance = view->distance,
	};
}

/*
 * Number of bytes from the first element to the end of the last, which finds the registered
 * buffer; 0: none is looked up.
 */
static size_t footprint(const struct coll_view *view, size_t blocks, size_t count, size_t size)
{
	size_t rows = view && view->rows ? view->rows : 1, gaps, bytes;

	if (!count || count % rows)
		return 0;
	if (!view)
		return __builtin_mul_overflow(blocks * count, size, &bytes) ? 0 : bytes;
	if (__builtin_mul_overflow(rows - 1, view->stride, &bytes) ||
	    __builtin_mul_overflow(blocks - 1, view->distance, &gaps) ||
	    __builtin_add_overflow(bytes, gaps, &bytes) ||
	    __builtin_add_overflow(bytes, count / rows, &bytes) ||
	    __builtin_mul_overflow(bytes, size, &bytes))
		return 0;
	return bytes;
}

int coll_view_build(struct coll_operation *operation, struct coll_comm *comm, int opcode,
		    const void *send, const struct coll_view *send_view,
		    void *recv, const struct coll_view *recv_view,
		    size_t count, enum coll_type type)
{
	const size_t n = comm->nranks;
	size_t block, total;
	int err;

	*operation = (struct coll_operation){
		.op.opcode = opcode,
		.op.send = (uintptr_t)send,
		.op.recv = (uintptr_t)recv,
		.layout.size = sizeof(operation->layout),
		.layout.send = kernel_view(send_view),
		.layout.recv = kernel_view(recv_view),
	};
	err = view_check(operation, send_view) ?: view_check(operation, recv_view) ?:
	      coll_operation_blocks(comm, operation, count, type, &block, &total);
	if (err)
		return err;
	operation->send_size = footprint(send_view, opcode == COLLECTIVE_ALLGATHER ? 1 : n,
					 count, coll_type_size(type));
	operation->recv_size = footprint(recv_view, opcode == COLLECTIVE_REDUCE_SCATTER ? 1 : n,
					 count, coll_type_size(type));
	if (send == recv && count)
		return -EINVAL;
	if (send != COLL_IN_PLACE)
		return 0;
	if (opcode == COLLECTIVE_REDUCE_SCATTER)
		return coll_operation_arg_error(operation, -EOPNOTSUPP,
						"a reduction with views cannot be in place");
	operation->op.send = operation->op.recv;
	if (opcode == COLLECTIVE_ALLTOALL) {
		operation->layout.send = operation->layout.recv;
		operation->send_size = operation->recv_size;
		return 0;
	}
	/* The block of this rank is where the view of the result places it. */
	operation->layout.send = kernel_view(NULL);
	operation->send_size = 0;
	return 0;
}

int coll_allgather_view(struct coll_comm *comm, const void *send,
			const struct coll_view *send_view, void *recv,
			const struct coll_view *recv_view, size_t count,
			enum coll_type type)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  coll_view_build(&operation, comm, COLLECTIVE_ALLGATHER,
						  send, send_view, recv, recv_view, count,
						  type));
}

int coll_iallgather_view(struct coll_comm *comm, const void *send,
			 const struct coll_view *send_view, void *recv,
			 const struct coll_view *recv_view, size_t count,
			 enum coll_type type, struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    coll_view_build(&operation, comm,
						    COLLECTIVE_ALLGATHER, send, send_view,
						    recv, recv_view, count, type));
}

int coll_reduce_scatter_view(struct coll_comm *comm, const void *send,
			     const struct coll_view *send_view, void *recv,
			     const struct coll_view *recv_view, size_t count,
			     enum coll_type type, enum coll_op op)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  coll_view_build(&operation, comm,
						  COLLECTIVE_REDUCE_SCATTER, send,
						  send_view, recv, recv_view, count,
						  type) ?:
				  coll_operation_reduction(comm, &operation, op));
}

int coll_ireduce_scatter_view(struct coll_comm *comm, const void *send,
			      const struct coll_view *send_view, void *recv,
			      const struct coll_view *recv_view, size_t count,
			      enum coll_type type, enum coll_op op,
			      struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    coll_view_build(&operation, comm,
						    COLLECTIVE_REDUCE_SCATTER, send,
						    send_view, recv, recv_view, count,
						    type) ?:
				    coll_operation_reduction(comm, &operation, op));
}

int coll_alltoall_view(struct coll_comm *comm, const void *send,
		       const struct coll_view *send_view, void *recv,
		       const struct coll_view *recv_view, size_t count,
		       enum coll_type type)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  coll_view_build(&operation, comm, COLLECTIVE_ALLTOALL,
						  send, send_view, recv, recv_view, count,
						  type));
}

int coll_ialltoall_view(struct coll_comm *comm, const void *send,
			const struct coll_view *send_view, void *recv,
			const struct coll_view *recv_view, size_t count,
			enum coll_type type, struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    coll_view_build(&operation, comm, COLLECTIVE_ALLTOALL,
						    send, send_view, recv, recv_view,
						    count, type));
}
