/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef COLL_VIEW_H
#define COLL_VIEW_H

#include "comm/operation.h"

/**
 * coll_view_build - fill in an allgather, reduce_scatter or alltoall with views
 * @operation: filled in, except for the reduction
 * @comm: communicator
 * @opcode: COLLECTIVE_ALLGATHER, COLLECTIVE_REDUCE_SCATTER or COLLECTIVE_ALLTOALL
 * @send: input, or COLL_IN_PLACE
 * @send_view: view of the input, or NULL
 * @recv: result
 * @recv_view: view of the result, or NULL
 * @count: number of elements of one block
 * @type: type of the elements
 *
 * Return: 0, -EINVAL, -E2BIG, -EOVERFLOW, -EOPNOTSUPP (reduce_scatter in place).
 */
int coll_view_build(struct coll_operation *operation, struct coll_comm *comm, int opcode,
		    const void *send, const struct coll_view *send_view,
		    void *recv, const struct coll_view *recv_view,
		    size_t count, enum coll_type type);

#endif /* COLL_VIEW_H */
