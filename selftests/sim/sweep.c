// SPDX-License-Identifier: GPL-2.0-only
/* Every collective with awkward counts, for every size of group; one operation in each world. */
#include "sim.h"

static const u8 collectives[] = {
	COLLECTIVE_ALLREDUCE, COLLECTIVE_BROADCAST, COLLECTIVE_ALLGATHER,
	COLLECTIVE_SCAN, COLLECTIVE_ALLREDUCE, COLLECTIVE_REDUCE, COLLECTIVE_GATHER,
	COLLECTIVE_SCATTER, COLLECTIVE_ALLTOALL, COLLECTIVE_REDUCE_SCATTER,
	COLLECTIVE_EXSCAN, COLLECTIVE_ALLREDUCE, COLLECTIVE_REDUCE,
	COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_REDUCE, COLLECTIVE_REDUCE_SCATTER,
	COLLECTIVE_SCAN, COLLECTIVE_ALLREDUCE,
};

/* Return: true if the count is that of one rank's block, not of the vector. */
static bool blocks_of_each(u8 collective)
{
	return collective >= COLLECTIVE_ALLGATHER && collective <= COLLECTIVE_ALLTOALL;
}

/*
 * Return: true if blocks may differ.  blocks_cost() does not know the cost of trees, nor of a
 * reduce_scatter along the ring or in the order of ranks.
 */
static bool may_differ(const struct sim_op *op, u32 nranks)
{
	if (!blocks_of_each(op->collective) || reference_tree(op, nranks))
		return false;
	return op->collective != COLLECTIVE_REDUCE_SCATTER ||
	       (!reference_ordered(op) && !reference_along_ring(op));
}

/* Return: true if the sender may decide the length (VARLEN). */
static bool may_be_varlen(const struct sim_op *op)
{
	return (op->collective == COLLECTIVE_BROADCAST ||
		op->collective == COLLECTIVE_SCATTER) &&
	       (op->algorithm == COLLECTIVE_ALGORITHM_AUTO ||
		op->algorithm == COLLECTIVE_ALGORITHM_DIRECT);
}

/* Run one world; @i chooses all parameters that are not given. */
static bool sweep_world(u32 nranks, u32 i, u8 collective, u8 algorithm, u64 count)
{
	static const u8 types[] = {
		COLLECTIVE_FLOAT32, COLLECTIVE_INT8, COLLECTIVE_FLOAT64,
		COLLECTIVE_UINT16, COLLECTIVE_BFLOAT16, COLLECTIVE_INT64,
		COLLECTIVE_FLOAT16, COLLECTIVE_UINT32,
	};
	static const u8 reductions[] = {
		COLLECTIVE_SUM, COLLECTIVE_AVG, COLLECTIVE_MAX, COLLECTIVE_PROD, COLLECTIVE_LAND,
	};
	struct sim_op op = {
		.collective = collective,
		.reproducible = (i + i / 4) % 4 == 3,
		.wide = (i + i / 3) % 3 == 2,
		.algorithm = algorithm,
		.type = types[(i + nranks) % ARRAY_SIZE(types)],
		.reduction = reductions[(i + nranks) % ARRAY_SIZE(reductions)],
		.values = (i + nranks) % VALUES_COUNT,
		.count = count,
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
		.reads = (i / 2 + nranks) % 2,
		.board = (i / 2 + nranks) % 4 == 3,
		.segment = (nranks > 64 ? 128 : 8) << i % 8,
	};

	scale_numbers(&config);
	op.instance = config.origin.instance;
	if (op.collective >= COLLECTIVE_SCAN && op.reduction == COLLECTIVE_AVG)
		op.reduction = COLLECTIVE_SUM;
	if (!program_schedule(&op, nranks))
		op.algorithm = COLLECTIVE_ALGORITHM_AUTO;
	if (!program_schedule(&op, nranks))
		op.wide = false;
	/* With one block for each rank, the sum of the blocks is as large as a vector. */
	if (blocks_of_each(op.collective) && op.count > 9000)
		op.count /= nranks;
	/* Small segments make many frames: limit them to about 256. */
	while (config.segment < op.count * (blocks_of_each(op.collective) ? nranks : 1) / 256)
		config.segment *= 2;
	op.varlen = may_be_varlen(&op) && (i + i / 5) % 3 == 1;
	op.vector = (i + i / 7) % 3 == 1;
	op.vector = op.vector && may_differ(&op, nranks);
	op.vector |= op.varlen && op.collective == COLLECTIVE_SCATTER;
	return program_run(&config, &op, cost_inspect);
}

/*
 * Run every collective with the ring and the tree algorithm.  Those that link every pair of
 * ranks are left out above 256 ranks.
 */
static bool sweep_large(u32 nranks)
{
	u32 i;

	for (i = 0; i < 2 * ARRAY_SIZE(collectives); i++) {
		u8 collective = collectives[i / 2];
		u8 algorithm = i % 2 ? COLLECTIVE_ALGORITHM_TREE : COLLECTIVE_ALGORITHM_RING;

		if (nranks > 256 && (collective == COLLECTIVE_ALLTOALL ||
				     collective == COLLECTIVE_REDUCE_SCATTER))
			continue;
		if (!sweep_world(nranks, i, collective, algorithm,
				 i % 3 && !blocks_of_each(collective) ? nranks + 1 : 7))
			return false;
	}
	return true;
}

/**
 * sweep() - run every collective with awkward counts in groups of one size
 * @nranks: size of the group
 *
 * Return: true if all worlds pass.
 */
bool sweep(u32 nranks)
{
	u64 counts[] = {
		0, 1, nranks - 1, nranks, nranks + 1, 2 * nranks + 1, 127, 1021,
		64 * nranks - 1, 64 * nranks + 1, 1024, 1025, 2049, 4099, 8192, 8193,
		nranks <= 3 ? 1100009 : 9973,
		nranks <= 8 ? 140009 : 24001,
	};
	u32 i;

	if (nranks > 64)
		return sweep_large(nranks);
	for (i = 0; i < ARRAY_SIZE(counts) * ARRAY_SIZE(collectives); i++) {
		/* Large groups take long: each size runs another part of the worlds. */
		if (nranks > 8 && i >= ARRAY_SIZE(counts) && (i + nranks) % (nranks > 33 ? 24 : 6))
			continue;
		if (!sweep_world(nranks, i, collectives[i / ARRAY_SIZE(counts)],
				 (i + i / 7) % COLLECTIVE_ALGORITHM_COUNT,
				 counts[i % ARRAY_SIZE(counts)]))
			return false;
	}
	return true;
}
