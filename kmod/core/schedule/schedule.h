/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A collective as data: what one rank sends, receives and reduces, step by step.
 *
 * A schedule is two pure functions of the plan.  Nothing here knows time,
 * memory or the network; the engine executes it, and the simulator proves it at
 * every size.  A step may send, receive or do both; its two halves advance
 * independently, each in the order of steps.  A half with nothing to move (a
 * chunk without elements, no peer) is passed over, unless it is a token.
 *
 * Every step that writes memory says what keeps the write from being seen by a
 * peer that still reads older contents of it out of a socket buffer:
 *
 *	NEVER_SENT	we have not sent that span before
 *	COVERED		the new value depends, byte by byte, on our neighbour
 *			having consumed what we sent
 *
 * (A third kind, to wait until the peers have said that they consumed it, is
 * needed by no schedule here yet, and the engine has no gate for it.)
 */
#ifndef COLL_SCHEDULE_H
#define COLL_SCHEDULE_H

#include "core/schedule/partition.h"

#include <linux/collective.h>

#define COLL_NOBODY	0xffffffffU

struct coll_schedule;

enum coll_area {
	COLL_AREA_SEND,		/* the user's input, never written */
	COLL_AREA_RECV,		/* the user's result */
	COLL_AREA_SCRATCH,	/* ours: partial results on their way */
	COLL_AREA_COUNT
};

enum coll_hazard {
	COLL_HAZARD_NEVER_SENT,
	COLL_HAZARD_COVERED,
};

/**
 * struct coll_plan - all that a schedule may depend on
 * @collective: enum collective_opcode
 * @type: enum collective_type
 * @reduction: enum collective_reduction
 * @algorithm: enum collective_algorithm
 * @reproducible: reduce in the order of ranks
 * @wide: sums of 16-bit floats are kept and passed on as binary32
 * @in_place: the input is where the result goes
 * @same_host: all ranks are on one host, on every rank
 * @vector: blocks differ
 * @varlen: the length of what arrives is told by who sends it, and @count of who
 *	receives is the room that there is
 * @size: bytes of an element
 * @rank: ours
 * @nranks: of the group
 * @root: of rooted collectives
 * @lane: that carries this part of it
 * @nlanes: of the group
 * @segment: bytes of a block that go around at a time where they go through
 *	scratch, the same on every rank; a power of two, 0: COLL_SEGMENT
 * @count: elements: of the whole vector, or of one rank's block.  Where blocks
 *	differ: of the longest that all ranks know of (ALLGATHER, REDUCE_SCATTER),
 *	else of our own (GATHER, SCATTER; of ALLTOALL: 0)
 * @send_first: where each block of COLL_AREA_SEND begins, in elements, and the
 *	last one ends: @nranks + 1 numbers; NULL: all have @count
 * @recv_first: the same of COLL_AREA_RECV
 * @schedule: what coll_schedule_find() finds for it, or NULL: it was not asked
 *
 * Where blocks differ (@vector, on every rank), @recv_first says how of ALLGATHER on
 * every rank and of GATHER at the root, @send_first of REDUCE_SCATTER on every rank
 * and of SCATTER at the root, and both of ALLTOALL.  Each block is cut into lanes by
 * its own size, which both its ends know.
 */
struct coll_plan {
	u8 collective;
	u8 type;
	u8 reduction;
	u8 algorithm;
	bool reproducible;
	bool wide;
	bool in_place;
	bool same_host;
	bool vector;
	bool varlen;
	u32 size;
	u32 rank;
	u32 nranks;
	u32 root;
	u32 lane;
	u32 nlanes;
	u32 segment;
	u64 count;
	const u64 *send_first;
	const u64 *recv_first;
	const struct coll_schedule *schedule;
};

/* Of a scratch window, which is four of these: see struct coll_schedule. */
#define COLL_SEGMENT	(128 * 1024U)

