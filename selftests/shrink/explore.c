// SPDX-License-Identifier: GPL-2.0-only
/*
 * Explores all schedules of small groups within bounds, and random schedules of larger groups:
 * two ranks never get different groups, even if one has ended. Each mutation must be found.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tap.h"
#include "world.h"

#define VISITED_BITS	24
#define DEPTH_MAX	400

struct search {
	uint64_t *visited;
	uint64_t nvisited;
	uint64_t limit;
	unsigned int depth;
	struct event path[DEPTH_MAX];
	bool found;
	bool full;
};

static bool visit(struct search *search, uint64_t hash)
{
	const uint64_t mask = (1ULL << VISITED_BITS) - 1;
	uint64_t at = hash & mask;

	for (; search->visited[at]; at = (at + 1) & mask)
		if (search->visited[at] == hash)
			return false;
	if (search->nvisited == search->limit) {
		search->full = true;
		return false;
	}
	search->visited[at] = hash;
	search->nvisited++;
	return true;
}

static void explore(struct search *search, struct world *world, uint64_t hash)
{
	struct event *events;
	struct world next;
	uint64_t next_hash;
	unsigned int i, n;

	if (!visit(search, hash) || search->depth == DEPTH_MAX)
		return;
	events = malloc(EVENTS_MAX * sizeof(*events));
	n = world_events(world, events);
	for (i = 0; i < n && !search->found && !search->full; i++) {
		next = *world;
		world_apply(&next, &events[i]);
		next_hash = world_hash(&next);
		if (next_hash == hash)
			continue;
		search->path[search->depth++] = events[i];
		if (next.wrong)
			search->found = true;
		else
			explore(search, &next, next_hash);
		if (!search->found)
			search->depth--;
	}
	free(events);
}

static void say_path(const struct search *search)
{
	unsigned int i;

	for (i = 0; i < search->depth; i++)
		world_say(&search->path[i]);
}

/* Return: true if a schedule gives two groups; *@all: true if all schedules were explored. */
static bool run_all(const struct bounds *bounds, uint64_t limit, bool *all, bool say)
{
	struct search *search = calloc(1, sizeof(*search));
	struct world world;
	bool found;

	search->visited = calloc(1ULL << VISITED_BITS, sizeof(*search->visited));
	if (!search->visited)
		abort();
	search->limit = limit;
	world_begin(&world, bounds);
	explore(search, &world, world_hash(&world));
	found = search->found;
	*all = !search->full;
	if (say)
		printf("# %llu states%s\n", (unsigned long long)search->nvisited,
		       search->full ? ", and there are more" : "");
	if (found && say)
		say_path(search);
	free(search->visited);
	free(search);
	return found;
}

static uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/*
 * Mostly deliver messages that were not delivered before, on links that are open at the time.
 */
static unsigned int choose(const struct world *world, const struct event *events,
			   unsigned int n, unsigned int depth, uint64_t seed, uint64_t *state)
{
	unsigned int tries, i = 0;

	for (tries = 0; tries < 20; tries++) {
		uint64_t way;

		i = random_next(state) % n;
		if (events[i].kind != EVENT_DELIVER) {
			if (events[i].kind == EVENT_PROPOSE || random_next(state) % 12 == 0)
				break;
			continue;
		}
		if (world_seen(world, &events[i]) && random_next(state) % 20)
			continue;
		way = seed * 31 + depth / 25 * 1000 + world_way(&events[i]);
		if (random_next(&way) % 3 || random_next(state) % 20 == 0)
			break;
	}
	return i;
}

static bool run_random(const struct bounds *bounds, uint64_t seed, unsigned int steps, bool say,
		       bool *ended)
{
	struct search *search = calloc(1, sizeof(*search));
	struct event events[EVENTS_MAX];
	uint64_t state = seed;
	struct world world;
	unsigned int i, n;
	bool wrong;

	world_begin(&world, bounds);
	while (search->depth < DEPTH_MAX && search->depth < steps && !world.wrong &&
	       world.nsent < SENT_MAX - 60) {
		n = world_events(&world, events);
		if (!n)
			break;
		i = choose(&world, events, n, search->depth, seed, &state);
		search->path[search->depth++] = events[i];
		world_apply(&world, &events[i]);
	}
	wrong = world.wrong;
	for (i = 0; i < bounds->nranks; i++)
		*ended |= world.node[i].returned;
	if (wrong && say) {
		printf("# seed %llu\n", (unsigned long long)seed);
		say_path(search);
	}
	free(search);
	return wrong;
}

static bool run_randoms(const struct bounds *bounds, unsigned int seeds, bool say,
			unsigned int *ended)
{
	unsigned int seed;
	bool end;

	*ended = 0;
	for (seed = 1; seed <= seeds; seed++) {
		end = false;
		if (run_random(bounds, seed, DEPTH_MAX, say, &end))
			return true;
		*ended += end;
	}
	return false;
}

