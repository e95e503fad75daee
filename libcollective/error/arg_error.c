// SPDX-License-Identifier: LGPL-2.1-or-later
/* Texts for calls that the library or the kernel rejects. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "comm/cancellation.h"
#include "comm/device.h"
#include "comm/operation.h"
#include "error/fault.h"
#include "error/names.h"

/* Send and receive; their root is the peer. */
static bool is_p2p(unsigned int opcode)
{
	return opcode == COLLECTIVE_SEND || opcode == COLLECTIVE_RECV;
}

static bool is_bitwise(unsigned int reduction)
{
	return reduction == COLLECTIVE_BAND || reduction == COLLECTIVE_BOR ||
	       reduction == COLLECTIVE_BXOR;
}

static bool is_scan(unsigned int opcode)
{
	return opcode == COLLECTIVE_SCAN || opcode == COLLECTIVE_EXSCAN;
}

static bool is_misaligned(__u64 addr, size_t bytes, unsigned int type)
{
	return bytes && addr % coll_type_size(type);
}

/* The caller of coll_submit() gives addresses and no sizes: find them, unless there is a layout. */
static void find_sizes(const struct coll_comm *comm, struct coll_operation *operation)
{
	const struct collective_op *op = &operation->op;
	const size_t element = coll_type_size(op->type);
	size_t all;

	if (operation->send_size || operation->recv_size || op->layout || !element ||
	    __builtin_mul_overflow(op->count, element * comm->nranks, &all))
		return;
	/* In place. */
	if (op->send != op->recv)
		operation->send_size = op->count * element * coll_operation_input_blocks(comm, op);
	operation->recv_size = op->count * element * coll_operation_result_blocks(comm, op);
}

static bool has_overlap(const struct coll_operation *operation)
{
	const struct collective_op *op = &operation->op;

	if (op->send < op->recv)
		return op->recv - op->send < operation->send_size && operation->recv_size;
	return op->send - op->recv < operation->recv_size && operation->send_size;
}

/* Name the most likely cause of EINVAL. */
static void format_invalid(const struct coll_comm *comm, const struct coll_operation *operation,
			   char *text, size_t size)
{
	const struct collective_op *op = &operation->op;

	if (op->opcode >= COLLECTIVE_OPCODE_COUNT)
		snprintf(text, size, "there is no such collective");
	else if (op->type >= COLLECTIVE_TYPE_COUNT)
		snprintf(text, size, "there is no such type");
	else if ((coll_names_root(op->opcode) || is_p2p(op->opcode)) &&
		 op->root >= (__u32)comm->nranks)
		snprintf(text, size, "there is no rank %d: the ranks are 0 to %d",
			 (int)op->root, comm->nranks - 1);
	else if (is_bitwise(op->reduction) && op->type >= COLLECTIVE_FLOAT16)
		snprintf(text, size, "%s is not defined for %s",
			 coll_names_reduction(op->reduction), coll_names_type(op->type));
	else if (is_scan(op->opcode) && op->reduction == COLLECTIVE_AVG)
		snprintf(text, size, "avg is not defined for it");
	else if (is_misaligned(op->send, operation->send_size, op->type) ||
		 is_misaligned(op->recv, operation->recv_size, op->type))
		snprintf(text, size, "memory is not aligned to its elements of %zu bytes",
			 coll_type_size(op->type));
	else if (operation->layout.size)
		snprintf(text, size,
			 "lengths, places or rows of the blocks contradict each other, or memory overlaps");
	else if (has_overlap(operation))
		snprintf(text, size, "input and result overlap, and it is not in place");
	/* Of rank 1023 with the last tag, too. */
	else if (is_p2p(op->opcode) && op->root == (__u32)comm->rank)
		snprintf(text, size,
			 "the message is from rank %d to itself, which the module does not offer",
			 comm->rank);
	else
		snprintf(text, size, "%s", coll_strerror(EINVAL));
}

static void range_format(char *text, size_t size, const char *what, __u64 addr, size_t bytes,
			 bool write)
{
	char why[COLL_DETAIL_SIZE / 4];
	size_t length = strlen(text);

	if (!bytes)
		return;
	coll_fault_format(addr, bytes, write, why, sizeof(why));
	snprintf(text + length, size - length, "%s%s of %zu bytes at %#llx%s%s",
		 length && text[length - 1] != ' ' ? "; " : "", what, bytes,
		 (unsigned long long)addr, why[0] ? ": " : "", why);
}

/*
 * The kernel does not say which buffer is bad.  Name the one at which a fault can be found, or
 * both.
 */
static void format_bad_address(const struct coll_operation *operation, char *text, size_t size)
{
	const struct collective_op *op = &operation->op;
	char input[COLL_DETAIL_SIZE / 4] = "", result[COLL_DETAIL_SIZE / 4] = "";

	coll_fault_format(op->send, operation->send_size, false, input, sizeof(input));
	coll_fault_format(op->recv, operation->recv_size, true, result, sizeof(result));
	text[0] = '\0';
	if (!operation->send_size && !operation->recv_size) {
		snprintf(text, size, "%s", coll_strerror(EFAULT));
		return;
	}
	if (!input[0] && !result[0])
		snprintf(text, size, "memory cannot be pinned, of ");
	if (input[0] || !result[0])
		range_format(text, size, "input", op->send, operation->send_size, false);
	if (result[0] || !input[0])
		range_format(text, size, "result", op->recv, operation->recv_size, true);
}

