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
	CALL_EMPTY	= BIT(2),	/* no elements */
	CALL_PAIR	= BIT(3),	/* the root is the other end */
};

/* What reductions offer, and what is offered. */
#define CALL_REDUCES_FLAGS	(COLLECTIVE_F_REPRODUCIBLE | COLLECTIVE_F_WIDE)
#define CALL_FLAGS		(CALL_REDUCES_FLAGS | COLLECTIVE_F_KEYED)

/* What its buffers hold, on a rank that uses them. */
enum call_holds {
	CALL_NOTHING,
	CALL_BLOCK,		/* a vector, or a block */
	CALL_BLOCKS,		/* a block of each rank */
};

/**
 * struct call_kind - a collective's view of a struct collective_op
 * @traits: CALL_*
 * @send: what the input holds, on the root of a rooted one
 * @recv: likewise, the result
 * @send_leaf: what the input holds on the other ranks
 * @recv_leaf: likewise, the result
 */
struct call_kind {
	u8 traits;
	u8 send;
	u8 recv;
	u8 send_leaf;
	u8 recv_leaf;
};

static const struct call_kind call_kinds[COLLECTIVE_OPCODE_COUNT] = {
	[COLLECTIVE_BARRIER]		= { CALL_EMPTY },
	[COLLECTIVE_ALLREDUCE]		= { CALL_REDUCES, CALL_BLOCK, CALL_BLOCK },
	[COLLECTIVE_SCAN]		= { CALL_REDUCES, CALL_BLOCK, CALL_BLOCK },
	[COLLECTIVE_EXSCAN]		= { CALL_REDUCES, CALL_BLOCK, CALL_BLOCK },
	[COLLECTIVE_ALLGATHER]		= { 0, CALL_BLOCK, CALL_BLOCKS },
	[COLLECTIVE_ALLTOALL]		= { 0, CALL_BLOCKS, CALL_BLOCKS },
	[COLLECTIVE_REDUCE_SCATTER]	= { CALL_REDUCES, CALL_BLOCKS, CALL_BLOCK },
	[COLLECTIVE_REDUCE]		= { CALL_REDUCES | CALL_ROOTED, CALL_BLOCK, CALL_BLOCK,
					    CALL_BLOCK, CALL_NOTHING },
	[COLLECTIVE_BROADCAST]		= { CALL_ROOTED, CALL_BLOCK, CALL_BLOCK,
					    CALL_NOTHING, CALL_BLOCK },
	[COLLECTIVE_GATHER]		= { CALL_ROOTED, CALL_BLOCK, CALL_BLOCKS,
					    CALL_BLOCK, CALL_NOTHING },
	[COLLECTIVE_SCATTER]		= { CALL_ROOTED, CALL_BLOCKS, CALL_BLOCK,
					    CALL_NOTHING, CALL_BLOCK },
	[COLLECTIVE_SEND]		= { CALL_ROOTED | CALL_PAIR, CALL_NOTHING, CALL_NOTHING,
					    CALL_BLOCK, CALL_NOTHING },
	[COLLECTIVE_RECV]		= { CALL_ROOTED | CALL_PAIR, CALL_NOTHING, CALL_NOTHING,
					    CALL_NOTHING, CALL_BLOCK },
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

/*
 * AUTO is what the group was told, as far as there is such a schedule.
 * Return: by which name all ranks know it; AUTO: there is none.
 */
static u8 call_algorithm(const struct collective_op *op, const struct coll_member *member,
			 struct coll_plan plan)
{
	plan.algorithm = op->algorithm;
	if (plan.algorithm == COLLECTIVE_ALGORITHM_AUTO)
		plan.algorithm = member->algorithm[op->opcode];
	if (op->algorithm == COLLECTIVE_ALGORITHM_AUTO && !coll_schedule_find(&plan))
		plan.algorithm = COLLECTIVE_ALGORITHM_AUTO;
	return coll_schedule_algorithm(&plan);
}

static struct coll_plan call_plan(const struct collective_op *op,
				  const struct coll_member *member)
{
	struct coll_plan plan = {
		.collective = op->opcode,
		.type = op->type,
		.reduction = op->reduction,
		.reproducible = op->flags & COLLECTIVE_F_REPRODUCIBLE,
		.wide = op->flags & COLLECTIVE_F_WIDE,
		.size = coll_type_size(op->type),
		.rank = member->rank,
		.nranks = member->nranks,
		.root = op->root,
		.nlanes = member->nlanes,
		.count = op->count,
	};

	plan.algorithm = call_algorithm(op, member, plan);
	return plan;
}

static bool call_offered(const struct collective_op *op, const struct coll_plan *plan)
{
	return !(op->flags & ~CALL_FLAGS) && !op->layout &&
	       plan->algorithm != COLLECTIVE_ALGORITHM_AUTO;
}

/* Fields that mean nothing for this collective. */
static int call_check_unused(const struct collective_op *op, u8 traits)
{
	bool reduces = traits & CALL_REDUCES;

	if (op->key > (op->flags & COLLECTIVE_F_KEYED ? COLLECTIVE_KEY_MAX : 0) ||
	    (op->root && !(traits & CALL_ROOTED)))
		return -EINVAL;
	if (traits & CALL_EMPTY && (op->count || op->send || op->recv || op->send_buffer ||
				    op->recv_buffer || op->type))
		return -EINVAL;
	if (!reduces)
		return op->reduction || op->flags & CALL_FLAGS ? -EINVAL : 0;
	if ((op->opcode == COLLECTIVE_SCAN || op->opcode == COLLECTIVE_EXSCAN) &&
	    op->reduction == COLLECTIVE_AVG)
		return -EINVAL;
	return coll_reduce_valid(op->type, op->reduction) ? 0 : -EINVAL;
}

static u64 call_holds(u8 holds, u64 block, u64 blocks)
{
	switch (holds) {
	case CALL_BLOCK:
		return block;
	case CALL_BLOCKS:
		return blocks;
	}
	return 0;
}

static int call_extent(const struct collective_op *op, const struct coll_member *member,
		       const struct call_kind *kind, struct coll_extent *extent)
{
	bool leaf = kind->traits & CALL_ROOTED && member->rank != op->root;
	u8 send = leaf ? kind->send_leaf : kind->send;
	u8 recv = leaf ? kind->recv_leaf : kind->recv;
	bool many = send == CALL_BLOCKS || recv == CALL_BLOCKS;
	u64 blocks;

	if (check_mul_overflow(op->count, (u64)coll_type_size(op->type), &extent->block) ||
	    check_mul_overflow(extent->block, many ? member->nranks : 1ULL, &blocks) ||
	    blocks > TASK_SIZE_MAX)
		return -EOVERFLOW;

	extent->send = call_holds(send, extent->block, blocks);
	extent->recv = call_holds(recv, extent->block, blocks);
	if (send != recv)
		extent->own = member->rank * extent->block;
	/* Nobody is before the first rank. */
	if (op->opcode == COLLECTIVE_EXSCAN && !member->rank)
		extent->recv = 0;

	/* What a root has in place already is only read. */
	if (op->send == op->recv && extent->send &&
	    (op->opcode == COLLECTIVE_BROADCAST || op->opcode == COLLECTIVE_SCATTER))
		extent->recv = 0;
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
	if (!extent->send || !extent->recv)
		return 0;
	switch (op->opcode) {
	case COLLECTIVE_ALLTOALL:
		break;		/* never in place */
	case COLLECTIVE_REDUCE_SCATTER:
		/* In place is where our own block is: no other rank reads that. */
		if (op->recv == op->send + extent->own)
			return 0;
		break;
	default:
		if (op->send == op->recv)
			return 0;
	}
	return spans_overlap(op->send, extent->send, op->recv, extent->recv) ? -EINVAL : 0;
}

/**
 * coll_call_check() - is an operation well formed?
 * @op: the operation, as it came from user space
 * @member: that submits it
 * @plan: out: the operation, as the schedules see it, on any lane; its algorithm is
 *	never AUTO
 * @extent: out: of its buffers
 *
 * Return: 0, -EINVAL, -EOVERFLOW or -EOPNOTSUPP.
 */
int coll_call_check(const struct collective_op *op, const struct coll_member *member,
		    struct coll_plan *plan, struct coll_extent *extent)
{
	const struct call_kind *kind;
	int err = call_check_enums(op, member->nranks);

	if (err)
		return err;
	*plan = call_plan(op, member);
	if (!call_offered(op, plan))
		return -EOPNOTSUPP;
	kind = &call_kinds[op->opcode];
	*extent = (struct coll_extent){ 0 };
	err = call_check_unused(op, kind->traits);
	if (kind->traits & CALL_PAIR && op->root == member->rank)
		err = -EINVAL;
	if (!err)
		err = call_extent(op, member, kind, extent);
	if (!err)
		err = call_check_spans(op, extent);
	plan->in_place = op->send == op->recv && extent->send && extent->recv;
	return err;
}
