// SPDX-License-Identifier: GPL-2.0-only
/*
 * A small program for every schedule, in which one rank dies.
 *
 * With up to DEATHS_RANKS ranks, each rank dies before each event that the same world has
 * without a death.  With more ranks, random ranks die before some random events.
 *
 * The other ranks must come to an end.  Every request completes once, no memory is written
 * after that, no result is wrong, and the reason of each failure is the dead rank.
 */
#include "jobs.h"
#include "sim.h"

#define DEATHS_LANES	2
#define DEATHS_OPS	2
#define DEATHS_ANY	6	/* deaths in one story of many ranks */

#define MANY_BYTES	(COLLECTIVE_EAGER_LIMIT + 808)	/* too many to be eager */
#define FEW_ELEMENTS	5	/* eager */
#define SOME_ELEMENTS	50	/* for groups of many ranks, in which events are many anyway */
/* Of schedules with a scratch window, which are never eager: some frames. */
#define WINDOWED_BYTES	9000
#define BLOCK_ELEMENTS	100	/* of blocks that differ, which are never eager */
#define SEGMENT		2048

#define SUM(_type)	.type = COLLECTIVE_##_type, .reduction = COLLECTIVE_SUM
#define RING		.algorithm = COLLECTIVE_ALGORITHM_RING
#define TREE		.algorithm = COLLECTIVE_ALGORITHM_TREE
#define DIRECT		.algorithm = COLLECTIVE_ALGORITHM_DIRECT

static const struct sim_op kinds[] = {
	{ .collective = COLLECTIVE_BARRIER, RING },
	{ .collective = COLLECTIVE_BARRIER, TREE },
	{ .collective = COLLECTIVE_ALLREDUCE, SUM(INT32), RING },
	{ .collective = COLLECTIVE_ALLREDUCE, SUM(INT32), TREE },
	{ .collective = COLLECTIVE_ALLREDUCE, SUM(INT32), DIRECT },
	{ .collective = COLLECTIVE_ALLREDUCE, SUM(FLOAT32), .reproducible = true },
	{ .collective = COLLECTIVE_ALLREDUCE, SUM(BFLOAT16), .wide = true },
	{ .collective = COLLECTIVE_ALLREDUCE, SUM(BFLOAT16), .wide = true, .reproducible = true },
	{ .collective = COLLECTIVE_REDUCE, SUM(INT32), RING },
	{ .collective = COLLECTIVE_REDUCE, SUM(INT32), TREE },
	{ .collective = COLLECTIVE_REDUCE, SUM(INT32), DIRECT },
	{ .collective = COLLECTIVE_REDUCE, SUM(FLOAT32), .reproducible = true },
	{ .collective = COLLECTIVE_BROADCAST, SUM(INT64), RING },
	{ .collective = COLLECTIVE_BROADCAST, SUM(INT64), TREE },
	{ .collective = COLLECTIVE_BROADCAST, SUM(INT64), .varlen = true },
	{ .collective = COLLECTIVE_ALLGATHER, SUM(INT64), RING },
	{ .collective = COLLECTIVE_ALLGATHER, SUM(INT64), TREE },
	{ .collective = COLLECTIVE_ALLGATHER, SUM(INT64), .vector = true },
	{ .collective = COLLECTIVE_REDUCE_SCATTER, SUM(INT32), RING },
	{ .collective = COLLECTIVE_REDUCE_SCATTER, SUM(INT32), DIRECT },
	{ .collective = COLLECTIVE_REDUCE_SCATTER, SUM(FLOAT32), .reproducible = true },
	{ .collective = COLLECTIVE_GATHER, SUM(INT64), DIRECT },
	{ .collective = COLLECTIVE_GATHER, SUM(INT64), .vector = true },
	{ .collective = COLLECTIVE_SCATTER, SUM(INT64), DIRECT },
	{ .collective = COLLECTIVE_SCATTER, SUM(INT64), .vector = true },
	{ .collective = COLLECTIVE_SCATTER, SUM(INT64), .vector = true, .varlen = true },
	{ .collective = COLLECTIVE_ALLTOALL, SUM(INT64), DIRECT },
	{ .collective = COLLECTIVE_ALLTOALL, SUM(INT64), .vector = true },
	{ .collective = COLLECTIVE_SCAN, SUM(INT32), RING },
	{ .collective = COLLECTIVE_SCAN, SUM(INT32), TREE },
	{ .collective = COLLECTIVE_EXSCAN, SUM(INT32), RING },
	{ .collective = COLLECTIVE_EXSCAN, SUM(INT32), TREE },
	{ .collective = COLLECTIVE_SEND, SUM(INT64) },
	{ .collective = COLLECTIVE_SEND, SUM(INT64), .varlen = true },
};

#define WORLDS		ARRAY_SIZE(kinds)

/**
 * struct story - a program that is repeated for every death
 * @config: parameters of its world
 * @ops: its operations
 * @events: number of events of this world without a death; 0: the program is skipped
 */
