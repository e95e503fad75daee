// SPDX-License-Identifier: GPL-2.0-only
/* Random worlds: chooses the size of the group, the operations and the faults from a seed. */
#include "sim.h"

const char * const fault_names[FAULT_COUNT] = {
	[FAULT_NONE]		= "none",
	[FAULT_INSTANCE]	= "instance",
	[FAULT_COUNTS]		= "counts",
	[FAULT_CALLS]		= "calls",
	[FAULT_GROUP]		= "group",
	[FAULT_SILENCE]		= "silence",
	[FAULT_DEATH]		= "death",
	[FAULT_LOSS]		= "loss",
	[FAULT_UNGRANTED]		= "ungranted",
};

static bool is_prime(u64 n)
{
	u64 d;

	for (d = 2; d * d <= n; d++)
		if (n % d == 0)
			return false;
	return n > 1;
}

#define RANKS_MAX	64	/* most ranks of a small world */
#define READS_SEED	0x5eed	/* with the seed of a world: whether ranks read memory */
#define BOARD_SEED	0xb0a2d	/* likewise: whether they have a board */

/* Return: a count of elements, often near a limit, and of about @bytes bytes at most. */
static u64 random_count(struct rng *rng, u32 nranks, size_t size, u64 bytes)
{
	u64 limit = COLLECTIVE_EAGER_LIMIT / size;
	u64 count;

	switch (rng_below(rng, 8)) {
	case 0:
		return rng_below(rng, 2);
	case 1:
		return rng_below(rng, 2 * nranks + 1);
	case 2:
		return limit - 1 + rng_below(rng, 3);
	case 3:
		count = rng_between(rng, 2, nranks > 8 ? limit / 4 : limit);
		break;
	case 4:
		count = rng_between(rng, 1, 64 * nranks);
		break;
	case 5:
		count = rng_between(rng, 1, bytes / size + 1);
		break;
	default:
		count = rng_between(rng, 1, min_t(u64, bytes, 96 * 1024) / size + 1);
	}
	if (rng_once_in(rng, 2))
		while (!is_prime(count))
			count++;
	return count;
}

/**
 * program_schedule() - find the schedule of an operation
 * @op: the operation
 * @nranks: size of the group
 *
 * Return: the schedule, or NULL if there is none.
 */
const struct coll_schedule *program_schedule(const struct sim_op *op, u32 nranks)
{
	struct coll_plan plan = {
		.collective = op->collective,
		.type = op->type,
		.reduction = op->reduction,
		.algorithm = op->algorithm,
		.reproducible = op->reproducible,
		.wide = op->wide,
		.varlen = op->varlen && op->collective != COLLECTIVE_SEND,
		.size = coll_type_size(op->type),
		.nranks = nranks,
		.count = op->count,
	};

	return coll_schedule_find(&plan);
}

/**
 * program_fit() - change an operation so that a schedule of it exists
 * @op: the operation
 * @nranks: size of the group
 */
void program_fit(struct sim_op *op, u32 nranks)
{
	if (!program_schedule(op, nranks))
		op->algorithm = COLLECTIVE_ALGORITHM_AUTO;
	if (!program_schedule(op, nranks)) {
		op->wide = false;
		op->reproducible = false;
	}
}

/**
 * program_op() - choose a random operation
 * @rng: source of random numbers
 * @op: set to the operation
 * @nranks: size of the group
 * @bytes: about the most bytes of the vector, or of all blocks of a rank
 */
