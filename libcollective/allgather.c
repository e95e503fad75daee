// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdint.h>

#include "operation.h"

int coll_allgather(struct coll_comm *comm, const void *send, void *recv,
		   size_t count, enum coll_type type)
{
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLGATHER,
		.recv = (uintptr_t)recv,
	};
	size_t block, total;
	uintptr_t own;
	int err = coll_operation_blocks(comm, &op, count, type, &block, &total);

	if (err)
		return err;
	own = (uintptr_t)recv + comm->rank * block;
	if (send == COLL_IN_PLACE || (uintptr_t)send == own) {
		/* Equal addresses are the kernel's word for it, on every rank. */
		op.send = op.recv;
		return coll_operation_run(comm, &op, 0, total);
	}
	/* ... which a caller that gives them does not mean: that is an overlap. */
	if (send == recv)
		return -EINVAL;
	op.send = (uintptr_t)send;
	return coll_operation_run(comm, &op, block, total);
}
