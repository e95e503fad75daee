// SPDX-License-Identifier: GPL-2.0-only
/*
 * The exact cost of an operation on each of n ranks, in bytes sent, steps and copies:
 *
 * - ring allreduce: 2 (n - 1) / n of the vector in 2 (n - 1) steps
 * - allgather: n - 1 blocks in n - 1 steps
 * - broadcast and scan: the vector once; the last rank sends nothing
 * - reproducible allreduce: the vector twice; the last two ranks send it once
 * - direct algorithms: every byte once, to the rank that needs it, whatever the blocks' lengths
 */
#include "sim.h"

/**
 * struct cost - cost of an operation on one lane of a rank
 * @sent: payload bytes that must be sent
 * @ideal: payload bytes that the formula of the algorithm gives, before the partition
 * @rounding: bytes by which @sent may differ from @ideal, because of the partition
 * @copied: bytes of @sent that are sent by copy, not with zero copy
 * @steps: number of steps
 */
struct cost {
	u64 sent;
	u64 ideal;
	u64 rounding;
	u64 copied;
	u32 steps;
};

/* Return: elements of chunk @index of a lane's part. */
static u64 chunk_count(const struct sim *sim, struct coll_range part, size_t size, u32 index)
{
	return coll_partition_piece(part.count, size, sim->config.nranks, index).count;
}

static struct cost allreduce_cost(const struct sim *sim, struct coll_range part, size_t size,
				  u32 rank)
{
	u32 n = sim->config.nranks;
	u64 skipped = chunk_count(sim, part, size, (rank + 1) % n) +
		      chunk_count(sim, part, size, (rank + 2) % n);

	return (struct cost){
		.sent = n == 1 ? 0 : (2 * part.count - skipped) * size,
		.ideal = 2 * (n - 1) * part.count * size / n,
		.rounding = 2 * max_t(u64, 4096, chunk_count(sim, part, size, 0) * size),
		.steps = 2 * (n - 1),
	};
}

/* Each rank sends to every other one that rank's chunk, and then its own reduced chunk. */
static struct cost allreduce_direct_cost(const struct sim *sim, struct coll_range part,
					 size_t size, u32 rank)
{
	u32 n = sim->config.nranks;
	u64 own = chunk_count(sim, part, size, rank);

	return (struct cost){
		.sent = (part.count - own + (n - 1) * own) * size,
		.steps = 2 * (n - 1),
	};
}

/* Return: ceil(log2(n)). */
static u32 rounds(u32 n)
{
	u32 k = 0;

	while ((1U << k) < n)
		k++;
	return k;
}

/* Return: number of ranks beyond the largest power of two. */
static u32 extra(u32 n)
{
	return (1U << rounds(n)) == n ? 0 : n - (1U << (rounds(n) - 1));
}

/* Return: vectors that a rank sends with TREE; in an allgather, blocks. */
static u32 doubling_sends(const struct sim_op *op, u32 n, u32 rank)
{
	u32 far, sends = 0;

	switch (op->collective) {
	case COLLECTIVE_ALLREDUCE:
		if (rank < 2 * extra(n))
			return rank & 1 ? 1 + rounds(n - extra(n)) : 1;
		return rounds(n - extra(n));
	case COLLECTIVE_REDUCE:
		return rank != op->root;
	case COLLECTIVE_ALLGATHER:
		return n - 1;
	case COLLECTIVE_EXSCAN:
		if (!rank)
			return n > 1;
		sends = rank + 1 < n;
		break;
	}
	for (far = 1; rank + far < n; far *= 2)
		sends++;
	return sends;
}

/* Return: steps of a rank with TREE. */
static u32 doubling_steps(const struct sim_op *op, u32 n)
{
	switch (op->collective) {
	case COLLECTIVE_ALLREDUCE:
		return rounds(n - extra(n)) + (extra(n) ? 2 : 0);
	case COLLECTIVE_EXSCAN:
		return 1 + rounds(n - 1);
	case COLLECTIVE_ALLGATHER:
		return 3 * rounds(n);
	}
	return rounds(n);
}

