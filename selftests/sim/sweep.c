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

static bool is_tree(const struct sim_op *op)
{
	return op->algorithm == COLLECTIVE_ALGORITHM_TREE ||
	       (op->algorithm == COLLECTIVE_ALGORITHM_AUTO &&
		op->count * coll_type_size(op->type) <= COLLECTIVE_EAGER_LIMIT);
}

/* Ranks that the one @me behind the root passes a broadcast on to. */
static u32 tree_children(u32 n, u32 me)
{
	u32 far, children = 0;

	for (far = 1; far < n && !(me & far); far *= 2)
		children += me + far < n;
	return children;
}

static struct cost op_cost(const struct sim *sim, const struct sim_op *op,
			   struct coll_range part, u32 rank)
{
	size_t size = coll_type_size(op->type);
	u64 bytes = part.count * size;
	u32 n = sim->config.nranks;
	struct cost cost = { .steps = 1 };

	switch (op->collective) {
	case COLLECTIVE_BROADCAST:
		if (is_tree(op)) {
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
	case COLLECTIVE_REDUCE:
	case COLLECTIVE_GATHER:
		cost.sent = rank == op->root ? 0 : bytes;
		cost.steps = rank == op->root ? n - 1 : 1;
		break;
	case COLLECTIVE_SCATTER:
		cost.sent = rank == op->root ? (n - 1) * bytes : 0;
		cost.steps = rank == op->root ? n - 1 : 1;
		break;
	case COLLECTIVE_ALLTOALL:
	case COLLECTIVE_REDUCE_SCATTER:
		/* One of the rounds is a rest. */
		cost.sent = (n - 1) * bytes;
		cost.steps = n;
		break;
	default:
		if (!op->reproducible || op->type < COLLECTIVE_FLOAT16 ||
		    op->reduction == COLLECTIVE_MAX || op->reduction == COLLECTIVE_LAND)
			return allreduce_cost(part, size, n, rank);
		cost.sent = n == 1 ? 0 : rank + 2 < n ? 2 * bytes : bytes;
		cost.steps = 2;
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
		for (lane = 0; lane < lanes; lane++) {
			const struct coll_engine_stats *stats =
				&sim->members[rank].engine[lane].stats;
			struct coll_range part = coll_layout_piece(op->count, size, lanes, lane);
			struct cost cost = op_cost(sim, op, part, rank);
			u64 lent = sim->members[rank].lent[lane];
			struct coll_plan plan = sim_plan(sim, op, rank);
			u32 steps;

			plan.lane = lane;
			steps = coll_schedule_find(&plan)->steps(&plan);

			if (stats->sent != cost.sent ||
			    stats->sent + cost.rounding < cost.ideal ||
			    stats->sent > cost.ideal + cost.rounding)
				sim_fail(sim, "rank %u: %llu bytes sent, not %llu", rank,
					 (unsigned long long)stats->sent,
					 (unsigned long long)cost.sent);
			if (lent != (bytes > COLLECTIVE_EAGER_LIMIT ? cost.sent : 0))
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
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(counts) * ARRAY_SIZE(collectives); i++) {
		struct sim_op op = {
			.collective = collectives[i / ARRAY_SIZE(counts)],
			.reproducible = i / ARRAY_SIZE(counts) == 4,
			.algorithm = i % 3,
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
		};

		/* Large groups take long: some of the counts, others in the next one. */
		if (nranks > 8 && i >= ARRAY_SIZE(counts) && (i + nranks) % 6)
			continue;
		if (op.collective == COLLECTIVE_SCAN && op.reduction == COLLECTIVE_AVG)
			op.reduction = COLLECTIVE_SUM;
		if (op.collective != COLLECTIVE_BROADCAST)
			op.algorithm = COLLECTIVE_ALGORITHM_AUTO;
		/* A block of each rank: as much in all. */
		if (op.collective >= COLLECTIVE_ALLGATHER &&
		    op.collective <= COLLECTIVE_ALLTOALL && op.count > 9000)
			op.count /= nranks;
		if (!program_run(&config, &op, inspect_cost))
			return false;
	}
	return true;
}