/**
 * coll_plan_call() - collective, type and so on in sixteen bits
 * @plan: the operation
 *
 * Every data frame carries it: two calls that differ in nothing but these would
 * otherwise take each other's bytes.  What is not reduced is never wide: there the
 * same bit says that lengths are told, or of an allgather that they differ.  Of a message
 * only its receiver knows that.
 *
 * Return: a number that no other call has, but that a message has the same at both
 * ends.
 */
static inline u16 coll_plan_call(const struct coll_plan *plan)
{
	u8 collective = plan->collective;
	bool told = (plan->varlen && collective != COLLECTIVE_RECV) ||
		    (plan->vector && collective == COLLECTIVE_ALLGATHER);

	if (collective == COLLECTIVE_RECV)
		collective = COLLECTIVE_SEND;
	return collective | plan->type << 4 | plan->reduction << 8 |
	       plan->algorithm << 12 | (plan->wide || told) << 14 |
	       plan->reproducible << 15;
}

/**
 * coll_plan_is_p2p() - is it a message, of which only two ranks know?
 * @plan: the operation
 */
static inline bool coll_plan_is_p2p(const struct coll_plan *plan)
{
	return plan->collective == COLLECTIVE_SEND || plan->collective == COLLECTIVE_RECV;
}

/**
 * coll_plan_is_root() - is this rank the root?
 * @plan: the operation, of which one rank is
 */
static inline bool coll_plan_is_root(const struct coll_plan *plan)
{
	return plan->rank == plan->root;
}

/**
 * struct coll_span - some bytes of an area
 * @area: enum coll_area
 * @off: from the beginning of the operation's buffer
 * @len: may be 0
 */
struct coll_span {
	u32 area;
	u64 off;
	u64 len;
};

/**
 * struct coll_step - one step of one rank
 * @to: who is sent @out, or COLL_NOBODY
 * @from: who sends us @in, or COLL_NOBODY
 * @out: what is sent
 * @in: where what arrives is stored; its length is that of what arrives
 * @tee: where it is stored as it arrives besides, if it has a length
 * @reduce: store own (op) arriving, else just arriving
 * @own: area of our own operand...
 * @own_off: ...and where in it
 * @wide_in: binary32 sums arrive, twice as long as our own operand
 * @wide_out: binary32 sums are stored
 * @last: the reduction is complete after this step (an average divides here)
 * @depends_on: so many steps must be received before @out may be sent
 * @cut_through: @out is what the last of these receives: it may be sent as it comes
 * @tag: its number on the wire, the same for who sends and who receives; what
 *	belongs to another step, or has another root, in a call that does not match
 *	has another one.  At first the number of the step; 16 bits of it are sent
 * @signal: this step is a signal and has no payload
 * @exchange: @out is in windowed scratch and as long as @in.  What @in has is copied there
 *	first: the other may send as far as that has been done, and so may we
 * @clear: all that still arrives comes from @from, and goes nowhere else than to the result:
 *	no room has to be waited for
 * @single_frame: the two have not agreed how long it is: what is eager is all in one frame,
 *	and for what is not a grant is asked, telling the length
 * @length_from_sender: the sender of this @single_frame step decides its length; @in is the
 *	capacity, and bytes beyond it are dropped.  A plan has one such step at most, and its
 *	@signal means a capacity of zero
 * @hazard: enum coll_hazard of the write to @in
 */
struct coll_step {
	u32 to;
	u32 from;
	struct coll_span out;
	struct coll_span in;
	struct coll_span tee;
	bool reduce;
	u8 own;
	u64 own_off;
	bool wide_in;
	bool wide_out;
	bool last;
	u64 depends_on;
	bool cut_through;
	u32 tag;
	bool signal;
	bool exchange;
	bool clear;
	bool single_frame;
	bool length_from_sender;
	u8 hazard;
};

