// SPDX-License-Identifier: LGPL-2.1-or-later
/* coll_barrier() and its forms. */
#include "collective_uring.h"
#include "comm/operation.h"

static int build(struct coll_operation *operation, struct coll_comm *comm)
{
	(void)comm;
	*operation = (struct coll_operation){ .op.opcode = COLLECTIVE_BARRIER };
	return 0;
}

int coll_barrier(struct coll_comm *comm)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  build(&operation, comm));
}

int coll_ibarrier(struct coll_comm *comm, struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    build(&operation, comm));
}

int coll_prep_barrier(struct io_uring_sqe *sqe, struct coll_comm *comm)
{
	struct coll_operation operation;

	return coll_operation_prep(comm, &operation, sqe,
				   build(&operation, comm));
}

int coll_barrier_init(struct coll_comm *comm, struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_init(comm, &operation, request,
				   build(&operation, comm));
}
