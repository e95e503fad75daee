// SPDX-License-Identifier: LGPL-2.1-or-later
#include "operation.h"

int coll_scan(struct coll_comm *comm, const void *send, void *recv,
	      size_t count, enum coll_type type, enum coll_op op)
{
	struct collective_op operation = { .opcode = COLLECTIVE_SCAN };

	return coll_operation_reduce(comm, &operation, send, recv, count, type,
				     op);
}
