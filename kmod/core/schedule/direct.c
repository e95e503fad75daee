// SPDX-License-Identifier: GPL-2.0-only
/*
 * Direct: each byte goes once, from its source straight to its destination.
 *
 * A root exchanges with the other ranks one after the other.  If all exchange with all, round s
 * pairs rank r with rank s - r (modulo n): each rank has one partner per round, or none.  A rank in
 * place sends a copy of its blocks: small ones are all saved first, large ones are exchanged round
 * by round.  Allreduce is a reduce_scatter of chunks and an allgather.  Round k receives from rank
 * r + k, so a chunk is reduced in the order of the ring, beginning with its owner.
 *
 * Hazards: nothing is written that was sent; but an allreduce in place overwrites a chunk that
 * its owner was sent with the value that the owner computed from it, byte by byte.
 */
#include "core/schedule/schedule.h"

static const u64 *direct_first(const struct coll_plan *plan, u8 area)
{
	return area == COLL_AREA_SEND ? plan->send_first : plan->recv_first;
}

static struct coll_range direct_range(const struct coll_plan *plan, u32 block, u8 area)
{
	return coll_plan_block(plan, direct_first(plan, area), block);
}

/* A block of an area that has one of each rank. */
static struct coll_span direct_block(const struct coll_plan *plan, u32 block, u8 area)
{
	return coll_plan_span(plan, direct_range(plan, block, area), area);
}

static struct coll_span direct_vector(const struct coll_plan *plan, u8 area)
{
	return coll_plan_span(plan, coll_plan_vector(plan), area);
}

/* The other ranks, in the order in which a root serves them. */
static u32 direct_other(const struct coll_plan *plan, u32 i)
{
	return (plan->root + 1 + i) % plan->nranks;
}

static u32 direct_partner(const struct coll_plan *plan, u32 round)
{
	return (round + plan->nranks - plan->rank) % plan->nranks;
}

static u64 rooted_steps(const struct coll_plan *plan)
{
	if (!coll_plan_moves(plan))
		return 0;
	return coll_plan_is_root(plan) ? plan->nranks - 1 : 1;
}

static u64 paired_steps(const struct coll_plan *plan)
{
	return coll_plan_moves(plan) ? plan->nranks : 0;
}

/* A root receives from the other ranks in turn; no other rank receives. */
static u64 gather_last_from(const struct coll_plan *plan, u32 peer)
{
	if (!coll_plan_is_root(plan))
		return U64_MAX;
	return (peer + plan->nranks - plan->root - 1) % plan->nranks;
}

static u64 scatter_last_from(const struct coll_plan *plan, u32 peer)
{
	return !coll_plan_is_root(plan) && peer == plan->root ? 0 : U64_MAX;
}

static u64 paired_last_from(const struct coll_plan *plan, u32 peer)
{
	return (peer + plan->rank) % plan->nranks;
}

static void gather_step(const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	step->tag = plan->root;
	if (coll_plan_is_root(plan)) {
		step->from = direct_other(plan, i);
		step->in = direct_block(plan, step->from, COLL_AREA_RECV);
	} else {
		step->to = plan->root;
		step->out = direct_vector(plan, COLL_AREA_SEND);
	}
}

static void gather_local(const struct coll_plan *plan, struct coll_local_copy *local)
{
	if (coll_plan_is_root(plan))
		coll_plan_local_copy(plan, coll_plan_single(plan, plan->recv_first, plan->rank),
				     direct_range(plan, plan->rank, COLL_AREA_RECV), local);
}

const struct coll_schedule coll_direct_gather = {
	.name	= "direct gather",
	.algorithm = COLLECTIVE_ALGORITHM_DIRECT,
	.steps	= rooted_steps,
	.step	= gather_step,
	.last_from = gather_last_from,
	.local_copy = gather_local,
};

static void scatter_step(const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	step->tag = plan->root;
	if (coll_plan_is_root(plan)) {
		step->to = direct_other(plan, i);
		step->out = direct_block(plan, step->to, COLL_AREA_SEND);
	} else {
		step->from = plan->root;
		step->in = direct_vector(plan, COLL_AREA_RECV);
	}
}

static void scatter_local(const struct coll_plan *plan, struct coll_local_copy *local)
{
	if (coll_plan_is_root(plan))
		coll_plan_local_copy(plan, direct_range(plan, plan->rank, COLL_AREA_SEND),
				     coll_plan_single(plan, plan->send_first, plan->rank), local);
}

const struct coll_schedule coll_direct_scatter = {
	.name	= "direct scatter",
	.algorithm = COLLECTIVE_ALGORITHM_DIRECT,
	.steps	= rooted_steps,
	.step	= scatter_step,
	.last_from = scatter_last_from,
	.local_copy = scatter_local,
};

/* The root's own elements come first, then those of the ranks after it in turn. */
static void reduce_step(const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	step->tag = plan->root;
	if (!coll_plan_is_root(plan)) {
		step->to = plan->root;
		step->out = direct_vector(plan, COLL_AREA_SEND);
		return;
	}
	step->from = direct_other(plan, i);
	step->in = direct_vector(plan, COLL_AREA_RECV);
	step->reduce = true;
	step->own = i ? COLL_AREA_RECV : COLL_AREA_SEND;
	step->own_off = step->in.off;
	step->last = i + 2 == plan->nranks;
}

const struct coll_schedule coll_direct_reduce = {
	.name	= "direct reduce",
	.algorithm = COLLECTIVE_ALGORITHM_DIRECT,
	.steps	= rooted_steps,
	.step	= reduce_step,
	.last_from = gather_last_from,
	.local_copy = coll_local_alone,
};

