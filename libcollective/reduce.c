// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdint.h>

#include "operation.h"

int coll_reduce(struct coll_comm *comm, const void *send, void *recv,
		size_t count, enum coll_type type, enum coll_op op, int root)
{
	struct collective_op operation = {
		.opcode = COLLECTIVE_REDUCE,
		.root = root,
		.send = (uintptr_t)send,
	};
	size_t bytes;
	int err = coll_operation_elements(&operation, count, type, &bytes) ?:
		  coll_operation_reduction(&operation, op);

	if (err)
		return err;
	if (comm->rank != root)
		return send == COLL_IN_PLACE ? -EINVAL :
		       coll_operation_run(comm, &operation, bytes, 0);
	operation.recv = (uintptr_t)recv;
	if (send == COLL_IN_PLACE)
		operation.send = operation.recv;
	return coll_operation_run(comm, &operation, bytes, bytes);
}
