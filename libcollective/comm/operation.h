/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A collective is one function that fills a struct coll_operation in, and some that
 * hand it over: to coll_operation_run(), which waits for the end, to
 * coll_operation_start(), which does not, to coll_operation_init(), which lets it be
 * begun by coll_start(), or to coll_operation_prep(), which makes an SQE of it.
 */
#ifndef COLL_OPERATION_H
#define COLL_OPERATION_H

#include "comm/comm.h"

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
 * @memcheck_blocks: blocks of the result of which memory checkers are told at the end (written.h)
 * @arg_error: why it is refused here, if not for what its errno says; else NULL
 */
struct coll_operation {
	struct collective_op op;
	size_t send_size;
	size_t recv_size;
	struct collective_layout layout;
	void *move_to;
	size_t move_size;
	size_t *received;
	size_t memcheck_blocks;
	const char *arg_error;
};

/**
 * coll_operation_arg_error - say why an operation is not to be submitted
 * @operation: the operation
 * @err: negative errno
 * @why: a text that stays
 *
 * Return: @err.
 */
int coll_operation_arg_error(struct coll_operation *operation, int err, const char *why);

/**
 * coll_operation_failed - keep what coll_error_detail() is to say of the latest failure
 * @comm: communicator
 * @operation: as far as it is filled in
 * @err: how it, or submitting it, ended; 0 changes nothing, and of what the kernel knows a
 *	reason an earlier refusal's text is dropped for that
 *
 * Return: @err.
 */
int coll_operation_failed(struct coll_comm *comm, const struct coll_operation *operation,
			  int err);

/**
 * coll_operation_elements - say how many elements of which type
 * @operation: its type and count are filled in
 * @count: elements
 * @type: theirs
 * @bytes: set to the size of all of them
 *
 * Return: 0, -EINVAL (no such type), -EOVERFLOW.
 */
int coll_operation_elements(struct coll_operation *operation, size_t count,
			    enum coll_type type, size_t *bytes);

/**
 * coll_operation_blocks - likewise, of blocks that each rank has one of
 * @comm: communicator
 * @operation: its type and count are filled in
 * @count: elements of a block
 * @type: theirs
 * @block: set to the size of a block
 * @total: set to the size of all ranks' blocks
 *
 * Return: 0, -EINVAL (no such type), -EOVERFLOW.
 */
int coll_operation_blocks(const struct coll_comm *comm, struct coll_operation *operation,
			  size_t count, enum coll_type type, size_t *block,
			  size_t *total);

/**
 * coll_operation_reduction - say how two elements become one
 * @comm: communicator, whose flags for reductions the operation gets: the only place where
 *	it does, so that each form that reduces has them
 * @operation: its reduction is filled in, and flags are added
 * @reduction: how
 *
 * Return: 0, -EINVAL (no such reduction).
 */
int coll_operation_reduction(const struct coll_comm *comm, struct coll_operation *operation,
			     enum coll_op reduction);

/**
 * coll_operation_tag - say by which tag both ends know a message
 * @operation: its key is filled in
 * @tag: 0 or more, or COLL_TAG_NONE
 *
 * Return: 0, -EINVAL (out of range).
 */
int coll_operation_tag(struct coll_operation *operation, long long tag);

/**
 * coll_operation_not_in_place - refuse what only a root can have
 * @operation: of a rank that is not the root
 * @part: where its block is
 *
 * Return: 0, -EINVAL (COLL_IN_PLACE).
 */
int coll_operation_not_in_place(struct coll_operation *operation, const void *part);

/**
 * coll_operation_counts - refuse blocks without lengths
 * @operation: the operation
 * @counts: the lengths of all ranks' blocks
 *
 * Return: 0, -EINVAL (NULL).
 */
int coll_operation_counts(struct coll_operation *operation, const size_t *counts);

/**
 * coll_operation_reduce - fill in one whose result is as long as its input
 * @comm: communicator
 * @operation: its opcode is there
 * @send: input, or COLL_IN_PLACE
 * @recv: result
 * @count: elements of both
 * @type: theirs
 * @reduction: how two of them become one
 *
 * Return: 0, -EINVAL, -EOVERFLOW, -EOPNOTSUPP (a scan whose sums would be wide).
 */
int coll_operation_reduce(const struct coll_comm *comm, struct coll_operation *operation,
			  const void *send, void *recv, size_t count, enum coll_type type,
			  enum coll_op reduction);

/**
 * coll_operation_begin - what is to be done before an operation is submitted
 * @comm: communicator; this process's own (coll_comm_is_foreign())
 * @operation: the buffers' numbers are filled in
 */
void coll_operation_begin(struct coll_comm *comm, struct coll_operation *operation);

/**
 * coll_operation_end - what is to be done when it has ended
 * @operation: the operation
 * @err: how
 * @received: elements that came, of what tells its length
 *
 * Return: @err; -EFAULT: all went well, but the result cannot be put where it belongs.
 */
int coll_operation_end(const struct coll_operation *operation, int err, __u64 received);

/**
 * coll_operation_run - submit an operation and wait for its end
 * @comm: communicator
 * @operation: the operation
 * @err: of filling it in; it is not submitted unless that is 0
 */
int coll_operation_run(struct coll_comm *comm, struct coll_operation *operation, int err);

/**
 * coll_operation_start - submit an operation
 * @comm: communicator
 * @operation: the operation
 * @request: set to the handle, when it is under way
 * @err: of filling it in
 */
int coll_operation_start(struct coll_comm *comm, struct coll_operation *operation,
			 struct coll_request **request, int err);

/**
 * coll_operation_init - make a handle for an operation that is begun again and again
 * @comm: communicator
 * @operation: the operation
 * @request: set to the handle
 * @err: of filling it in
 */
int coll_operation_init(struct coll_comm *comm, struct coll_operation *operation,
			struct coll_request **request, int err);

/**
 * coll_operation_prep - hand an operation over as an SQE
 * @comm: communicator
 * @operation: the operation
 * @sqe: of 128 bytes; filled in
 * @err: of filling the operation in
 *
 * Return: 0, -EOPNOTSUPP: something is to be done when it has ended.
 */
int coll_operation_prep(struct coll_comm *comm, struct coll_operation *operation,
			struct io_uring_sqe *sqe, int err);

#endif /* COLL_OPERATION_H */
