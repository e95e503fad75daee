// SPDX-License-Identifier: LGPL-2.1-or-later
/* coll_alltoall() and its forms. */
#include <stdint.h>

#include "collective_uring.h"
#include "comm/operation.h"

static int build(struct coll_operation *operation, struct coll_comm *comm,
		 const void *send, void *recv, size_t count,
		 enum coll_type type)
{
	size_t block, total;
	int err;

	*operation = (struct coll_operation){
		.op.opcode = COLLECTIVE_ALLTOALL,
		.op.send = (uintptr_t)(send == COLL_IN_PLACE ? recv : send),
		.op.recv = (uintptr_t)recv,
	};
	err = coll_operation_blocks(comm, operation, count, type, &block,
				    &total);
	if (err)
		return err;
	operation->send_size = total;
	operation->recv_size = total;
	return 0;
}

int coll_alltoall(struct coll_comm *comm, const void *send, void *recv,
		  size_t count, enum coll_type type)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  build(&operation, comm, send, recv, count, type));
}

int coll_ialltoall(struct coll_comm *comm, const void *send, void *recv,
		   size_t count, enum coll_type type,
		   struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    build(&operation, comm, send, recv, count, type));
}

int coll_prep_alltoall(struct io_uring_sqe *sqe, struct coll_comm *comm,
		       const void *send, void *recv, size_t count,
		       enum coll_type type)
{
	struct coll_operation operation;

	return coll_operation_prep(comm, &operation, sqe,
				   build(&operation, comm, send, recv, count, type));
}

int coll_alltoall_init(struct coll_comm *comm, const void *send, void *recv,
		       size_t count, enum coll_type type,
		       struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_init(comm, &operation, request,
				   build(&operation, comm, send, recv, count, type));
}
