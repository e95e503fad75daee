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
		.op.opcode = COLLECTIVE_GATHER,
		.op.root = root,
		.op.send = (uintptr_t)send,
	};
	err = coll_operation_blocks(comm, op, count, type, &block, &total);
	if (err)
		return err;
	operation->send_size = block;
	if (comm->rank != root)
		return send == COLL_IN_PLACE ? -EINVAL : 0;
	op->recv = (uintptr_t)recv;
	operation->recv_size = total;
	if (send == COLL_IN_PLACE || op->send == op->recv + comm->rank * block) {
		op->send = op->recv;
		operation->send_size = 0;
		return 0;
	}
	/* Equal addresses are the kernel's word for in place. */
	return send == recv ? -EINVAL : 0;
}

int coll_gather(struct coll_comm *comm, const void *send, void *recv,
		size_t count, enum coll_type type, int root)
{
	struct coll_operation operation;

	return build(&operation, comm, send, recv, count, type, root) ?:
	       coll_operation_run(comm, &operation);
}

int coll_igather(struct coll_comm *comm, const void *send, void *recv,
		 size_t count, enum coll_type type, int root,
		 struct coll_request **request)
{
	struct coll_operation operation;

	*request = NULL;
	return build(&operation, comm, send, recv, count, type, root) ?:
	       coll_operation_start(comm, &operation, request);
}
