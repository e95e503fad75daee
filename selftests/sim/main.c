// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command line of the simulator, where OPTIONS are --fault KIND and --scale SCALE:
 *
 *	sim				all checks of "make check"
 *	sim --seeds A..B [OPTIONS]	the random worlds of these seeds
 *	sim --seed N [OPTIONS]		one random world, with a description
 *	sim --sweeps N			every operation, in groups of up to N ranks
 *	sim --sweep N			every operation, in groups of N ranks
 *	sim --mutant N			one mutation, with a description
 *	sim --deaths N			a rank dies, before every event, in groups of 2 to N ranks;
 *					if N > DEATHS_RANKS, before random events among N ranks
 */
#include <time.h>

#include "jobs.h"
#include "sim.h"
#include "../unit/tap.h"

#define CHECK_RANKS	12	/* largest group of the sweeps of check() */
#define CHECK_SEEDS	240	/* worlds without faults */
#define CHECK_FAULTS	48	/* worlds with each kind of fault */
#define CHECK_LARGE	8	/* worlds of each larger scale */
#define MUTANT_SEEDS	4000	/* worlds that are tried with one mutation */

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

/* Consecutive small worlds in one job, because one takes too little time. */
#define JOB_SEEDS	16

static u32 job_seeds(u8 scale)
{
	return scale == SCALE_SMALL ? JOB_SEEDS : 1;
}

struct seeds {
	u64 first;
	u64 last;
	u8 fault;
	u8 scale;
};

static bool seeds_job(const void *ctx, unsigned int index)
{
	const struct seeds *seeds = ctx;
	u64 seed = seeds->first + (u64)index * job_seeds(seeds->scale);
	u64 last = min(seeds->last, seed + job_seeds(seeds->scale) - 1);
	bool passed = true;

	for (; seed <= last; seed++)
		passed &= program_seed(seed, seeds->fault, seeds->scale, MUTATION_NONE,
				       false);
	return passed;
}

/* Return: true if operations with keys may be in progress at once in the world of a seed. */
static bool seed_keyed(u64 seed, u8 fault, u8 scale)
{
	struct config config = { .fault = fault, .scale = scale };
	struct sim_op ops[OPS_MAX];

	program_random(&config, ops, seed);
	return program_concurrent(&config, ops);
}

static bool seeds(u64 first, u64 last, u8 fault, u8 scale)
{
	struct seeds all = { .first = first, .last = last, .fault = fault, .scale = scale };
	unsigned int i, count = (last - first) / job_seeds(scale) + 1;
	bool *passed = calloc(count, sizeof(*passed));
	double begin = seconds();
	bool well = true;
	u64 seed, keyed = 0;

	for (seed = first; seed <= last; seed++)
		keyed += seed_keyed(seed, fault, scale);
	jobs_run(count, seeds_job, &all, passed);
	for (i = 0; i < count; i++)
		well &= passed[i];
	free(passed);
	tap_note("%llu of them with concurrent keys, %.1f s", (unsigned long long)keyed,
		 seconds() - begin);
	return tap_ok(well, "random worlds %llu..%llu, fault %s, scale %s",
		      (unsigned long long)first, (unsigned long long)last, fault_names[fault],
		      scale_names[scale]);
}

/* By mutation: fault and scale of the worlds in which it shows; no faults and small if not set. */
static const struct trial {
	u8 fault;
	u8 scale;
} trials[MUTATION_COUNT] = {
	[MUTATION_LEASE]	= { .fault = FAULT_SILENCE },
	[MUTATION_OPEN_FRAMES]	= { .scale = SCALE_WIDE },
	[MUTATION_WITHDRAW]	= { .fault = FAULT_INSTANCE },
	[MUTATION_FAILED_OPS]	= { .fault = FAULT_INSTANCE, .scale = SCALE_DEEP },
	[MUTATION_UNEXPECTED]		= { .fault = FAULT_INSTANCE, .scale = SCALE_DEEP },
	[MUTATION_DISTANCE]	= { .fault = FAULT_INSTANCE, .scale = SCALE_DEEP },
	[MUTATION_LATE]		= { .fault = FAULT_INSTANCE, .scale = SCALE_DEEP },
	[MUTATION_STEPS]	= { .scale = SCALE_WIDE },
	[MUTATION_UNGRANTED]	= { .fault = FAULT_UNGRANTED },
	[MUTATION_DROPPED]	= { .scale = SCALE_DEEP },
	[MUTATION_BALANCE]	= { .fault = FAULT_COUNTS },
	[MUTATION_REVOKED]	= { .fault = FAULT_GROUP },
	[MUTATION_SIGNAL]		= { .fault = FAULT_CALLS },
	[MUTATION_DIGEST]	= { .fault = FAULT_CALLS },
};

