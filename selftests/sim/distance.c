// SPDX-License-Identifier: GPL-2.0-only
/*
 * How far a rank is ahead of the others in counted operations, and which operations have failed.
 * The module does it in kmod/op/submit.c, kmod/op/unexpected_calls.c and kmod/fail/failed_ops.c.
 *
 * When operations fail, a rank can go on without the others.  Failed counted operations are
 * kept in a table by the low bits of their instances.  It has two entries for each operation
 * that may be in progress.  A late rank must still find every failed operation that it has not
 * reached; so the distance between ranks must stay below the size of the table.
 */
#include "sim.h"

/* Number of failed operations that MUTATION_FAILED_OPS remembers. */
#define FORGET_AFTER	8

/* Return: how far a rank may be ahead, and entries of the table; a power of two. */
static u32 distance_bound(const struct sim *sim)
{
	return 2 * sim->config.nslots;
}

static u64 *distance_place(const struct member *member, u64 instance)
{
	return &member->failed_counted[instance & (distance_bound(member->sim) - 1)];
}

/* Find the next counted operation, from @number on. */
static void distance_advance(struct member *member, u32 number)
{
	const struct sim *sim = member->sim;

	while (number < sim->config.nops && !coll_instance_is_counted(sim->ops[number].instance))
		number++;
	member->next_counted = number;
}

/**
 * distance_init() - initialize the distance and the table of a rank
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
	member->counted = config->origin.instance;
	distance->succeeded = config->origin.instance;
	for (k = 0; k < rounds; k++) {
		distance->received[k] = config->origin.instance;
		distance->sent[k] = config->origin.instance;
	}
	member->failed_counted = calloc(distance_bound(member->sim),
					sizeof(*member->failed_counted));
	distance_advance(member, 0);
}

/**
 * distance_may() - find out whether a rank may submit a counted operation
 * @member: the rank
 * @instance: instance of the operation
 *
 * Return: false if the rank would be too far ahead of the others.
 */
bool distance_may(const struct member *member, u64 instance)
{
	const struct config *config = &member->sim->config;
	u64 known;

	if (config->fault != FAULT_INSTANCE || config->mutation == MUTATION_DISTANCE)
		return true;
	known = coll_distance_known(&member->distance, instance);
	return instance - known < distance_bound(member->sim);
}

/* Tell other ranks how far this one is, because they may wait until they know. */
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
 * distance_submitted() - note that a rank submits an operation
 * @member: the rank
 * @number: number of the operation; if counted, it is member->next_counted
 */
void distance_submitted(struct member *member, u32 number)
{
	if (number != member->next_counted)
		return;
	member->counted = member->sim->ops[number].instance + 1;
	distance_advance(member, number + 1);
	distance_send(member);
}

/**
 * distance_receive() - handle how far another rank is
 * @member: the receiver
 * @from: rank of the sender
 * @count: submitted of struct coll_control
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
 * distance_fail() - note on a rank that an operation has failed
 * @member: the rank
 * @instance: instance of the operation
 */
void distance_fail(struct member *member, u64 instance)
{
	const struct sim *sim = member->sim;
	u64 *place = distance_place(member, instance);
	u32 i;

	if (coll_instance_is_counted(instance)) {
		*place = max(*place, instance + 1);
		return;
	}
	member->failures++;
	for (i = 0; i < sim->config.nops; i++)
		if (sim->ops[i].instance == instance && !member->parts[i].failure)
			member->parts[i].failure = member->failures;
}

/**
 * distance_failed() - find out whether a rank knows that an operation has failed
 * @member: the rank
 * @instance: instance of the operation; not complete on this rank
 *
 * Return: true if an abort of it has arrived.
 */
bool distance_failed(const struct member *member, u64 instance)
{
	const struct sim *sim = member->sim;
	u32 i;

	if (coll_instance_is_counted(instance))
		return *distance_place(member, instance) == instance + 1;
	for (i = 0; i < sim->config.nops; i++)
		if (sim->ops[i].instance == instance)
			return member->parts[i].failure;
	return false;
}

/**
 * distance_remembers() - answer the engine whether an operation has failed
 * @member: the rank
 * @instance: instance of the operation
 *
 * Return: as distance_failed(); with MUTATION_FAILED_OPS, false for all but the latest failed
 * operations that are not counted.
 */
bool distance_remembers(const struct member *member, u64 instance)
{
	const struct sim *sim = member->sim;
	u32 i;

	if (sim->config.mutation == MUTATION_FAILED_OPS && !coll_instance_is_counted(instance))
		for (i = 0; i < sim->config.nops; i++)
			if (sim->ops[i].instance == instance)
				return member->parts[i].failure + FORGET_AFTER > member->failures &&
				       member->parts[i].failure;
	return distance_failed(member, instance);
}