static const struct bounds exhaustive[] = {
	{ .nranks = 2, .ballots = 2, .calls = 1 },
	{ .nranks = 2, .ballots = 3, .deaths = 1, .calls = 2, .healthy = true, .direct = true },
	{ .nranks = 3, .ballots = 2, .deaths = 1, .calls = 1, .healthy = true, .direct = true },
	{ .nranks = 3, .ballots = 2, .calls = 2, .direct = true },
	{ .nranks = 3, .ballots = 3, .calls = 1, .gone = 2, .direct = true },
	{ .nranks = 3, .ballots = 3, .calls = 1, .direct = true },
	{ .nranks = 4, .ballots = 2, .calls = 1, .gone = 2, .direct = true },
	{ .nranks = 3, .ballots = 2, .calls = 1, .direct = true, .refusals = true },
	{ .nranks = 4, .ballots = 2, .calls = 1, .direct = true, .refusals = true,
	  .proposers = 1 | 4 },
	{ .nranks = 4, .ballots = 3, .calls = 1, .direct = true, .quorum_only = true,
	  .proposers = 1 | 4 },
	{ .nranks = 4, .ballots = 2, .deaths = 2, .calls = 1, .direct = true, .quorum_only = true,
	  .healthy = true, .proposers = 2 | 4, .mortal = 1 | 2 },
	{ .nranks = 5, .ballots = 2, .calls = 1, .direct = true, .quorum_only = true,
	  .proposers = 1 | 4 },
	{ .nranks = 5, .ballots = 3, .deaths = 1, .calls = 1, .direct = true, .quorum_only = true,
	  .healthy = true, .proposers = 1 | 2 | 4, .mortal = 16,
	  .reach = { 1 | 2, 2 | 4 | 8, 4 | 8 | 16 } },
	{ .nranks = 4, .ballots = 4, .deaths = 1, .calls = 1, .direct = true, .quorum_only = true,
	  .healthy = true, .proposers = 1 | 2 | 4, .mortal = 8,
	  .reach = { 1 | 8, 2 | 4, 1 | 2 | 4 } },
};

static const struct bounds random_ones[] = {
	{ .nranks = 3, .ballots = 6, .calls = 3 },
	{ .nranks = 3, .ballots = 6, .deaths = 2, .calls = 3, .healthy = true },
	{ .nranks = 3, .ballots = 4, .deaths = 1, .calls = 1, .healthy = true, .direct = true },
	{ .nranks = 4, .ballots = 6, .deaths = 2, .calls = 2, .healthy = true },
	{ .nranks = 4, .ballots = 6, .calls = 2, .gone = 4 },
	{ .nranks = 5, .ballots = 6, .calls = 2, .direct = true },
	{ .nranks = 5, .ballots = 6, .deaths = 3, .calls = 2, .healthy = true, .direct = true },
	{ .nranks = 4, .ballots = 6, .calls = 3, .refusals = true },
	{ .nranks = 5, .ballots = 6, .deaths = 2, .calls = 2, .healthy = true, .direct = true,
	  .refusals = true },
};

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

static void say_bounds(char *text, size_t size, const struct bounds *bounds)
{
	snprintf(text, size, "%u ranks, %u ballots, %u deaths, %u calls, %s%s%s%s%s%s",
		 bounds->nranks, bounds->ballots, bounds->deaths, bounds->calls,
		 bounds->healthy ? "a group that has not failed" : "a failed group",
		 bounds->gone ? ", one rank lost" : "", bounds->quorum_only ? ", quorum_only" : "",
		 bounds->proposers ? ", some propose" : "", bounds->refusals ? ", refusals" : "",
		 bounds->reach[0] ? ", parted" : "");
}

/* The bounds within which each mutation is found. */
static const struct bounds found_in[MUTATIONS] = {
	[MUTATION_ONE] = { .nranks = 3, .ballots = 2, .calls = 1, .direct = true },
	[MUTATION_SHRUNK] = { .nranks = 3, .ballots = 2, .calls = 1, .direct = true },
	[MUTATION_PROMISE] = { .nranks = 3, .ballots = 3, .calls = 1, .direct = true,
			       .quorum_only = true },
	[MUTATION_ACCEPT] = { .nranks = 3, .ballots = 2, .calls = 1, .direct = true },
	[MUTATION_FORGET] = { .nranks = 3, .ballots = 3, .calls = 1, .direct = true,
			      .quorum_only = true },
	[MUTATION_STAY] = { .nranks = 3, .ballots = 2, .deaths = 1, .calls = 1, .healthy = true,
			    .direct = true, .quorum_only = true, .proposers = 2 | 4, .mortal = 1 },
	[MUTATION_UNSEALED] = { .nranks = 3, .ballots = 2, .deaths = 1, .calls = 1,
				.healthy = true, .direct = true },
	[MUTATION_LOSABLE] = { .nranks = 5, .ballots = 3, .deaths = 1, .calls = 1,
			       .healthy = true, .direct = true, .quorum_only = true,
			       .proposers = 1 | 2 | 4, .mortal = 16,
			       .reach = { 1 | 2, 2 | 4 | 8, 4 | 8 | 16 } },
	[MUTATION_REFUSED] = { .nranks = 3, .ballots = 2, .calls = 1, .direct = true,
			       .refusals = true },
};

int main(int argc, char **argv)
{
	const uint64_t limit = argc > 1 ? strtoull(argv[1], NULL, 0) : 3500000;
	const unsigned int seeds = argc > 2 ? strtoul(argv[2], NULL, 0) : 4000;
	unsigned int i, ended;
	char text[160];
	bool all, found;

	tap_plan(0);
	for (i = 0; i < COUNT(exhaustive); i++) {
		say_bounds(text, sizeof(text), &exhaustive[i]);
		found = run_all(&exhaustive[i], limit, &all, true);
		tap_ok(!found, "%s: one group, in %s schedules", text, all ? "all" : "many");
	}
	for (i = 0; i < COUNT(random_ones); i++) {
		say_bounds(text, sizeof(text), &random_ones[i]);
		found = run_randoms(&random_ones[i], seeds, true, &ended);
		printf("# %u of %u schedules: a rank returned\n", ended, seeds);
		tap_ok(!found && ended > seeds / 50, "%s: one group, in %u random schedules", text,
		       seeds);
	}
	for (mutation = MUTATION_NONE + 1; mutation < MUTATIONS; mutation++)
		tap_ok(run_all(&found_in[mutation], limit, &all, true), "found: %s",
		       mutation_names[mutation]);
	return tap_exit();
}
