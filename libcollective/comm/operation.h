/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A collective is a function that fills in a struct coll_operation, and one function for each
 * form of the call: coll_operation_run() waits for completion, coll_operation_run_for() for a
 * time, coll_operation_start() does not, coll_operation_init() prepares a persistent operation for
 * coll_start(), and coll_operation_prep() fills in an SQE.
 */
#ifndef COLL_OPERATION_H
#define COLL_OPERATION_H

#include <errno.h>
#include <stddef.h>

#include "comm/comm.h"

struct io_uring_sqe;

/**
 * struct coll_operation - operation to be submitted
 * @op: description for the kernel, except for the numbers of registered buffers, which are
 *	found by address
 * @send_size: number of bytes at @op.send; 0: the kernel does not read them
 * @recv_size: number of bytes at @op.recv; 0: the kernel does not write them
 * @layout: layout of the blocks; @size 0: blocks follow each other
 * @move_to: destination to which the result is moved after success
 * @move_size: number of bytes moved there from @op.recv; 0: none
 * @stage: memory on which the kernel works instead of the caller's; freed at the end; NULL: none
 * @received: receives the number of elements of a varlen operation; or NULL
 * @memcheck_blocks: number of blocks of the result that memory checkers are told of at
 *	completion (memcheck.h)
 * @arg_error: text of the error if the library rejects the arguments and the errno alone does
 *	not explain it; otherwise NULL
 */
struct coll_operation {
	struct collective_op op;
	size_t send_size;
	size_t recv_size;
	struct collective_layout layout;
	void *move_to;
	size_t move_size;
	void *stage;
	size_t *received;
	size_t memcheck_blocks;
	const char *arg_error;
};

/**
 * coll_operation_arg_error - explain why the arguments are rejected
 * @operation: the operation
 * @err: negative errno
 * @why: constant text
 *
 * Return: @err.
 */
int coll_operation_arg_error(struct coll_operation *operation, int err, const char *why);

/**
 * coll_operation_failed - keep the text of a failure for coll_error_detail()
 * @comm: communicator
 * @operation: the operation, as far as it is filled in
 * @err: result of the operation, or of submitting it; 0 changes nothing.  If the kernel knows a
 *	reason for it, the text of an earlier rejected call is dropped
 *
 * Return: @err.
 */
int coll_operation_failed(struct coll_comm *comm, const struct coll_operation *operation,
			  int err);

/**
 * coll_operation_elements - set type and number of the elements
 * @operation: its type and count are filled in
 * @count: number of elements
 * @type: type of the elements
 * @bytes: set to the size of all of them in bytes
 *
 * Return: 0, -EINVAL (no such type), -EOVERFLOW.
 */
int coll_operation_elements(struct coll_operation *operation, size_t count,
			    enum coll_type type, size_t *bytes);

/** coll_operation_nosync - let an operation complete when this rank's part is done, if it may */
void coll_operation_nosync(const struct coll_comm *comm, struct coll_operation *operation);

/**
 * coll_operation_blocks - coll_operation_elements() for one block of each rank
 * @comm: communicator
 * @operation: its type and count are filled in
 * @count: number of elements of one block
 * @type: type of the elements
 * @block: set to the size of one block in bytes
 * @total: set to the size of the blocks of all ranks in bytes
 *
 * Return: 0, -EINVAL (no such type), -EOVERFLOW.
 */
int coll_operation_blocks(const struct coll_comm *comm, struct coll_operation *operation,
			  size_t count, enum coll_type type, size_t *block,
			  size_t *total);

/**
 * coll_operation_order - set the communicator's flags for a reduction
 * @comm: communicator; this is the only function that applies them
 * @operation: its flags are filled in
 */
void coll_operation_order(const struct coll_comm *comm, struct coll_operation *operation);

/**
 * coll_operation_scan_sums - reject a scan with wide sums, which the kernel does not offer
 * @operation: its opcode, type, reduction and flags are set
 *
 * Return: 0, -EOPNOTSUPP (a scan of 16-bit floats).
 */
int coll_operation_scan_sums(struct coll_operation *operation);

/**
 * coll_operation_reduction - set the reduction, and the communicator's flags for it
 * @comm: communicator
 * @operation: its opcode is set; its reduction and flags are filled in
 * @reduction: the reduction
 *
 * Return: 0, -EINVAL (no such reduction).
 */
int coll_operation_reduction(const struct coll_comm *comm, struct coll_operation *operation,
			     enum coll_op reduction);

/**
 * coll_operation_tag - set the tag of a message
 * @operation: its key is filled in
 * @tag: 0 or more, or COLL_TAG_NONE
 *
 * Return: 0, -EINVAL (out of range).
 */
int coll_operation_tag(struct coll_operation *operation, long long tag);

/**
 * coll_operation_not_in_place - reject COLL_IN_PLACE on a rank other than the root
 * @operation: the operation
 * @part: address of the rank's block
 *
 * Return: 0, -EINVAL (COLL_IN_PLACE).
 */
int coll_operation_not_in_place(struct coll_operation *operation, const void *part);

/**
 * coll_operation_counts - reject missing lengths of blocks
 * @operation: the operation
 * @counts: lengths of the blocks of all ranks
 *
 * Return: 0, -EINVAL (NULL).
 */
int coll_operation_counts(struct coll_operation *operation, const size_t *counts);

/**
 * coll_operation_reduce - fill in a reduction with a result as long as its input
 * @comm: communicator
 * @operation: its opcode is set
 * @send: input, or COLL_IN_PLACE
 * @recv: result
 * @count: number of elements of each
 * @type: type of the elements
 * @reduction: the reduction
 *
 * Return: 0, -EINVAL, -EOVERFLOW.
 */
