// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdint.h>

#include "operation.h"

int coll_gather(struct coll_comm *comm, const void *send, void *recv,
		size_t count, enum coll_type type, int root)
{
	struct collective_op op = {
		.opcode = COLLECTIVE_GATHER,
		.root = root,
		.send = (uintptr_t)send,
	};
	size_t block, total;
	int err = coll_operation_blocks(comm, &op, count, type, &block, &total);

	if (err)
		return err;
	if (comm->rank != root)
		return send == COLL_IN_PLACE ? -EINVAL :
		       coll_operation_run(comm, &op, block, 0);
	op.recv = (uintptr_t)recv;
	if (send == COLL_IN_PLACE || op.send == op.recv + comm->rank * block) {
		op.send = op.recv;
		return coll_operation_run(comm, &op, 0, total);
	}
	/* Equal addresses are the kernel's word for in place. */
	if (send == recv)
		return -EINVAL;
	return coll_operation_run(comm, &op, block, total);
}