/* Return: ranks to which the rank root + @me sends in a broadcast along a binomial tree. */
static u32 tree_children(u32 n, u32 me)
{
	u32 far, children = 0;

	for (far = 1; far < n && !(me & far); far *= 2)
		children += me + far < n;
	return children;
}

/* Return: segments of so many bytes. */
static u32 segments(const struct sim *sim, u64 bytes)
{
	u32 segment = sim->config.segment;

	return (bytes + segment - 1) / segment;
}

/*
 * A reduce along the ring or in the order of ranks.  All ranks but the first send from scratch,
 * by copy.  Input of the first rank and rounded results are not wide; partial sums may be.
 */
static struct cost reduce_cost(const struct sim *sim, const struct sim_op *op, u64 bytes,
			       u32 rank)
{
	u32 n = sim->config.nranks, last = n - 1, place = (rank + n - op->root - 1) % n;
	u64 wider = bytes << reference_wide(op);
	struct cost cost = { .steps = 1 };

	if (!reference_ordered(op)) {
		if (place < last)
			cost.sent = place ? wider : bytes;
		cost.copied = place ? cost.sent : 0;
		return cost;
	}
	cost.steps = 2 * segments(sim, wider);
	if (rank < last)
		cost.sent = rank ? wider : bytes;
	else if (op->root != last)
		cost.sent = bytes;
	cost.copied = rank ? cost.sent : 0;
	return cost;
}

/* A reduce_scatter along the ring or in the order of ranks; the same rules for each block. */
static struct cost reduce_scatter_cost(const struct sim *sim, const struct sim_op *op,
				       u64 bytes, u32 rank)
{
	u64 wider = bytes << reference_wide(op);
	u32 n = sim->config.nranks;
	struct cost cost = { 0 };

	if (!reference_ordered(op)) {
		cost.copied = n > 1 ? (n - 2) * wider : 0;
		cost.sent = n > 1 ? cost.copied + bytes : 0;
		cost.steps = (n - 1) * segments(sim, wider);
		return cost;
	}
	cost.steps = 2 * n * segments(sim, wider);
	if (n > 1)
		cost.sent = rank + 1 == n ? (n - 1) * bytes : rank ? n * wider : n * bytes;
	cost.copied = rank ? cost.sent : 0;
	return cost;
}

/* A ring allreduce of wide sums: they are sent as binary32, from scratch. */
static struct cost allreduce_wide_cost(const struct sim *sim, struct coll_range part,
				       size_t size, u32 rank)
{
	u32 n = sim->config.nranks, i;
	struct cost cost = { 0 };

	for (i = 0; n > 1 && i < 2 * (n - 1); i++) {
		u32 index = (rank + 2 * n - i) % n;
		u64 bytes = chunk_count(sim, part, size, index) * size;
		bool through = i > 0 && i < n - 1;

		cost.sent += bytes << through;
		cost.copied += through ? 2 * bytes : 0;
	}
	cost.steps = (n - 1) * (1 + segments(sim, 2 * size * chunk_count(sim, part, size, 0)));
	return cost;
}

/* Return: bytes of the block from one rank to another that go on a lane. */
static u64 block_bytes(const struct sim *sim, const struct sim_op *op, u32 from, u32 to,
		       u32 lane)
{
	size_t size = coll_type_size(op->type);
	u64 count = reference_block_count(op, from, to);
	u32 lanes = coll_partition_lanes(count * size, sim->config.lanes);

	/* With VARLEN, only lane 0 is used. */
	if (op->varlen)
		return lane ? 0 : count * size;
	return lane < lanes ? coll_partition_piece(count, size, lanes, lane).count * size : 0;
}

/*
 * Operations with blocks that differ.  Every block is sent once to each rank that needs it; in
 * an allgather, the ranks before that rank in the ring forward it.
 */
