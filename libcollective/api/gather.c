// SPDX-License-Identifier: LGPL-2.1-or-later
/* Gather and scatter, which differ in the direction. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "collective_uring.h"
#include "comm/operation.h"

/*
 * Each rank has a @part; the root also has the @whole, with the parts of all ranks.  In place,
 * the part of the root is at its position in @whole, and the kernel expects equal addresses.
 */
static int build(struct coll_operation *operation, struct coll_comm *comm,
		 int opcode, const void *part, const void *whole, size_t count,
		 enum coll_type type, int root)
{
	bool gather = opcode == COLLECTIVE_GATHER;
	struct collective_op *op = &operation->op;
	__u64 *part_addr = gather ? &op->send : &op->recv;
	__u64 *whole_addr = gather ? &op->recv : &op->send;
	size_t *part_size = gather ? &operation->send_size : &operation->recv_size;
	size_t *whole_size = gather ? &operation->recv_size : &operation->send_size;
	size_t block, total;
	int err;

	*operation = (struct coll_operation){ .op.opcode = opcode, .op.root = root };
	*part_addr = (uintptr_t)part;
	err = coll_operation_blocks(comm, operation, count, type, &block, &total);
	if (err)
		return err;
	*part_size = block;
	if (comm->rank != root)
		return coll_operation_not_in_place(operation, part);
	*whole_addr = (uintptr_t)whole;
	*whole_size = total;
	if (part == COLL_IN_PLACE || *part_addr == *whole_addr + comm->rank * block) {
		*part_addr = *whole_addr;
		*part_size = 0;
		return 0;
	}
	return part == whole ? -EINVAL : 0;
}

int coll_gather(struct coll_comm *comm, const void *send, void *recv,
		size_t count, enum coll_type type, int root)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  build(&operation, comm, COLLECTIVE_GATHER, send, recv,
					count, type, root));
}

int coll_igather(struct coll_comm *comm, const void *send, void *recv,
		 size_t count, enum coll_type type, int root,
		 struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    build(&operation, comm, COLLECTIVE_GATHER, send, recv,
					  count, type, root));
}

int coll_prep_gather(struct io_uring_sqe *sqe, struct coll_comm *comm,
		     const void *send, void *recv, size_t count,
		     enum coll_type type, int root)
{
	struct coll_operation operation;

	return coll_operation_prep(comm, &operation, sqe,
				   build(&operation, comm, COLLECTIVE_GATHER, send, recv,
					 count, type, root));
}

int coll_gather_init(struct coll_comm *comm, const void *send, void *recv,
		     size_t count, enum coll_type type, int root,
		     struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_init(comm, &operation, request,
				   build(&operation, comm, COLLECTIVE_GATHER, send, recv,
					 count, type, root));
}

int coll_scatter(struct coll_comm *comm, const void *send, void *recv,
		 size_t count, enum coll_type type, int root)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation,
				  build(&operation, comm, COLLECTIVE_SCATTER, recv, send,
					count, type, root));
}

int coll_iscatter(struct coll_comm *comm, const void *send, void *recv,
		  size_t count, enum coll_type type, int root,
		  struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request,
				    build(&operation, comm, COLLECTIVE_SCATTER, recv,
					  send, count, type, root));
}

int coll_prep_scatter(struct io_uring_sqe *sqe, struct coll_comm *comm,
		      const void *send, void *recv, size_t count,
		      enum coll_type type, int root)
{
	struct coll_operation operation;

	return coll_operation_prep(comm, &operation, sqe,
				   build(&operation, comm, COLLECTIVE_SCATTER, recv, send,
					 count, type, root));
}

int coll_scatter_init(struct coll_comm *comm, const void *send, void *recv,
		      size_t count, enum coll_type type, int root,
		      struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_init(comm, &operation, request,
				   build(&operation, comm, COLLECTIVE_SCATTER, recv, send,
					 count, type, root));
}
