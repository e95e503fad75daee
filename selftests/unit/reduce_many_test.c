// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reductions of several operands at once are compared with a naive loop.
 *
 * Every type and reduction, with 2 to SOURCES operands, all tails, any alignment, and a result in
 * memory of its own or in that of any operand.  The memory ends at an inaccessible page.
 *
 *	reduce_many_test [SEED]
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/reduce/reduce.h"
#include "reduce_operands.h"
#include "reduce_reference.h"
#include "tap.h"

#define SOURCES		17
#define LONGEST		2500	/* elements: some parts of several passes, and a tail */
#define ARENA		(32U << 10)
#define GUARD		64
#define CANARY		0xa5
#define ROUNDS		100

static u8 *arena[SOURCES + 1];	/* the last one is for the result */
static u8 untouched[ARENA];
static u8 operand[SOURCES][LONGEST * 8];
static u8 expected[LONGEST * 8];

/**
 * struct many - one reduction
 * @wide: true for wide sums
 * @sources: number of operands
 * @into: operand in whose memory the result goes; SOURCES: none
 * @at: address of each operand, and of a result of its own
 */
struct many {
	const struct coll_reduce_impl *impl;
	int type;
	int reduction;
	bool wide;
	u32 divisor;
	u32 sources;
	u32 into;
	size_t count;
	u8 *at[SOURCES + 1];
};

static u8 *arena_make(void)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	u8 *memory = mmap(NULL, ARENA + page, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || mprotect(memory + ARENA, page, PROT_NONE)) {
		perror("mmap");
		exit(1);
	}
	return memory;
}

/* Return: an element; unless @any is true, a number such that sums and products of many fit. */
static u64 element_make(const struct reference_type *type, bool any)
{
	if (any || type->kind != REFERENCE_FLOAT)
		return random_operand(type, random_bits()) & reference_mask(type);
	return reference_encode(type, ((double)(random_bits() % 4001) - 2000) / 1024);
}

static void operands_make(const struct many *many, bool any)
{
	const struct reference_type *type = &reference_types[many->type];
	size_t i;
	u32 s;

	for (s = 0; s < many->sources; s++) {
		for (i = 0; i < many->count; i++) {
			/* One operand that is special, or all of them */
			u64 bits = element_make(type, any || random_bits() % 200 == 0);

			memcpy(operand[s] + i * type->size, &bits, type->size);
		}
	}
}

static u64 operand_of(const struct many *many, u32 source, size_t i)
{
	const int size = reference_types[many->type].size;
	u64 bits = 0;

	memcpy(&bits, operand[source] + i * size, size);
	return bits;
}

/* Wide: the sum is a binary32 until the end. */
static u64 wide_result(const struct many *many, size_t i)
{
	const struct reference_type *type = &reference_types[many->type];
	float sum = reference_decode(type, operand_of(many, 0, i));
	u32 s;

	for (s = 1; s < many->sources; s++)
		sum += (float)reference_decode(type, operand_of(many, s, i));
	if (many->reduction == COLLECTIVE_AVG && many->divisor > 1)
		sum /= (float)many->divisor;
	return reference_encode(type, sum);
}

static u64 result(const struct many *many, size_t i)
{
	u64 value = operand_of(many, 0, i);
	u32 s;

	if (many->wide)
		return wide_result(many, i);
	for (s = 1; s < many->sources; s++) {
		bool last = s + 1 == many->sources;
		int reduction = many->reduction;

		if (reduction == COLLECTIVE_AVG && !last)
			reduction = COLLECTIVE_SUM;
		value = reference_reduce(many->type, reduction, value, operand_of(many, s, i),
					 many->divisor);
	}
	return value;
}

static void expected_make(const struct many *many)
{
	const int size = reference_types[many->type].size;
	size_t i;

	for (i = 0; i < many->count; i++) {
		u64 bits = result(many, i);

		memcpy(expected + i * size, &bits, size);
	}
}

/* Return: an address in an arena, at its end or anywhere. */
static u8 *place_choose(u8 *memory, size_t bytes)
{
	if (random_bits() % 4 == 0)
		return memory + ARENA - bytes;
	return memory + GUARD + random_bits() % GUARD;
}

