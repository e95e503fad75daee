/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * A collective as data: what one rank sends, receives and reduces, step by step.
 *
 * A schedule is a set of pure functions of the plan.  It knows no time, memory or network: the
 * engine executes it, and the simulator proves it at every size.  A step may send, receive or do
 * both.  Its two halves advance independently, each in the order of steps.  A half that moves
 * nothing (a chunk without elements, no peer) is skipped, unless it is a signal.
 */
#ifndef COLL_SCHEDULE_H
#define COLL_SCHEDULE_H

#include "core/schedule/plan.h"

/**
 * struct coll_schedule - an algorithm for a collective
 * @name: name for messages
 * @algorithm: enum collective_algorithm that all ranks know it by: the first that selects
 *	it.  Ranks that ask for it by another value, or by AUTO, do the same
 * @ring: true if it uses only links between ring neighbours
 * @eager: true if it is only for payloads small enough to be sent on credit
 * @covers_all: true if a rank that has received everything has received something of every
 *	rank, directly or forwarded
 * @implicit_match: true if, in addition, frames sent on credit tell the whole call of their
 *	sender
 * @windowed: true if its scratch is windowed; its payload is never sent on credit
 * @reads: true if no payload is sent: ranks read one another's memory, and all frames are signals,
 *	which tell the count
 * @board: true if the ranks meet on the board: the only step has no frames
 * @steps: returns the number of steps of a plan; always 0: @step is NULL.  If it grows with the
 *	bytes, in segments, @next is set; all others have at most COLL_STEPS_MAX()
 * @step: fills in step @i; the step is zeroed, with no peers
 * @next: returns the first step from @i on in which the half that sends (@sends), or that
 *	receives, may move something; U64_MAX: none.  Takes time by the ranks, not by the steps.
 *	NULL: any step may
 * @last_from: returns the last step that receives an eager payload from @peer; a number
 *	that is no step: none.  NULL: everything comes from the previous rank (@ring), or there
 *	are at most COLL_STEPS_FEW steps
 * @has_peer: true if any step sends to @peer or receives from it; NULL: there are few steps
 * @local_copy: fills in what the rank copies to its result; NULL: nothing
 * @save_input: fills in what is copied from COLL_AREA_SEND to COLL_AREA_SCRATCH before the
 *	first step, so that it can be sent although it is overwritten: at most a small block for
 *	each rank.  NULL: nothing
 * @scratch: returns the bytes of COLL_AREA_SCRATCH that a plan uses; NULL: none
 *
 * There are two kinds of scratch.  That of small operations (@eager) exists as a whole, and every
 * byte is written once.  Windowed scratch (@windowed) may be as large as the payload, but is
 * written once and sent once, by copy and strictly in order.  So a window is enough: byte o lies
 * at o modulo the window, and more is granted as bytes leave.
 *
 * A chain ends at a rank that always receives, so a window of any size will do.  If the ranks
 * form a circle, or a rank receives from several, bytes that go through scratch are cut into
 * segments of at most a quarter of the window.  A segment is granted, at the latest, when all
 * segments but the one before it have left.  So no rank waits for bytes that another rank sends
 * later, and no circle of waiting ranks exists.  An exchange between two ranks needs no segments:
 * each can receive as much as it has saved, and what it has sent of that makes space for more.
 */
struct coll_schedule {
	const char *name;
	u8 algorithm;
	bool ring;
	bool eager;
	bool covers_all;
	bool implicit_match;
	bool windowed;
	bool reads;
	bool board;
	u64 (*steps)(const struct coll_plan *plan);
	void (*step)(const struct coll_plan *plan, u64 i, struct coll_step *step);
	u64 (*next)(const struct coll_plan *plan, u64 i, bool sends);
	u64 (*last_from)(const struct coll_plan *plan, u32 peer);
	bool (*has_peer)(const struct coll_plan *plan, u32 peer);
	void (*local_copy)(const struct coll_plan *plan, struct coll_local_copy *local);
	void (*save_input)(const struct coll_plan *plan, struct coll_local_copy *local);
	u64 (*scratch)(const struct coll_plan *plan);
};

/* Upper bound on the steps of a schedule without segments. */
#define COLL_STEPS_MAX(nranks)	(5 * (u64)(nranks))

/*
 * Upper bound on the steps of a doubling: three parts in each round of COLLECTIVE_RANKS_MAX
 * ranks.
 */
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
extern const struct coll_schedule coll_p2p_self;
extern const struct coll_schedule coll_varlen_broadcast;
extern const struct coll_schedule coll_varlen_scatter;
extern const struct coll_schedule coll_direct_gather;
extern const struct coll_schedule coll_direct_scatter;
extern const struct coll_schedule coll_direct_reduce;
extern const struct coll_schedule coll_direct_alltoall;
extern const struct coll_schedule coll_direct_exchange;
extern const struct coll_schedule coll_direct_reduce_scatter;
extern const struct coll_schedule coll_direct_allreduce;
extern const struct coll_schedule coll_fused_allreduce;
extern const struct coll_schedule coll_fused_reduce;
extern const struct coll_schedule coll_fused_reduce_scatter;
extern const struct coll_schedule coll_board_schedule;

const struct coll_schedule *coll_schedule_find(const struct coll_plan *plan);

/**
 * coll_plan_schedule() - the schedule of an operation
 * @plan: the operation
 *
 * Return: the schedule, or NULL if there is none.
 */
static inline const struct coll_schedule *coll_plan_schedule(const struct coll_plan *plan)
{
	return plan->schedule ? plan->schedule : coll_schedule_find(plan);
}

/* On the board, most bytes that a rank publishes... */
#define COLL_BOARD_PUBLISHED	4096U
/* ...that a rank reads of all ranks... */
#define COLL_BOARD_READ		65536U
/* ...and ranks. */
#define COLL_BOARD_RANKS	64U
/* All ranks, as a set. */
#define COLL_BOARD_ALL		(~0ULL)
/* Payload in a slot, which has one cache line for it and the words; bytes. */
#define COLL_BOARD_INLINE	48U

/* Where the payload of a rank is. */
enum coll_board_place {
	COLL_BOARD_SLOT,	/* in the slot */
	COLL_BOARD_SHOWN,	/* in a page that processes map, too */
	COLL_BOARD_HIDDEN,	/* in a page that only the kernel sees */
};

bool coll_board_fits(const struct coll_plan *plan);
u64 coll_board_published(const struct coll_plan *plan, u32 rank);
u64 coll_board_block(const struct coll_plan *plan);
bool coll_board_shows_all(const struct coll_plan *plan);
u64 coll_board_needs(const struct coll_plan *plan);
enum coll_board_place coll_board_place(const struct coll_plan *plan, u32 rank);

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
