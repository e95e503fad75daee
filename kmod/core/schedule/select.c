// SPDX-License-Identifier: GPL-2.0-only
#include "core/schedule/schedule.h"
#include "core/reduce/reduce.h"
#include "core/data/sink.h"

#include <linux/collective.h>

/* Bits that coll_plan_call() has for each. */
static_assert(COLLECTIVE_OPCODE_COUNT <= 1 << 4);
static_assert(COLLECTIVE_TYPE_COUNT <= 1 << 4);
static_assert(COLLECTIVE_REDUCTION_COUNT <= 1 << 4);
static_assert(COLLECTIVE_ALGORITHM_COUNT <= 1 << 2);

/* Each rank has a connection to every other one. */
#define COLL_SAME_HOST_RANKS		16
/* Of this size a rank's second-level cache holds one chunk and no two, or none. */
#define COLL_SAME_HOST_CHUNK		(1024 * 1024U)

/**
 * struct schedule_row - the schedules of a collective
 * @ring: along the ring
 * @tree: in few steps
 * @direct: from where it is to where it belongs
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

/* Only rounding makes the order of operands show. */
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

/* Wide sums go along the ring, whatever is asked for. */
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

/*
 * Among few ranks on one host what is beyond their caches is moved less often than along
 * the ring, where each rank stores what it passes on.
 */
static bool beyond_caches(const struct coll_plan *plan)
{
	return plan->same_host && plan->nranks > 2 && plan->nranks <= COLL_SAME_HOST_RANKS &&
	       plan->count / plan->nranks >= COLL_SAME_HOST_CHUNK / plan->size;
}

/* The length comes with the elements, from who knows it. */
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

/* From who works in place small blocks are all set saved at once. */
static const struct coll_schedule *direct(const struct coll_plan *plan, bool few)
{
	if (plan->collective == COLLECTIVE_ALLREDUCE && few)
		return NULL;
	if (plan->collective == COLLECTIVE_ALLTOALL && plan->in_place && (plan->vector || !few))
		return &coll_direct_exchange;
	return schedules[plan->collective].direct;
}

/**
 * coll_schedule_find() - the schedule for a call
 * @plan: the call; its rank, root and lane do not matter
 *
 * Return: the schedule, or NULL when there is none.
 */
const struct coll_schedule *coll_schedule_find(const struct coll_plan *plan)
{
	bool few = coll_plan_total(plan) <= COLLECTIVE_EAGER_LIMIT / plan->size;
	const struct schedule_row *row;

	if (plan->collective >= COLLECTIVE_OPCODE_COUNT)
		return NULL;
	row = &schedules[plan->collective];
	if (plan->varlen)
		return varlen(plan);
	/* Then the order decides, not the algorithm. */
	if (coll_plan_wide(plan) && (plan->collective == COLLECTIVE_SCAN ||
				     plan->collective == COLLECTIVE_EXSCAN))
		return NULL;
	if (plan->reproducible && order_matters(plan))
		return reproducible(plan);
	if (coll_plan_wide(plan))
		return wide(plan);
	switch (plan->algorithm) {
	case COLLECTIVE_ALGORITHM_AUTO:
		if (row->tree && few)
			return row->tree;
		/* Both send as much, but directly it needs no copy. */
		if (plan->collective == COLLECTIVE_REDUCE_SCATTER)
			return row->direct;
		if (plan->collective == COLLECTIVE_ALLREDUCE && beyond_caches(plan))
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
