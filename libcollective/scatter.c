// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdint.h>

#include "operation.h"

static int build(struct coll_operation *operation, struct coll_comm *comm,
		 const void *send, void *recv, size_t count,
		 enum coll_type type, int root)
{
	struct collective_op *op = &operation->op;
	size_t block, total;
	int err;

	*operation = (struct coll_operation){
		.op.opcode = COLLECTIVE_SCATTER,
		.op.root = root,
		.op.recv = (uintptr_t)recv,
	};
	err = coll_operation_blocks(comm, op, count, type, &block, &total);
	if (err)
		return err;
	operation->recv_size = block;
	if (comm->rank != root)
		return recv == COLL_IN_PLACE ? -EINVAL : 0;
	op->send = (uintptr_t)send;
	operation->send_size = total;
	if (recv == COLL_IN_PLACE || op->recv == op->send + comm->rank * block) {
		op->recv = op->send;
		operation->recv_size = 0;
		return 0;
	}
	/* Equal addresses are the kernel's word for in place. */
	return recv == send ? -EINVAL : 0;
}

int coll_scatter(struct coll_comm *comm, const void *send, void *recv,
		 size_t count, enum coll_type type, int root)
{
	struct coll_operation operation;

	return build(&operation, comm, send, recv, count, type, root) ?:
	       coll_operation_run(comm, &operation);
}

int coll_iscatter(struct coll_comm *comm, const void *send, void *recv,
		  size_t count, enum coll_type type, int root,
		  struct coll_request **request)
{
	struct coll_operation operation;

	*request = NULL;
	return build(&operation, comm, send, recv, count, type, root) ?:
	       coll_operation_start(comm, &operation, request);
}
