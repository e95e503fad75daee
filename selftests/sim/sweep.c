// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every size of group with awkward counts, one operation at a time, and what it
 * costs: a ring allreduce sends 2 (n - 1) / n of the vector in 2 (n - 1) steps, an
 * allgather n - 1 blocks in as many, a broadcast and a scan the vector once (but
 * for the last rank), a reproducible allreduce twice (but for the last two), and
 * the direct ones every byte once from where it is to where it belongs.
 */
#include "sim.h"

/* What a rank sends of one lane's part, in bytes; and the least it could. */
struct cost {
	u64 sent;
	u64 ideal;
	u64 rounding;
	u64 copied;
	u32 steps;
};

static struct cost allreduce_cost(struct coll_range part, size_t size, u32 n, u32 rank)
{
	u64 skipped = coll_layout_piece(part.count, size, n, (rank + 1) % n).count +
		      coll_layout_piece(part.count, size, n, (rank + 2) % n).count;

	return (struct cost){
		.sent = n == 1 ? 0 : (2 * part.count - skipped) * size,
		.ideal = 2 * (n - 1) * part.count * size / n,
		.rounding = 2 * max_t(u64, 4096,
				      coll_layout_piece(part.count, size, n, 0).count * size),
		.steps = 2 * (n - 1),
	};
}

static u32 rounds(u32 n)
{
	u32 k = 0;

	while ((1U << k) < n)
		k++;
	return k;
}

/* Ranks beyond the largest power of two. */
static u32 extra(u32 n)
{
	return (1U << rounds(n)) == n ? 0 : n - (1U << (rounds(n) - 1));
}

/* Vectors that a rank sends in a doubling, or blocks of an allgather. */
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

/* Ranks that the one @me behind the root passes a broadcast on to. */
static u32 tree_children(u32 n, u32 me)
{
	u32 far, children = 0;

	for (far = 1; far < n && !(me & far); far *= 2)
		children += me + far < n;
	return children;
}

static u32 segments(const struct sim *sim, u64 bytes)
{
	u32 segment = sim->config.segment;

	return (bytes + segment - 1) / segment;
}

/* What goes through scratch: the first hop is never wide, and what is rounded is not. */
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

