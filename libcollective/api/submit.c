// SPDX-License-Identifier: LGPL-2.1-or-later
/* Operations that the caller describes by the kernel's struct. */
#include "collective_uring.h"
#include "comm/operation.h"

int coll_submit(struct coll_comm *comm, const struct collective_op *op)
{
	struct coll_operation operation = { .op = *op };

	return coll_operation_run(comm, &operation, 0);
}

int coll_submit_wait(struct coll_comm *comm, const struct collective_op *op, int timeout_ms,
		     struct coll_request **request)
{
	struct coll_operation operation = { .op = *op };

	return coll_operation_run_for(comm, &operation, timeout_ms, request);
}

int coll_isubmit(struct coll_comm *comm, const struct collective_op *op,
		 struct coll_request **request)
{
	struct coll_operation operation = { .op = *op };

	*request = NULL;
	return coll_operation_start(comm, &operation, request, 0);
}

int coll_prep_submit(struct io_uring_sqe *sqe, struct coll_comm *comm,
		     const struct collective_op *op)
{
	struct coll_operation operation = { .op = *op };

	return coll_operation_prep(comm, &operation, sqe, 0);
}

int coll_submit_init(struct coll_comm *comm, const struct collective_op *op,
		     struct coll_request **request)
{
	struct coll_operation operation = { .op = *op };

	*request = NULL;
	return coll_operation_init(comm, &operation, request, 0);
}
