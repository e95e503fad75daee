// SPDX-License-Identifier: GPL-2.0-only
/* The schedule of a call: a function of what is the same on every rank. */
#include "core/schedule/schedule.h"
#include "core/reduce/reduce.h"
#include "core/data/fuse.h"
#include "core/data/sink.h"

#include <linux/collective.h>

/* Bits that coll_plan_call() has for each field. */
static_assert(COLLECTIVE_OPCODE_COUNT <= 1 << 4);
static_assert(COLLECTIVE_TYPE_COUNT <= 1 << 4);
static_assert(COLLECTIVE_REDUCTION_COUNT <= 1 << 4);
static_assert(COLLECTIVE_ALGORITHM_COUNT <= 1 << 2);

/**
 * struct schedule_row - the schedules of a collective
 * @ring: along the ring
 * @tree: in few steps
 * @direct: each byte from its source straight to its destination
 */
struct schedule_row {
	const struct coll_schedule *ring;
	const struct coll_schedule *tree;
	const struct coll_schedule *direct;
};

static const struct schedule_row schedules[COLLECTIVE_OPCODE_COUNT] = {
	[COLLECTIVE_BARRIER]	= {
		.ring	= &coll_ring_barrier,
		.tree	= &coll_tree_barrier,
	},
	[COLLECTIVE_ALLREDUCE]	= {
		.ring	= &coll_ring_allreduce,
		.tree	= &coll_tree_allreduce,
		.direct	= &coll_direct_allreduce,
	},
	[COLLECTIVE_REDUCE]	= {
		.ring	= &coll_chain_reduce,
		.tree	= &coll_tree_reduce,
		.direct	= &coll_direct_reduce,
	},
	[COLLECTIVE_BROADCAST]	= {
		.ring	= &coll_ring_broadcast,
		.tree	= &coll_tree_broadcast,
	},
	[COLLECTIVE_ALLGATHER]	= {
		.ring	= &coll_ring_allgather,
		.tree	= &coll_tree_allgather,
	},
	[COLLECTIVE_REDUCE_SCATTER] = {
		.ring	= &coll_ring_reduce_scatter,
		.direct	= &coll_direct_reduce_scatter,
	},
	[COLLECTIVE_GATHER]	= {
		.direct	= &coll_direct_gather,
	},
	[COLLECTIVE_SCATTER]	= {
		.direct	= &coll_direct_scatter,
	},
	[COLLECTIVE_ALLTOALL]	= {
		.direct	= &coll_direct_alltoall,
	},
	[COLLECTIVE_SCAN]	= {
		.ring	= &coll_chain_scan,
		.tree	= &coll_tree_scan,
	},
	[COLLECTIVE_EXSCAN]	= {
		.ring	= &coll_chain_exscan,
		.tree	= &coll_tree_exscan,
	},
	[COLLECTIVE_SEND]	= {
		.direct	= &coll_p2p_send,
	},
	[COLLECTIVE_RECV]	= {
		.direct	= &coll_p2p_recv,
	},
};

/* The order of operands shows in the result only if the operation rounds. */
static bool order_matters(const struct coll_plan *plan)
{
	return coll_plan_reduces(plan) && plan->type >= COLLECTIVE_FLOAT16 &&
	       (plan->reduction == COLLECTIVE_SUM || plan->reduction == COLLECTIVE_PROD ||
		plan->reduction == COLLECTIVE_AVG);
}

static const struct coll_schedule *reproducible(const struct coll_plan *plan)
{
	switch (plan->collective) {
	case COLLECTIVE_ALLREDUCE:
		return coll_plan_wide(plan) ? &coll_chain_allreduce_wide :
					      &coll_chain_allreduce;
	case COLLECTIVE_REDUCE:
		return &coll_ordered_reduce;
	case COLLECTIVE_REDUCE_SCATTER:
		return &coll_ordered_reduce_scatter;
	case COLLECTIVE_SCAN:
		return &coll_chain_scan;
	case COLLECTIVE_EXSCAN:
		return &coll_chain_exscan;
	}
	return NULL;
}

/* Wide sums go along the ring, whatever algorithm is asked for. */
static const struct coll_schedule *wide(const struct coll_plan *plan)
{
	switch (plan->collective) {
	case COLLECTIVE_ALLREDUCE:
		return &coll_ring_allreduce_wide;
	case COLLECTIVE_REDUCE:
		return &coll_chain_reduce;
	case COLLECTIVE_REDUCE_SCATTER:
		return &coll_ring_reduce_scatter;
	}
	return NULL;
}

