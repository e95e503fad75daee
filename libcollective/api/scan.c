// SPDX-License-Identifier: LGPL-2.1-or-later
/* Inclusive and exclusive scan. */
#include "collective_uring.h"
#include "comm/operation.h"

static int build(struct coll_operation *operation, struct coll_comm *comm, int opcode,
		 const void *send, void *recv, size_t count, enum coll_type type, enum coll_op op)
{
	*operation = (struct coll_operation){ .op.opcode = opcode };
	return coll_operation_reduce(comm, operation, send, recv, count, type, op) ?:
	       coll_operation_scan_sums(operation);
}

int coll_scan(struct coll_comm *comm, const void *send, void *recv,
	      size_t count, enum coll_type type, enum coll_op op)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  build(&operation, comm, COLLECTIVE_SCAN, send, recv,
					count, type, op));
}

int coll_iscan(struct coll_comm *comm, const void *send, void *recv,
	       size_t count, enum coll_type type, enum coll_op op,
	       struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    build(&operation, comm, COLLECTIVE_SCAN, send, recv,
					  count, type, op));
}

int coll_prep_scan(struct io_uring_sqe *sqe, struct coll_comm *comm,
		   const void *send, void *recv, size_t count,
		   enum coll_type type, enum coll_op op)
{
	struct coll_operation operation;

	return coll_operation_prep(comm, &operation, sqe,
				   build(&operation, comm, COLLECTIVE_SCAN, send, recv,
					 count, type, op));
}

int coll_scan_init(struct coll_comm *comm, const void *send, void *recv,
		   size_t count, enum coll_type type, enum coll_op op,
		   struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_init(comm, &operation, request,
				   build(&operation, comm, COLLECTIVE_SCAN, send, recv,
					 count, type, op));
}

int coll_exscan(struct coll_comm *comm, const void *send, void *recv,
		size_t count, enum coll_type type, enum coll_op op)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  build(&operation, comm, COLLECTIVE_EXSCAN, send, recv,
					count, type, op));
}

int coll_iexscan(struct coll_comm *comm, const void *send, void *recv,
		 size_t count, enum coll_type type, enum coll_op op,
		 struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    build(&operation, comm, COLLECTIVE_EXSCAN, send, recv,
					  count, type, op));
}

int coll_prep_exscan(struct io_uring_sqe *sqe, struct coll_comm *comm,
		     const void *send, void *recv, size_t count,
		     enum coll_type type, enum coll_op op)
{
	struct coll_operation operation;

	return coll_operation_prep(comm, &operation, sqe,
				   build(&operation, comm, COLLECTIVE_EXSCAN, send, recv,
					 count, type, op));
}

int coll_exscan_init(struct coll_comm *comm, const void *send, void *recv,
		     size_t count, enum coll_type type, enum coll_op op,
		     struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_init(comm, &operation, request,
				   build(&operation, comm, COLLECTIVE_EXSCAN, send, recv,
					 count, type, op));
}
