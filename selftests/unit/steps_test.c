// SPDX-License-Identifier: GPL-2.0-only
/*
 * The number of steps of a schedule, and of those that the engine computes.  The engine skips
 * steps that move nothing, so that the work depends on the bytes moved and the ranks only.
 */
#include "engine_fixture.h"
#include "tap.h"

#define RANKS		1024U
#define GIB		(1ULL << 30)

static u64 first[RANKS + 1];

/*
 * Make blocks of up to 4 elements, many without any.  An odd seed puts all elements in one block.
 *
 * Return: the elements of the longest block.
 */
static u64 blocks_uneven(u32 nranks, u32 seed)
{
	u64 longest = 0;
	u32 i;

	for (i = 0; i < nranks; i++) {
		u64 count = (i * 7 + seed * 13) % 5;

		if (seed & 1)
			count = i == seed % nranks ? 40 : 0;
		else if (count < 3)
			count = 0;
		first[i + 1] = first[i] + count;
		longest = max(longest, count);
	}
	return longest;
}

static struct coll_plan plan_of(u8 collective, u32 nranks, u32 rank, u32 way)
{
	return (struct coll_plan){
		.collective = collective,
		.type = way & 1 ? COLLECTIVE_BFLOAT16 : COLLECTIVE_FLOAT32,
		.reduction = COLLECTIVE_SUM,
		.algorithm = way & 2 ? COLLECTIVE_ALGORITHM_RING : COLLECTIVE_ALGORITHM_AUTO,
		.reproducible = way & 4,
		.wide = way & 1,
		.size = way & 1 ? 2 : 4,
		.rank = rank,
		.nranks = nranks,
		.root = nranks / 2,
		.nlanes = 1,
		.segment = 16,
		.count = 23,
	};
}

static bool moves(const struct coll_step *step, bool sends)
{
	return sends ? coll_half_moves(step, step->to, &step->out) :
		       coll_half_moves(step, step->from, &step->in);
}

/* Return: true if next() finds from every step what a look at all steps finds. */
static bool next_agrees(const struct coll_schedule *schedule, const struct coll_plan *plan,
			bool sends)
{
	u64 nsteps = schedule->steps(plan), found = nsteps, i = nsteps;
	struct coll_step step;

	while (i--) {
		coll_schedule_step(schedule, plan, i, &step);
		if (moves(&step, sends))
			found = i;
		if (coll_schedule_next(schedule, plan, i, nsteps, sends, &step) != found)
			return false;
		if (found < nsteps && !moves(&step, sends))
			return false;
	}
	return true;
}

static bool meets_agrees(const struct coll_schedule *schedule, const struct coll_plan *plan)
{
	u64 nsteps = schedule->steps(plan), i;
	bool met[RANKS] = { 0 };
	struct coll_step step;
	u32 peer;

	if (!nsteps)
		return true;
	for (i = 0; i < nsteps; i++) {
		coll_schedule_step(schedule, plan, i, &step);
		if (moves(&step, true))
			met[step.to] = true;
		if (moves(&step, false))
			met[step.from] = true;
	}
	for (peer = 0; peer < plan->nranks; peer++)
		if (peer != plan->rank && schedule->has_peer(plan, peer) != met[peer])
			return false;
	return true;
}

/* Compare all calls whose schedule has segments.  Return: their number. */
static u32 segmented(u8 collective, u32 n, bool *next, bool *meets)
{
	u32 rank, way, vector, kinds = 0;

	for (rank = 0; rank < n; rank++)
		for (way = 0; way < 8 * 6; way++) {
			struct coll_plan plan = plan_of(collective, n, rank, way % 8);
			const struct coll_schedule *schedule;

			vector = way / 8;
			if (vector && collective == COLLECTIVE_REDUCE_SCATTER) {
				plan.vector = true;
				plan.count = blocks_uneven(n, vector);
				plan.send_first = first;
			}
			schedule = coll_schedule_find(&plan);
			if (!schedule || !schedule->next)
				continue;
			kinds++;
			*next &= next_agrees(schedule, &plan, true) &&
				 next_agrees(schedule, &plan, false);
			*meets &= !schedule->has_peer || meets_agrees(schedule, &plan);
		}
	return kinds;
}

static void test_segmented(void)
{
	bool next = true, meets = true;
	u32 n, kinds = 0;
	u8 c;

	for (c = 0; c < COLLECTIVE_OPCODE_COUNT; c++)
		for (n = 2; n < 10; n++)
			kinds += segmented(c, n, &next, &meets);
	tap_ok(kinds && next, "next() finds the next step that moves something");
	tap_ok(meets, "has_peer() agrees with a look at all steps");
}

static bool has_few(struct coll_plan plan)
{
	const struct coll_schedule *schedule = coll_schedule_find(&plan);

	return !schedule || schedule->next || schedule->steps(&plan) <= COLL_STEPS_MAX(plan.nranks);
}

