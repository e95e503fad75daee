// SPDX-License-Identifier: GPL-2.0-only
/*
 * How far a rank is ahead of the others in operations without a key, and which operations have
 * failed, as kmod/op/unexpected.c and kmod/op/flight.c do it.
 *
 * As soon as operations fail, a rank can go on without the others.  What it knows of failures
 * is kept by the low bits of names, twice as many as may be in progress, and the late rank must
 * find all of those that it has not reached.
 */
#include "sim.h"

/* The latest failures that MUTATION_FORGET remembers. */
#define FORGET_AFTER	8

static u32 distance_bound(const struct sim *sim)
{
	return 2 * sim->config.nslots;
}

static u64 *distance_place(const struct member *member, u64 name)
{
	return &member->failed_counted[name & (distance_bound(member->sim) - 1)];
}

/* The next operation without a key, from a place in the program. */
static void distance_advance(struct member *member, u32 number)
{
	const struct sim *sim = member->sim;

	while (number < sim->config.nops && !coll_instance_is_counted(sim->ops[number].name))
		number++;
	member->next_counted = number;
}

/**
 * distance_init() - nothing was submitted yet
 * @member: the rank
 */
void distance_init(struct member *member)
{
	const struct config *config = &member->sim->config;
	struct coll_distance *distance = &member->distance;
	u32 rounds = 0, k;

	while (1U << rounds < config->nranks)
		rounds++;
	coll_distance_init(distance, rounds, distance_bound(member->sim));
	member->counted = config->origin.name;
	distance->succeeded = config->origin.name;
	for (k = 0; k < rounds; k++) {
		distance->received[k] = config->origin.name;
		distance->sent[k] = config->origin.name;
	}
	member->failed_counted = calloc(distance_bound(member->sim),
					sizeof(*member->failed_counted));
	distance_advance(member, 0);
}

/**
 * distance_may() - is a rank not too far ahead of the others?
 * @member: the rank
 * @name: of an operation without a key that it would submit
 */
bool distance_may(const struct member *member, u64 name)
{
	const struct config *config = &member->sim->config;

	if (config->fault != FAULT_INSTANCE || config->mutation == MUTATION_AHEAD)
		return true;
	return name - coll_distance_known(&member->distance, name) < distance_bound(member->sim);
}

/* Other ranks may wait because they know too little. */
static void distance_send(struct member *member)
{
	struct coll_distance *distance = &member->distance;
	const struct sim *sim = member->sim;
	u32 round;

	if (sim->config.fault != FAULT_INSTANCE ||
	    !coll_distance_due(distance, member->counted))
		return;
	for (round = 0; round < distance->rounds; round++) {
		struct coll_control control = {
			.kind = COLL_CONTROL_PING,
			.position = sim->now,
			.submitted = coll_distance_least(distance, member->counted, round),
		};

		distance->sent[round] = control.submitted;
		control_send(member, (member->rank + (1U << round)) % sim->config.nranks, &control);
	}
}

/**
 * distance_submitted() - a rank has submitted an operation
 * @member: the rank
 * @number: of the operation; without a key, the next one
 */
void distance_submitted(struct member *member, u32 number)
{
	if (number != member->next_counted)
		return;
	member->counted = member->sim->ops[number].name + 1;
	distance_advance(member, number + 1);
	distance_send(member);
}

/**
 * distance_receive() - another rank tells how far it is
 * @member: it is heard there
 * @from: the other rank
 * @count: what it tells: see struct coll_control
 */
void distance_receive(struct member *member, u32 from, u64 count)
{
	u32 nranks = member->sim->config.nranks, round;

	for (round = 0; round < member->distance.rounds; round++)
		if ((from + (1U << round)) % nranks == member->rank)
			coll_distance_receive(&member->distance, round, count);
	distance_send(member);
	sim_wake(member->sim, &member->actor);
}

/**
 * distance_fail() - an operation has failed, as a rank hears
 * @member: the rank
 * @name: of the operation
 */
void distance_fail(struct member *member, u64 name)
{
	const struct sim *sim = member->sim;
	u64 *place = distance_place(member, name);
	u32 i;

	if (coll_instance_is_counted(name)) {
		*place = max(*place, name + 1);
		return;
	}
	member->failures++;
	for (i = 0; i < sim->config.nops; i++)
		if (sim->ops[i].name == name && !member->parts[i].failure)
			member->parts[i].failure = member->failures;
}

/**
 * distance_failed() - has an operation that is not over failed, as far as a rank has heard?
 * @member: the rank
 * @name: of the operation
 */
bool distance_failed(const struct member *member, u64 name)
{
	const struct sim *sim = member->sim;
	u32 i;

	if (coll_instance_is_counted(name))
		return *distance_place(member, name) == name + 1;
	for (i = 0; i < sim->config.nops; i++)
		if (sim->ops[i].name == name)
			return member->parts[i].failure;
	return false;
}

/**
 * distance_remembers() - likewise, as the engine is told
 * @member: the rank
 * @name: of the operation
 */
bool distance_remembers(const struct member *member, u64 name)
{
	const struct sim *sim = member->sim;
	u32 i;

	if (sim->config.mutation == MUTATION_FORGET && !coll_instance_is_counted(name))
		for (i = 0; i < sim->config.nops; i++)
			if (sim->ops[i].name == name)
				return member->parts[i].failure + FORGET_AFTER > member->failures &&
				       member->parts[i].failure;
	return distance_failed(member, name);
}
