// SPDX-License-Identifier: LGPL-2.1-or-later
#include "device.h"
#include "operation.h"

int coll_operation_run(struct coll_comm *comm, struct collective_op *op,
		       size_t send_size, size_t recv_size)
{
	if (send_size)
		op->send_buffer = coll_mem_buffer(comm, (void *)(uintptr_t)op->send,
						  send_size, false);
	if (recv_size)
		op->recv_buffer = coll_mem_buffer(comm, (void *)(uintptr_t)op->recv,
						  recv_size, true);
	return coll_device_submit(comm->fd, op);
}