static struct cost allreduce_wide_cost(const struct sim *sim, struct coll_range part,
				       size_t size, u32 rank)
{
	u32 n = sim->config.nranks, i;
	struct cost cost = { 0 };

	for (i = 0; n > 1 && i < 2 * (n - 1); i++) {
		u32 index = (rank + 2 * n - i) % n;
		u64 bytes = coll_layout_piece(part.count, size, n, index).count * size;
		bool through = i > 0 && i < n - 1;

		cost.sent += bytes << through;
		cost.copied += through ? 2 * bytes : 0;
	}
	cost.steps = (n - 1) * (1 + segments(sim, 2 * size *
					     coll_layout_piece(part.count, size, n, 0).count));
	return cost;
}

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
		if (reference_ordered(op) || reference_around(op)) {
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
		if (reference_ordered(op) || reference_around(op)) {
			cost = reduce_scatter_cost(sim, op, bytes, rank);
			break;
		}
		fallthrough;
	case COLLECTIVE_ALLTOALL:
		/* One of the rounds is a rest. */
		cost.sent = (n - 1) * bytes;
		cost.steps = n;
		break;
	default:
		if (!reference_ordered(op)) {
			if (!reference_wide(op))
				return allreduce_cost(part, size, n, rank);
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

static void inspect_cost(struct sim *sim)
{
	const struct sim_op *op = &sim->ops[0];
	size_t size = coll_type_size(op->type);
	u64 bytes = op->count * size;
	u32 n = sim->config.nranks;
	u32 lanes = coll_layout_lanes(bytes, sim->config.lanes);
	u32 rank, lane;

	for (rank = 0; rank < n; rank++) {
		bool part_in_place = sim->members[rank].parts[0].in_place;

		for (lane = 0; lane < lanes; lane++) {
			const struct coll_engine_stats *stats =
				&sim->members[rank].engine[lane].stats;
			struct coll_range part = coll_layout_piece(op->count, size, lanes, lane);
			struct cost cost = op_cost(sim, op, part, rank);
			u64 lent = sim->members[rank].lent[lane];
			struct coll_plan plan = sim_plan(sim, op, rank);
			u32 steps;

			plan.lane = lane;
			plan.in_place = part_in_place;
			steps = coll_schedule_find(&plan)->steps(&plan);

			if (stats->sent != cost.sent ||
			    stats->sent + cost.rounding < cost.ideal ||
			    stats->sent > cost.ideal + cost.rounding)
				sim_fail(sim, "rank %u: %llu bytes sent, not %llu", rank,
					 (unsigned long long)stats->sent,
					 (unsigned long long)cost.sent);
			if (coll_plan_eager(&plan) ||
			    (op->collective == COLLECTIVE_ALLTOALL && part_in_place))
				cost.copied = cost.sent;
			if (lent != cost.sent - cost.copied)
				sim_fail(sim, "rank %u: %llu bytes sent without a copy", rank,
					 (unsigned long long)lent);
			if (steps != (part.count && n > 1 ? cost.steps : 0))
				sim_fail(sim, "rank %u: %u steps", rank, steps);
		}
	}
}

/**
 * sweep() - all awkward counts of one size of group
 * @nranks: the size
 *
 * Return: true when all went well.
 */
bool sweep(u32 nranks)
{
	static const u8 types[] = {
		COLLECTIVE_FLOAT32, COLLECTIVE_INT8, COLLECTIVE_FLOAT64,
		COLLECTIVE_UINT16, COLLECTIVE_BFLOAT16, COLLECTIVE_INT64,
		COLLECTIVE_FLOAT16, COLLECTIVE_UINT32,
	};
	static const u8 reductions[] = {
		COLLECTIVE_SUM, COLLECTIVE_AVG, COLLECTIVE_MAX, COLLECTIVE_PROD, COLLECTIVE_LAND,
	};
	u64 counts[] = {
		0, 1, nranks - 1, nranks, nranks + 1, 2 * nranks + 1, 127, 1021,
		64 * nranks - 1, 64 * nranks + 1, 1024, 1025, 2049, 4099, 8192, 8193,
		nranks <= 3 ? 1100009 : 9973,
		nranks <= 8 ? 140009 : 24001,
	};
	static const u8 collectives[] = {
		COLLECTIVE_ALLREDUCE, COLLECTIVE_BROADCAST, COLLECTIVE_ALLGATHER,
		COLLECTIVE_SCAN, COLLECTIVE_ALLREDUCE, COLLECTIVE_REDUCE, COLLECTIVE_GATHER,
		COLLECTIVE_SCATTER, COLLECTIVE_ALLTOALL, COLLECTIVE_REDUCE_SCATTER,
		COLLECTIVE_EXSCAN, COLLECTIVE_ALLREDUCE, COLLECTIVE_REDUCE,
		COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_REDUCE, COLLECTIVE_REDUCE_SCATTER,
		COLLECTIVE_SCAN, COLLECTIVE_ALLREDUCE,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(counts) * ARRAY_SIZE(collectives); i++) {
		struct sim_op op = {
			.collective = collectives[i / ARRAY_SIZE(counts)],
			.reproducible = i / ARRAY_SIZE(counts) == 4 || (i + i / 4) % 4 == 3,
			.wide = (i + i / 3) % 3 == 2,
			.algorithm = (i + i / 7) % COLLECTIVE_ALGORITHM_COUNT,
			.type = types[(i + nranks) % ARRAY_SIZE(types)],
			.reduction = reductions[(i + nranks) % ARRAY_SIZE(reductions)],
			.values = (i + nranks) % VALUES_COUNT,
			.count = counts[i % ARRAY_SIZE(counts)],
			.root = i % nranks,
			.seed = 1000 * nranks + i,
		};
		struct config config = {
			.seed = 1000 * nranks + i,
			.nranks = nranks,
			.lanes = 1 + i % SIM_LANES_MAX,
			.nslots = 4,
			.window = 4,
			.nops = 1,
			.segment = 1U << (3 + i % 8),
		};

		/* Large groups take long: some of the counts, others in the next one. */
		if (nranks > 8 && i >= ARRAY_SIZE(counts) && (i + nranks) % 6)
			continue;
		while (config.segment < op.count / 256)
			config.segment *= 2;
		if (op.collective >= COLLECTIVE_SCAN && op.reduction == COLLECTIVE_AVG)
			op.reduction = COLLECTIVE_SUM;
		if (!program_offers(&op, nranks))
			op.algorithm = COLLECTIVE_ALGORITHM_AUTO;
		if (!program_offers(&op, nranks))
			op.wide = false;
		/* A block of each rank: as much in all. */
		if (op.collective >= COLLECTIVE_ALLGATHER &&
		    op.collective <= COLLECTIVE_ALLTOALL && op.count > 9000)
			op.count /= nranks;
		if (!program_run(&config, &op, inspect_cost))
			return false;
	}
	return true;
}
