// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Small operations on the board (core/board/board.h): which ones they are.
 *
 * They have no steps that the engine could execute: each rank publishes its input, and takes what
 * it needs of all others.
 */
#include "core/schedule/schedule.h"

#include <linux/collective.h>

/**
 * coll_board_published() - number of bytes that a rank publishes: all of its input
 * @plan: the operation
 * @rank: the rank
 */
u64 coll_board_published(const struct coll_plan *plan, u32 rank)
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
 * coll_board_block() - number of bytes of one rank that another one reads, at most
 * @plan: the operation
 */
u64 coll_board_block(const struct coll_plan *plan)
{
	return plan->collective == COLLECTIVE_BARRIER ? 0 : plan->count * plan->size;
}

/**
 * coll_board_shows_all() - may each rank see all that the others publish?
 * @plan: the operation
 *
 * It is what they receive, or are the operands of it.  In the other operations a rank has payload
 * for some ranks only.
 */
bool coll_board_shows_all(const struct coll_plan *plan)
{
	switch (plan->collective) {
	case COLLECTIVE_BARRIER:
	case COLLECTIVE_ALLREDUCE:
	case COLLECTIVE_BROADCAST:
	case COLLECTIVE_ALLGATHER:
		return true;
	default:
		return false;
	}
}

/**
 * coll_board_place() - where is what a rank publishes?
 * @plan: the operation
 * @rank: the rank
 *
 * Processes see the payload of all ranks in slots and in pages that are shown.
 */
enum coll_board_place coll_board_place(const struct coll_plan *plan, u32 rank)
{
	const u64 len = coll_board_published(plan, rank);

	if (len && !coll_board_shows_all(plan))
		return COLL_BOARD_HIDDEN;
	return len > COLL_BOARD_INLINE ? COLL_BOARD_SHOWN : COLL_BOARD_SLOT;
}

/**
 * coll_board_fits() - is an operation one of the board?
 * @plan: the operation
 *
 * Return: the same on every rank.
 */
bool coll_board_fits(const struct coll_plan *plan)
{
	if (!plan->board || plan->nranks < 2 || plan->nranks > COLL_BOARD_RANKS ||
	    (plan->algorithm != COLLECTIVE_ALGORITHM_AUTO &&
	     plan->algorithm != COLLECTIVE_ALGORITHM_DIRECT) ||
	    plan->vector || plan->varlen || coll_plan_is_p2p(plan))
		return false;
	/* First, so that no product below overflows. */
	if (plan->count > COLL_BOARD_PUBLISHED)
		return false;
	return coll_board_published(plan, plan->root) <= COLL_BOARD_PUBLISHED &&
	       plan->nranks * coll_board_block(plan) <= COLL_BOARD_READ;
}

/**
 * coll_board_needs() - the ranks without which this one cannot complete an operation
 * @plan: an operation of the board
 *
 * All of them, unless the call need not synchronize: then those whose bytes are part of the result.
 *
 * Return: a set of ranks, which may have this rank itself.
 */
u64 coll_board_needs(const struct coll_plan *plan)
{
	if (!coll_plan_may_run_ahead(plan))
		return COLL_BOARD_ALL;
	switch (plan->collective) {
	case COLLECTIVE_BROADCAST:
	case COLLECTIVE_SCATTER:
		return BIT_ULL(plan->root);
	case COLLECTIVE_SCAN:
	case COLLECTIVE_EXSCAN:
		return BIT_ULL(plan->rank) - 1;
	default:
		return 0;
	}
}

static u64 board_steps(const struct coll_plan *plan)
{
	return plan->nranks > 1;
}

/* No frame belongs to it: a peer that sends one has called something else. */
static void board_step(const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	(void)plan;
	step->tag = i;
}

const struct coll_schedule coll_board_schedule = {
	.name	= "board",
	.algorithm = COLLECTIVE_ALGORITHM_DIRECT,
	.covers_all = true,
	.implicit_match = true,
	.board	= true,
	.steps	= board_steps,
	.step	= board_step,
};