static void alltoall_step(const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	u32 partner = direct_partner(plan, i);

	if (partner == plan->rank)
		return;
	step->to = partner;
	step->from = partner;
	step->out = direct_block(plan, partner, COLL_AREA_SEND);
	step->in = direct_block(plan, partner, COLL_AREA_RECV);
	if (plan->in_place)
		step->out.area = COLL_AREA_SCRATCH;
}

static u64 alltoall_scratch(const struct coll_plan *plan)
{
	if (!plan->in_place || !coll_plan_moves(plan))
		return 0;
	return coll_plan_before(plan, plan->nranks);
}

static void alltoall_save_input(const struct coll_plan *plan, struct coll_local_copy *local)
{
	local->len = alltoall_scratch(plan);
}

static void alltoall_local(const struct coll_plan *plan, struct coll_local_copy *local)
{
	coll_plan_local_copy(plan, direct_range(plan, plan->rank, COLL_AREA_SEND),
			     direct_range(plan, plan->rank, COLL_AREA_RECV), local);
}

const struct coll_schedule coll_direct_alltoall = {
	.name	= "direct alltoall",
	.algorithm = COLLECTIVE_ALGORITHM_DIRECT,
	.covers_all = true,
	.steps	= paired_steps,
	.step	= alltoall_step,
	.last_from = paired_last_from,
	.local_copy = alltoall_local,
	.save_input = alltoall_save_input,
	.scratch = alltoall_scratch,
};

/* Bytes of the blocks of earlier rounds. */
static u64 exchange_before(const struct coll_plan *plan, u32 partner)
{
	u32 first = direct_partner(plan, 0);
	u64 before = coll_plan_before(plan, partner);

	if (partner < first)
		before += coll_plan_before(plan, plan->nranks);
	return before - coll_plan_before(plan, first);
}

static void exchange_step(const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	alltoall_step(plan, i, step);
	if (step->to == COLL_NO_RANK)
		return;
	step->out.off = exchange_before(plan, step->to);
	step->exchange = true;
}

const struct coll_schedule coll_direct_exchange = {
	.name	= "direct alltoall in place",
	.algorithm = COLLECTIVE_ALGORITHM_DIRECT,
	.covers_all = true,
	.windowed = true,
	.steps	= paired_steps,
	.step	= exchange_step,
	.local_copy = alltoall_local,
	.scratch = alltoall_scratch,
};

/* Is the partner of this round the first, or the last? */
static bool reduce_scatter_edge(const struct coll_plan *plan, u32 round, bool last)
{
	u32 edge = last ? plan->nranks - 1 : 0;

	if (direct_partner(plan, edge) == plan->rank)
		edge += last ? -1 : 1;
	return round == edge;
}

static void reduce_scatter_step(const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	bool first = reduce_scatter_edge(plan, i, false);
	struct coll_span own = direct_block(plan, plan->rank, COLL_AREA_SEND);
	u32 partner = direct_partner(plan, i);

	if (partner == plan->rank)
		return;
	step->to = partner;
	step->from = partner;
	step->out = direct_block(plan, partner, COLL_AREA_SEND);
	step->in = coll_plan_span(plan, coll_plan_single(plan, plan->send_first, plan->rank),
				  COLL_AREA_RECV);
	step->reduce = true;
	step->own = first ? COLL_AREA_SEND : COLL_AREA_RECV;
	step->own_off = first ? own.off : step->in.off;
	step->last = reduce_scatter_edge(plan, i, true);
}

const struct coll_schedule coll_direct_reduce_scatter = {
	.name	= "direct reduce_scatter",
	.algorithm = COLLECTIVE_ALGORITHM_DIRECT,
	.covers_all = true,
	.steps	= paired_steps,
	.step	= reduce_scatter_step,
	.last_from = paired_last_from,
	.local_copy = coll_local_alone,
};

static struct coll_span direct_chunk(const struct coll_plan *plan, u32 owner, u8 area)
{
	return coll_plan_span(plan, coll_plan_chunk(plan, owner), area);
}

static u64 allreduce_steps(const struct coll_plan *plan)
{
	return coll_plan_moves(plan) ? 2 * (plan->nranks - 1) : 0;
}

static void allreduce_step(const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	u32 n = plan->nranks, reducing = n - 1, k = 1 + i % reducing;

	step->to = (plan->rank + n - k) % n;
	step->from = (plan->rank + k) % n;
	if (i < reducing) {
		step->out = direct_chunk(plan, step->to, COLL_AREA_SEND);
		step->in = direct_chunk(plan, plan->rank, COLL_AREA_RECV);
		step->reduce = true;
		step->own = i ? COLL_AREA_RECV : COLL_AREA_SEND;
		step->own_off = step->in.off;
		step->last = k == reducing;
	} else {
		step->out = direct_chunk(plan, plan->rank, COLL_AREA_RECV);
		step->in = direct_chunk(plan, step->from, COLL_AREA_RECV);
		step->depends_on = reducing;
		step->cut_through = true;
		step->hazard = COLL_HAZARD_COVERED;
	}
}

const struct coll_schedule coll_direct_allreduce = {
	.name	= "direct allreduce",
	.algorithm = COLLECTIVE_ALGORITHM_DIRECT,
	.covers_all = true,
	.steps	= allreduce_steps,
	.step	= allreduce_step,
	.local_copy = coll_local_alone,
};
