// SPDX-License-Identifier: GPL-2.0-only
/*
 * The board in one thread: which operations fit, and the results of all of them, in groups of 2 to
 * 64 ranks, in slots and in pages, against a naive loop in the order of ranks.
 */
#include <stdlib.h>

#include "core/board/board.h"
#include "core/reduce/reduce.h"
#include "tap.h"

#include <linux/collective.h>

#define RESULT_MAX	(COLL_BOARD_READ + 64)

static struct coll_board board[COLL_BOARD_RANKS];
static struct coll_board_words words[COLL_BOARD_RANKS];
static u8 pages[COLL_BOARD_RANKS][COLL_BOARD_PAGES][COLL_BOARD_PUBLISHED];
static u8 input[COLL_BOARD_RANKS][COLL_BOARD_PUBLISHED];
static u8 result[RESULT_MAX], expected[RESULT_MAX], part[COLL_REDUCE_PART];
static u64 sleepers;

static void begin(u32 nranks)
{
	u32 rank, i, k;

	memset(words, 0, sizeof(words));
	for (rank = 0; rank < nranks; rank++) {
		board[rank] = (struct coll_board){
			.rank = rank, .nranks = nranks, .sleepers = &sleepers,
		};
		for (i = 0; i < nranks; i++) {
			board[rank].part[i].words = &words[i];
			for (k = 0; k < COLL_BOARD_PAGES; k++)
				board[rank].part[i].page[k] = pages[i][k];
		}
	}
}

static struct coll_plan plan_of(u8 collective, u8 type, u8 reduction, u32 nranks, u64 count)
{
	return (struct coll_plan){
		.collective = collective,
		.type = type,
		.reduction = reduction,
		.size = coll_type_size(type),
		.nranks = nranks,
		.root = nranks / 2,
		.count = count,
		.reads = true,
	};
}

/* Is there a result on this rank? */
static bool has_result(const struct coll_plan *plan)
{
	switch (plan->collective) {
	case COLLECTIVE_BARRIER:
		return false;
	case COLLECTIVE_REDUCE:
	case COLLECTIVE_GATHER:
		return coll_plan_is_root(plan);
	case COLLECTIVE_BROADCAST:
		return !coll_plan_is_root(plan);
	case COLLECTIVE_EXSCAN:
		return plan->rank;
	default:
		return true;
	}
}

/* Block @index of each of the first @ranks ranks, reduced one after the other. */
static void expect_reduced(const struct coll_plan *plan, u32 ranks, u32 index)
{
	const size_t at = index * plan->count * plan->size;
	u32 rank;

	memcpy(expected, input[0] + at, plan->count * plan->size);
	for (rank = 1; rank < ranks; rank++)
		coll_reduce(&coll_reduce_scalar, plan->type, plan->reduction, expected, expected,
			    input[rank] + at, plan->count, 1);
}

static void expect_copied(const struct coll_plan *plan, u32 index)
{
	const size_t len = plan->count * plan->size;
	u32 rank;

	for (rank = 0; rank < plan->nranks; rank++)
		memcpy(expected + rank * len, input[rank] + index * len, len);
}

static size_t expect(const struct coll_plan *plan)
{
	const size_t len = plan->count * plan->size;

	switch (plan->collective) {
	case COLLECTIVE_ALLREDUCE:
	case COLLECTIVE_REDUCE:
		expect_reduced(plan, plan->nranks, 0);
		return len;
	case COLLECTIVE_REDUCE_SCATTER:
		expect_reduced(plan, plan->nranks, plan->rank);
		return len;
	case COLLECTIVE_SCAN:
		expect_reduced(plan, plan->rank + 1, 0);
		return len;
	case COLLECTIVE_EXSCAN:
		expect_reduced(plan, plan->rank, 0);
		return len;
	case COLLECTIVE_BROADCAST:
		memcpy(expected, input[plan->root], len);
		return len;
	case COLLECTIVE_SCATTER:
		memcpy(expected, input[plan->root] + plan->rank * len, len);
		return len;
	case COLLECTIVE_ALLTOALL:
		expect_copied(plan, plan->rank);
		return plan->nranks * len;
	default:
		expect_copied(plan, 0);
		return plan->nranks * len;
	}
}

/* Return: true if the result of each rank is right, and nothing else was stored. */
static bool run(struct coll_plan plan, u64 instance)
{
	const struct coll_board_out out = { result, &coll_reduce_scalar, part };
	bool right = true;
	u64 len;
	u32 r;

	for (plan.rank = 0; plan.rank < plan.nranks; plan.rank++) {
		len = coll_board_published(&plan);
		right &= coll_board_reserve(&board[plan.rank], instance, len);
		memcpy(coll_board_payload(&board[plan.rank], plan.rank, instance, len),
		       input[plan.rank], len);
		r = 0;
		right &= coll_board_scan(&board[plan.rank], instance, 1, &r) ==
			 COLL_BOARD_MISSING;
		coll_board_publish(&board[plan.rank], instance, 1, len);
	}
	for (plan.rank = 0; plan.rank < plan.nranks; plan.rank++) {
		r = 0;
		right &= coll_board_scan(&board[plan.rank], instance, 1, &r) ==
			 COLL_BOARD_COMPLETE;
		memset(result, 0xa5, sizeof(result));
		memset(expected, 0xa5, sizeof(expected));
		coll_board_take(&board[plan.rank], &plan, instance, &out);
		if (has_result(&plan))
			expect(&plan);
		right &= !memcmp(result, expected, sizeof(result));
		right &= !coll_board_finish(&board[plan.rank], instance);
	}
	return right;
}

