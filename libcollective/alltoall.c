// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdint.h>

#include "operation.h"

int coll_alltoall(struct coll_comm *comm, const void *send, void *recv,
		  size_t count, enum coll_type type)
{
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLTOALL,
		.send = (uintptr_t)send,
		.recv = (uintptr_t)recv,
	};
	size_t block, total;
	int err = coll_operation_blocks(comm, &op, count, type, &block, &total);

	if (err)
		return err;
	if (send == COLL_IN_PLACE)
		return -EOPNOTSUPP;
	return coll_operation_run(comm, &op, total, total);
}
