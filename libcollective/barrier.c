// SPDX-License-Identifier: LGPL-2.1-or-later
#include "operation.h"

int coll_barrier(struct coll_comm *comm)
{
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER };

	return coll_operation_run(comm, &op, 0, 0);
}
