// SPDX-License-Identifier: LGPL-2.1-or-later
/* coll_allreduce() and its forms. */
#include "collective_uring.h"
#include "comm/operation.h"

static int build(struct coll_operation *operation, struct coll_comm *comm,
		 const void *send, void *recv, size_t count,
		 enum coll_type type, enum coll_op op)
{
	*operation = (struct coll_operation){
		.op.opcode = COLLECTIVE_ALLREDUCE,
	};
	return coll_operation_reduce(comm, operation, send, recv, count, type, op);
}

int coll_allreduce(struct coll_comm *comm, const void *send, void *recv,
		   size_t count, enum coll_type type, enum coll_op op)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  build(&operation, comm, send, recv, count, type, op));
}

int coll_iallreduce(struct coll_comm *comm, const void *send, void *recv,
		    size_t count, enum coll_type type, enum coll_op op,
		    struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    build(&operation, comm, send, recv, count, type, op));
}

int coll_prep_allreduce(struct io_uring_sqe *sqe, struct coll_comm *comm,
			const void *send, void *recv, size_t count,
			enum coll_type type, enum coll_op op)
{
	struct coll_operation operation;

	return coll_operation_prep(comm, &operation, sqe,
				   build(&operation, comm, send, recv, count, type, op));
}

int coll_allreduce_init(struct coll_comm *comm, const void *send, void *recv,
			size_t count, enum coll_type type, enum coll_op op,
			struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_init(comm, &operation, request,
				   build(&operation, comm, send, recv, count, type, op));
}
