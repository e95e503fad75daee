// SPDX-License-Identifier: LGPL-2.1-or-later
/* coll_broadcast() and its forms. */
#include <stdint.h>

#include "collective_uring.h"
#include "comm/operation.h"

static int build(struct coll_operation *operation, struct coll_comm *comm,
		 void *buffer, size_t count, enum coll_type type, int root)
{
	size_t bytes;
	int err;

	*operation = (struct coll_operation){
		.op.opcode = COLLECTIVE_BROADCAST,
		.op.root = root,
		.op.send = (uintptr_t)buffer,
		.op.recv = (uintptr_t)buffer,
	};
	err = coll_operation_elements(operation, count, type, &bytes);
	if (err)
		return err;
	coll_operation_nosync(comm, operation);
	/* The root only reads the buffer, so a read-only registration suffices. */
	if (comm->rank == root)
		operation->send_size = bytes;
	else
		operation->recv_size = bytes;
	return 0;
}

int coll_broadcast(struct coll_comm *comm, void *buffer, size_t count,
		   enum coll_type type, int root)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  build(&operation, comm, buffer, count, type, root));
}

int coll_ibroadcast(struct coll_comm *comm, void *buffer, size_t count,
		    enum coll_type type, int root,
		    struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    build(&operation, comm, buffer, count, type, root));
}

int coll_prep_broadcast(struct io_uring_sqe *sqe, struct coll_comm *comm,
			void *buffer, size_t count, enum coll_type type,
			int root)
{
	struct coll_operation operation;

	return coll_operation_prep(comm, &operation, sqe,
				   build(&operation, comm, buffer, count, type, root));
}

int coll_broadcast_init(struct coll_comm *comm, void *buffer, size_t count,
			enum coll_type type, int root,
			struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_init(comm, &operation, request,
				   build(&operation, comm, buffer, count, type, root));
}
