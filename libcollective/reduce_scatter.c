// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "operation.h"

int coll_reduce_scatter(struct coll_comm *comm, const void *send, void *recv,
			size_t count, enum coll_type type, enum coll_op op)
{
	struct collective_op operation = {
		.opcode = COLLECTIVE_REDUCE_SCATTER,
		.send = (uintptr_t)send,
		.recv = (uintptr_t)recv,
	};
	size_t block, total;
	int err = coll_operation_blocks(comm, &operation, count, type, &block, &total) ?:
		  coll_operation_reduction(&operation, op);

	if (err)
		return err;
	if (send != COLL_IN_PLACE)
		return coll_operation_run(comm, &operation, total, block);

	/* The kernel leaves the result where this rank's own block is. */
	operation.send = (uintptr_t)recv;
	operation.recv = operation.send + comm->rank * block;
	err = coll_operation_run(comm, &operation, total, block);
	if (!err)
		memmove(recv, (void *)(uintptr_t)operation.recv, block);
	return err;
}
