// SPDX-License-Identifier: GPL-2.0-only
/* Validation of a call: all fields are checked before anything is done. */
#include <linux/mm.h>
#include <linux/nospec.h>

#include "core/engine/instance.h"
#include "op/footprint.h"
#include "op/layout.h"
#include "op/requests.h"

/* Fields of struct collective_op that a collective uses. */
enum {
	TRAIT_REDUCES	= BIT(0),	/* the reduction, which must suit the type */
	TRAIT_ROOTED	= BIT(1),	/* the root */
	TRAIT_EMPTY	= BIT(2),	/* no elements and no buffers */
	TRAIT_P2P	= BIT(3),	/* the root, as the rank of the other end */
	TRAIT_LAYOUT	= BIT(4),	/* the layout of its buffers */
	TRAIT_VARLEN	= BIT(5),	/* the flag VARLEN: the sender sets the length */
};

/* Flags that reductions take, and all flags that are supported. */
#define REDUCE_FLAGS	(COLLECTIVE_F_REPRODUCIBLE | COLLECTIVE_F_WIDE)
#define SUPPORTED_FLAGS		(REDUCE_FLAGS | COLLECTIVE_F_KEYED | \
				 COLLECTIVE_F_VARLEN | COLLECTIVE_F_VECTOR | \
				 COLLECTIVE_F_NOSYNC)

/**
 * struct opcode_info - use that a collective makes of struct collective_op
 * @traits: mask of TRAIT_*
 * @holds: content of the buffers, enum coll_holds by enum coll_area; of a collective with a root:
 *	on the root
 * @non_root_holds: the same on the other ranks
 */
struct opcode_info {
	u8 traits;
	u8 holds[COLL_AREA_COUNT];
	u8 non_root_holds[COLL_AREA_COUNT];
};

#define NOTHING	COLL_HOLDS_NOTHING
#define BLOCK	COLL_HOLDS_BLOCK
#define BLOCKS	COLL_HOLDS_BLOCKS

