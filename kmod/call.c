// SPDX-License-Identifier: GPL-2.0-only
/*
 * What may be asked for: one operation, checked before anything is done.
 */
#include <linux/mm.h>

#include "coll.h"

/* What of a struct collective_op a collective looks at. */
enum {
	CALL_REDUCES	= BIT(0),	/* the reduction, and the type must suit it */
	CALL_ROOTED	= BIT(1),	/* the root */
	CALL_GATHERS	= BIT(2),	/* the result has a block of each rank */
	CALL_EMPTY	= BIT(3),	/* no elements */
};

static const u8 call_traits[COLLECTIVE_OPCODE_COUNT] = {
	[COLLECTIVE_BARRIER]	= CALL_EMPTY,
	[COLLECTIVE_ALLREDUCE]	= CALL_REDUCES,
	[COLLECTIVE_BROADCAST]	= CALL_ROOTED,
	[COLLECTIVE_ALLGATHER]	= CALL_GATHERS,
	[COLLECTIVE_SCAN]	= CALL_REDUCES,
};

static int call_check_enums(const struct collective_op *op, u32 nranks)
{
	if (op->opcode >= COLLECTIVE_OPCODE_COUNT || op->type >= COLLECTIVE_TYPE_COUNT ||
	    op->reduction >= COLLECTIVE_REDUCTION_COUNT ||
	    op->algorithm >= COLLECTIVE_ALGORITHM_COUNT ||
	    op->flags & ~COLLECTIVE_F_ALL || op->root >= nranks ||
	    op->reserved[0] || op->reserved[1])
		return -EINVAL;
	return 0;
}

static bool call_offered(const struct collective_op *op)
{
	struct coll_plan plan = {
		.collective = op->opcode,
		.type = op->type,
		.reduction = op->reduction,
		.algorithm = op->algorithm,
		.reproducible = op->flags & COLLECTIVE_F_REPRODUCIBLE,
	};

	return !(op->flags & ~COLLECTIVE_F_REPRODUCIBLE) && !op->layout &&
	       coll_schedule_find(&plan);
}

/* Fields that mean nothing for this collective. */
static int call_check_unused(const struct collective_op *op, u8 traits)
{
	bool reduces = traits & CALL_REDUCES;

	if (op->key || (op->root && !(traits & CALL_ROOTED)))
		return -EINVAL;
	if (traits & CALL_EMPTY && (op->count || op->send || op->recv || op->send_buffer ||
				    op->recv_buffer || op->type))
		return -EINVAL;
	if (!reduces)
		return op->reduction || op->flags & COLLECTIVE_F_REPRODUCIBLE ? -EINVAL : 0;
	if (op->opcode == COLLECTIVE_SCAN && op->reduction == COLLECTIVE_AVG)
		return -EINVAL;
	return coll_reduce_valid(op->type, op->reduction) ? 0 : -EINVAL;
}

static int call_extent(const struct collective_op *op, const struct coll_member *member,
		       u8 traits, struct coll_extent *extent)
{
	u32 blocks = traits & CALL_GATHERS ? member->nranks : 1;
	u64 total;

	if (check_mul_overflow(op->count, (u64)coll_type_size(op->type), &extent->block) ||
	    check_mul_overflow(extent->block, (u64)blocks, &total) || total > TASK_SIZE_MAX)
		return -EOVERFLOW;

	extent->send = extent->block;
	extent->recv = total;
	if (traits & CALL_GATHERS)
		extent->own = member->rank * extent->block;
	if (traits & CALL_ROOTED) {
		bool root = member->rank == op->root;

		/* What the root has in place already is only read. */
		extent->send = root ? extent->block : 0;
		extent->recv = root && op->recv == op->send ? 0 : extent->block;
	}
	return 0;
}

static bool spans_overlap(u64 a, u64 a_len, u64 b, u64 b_len)
{
	return a < b ? b - a < a_len : a - b < b_len;
}

static int call_check_spans(const struct collective_op *op, const struct coll_extent *extent)
{
	u64 align = coll_type_size(op->type) - 1;

	if ((extent->send && op->send & align) || (extent->recv && op->recv & align))
		return -EINVAL;
	if (extent->send && extent->recv && op->send != op->recv &&
	    spans_overlap(op->send, extent->send, op->recv, extent->recv))
		return -EINVAL;
	return 0;
}

/**
 * coll_call_check() - is an operation well formed?
 * @op: the operation, as it came from user space
 * @member: that submits it
 * @extent: out: of its buffers
 *
 * Return: 0, -EINVAL, -EOVERFLOW or -EOPNOTSUPP.
 */
int coll_call_check(const struct collective_op *op, const struct coll_member *member,
		    struct coll_extent *extent)
{
	u8 traits;
	int err = call_check_enums(op, member->nranks);

	if (err)
		return err;
	if (!call_offered(op))
		return -EOPNOTSUPP;
	traits = call_traits[op->opcode];
	*extent = (struct coll_extent){ 0 };
	err = call_check_unused(op, traits);
	if (!err)
		err = call_extent(op, member, traits, extent);
	if (!err)
		err = call_check_spans(op, extent);
	return err;
}
