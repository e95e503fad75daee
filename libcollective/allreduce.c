// SPDX-License-Identifier: LGPL-2.1-or-later
#include "operation.h"

int coll_allreduce(struct coll_comm *comm, const void *send, void *recv,
		   size_t count, enum coll_type type, enum coll_op op)
{
	struct collective_op operation = {
		.opcode = COLLECTIVE_ALLREDUCE,
		.flags = comm->reproducible ? COLLECTIVE_F_REPRODUCIBLE : 0,
	};

	return coll_operation_reduce(comm, &operation, send, recv, count, type,
				     op);
}