int coll_operation_reduce(const struct coll_comm *comm, struct coll_operation *operation,
			  const void *send, void *recv, size_t count, enum coll_type type,
			  enum coll_op reduction);

/**
 * coll_operation_input_blocks - blocks that the kernel reads on this rank
 * @comm: communicator
 * @op: operation without a layout
 *
 * Return: their number; each has @op->count elements.
 */
size_t coll_operation_input_blocks(const struct coll_comm *comm, const struct collective_op *op);

/**
 * coll_operation_result_blocks - blocks that the kernel writes on this rank
 * @comm: communicator
 * @op: operation without a layout
 *
 * Return: their number; each has @op->count elements.
 */
size_t coll_operation_result_blocks(const struct coll_comm *comm, const struct collective_op *op);

/**
 * coll_operation_begin - prepare an operation for submission
 * @comm: communicator of this process (not coll_comm_is_foreign())
 * @operation: the numbers of its registered buffers are filled in
 */
void coll_operation_begin(struct coll_comm *comm, struct coll_operation *operation);

/**
 * coll_operation_end - finish an operation that is complete
 * @operation: the operation
 * @err: its result
 * @received: number of elements received, of a varlen operation
 *
 * Return: @err; -EFAULT: the operation succeeded, but its result cannot be moved to its place.
 */
int coll_operation_end(const struct coll_operation *operation, int err, __u64 received);

/**
 * coll_operation_run - submit an operation and wait for completion
 * @comm: communicator
 * @operation: the operation
 * @err: result of filling it in; unless it is 0, nothing is submitted
 *
 * Return: 0 or a negative errno.
 */
int coll_operation_run(struct coll_comm *comm, struct coll_operation *operation, int err);

/**
 * coll_operation_execute - begin an operation, and wait for completion for a time
 * @comm: communicator, not foreign
 * @operation: the operation, filled in
 * @timeout_ms: time limit of the wait in ms; -1: none; 0: do not wait
 * @number: set to the number of the request if it goes on, else to 0
 *
 * Return: its result; or -EINPROGRESS: it goes on, and coll_operation_end() must follow its result.
 */
int coll_operation_execute(struct coll_comm *comm, struct coll_operation *operation,
			   int timeout_ms, __u64 *number);

/**
 * coll_operation_run_for - submit an operation and wait for completion for a time
 * @comm: communicator
 * @operation: the operation
 * @timeout_ms: time limit in ms; -1: none; 0: do not wait
 * @request: set to the handle if the operation goes on, else to NULL
 *
 * Return: result of the operation, or why it was refused; -EINPROGRESS: it goes on.
 */
int coll_operation_run_for(struct coll_comm *comm, struct coll_operation *operation,
			   int timeout_ms, struct coll_request **request);

/**
 * coll_operation_run_interruptible - submit an operation and wait until the end is wanted
 * @comm: communicator, not foreign
 * @operation: the operation, filled in
 * @patience_ms: time between the wish and the cancellation in ms
 *
 * If a function of the caller's wants the end (comm/interrupt.h), the operation is cancelled on all
 * ranks.  It may have been complete on this rank or on others before.
 *
 * Return: 0 or a negative errno.
 */
int coll_operation_run_interruptible(struct coll_comm *comm, struct coll_operation *operation,
				     int patience_ms);

/**
 * coll_operation_start - submit an operation and return
 * @comm: communicator
 * @operation: the operation
 * @request: set to the handle on success, else to NULL
 * @err: result of filling it in; unless it is 0, nothing is submitted
 *
 * Return: 0 or a negative errno.
 */
int coll_operation_start(struct coll_comm *comm, struct coll_operation *operation,
			 struct coll_request **request, int err);

/**
 * coll_operation_init - make a persistent operation
 * @comm: communicator
 * @operation: the operation
 * @request: set to the handle on success
 * @err: result of filling it in
 *
 * Return: 0 or a negative errno.
 */
int coll_operation_init(struct coll_comm *comm, struct coll_operation *operation,
			struct coll_request **request, int err);

/**
 * coll_operation_prep - fill in an SQE with an operation
 * @comm: communicator
 * @operation: the operation
 * @sqe: SQE of 128 bytes; filled in
 * @err: result of filling in the operation
 *
 * Return: 0; -EOPNOTSUPP: the library would have to act at completion; or @err.
 */
int coll_operation_prep(struct coll_comm *comm, struct coll_operation *operation,
			struct io_uring_sqe *sqe, int err);

/*
 * The functions of api/ build their operation where they pass @err.  It is evaluated after these
 * checks, so that no function looks at a communicator that is NULL.
 */
#define coll_operation_run(comm, operation, err) \
	(!(comm) ? -EINVAL : (coll_operation_run)(comm, operation, err))
#define coll_operation_start(comm, operation, request, err) \
	(!(comm) || !(request) ? -EINVAL : \
	 (*(request) = NULL, (coll_operation_start)(comm, operation, request, err)))
#define coll_operation_init(comm, operation, request, err) \
	(!(comm) || !(request) ? -EINVAL : \
	 (*(request) = NULL, (coll_operation_init)(comm, operation, request, err)))
#define coll_operation_prep(comm, operation, sqe, err) \
	(!(comm) || !(sqe) ? -EINVAL : (coll_operation_prep)(comm, operation, sqe, err))

#endif /* COLL_OPERATION_H */
