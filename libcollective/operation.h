/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A collective is one function that fills a struct coll_operation in, and some that
 * hand it over: to coll_operation_run(), which waits for the end, to
 * coll_operation_start(), which does not, to coll_operation_init(), which lets it be
 * begun by coll_start(), or to coll_operation_prep(), which makes an SQE of it.
 */
#ifndef COLL_OPERATION_H
#define COLL_OPERATION_H

#include "comm.h"

struct io_uring_sqe;

/**
 * struct coll_operation - an operation to be submitted
 * @op: for the kernel, all but the buffers' numbers, which are found by address
 * @send_size: bytes at @op.send; 0: the kernel does not look there
 * @recv_size: bytes at @op.recv; 0: likewise
 * @layout: where the blocks are; @size 0: one follows the other
 * @move_to: where the result is to be moved when all went well
 * @move_size: bytes to be moved there from @op.recv
 * @received: where to say how many elements came, or NULL
 */
struct coll_operation {
	struct collective_op op;
	size_t send_size;
	size_t recv_size;
	struct collective_layout layout;
	void *move_to;
	size_t move_size;
	size_t *received;
};

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
 * coll_operation_reduce - fill in one whose result is as long as its input
 * @operation: opcode and flags are there
 * @send: input, or COLL_IN_PLACE
 * @recv: result
 * @count: elements of both
 * @type: theirs
 * @reduction: how two of them become one
 *
 * Return: 0, -EINVAL, -EOVERFLOW.
 */
int coll_operation_reduce(struct coll_operation *operation, const void *send,
			  void *recv, size_t count, enum coll_type type,
			  enum coll_op reduction);

/**
 * coll_operation_begin - what is to be done before an operation is submitted
 * @comm: communicator
 * @operation: the buffers' numbers are filled in
 */
void coll_operation_begin(struct coll_comm *comm, struct coll_operation *operation);

/**
 * coll_operation_end - what is to be done when it has ended
 * @operation: the operation
 * @err: how
 * @received: elements that came, of what tells its length
 */
void coll_operation_end(const struct coll_operation *operation, int err, __u64 received);

/**
 * coll_operation_run - submit an operation and wait for its end
 * @comm: communicator
 * @operation: the operation
 */
int coll_operation_run(struct coll_comm *comm, struct coll_operation *operation);

/**
 * coll_operation_start - submit an operation
 * @comm: communicator
 * @operation: the operation
 * @request: set to the handle, when it is under way
 */
int coll_operation_start(struct coll_comm *comm, struct coll_operation *operation,
			 struct coll_request **request);

/**
 * coll_operation_init - make a handle for an operation that is begun again and again
 * @comm: communicator
 * @operation: the operation
 * @request: set to the handle
 */
int coll_operation_init(struct coll_comm *comm, struct coll_operation *operation,
			struct coll_request **request);

/**
 * coll_operation_prep - hand an operation over as an SQE
 * @comm: communicator
 * @operation: the operation
 * @sqe: of 128 bytes; filled in
 *
 * Return: 0, -EOPNOTSUPP: something is to be done when it has ended.
 */
int coll_operation_prep(struct coll_comm *comm, struct coll_operation *operation,
			struct io_uring_sqe *sqe);

#endif /* COLL_OPERATION_H */