/* The kernel does not say which of the two limits is reached. */
static void format_quota(size_t bytes, char *text, size_t size)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		snprintf(text, size,
			 "the user's groups have all the kernel memory that the module's user_memory_mib allows");
	else
		snprintf(text, size,
			 "%zu bytes are to be pinned, of %llu that RLIMIT_MEMLOCK allows in all; or the module's user_memory_mib is reached",
			 bytes, (unsigned long long)limit.rlim_cur);
}

/* Errors of calls that are rejected.  If an operation fails later, the kernel has the reason. */
static bool is_arg_error(int err)
{
	switch (err) {
	case -EINVAL:
	case -E2BIG:
	case -EFAULT:
	case -EOVERFLOW:
	case -EOPNOTSUPP:
	case -ENOENT:
	case -EDQUOT:
	case -EMFILE:
	case -EEXIST:
	case -EAGAIN:
	case -ENOSPC:
	case -ENOBUFS:
	case -ENFILE:
	case -EADDRINUSE:
	case -EADDRNOTAVAIL:
	case -EMSGSIZE:
	case -ENOMEM:
		return true;
	}
	return false;
}

int coll_operation_arg_error(struct coll_operation *operation, int err, const char *why)
{
	operation->arg_error = why;
	return err;
}

static bool reason_is(const struct collective_reason *reason, int err)
{
	return reason->kind == COLLECTIVE_REASON_RESOURCES && -err == (int)reason->error;
}

/* Is @err the reason that the kernel has for the latest failed operation, or for the group? */
static bool has_reason(struct coll_comm *comm, int err)
{
	struct collective_status status;

	return !coll_device_status(comm->fd, &status) &&
	       (reason_is(&status.last, err) || reason_is(&status.group, err));
}

static void operation_arg_error(struct coll_comm *comm, const struct coll_operation *operation,
				int err)
{
	char why[COLL_DETAIL_SIZE / 2], text[COLL_DETAIL_SIZE];
	struct coll_operation sized = *operation;

	find_sizes(comm, &sized);
	if (operation->arg_error)
		snprintf(why, sizeof(why), "%s", operation->arg_error);
	else if (err == -EINVAL)
		format_invalid(comm, &sized, why, sizeof(why));
	else if (err == -EFAULT)
		format_bad_address(&sized, why, sizeof(why));
	else if (err == -EDQUOT)
		format_quota(sized.recv_size +
			     (sized.op.send == sized.op.recv ? 0 : sized.send_size),
			     why, sizeof(why));
	else
		snprintf(why, sizeof(why), "%s", coll_strerror(err));
	snprintf(text, sizeof(text), "%s %s: %s", coll_names_opcode(operation->op.opcode),
		 err == -EMSGSIZE ? "failed" : "refused", why);
	coll_comm_set_failure(comm, text);
}

int coll_operation_failed(struct coll_comm *comm, const struct coll_operation *operation,
			  int err)
{
	int state;

	if (!err)
		return 0;
	state = coll_cancellation_off();
	if (is_arg_error(err) && !(err == -ENOMEM && has_reason(comm, err)))
		operation_arg_error(comm, operation, err);
	else
		coll_comm_set_failure(comm, "");
	coll_cancellation_restore(state);
	return err;
}

int coll_register_failed(struct coll_comm *comm, const void *addr, size_t size,
			 unsigned int flags, int err)
{
	char text[COLL_DETAIL_SIZE] = "register refused: ";
	const size_t at = strlen(text);
	int state;

	if (!err)
		return 0;
	state = coll_cancellation_off();
	if (flags & ~COLL_REGISTER_READ_ONLY)
		snprintf(text + at, sizeof(text) - at, "there are no flags %#x",
			 flags & ~COLL_REGISTER_READ_ONLY);
	else if (!size)
		snprintf(text + at, sizeof(text) - at, "the size is 0");
	else if (err == -EFAULT)
		range_format(text, sizeof(text), "memory", (uintptr_t)addr, size,
			     !(flags & COLL_REGISTER_READ_ONLY));
	else if (err == -EDQUOT)
		format_quota(size, text + at, sizeof(text) - at);
	if (strlen(text) == at)
		snprintf(text + at, sizeof(text) - at, "%zu bytes at %p: %s", size, addr,
			 coll_strerror(err));
	coll_comm_set_failure(comm, text);
	coll_cancellation_restore(state);
	return err;
}

int coll_unregister_failed(struct coll_comm *comm, const void *addr, int err)
{
	char text[COLL_DETAIL_SIZE];
	int state;

	if (err != -ENOENT)
		return err;
	state = coll_cancellation_off();
	snprintf(text, sizeof(text), "unregister refused: nothing is registered at %p", addr);
	coll_comm_set_failure(comm, text);
	coll_cancellation_restore(state);
	return err;
}