static struct cost blocks_cost(const struct sim *sim, const struct sim_op *op, u32 lane,
			       u32 rank)
{
	bool paired = op->collective == COLLECTIVE_ALLTOALL ||
		      op->collective == COLLECTIVE_REDUCE_SCATTER;
	u32 n = sim->config.nranks, k;
	struct cost cost = { 0 };

	if (op->collective == COLLECTIVE_GATHER) {
		if (rank != op->root)
			cost.sent = block_bytes(sim, op, rank, op->root, lane);
		cost.steps = rank == op->root ? n - 1 : cost.sent > 0;
		return cost;
	}
	for (k = 0; k < n; k++) {
		if (op->collective == COLLECTIVE_ALLGATHER) {
			if (k != (rank + 1) % n)
				cost.sent += block_bytes(sim, op, k, 0, lane);
		} else if (k != rank && (paired || rank == op->root)) {
			cost.sent += block_bytes(sim, op, rank, k, lane);
		}
	}
	cost.steps = paired ? n : n - 1;
	if (!paired && op->collective != COLLECTIVE_ALLGATHER && rank != op->root)
		cost.steps = op->varlen || block_bytes(sim, op, op->root, rank, lane);
	return cost;
}

/*
 * Steps of a barrier of a fused reduction: rounds, or a signal of each child in a tree, one to and
 * from the parent, and one to each child.
 */
static u32 fused_barrier_cost(u32 n, u32 rank)
{
	u32 steps = !!rank, each, child;

	if (n <= 8)
		return rounds(n);
	/* Each digit to the base of four, from the lowest on, while those of the rank are 0. */
	for (each = 1; each < n && rank % (4 * each) == 0; each *= 4)
		for (child = rank + each; child < rank + 4 * each && child < n; child += each)
			steps += 2;
	return steps;
}

/* Ranks read one another's memory and send signals only. */
static struct cost fused_cost(const struct sim *sim, const struct sim_op *op, u32 rank)
{
	u32 n = sim->config.nranks;

	switch (op->collective) {
	case COLLECTIVE_ALLREDUCE:
		return (struct cost){ .steps = 3 * fused_barrier_cost(n, rank) + n };
	case COLLECTIVE_REDUCE:
		return (struct cost){ .steps = rank == op->root ? 2 * (n - 1) + 1 : 2 };
	}
	return (struct cost){ .steps = 2 * fused_barrier_cost(n, rank) + 1 };
}

/* An allreduce reads each input once, stores each result once, and copies it n - 1 times. */
static void fused_inspect(struct sim *sim)
{
	const struct sim_op *op = &sim->ops[0];
	u64 v = op->count * coll_type_size(op->type), n = sim->config.nranks, moved = 0;
	struct coll_fuse_stats total = { 0 };
	u32 rank, lane;

	for (rank = 0; rank < n; rank++)
		for (lane = 0; lane < sim->config.lanes; lane++) {
			const struct coll_fuse_stats *read =
				&sim->members[rank].engine[lane].stats.read;

			total.peers += read->peers;
			total.own += read->own;
			total.stored += read->stored;
		}
	moved = total.peers + total.own + total.stored;
	if (op->collective == COLLECTIVE_ALLREDUCE &&
	    (moved != (n + 1) * v + 2 * (n - 1) * v || total.own != v || total.stored != n * v))
		sim_fail(sim, "%llu bytes moved, not %llu", (unsigned long long)moved,
			 (unsigned long long)((n + 1) * v + 2 * (n - 1) * v));
	if (op->collective == COLLECTIVE_REDUCE && moved != (n + 1) * v)
		sim_fail(sim, "%llu bytes moved by a reduce", (unsigned long long)moved);
	if (op->collective == COLLECTIVE_REDUCE_SCATTER && !op->vector && moved != (n + 1) * n * v)
		sim_fail(sim, "%llu bytes moved by a reduce_scatter", (unsigned long long)moved);
}

