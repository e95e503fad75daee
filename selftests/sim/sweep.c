// SPDX-License-Identifier: GPL-2.0-only
/* Every size of group with awkward counts, one operation at a time. */
#include "sim.h"

static const u8 collectives[] = {
	COLLECTIVE_ALLREDUCE, COLLECTIVE_BROADCAST, COLLECTIVE_ALLGATHER,
	COLLECTIVE_SCAN, COLLECTIVE_ALLREDUCE, COLLECTIVE_REDUCE, COLLECTIVE_GATHER,
	COLLECTIVE_SCATTER, COLLECTIVE_ALLTOALL, COLLECTIVE_REDUCE_SCATTER,
	COLLECTIVE_EXSCAN, COLLECTIVE_ALLREDUCE, COLLECTIVE_REDUCE,
	COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_REDUCE, COLLECTIVE_REDUCE_SCATTER,
	COLLECTIVE_SCAN, COLLECTIVE_ALLREDUCE,
};

static bool blocks_of_each(u8 collective)
{
	return collective >= COLLECTIVE_ALLGATHER && collective <= COLLECTIVE_ALLTOALL;
}

/* Blocks that differ, where what they cost does not depend on all of them together. */
static bool may_differ(const struct sim_op *op, u32 nranks)
{
	if (!blocks_of_each(op->collective) || reference_tree(op, nranks))
		return false;
	return op->collective != COLLECTIVE_REDUCE_SCATTER ||
	       (!reference_ordered(op) && !reference_around(op));
}

static bool may_tell(const struct sim_op *op)
{
	return (op->collective == COLLECTIVE_BROADCAST ||
		op->collective == COLLECTIVE_SCATTER) &&
	       (op->algorithm == COLLECTIVE_ALGORITHM_AUTO ||
		op->algorithm == COLLECTIVE_ALGORITHM_DIRECT);
}

/* One world, of which @i decides all that is not given. */
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
		.near = i % 2,
		.segment = (nranks > 64 ? 128 : 8) << i % 8,
	};

	scale_numbers(&config);
	config.packet = 0;
	op.name = config.origin.name;
	if (op.collective >= COLLECTIVE_SCAN && op.reduction == COLLECTIVE_AVG)
		op.reduction = COLLECTIVE_SUM;
	if (!program_schedule(&op, nranks))
		op.algorithm = COLLECTIVE_ALGORITHM_AUTO;
	if (!program_schedule(&op, nranks))
		op.wide = false;
	/* A block of each rank: as much in all. */
	if (blocks_of_each(op.collective) && op.count > 9000)
		op.count /= nranks;
	/* Small ones are many frames; so many in all are enough. */
	while (config.segment < op.count * (blocks_of_each(op.collective) ? nranks : 1) / 256)
		config.segment *= 2;
	op.varlen = may_tell(&op) && (i + i / 5) % 3 == 1;
	op.vector = (i + i / 7) % 3 == 1;
	op.vector = op.vector && may_differ(&op, nranks);
	op.vector |= op.varlen && op.collective == COLLECTIVE_SCATTER;
	return program_run(&config, &op, cost_inspect);
}

/* All of them with both kinds of algorithm, but for those with a link for each pair. */
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
 * sweep() - awkward counts of one size of group
 * @nranks: the size
 *
 * Return: true when all went well.
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
		/* Large groups take long: some of the counts, others in the next one. */
		if (nranks > 8 && i >= ARRAY_SIZE(counts) && (i + nranks) % (nranks > 33 ? 24 : 6))
			continue;
		if (!sweep_world(nranks, i, collectives[i / ARRAY_SIZE(counts)],
				 (i + i / 7) % COLLECTIVE_ALGORITHM_COUNT,
				 counts[i % ARRAY_SIZE(counts)]))
			return false;
	}
	return true;
}