struct story {
	struct config config;
	struct sim_op ops[DEATHS_OPS];
	u64 events;
};

/*
 * Return: a count of elements that needs grants.  It is as small as possible, because each
 * event is one more world to be simulated.
 */
static u64 many_elements(struct sim_op *op, u32 nranks)
{
	const struct coll_schedule *schedule;
	u64 bytes = MANY_BYTES;

	if (nranks > DEATHS_RANKS)
		return SOME_ELEMENTS;
	op->count = bytes / coll_type_size(op->type);
	schedule = program_schedule(op, nranks);
	if (!schedule)
		return FEW_ELEMENTS;
	if (schedule->windowed)
		bytes = WINDOWED_BYTES;
	return bytes / coll_type_size(op->type);
}

static void story_op(struct story *story, u32 number)
{
	struct sim_op *op = &story->ops[number];
	u32 nranks = story->config.nranks;

	op->seed = story->config.seed + number;
	op->root = number % nranks;
	op->to = (op->root + 1) % nranks;
	op->instance = story->config.origin.instance + number;
	if (op->collective == COLLECTIVE_SEND)
		op->instance = coll_instance_p2p(op->root, op->to,
						 story->config.origin.key + number, false);
	if (op->collective == COLLECTIVE_BARRIER)
		return;
	op->count = FEW_ELEMENTS;
	if (!number || !program_schedule(op, nranks))
		op->count = op->vector ? BLOCK_ELEMENTS : many_elements(op, nranks);
	if (nranks > DEATHS_RANKS)
		program_fit(op, nranks);
}

static u64 events_seen;

static void count_events(struct sim *sim)
{
	events_seen = sim->acts;
}

/* Set up a story and count its events.  Return: false if it fails even without a death. */
static bool story_begin(struct story *story, u32 nranks, u8 fault, u32 index)
{
	u32 i;

	story->config = (struct config){
		.seed = 1 + index + nranks * WORLDS,
		.nranks = nranks,
		.lanes = 1 + (index + nranks) % DEATHS_LANES,
		.nslots = 4,
		.window = 4,
		.nops = DEATHS_OPS,
		.segment = SEGMENT,
		.faults = 1,
		.fault = fault,
		.reads = fault == FAULT_DEATH,
		.board = fault == FAULT_DEATH && index % 2,
		.fault_event = U64_MAX,
	};
	story->events = 0;
	scale_numbers(&story->config);
	for (i = 0; i < DEATHS_OPS; i++) {
		story->ops[i] = kinds[index];
		story_op(story, i);
	}
	for (i = 0; i < DEATHS_OPS; i++)
		if (!scale_allows(&story->ops[i], nranks))
			return true;
	if (!program_run(&story->config, story->ops, count_events))
		return false;
	story->events = events_seen;
	return true;
}

static void must_have_died(struct sim *sim)
{
	if (sim->dead == COLL_NO_RANK)
		sim_fail(sim, "no rank has died");
}

/* Let one rank die before each event. */
static bool story_job(const void *ctx, unsigned int index)
{
	const struct story *stories = ctx;
	u32 nranks = stories->config.nranks;
	const struct story *story = &stories[index / nranks];
	struct config config = story->config;

	config.victim = index % nranks;
	for (config.fault_event = 1; config.fault_event <= story->events; config.fault_event++)
		if (!program_run(&config, story->ops, must_have_died))
			return false;
	return true;
}

/* Let random ranks die before random events, chosen by the seed of the story. */
static bool story_any(const void *ctx, unsigned int index)
{
	const struct story *story = (const struct story *)ctx + index;
	struct config config = story->config;
	struct rng rng = { .state = rng_mix(config.seed) };
	u32 i;

	for (i = 0; i < DEATHS_ANY && story->events; i++) {
		config.victim = rng_below(&rng, config.nranks);
		config.fault_event = rng_between(&rng, 1, story->events);
		if (!program_run(&config, story->ops, must_have_died))
			return false;
	}
	return true;
}

/**
 * deaths() - simulate small programs in which one rank dies
 * @nranks: size of the group; up to DEATHS_RANKS, each rank dies before each event
 * @fault: FAULT_DEATH or FAULT_LOSS
 * @worlds: set to the number of deaths that are simulated
 *
 * Return: true if all worlds pass.
 */
bool deaths(u32 nranks, u8 fault, u64 *worlds)
{
	static struct story stories[WORLDS];
	bool passed[WORLDS * DEATHS_RANKS], well = true, any = nranks > DEATHS_RANKS;
	u32 jobs = any ? WORLDS : WORLDS * nranks, i;

	*worlds = 0;
	for (i = 0; i < WORLDS && well; i++) {
		well = story_begin(&stories[i], nranks, fault, i);
		*worlds += any ? (stories[i].events ? DEATHS_ANY : 0) : nranks * stories[i].events;
	}
	if (!well)
		return false;
	jobs_run(jobs, any ? story_any : story_job, stories, passed);
	for (i = 0; i < jobs; i++)
		well &= passed[i];
	return well;
}