/* All other operations. */
static struct cost op_cost(const struct sim *sim, const struct sim_op *op,
			   struct coll_range part, u32 rank)
{
	size_t size = coll_type_size(op->type);
	u64 bytes = part.count * size;
	u32 n = sim->config.nranks;
	struct cost cost = { .steps = 1 };

	if (reference_tree(op, n) && op->collective != COLLECTIVE_BROADCAST) {
		cost.sent = doubling_sends(op, n, rank) * bytes;
		cost.steps = doubling_steps(op, n);
		cost.ideal = cost.sent;
		return cost;
	}
	switch (op->collective) {
	case COLLECTIVE_BROADCAST:
		if (reference_tree(op, n)) {
			cost.sent = tree_children(n, (rank + n - op->root) % n) * bytes;
			cost.steps = 1 + rounds(n);
		} else {
			cost.sent = (rank + 1) % n == op->root ? 0 : bytes;
		}
		break;
	case COLLECTIVE_ALLGATHER:
		cost.sent = (n - 1) * bytes;
		cost.steps = n - 1;
		break;
	case COLLECTIVE_SCAN:
		cost.sent = rank + 1 == n ? 0 : bytes;
		break;
	case COLLECTIVE_EXSCAN:
		cost.sent = rank + 1 == n ? 0 : bytes;
		cost.copied = rank ? cost.sent : 0;
		break;
	case COLLECTIVE_REDUCE:
		if (reference_ordered(op) || reference_along_ring(op)) {
			cost = reduce_cost(sim, op, bytes, rank);
			break;
		}
		fallthrough;
	case COLLECTIVE_GATHER:
		cost.sent = rank == op->root ? 0 : bytes;
		cost.steps = rank == op->root ? n - 1 : 1;
		break;
	case COLLECTIVE_SCATTER:
		cost.sent = rank == op->root ? (n - 1) * bytes : 0;
		cost.steps = rank == op->root ? n - 1 : 1;
		break;
	case COLLECTIVE_REDUCE_SCATTER:
		if (reference_ordered(op) || reference_along_ring(op)) {
			cost = reduce_scatter_cost(sim, op, bytes, rank);
			break;
		}
		fallthrough;
	case COLLECTIVE_ALLTOALL:
		/* In one of the rounds, the rank is its own peer and sends nothing. */
		cost.sent = (n - 1) * bytes;
		cost.steps = n;
		break;
	default:
		if (reference_direct(op)) {
			cost = allreduce_direct_cost(sim, part, size, rank);
			break;
		}
		if (!reference_ordered(op)) {
			if (!reference_wide(op))
				return allreduce_cost(sim, part, size, rank);
			cost = allreduce_wide_cost(sim, part, size, rank);
			break;
		}
		cost.sent = n == 1 ? 0 : rank + 2 < n ? 2 * bytes : bytes;
		cost.steps = 2;
		if (reference_wide(op) && rank && rank + 1 < n) {
			cost.sent += bytes;
			cost.copied = 2 * bytes;
		}
	}
	cost.ideal = cost.sent;
	return cost;
}

/* Check the cost on one lane of a rank. */
static void lane_inspect(struct sim *sim, u32 rank, u32 lane, u32 lanes)
{
	const struct sim_op *op = &sim->ops[0];
	const struct member *member = &sim->members[rank];
	const struct sim_part *part = &member->parts[0];
	const struct coll_engine_stats *stats = &member->engine[lane].stats;
	struct coll_range range = coll_partition_piece(op->count, coll_type_size(op->type),
						       lanes, lane);
	bool blocks = op->vector || op->varlen;
	struct coll_plan plan = part->plan;
	struct cost cost;
	u32 steps;

	if (reference_fused(sim, op))
		cost = fused_cost(sim, op, rank);
	else if (blocks)
		cost = blocks_cost(sim, op, lane, rank);
	else
		cost = op_cost(sim, op, range, rank);
	if (blocks)
		cost.ideal = cost.sent;
	else if (!range.count)
		cost.steps = 0;
	if (sim->config.nranks == 1)
		cost.steps = 0;
	plan.lane = lane;
	steps = coll_schedule_find(&plan)->steps(&plan);

	if (stats->sent != cost.sent ||
	    stats->sent + cost.rounding < cost.ideal ||
	    stats->sent > cost.ideal + cost.rounding)
		sim_fail(sim, "rank %u: %llu bytes sent, not %llu", rank,
			 (unsigned long long)stats->sent,
			 (unsigned long long)cost.sent);
	if (coll_plan_eager(&plan) ||
	    (op->collective == COLLECTIVE_ALLTOALL && part->in_place))
		cost.copied = cost.sent;
	if (member->zerocopy_bytes[lane] != cost.sent - cost.copied)
		sim_fail(sim, "rank %u: %llu bytes sent with zero copy", rank,
			 (unsigned long long)member->zerocopy_bytes[lane]);
	if (steps != cost.steps)
		sim_fail(sim, "rank %u: %u steps, not %u", rank, steps, cost.steps);
}

