// SPDX-License-Identifier: LGPL-2.1-or-later
/* Filling in, submitting and finishing operations: see operation.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#include "comm/device.h"
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

int coll_operation_blocks(const struct coll_comm *comm, struct coll_operation *operation,
			  size_t count, enum coll_type type, size_t *block,
			  size_t *total)
{
	int err = coll_operation_elements(operation, count, type, block);

	if (err)
		return err;
	return __builtin_mul_overflow(*block, (size_t)comm->nranks, total) ?
	       -EOVERFLOW : 0;
}

int coll_operation_reduction(const struct coll_comm *comm, struct coll_operation *operation,
			     enum coll_op reduction)
{
	const struct coll_settings *settings = &comm->settings;

	/* Checked here because the field of the kernel's struct is narrower. */
	if ((unsigned int)reduction >= COLLECTIVE_REDUCTION_COUNT)
		return coll_operation_arg_error(operation, -EINVAL, "there is no such reduction");
	operation->op.reduction = reduction;
	operation->op.flags |= (settings->reproducible ? COLLECTIVE_F_REPRODUCIBLE : 0) |
			       (settings->wide ? COLLECTIVE_F_WIDE : 0);
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

/* The kernel rejects it as well, but without a text. */
static bool wide_scan(const struct collective_op *op)
{
	return op->flags & COLLECTIVE_F_WIDE && op->reduction == COLLECTIVE_SUM &&
	       (op->opcode == COLLECTIVE_SCAN || op->opcode == COLLECTIVE_EXSCAN) &&
	       (op->type == COLLECTIVE_FLOAT16 || op->type == COLLECTIVE_BFLOAT16);
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
	if (wide_scan(op))
		return coll_operation_arg_error(operation, -EOPNOTSUPP,
						"the group keeps sums of 16-bit floats in 32 bits, which scans do not offer");
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

int coll_operation_end(const struct coll_operation *operation, int err, __u64 received)
{
	if (operation->received && (!err || err == -EMSGSIZE))
		*operation->received = received;
	if (!err || err == -EMSGSIZE)
		coll_memcheck_end(operation, received);
	if (!operation->move_size || err)
		return err;
	err = move(operation->move_to, (void *)(uintptr_t)operation->op.recv,
		   operation->move_size);
	if (!err)
		coll_memcheck_written(operation->move_to, operation->move_size);
	return err;
}

int (coll_operation_run)(struct coll_comm *comm, struct coll_operation *operation, int err)
{
	__u64 number, received;

	if (coll_comm_is_foreign(comm))
		return -EPERM;
	if (err)
		return coll_operation_failed(comm, operation, err);
	coll_operation_begin(comm, operation);
	err = coll_device_submit(comm->fd, &operation->op, -1, &number, &received);
	err = coll_operation_end(operation, err, received);
	return coll_operation_failed(comm, operation, err);
}
