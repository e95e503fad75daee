// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdint.h>

#include "operation.h"

int coll_scatter(struct coll_comm *comm, const void *send, void *recv,
		 size_t count, enum coll_type type, int root)
{
	struct collective_op op = {
		.opcode = COLLECTIVE_SCATTER,
		.root = root,
		.recv = (uintptr_t)recv,
	};
	size_t block, total;
	int err = coll_operation_blocks(comm, &op, count, type, &block, &total);

	if (err)
		return err;
	if (comm->rank != root)
		return recv == COLL_IN_PLACE ? -EINVAL :
		       coll_operation_run(comm, &op, 0, block);
	op.send = (uintptr_t)send;
	if (recv == COLL_IN_PLACE || op.recv == op.send + comm->rank * block) {
		op.recv = op.send;
		return coll_operation_run(comm, &op, total, 0);
	}
	/* Equal addresses are the kernel's word for in place. */
	if (recv == send)
		return -EINVAL;
	return coll_operation_run(comm, &op, total, block);
}
