// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "device.h"
#include "operation.h"

int coll_operation_elements(struct collective_op *op, size_t count,
			    enum coll_type type, size_t *bytes)
{
	size_t element = coll_type_size(type);

	/* Not left to the kernel: its struct's field is narrower. */
	if (!element)
		return -EINVAL;
	if (__builtin_mul_overflow(count, element, bytes))
		return -EOVERFLOW;
	op->type = type;
	op->count = count;
	return 0;
}

int coll_operation_blocks(const struct coll_comm *comm, struct collective_op *op,
			  size_t count, enum coll_type type, size_t *block,
			  size_t *total)
{
	int err = coll_operation_elements(op, count, type, block);

	if (err)
		return err;
	return __builtin_mul_overflow(*block, (size_t)comm->nranks, total) ?
	       -EOVERFLOW : 0;
}

int coll_operation_reduction(struct collective_op *op, enum coll_op reduction)
{
	/* Not left to the kernel: its struct's field is narrower. */
	if ((unsigned int)reduction >= COLLECTIVE_REDUCTION_COUNT)
		return -EINVAL;
	op->reduction = reduction;
	return 0;
}

int coll_operation_reduce(struct coll_operation *operation, const void *send,
			  void *recv, size_t count, enum coll_type type,
			  enum coll_op reduction)
{
	struct collective_op *op = &operation->op;
	size_t bytes;
	int err = coll_operation_elements(op, count, type, &bytes) ?:
		  coll_operation_reduction(op, reduction);

	if (err)
		return err;
	op->send = (uintptr_t)(send == COLL_IN_PLACE ? recv : send);
	op->recv = (uintptr_t)recv;
	operation->send_size = bytes;
	operation->recv_size = bytes;
	return 0;
}

void coll_operation_begin(struct coll_comm *comm, struct coll_operation *operation)
{
	struct collective_op *op = &operation->op;

	/* The kernel takes it, and all that it points to, when it is submitted. */
	if (operation->layout.size)
		op->layout = (uintptr_t)&operation->layout;
	if (operation->send_size)
		op->send_buffer = coll_mem_buffer(comm, (void *)(uintptr_t)op->send,
						  operation->send_size, false);
	if (operation->recv_size)
		op->recv_buffer = coll_mem_buffer(comm, (void *)(uintptr_t)op->recv,
						  operation->recv_size, true);
}

void coll_operation_end(const struct coll_operation *operation, int err, __u64 received)
{
	if (operation->received && (!err || err == -EMSGSIZE))
		*operation->received = received;
	if (operation->move_size && !err)
		memmove(operation->move_to, (void *)(uintptr_t)operation->op.recv,
			operation->move_size);
}

int coll_operation_run(struct coll_comm *comm, struct coll_operation *operation)
{
	__u64 received;
	int err;

	coll_operation_begin(comm, operation);
	err = coll_device_submit(comm->fd, &operation->op, &received);
	coll_operation_end(operation, err, received);
	return err;
}
