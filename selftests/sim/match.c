// SPDX-License-Identifier: GPL-2.0-only
/*
 * Matching of counts (FAULT_COUNTS).
 *
 * In these worlds the two ranks of a block may have different counts of it.  Then the operation
 * must fail on all ranks, and the two ranks must be found.  The rounds are those of
 * kmod/op/match.c, but only for the operations of match_waits().  The engines take no part.
 */
#include "sim.h"

static u32 match_rounds(const struct sim *sim)
{
	u32 rounds = 0;

	while (1U << rounds < sim->config.nranks)
		rounds++;
	return rounds;
}

static struct coll_signature match_signature(const struct sim_op *op)
{
	return (struct coll_signature){
		.collective = op->collective,
		.type = op->type,
		.reduction = op->reduction,
		.algorithm = COLLECTIVE_ALGORITHM_DIRECT,
		.flags = COLLECTIVE_F_VECTOR,
		.root = op->root,
	};
}

/**
 * match_waits() - find out whether an operation waits for matching
 * @sim: the world
 * @op: the operation
 *
 * Return: true if its counts are known to two ranks each, and may differ in this world.
 */
bool match_waits(const struct sim *sim, const struct sim_op *op)
{
	struct coll_signature signature = match_signature(op);

	return sim->config.fault == FAULT_COUNTS && op->vector && !op->varlen &&
	       coll_signature_paired(&signature);
}

/* All rounds are received: end matching, and fail the operation if the balance is not 0. */
static void match_end(struct member *member, u32 number)
{
	struct sim *sim = member->sim;
	struct sim_part *part = &member->parts[number];
	struct coll_imbalance found;
	u64 total = coll_balance_total(part->balances, part->balance, sim->config.nranks);

	part->matched = true;
	if (sim->config.mutation == MUTATION_BALANCE)
		total = 0;
	if (total) {
		const struct sim_op *op = &sim->ops[number];
		bool one = member->rank == op->wrong_from || member->rank == op->wrong_to;

		if (coll_balance_find(&part->plan, total, &found) != one ||
		    (one && (found.from != op->wrong_from || found.to != op->wrong_to)))
			sim_fail(sim, "rank %u: operation %u: the wrong ranks are found",
				 member->rank, number);
		member_abort(member, op->instance);
	}
	member_part_done(member, number, total ? -EBADMSG : 0);
}

/* Announce in each round of which all earlier rounds are received. */
static void match_send(struct member *member, u32 number)
{
	struct sim *sim = member->sim;
	struct sim_part *part = &member->parts[number];
	u32 rounds = match_rounds(sim);

	for (; part->rounds_sent < rounds; part->rounds_sent++) {
		u32 needed = (1U << part->rounds_sent) - 1;
		struct coll_control control = {
			.kind = COLL_CONTROL_ANNOUNCE,
			.instance = sim->ops[number].instance,
			.position = part->rounds_sent,
			.signature = match_signature(&sim->ops[number]),
		};

		if ((part->rounds_heard & needed) != needed)
			return;
		coll_balance_put(part->balances, part->balance, sim->config.nranks,
				 part->rounds_sent,
				 &control.signature);
		control_send(member,
			     (member->rank + (1U << part->rounds_sent)) % sim->config.nranks,
			     &control);
	}
}

/**
 * match_begin() - start matching of a submitted operation
 * @member: the rank
 * @number: number of the operation, of which the plan is set
 */
void match_begin(struct member *member, u32 number)
{
	struct sim_part *part = &member->parts[number];

	part->balance = coll_balance_own(&part->plan);
	match_send(member, number);
	if (part->rounds_heard == (1U << match_rounds(member->sim)) - 1)
		match_end(member, number);
}

/**
 * match_abort() - end matching of an operation that fails
 * @member: the rank
 * @number: number of the operation
 */
void match_abort(struct member *member, u32 number)
{
	struct sim_part *part = &member->parts[number];

	if (!part->submitted || part->done || part->matched ||
	    !match_waits(member->sim, &member->sim->ops[number]))
		return;
	part->matched = true;
	member_part_done(member, number, -ECANCELED);
}

/**
 * match_receive() - handle an ANNOUNCE
 * @member: the receiver
 * @control: the frame
 */
void match_receive(struct member *member, const struct coll_control *control)
{
	struct sim *sim = member->sim;
	struct coll_signature signature = control->signature;
	u32 bit = 1U << control->position, i;
	struct sim_part *part;

	for (i = 0; i < sim->config.nops; i++)
		if (sim->ops[i].instance == control->instance && match_waits(sim, &sim->ops[i]) &&
		    !(member->parts[i].rounds_heard & bit))
			break;
	if (i == sim->config.nops) {
		sim_fail(sim, "rank %u: an unknown operation is announced", member->rank);
		return;
	}
	part = &member->parts[i];
	part->rounds_heard |= bit;
	part->balances[control->position] = coll_balance_get(&signature);
	if (!part->submitted || part->done || part->aborted)
		return;
	match_send(member, i);
	if (part->rounds_heard == (1U << match_rounds(sim)) - 1)
		match_end(member, i);
}

/**
 * match_explained() - find out whether an operation may fail
 * @sim: the world
 * @number: number of the operation
 *
 * Return: in worlds of FAULT_COUNTS and FAULT_CALLS, true if counts differ in it or in another
 * operation of its instance; in other worlds, true.
 */
bool match_explained(const struct sim *sim, u32 number)
{
	u32 i;

	for (i = 0; i < sim->config.nops; i++)
		if ((sim->ops[i].mismatched || sim->ops[i].odd_count) &&
		    sim->ops[i].instance == sim->ops[number].instance)
			return true;
	return sim->config.fault != FAULT_COUNTS && sim->config.fault != FAULT_CALLS;
}
