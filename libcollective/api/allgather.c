// SPDX-License-Identifier: LGPL-2.1-or-later
/* coll_allgather() and its forms. */
#include <errno.h>
#include <stdint.h>

#include "collective_uring.h"
#include "comm/operation.h"

static int build(struct coll_operation *operation, struct coll_comm *comm,
		 const void *send, void *recv, size_t count,
		 enum coll_type type)
{
	struct collective_op *op = &operation->op;
	size_t block, total;
	int err;

	*operation = (struct coll_operation){
		.op.opcode = COLLECTIVE_ALLGATHER,
		.op.send = (uintptr_t)send,
		.op.recv = (uintptr_t)recv,
	};
	err = coll_operation_blocks(comm, operation, count, type, &block, &total);
	if (err)
		return err;
	operation->recv_size = total;
	if (send == COLL_IN_PLACE || op->send == op->recv + comm->rank * block) {
		/* In place the kernel expects equal addresses, on every rank. */
		op->send = op->recv;
		return 0;
	}
	/* Equal addresses from the caller do not mean in place, but are an overlap. */
	operation->send_size = block;
	return send == recv ? -EINVAL : 0;
}

int coll_allgather(struct coll_comm *comm, const void *send, void *recv,
		   size_t count, enum coll_type type)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  build(&operation, comm, send, recv, count, type));
}

int coll_iallgather(struct coll_comm *comm, const void *send, void *recv,
		    size_t count, enum coll_type type,
		    struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    build(&operation, comm, send, recv, count, type));
}

int coll_prep_allgather(struct io_uring_sqe *sqe, struct coll_comm *comm,
			const void *send, void *recv, size_t count,
			enum coll_type type)
{
	struct coll_operation operation;

	return coll_operation_prep(comm, &operation, sqe,
				   build(&operation, comm, send, recv, count, type));
}

int coll_allgather_init(struct coll_comm *comm, const void *send, void *recv,
			size_t count, enum coll_type type,
			struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_init(comm, &operation, request,
				   build(&operation, comm, send, recv, count, type));
}
