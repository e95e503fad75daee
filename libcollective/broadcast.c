// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdint.h>

#include "operation.h"

int coll_broadcast(struct coll_comm *comm, void *buffer, size_t count,
		   enum coll_type type, int root)
{
	struct collective_op op = {
		.opcode = COLLECTIVE_BROADCAST,
		.root = root,
		.send = (uintptr_t)buffer,
		.recv = (uintptr_t)buffer,
	};
	size_t bytes;
	int err = coll_operation_elements(&op, count, type, &bytes);

	if (err)
		return err;
	/* The root only reads, so that memory to send from only will do. */
	if (comm->rank == root)
		return coll_operation_run(comm, &op, bytes, 0);
	return coll_operation_run(comm, &op, 0, bytes);
}
