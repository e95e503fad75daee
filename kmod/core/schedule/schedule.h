/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A collective as data: what one rank sends, receives and reduces, step by step.
 *
 * A schedule is two pure functions of the plan.  Nothing here knows time,
 * memory or the network; the engine executes it, and the simulator proves it at
 * every size.  A step may send, receive or do both; its two halves advance
 * independently, each in the order of steps.  A half with nothing to move (a
 * chunk without elements, no peer) is passed over, unless it is a token.
 */
#ifndef COLL_SCHEDULE_H
#define COLL_SCHEDULE_H

#include "core/schedule/plan.h"

/**
 * struct coll_schedule - an algorithm for a collective
 *
 * Scratch is of one of two kinds.  That of small operations (@eager) is there as a
 * whole, and every byte of it is written once.  That of others (@windowed) may be
 * as large as the payload, but is written once and sent once, by copy and both
 * strictly in order, so that a window of it is enough: byte o lies at o modulo the
 * window, and what is still to arrive is granted as what lies there leaves.
 *
 * Chains have an end, where what arrives is always taken, so any window will do.
 * Where the ranks are in a circle, or one takes from several, what goes through
 * scratch is cut into segments, each a quarter of the window at most: a segment is
 * granted at the latest when all but the one before it have left.  So no rank
 * waits for what comes later at another one, and nobody waits in a circle.  Two ranks
 * that swap need no segments: each can take as much as it has set saved, and what it
 * has sent of that makes room for more.
 *
 * @name: for people
 * @algorithm: enum collective_algorithm, by which all ranks know it: the first name that
 *	finds it.  Ranks that call it by another one, or leave it to AUTO, do the same
 * @ring: it needs no links but those of the ring
 * @eager: only for what is small enough to be sent on credit
 * @covers_all: who has received all of his has received something of every rank, from itself
 *	or handed on by others
 * @implicit_match: and what is sent on credit says all that its sender has called
 * @windowed: its scratch is; it is never sent on credit
 * @steps: number of steps of a plan.  Where it grows with the bytes, in segments, @next
 *	is there; all others have at most COLL_STEPS_MAX()
 * @step: fills in step @i of it; @step is zeroed, with nobody on either side
 * @next: the first step from @i on whose half that @sends, or that receives, may move
 *	something; U64_MAX: there is none.  It takes time by the ranks, not by the steps.
 *	NULL: any step may
 * @last_from: the last step that takes something from @peer, of what is sent on credit; any
 *	other number: there is none.  NULL: all comes from the rank before (@ring), or of
 *	the steps there are COLL_STEPS_FEW at most
 * @has_peer: does any step send to @peer, or receive from it?  NULL: the steps are few
 * @local_copy: what is copied here besides; @local_copy is zeroed; NULL: nothing
 * @save_input: what is copied before anything is sent, so that it can be sent although
 *	it is overwritten: a small block, of each rank at most, from
 *	COLL_AREA_SEND to COLL_AREA_SCRATCH; NULL: nothing
 * @scratch: bytes of COLL_AREA_SCRATCH that a plan uses; NULL: none
 */
struct coll_schedule {
	const char *name;
	u8 algorithm;
	bool ring;
	bool eager;
	bool covers_all;
	bool implicit_match;
	bool windowed;
	u64 (*steps)(const struct coll_plan *plan);
	void (*step)(const struct coll_plan *plan, u64 i, struct coll_step *step);
	u64 (*next)(const struct coll_plan *plan, u64 i, bool sends);
	u64 (*last_from)(const struct coll_plan *plan, u32 peer);
	bool (*has_peer)(const struct coll_plan *plan, u32 peer);
	void (*local_copy)(const struct coll_plan *plan, struct coll_local_copy *local);
	void (*save_input)(const struct coll_plan *plan, struct coll_local_copy *local);
	u64 (*scratch)(const struct coll_plan *plan);
};

/* Steps of a schedule that has no segments, among so many ranks. */
#define COLL_STEPS_MAX(nranks)	(2 * (u64)(nranks))

/* Three parts of each round of a doubling among COLLECTIVE_RANKS_MAX. */
#define COLL_STEPS_FEW		30

extern const struct coll_schedule coll_ring_allreduce;
extern const struct coll_schedule coll_ring_barrier;
extern const struct coll_schedule coll_ring_broadcast;
extern const struct coll_schedule coll_ring_allgather;
extern const struct coll_schedule coll_ring_allreduce_wide;
extern const struct coll_schedule coll_ring_reduce_scatter;
extern const struct coll_schedule coll_chain_allreduce;
extern const struct coll_schedule coll_chain_allreduce_wide;
extern const struct coll_schedule coll_chain_reduce;
extern const struct coll_schedule coll_chain_exscan;
extern const struct coll_schedule coll_ordered_reduce;
extern const struct coll_schedule coll_ordered_reduce_scatter;
extern const struct coll_schedule coll_chain_scan;
extern const struct coll_schedule coll_tree_barrier;
extern const struct coll_schedule coll_tree_broadcast;
extern const struct coll_schedule coll_tree_reduce;
extern const struct coll_schedule coll_tree_allreduce;
extern const struct coll_schedule coll_tree_scan;
extern const struct coll_schedule coll_tree_exscan;
extern const struct coll_schedule coll_tree_allgather;
extern const struct coll_schedule coll_p2p_send;
extern const struct coll_schedule coll_p2p_recv;
extern const struct coll_schedule coll_varlen_broadcast;
extern const struct coll_schedule coll_varlen_scatter;
extern const struct coll_schedule coll_direct_gather;
extern const struct coll_schedule coll_direct_scatter;
extern const struct coll_schedule coll_direct_reduce;
extern const struct coll_schedule coll_direct_alltoall;
extern const struct coll_schedule coll_direct_exchange;
extern const struct coll_schedule coll_direct_reduce_scatter;
extern const struct coll_schedule coll_direct_allreduce;

const struct coll_schedule *coll_schedule_find(const struct coll_plan *plan);

/**
 * coll_plan_schedule() - how an operation is done
 * @plan: the operation
 *
 * Return: the schedule, or NULL when there is none.
 */
static inline const struct coll_schedule *coll_plan_schedule(const struct coll_plan *plan)
{
	return plan->schedule ? plan->schedule : coll_schedule_find(plan);
}

void coll_schedule_step(const struct coll_schedule *schedule,
			const struct coll_plan *plan, u64 i, struct coll_step *step);
u64 coll_schedule_next(const struct coll_schedule *schedule, const struct coll_plan *plan,
		       u64 i, u64 end, bool sends, struct coll_step *step);
bool coll_plan_eager(const struct coll_plan *plan);
bool coll_plan_implicit_match(const struct coll_plan *plan);
u64 coll_plan_scratch(const struct coll_plan *plan);

void coll_chain_link(const struct coll_plan *plan, u32 place, struct coll_span own,
		     struct coll_span at, struct coll_step *step);

#endif /* COLL_SCHEDULE_H */
