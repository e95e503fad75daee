// SPDX-License-Identifier: GPL-2.0-only
/*
 * The numbers of the schedules: a step of the sender has the length and tag that the receiver's
 * step expects.  This includes counts of more than 2^32 elements or bytes.
 */
#include "core/schedule/schedule.h"
#include "tap.h"

#include <linux/collective.h>

/* The most steps that are compared, the first or the last, of a schedule with many segments */
#define STEPS_MAX	300U

static const u64 counts[] = { 1, 4099, (1ULL << 32) + 12345, (1ULL << 40) + 7 };
static const u32 groups[] = { 2, 3, 4, 5, 8, 13 };

/* Bits of plan_of() */
#define WAYS	32

static struct coll_plan plan_of(u8 collective, u64 count, u32 nranks, u32 rank, u32 way)
{
	return (struct coll_plan){
		.collective = collective,
		.type = way & 1 ? COLLECTIVE_BFLOAT16 : COLLECTIVE_FLOAT64,
		.algorithm = way & 16 ? COLLECTIVE_ALGORITHM_DIRECT :
			     way & 2 ? COLLECTIVE_ALGORITHM_RING : COLLECTIVE_ALGORITHM_AUTO,
		.reproducible = way & 4,
		.reads = way & 8,
		.wide = way & 1,
		.size = way & 1 ? 2 : 8,
		.rank = rank,
		.nranks = nranks,
		.root = nranks / 2,
		.nlanes = 2,
		.count = count,
	};
}

static u64 moves(const struct coll_step *step, u32 peer, const struct coll_span *span)
{
	return peer == COLL_NO_RANK ? 0 : step->signal ? 1 : span->len;
}

/* Find the next step from @i on that sends to (or receives from) @peer.  Return: ~0U: none. */
static u32 next_step(const struct coll_plan *plan, u32 i, u32 peer, bool sends,
		     struct coll_step *step)
{
	const struct coll_schedule *schedule = coll_schedule_find(plan);
	u32 steps = min(schedule->steps(plan), STEPS_MAX);

	for (; i < steps; i++) {
		coll_schedule_step(schedule, plan, i, step);
		/* What a rank reads, no rank sends. */
		if (sends ? step->to == peer && moves(step, peer, &step->out) :
			    step->from == peer && !step->read && moves(step, peer, &step->in))
			break;
	}
	return i < steps ? i : ~0U;
}

static bool pair_agrees(struct coll_plan from, struct coll_plan to)
{
	u32 i, k;

	for (i = 0, k = 0; ; i++, k++) {
		struct coll_step out, in;

		i = next_step(&from, i, to.rank, true, &out);
		k = next_step(&to, k, from.rank, false, &in);
		if (i == ~0U || k == ~0U)
			return i == k;
		if (out.out.len != in.in.len || (u16)out.tag != (u16)in.tag)
			return false;
	}
	return true;
}

/* Return: true if no step reads or writes beyond the end of the user's buffers. */
static bool within(const struct coll_plan *plan)
{
	const struct coll_schedule *schedule = coll_schedule_find(plan);
	u64 total = plan->nranks * plan->count * plan->size;
	u64 steps = schedule->steps(plan), i;

	for (i = steps > STEPS_MAX ? steps - STEPS_MAX : 0; i < steps; i++) {
		struct coll_step step;

		coll_schedule_step(schedule, plan, i, &step);
		if (step.out.area != COLL_AREA_SCRATCH && step.out.off + step.out.len > total)
			return false;
		if (step.in.area != COLL_AREA_SCRATCH && step.in.off + step.in.len > 2 * total)
			return false;
	}
	return true;
}

static bool group_agrees(u8 collective, u64 count, u32 n, u32 way)
{
	u32 r, s;

	for (r = 0; r < n; r++) {
		struct coll_plan plan = plan_of(collective, count, n, r, way);

		if (!coll_schedule_find(&plan))
			return true;
		for (plan.lane = 0; plan.lane < 2; plan.lane++) {
			if (!within(&plan))
				return false;
			for (s = 0; s < n; s++) {
				struct coll_plan other = plan;

				other.rank = s;
				if (s != r && n <= 5 && !pair_agrees(plan, other))
					return false;
			}
		}
	}
	return true;
}

static void test_collective(u8 collective)
{
	bool agree = true;
	u32 c, g, way;

	for (c = 0; c < ARRAY_SIZE(counts); c++)
		for (g = 0; g < ARRAY_SIZE(groups); g++)
			for (way = 0; way < WAYS; way++)
				agree &= group_agrees(collective, counts[c], groups[g], way);
	tap_ok(agree, "both ends of every step of collective %u agree", collective);
}

/* The scratch window has a bounded size, however large the operation is. */
static void test_window(void)
{
	struct coll_plan plan = plan_of(COLLECTIVE_REDUCE, 1ULL << 40, 5, 0, 1);
	struct coll_plan root = plan;

	root.rank = plan.root;
	tap_ok(!coll_plan_scratch(&root), "the end of a chain needs no scratch window");
	tap_ok(coll_plan_scratch(&plan) == 4 * COLL_SEGMENT,
	       "2^41 bytes: a scratch window of four segments");
	plan.count = 100;
	tap_ok(coll_plan_scratch(&plan) == 512, "400 bytes: a scratch window of 512 bytes");
	plan.rank = plan.root;
	plan.reproducible = true;
	tap_ok(coll_plan_scratch(&plan) && !coll_plan_eager(&plan),
	       "an operation with a scratch window is not eager");
}

