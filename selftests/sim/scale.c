// SPDX-License-Identifier: GPL-2.0-only
/*
 * Large worlds: more ranks, slots, operations or faults than a table or a field of the core might
 * hold.  Also counters that start near the limits of fields, so that they pass them.
 */
#include "sim.h"

const char * const scale_names[SCALE_COUNT] = {
	[SCALE_SMALL]	= "small",
	[SCALE_DEEP]	= "deep",
	[SCALE_WIDE]	= "wide",
	[SCALE_BOTH]	= "both",
	[SCALE_TREE]	= "tree",
};

#define WIDE_RANKS_MIN	65
#define WIDE_RANKS_MAX	300	/* more than 8 bits hold */
#define TIMED_RANKS_MAX	48	/* if sim_timed(), as each rank pings each other */
#define PAIRS_RANKS_MAX	80	/* in larger groups, no operation may link every pair of ranks */
#define DEEP_RANKS_MAX	12
#define TREE_RANKS_MIN	17	/* see FUSED_DIGIT */
#define TREE_RANKS_MAX	20
#define TREE_OPS	8	/* each takes long */
#define DEEP_FAULTS_MAX	400
#define SLOTS_BITS	9	/* log2 of the most slots of a deep world */
#define WIDE_ROOTS	4	/* number of different roots; each has a link to every rank */

/* Return: a number at most @reach below 2^@bits, so that a counter from there passes 2^@bits. */
static u64 shortly_before(struct rng *rng, u32 bits, u64 reach)
{
	return BIT_ULL(bits) - rng_between(rng, 1, reach);
}

/**
 * scale_numbers() - choose the values at which the counters of a world start, and its local links
 * @config: parameters of the world; reads seed and fault, sets origin and local
 *
 * In half of the worlds, all counters start at 0.  The numbers depend on the seed only.
 */
void scale_numbers(struct config *config)
{
	static const u8 bits[] = { 31, 32, 63 };
	struct rng rng = { .state = rng_mix(config->seed ^ 0x6f726967696eULL) };
	struct origin *origin = &config->origin;

	/* A link on which a peer falls silent is not local. */
	if (config->fault != FAULT_SILENCE && config->fault != FAULT_LOSS)
		config->local = rng_mix(config->seed ^ 0x6c6f63616cULL) % 3;
	if (rng_once_in(&rng, 2))
		return;
	/* The number of a counted operation has 62 bits; a key and a message's number have 40. */
	origin->instance = shortly_before(&rng, bits[rng_below(&rng, 2)], OPS_FEW);
	if (rng_once_in(&rng, 3))
		origin->instance = BIT_ULL(62) - OPS_MAX - rng_below(&rng, OPS_MAX);
	origin->key = shortly_before(&rng, bits[rng_below(&rng, 2)], OPS_FEW);
	if (rng_once_in(&rng, 3))
		origin->key = COLLECTIVE_KEY_MAX + 1 - OPS_MAX - rng_below(&rng, OPS_MAX);
	origin->position = shortly_before(&rng, bits[rng_below(&rng, 3)], 1 << 16);
	origin->eager = shortly_before(&rng, bits[rng_below(&rng, 3)], 1 << 12);
	origin->time = shortly_before(&rng, bits[rng_below(&rng, 3)], SIM_LEASE);
}

/* Return: true if the operation makes a link between every pair of ranks. */
static bool op_pairs(const struct sim_op *op, u32 nranks)
{
	const struct coll_schedule *schedule = program_schedule(op, nranks);

	if (op->collective != COLLECTIVE_ALLTOALL && op->collective != COLLECTIVE_ALLREDUCE &&
	    op->collective != COLLECTIVE_REDUCE_SCATTER)
		return false;
	return !schedule || schedule->algorithm == COLLECTIVE_ALGORITHM_DIRECT;
}

/**
 * scale_allows() - find out whether an operation makes few enough links
 * @op: the operation
 * @nranks: size of the group
 *
 * Return: false if it makes a link between every pair of more than PAIRS_RANKS_MAX ranks.
 */
bool scale_allows(const struct sim_op *op, u32 nranks)
{
	return nranks <= PAIRS_RANKS_MAX || !op_pairs(op, nranks);
}

/* Choose an operation of many ranks; a barrier in place of one that makes too many links. */
static void wide_op(struct rng *rng, struct sim_op *op, u32 nranks, u32 root, u64 bytes)
{
	program_op(rng, op, nranks, bytes);
	op->root = root;
	if (op->collective == COLLECTIVE_SEND)
		op->to = (op->root + 1 + rng_below(rng, nranks - 1)) % nranks;
	op->count = min_t(u64, op->count, max_t(u64, bytes / coll_type_size(op->type), 1));
	program_fit(op, nranks);
	if (!scale_allows(op, nranks))
		*op = (struct sim_op){ .collective = COLLECTIVE_BARRIER, .seed = op->seed };
}

