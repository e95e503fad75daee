// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * What a rank takes from the board: which bytes of the others it copies or reduces.
 *
 * Operands are reduced in the order of ranks, and wide sums are rounded once.  So a result has the
 * bits of COLLECTIVE_F_REPRODUCIBLE, on whichever rank it is computed.
 */
#include "core/board/board.h"
#include "core/reduce/reduce.h"

#include <linux/collective.h>

/* The bytes of a rank from block @index of those that it has published. */
static const void *block_of(const struct coll_board *board, const struct coll_plan *plan,
			    u64 instance, u32 rank, u32 index)
{
	const u8 *bytes = coll_board_payload(board, rank, instance, coll_board_place(plan, rank));

	return bytes + index * coll_board_block(plan);
}

/* Count one block of a rank that was read. */
static void count_read(const struct coll_plan *plan, u32 rank, const struct coll_board_out *out)
{
	const u64 len = coll_board_block(plan);

	if (rank == plan->rank)
		out->stats->own += len;
	else
		out->stats->peers += len;
}

/* Is block @i of the result block @index of the own input, maybe in memory that is only read? */
static bool is_in_place(const struct coll_plan *plan, u32 i, u32 index,
			const struct coll_board_out *out)
{
	const u64 len = coll_board_block(plan);

	return out->mem == out->input && out->off + i * len == out->input_off + index * len;
}

/* Copy block @index of @ranks ranks from @first on, one after the other. */
static void copy_blocks(const struct coll_board *board, const struct coll_plan *plan, u64 instance,
			u32 first, u32 ranks, u32 index, const struct coll_board_out *out)
{
	const u64 len = coll_board_block(plan);
	u32 i;

	for (i = 0; i < ranks; i++) {
		if (first + i == plan->rank && is_in_place(plan, i, index, out))
			continue;
		coll_mem_store(out->impl->copy, out->mem, out->off + i * len,
			       block_of(board, plan, instance, first + i, index), len);
		count_read(plan, first + i, out);
		out->stats->stored += len;
	}
}

/* Bytes that are reduced beside a result that is in shorter pieces. */
#define TAKE_APART	256U

/* Reduce @len bytes at most of all @source.  Return: their number, of which the result has all. */
static size_t reduce_piece(const struct coll_plan *plan, const void *const *source, u32 ranks,
			   u64 off, size_t len, const struct coll_board_out *out)
{
	const u32 divisor = plan->reduction == COLLECTIVE_AVG ? plan->nranks : 0;
	u8 apart[TAKE_APART] __aligned(8);
	size_t piece;
	void *result = out->mem->at(out->mem, off, &piece);
	const bool direct = piece >= min_t(size_t, len, TAKE_APART);

	len = min_t(size_t, len, direct ? piece : TAKE_APART);
	coll_reduce_many(out->impl, plan->type, plan->reduction, coll_plan_wide(plan),
			 direct ? result : apart, source, ranks, len / plan->size, divisor,
			 out->part);
	if (!direct)
		coll_mem_store(out->impl->copy, out->mem, off, apart, len);
	return len;
}

/* Reduce block @index of the first @ranks ranks. */
static void reduce_blocks(const struct coll_board *board, const struct coll_plan *plan,
			  u64 instance, u32 ranks, u32 index, const struct coll_board_out *out)
{
	const void *source[COLL_BOARD_RANKS];
	u64 left = coll_board_block(plan), off = out->off;
	size_t len;
	u32 i;

	for (i = 0; i < ranks; i++) {
		source[i] = block_of(board, plan, instance, i, index);
		count_read(plan, i, out);
	}
	out->stats->stored += left;
	while (left) {
		len = reduce_piece(plan, source, ranks, off, left, out);
		for (i = 0; i < ranks; i++)
			source[i] += len;
		off += len;
		left -= len;
	}
}

/* The first rank of a scan has nothing to reduce, and that of an exscan no result. */
static void reduce_before(const struct coll_board *board, const struct coll_plan *plan,
			  u64 instance, u32 ranks, const struct coll_board_out *out)
{
	if (ranks > 1)
		reduce_blocks(board, plan, instance, ranks, 0, out);
	else
		copy_blocks(board, plan, instance, 0, ranks, 0, out);
}

/**
 * coll_board_take() - the result of this rank
 * @board: the board, on which the operation is complete
 * @plan: the operation
 * @instance: its number
 * @out: where the result goes
 *
 * Context: any; if the operation reduces, between kernel_fpu_begin() and kernel_fpu_end().
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
		if (root)
			reduce_blocks(board, plan, instance, n, 0, out);
		break;
	case COLLECTIVE_REDUCE_SCATTER:
		reduce_blocks(board, plan, instance, n, rank, out);
		break;
	case COLLECTIVE_SCAN:
		reduce_before(board, plan, instance, rank + 1, out);
		break;
	case COLLECTIVE_EXSCAN:
		reduce_before(board, plan, instance, rank, out);
		break;
	case COLLECTIVE_BROADCAST:
		copy_blocks(board, plan, instance, plan->root, 1, 0, out);
		break;
	case COLLECTIVE_SCATTER:
		copy_blocks(board, plan, instance, plan->root, 1, rank, out);
		break;
	case COLLECTIVE_ALLGATHER:
		copy_blocks(board, plan, instance, 0, n, 0, out);
		break;
	case COLLECTIVE_GATHER:
		copy_blocks(board, plan, instance, 0, root ? n : 0, 0, out);
		break;
	case COLLECTIVE_ALLTOALL:
		copy_blocks(board, plan, instance, 0, n, rank, out);
		break;
	}
}
