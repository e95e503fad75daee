// SPDX-License-Identifier: LGPL-2.1-or-later
/* Filling in, submitting and finishing operations: see operation.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "board/mapping.h"
#include "comm/cancellation.h"
#include "comm/device.h"
#include "comm/interrupt.h"
#include "comm/memcheck.h"
#include "comm/operation.h"
#include "comm/process.h"

int coll_operation_elements(struct coll_operation *operation, size_t count,
			    enum coll_type type, size_t *bytes)
{
	size_t element = coll_type_size(type);

	/* Checked here because the field of the kernel's struct is narrower. */
	if (!element)
		return coll_operation_arg_error(operation, -EINVAL, "there is no such type");
	if (__builtin_mul_overflow(count, element, bytes))
		return -EOVERFLOW;
	operation->op.type = type;
	operation->op.count = count;
	return 0;
}

void coll_operation_nosync(const struct coll_comm *comm, struct coll_operation *operation)
{
	/* It was asked when the group was made. */
	if (comm->settings.nosync && comm->nosync == COLL_FEATURE_KNOWN)
		operation->op.flags |= COLLECTIVE_F_NOSYNC;
}

int coll_operation_blocks(const struct coll_comm *comm, struct coll_operation *operation,
			  size_t count, enum coll_type type, size_t *block,
			  size_t *total)
{
	int err = coll_operation_elements(operation, count, type, block);

	if (err)
		return err;
	coll_operation_nosync(comm, operation);
	return __builtin_mul_overflow(*block, (size_t)comm->nranks, total) ?
	       -EOVERFLOW : 0;
}

/* The kernel rejects it as well, but without a text. */
static bool wide_scan(const struct collective_op *op)
{
	return op->flags & COLLECTIVE_F_WIDE && op->reduction == COLLECTIVE_SUM &&
	       (op->opcode == COLLECTIVE_SCAN || op->opcode == COLLECTIVE_EXSCAN) &&
	       (op->type == COLLECTIVE_FLOAT16 || op->type == COLLECTIVE_BFLOAT16);
}

void coll_operation_order(const struct coll_comm *comm, struct coll_operation *operation)
{
	const struct coll_settings *settings = &comm->settings;

	operation->op.flags |= (settings->reproducible ? COLLECTIVE_F_REPRODUCIBLE : 0) |
			       (settings->wide ? COLLECTIVE_F_WIDE : 0);
}

int coll_operation_scan_sums(struct coll_operation *operation)
{
	if (!wide_scan(&operation->op))
		return 0;
	return coll_operation_arg_error(operation, -EOPNOTSUPP,
					"sums of 16-bit floats are to be kept in 32 bits, which scans do not offer");
}

int coll_operation_reduction(const struct coll_comm *comm, struct coll_operation *operation,
			     enum coll_op reduction)
{
	/* Checked here because the field of the kernel's struct is narrower. */
	if ((unsigned int)reduction >= COLLECTIVE_REDUCTION_COUNT)
		return coll_operation_arg_error(operation, -EINVAL, "there is no such reduction");
	operation->op.reduction = reduction;
	coll_operation_nosync(comm, operation);
	coll_operation_order(comm, operation);
	return 0;
}

int coll_operation_tag(struct coll_operation *operation, long long tag)
{
	if (tag == COLL_TAG_NONE)
		return 0;
	if (tag < 0 || (__u64)tag > COLLECTIVE_KEY_MAX)
		return coll_operation_arg_error(operation, -EINVAL, "a tag is out of range");
	operation->op.flags |= COLLECTIVE_F_KEYED;
	operation->op.key = tag;
	return 0;
}

int coll_operation_not_in_place(struct coll_operation *operation, const void *part)
{
	return part != COLL_IN_PLACE ? 0 :
	       coll_operation_arg_error(operation, -EINVAL,
					"only the root may have its block in place");
}

int coll_operation_counts(struct coll_operation *operation, const size_t *counts)
{
	return counts ? 0 : coll_operation_arg_error(operation, -EINVAL, "there are no counts");
}

int coll_operation_reduce(const struct coll_comm *comm, struct coll_operation *operation,
			  const void *send, void *recv, size_t count, enum coll_type type,
			  enum coll_op reduction)
{
	struct collective_op *op = &operation->op;
	size_t bytes = 0;
	int err = coll_operation_elements(operation, count, type, &bytes) ?:
		  coll_operation_reduction(comm, operation, reduction);

	if (err)
		return err;
	op->send = (uintptr_t)(send == COLL_IN_PLACE ? recv : send);
	op->recv = (uintptr_t)recv;
	operation->send_size = bytes;
	operation->recv_size = bytes;
	return 0;
}

