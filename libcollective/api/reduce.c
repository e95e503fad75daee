// SPDX-License-Identifier: LGPL-2.1-or-later
/* coll_reduce() and its forms. */
#include <errno.h>
#include <stdint.h>

#include "collective_uring.h"
#include "comm/operation.h"

static int build(struct coll_operation *operation, struct coll_comm *comm,
		 const void *send, void *recv, size_t count,
		 enum coll_type type, enum coll_op op, int root)
{
	size_t bytes;
	int err;

	*operation = (struct coll_operation){
		.op.opcode = COLLECTIVE_REDUCE,
		.op.root = root,
		.op.send = (uintptr_t)send,
	};
	err = coll_operation_elements(operation, count, type, &bytes) ?:
	      coll_operation_reduction(comm, operation, op);
	if (err)
		return err;
	operation->send_size = bytes;
	if (comm->rank != root)
		return coll_operation_not_in_place(operation, send);
	operation->op.recv = (uintptr_t)recv;
	operation->recv_size = bytes;
	if (send == COLL_IN_PLACE)
		operation->op.send = operation->op.recv;
	return 0;
}

int coll_reduce(struct coll_comm *comm, const void *send, void *recv,
		size_t count, enum coll_type type, enum coll_op op, int root)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  build(&operation, comm, send, recv, count, type, op,
					root));
}

int coll_ireduce(struct coll_comm *comm, const void *send, void *recv,
		 size_t count, enum coll_type type, enum coll_op op, int root,
		 struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    build(&operation, comm, send, recv, count, type, op,
					  root));
}

int coll_prep_reduce(struct io_uring_sqe *sqe, struct coll_comm *comm,
		     const void *send, void *recv, size_t count,
		     enum coll_type type, enum coll_op op, int root)
{
	struct coll_operation operation;

	return coll_operation_prep(comm, &operation, sqe,
				   build(&operation, comm, send, recv, count, type, op,
					 root));
}

int coll_reduce_init(struct coll_comm *comm, const void *send, void *recv,
		     size_t count, enum coll_type type, enum coll_op op,
		     int root, struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_init(comm, &operation, request,
				   build(&operation, comm, send, recv, count, type, op,
					 root));
}
