// SPDX-License-Identifier: LGPL-2.1-or-later
/* Operations that the caller describes by the kernel's struct. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "collective_uring.h"
#include "comm/operation.h"

static bool reduces(const struct collective_op *op)
{
	return op->opcode == COLLECTIVE_ALLREDUCE || op->opcode == COLLECTIVE_REDUCE ||
	       op->opcode == COLLECTIVE_REDUCE_SCATTER || op->opcode == COLLECTIVE_SCAN ||
	       op->opcode == COLLECTIVE_EXSCAN;
}

/* A module that does not know NOSYNC waits for all ranks. */
static int build(struct coll_operation *operation, struct coll_comm *comm,
		 const struct collective_op *op)
{
	*operation = (struct coll_operation){ 0 };
	if (!op)
		return coll_operation_arg_error(operation, -EINVAL, "there is no description");
	operation->op = *op;
	if (op->flags & COLLECTIVE_F_NOSYNC && comm && !coll_comm_knows_nosync(comm))
		operation->op.flags &= ~COLLECTIVE_F_NOSYNC;
	if (!comm || !reduces(op))
		return 0;
	coll_operation_order(comm, operation);
	return coll_operation_scan_sums(operation);
}

int coll_submit(struct coll_comm *comm, const struct collective_op *op)
{
	struct coll_operation operation;

	return coll_operation_run(comm, &operation, build(&operation, comm, op));
}

int coll_submit_wait(struct coll_comm *comm, const struct collective_op *op, int timeout_ms,
		     struct coll_request **request)
{
	struct coll_operation operation;
	int err;

	if (!comm || !request)
		return -EINVAL;
	*request = NULL;
	err = build(&operation, comm, op);
	if (err)
		return coll_operation_run(comm, &operation, err);
	return coll_operation_run_for(comm, &operation, timeout_ms, request);
}

int coll_isubmit(struct coll_comm *comm, const struct collective_op *op,
		 struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_start(comm, &operation, request, build(&operation, comm, op));
}

int coll_prep_submit(struct io_uring_sqe *sqe, struct coll_comm *comm,
		     const struct collective_op *op)
{
	struct coll_operation operation;

	return coll_operation_prep(comm, &operation, sqe, build(&operation, comm, op));
}

int coll_submit_init(struct coll_comm *comm, const struct collective_op *op,
		     struct coll_request **request)
{
	struct coll_operation operation;

	return coll_operation_init(comm, &operation, request, build(&operation, comm, op));
}
