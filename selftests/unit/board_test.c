// SPDX-License-Identifier: GPL-2.0-only
/*
 * The board in one thread: which operations fit, and the results of all of them, in groups of 2 to
 * 64 ranks, in slots and in pages, against a naive loop in the order of ranks.
 */
#include <stdlib.h>

#include "core/board/order.h"
#include "core/reduce/reduce.h"
#include "tap.h"

#include <linux/collective.h>

#define RESULT_MAX	(COLL_BOARD_READ + 64)

static struct coll_board board[COLL_BOARD_RANKS];
static struct coll_board_words words[COLL_BOARD_RANKS];
static struct coll_board_part parts[COLL_BOARD_RANKS];
static struct coll_board_part *views[COLL_BOARD_RANKS];
static u8 shown[COLL_BOARD_RANKS][COLL_BOARD_PAGES][COLL_BOARD_PUBLISHED];
static u8 hidden[COLL_BOARD_RANKS][COLL_BOARD_PAGES][COLL_BOARD_PUBLISHED];
static u8 input[COLL_BOARD_RANKS][COLL_BOARD_PUBLISHED];
static u8 result[RESULT_MAX], expected[RESULT_MAX], part[COLL_REDUCE_PART];
static u64 sleepers, impatient;

static void begin(u32 nranks)
{
	u32 rank;

	memset(words, 0, sizeof(words));
	for (rank = 0; rank < nranks; rank++) {
		board[rank] = (struct coll_board){
			.rank = rank, .nranks = nranks,
			.part = views, .sleepers = &sleepers, .impatient = &impatient,
		};
		parts[rank] = (struct coll_board_part){
			.words = &words[rank],
			.shown = shown[rank][0], .hidden = hidden[rank][0],
		};
		views[rank] = &parts[rank];
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
		.board = true,
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

/* The memory of the result is in short pieces. */
#define PIECE	96

static void *result_at(const struct coll_mem *mem, u64 off, size_t *len)
{
	(void)mem;
	*len = PIECE - off % PIECE;
	return result + off;
}

/* Return: true if the result of each rank is right, and nothing else was stored. */
static bool run(struct coll_plan plan, u64 instance)
{
	const struct coll_mem mem = { result_at, sizeof(result) };
	struct coll_fuse_stats stats = { 0 };
	const struct coll_board_out out = {
		.mem = &mem, .impl = &coll_reduce_scalar, .part = part, .stats = &stats,
	};
	enum coll_board_place place;
	bool right = true;
	u64 len;
	u32 r;

	for (plan.rank = 0; plan.rank < plan.nranks; plan.rank++) {
		len = coll_board_published(&plan, plan.rank);
		place = coll_board_place(&plan, plan.rank);
		right &= coll_board_reserve(&board[plan.rank], instance, place);
		memcpy(coll_board_payload(&board[plan.rank], plan.rank, instance, place),
		       input[plan.rank], len);
		r = 0;
		right &= plan.rank == plan.nranks - 1 ||
			 coll_board_scan(&board[plan.rank], instance, 1, COLL_BOARD_ALL, &r) ==
			 COLL_BOARD_MISSING;
		coll_board_publish(&board[plan.rank], instance, 1, place);
	}
	for (plan.rank = 0; plan.rank < plan.nranks; plan.rank++) {
		r = 0;
		right &= coll_board_scan(&board[plan.rank], instance, 1, COLL_BOARD_ALL, &r) ==
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
		plan.board = false;
		right &= !coll_board_fits(&plan);
	}
	tap_ok(right, "operations of the board: bytes, ranks, algorithm, forms");
}

/* A rank publishes no more operations ahead of the others than there are slots, or pages. */
static void test_space(enum coll_board_place place, u32 most)
{
	static const char *const names[] = {
		[COLL_BOARD_SLOT] = "in slots",
		[COLL_BOARD_SHOWN] = "in shown pages",
		[COLL_BOARD_HIDDEN] = "in hidden pages",
	};
	u64 instance = 0;
	u32 r = 0;

	begin(2);
	while (coll_board_reserve(&board[0], instance, place))
		coll_board_publish(&board[0], instance++, 1, place);
	tap_ok(instance == most, "a rank is %u operations ahead at most %s", most, names[place]);
	coll_board_publish(&board[1], 0, 1, place);
	coll_board_finish(&board[1], 0);
	tap_ok(!coll_board_reserve(&board[0], instance, place), "nor when only the other has read");
	coll_board_finish(&board[0], 0);
	tap_ok(coll_board_reserve(&board[0], instance, place), "when both have, it goes on");
	coll_board_publish(&board[0], instance, 1, place);
	tap_ok(coll_board_scan(&board[1], instance - most, 1, COLL_BOARD_ALL, &r) ==
	       (most == COLL_BOARD_SLOTS ? COLL_BOARD_PASSED : COLL_BOARD_COMPLETE),
	       "a rank that looks for the slot's operation finds that it has passed");
}

/* Operations that are not on the board have numbers, too, and no rank waits for them. */
static void test_gap(enum coll_board_place place)
{
	bool right = true;
	u64 instance;

	begin(2);
	for (instance = 0; instance < 400; instance += 1 + instance % 7) {
		right &= coll_board_reserve(&board[0], instance, place);
		coll_board_publish(&board[0], instance, 1, place);
		coll_board_publish(&board[1], instance, 1, place);
		coll_board_finish(&board[0], instance);
		coll_board_finish(&board[1], instance);
	}
	tap_ok(right, "operations that are not on the board keep none of it back (%u)", place);
}

static void test_differs(void)
{
	u32 r = 0;

	begin(2);
	coll_board_publish(&board[0], 5, 1, COLL_BOARD_SLOT);
	coll_board_publish(&board[1], 5, 2, COLL_BOARD_SLOT);
	tap_ok(coll_board_scan(&board[0], 5, 1, COLL_BOARD_ALL, &r) == COLL_BOARD_DIFFERS && r == 1,
	       "another call is found, and its rank");
}

static void test_sleepers(void)
{
	u32 i;

	begin(64);
	for (i = 0; i < 64; i += 9)
		coll_board_sleep(&board[i], COLL_BOARD_ALL);
	coll_board_wake_up(&board[9]);
	tap_ok(coll_board_sleepers(&board[1]) == (0x8040201008040201ULL & ~BIT_ULL(9)) &&
	       !coll_board_sleepers(&board[1]), "sleepers are taken once");
	tap_ok(!coll_board_wakes(&board[1]), "those that wait for all are not woken by one");
	coll_board_sleep(&board[2], BIT_ULL(1));
	tap_ok(coll_board_wakes(&board[1]) && !coll_board_wakes(&board[2]),
	       "one that need not is woken by another");
	coll_board_wake_up(&board[2]);
	tap_ok(!coll_board_wakes(&board[1]), "and once");
}

/* What a process stores frees no page that is hidden from it. */
static void test_hidden_done(void)
{
	u64 instance;

	begin(2);
	for (instance = 0; instance < COLL_BOARD_PAGES; instance++) {
		coll_board_publish(&board[0], instance, 1, COLL_BOARD_HIDDEN);
		coll_board_finish(&board[0], instance);
	}
	words[1].done = U64_MAX;
	tap_ok(!coll_board_reserve(&board[0], instance, COLL_BOARD_HIDDEN) &&
	       coll_board_reserve(&board[0], instance, COLL_BOARD_SLOT),
	       "a page is in use until the other rank's kernel has read it");
	coll_board_finish(&board[1], 0);
	tap_ok(coll_board_reserve(&board[0], instance, COLL_BOARD_HIDDEN), "and free then");
}

/* A process and its kernel take turns, and neither begins before the other has ended. */
static void test_order(void)
{
	struct coll_board_words *own = words;
	u64 p = 0, q = 0;

	begin(2);
	tap_ok(coll_order_take(own, &p) && !p && !coll_order_take(own, &q),
	       "one thread of a process is at an operation");
	tap_ok(coll_order_admit(own, 0, true, &q) == COLL_ORDER_BUSY, "the kernel waits for it");
	own->attention = 1;
	tap_ok(coll_order_release(own, p), "which the thread sees when it ends");
	own->attention = 0;
	tap_ok(coll_order_admit(own, 1, true, &q) == COLL_ORDER_READY && q == 1 &&
	       !coll_order_take(own, &p), "while requests are on the board, the process waits");
	tap_ok(coll_order_admit(own, 2, false, &q) == COLL_ORDER_READY && q == 2 &&
	       !coll_order_take(own, &p), "also with others behind them");
	coll_order_end(own, COLL_ORDER_PROCESS);
	tap_ok(!coll_order_take(own, &p), "only its owner gives the board back");
	coll_order_end(own, COLL_ORDER_KERNEL);
	tap_ok(coll_order_admit(own, 3, false, &q) == COLL_ORDER_READY && q == 3 &&
	       coll_order_take(own, &p) && p == 4, "others leave the board to the process");
	tap_ok(coll_order_resume(own, 4, 3) == COLL_ORDER_BROKEN &&
	       coll_order_resume(own, 4, 5) == COLL_ORDER_BROKEN &&
	       coll_order_resume(own, 5, 4) == COLL_ORDER_BROKEN &&
	       coll_order_resume(own, 4, 4) == COLL_ORDER_READY &&
	       coll_order_resume(own, 4, 4) == COLL_ORDER_BROKEN,
	       "the kernel goes on with the operation of the process, once");
	coll_order_end(own, COLL_ORDER_KERNEL);
	tap_ok(coll_order_take(own, &p) && p == 5, "and the next one is the process's again");
	coll_order_cancel(own, 5);
	tap_ok(coll_order_take(own, &p) && p == 5, "one that was cancelled has had no place");
	tap_ok(coll_order_resume(own, 5, 5) == COLL_ORDER_READY, "nor has it changed the next");
	tap_ok(!coll_order_release(own, 4) && !coll_order_take(own, &p),
	       "a thread whose operation has gone to the kernel ends nothing");
}

static void test_order_broken(void)
{
	static const u64 bad[] = {
		(9ULL << 2), (COLL_ORDER_MAX << 2), ~0ULL, (10ULL << 2) | COLL_ORDER_OWNERS,
	};
	struct coll_board_words *own = words;
	bool right = true;
	u64 instance, word;
	u32 i;

	begin(2);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		own->order = bad[i];
		right &= !coll_order_read(own, 10, &word);
		right &= coll_order_admit(own, 10, true, &instance) == COLL_ORDER_BROKEN;
		right &= own->order == bad[i];
	}
	tap_ok(right, "a word that no process may store is found");
	own->order = coll_order_word(10, COLL_ORDER_FREE);
	tap_ok(coll_order_read(own, 10, &word) && word == own->order, "and one that it may");
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
	test_space(COLL_BOARD_SLOT, COLL_BOARD_SLOTS);
	test_space(COLL_BOARD_SHOWN, COLL_BOARD_PAGES);
	test_space(COLL_BOARD_HIDDEN, COLL_BOARD_PAGES);
	test_gap(COLL_BOARD_SLOT);
	test_gap(COLL_BOARD_SHOWN);
	test_gap(COLL_BOARD_HIDDEN);
	test_differs();
	test_sleepers();
	test_hidden_done();
	test_order();
	test_order_broken();
	return tap_exit();
}