size_t coll_operation_input_blocks(const struct coll_comm *comm, const struct collective_op *op)
{
	const bool root = op->root == (__u32)comm->rank;

	switch (op->opcode) {
	case COLLECTIVE_ALLREDUCE:
	case COLLECTIVE_REDUCE:
	case COLLECTIVE_SCAN:
	case COLLECTIVE_EXSCAN:
	case COLLECTIVE_SEND:
		return 1;
	case COLLECTIVE_ALLGATHER:
		return op->send != op->recv;
	case COLLECTIVE_GATHER:
		return !root || op->send != op->recv;
	case COLLECTIVE_BROADCAST:
		return root;
	case COLLECTIVE_REDUCE_SCATTER:
	case COLLECTIVE_ALLTOALL:
		return comm->nranks;
	case COLLECTIVE_SCATTER:
		return root ? comm->nranks : 0;
	}
	return 0;
}

size_t coll_operation_result_blocks(const struct coll_comm *comm, const struct collective_op *op)
{
	const bool root = op->root == (__u32)comm->rank;

	switch (op->opcode) {
	case COLLECTIVE_ALLREDUCE:
	case COLLECTIVE_REDUCE_SCATTER:
	case COLLECTIVE_SCAN:
	case COLLECTIVE_RECV:
		return 1;
	case COLLECTIVE_EXSCAN:
		return comm->rank > 0;
	case COLLECTIVE_REDUCE:
		return root;
	case COLLECTIVE_BROADCAST:
		return !root;
	case COLLECTIVE_SCATTER:
		return !root || op->send != op->recv;
	case COLLECTIVE_ALLGATHER:
	case COLLECTIVE_ALLTOALL:
		return comm->nranks;
	case COLLECTIVE_GATHER:
		return root ? comm->nranks : 0;
	}
	return 0;
}

void coll_operation_begin(struct coll_comm *comm, struct coll_operation *operation)
{
	struct collective_op *op = &operation->op;

	/* The kernel copies the layout and its arrays during submission. */
	if (operation->layout.size)
		op->layout = (uintptr_t)&operation->layout;
	coll_memcheck_begin(comm, operation);
	pthread_mutex_lock(&comm->lock);
	if (operation->send_size)
		op->send_buffer = coll_mem_buffer(comm, (void *)(uintptr_t)op->send,
						  operation->send_size, false);
	if (operation->recv_size)
		op->recv_buffer = coll_mem_buffer(comm, (void *)(uintptr_t)op->recv,
						  operation->recv_size, true);
	pthread_mutex_unlock(&comm->lock);
}

/* Number of bytes copied at once if input and result overlap. */
#define PIECE	((size_t)16 << 10)

/* Copy by process_vm_readv(), which reports unmapped memory.  Return: 0 or -EFAULT. */
static int copy(char *to, const char *from, size_t size)
{
	const pid_t self = coll_process_id();
	ssize_t done;

	for (; size; to += done, from += done, size -= done) {
		struct iovec local = { .iov_base = to, .iov_len = size };
		struct iovec remote = { .iov_base = (void *)(uintptr_t)from, .iov_len = size };

		done = process_vm_readv(self, &local, 1, &remote, 1, 0);
		if (done > 0)
			continue;
		if (!done || errno == EFAULT)
			return -EFAULT;
		/* The process may not call it, for example in a sandbox. */
		memmove(to, from, size);
		return 0;
	}
	return 0;
}

/* memmove() that returns -EFAULT for memory that has been unmapped meanwhile. */
static int move(char *to, const char *from, size_t size)
{
	char piece[PIECE];
	size_t length, at, done;
	int err = 0;

	if (to == from)
		return 0;
	if (to + size <= from || from + size <= to)
		return copy(to, from, size);
	for (done = 0; done < size && !err; done += length) {
		length = size - done < PIECE ? size - done : PIECE;
		at = to < from ? done : size - done - length;
		err = copy(piece, from + at, length) ?: copy(to + at, piece, length);
	}
	return err;
}

static int end(const struct coll_operation *operation, int err, __u64 received)
{
	if (operation->received && (!err || err == -EMSGSIZE))
		*operation->received = received;
	if (!err || err == -EMSGSIZE)
		coll_memcheck_end(operation, received);
	if (!operation->move_size || err)
		return err;
	if (operation->stage) {
		memcpy(operation->move_to, operation->stage, operation->move_size);
		coll_memcheck_written(operation->move_to, operation->move_size);
		return 0;
	}
	err = move(operation->move_to, (void *)(uintptr_t)operation->op.recv,
		   operation->move_size);
	if (!err)
		coll_memcheck_written(operation->move_to, operation->move_size);
	return err;
}

int coll_operation_end(const struct coll_operation *operation, int err, __u64 received)
{
	err = end(operation, err, received);
	free(operation->stage);
	return err;
}

/* Execute an operation on the board, or as much of it as is possible there. */
static enum coll_mapping_result run_on_board(struct coll_comm *comm,
					     struct coll_operation *operation, __u64 *instance)
{
	enum coll_mapping_result result;