/* Return: true if the first algorithm that finds the plan's schedule is the one it names. */
static bool is_named(struct coll_plan plan)
{
	const struct coll_schedule *schedule = coll_schedule_find(&plan);

	if (!schedule)
		return true;
	plan.algorithm = COLLECTIVE_ALGORITHM_AUTO;
	while (++plan.algorithm < COLLECTIVE_ALGORITHM_COUNT)
		if (coll_schedule_find(&plan) == schedule)
			return plan.algorithm == schedule->algorithm;
	return false;
}

static void test_names(void)
{
	bool named = true;
	u32 collective, c, way, algorithm, flags;

	for (collective = 0; collective < COLLECTIVE_OPCODE_COUNT; collective++)
		for (c = 0; c < ARRAY_SIZE(counts); c++)
			for (way = 0; way < WAYS; way++)
				for (algorithm = 0; algorithm < COLLECTIVE_ALGORITHM_COUNT;
				     algorithm++)
					for (flags = 0; flags < 8; flags++) {
						struct coll_plan plan = plan_of(collective,
							counts[c], 4, 1, way);

						plan.algorithm = algorithm;
						plan.in_place = flags & 1;
						plan.vector = flags & 2;
						plan.varlen = flags & 4;
						named &= is_named(plan);
					}
	tap_ok(named, "every schedule is found by the algorithm it names, by none before");
}

#define BARRIER_RANKS	64

/**
 * struct barrier - the first barrier of a fused allreduce
 * @heard: by rank: bit r is set if it has heard of rank r
 * @depth: by rank: signals that it depends on, one after the other
 * @next: by rank: its next step
 * @sent: by sender and receiver: what a signal tells, and at which depth it is; 0: not sent
 * @signals: signals sent
 */
struct barrier {
	u64 heard[BARRIER_RANKS];
	u32 depth[BARRIER_RANKS];
	u32 next[BARRIER_RANKS];
	struct {
		u64 heard;
		u32 depth;
	} sent[BARRIER_RANKS][BARRIER_RANKS];
	u32 signals;
};

/* Return: true if the next step of a rank is one of the barrier, and could end. */
static bool barrier_step(struct barrier *barrier, u32 rank, u32 n)
{
	struct coll_plan plan = plan_of(COLLECTIVE_ALLREDUCE, 1ULL << 20, n, rank, 8);
	const struct coll_schedule *schedule = coll_schedule_find(&plan);
	u32 i = barrier->next[rank];
	struct coll_step step;

	coll_schedule_step(schedule, &plan, i, &step);
	if (!step.signal || step.depends_on != i)
		return false;
	if (step.to != COLL_NO_RANK && !barrier->sent[rank][step.to].depth) {
		barrier->sent[rank][step.to].heard = barrier->heard[rank];
		barrier->sent[rank][step.to].depth = barrier->depth[rank] + 1;
		barrier->signals++;
	}
	if (step.from != COLL_NO_RANK) {
		if (!barrier->sent[step.from][rank].depth)
			return false;
		barrier->heard[rank] |= barrier->sent[step.from][rank].heard;
		barrier->depth[rank] = max(barrier->depth[rank],
					   barrier->sent[step.from][rank].depth);
	}
	barrier->next[rank]++;
	return true;
}

static void barrier_run(struct barrier *barrier, u32 n)
{
	u32 before = ~0U, rank;

	memset(barrier, 0, sizeof(*barrier));
	for (rank = 0; rank < n; rank++)
		barrier->heard[rank] = 1ULL << rank;
	while (barrier->signals != before) {
		before = barrier->signals;
		for (rank = 0; rank < n; rank++)
			while (barrier_step(barrier, rank, n))
				;
	}
}

static void test_barrier(void)
{
	static struct barrier barrier;
	bool all = true, few = true, soon = true;
	u32 n, rank, rounds;

	for (n = 2; n <= BARRIER_RANKS; n++) {
		for (rounds = 0; 1U << rounds < n; rounds++)
			;
		barrier_run(&barrier, n);
		few &= barrier.signals == (n <= 8 ? n * rounds : 2 * (n - 1));
		for (rank = 0; rank < n; rank++) {
			all &= barrier.heard[rank] == ~0ULL >> (64 - n);
			soon &= barrier.depth[rank] <= (n <= 8 ? rounds : 2 * ((rounds + 1) / 2));
		}
	}
	tap_ok(all, "after a barrier of 2 to 64 ranks, each has heard of all others");
	tap_ok(few, "with log2(n) signals a rank up to 8 ranks, and two from there");
	tap_ok(soon, "of which log2(n) wait for one another, or 2 log4(n)");
}

/* A call that gives the lengths of blocks is another one, though they may all be equal. */
static void test_vector(void)
{
	struct coll_plan plan = plan_of(COLLECTIVE_REDUCE_SCATTER, 1ULL << 20, 4, 0, 8);
	const struct coll_schedule *schedule = coll_schedule_find(&plan);
	struct coll_step equal, given;

	coll_schedule_step(schedule, &plan, 0, &equal);
	plan.vector = true;
	coll_schedule_step(schedule, &plan, 0, &given);
	tap_ok(schedule->reads && equal.signal && given.signal && (u16)equal.tag != (u16)given.tag,
	       "a signal of a reduce_scatter tells whether blocks have lengths of their own");
}

int main(void)
{
	u8 collective;

	tap_plan(0);
	for (collective = 0; collective <= COLLECTIVE_EXSCAN; collective++)
		test_collective(collective);
	test_window();
	test_names();
	test_barrier();
	test_vector();
	return tap_exit();
}
