// SPDX-License-Identifier: GPL-2.0-only
/*
 * What may be asked for: one operation, checked before anything is done.
 */
#include <linux/mm.h>

#include "coll.h"

static bool spans_overlap(u64 a, u64 b, u64 len)
{
	return a < b ? b - a < len : a - b < len;
}

static int call_check_spans(const struct collective_op *op, u64 bytes)
{
	u32 size = coll_type_size(op->type);

	if ((op->send | op->recv) & (size - 1))
		return -EINVAL;
	if (op->send != op->recv && spans_overlap(op->send, op->recv, bytes))
		return -EINVAL;
	return 0;
}

/**
 * coll_call_check() - is an operation well formed?
 * @op: the operation, as it came from user space
 * @nranks: size of the group
 * @bytes: out: size of the result
 *
 * Return: 0, -EINVAL, -EOVERFLOW or -EOPNOTSUPP.
 */
int coll_call_check(const struct collective_op *op, u32 nranks, u64 *bytes)
{
	*bytes = 0;
	if (op->opcode >= COLLECTIVE_OPCODE_COUNT || op->type >= COLLECTIVE_TYPE_COUNT ||
	    op->reduction >= COLLECTIVE_REDUCTION_COUNT ||
	    op->algorithm >= COLLECTIVE_ALGORITHM_COUNT ||
	    op->flags & ~COLLECTIVE_F_ALL || op->root >= nranks ||
	    op->reserved[0] || op->reserved[1])
		return -EINVAL;
	if (op->flags || op->layout || !coll_schedule_find(op->opcode, op->algorithm))
		return -EOPNOTSUPP;
	if (op->key || op->root)
		return -EINVAL;

	if (op->opcode == COLLECTIVE_BARRIER)
		return op->count || op->send || op->recv || op->send_buffer ||
		       op->recv_buffer || op->type || op->reduction ? -EINVAL : 0;

	if (!coll_reduce_valid(op->type, op->reduction))
		return -EINVAL;
	if (check_mul_overflow(op->count, (u64)coll_type_size(op->type), bytes) ||
	    *bytes > TASK_SIZE_MAX)
		return -EOVERFLOW;
	return op->count ? call_check_spans(op, *bytes) : 0;
}
