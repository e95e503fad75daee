/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef COLL_OPERATION_H
#define COLL_OPERATION_H

#include "comm.h"

/**
 * coll_operation_run - submit an operation and wait for its end
 * @comm: communicator
 * @op: all but the buffers' numbers, which are found by address
 * @send_size: bytes at @op.send
 * @recv_size: bytes at @op.recv
 */
int coll_operation_run(struct coll_comm *comm, struct collective_op *op,
		       size_t send_size, size_t recv_size);

#endif /* COLL_OPERATION_H */