/* Try worlds until the mutation of an index is noticed.  Return: false if it never is. */
static bool mutant_job(const void *verbose, unsigned int index)
{
	u8 mutation = 1 + index;
	const struct trial *trial = &trials[mutation];
	u32 seed = 1;

	while (seed <= MUTANT_SEEDS &&
	       program_seed(seed, trial->fault, trial->scale, mutation, false))
		seed++;
	tap_note("%s: seed %u, fault %s, scale %s", mutation_names[mutation], seed,
		 fault_names[trial->fault], scale_names[trial->scale]);
	if (verbose && seed <= MUTANT_SEEDS)
		program_seed(seed, trial->fault, trial->scale, mutation, true);
	return seed <= MUTANT_SEEDS;
}

static void mutants(void)
{
	double begin = seconds();
	bool passed[MUTATION_COUNT - 1];
	u32 i;

	jobs_run(ARRAY_SIZE(passed), mutant_job, NULL, passed);
	for (i = 0; i < ARRAY_SIZE(passed); i++)
		tap_ok(passed[i], "mutation is noticed: %s", mutation_names[1 + i]);
	tap_note("%.1f s", seconds() - begin);
}

/* Sizes of groups above SMALL_SIZES that are swept. */
static const u32 large_sizes[] = { 48, 64, 128, 256, 1024 };

#define SMALL_SIZES	33U	/* up to this size, all sizes are swept */
#define SIZES_MAX	(SMALL_SIZES + ARRAY_SIZE(large_sizes))

/* The size of a job: the largest groups come first, because they take longest. */
static u32 sweep_size(unsigned int index, unsigned int count)
{
	u32 i = count - 1 - index;

	return i < SMALL_SIZES ? i + 1 : large_sizes[i - SMALL_SIZES];
}

static bool sweep_job(const void *ctx, unsigned int index)
{
	return sweep(sweep_size(index, *(const u32 *)ctx));
}

/* Sweep the sizes of groups up to @most. */
static void sweeps(u32 most)
{
	u32 count = min(most, SMALL_SIZES), i;
	double begin = seconds();
	bool passed[SIZES_MAX];

	for (i = 0; i < ARRAY_SIZE(large_sizes); i++)
		count += large_sizes[i] <= most;
	jobs_run(count, sweep_job, &count, passed);
	for (i = count; i--;)
		tap_ok(passed[i], "sweep of %u ranks", sweep_size(i, count));
	tap_note("%.1f s", seconds() - begin);
}

/* Let a process, or its host, die in groups of 2 to @most ranks, or in one large group. */
static int all_deaths(u32 most)
{
	double begin = seconds();
	u32 nranks;
	u8 fault;

	tap_plan(0);
	for (nranks = most > DEATHS_RANKS ? most : 2; nranks <= most; nranks++) {
		for (fault = FAULT_DEATH; fault <= FAULT_LOSS; fault++) {
			u64 worlds;
			bool well = deaths(nranks, fault, &worlds);

			tap_ok(well, "fault %s of %s of %u ranks at %s event: %llu worlds",
			       fault_names[fault], nranks > DEATHS_RANKS ? "any" : "each",
			       nranks, nranks > DEATHS_RANKS ? "any" : "every",
			       (unsigned long long)worlds);
		}
	}
	tap_note("%.1f s", seconds() - begin);
	return tap_exit();
}