static const struct opcode_info opcodes[COLLECTIVE_OPCODE_COUNT] = {
	[COLLECTIVE_BARRIER]		= { TRAIT_EMPTY },
	[COLLECTIVE_ALLREDUCE]		= { TRAIT_REDUCES, { BLOCK, BLOCK } },
	[COLLECTIVE_SCAN]		= { TRAIT_REDUCES, { BLOCK, BLOCK } },
	[COLLECTIVE_EXSCAN]		= { TRAIT_REDUCES, { BLOCK, BLOCK } },
	[COLLECTIVE_ALLGATHER]		= { TRAIT_LAYOUT, { BLOCK, BLOCKS } },
	[COLLECTIVE_ALLTOALL]		= { TRAIT_LAYOUT, { BLOCKS, BLOCKS } },
	[COLLECTIVE_REDUCE_SCATTER]	= { TRAIT_REDUCES | TRAIT_LAYOUT, { BLOCKS, BLOCK } },
	[COLLECTIVE_REDUCE]		= { TRAIT_REDUCES | TRAIT_ROOTED, { BLOCK, BLOCK },
					    { BLOCK, NOTHING } },
	[COLLECTIVE_BROADCAST]		= { TRAIT_ROOTED | TRAIT_VARLEN, { BLOCK, BLOCK },
					    { NOTHING, BLOCK } },
	[COLLECTIVE_GATHER]		= { TRAIT_ROOTED | TRAIT_LAYOUT, { BLOCK, BLOCKS },
					    { BLOCK, NOTHING } },
	[COLLECTIVE_SCATTER]		= { TRAIT_ROOTED | TRAIT_LAYOUT | TRAIT_VARLEN,
					    { BLOCKS, BLOCK }, { NOTHING, BLOCK } },
	/* The other end may be this rank. */
	[COLLECTIVE_SEND]	= { TRAIT_ROOTED | TRAIT_P2P, { BLOCK, NOTHING },
					    { BLOCK, NOTHING } },
	[COLLECTIVE_RECV]	= { TRAIT_ROOTED | TRAIT_P2P | TRAIT_VARLEN, { NOTHING, BLOCK },
					    { NOTHING, BLOCK } },
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

static struct coll_plan call_plan(const struct collective_op *op,
				  const struct coll_requests *reqs)
{
	const u8 opcode = array_index_nospec(op->opcode, COLLECTIVE_OPCODE_COUNT);
	const u8 type = array_index_nospec(op->type, COLLECTIVE_TYPE_COUNT);

	/* What call_check_enums() has checked indexes tables of pointers, also speculatively. */
	return (struct coll_plan){
		.collective = opcode,
		.type = type,
		.reduction = array_index_nospec(op->reduction, COLLECTIVE_REDUCTION_COUNT),
		.reproducible = op->flags & COLLECTIVE_F_REPRODUCIBLE,
		.wide = op->flags & COLLECTIVE_F_WIDE,
		.vector = op->flags & COLLECTIVE_F_VECTOR,
		.varlen = op->flags & COLLECTIVE_F_VARLEN &&
			  opcodes[opcode].traits & TRAIT_VARLEN,
		.size = coll_type_size(type),
		.rank = reqs->id->rank,
		.nranks = reqs->id->nranks,
		.root = array_index_nospec(op->root, reqs->id->nranks),
		.nlanes = reqs->id->nlanes,
		.reads = reqs->id->reads,
		.board = reqs->id->board && !(op->flags & COLLECTIVE_F_KEYED),
		.nosync = op->flags & COLLECTIVE_F_NOSYNC,
		.count = op->count,
	};
}

/* Fields that the collective does not use must be 0. */
static int call_check_unused(const struct collective_op *op, u8 traits)
{
	bool reduces = traits & TRAIT_REDUCES;

	if (op->key > (op->flags & COLLECTIVE_F_KEYED ? COLLECTIVE_KEY_MAX : 0) ||
	    (op->root && !(traits & TRAIT_ROOTED)) ||
	    ((op->layout || op->flags & COLLECTIVE_F_VECTOR) && !(traits & TRAIT_LAYOUT)) ||
	    (op->flags & COLLECTIVE_F_VARLEN && !(traits & TRAIT_VARLEN)) ||
	    (op->flags & COLLECTIVE_F_NOSYNC && traits & TRAIT_P2P))
		return -EINVAL;
	if (traits & TRAIT_EMPTY && (op->count || op->send || op->recv || op->send_buffer ||
				     op->recv_buffer || op->type))
		return -EINVAL;
	if (!reduces)
		return op->reduction || op->flags & REDUCE_FLAGS ? -EINVAL : 0;
	if ((op->opcode == COLLECTIVE_SCAN || op->opcode == COLLECTIVE_EXSCAN) &&
	    op->reduction == COLLECTIVE_AVG)
		return -EINVAL;
	return coll_reduce_valid(op->type, op->reduction) ? 0 : -EINVAL;
}

static const u8 *call_holds(const struct collective_op *op, const struct coll_requests *reqs,
			    const struct opcode_info *info)
{
	bool non_root = info->traits & TRAIT_ROOTED && reqs->id->rank != op->root;

	return non_root ? info->non_root_holds : info->holds;
}

/* The bytes of one buffer that the operation touches. */
static struct coll_byte_range buffer_range(const struct coll_block_layout *layout, u32 area,
					   u8 holds,
					   u64 block, u64 all)
{
	if (layout)
		return (struct coll_byte_range){
			.skip = layout->area[area].skip,
			.bytes = layout->area[area].span,
		};
	if (holds == COLL_HOLDS_NOTHING)
		return (struct coll_byte_range){ 0 };
	return (struct coll_byte_range){ .bytes = holds == COLL_HOLDS_BLOCK ? block : all };
}

/* The footprint of blocks of different lengths. */
static void call_footprint_vector(const struct collective_op *op, const struct coll_requests *reqs,
				  const struct coll_block_layout *layout, struct coll_plan *plan,
			       struct coll_footprint *footprint)
{
	const struct coll_area_layout *send = &layout->area[COLL_AREA_SEND];
	const struct coll_area_layout *recv = &layout->area[COLL_AREA_RECV];
	const u64 *all = recv->first ? recv->first : send->first;

	plan->send_first = send->first;
	plan->recv_first = recv->first;
	if (layout->digest) {
		plan->count = max(send->longest, recv->longest);
		footprint->total = all[reqs->id->nranks];
	}
	footprint->digest = layout->digest;
	footprint->block = max3(op->count, send->longest, recv->longest) * plan->size;
	/* In an alltoall both buffers have all blocks. */
	if (!send->first || !recv->first)
		footprint->own = all[reqs->id->rank] * plan->size;
}

static int call_footprint(const struct collective_op *op, const struct coll_requests *reqs,
			  const u8 *holds, const struct coll_block_layout *layout,
		       struct coll_plan *plan, struct coll_footprint *footprint)
{
	bool many = holds[COLL_AREA_SEND] == BLOCKS || holds[COLL_AREA_RECV] == BLOCKS;
	u64 all = 0;
	u32 i;

	if (coll_block_layout_vector(layout)) {
		call_footprint_vector(op, reqs, layout, plan, footprint);
	} else {
		if (check_mul_overflow(op->count, (u64)plan->size, &footprint->block) ||
		    check_mul_overflow(footprint->block, many ? reqs->id->nranks : 1ULL, &all) ||
		    all > TASK_SIZE_MAX)
			return -EOVERFLOW;
		if (holds[COLL_AREA_SEND] != holds[COLL_AREA_RECV])
			footprint->own = reqs->id->rank * footprint->block;
		/* With these flags only some of the ranks know how much each rank sends. */
		footprint->total = op->flags & (COLLECTIVE_F_VECTOR | COLLECTIVE_F_VARLEN) ?
				0 : op->count;
	}

	for (i = 0; i < COLL_AREA_SCRATCH; i++)
		footprint->range[i] = buffer_range(layout, i, holds[i], footprint->block, all);
	/* No rank is before the first one, so its result is not written. */
	if (op->opcode == COLLECTIVE_EXSCAN && !reqs->id->rank)
		footprint->range[COLL_AREA_RECV].bytes = 0;
	return 0;
}

static bool ranges_overlap(u64 a, const struct coll_byte_range *of_a,
			   u64 b, const struct coll_byte_range *of_b)
{
	a += of_a->skip;
	b += of_b->skip;
	return a < b ? b - a < of_a->bytes : a - b < of_b->bytes;
}

/*
 * Is the operation in place?  If one buffer has a block for each rank and the other has this rank's
 * block only, that block is one of the first buffer's, and has no layout of its own.
 */
static bool call_in_place(const struct collective_op *op, const u8 *holds,
			  const struct coll_block_layout *layout)
{
	u32 own = holds[COLL_AREA_SEND] == COLL_HOLDS_BLOCK ? COLL_AREA_SEND : COLL_AREA_RECV;

	return op->send == op->recv && !(layout && layout->area[own].needs_view);
}

/* Is the result this rank's own block of the input?  No other rank reads that block. */
static bool call_in_own_block(const struct collective_op *op,
			      const struct coll_footprint *footprint,
			      const struct coll_block_layout *layout, u32 rank)
{
	u64 own = footprint->own;

	return (!layout || coll_block_layout_own(layout, rank, &own)) && op->recv == op->send + own;
}

static int call_check_spans(const struct collective_op *op, const struct coll_requests *reqs,
			    const u8 *holds, const struct coll_block_layout *layout,
			    struct coll_footprint *footprint)
{
	const struct coll_byte_range *send = &footprint->range[COLL_AREA_SEND];
	const struct coll_byte_range *recv = &footprint->range[COLL_AREA_RECV];
	u64 align = coll_type_size(op->type) - 1;

	if ((send->bytes && op->send & align) || (recv->bytes && op->recv & align))
		return -EINVAL;
	if (!send->bytes || !recv->bytes)
		return 0;
	switch (op->opcode) {
	case COLLECTIVE_ALLTOALL:
		/* In place, the block sent to a rank is replaced by the one received from it. */
		if (op->send != op->recv ||
		    (layout && !coll_block_layout_alike(layout, reqs->id->nranks)))
			break;
		footprint->in_place = true;
		return 0;
	case COLLECTIVE_REDUCE_SCATTER:
		if (!call_in_own_block(op, footprint, layout, reqs->id->rank))
			break;
		footprint->in_place = reqs->id->nranks == 1;
		return 0;
	default:
		if (!call_in_place(op, holds, layout))
			break;
		footprint->in_place = true;
		/* A root in place has the result already, and only reads it. */
		if (op->opcode == COLLECTIVE_BROADCAST || op->opcode == COLLECTIVE_SCATTER)
			footprint->range[COLL_AREA_RECV].bytes = 0;
		return 0;
	}
	return ranges_overlap(op->send, send, op->recv, recv) ? -EINVAL : 0;
}

/* One message to itself would have the instance that stands for the group. */
static bool is_no_message(const struct collective_op *op, const struct coll_plan *plan)
{
	return coll_plan_is_self(plan) &&
	       coll_instance_p2p(plan->rank, plan->root, op->key,
				 op->flags & COLLECTIVE_F_KEYED) == COLL_INSTANCE_GROUP;
}

/* AUTO selects the algorithm that the group was given, if it has a schedule for this plan. */
static const struct coll_schedule *call_schedule(const struct collective_op *op,
						 const struct coll_requests *reqs,
						 struct coll_plan *plan)
{
	const struct coll_schedule *schedule;

	plan->algorithm = op->algorithm;
	if (plan->algorithm == COLLECTIVE_ALGORITHM_AUTO)
		plan->algorithm = reqs->id->algorithm[plan->collective];
	schedule = coll_schedule_find(plan);
	if (schedule || op->algorithm != COLLECTIVE_ALGORITHM_AUTO)
		return schedule;
	plan->algorithm = COLLECTIVE_ALGORITHM_AUTO;
	return coll_schedule_find(plan);
}

/* Complete the plan for the schedules, and select the schedule. */
static int call_resolve(const struct collective_op *op, const struct coll_requests *reqs,
			struct coll_plan *plan, const struct coll_footprint *footprint)
{
	plan->in_place = footprint->in_place && footprint->range[COLL_AREA_SEND].bytes &&
			 footprint->range[COLL_AREA_RECV].bytes;
	plan->schedule = call_schedule(op, reqs, plan);
	if (!plan->schedule)
		return -EOPNOTSUPP;
	plan->algorithm = plan->schedule->algorithm;
	return 0;
}

/**
 * coll_validate() - check an operation, and describe it to the schedules
 * @op: the operation, as it came from user space
 * @reqs: of the member that submits it
 * @plan: out: the operation as the schedules see it, on any lane; with its schedule
 * @footprint: out: bytes of the buffers that it touches
 * @layout: out: its layout, for the caller to free; NULL: one block follows the other
 *
 * Context: process that submits; may sleep.
 * Return: 0, -EINVAL, -EOVERFLOW or -EOPNOTSUPP; with a layout also -E2BIG, -EFAULT, -EDQUOT or
 * -ENOMEM.
 */
int coll_validate(const struct collective_op *op, struct coll_requests *reqs,
		  struct coll_plan *plan, struct coll_footprint *footprint,
		  struct coll_block_layout **layout)
{
	const struct opcode_info *info;
	int err = call_check_enums(op, reqs->id->nranks);
	const u8 *holds;

	*layout = NULL;
	if (err)
		return err;
	if (op->flags & ~SUPPORTED_FLAGS)
		return -EOPNOTSUPP;
	*plan = call_plan(op, reqs);
	info = &opcodes[plan->collective];
	holds = call_holds(op, reqs, info);
	*footprint = (struct coll_footprint){ 0 };
	err = call_check_unused(op, info->traits);
	if (!err && is_no_message(op, plan))
		err = -EINVAL;
	if (!err)
		err = coll_block_layout_read(layout, op, reqs->charges, reqs->id->rank,
					     reqs->id->nranks, holds);
	if (!err)
		err = call_footprint(op, reqs, holds, *layout, plan, footprint);
	if (!err)
		err = call_check_spans(op, reqs, holds, *layout, footprint);
	if (!err)
		err = call_resolve(op, reqs, plan, footprint);
	if (err) {
		coll_block_layout_free(*layout);
		*layout = NULL;
	}
	return err;
}