/* The length is sent with the elements, by the rank that knows it. */
static const struct coll_schedule *varlen(const struct coll_plan *plan)
{
	if (plan->algorithm != COLLECTIVE_ALGORITHM_AUTO &&
	    plan->algorithm != COLLECTIVE_ALGORITHM_DIRECT)
		return NULL;
	switch (plan->collective) {
	case COLLECTIVE_BROADCAST:
		return &coll_varlen_broadcast;
	case COLLECTIVE_SCATTER:
		return &coll_varlen_scatter;
	case COLLECTIVE_RECV:
		return &coll_p2p_recv;
	}
	return NULL;
}

/*
 * Where ranks can read one another's memory, no payload is sent.  All orders of operands are those
 * that other schedules have, so that flags which need an order make no difference here.
 */
static const struct coll_schedule *fused(const struct coll_plan *plan, bool few)
{
	if (!plan->reads || few || plan->nranks < 2 || plan->nranks > COLL_FUSE_MAX ||
	    (plan->algorithm != COLLECTIVE_ALGORITHM_AUTO &&
	     plan->algorithm != COLLECTIVE_ALGORITHM_DIRECT))
		return NULL;
	switch (plan->collective) {
	case COLLECTIVE_ALLREDUCE:
		return &coll_fused_allreduce;
	case COLLECTIVE_REDUCE:
		return &coll_fused_reduce;
	case COLLECTIVE_REDUCE_SCATTER:
		return &coll_fused_reduce_scatter;
	}
	return NULL;
}

/* In place, small blocks are all saved before the first step; larger ones are exchanged. */
static const struct coll_schedule *direct(const struct coll_plan *plan, bool few)
{
	if (plan->collective == COLLECTIVE_ALLREDUCE && few)
		return NULL;
	if (plan->collective == COLLECTIVE_ALLTOALL && plan->in_place && (plan->vector || !few))
		return &coll_direct_exchange;
	return schedules[plan->collective].direct;
}

/* Only the asked-for algorithm that messages have. */
static const struct coll_schedule *self(const struct coll_plan *plan)
{
	if (plan->algorithm != COLLECTIVE_ALGORITHM_AUTO &&
	    plan->algorithm != COLLECTIVE_ALGORITHM_DIRECT)
		return NULL;
	return &coll_p2p_self;
}

/**
 * coll_schedule_find() - select the schedule for a call
 * @plan: the call; its lane does not matter, and its rank and root only tell whether a message is
 *	one to itself
 *
 * Return: the schedule, or NULL if there is none.
 */
const struct coll_schedule *coll_schedule_find(const struct coll_plan *plan)
{
	bool few = coll_plan_total(plan) <= COLLECTIVE_EAGER_LIMIT / plan->size;
	const struct schedule_row *row;

	if (plan->collective >= COLLECTIVE_OPCODE_COUNT)
		return NULL;
	row = &schedules[plan->collective];
	if (coll_plan_is_self(plan))
		return self(plan);
	if (plan->varlen)
		return varlen(plan);
	/* Here the order of ranks decides, not the algorithm. */
	if (coll_plan_wide(plan) && (plan->collective == COLLECTIVE_SCAN ||
				     plan->collective == COLLECTIVE_EXSCAN))
		return NULL;
	if (coll_board_fits(plan))
		return &coll_board_schedule;
	if (fused(plan, few))
		return fused(plan, few);
	if (plan->reproducible && order_matters(plan))
		return reproducible(plan);
	if (coll_plan_wide(plan))
		return wide(plan);
	switch (plan->algorithm) {
	case COLLECTIVE_ALGORITHM_AUTO:
		if (row->tree && few)
			return row->tree;
		/* Both send the same number of bytes, but the direct schedule copies nothing. */
		if (plan->collective == COLLECTIVE_REDUCE_SCATTER)
			return row->direct;
		return row->ring ? row->ring : direct(plan, few);
	case COLLECTIVE_ALGORITHM_RING:
		return row->ring;
	case COLLECTIVE_ALGORITHM_TREE:
		return row->tree && row->tree->eager && !few ? NULL : row->tree;
	case COLLECTIVE_ALGORITHM_DIRECT:
		return direct(plan, few);
	}
	return NULL;
}