void program_op(struct rng *rng, struct sim_op *op, u32 nranks, u64 bytes)
{
	static const u8 collectives[] = {
		COLLECTIVE_ALLREDUCE, COLLECTIVE_ALLREDUCE, COLLECTIVE_BROADCAST,
		COLLECTIVE_ALLGATHER, COLLECTIVE_SCAN, COLLECTIVE_REDUCE, COLLECTIVE_GATHER,
		COLLECTIVE_SCATTER, COLLECTIVE_ALLTOALL, COLLECTIVE_REDUCE_SCATTER,
		COLLECTIVE_EXSCAN, COLLECTIVE_REDUCE, COLLECTIVE_REDUCE_SCATTER,
	};

	*op = (struct sim_op){ .seed = rng_next(rng) };

	if (rng_once_in(rng, 6)) {
		op->collective = COLLECTIVE_BARRIER;
		op->algorithm = rng_below(rng, COLLECTIVE_ALGORITHM_TREE + 1);
		return;
	}
	op->collective = collectives[rng_below(rng, ARRAY_SIZE(collectives))];
	do {
		op->type = rng_below(rng, COLLECTIVE_TYPE_COUNT);
		op->reduction = rng_below(rng, COLLECTIVE_REDUCTION_COUNT);
	} while (!coll_reduce_valid(op->type, op->reduction) ||
		 (op->collective >= COLLECTIVE_SCAN && op->reduction == COLLECTIVE_AVG));
	op->values = rng_below(rng, VALUES_COUNT);
	op->algorithm = rng_once_in(rng, 2) ? rng_below(rng, COLLECTIVE_ALGORITHM_COUNT) : 0;
	op->reproducible = rng_once_in(rng, 3);
	op->wide = rng_once_in(rng, 3);
	op->root = rng_below(rng, nranks);
	op->to = (op->root + rng_between(rng, 1, max(nranks - 1, 1U))) % nranks;
	if (nranks > 1 && rng_once_in(rng, 4)) {
		op->collective = COLLECTIVE_SEND;
		op->algorithm = COLLECTIVE_ALGORITHM_AUTO;
		op->reproducible = false;
	}
	if (op->collective >= COLLECTIVE_ALLGATHER && op->collective <= COLLECTIVE_ALLTOALL)
		bytes /= nranks;
	op->count = random_count(rng, nranks, coll_type_size(op->type), bytes);
	op->vector = op->collective >= COLLECTIVE_ALLGATHER &&
		     op->collective <= COLLECTIVE_ALLTOALL && rng_once_in(rng, 2);
	op->varlen = (op->collective == COLLECTIVE_BROADCAST ||
		      op->collective == COLLECTIVE_SCATTER ||
		      op->collective == COLLECTIVE_SEND) && rng_once_in(rng, 2);
	program_fit(op, nranks);
}

/* Return: number of the last operation before @number with the same instance, or OP_NONE. */
static u32 instance_before(const struct sim_op *ops, u32 number)
{
	u64 instance = ops[number].instance;

	while (number--)
		if (ops[number].instance == instance)
			return number;
	return OP_NONE;
}

/**
 * program_instances() - choose the instances of the operations of a random world
 * @rng: source of random numbers
 * @config: parameters of the world; keys is set
 * @ops: the operations; their instances are set
 *
 * In most worlds, a quarter to all of the operations have keys.  If there are few keys, each is
 * used many times; if there are many, hardly any is used twice.
 */
void program_instances(struct rng *rng, struct config *config, struct sim_op *ops)
{
	const struct origin *origin = &config->origin;
	u32 share = rng_between(rng, 1, 4);
	u64 counted = origin->instance;
	u32 i;

	config->keys = rng_below(rng, 32);
	if (config->keys > 1)
		config->keys = rng_between(rng, 2, config->nops + 1);
	for (i = 0; i < config->nops; i++) {
		bool keyed = config->keys && rng_below(rng, 4) < share;
		u64 number = origin->key + (keyed ? rng_below(rng, config->keys) : i);

		if (ops[i].collective == COLLECTIVE_SEND)
			ops[i].instance = coll_instance_p2p(ops[i].root, ops[i].to, number, keyed);
		else
			ops[i].instance = keyed ? coll_instance_keyed(number) : counted++;
	}
}

/* In some operations, let one of the two ranks of a block have a wrong count of it, or 0. */
static void random_wrong_count(struct rng *rng, struct sim_op *op, u32 nranks)
{
	u64 count, wrong;

	if (!op->vector || op->varlen || !rng_once_in(rng, 2) ||
	    op->collective == COLLECTIVE_ALLGATHER || op->collective == COLLECTIVE_REDUCE_SCATTER)
		return;
	op->mismatched = true;
	op->wrong_sender = rng_once_in(rng, 2);
	op->wrong_from = op->collective == COLLECTIVE_SCATTER ? op->root : rng_below(rng, nranks);
	op->wrong_to = (op->wrong_from + rng_between(rng, 1, nranks - 1)) % nranks;
	if (op->collective == COLLECTIVE_GATHER) {
		op->wrong_from = op->wrong_from == op->root ? op->wrong_to : op->wrong_from;
		op->wrong_to = op->root;
	}
	count = reference_block_count(op, op->wrong_from, op->wrong_to);
	do {
		wrong = rng_once_in(rng, 3) ? 0 : rng_once_in(rng, 2) ? count + 1 :
			rng_below(rng, 2 * op->count + 2);
	} while (wrong == count);
	op->wrong_count = wrong;
}

/**
 * program_fuse() - make a reduction just too large to be eager, where ranks read memory
 * @config: parameters of the world
 * @op: an operation
 * @more: about the most bytes beyond that
 *
 * Return: true if the operation is fused now.
 */
