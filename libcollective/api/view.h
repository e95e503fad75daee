/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef COLL_VIEW_H
#define COLL_VIEW_H

#include "comm/operation.h"

/**
 * coll_view_build - fill in an allgather, reduce_scatter or alltoall with views
 * @operation: filled in, but for the reduction
 * @comm: communicator
 * @opcode: which of them
 * @send: input; of an allgather also COLL_IN_PLACE
 * @send_view: of it, or NULL
 * @recv: result
 * @recv_view: of it, or NULL
 * @count: elements of a block
 * @type: theirs
 *
 * Return: 0, -EINVAL, -EOVERFLOW, -EOPNOTSUPP (in place).
 */
int coll_view_build(struct coll_operation *operation, struct coll_comm *comm, int opcode,
		    const void *send, const struct coll_view *send_view,
		    void *recv, const struct coll_view *recv_view,
		    size_t count, enum coll_type type);

#endif /* COLL_VIEW_H */