	if (!comm->mapping || operation->op.count > COLL_MAPPING_BYTES || operation->op.layout ||
	    operation->layout.size)
		return COLL_MAPPING_SUBMIT;
	result = coll_mapping_run(comm->mapping, &operation->op, instance);
	if (result == COLL_MAPPING_WAKE)
		coll_device_wake(comm->fd);
	return result;
}

/* Pause between two tries to hand an operation over, us. */
#define HAND_OVER_PAUSE_US	1000

/* Have what is handed over work on memory of the library, if there is any. */
static void stage(struct coll_comm *comm, struct coll_operation *operation)
{
	struct collective_op *op = &operation->op;
	const size_t size = coll_mapping_stage_size(comm->mapping, op);
	void *result = (void *)(uintptr_t)op->recv;

	coll_memcheck_begin(comm, operation);
	/* Registered memory is pinned already. */
	if (!size || op->send_buffer || op->recv_buffer)
		return;
	operation->stage = malloc(size);
	if (!operation->stage)
		return;
	operation->move_size = coll_mapping_stage(comm->mapping, op, operation->stage);
	operation->move_to = result;
}

/*
 * Have the kernel go on with an operation.  Without memory for a request the kernel leaves it to
 * the process, which needs none.  Return: as coll_operation_execute().
 */
static int hand_over(struct coll_comm *comm, struct coll_operation *operation, __u64 instance,
		     int timeout_ms, __u64 *number)
{
	const int cancellation = coll_cancellation_off();
	const struct collective_op plain = operation->op;
	enum coll_mapping_result result;
	int err;

	stage(comm, operation);
	for (;;) {
		err = coll_device_resume(comm->fd, &operation->op, instance, timeout_ms, number);
		if (err != -EBUSY)
			break;
		usleep(HAND_OVER_PAUSE_US);
		result = coll_mapping_go_on(comm->mapping, &plain, instance);
		if (result == COLL_MAPPING_WAKE)
			coll_device_wake(comm->fd);
		if (result == COLL_MAPPING_RESUME)
			continue;
		/* The process has stored the result. */
		operation->op = plain;
		operation->move_size = 0;
		err = 0;
		break;
	}
	coll_cancellation_restore(cancellation);
	return err;
}

int coll_operation_execute(struct coll_comm *comm, struct coll_operation *operation,
			   int timeout_ms, __u64 *number)
{
	enum coll_mapping_result result = COLL_MAPPING_SUBMIT;
	__u64 instance = 0, received = 0;
	int err;

	*number = 0;
	/* Not one that is to go on while the caller does something else. */
	if (timeout_ms)
		result = run_on_board(comm, operation, &instance);
	if (result == COLL_MAPPING_DONE || result == COLL_MAPPING_WAKE) {
		coll_memcheck_begin(comm, operation);
		return coll_operation_end(operation, 0, 0);
	}
	if (result == COLL_MAPPING_RESUME) {
		err = hand_over(comm, operation, instance, timeout_ms, number);
	} else {
		coll_operation_begin(comm, operation);
		err = coll_device_submit(comm->fd, &operation->op, timeout_ms, number, &received);
	}
	return *number && err == -EINPROGRESS ? err : coll_operation_end(operation, err, received);
}

int (coll_operation_run)(struct coll_comm *comm, struct coll_operation *operation, int err)
{
	__u64 number;

	if (coll_comm_is_foreign(comm))
		return -EPERM;
	return coll_operation_failed(comm, operation,
				     err ?: coll_operation_execute(comm, operation, -1, &number));
}

/*
 * Wait for a request.  Once the end is wanted, cancel it after @patience_ms; if it is complete, its
 * result stands.  Return: its result.
 */
static int wait_or_cancel(struct coll_comm *comm, __u64 number, int patience_ms, __u64 *received)
{
	struct coll_interrupt *suspended;
	__u64 which;
	int err;

	while (!coll_interrupt_ask(true)) {
		err = coll_device_wait(comm->fd, &number, 1, COLL_INTERRUPT_MS, &which, received);
		if (which || err != -EINPROGRESS)
			return err;
	}
	suspended = coll_interrupt_suspend();
	err = coll_device_wait(comm->fd, &number, 1, patience_ms, &which, received);
	if (!which && err == -EINPROGRESS) {
		(void)coll_device_cancel(comm->fd, number);
		err = coll_device_wait(comm->fd, &number, 1, -1, &which, received);
	}
	coll_interrupt_resume(suspended);
	return err;
}

int coll_operation_run_interruptible(struct coll_comm *comm, struct coll_operation *operation,
				     int patience_ms)
{
	__u64 number, received = 0;
	int err;

	if (!coll_interrupt_can())
		return coll_operation_run(comm, operation, 0);
	err = coll_operation_execute(comm, operation, COLL_INTERRUPT_MS, &number);
	if (number && err == -EINPROGRESS) {
		err = wait_or_cancel(comm, number, patience_ms, &received);
		err = coll_operation_end(operation, err, received);
	}
	return coll_operation_failed(comm, operation, err);
}