bool program_fuse(const struct config *config, struct sim_op *op, u32 more)
{
	size_t size = coll_type_size(op->type);

	if (!config->reads || op->vector ||
	    (op->collective != COLLECTIVE_ALLREDUCE && op->collective != COLLECTIVE_REDUCE &&
	     op->collective != COLLECTIVE_REDUCE_SCATTER))
		return false;
	op->algorithm = COLLECTIVE_ALGORITHM_AUTO;
	op->count = COLLECTIVE_EAGER_LIMIT / size + 1 + op->seed / 3 % (more / size);
	return true;
}

/**
 * program_odd() - let a rank call every second fused operation with another count
 *
 * The other count is fused, too: calls whose signals do not tell them are announced, and the
 * simulator announces counts only.
 *
 * @rng: source of random numbers
 * @config: parameters of the world
 * @op: an operation that is fused
 */
void program_odd(struct rng *rng, const struct config *config, struct sim_op *op)
{
	u64 least = COLLECTIVE_EAGER_LIMIT / coll_type_size(op->type) + 1;

	if (config->fault != FAULT_CALLS || rng_once_in(rng, 2))
		return;
	op->odd_rank = rng_below(rng, config->nranks);
	do {
		op->odd_count = rng_once_in(rng, 2) ? op->count + 1 :
				rng_between(rng, least, 2 * op->count);
	} while (op->odd_count == op->count);
}

/* Does an operation have its place on the board? */
static bool on_board(const struct config *config, const struct sim_op *op)
{
	struct sim world = { .config = *config };

	return reference_board(&world, op);
}

/* Let a rank call every second operation of the board with another count, also one of the board. */
static void odd_on_board(struct rng *rng, const struct config *config, struct sim_op *op)
{
	struct sim_op odd = *op;

	if (config->fault != FAULT_CALLS || op->odd_count || !op->count ||
	    !on_board(config, op) || rng_once_in(rng, 2))
		return;
	odd.count = rng_once_in(rng, 2) ? op->count + 1 : rng_between(rng, 1, 2 * op->count);
	if (odd.count == op->count || !on_board(config, &odd))
		return;
	op->odd_rank = rng_below(rng, config->nranks);
	op->odd_count = odd.count;
}

/**
 * program_random() - choose the world of a seed
 * @config: set to the parameters; fault, scale, mutation and verbose are inputs
 * @ops: set to the operations; room for OPS_MAX of them
 * @seed: the seed
 */
void program_random(struct config *config, struct sim_op *ops, u64 seed)
{
	struct rng rng = { .state = rng_mix(seed + 1) };
	u32 few = config->fault == FAULT_SILENCE || config->fault == FAULT_LOSS ? 8 : 12;
	u64 bytes, budget;
	u32 i;

	config->seed = seed;
	/* Memory can be read on one host only, whose ranks no network cuts off. */
	config->reads = config->fault != FAULT_SILENCE && config->fault != FAULT_LOSS &&
			(config->fault == FAULT_CALLS || config->scale == SCALE_TREE ||
			 rng_mix(seed ^ READS_SEED) % 2);
	config->board = config->reads && rng_mix(seed ^ BOARD_SEED) % 2;
	scale_numbers(config);
	if (config->scale != SCALE_SMALL) {
		scale_random(config, ops, seed);
		return;
	}
	config->nranks = rng_once_in(&rng, 40) && !config->fault ?
			 rng_between(&rng, 1, RANKS_MAX) : rng_between(&rng, 1, few);
	if (config->nranks == 1 && (config->fault || !rng_once_in(&rng, 4)))
		config->nranks = 2;
	config->lanes = rng_between(&rng, 1, SIM_LANES_MAX);
	config->nslots = rng_once_in(&rng, 32) ? 1 : 1U << rng_between(&rng, 1, 5);
	config->window = rng_between(&rng, min(config->nslots, 2U), config->nslots);
	config->nops = rng_between(&rng, rng_once_in(&rng, 8) ? 1 : 5, OPS_FEW);
	config->faults = config->fault == FAULT_INSTANCE ? rng_between(&rng, 1, 4) :
			 config->fault == FAULT_SILENCE ? 2 : 1;

	/* Some worlds have a few large operations, of several frames. */
	budget = rng_once_in(&rng, 16) ? 8 << 20 : 1 << 19;
	bytes = min_t(u64, budget / config->nranks, 4 << 20);
	config->segment = 1U << rng_between(&rng, 3, 7);
	while (config->segment < bytes / 512)
		config->segment *= 2;
	for (i = 0; i < config->nops; i++) {
		program_op(&rng, &ops[i], config->nranks, bytes);
		/* A third of the reductions. */
		if (config->nranks <= 12 && ops[i].seed % 3 == 0 &&
		    program_fuse(config, &ops[i], 32768))
			program_odd(&rng, config, &ops[i]);
		if (config->fault == FAULT_COUNTS)
			random_wrong_count(&rng, &ops[i], config->nranks);
		budget -= min_t(u64, budget, ops[i].count * config->nranks *
				coll_type_size(ops[i].type));
		bytes = min(bytes, budget / config->nranks + 64);
	}
	program_instances(&rng, config, ops);
	for (i = 0; i < config->nops; i++)
		odd_on_board(&rng, config, &ops[i]);
}

