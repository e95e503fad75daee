// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every size of group with awkward counts, one operation at a time, and what it
 * costs: a ring allreduce sends 2 (n - 1) / n of the payload in 2 (n - 1) steps.
 */
#include "sim.h"

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
			u64 skipped = coll_layout_piece(part.count, size, n, (rank + 1) % n).count +
				      coll_layout_piece(part.count, size, n, (rank + 2) % n).count;
			u64 sent = n == 1 ? 0 : (2 * part.count - skipped) * size;
			u64 lent = sim->members[rank].lent[lane];
			u64 ideal = 2 * (n - 1) * part.count * size / n;
			u64 rounding = 2 * max_t(u64, 4096, coll_layout_piece(part.count, size,
									      n, 0).count * size);
			struct coll_plan plan = {
				.size = size, .rank = rank, .nranks = n, .part = part,
			};
			u32 steps = coll_ring_allreduce.steps(&plan);

			if (stats->sent != sent ||
			    stats->sent + rounding < ideal || stats->sent > ideal + rounding)
				sim_fail(sim, "rank %u: %llu bytes sent, not %llu", rank,
					 (unsigned long long)stats->sent,
					 (unsigned long long)sent);
			if (lent != (bytes > COLLECTIVE_EAGER_LIMIT ? sent : 0))
				sim_fail(sim, "rank %u: %llu bytes sent without a copy", rank,
					 (unsigned long long)lent);
			if (steps != (part.count ? 2 * (n - 1) : 0))
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
	u32 i;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		struct sim_op op = {
			.collective = COLLECTIVE_ALLREDUCE,
			.type = types[(i + nranks) % ARRAY_SIZE(types)],
			.reduction = reductions[(i + nranks) % ARRAY_SIZE(reductions)],
			.values = (i + nranks) % VALUES_COUNT,
			.count = counts[i],
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

		if (!program_run(&config, &op, inspect_cost))
			return false;
	}
	return true;
}