/* A schedule without segments has few steps, however many bytes it moves. */
static void test_few(void)
{
	bool few = true;
	u32 n, way;
	u8 c;

	for (c = 0; c < COLLECTIVE_OPCODE_COUNT; c++)
		for (n = 2; n < 70; n++)
			for (way = 0; way < 8 * COLLECTIVE_ALGORITHM_COUNT; way++) {
				struct coll_plan plan = plan_of(c, n, n / 2, way % 8);

				plan.algorithm = way / 8;
				plan.segment = 0;
				plan.count = 1;
				few &= has_few(plan);
				plan.count = 1ULL << 40;
				few &= has_few(plan);
				/* Rank 0 has most children. */
				plan.rank = 0;
				plan.reads = true;
				few &= has_few(plan);
			}
	tap_ok(few, "a schedule without segments has at most five steps a rank");
}

/* Return: the plan of a reduce-scatter in which rank 0's block has all elements. */
static struct coll_plan huge(u64 bytes, u32 rank, bool ordered)
{
	u32 i;

	for (i = 0; i <= RANKS; i++)
		first[i] = i ? bytes / 4 : 0;
	return (struct coll_plan){
		.collective = COLLECTIVE_REDUCE_SCATTER,
		.type = COLLECTIVE_FLOAT32,
		.reduction = COLLECTIVE_SUM,
		.algorithm = ordered ? COLLECTIVE_ALGORITHM_AUTO : COLLECTIVE_ALGORITHM_RING,
		.reproducible = ordered,
		.vector = true,
		.size = 4,
		.rank = rank,
		.nranks = RANKS,
		.nlanes = 1,
		.count = bytes / 4,
		.send_first = first,
	};
}

static const struct coll_schedule *counted;
static u64 steps_seen, blocks_seen;

static u64 counted_steps(const struct coll_plan *plan)
{
	return counted->steps(plan);
}

static void counted_step(const struct coll_plan *plan, u64 i, struct coll_step *step)
{
	steps_seen++;
	counted->step(plan, i, step);
}

static u64 counted_next(const struct coll_plan *plan, u64 i, bool sends)
{
	blocks_seen += RANKS;
	return counted->next(plan, i, sends);
}

static u64 counted_scratch(const struct coll_plan *plan)
{
	return counted->scratch(plan);
}

/*
 * Return: true if the engine computes few steps until the task waits for its first byte, or is
 * complete.
 */
static bool is_cheap(u64 bytes, u32 rank, bool ordered)
{
	struct coll_plan plan = huge(bytes, rank, ordered);
	struct coll_schedule counting;
	struct fixture *f = fixture_new(rank, RANKS);
	struct coll_task_args call = {
		.area = { &f->send.mem, &f->recv.mem, &f->send.mem },
	};
	bool cheap;

	counted = coll_schedule_find(&plan);
	counting = *counted;
	counting.steps = counted_steps;
	counting.step = counted_step;
	counting.next = counted->next ? counted_next : NULL;
	counting.scratch = counted_scratch;
	plan.schedule = &counting;
	call.plan = plan;
	steps_seen = 0;
	blocks_seen = 0;
	/* Only the first ranks have streams; the other ones do not matter here. */
	cheap = !submit_call(f, &call) && steps_seen < 16 && blocks_seen <= 16 * RANKS;
	tap_note("%s, rank %u: %llu steps of %llu", counted->name, rank,
		 (unsigned long long)steps_seen, (unsigned long long)counted->steps(&plan));
	fixture_free(f);
	return cheap;
}

static void test_huge(void)
{
	struct coll_plan plan = huge(512 * GIB, 1, true);

	tap_ok(coll_schedule_find(&plan)->steps(&plan) == 2ULL * RANKS * (512 * GIB / COLL_SEGMENT),
	       "512 GiB in the order of ranks: two steps for each segment and rank");
	plan = huge(512 * GIB, 1, false);
	tap_ok(coll_schedule_find(&plan)->steps(&plan) ==
	       (RANKS - 1ULL) * (512 * GIB / COLL_SEGMENT),
	       "512 GiB along the ring: a step for each segment and other rank");
	tap_ok(is_cheap(64 * GIB, 0, true), "the first of 1,024 ranks computes few steps");
	tap_ok(is_cheap(64 * GIB, 1, true), "the second rank computes few steps");
	tap_ok(is_cheap(64 * GIB, RANKS - 1, true), "the last rank computes few steps");
	tap_ok(is_cheap(64 * GIB, 1, false),
	       "the rank that only sends, on the ring, computes few steps");
	tap_ok(is_cheap(512 * GIB, 2, false), "the next rank, with 512 GiB, computes few steps");
}

int main(void)
{
	tap_plan(0);
	test_segmented();
	test_few();
	test_huge();
	return tap_exit();
}
