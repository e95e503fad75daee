// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ring: everybody sends to the next rank and receives from the previous.
 *
 * Allreduce cuts the elements into as many chunks as there are ranks.  In step
 * s rank r sends chunk r - s and receives chunk r - s - 1 (modulo n).  In the
 * first n - 1 steps what arrives is reduced with our own: each chunk goes once
 * around and collects every rank's part.  After them rank r holds the finished
 * chunk r + 1, and n - 1 more steps carry the finished chunks around.  Every
 * rank sends 2 (n - 1) / n of the data, which is the least possible.
 *
 * What is sent in step s > 0 is what step s - 1 receives, so it is forwarded as
 * it comes, without waiting for the end of a step.
 *
 * Hazards: the reducing steps write chunks that we have not sent.  The
 * gathering steps overwrite, in place, the partial sum that we sent n - 1 steps
 * earlier; the finished value that arrives there was computed from it, so our
 * neighbour has consumed it, byte by byte.
 */
#include "schedule.h"

static u32 ring_next(const struct coll_plan *plan)
{
	return plan->rank + 1 == plan->nranks ? 0 : plan->rank + 1;
}

static u32 ring_previous(const struct coll_plan *plan)
{
	return (plan->rank ? plan->rank : plan->nranks) - 1;
}

/* The bytes of the chunk that @back steps around the ring behind ours. */
static struct coll_span ring_chunk(const struct coll_plan *plan, u32 back, u8 area)
{
	u32 n = plan->nranks;
	u32 index = (plan->rank + n - back % n) % n;
	struct coll_range chunk = coll_layout_piece(plan->part.count, plan->size,
						    n, index);

	return (struct coll_span){
		.area = area,
		.off = (plan->part.first + chunk.first) * plan->size,
		.len = chunk.count * plan->size,
	};
}

static u32 ring_allreduce_steps(const struct coll_plan *plan)
{
	return plan->part.count ? 2 * (plan->nranks - 1) : 0;
}

static void ring_allreduce_step(const struct coll_plan *plan, u32 i,
				struct coll_step *step)
{
	u32 reducing = plan->nranks - 1;

	step->to = ring_next(plan);
	step->from = ring_previous(plan);
	step->out = ring_chunk(plan, i, i ? COLL_AREA_RECV : COLL_AREA_SEND);
	step->in = ring_chunk(plan, i + 1, COLL_AREA_RECV);
	step->forward = i > 0;
	step->reduce = i < reducing;
	step->own = COLL_AREA_SEND;
	step->last = i + 1 == reducing;
	step->hazard = step->reduce ? COLL_HAZARD_NEVER_SENT : COLL_HAZARD_COVERED;
}

const struct coll_schedule coll_ring_allreduce = {
	.name	= "ring allreduce",
	.steps	= ring_allreduce_steps,
	.step	= ring_allreduce_step,
};

/*
 * A signal that has come s + 1 times has come from the s + 1 ranks behind us:
 * after n - 1 of them everybody has arrived.
 */
static u32 ring_barrier_steps(const struct coll_plan *plan)
{
	return plan->nranks - 1;
}

static void ring_barrier_step(const struct coll_plan *plan, u32 i,
			      struct coll_step *step)
{
	step->to = ring_next(plan);
	step->from = ring_previous(plan);
	step->forward = i > 0;
	step->token = true;
}

const struct coll_schedule coll_ring_barrier = {
	.name	= "ring barrier",
	.steps	= ring_barrier_steps,
	.step	= ring_barrier_step,
};