static int check(void)
{
	static const u8 tree_faults[] = {
		FAULT_NONE, FAULT_INSTANCE, FAULT_CALLS, FAULT_GROUP, FAULT_DEATH,
	};
	u8 fault, scale, i;

	tap_plan(0);
	sweeps(CHECK_RANKS);
	seeds(1, CHECK_SEEDS, FAULT_NONE, SCALE_SMALL);
	for (fault = FAULT_INSTANCE; fault < FAULT_COUNT; fault++)
		seeds(1, CHECK_FAULTS, fault, SCALE_SMALL);
	for (scale = SCALE_DEEP; scale <= SCALE_WIDE; scale++)
		for (fault = FAULT_NONE; fault <= FAULT_INSTANCE; fault++)
			seeds(1, CHECK_LARGE, fault, scale);
	for (i = 0; i < ARRAY_SIZE(tree_faults); i++)
		seeds(1, CHECK_LARGE, tree_faults[i], SCALE_TREE);
	mutants();
	return tap_exit();
}

/* Return: the index of a name, or -1. */
static int named(const char * const *names, int count, const char *name)
{
	int i;

	for (i = 0; i < count; i++)
		if (!strcmp(name, names[i]))
			return i;
	return -1;
}

int main(int argc, char **argv)
{
	unsigned long long first = 0, last = 0, ranks = 0, most = 0, broken = 0;
	bool verbose = false;
	int i, fault = FAULT_NONE, scale = SCALE_SMALL;

	if (argc == 1)
		return check();
	if (argc == 3 && !strcmp(argv[1], "--deaths") && sscanf(argv[2], "%llu", &most) == 1 &&
	    most >= 2 && most <= DEATHS_RANKS_MAX)
		return all_deaths(most);
	for (i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--seeds") &&
		    sscanf(argv[i + 1], "%llu..%llu", &first, &last) == 2)
			continue;
		if (!strcmp(argv[i], "--seed") && sscanf(argv[i + 1], "%llu", &first) == 1) {
			last = first;
			verbose = true;
			continue;
		}
		if (!strcmp(argv[i], "--sweep") && sscanf(argv[i + 1], "%llu", &ranks) == 1 &&
		    ranks && ranks <= SIM_RANKS_MAX)
			continue;
		if (!strcmp(argv[i], "--sweeps") && sscanf(argv[i + 1], "%llu", &most) == 1 &&
		    most && most <= SIM_RANKS_MAX)
			continue;
		if (!strcmp(argv[i], "--mutant") && sscanf(argv[i + 1], "%llu", &broken) == 1 &&
		    broken && broken < MUTATION_COUNT)
			continue;
		if (!strcmp(argv[i], "--fault"))
			fault = named(fault_names, FAULT_COUNT, argv[i + 1]);
		else if (!strcmp(argv[i], "--scale"))
			scale = named(scale_names, SCALE_COUNT, argv[i + 1]);
		else
			break;
		if (fault < 0 || scale < 0)
			break;
	}
	if (i != argc || first > last || (!last && !ranks && !most && !broken)) {
		fprintf(stderr, "usage: sim --seeds A..B [--fault KIND] [--scale SCALE]\n"
				"       sim --seed N [--fault KIND] [--scale SCALE]\n"
				"       sim --sweeps RANKS\n"
				"       sim --sweep RANKS\n"
				"       sim --mutant NUMBER\n"
				"       sim --deaths RANKS\n"
				"KIND: instance, counts, calls, group, silence, death, loss or ungranted\n"
				"SCALE: small, deep, wide, both or tree\n");
		return 2;
	}

	tap_plan(0);
	if (broken)
		tap_ok(mutant_job(argv, broken - 1), "mutation is noticed");
	else if (most)
		sweeps(most);
	else if (ranks)
		tap_ok(sweep(ranks), "sweep of %llu ranks", ranks);
	else if (verbose)
		tap_ok(program_seed(first, fault, scale, MUTATION_NONE, true), "seed %llu", first);
	else
		seeds(first, last, fault, scale);
	return tap_exit();
}