/* The most elements that fit, and those of a slot. */
static bool run_all(u8 collective, u8 type, u8 reduction, u32 nranks, u64 *instance)
{
	static const u64 counts[] = { 0, 1, 3, 6, 12, 48, 100, 512, 1000, 2048, 4096 };
	bool right = true;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		const struct coll_plan plan = plan_of(collective, type, reduction, nranks,
						      counts[i]);

		if (coll_board_fits(&plan))
			right &= run(plan, (*instance)++);
	}
	return right;
}

static void test_results(void)
{
	static const u32 groups[] = { 2, 3, 5, 16, 64 };
	static const u8 types[] = { COLLECTIVE_FLOAT64, COLLECTIVE_INT32, COLLECTIVE_BFLOAT16 };
	bool right;
	u8 collective;
	u32 g, t;

	for (collective = 0; collective < COLLECTIVE_SEND; collective++) {
		right = true;
		for (g = 0; g < ARRAY_SIZE(groups); g++) {
			u64 instance = 0;

			begin(groups[g]);
			for (t = 0; t < ARRAY_SIZE(types); t++)
				right &= run_all(collective, types[t], COLLECTIVE_SUM, groups[g],
						 &instance);
		}
		tap_ok(right, "collective %u: results of 2 to 64 ranks", collective);
	}
}

/* Operations that fit, each beside one that does not because of one field. */
static void test_fits(void)
{
	static const struct {
		bool fits;
		struct coll_plan plan;
	} calls[] = {
		{ true, { .nranks = 4, .count = 512 } },
		{ false, { .nranks = 4, .count = 513 } },
		{ false, { .nranks = 4, .count = U64_MAX } },
		{ false, { .nranks = 17, .count = 512 } },
		{ false, { .nranks = 65, .count = 1 } },
		{ false, { .nranks = 4, .count = 512, .vector = true } },
		{ false, { .nranks = 4, .count = 512, .algorithm = COLLECTIVE_ALGORITHM_RING } },
		{ true, { .nranks = 4, .count = 128, .collective = COLLECTIVE_ALLTOALL } },
		{ false, { .nranks = 4, .count = 129, .collective = COLLECTIVE_ALLTOALL } },
	};
	struct coll_plan plan;
	bool right = true;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		plan = plan_of(calls[i].plan.collective ?: COLLECTIVE_ALLREDUCE,
			       COLLECTIVE_FLOAT64, COLLECTIVE_SUM, calls[i].plan.nranks,
			       calls[i].plan.count);
		plan.vector = calls[i].plan.vector;
		plan.algorithm = calls[i].plan.algorithm;
		right &= coll_board_fits(&plan) == calls[i].fits;
		plan.reads = false;
		right &= !coll_board_fits(&plan);
	}
	tap_ok(right, "operations of the board: bytes, ranks, algorithm, forms");
}

/* A rank publishes no more operations ahead of the others than there are slots, or pages. */
static void test_space(size_t len, u32 most)
{
	u64 instance = 0;
	u32 r = 0;

	begin(2);
	while (coll_board_reserve(&board[0], instance, len))
		coll_board_publish(&board[0], instance++, 1, len);
	tap_ok(instance == most, "a rank is %u operations ahead at most with %zu bytes", most, len);
	coll_board_publish(&board[1], 0, 1, len);
	coll_board_finish(&board[1], 0);
	tap_ok(!coll_board_reserve(&board[0], instance, len), "nor when only the other has read");
	coll_board_finish(&board[0], 0);
	tap_ok(coll_board_reserve(&board[0], instance, len), "when both have, it goes on");
	coll_board_publish(&board[0], instance, 1, len);
	tap_ok(coll_board_scan(&board[1], instance - most, 1, &r) ==
	       (most == COLL_BOARD_SLOTS ? COLL_BOARD_PASSED : COLL_BOARD_COMPLETE),
	       "a rank that looks for the slot's operation finds that it has passed");
}

static void test_differs(void)
{
	u32 r = 0;

	begin(2);
	coll_board_publish(&board[0], 5, 1, 0);
	coll_board_publish(&board[1], 5, 2, 0);
	tap_ok(coll_board_scan(&board[0], 5, 1, &r) == COLL_BOARD_DIFFERS && r == 1,
	       "another call is found, and its rank");
}

static void test_sleepers(void)
{
	u32 i;

	begin(64);
	for (i = 0; i < 64; i += 9)
		coll_board_sleep(&board[i]);
	coll_board_wake_up(&board[9]);
	tap_ok(coll_board_sleepers(&board[1], 4) == (BIT_ULL(0) | BIT_ULL(18) | BIT_ULL(27) |
						       BIT_ULL(36)) &&
	       coll_board_sleepers(&board[1], 4) == (BIT_ULL(45) | BIT_ULL(54) | BIT_ULL(63)) &&
	       !coll_board_sleepers(&board[1], 4), "sleepers are taken once, some at a time");
}

int main(void)
{
	u32 i, k;

	for (i = 0; i < COLL_BOARD_RANKS; i++)
		for (k = 0; k < COLL_BOARD_PUBLISHED; k += 8)
			*(double *)&input[i][k] = (i * 37 + k) % 101 / 7.0 * (k % 3 ? 1 : -1);
	tap_plan(0);
	test_fits();
	test_results();
	test_space(8, COLL_BOARD_SLOTS);
	test_space(1000, COLL_BOARD_PAGES);
	test_differs();
	test_sleepers();
	return tap_exit();
}
