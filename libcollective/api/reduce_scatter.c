// SPDX-License-Identifier: LGPL-2.1-or-later
/* coll_reduce_scatter() and its forms. */
#include <stdint.h>

#include "collective_uring.h"
#include "comm/operation.h"

static int build(struct coll_operation *operation, struct coll_comm *comm,
		 const void *send, void *recv, size_t count,
		 enum coll_type type, enum coll_op op)
{
	size_t block, total;
	int err;

	*operation = (struct coll_operation){
		.op.opcode = COLLECTIVE_REDUCE_SCATTER,
		.op.send = (uintptr_t)send,
		.op.recv = (uintptr_t)recv,
	};
	err = coll_operation_blocks(comm, operation, count, type, &block,
				    &total) ?:
	      coll_operation_reduction(comm, operation, op);
	if (err)
		return err;
	operation->send_size = total;
	operation->recv_size = block;
	if (send != COLL_IN_PLACE)
		return 0;

	/* In place, the kernel leaves the result in the block of this rank. */
	operation->op.send = (uintptr_t)recv;
	operation->op.recv = operation->op.send + comm->rank * block;
	operation->move_to = recv;
	operation->move_size = block;
	return 0;
}

int coll_reduce_scatter(struct coll_comm *comm, const void *send, void *recv,
			size_t count, enum coll_type type, enum coll_op op)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  build(&operation, comm, send, recv, count, type, op));
}

int coll_ireduce_scatter(struct coll_comm *comm, const void *send, void *recv,
			 size_t count, enum coll_type type, enum coll_op op,
			 struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    build(&operation, comm, send, recv, count, type, op));
}

int coll_prep_reduce_scatter(struct io_uring_sqe *sqe, struct coll_comm *comm,
			     const void *send, void *recv, size_t count,
			     enum coll_type type, enum coll_op op)
{
	struct coll_operation operation;

	return coll_operation_prep(comm, &operation, sqe,
				   build(&operation, comm, send, recv, count, type, op));
}

int coll_reduce_scatter_init(struct coll_comm *comm, const void *send,
			     void *recv, size_t count, enum coll_type type,
			     enum coll_op op, struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_init(comm, &operation, request,
				   build(&operation, comm, send, recv, count, type, op));
}
