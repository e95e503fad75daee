/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef COLL_OPERATION_H
#define COLL_OPERATION_H

#include "comm.h"

/**
 * coll_operation_elements - say how many elements of which type
 * @op: its type and count are filled in
 * @count: elements
 * @type: theirs
 * @bytes: set to the size of all of them
 *
 * Return: 0, -EINVAL (no such type), -EOVERFLOW.
 */
int coll_operation_elements(struct collective_op *op, size_t count,
			    enum coll_type type, size_t *bytes);

/**
 * coll_operation_blocks - likewise, of blocks that each rank has one of
 * @comm: communicator
 * @op: its type and count are filled in
 * @count: elements of a block
 * @type: theirs
 * @block: set to the size of a block
 * @total: set to the size of all ranks' blocks
 *
 * Return: 0, -EINVAL (no such type), -EOVERFLOW.
 */
int coll_operation_blocks(const struct coll_comm *comm, struct collective_op *op,
			  size_t count, enum coll_type type, size_t *block,
			  size_t *total);

/**
 * coll_operation_reduction - say how two elements become one
 * @op: its reduction is filled in
 * @reduction: how
 *
 * Return: 0, -EINVAL (no such reduction).
 */
int coll_operation_reduction(struct collective_op *op, enum coll_op reduction);

/**
 * coll_operation_reduce - run one whose result is as long as its input
 * @comm: communicator
 * @op: opcode and flags
 * @send: input, or COLL_IN_PLACE
 * @recv: result
 * @count: elements of both
 * @type: theirs
 * @reduction: how two of them become one
 */
int coll_operation_reduce(struct coll_comm *comm, struct collective_op *op,
			  const void *send, void *recv, size_t count,
			  enum coll_type type, enum coll_op reduction);

/**
 * coll_operation_run - submit an operation and wait for its end
 * @comm: communicator
 * @op: all but the buffers' numbers, which are found by address
 * @send_size: bytes at @op.send; 0: the kernel does not look there
 * @recv_size: bytes at @op.recv; 0: likewise
 */
int coll_operation_run(struct coll_comm *comm, struct collective_op *op,
		       size_t send_size, size_t recv_size);

#endif /* COLL_OPERATION_H */