/* Only the result has changed. */
static bool is_clean(const struct many *many, u32 place, const u8 *content, size_t bytes)
{
	const u8 *begin = arena[place], *at = many->at[place];
	const size_t before = at - begin;

	return !memcmp(begin, untouched, before) &&
	       !memcmp(at + bytes, untouched, ARENA - before - bytes) &&
	       (!content || !memcmp(at, content, bytes));
}

static bool many_run(const struct many *many)
{
	static u8 part[COLL_REDUCE_PART];
	const size_t bytes = many->count * reference_types[many->type].size;
	const void *src[SOURCES];
	bool passed;
	u32 s;

	for (s = 0; s < many->sources; s++) {
		memset(arena[s], CANARY, ARENA);
		memcpy(many->at[s], operand[s], bytes);
		src[s] = many->at[s];
	}
	memset(arena[SOURCES], CANARY, ARENA);

	coll_reduce_many(many->impl, many->type, many->reduction, many->wide,
			 many->at[many->into], src, many->sources, many->count, many->divisor,
			 part);

	passed = is_clean(many, many->into, expected, bytes);
	for (s = 0; s < many->sources; s++)
		if (s != many->into)
			passed &= is_clean(many, s, operand[s], bytes);
	if (many->into != SOURCES)
		passed &= is_clean(many, SOURCES, NULL, 0);
	if (!passed)
		tap_note("%s %s %s%s: %u operands, %zu elements, divisor %u, into %u",
			 many->impl->name, reference_types[many->type].name,
			 many->wide ? "wide " : "", reference_reductions[many->reduction],
			 many->sources, many->count, many->divisor, many->into);
	return passed;
}

/* One set of operands, reduced by all implementations */
static void many_compare(struct many *many, u32 round, bool *passed)
{
	const size_t size = reference_types[many->type].size;
	size_t i;
	u32 s;

	many->sources = 2 + round % (SOURCES - 1);
	many->into = random_bits() % 2 ? SOURCES : random_bits() % many->sources;
	many->count = random_bits() % (round % 8 ? 300 : LONGEST);
	for (s = 0; s <= SOURCES; s++)
		many->at[s] = place_choose(arena[s], many->count * size);
	operands_make(many, random_bits() % 4 == 0);
	expected_make(many);
	for (i = 0; i < ARRAY_SIZE(impls); i++) {
		many->impl = impls[i];
		if (impl_runs_here(impls[i]))
			passed[i] &= many_run(many);
	}
}

static void test_type(int type, bool wide)
{
	static const u32 divisors[] = { 0, 1, 2, 3, 7, 1024, U32_MAX };
	struct many many = { .type = type, .wide = wide };
	bool passed[ARRAY_SIZE(impls)];
	size_t i;
	u32 round;

	for (i = 0; i < ARRAY_SIZE(impls); i++)
		passed[i] = true;
	for (many.reduction = 0; many.reduction < COLLECTIVE_REDUCTION_COUNT; many.reduction++) {
		if (wide ? !coll_reduce_wide_valid(type, many.reduction) :
			   !coll_reduce_valid(type, many.reduction))
			continue;
		for (round = 0; round < ROUNDS; round++) {
			many.divisor = divisors[random_bits() % ARRAY_SIZE(divisors)];
			many_compare(&many, round, passed);
		}
	}
	for (i = 0; i < ARRAY_SIZE(impls); i++) {
		const char *name = reference_types[type].name;

		if (impl_runs_here(impls[i]))
			tap_ok(passed[i], "%s %s%s", name, impls[i]->name, wide ? " wide" : "");
		else
			tap_skip("this CPU cannot", "%s %s%s", name, impls[i]->name,
				 wide ? " wide" : "");
	}
}

int main(int argc, char **argv)
{
	size_t i;
	int type;

	if (argc > 1)
		random_state = strtoull(argv[1], NULL, 0);
	for (i = 0; i < ARRAY_SIZE(arena); i++)
		arena[i] = arena_make();
	memset(untouched, CANARY, ARENA);
	tap_plan(0);
	for (type = 0; type < COLLECTIVE_TYPE_COUNT; type++)
		test_type(type, false);
	test_type(COLLECTIVE_FLOAT16, true);
	test_type(COLLECTIVE_BFLOAT16, true);
	return tap_exit();
}