/* Bytes that a rank takes from the board of each other rank, and of its own part. */
static void board_cost(const struct sim *sim, const struct sim_op *op, u32 rank,
		       struct coll_fuse_stats *stats)
{
	const struct sim_part *part = &sim->members[rank].parts[0];
	const u64 block = op->count * coll_type_size(op->type), others = sim->config.nranks - 1;
	const bool root = rank == op->root;

	*stats = (struct coll_fuse_stats){ 0 };
	switch (op->collective) {
	case COLLECTIVE_BARRIER:
		return;
	case COLLECTIVE_REDUCE:
		if (!root)
			return;
		fallthrough;
	case COLLECTIVE_ALLREDUCE:
	case COLLECTIVE_REDUCE_SCATTER:
		*stats = (struct coll_fuse_stats){ others * block, block, block };
		return;
	case COLLECTIVE_SCAN:
		*stats = (struct coll_fuse_stats){ rank * block, block, block };
		if (!rank && part->in_place)
			*stats = (struct coll_fuse_stats){ 0 };
		return;
	case COLLECTIVE_EXSCAN:
		*stats = (struct coll_fuse_stats){ rank * block, 0, rank ? block : 0 };
		return;
	case COLLECTIVE_BROADCAST:
	case COLLECTIVE_SCATTER:
		stats->own = root && !part->in_place ? block : 0;
		stats->peers = root ? 0 : block;
		break;
	case COLLECTIVE_GATHER:
		if (!root)
			return;
		fallthrough;
	default:
		stats->own = part->in_place ? 0 : block;
		stats->peers = others * block;
	}
	stats->stored = stats->own + stats->peers;
}

static void board_inspect(struct sim *sim)
{
	struct coll_fuse_stats cost;
	u32 rank;

	for (rank = 0; rank < sim->config.nranks; rank++) {
		const struct coll_engine_stats *stats = &sim->members[rank].engine[0].stats;

		board_cost(sim, &sim->ops[0], rank, &cost);
		if (memcmp(&stats->read, &cost, sizeof(cost)) || stats->sent)
			sim_fail(sim, "rank %u: %llu, %llu and %llu bytes moved on the board", rank,
				 (unsigned long long)stats->read.peers,
				 (unsigned long long)stats->read.own,
				 (unsigned long long)stats->read.stored);
	}
}

/**
 * cost_inspect() - check the cost of the only operation of a world, on every rank
 * @sim: the world, at its end
 */
void cost_inspect(struct sim *sim)
{
	u32 rank, lane, lanes;

	if (reference_board(sim, &sim->ops[0])) {
		board_inspect(sim);
		return;
	}
	if (reference_fused(sim, &sim->ops[0]))
		fused_inspect(sim);
	for (rank = 0; rank < sim->config.nranks; rank++) {
		lanes = coll_plan_lanes(&sim->members[rank].parts[0].plan);
		for (lane = 0; lane < lanes; lane++)
			lane_inspect(sim, rank, lane, lanes);
	}
}