/* Bytes that a half of a step moves; a token counts for one. */
static inline u64 coll_half_moves(const struct coll_step *step, u32 peer,
				  const struct coll_span *span)
{
	if (peer == COLL_NOBODY)
		return 0;
	return step->signal ? 1 : span->len;
}

/**
 * struct coll_local - what a rank copies from its input to its result
 * @from: offset in COLL_AREA_SEND, bytes
 * @to: offset in COLL_AREA_RECV
 * @len: bytes, may be 0
 */
struct coll_local {
	u64 from;
	u64 to;
	u64 len;
};

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
 * that swap need no segments: each can take as much as it has set aside, and what it
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
 * @turn: the last step that takes something from @peer, of what is sent on credit; any
 *	other number: there is none.  NULL: all comes from the rank before (@ring), or of
 *	the steps there are COLL_STEPS_FEW at most
 * @meets: does any step send to @peer, or receive from it?  NULL: the steps are few
 * @local: what is copied here besides; @local is zeroed; NULL: nothing
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
	u64 (*turn)(const struct coll_plan *plan, u32 peer);
	bool (*meets)(const struct coll_plan *plan, u32 peer);
	void (*local)(const struct coll_plan *plan, struct coll_local *local);
	void (*save_input)(const struct coll_plan *plan, struct coll_local *local);
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
extern const struct coll_schedule coll_pair_send;
extern const struct coll_schedule coll_pair_recv;
extern const struct coll_schedule coll_varlen_broadcast;
extern const struct coll_schedule coll_varlen_scatter;
extern const struct coll_schedule coll_direct_gather;
extern const struct coll_schedule coll_direct_scatter;
extern const struct coll_schedule coll_direct_reduce;
extern const struct coll_schedule coll_direct_alltoall;
extern const struct coll_schedule coll_direct_swap;
extern const struct coll_schedule coll_direct_reduce_scatter;
extern const struct coll_schedule coll_direct_allreduce;

struct coll_range coll_plan_block(const struct coll_plan *plan, const u64 *first, u32 block);
struct coll_range coll_plan_single(const struct coll_plan *plan, const u64 *first, u32 block);
struct coll_range coll_plan_vector(const struct coll_plan *plan);
struct coll_range coll_plan_chunk(const struct coll_plan *plan, u32 index);
u32 coll_plan_lanes(const struct coll_plan *plan);
u64 coll_plan_max_block(const struct coll_plan *plan);
bool coll_plan_wide(const struct coll_plan *plan);
u64 coll_plan_first(const struct coll_plan *plan, const u64 *first, u32 block);
u64 coll_plan_total(const struct coll_plan *plan);
u64 coll_plan_result(const struct coll_plan *plan);
bool coll_plan_eager(const struct coll_plan *plan);
bool coll_plan_implicit_match(const struct coll_plan *plan);
u64 coll_plan_scratch(const struct coll_plan *plan);
struct coll_span coll_plan_span(const struct coll_plan *plan, struct coll_range range,
				u8 area);

u64 coll_plan_before(const struct coll_plan *plan, u32 block);
u32 coll_plan_scratch_elem_size(const struct coll_plan *plan);
u64 coll_plan_segments(const struct coll_plan *plan, u64 count);
struct coll_range coll_plan_segment(const struct coll_plan *plan, struct coll_range range,
				    u64 index);
struct coll_span coll_plan_scratch_slot(const struct coll_plan *plan, u64 count, u64 index);
void coll_chain_link(const struct coll_plan *plan, u32 place, struct coll_span own,
		     struct coll_span at, struct coll_step *step);

bool coll_plan_moves(const struct coll_plan *plan);
void coll_plan_local(const struct coll_plan *plan, struct coll_range from,
		     struct coll_range to, struct coll_local *local);
void coll_local_alone(const struct coll_plan *plan, struct coll_local *local);
void coll_local_first(const struct coll_plan *plan, struct coll_local *local);
void coll_local_root(const struct coll_plan *plan, struct coll_local *local);

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

#endif /* COLL_SCHEDULE_H */
