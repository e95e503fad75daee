// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdint.h>

#include "operation.h"

int coll_allreduce(struct coll_comm *comm, const void *send, void *recv,
		   size_t count, enum coll_type type, enum coll_op op)
{
	size_t element = coll_type_size(type);
	struct collective_op operation = {
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = type,
		.reduction = op,
		.count = count,
		.recv = (uintptr_t)recv,
	};

	/* What does not fit the narrower fields of the kernel's struct. */
	if (!element || (unsigned int)op >= COLLECTIVE_REDUCTION_COUNT)
		return -EINVAL;
	if (count > SIZE_MAX / element)
		return -EOVERFLOW;
	operation.send = (uintptr_t)(send == COLL_IN_PLACE ? recv : send);
	return coll_operation_run(comm, &operation, count * element,
				  count * element);
}
