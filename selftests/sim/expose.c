// SPDX-License-Identifier: GPL-2.0-only
/* What ranks expose one another: the input and result of an operation, while it is in progress. */
#include "expose.h"

static u8 lane_bit(const struct coll_task *task)
{
	return 1 << task->engine->lane;
}

static struct sim_part *part_of(const struct sim *sim, const struct coll_task *task, u32 rank)
{
	const struct sim_part *own = task->args.user;

	return &sim->members[rank].parts[own->number];
}

void expose_begin(void *ctx, struct coll_task *task)
{
	struct member *member = member_of(ctx);

	part_of(member->sim, task, member->rank)->exposed |= lane_bit(task);
}

/* Sometimes another rank is reading just now; only memory of an aborted operation may be read. */
bool expose_withdraw(void *ctx, struct coll_task *task)
{
	struct member *member = member_of(ctx);
	struct sim_part *part = part_of(member->sim, task, member->rank);
	bool first = part->exposed & lane_bit(task);

	part->exposed &= ~lane_bit(task);
	if (first && task->error && rng_once_in(&member->sim->rng, 2)) {
		part->withdrawing |= lane_bit(task);
		sim_wake(member->sim, &member->copy);
	}
	return !(part->withdrawing & lane_bit(task));
}

/* A rank that is dead has withdrawn its memory. */
bool expose_begin_read(void *ctx, struct coll_task *task, u32 peer, u32 area,
		       struct coll_exposed *exposed)
{
	struct sim *sim = member_of(ctx)->sim;
	struct sim_part *part = part_of(sim, task, peer);

	if (!sim->config.fault && !(part->exposed & lane_bit(task)))
		sim_fail(sim, "rank %u: operation %u of rank %u is not exposed",
			 member_of(ctx)->rank, part->number, peer);
	if (sim->config.mutation != MUTATION_WITHDRAW &&
	    (!(part->exposed & lane_bit(task)) || peer == sim->dead))
		return false;
	if (part->done)
		sim_fail(sim, "rank %u: reads memory of rank %u, whose operation %u is complete",
			 member_of(ctx)->rank, peer, part->number);
	part->readers++;
	exposed->mem = area == COLL_AREA_SEND ? &part->send->mem : &part->recv->mem;
	exposed->off = area == COLL_AREA_SEND ? part->send_off : part->recv_off;
	exposed->len = coll_plan_exposed(&part->plan, area);
	return true;
}

void expose_end_read(void *ctx, struct coll_task *task, u32 peer)
{
	struct sim *sim = member_of(ctx)->sim;

	if (!part_of(sim, task, peer)->readers--)
		sim_fail(sim, "rank %u: a read ends twice", member_of(ctx)->rank);
}

/* Tell the engines that the memory of some aborted operations is not read any more. */
void expose_end_withdrawals(struct member *member)
{
	u32 i, lane;

	for (i = 0; i < member->sim->config.nops; i++) {
		struct sim_part *part = &member->parts[i];

		for (lane = 0; part->withdrawing; lane++) {
			if (!(part->withdrawing & 1 << lane))
				continue;
			part->withdrawing &= ~(1 << lane);
			coll_engine_withdrawn(&member->engine[lane], member->sim->ops[i].instance);
		}
	}
}