/**
 * program_concurrent() - find out whether operations with keys may be in progress at once
 * @config: parameters of the world
 * @ops: its operations
 *
 * Return: true if at least two different keys are in use, and the window allows two operations.
 */
bool program_concurrent(const struct config *config, const struct sim_op *ops)
{
	const struct sim_op *first = NULL;
	u32 i;

	for (i = 0; i < config->nops; i++) {
		if (!(ops[i].instance & COLL_INSTANCE_KEYED))
			continue;
		if (!first)
			first = &ops[i];
		if (ops[i].instance != first->instance)
			return config->window > 1 && config->nranks > 1;
	}
	return false;
}

/* Describe a world and its result in one line. */
static void program_print(const struct sim *sim, bool passed)
{
	const struct config *c = &sim->config;

	printf("# seed %llu fault %s scale %s: %u ranks, %u lanes, %u slots, window %u, %u keys, ",
	       (unsigned long long)c->seed, fault_names[c->fault], scale_names[c->scale],
	       c->nranks, c->lanes, c->nslots, c->window, c->keys);
	printf("%u faults, local %u, slow rank %d, narrow rank %d, ", c->faults, c->local,
	       (int)c->slow_rank - 1, (int)c->narrow_rank - 1);
	printf("instances from %llx, keys from %llx, positions from %llx, ",
	       (unsigned long long)c->origin.instance, (unsigned long long)c->origin.key,
	       (unsigned long long)c->origin.position);
	if (c->fault_event)
		printf("rank %u dies before event %llu, ", c->victim,
		       (unsigned long long)c->fault_event);
	printf("%u operations; %llu steps, %u successes, %u errors, %u control frames queued: %s\n",
	       c->nops, (unsigned long long)sim->steps, sim->successes, sim->errors,
	       sim->queue_max, passed ? "passed" : sim->why);
}

/**
 * program_run() - simulate one world
 * @config: its parameters
 * @ops: its operations
 * @inspect: checks the world at its end, if all other checks pass; or NULL
 *
 * Return: true if all checks pass.
 */
bool program_run(const struct config *config, const struct sim_op *ops, inspect_fn inspect)
{
	struct sim *sim = calloc(1, sizeof(*sim));
	bool passed;
	u32 i;

	sim->config = *config;
	sim->ops = calloc(config->nops + 1, sizeof(*ops));
	memcpy(sim->ops, ops, config->nops * sizeof(*ops));
	for (i = 0; i < config->nops; i++) {
		reference_init(&sim->ops[i], config->nranks);
		sim->ops[i].before = instance_before(sim->ops, i);
	}

	passed = sim_run(sim);
	if (passed && inspect)
		inspect(sim);
	passed = !sim->broken;

	if (config->verbose || (!passed && !config->mutation))
		program_print(sim, passed);

	for (i = 0; i < config->nranks; i++)
		member_free(&sim->members[i]);
	while (!list_empty(&sim->ended_early)) {
		struct coll_task *task =
			list_first_entry(&sim->ended_early, struct coll_task, node);

		list_del(&task->node);
		free(task);
	}
	for (i = 0; i < config->nops; i++)
		reference_free(&sim->ops[i], config->nranks);
	board_free(sim);
	free(sim->members);
	free(sim->ready);
	free(sim->ops);
	free(sim);
	return passed;
}

/**
 * program_seed() - simulate the world of a seed
 * @seed: the seed
 * @fault: enum fault_kind
 * @scale: enum scale
 * @mutation: enum mutation
 * @verbose: true: describe the world on standard output
 *
 * Return: true if all checks pass.
 */
bool program_seed(u64 seed, u8 fault, u8 scale, u8 mutation, bool verbose)
{
	struct config config = {
		.fault = fault, .scale = scale, .mutation = mutation, .verbose = verbose,
	};
	struct sim_op ops[OPS_MAX];

	program_random(&config, ops, seed);
	return program_run(&config, ops, NULL);
}