/* Choose a scatter, in which the narrow root opens as many frames at once as there are ranks. */
static void narrow_op(struct rng *rng, struct sim_op *op, u32 root)
{
	*op = (struct sim_op){
		.collective = COLLECTIVE_SCATTER,
		.type = rng_below(rng, COLLECTIVE_TYPE_COUNT),
		.root = root,
		.count = rng_between(rng, 1, 8),
		.seed = rng_next(rng),
	};
}

/* Choose an operation of a world of SCALE_TREE: mostly a fused one. */
static void tree_op(struct rng *rng, const struct config *config, struct sim_op *op, u64 bytes)
{
	static const u8 collectives[] = {
		COLLECTIVE_ALLREDUCE, COLLECTIVE_REDUCE, COLLECTIVE_REDUCE_SCATTER,
	};

	program_op(rng, op, config->nranks, bytes);
	if (rng_once_in(rng, 4) || op->collective == COLLECTIVE_BARRIER)
		return;
	op->collective = collectives[rng_below(rng, ARRAY_SIZE(collectives))];
	op->vector = false;
	op->varlen = false;
	if (program_fuse(config, op, 2048))
		program_odd(rng, config, op);
}

static u32 scale_ranks(struct rng *rng, const struct config *config)
{
	if (config->scale == SCALE_TREE)
		return rng_between(rng, TREE_RANKS_MIN, TREE_RANKS_MAX);
	if (config->scale == SCALE_DEEP)
		return rng_between(rng, 2, DEEP_RANKS_MAX);
	if (config->fault == FAULT_SILENCE || config->fault == FAULT_LOSS)
		return rng_between(rng, TIMED_RANKS_MAX / 2, TIMED_RANKS_MAX);
	return rng_once_in(rng, 4) ? WIDE_RANKS_MAX :
	       rng_between(rng, WIDE_RANKS_MIN, WIDE_RANKS_MAX);
}

static bool scale_deep(const struct config *config)
{
	return config->scale == SCALE_DEEP || config->scale == SCALE_BOTH;
}

static u32 scale_nops(struct rng *rng, const struct config *config)
{
	if (config->scale == SCALE_TREE)
		return rng_between(rng, 1, TREE_OPS);
	return scale_deep(config) ? rng_between(rng, 100, OPS_MAX) :
				    rng_between(rng, 3, OPS_FEW / 2);
}

static void scale_faults(struct rng *rng, struct config *config)
{
	bool deep = scale_deep(config);

	config->faults = config->fault == FAULT_SILENCE ? 2 : 1;
	if (config->fault != FAULT_INSTANCE)
		return;
	config->faults = rng_between(rng, 1, deep ? DEEP_FAULTS_MAX : 2 * config->nops);
	if (rng_below(rng, 4))
		config->slow_rank = 1 + rng_below(rng, config->nranks);
}

/**
 * scale_random() - choose the world of a seed at a larger scale
 * @config: as in program_random(); origin is set already
 * @ops: set to the operations; room for OPS_MAX of them
 * @seed: the seed
 */
void scale_random(struct config *config, struct sim_op *ops, u64 seed)
{
	struct rng rng = { .state = rng_mix(seed + 1) + config->scale };
	bool deep = scale_deep(config), wide = config->scale != SCALE_DEEP;
	u64 bytes = 1ULL << rng_between(&rng, 3, wide ? 8 : 11);
	u32 i;

	config->nranks = scale_ranks(&rng, config);
	config->lanes = rng_between(&rng, 1, wide ? 2 : SIM_LANES_MAX);
	config->nslots = 1U << (deep ? rng_between(&rng, 2, SLOTS_BITS) :
				rng_between(&rng, 0, 4));
	config->window = rng_between(&rng, min(config->nslots, 2U), config->nslots);
	config->nops = scale_nops(&rng, config);
	config->segment = 1U << rng_between(&rng, 3, 7);
	scale_faults(&rng, config);
	if (config->scale == SCALE_WIDE && config->fault < FAULT_SILENCE &&
	    rng_once_in(&rng, 3))
		config->narrow_rank = 1 + rng_below(&rng, WIDE_ROOTS);
	for (i = 0; i < config->nops; i++) {
		/* Some operations are too large to be eager, and need grants. */
		u64 most = !wide && rng_once_in(&rng, 40) ? COLLECTIVE_EAGER_LIMIT * 3 : bytes;
		u32 root = rng_below(&rng, min_t(u32, config->nranks, WIDE_ROOTS));

		if (config->scale == SCALE_TREE)
			tree_op(&rng, config, &ops[i], bytes);
		else if (config->narrow_rank && rng_once_in(&rng, 3))
			narrow_op(&rng, &ops[i], config->narrow_rank - 1);
		else
			wide_op(&rng, &ops[i], config->nranks, root, most);
	}
	program_instances(&rng, config, ops);
}
