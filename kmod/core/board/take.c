// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a rank takes from the board: which operations fit, which bytes a rank publishes, and which
 * of them another one copies or reduces.
 *
 * Operands are reduced in the order of ranks, and wide sums are rounded once.  So a result has the
 * bits of COLLECTIVE_F_REPRODUCIBLE, on whichever rank it is computed.
 */
#include "core/board/board.h"
#include "core/reduce/reduce.h"

#include <linux/collective.h>

/* Bytes that a rank publishes. */
static u64 published_by(const struct coll_plan *plan, u32 rank)
{
	const u64 block = plan->count * plan->size;

	switch (plan->collective) {
	case COLLECTIVE_BARRIER:
		return 0;
	case COLLECTIVE_BROADCAST:
		return rank == plan->root ? block : 0;
	case COLLECTIVE_SCATTER:
		return rank == plan->root ? plan->nranks * block : 0;
	case COLLECTIVE_ALLTOALL:
	case COLLECTIVE_REDUCE_SCATTER:
		return plan->nranks * block;
	default:
		return block;
	}
}

/**
 * coll_board_published() - number of bytes that this rank publishes: all of its input
 * @plan: the operation
 */
u64 coll_board_published(const struct coll_plan *plan)
{
	return published_by(plan, plan->rank);
}

/* Bytes of one rank that another one reads, at most. */
static u64 read_of_one(const struct coll_plan *plan)
{
	return plan->collective == COLLECTIVE_BARRIER ? 0 : plan->count * plan->size;
}

/**
 * coll_board_fits() - is an operation one of the board?
 * @plan: the operation, which has no key
 *
 * Return: the same on every rank.
 */
bool coll_board_fits(const struct coll_plan *plan)
{
	if (!plan->reads || plan->nranks < 2 || plan->nranks > COLL_BOARD_RANKS ||
	    plan->algorithm != COLLECTIVE_ALGORITHM_AUTO || plan->vector || plan->varlen ||
	    coll_plan_is_p2p(plan))
		return false;
	/* First, so that no product below overflows. */
	if (plan->count > COLL_BOARD_PUBLISHED)
		return false;
	return published_by(plan, plan->root) <= COLL_BOARD_PUBLISHED &&
	       plan->nranks * read_of_one(plan) <= COLL_BOARD_READ;
}

/* The bytes of a rank from block @index of those that it has published. */
static const void *block_of(const struct coll_board *board, const struct coll_plan *plan,
			    u64 instance, u32 rank, u32 index)
{
	const u8 *bytes = coll_board_payload(board, rank, instance, published_by(plan, rank));

	return bytes + index * read_of_one(plan);
}

/* Copy block @index of @ranks ranks from @first on, one after the other. */
static void copy_blocks(const struct coll_board *board, const struct coll_plan *plan, u64 instance,
			u32 first, u32 ranks, u32 index, u8 *result)
{
	const u64 len = read_of_one(plan);
	u32 i;

	for (i = 0; i < ranks; i++)
		memcpy(result + i * len, block_of(board, plan, instance, first + i, index), len);
}

/* Reduce block @index of the first @ranks ranks. */
static void reduce_blocks(const struct coll_board *board, const struct coll_plan *plan,
			  u64 instance, u32 ranks, u32 index, const struct coll_board_out *out)
{
	const void *source[COLL_BOARD_RANKS];
	u32 i;

	if (ranks < 2) {
		copy_blocks(board, plan, instance, 0, ranks, index, out->result);
		return;
	}
	for (i = 0; i < ranks; i++)
		source[i] = block_of(board, plan, instance, i, index);
	coll_reduce_many(out->impl, plan->type, plan->reduction, coll_plan_wide(plan), out->result,
			 source, ranks, plan->count,
			 plan->reduction == COLLECTIVE_AVG ? plan->nranks : 0, out->part);
}

/**
 * coll_board_take() - the result of this rank
 * @board: the board, on which the operation is complete
 * @plan: the operation
 * @instance: its number
 * @out: where the result goes
 *
 * Context: any; between kernel_fpu_begin() and kernel_fpu_end() if @out->impl needs that.
 */
void coll_board_take(const struct coll_board *board, const struct coll_plan *plan, u64 instance,
		     const struct coll_board_out *out)
{
	const u32 n = plan->nranks, rank = plan->rank;
	const bool root = coll_plan_is_root(plan);

	switch (plan->collective) {
	case COLLECTIVE_ALLREDUCE:
		reduce_blocks(board, plan, instance, n, 0, out);
		break;
	case COLLECTIVE_REDUCE:
		reduce_blocks(board, plan, instance, root ? n : 0, 0, out);
		break;
	case COLLECTIVE_REDUCE_SCATTER:
		reduce_blocks(board, plan, instance, n, rank, out);
		break;
	case COLLECTIVE_SCAN:
		reduce_blocks(board, plan, instance, rank + 1, 0, out);
		break;
	case COLLECTIVE_EXSCAN:
		reduce_blocks(board, plan, instance, rank, 0, out);
		break;
	case COLLECTIVE_BROADCAST:
		copy_blocks(board, plan, instance, plan->root, !root, 0, out->result);
		break;
	case COLLECTIVE_SCATTER:
		copy_blocks(board, plan, instance, plan->root, 1, rank, out->result);
		break;
	case COLLECTIVE_ALLGATHER:
		copy_blocks(board, plan, instance, 0, n, 0, out->result);
		break;
	case COLLECTIVE_GATHER:
		copy_blocks(board, plan, instance, 0, root ? n : 0, 0, out->result);
		break;
	case COLLECTIVE_ALLTOALL:
		copy_blocks(board, plan, instance, 0, n, rank, out->result);
		break;
	}
}
