// SPDX-License-Identifier: LGPL-2.1-or-later
/* Operations as SQEs of the io_uring of the caller. */
#include <errno.h>
#include <string.h>

#include <linux/io_uring.h>

#include "collective_uring.h"
#include "comm/memcheck.h"
#include "comm/operation.h"

#define SQE_SIZE	128

static void sqe_fill(struct io_uring_sqe *sqe, const struct coll_comm *comm,
		     unsigned int command, const void *arg, size_t size)
{
	memset(sqe, 0, SQE_SIZE);
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = comm->fd;
	sqe->cmd_op = command;
	memcpy(sqe->cmd, arg, size);
}

int (coll_operation_prep)(struct coll_comm *comm, struct coll_operation *operation,
			  struct io_uring_sqe *sqe, int err)
{
	_Static_assert(offsetof(struct io_uring_sqe, cmd) + sizeof(operation->op) <= SQE_SIZE,
		       "the operation fits an SQE");

	if (coll_comm_is_foreign(comm))
		return -EPERM;
	if (!err && (operation->move_size || operation->layout.size))
		err = coll_operation_arg_error(operation, -EOPNOTSUPP,
					       "an SQE cannot tell where the blocks are");
	if (err)
		return coll_operation_failed(comm, operation, err);
	coll_operation_begin(comm, operation);
	sqe_fill(sqe, comm, COLLECTIVE_IOC_SUBMIT, &operation->op, sizeof(operation->op));
	/*
	 * The library does not see the completion, so memory checkers are told of the result
	 * now.
	 */
	coll_memcheck_end(operation, operation->op.count);
	return 0;
}

void coll_prep_fixed(struct io_uring_sqe *sqe, unsigned int index)
{
	struct collective_op op;

	if (!sqe)
		return;
	sqe->uring_cmd_flags |= IORING_URING_CMD_FIXED;
	sqe->buf_index = index;
	memcpy(&op, sqe->cmd, sizeof(op));
	op.send_buffer = 0;
	op.recv_buffer = 0;
	memcpy(sqe->cmd, &op, sizeof(op));
}

void coll_prep_key(struct io_uring_sqe *sqe, unsigned long long key)
{
	struct collective_op op;

	if (!sqe)
		return;
	memcpy(&op, sqe->cmd, sizeof(op));
	op.flags |= COLLECTIVE_F_KEYED;
	op.key = key;
	memcpy(sqe->cmd, &op, sizeof(op));
}

void coll_prep_cancel(struct io_uring_sqe *sqe, struct coll_comm *comm,
		      unsigned long long user_data)
{
	struct collective_cancel cancel = {
		.size = sizeof(cancel),
		.flags = COLLECTIVE_CANCEL_USER_DATA,
		.request = user_data,
	};

	if (sqe && comm)
		sqe_fill(sqe, comm, COLLECTIVE_IOC_CANCEL, &cancel, sizeof(cancel));
}
