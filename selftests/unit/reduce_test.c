// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every implementation of every reduction is compared with a naive reference.
 *
 * Each type and reduction has a table of operands and results: all pairs of 8-bit elements, all
 * 16-bit elements, and special and random values of the other types.  Pieces of the table are
 * reduced with all lengths and misalignments, with and without shared memory.  The memory ends
 * at an inaccessible page.
 *
 *	reduce_test [SEED]
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/reduce/reduce.h"
#include "reduce_operands.h"
#include "reduce_reference.h"
#include "tap.h"

#define ELEMENTS	(65536 + 7)
#define LENGTHS		201
#define OFFSETS		64
#define GUARD		64	/* bytes on both sides that must not change */
#define ARENA		(1U << 20)
#define CANARY		0xa5

#define LONE_NAN_ELEMENTS 4133	/* some blocks, and a part of one */

enum sharing { SHARE_NONE, SHARE_A, SHARE_B, SHARE_COUNT };

/* Elements of the tested type, as an array */
static u8 operand_a[ELEMENTS * 8], operand_b[ELEMENTS * 8], expected[ELEMENTS * 8];
static u8 *arena_a, *arena_b, *arena_dst;

static void operands_make(int type)
{
	const struct reference_type *t = &reference_types[type];
	size_t i;

	for (i = 0; i < ELEMENTS; i++) {
		u64 a = random_operand(t, random_bits());
		u64 b = random_operand(t, a);

		if (t->size == 2)
			a = i;
		if (t->size == 1) {
			a = i >> 8;
			b = i;
		}
		memcpy(operand_a + i * t->size, &a, t->size);
		memcpy(operand_b + i * t->size, &b, t->size);
	}
}

static void expected_make(int type, int reduction, u32 divisor)
{
	const struct reference_type *t = &reference_types[type];
	size_t i;

	for (i = 0; i < ELEMENTS; i++) {
		u64 a = 0, b = 0, result;

		memcpy(&a, operand_a + i * t->size, t->size);
		memcpy(&b, operand_b + i * t->size, t->size);
		result = reference_reduce(type, reduction, a, b, divisor);
		memcpy(expected + i * t->size, &result, t->size);
	}
}

static u8 *arena_make(void)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	u8 *arena = mmap(NULL, ARENA + page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (arena == MAP_FAILED || mprotect(arena + ARENA, page, PROT_NONE)) {
		perror("mmap");
		exit(1);
	}
	return arena;
}

/* Return: the guard bytes behind a place; beyond the arena an access faults. */
static size_t guard_after(const u8 *arena, const u8 *place, size_t bytes)
{
	return min((size_t)GUARD, (size_t)(arena + ARENA - (place + bytes)));
}

static void place_fill(const u8 *arena, u8 *place, const u8 *content, size_t bytes)
{
	memset(place - GUARD, CANARY, GUARD);
	memset(place + bytes, CANARY, guard_after(arena, place, bytes));
	if (content)
		memcpy(place, content, bytes);
	else
		memset(place, CANARY, bytes);
}

static bool place_check(const u8 *arena, const u8 *place, const u8 *content, size_t bytes)
{
	const size_t after = guard_after(arena, place, bytes);
	size_t i;

	for (i = 0; i < GUARD; i++)
		if (place[-1 - (ptrdiff_t)i] != CANARY || (i < after && place[bytes + i] != CANARY))
			return false;
	return !content || !memcmp(place, content, bytes);
}

struct piece {
	const struct coll_reduce_impl *impl;
	int type;
	int reduction;
	u32 divisor;
	size_t first;
	size_t count;
	enum sharing sharing;
	size_t offset_a, offset_b, offset_dst;	/* in their arenas */
};

static void piece_report(const struct piece *piece, const u8 *got, const char *what)
{
	const int size = reference_types[piece->type].size;
	size_t i;

	tap_note("%s %s %s: %s: first %zu, count %zu, divisor %u, sharing %d, at %zu %zu %zu",
		 piece->impl->name, reference_types[piece->type].name,
		 reference_reductions[piece->reduction], what, piece->first, piece->count,
		 piece->divisor, piece->sharing, piece->offset_a, piece->offset_b,
		 piece->offset_dst);
	for (i = 0; i < piece->count; i++) {
		const size_t at = (piece->first + i) * size;
		u64 a = 0, b = 0, want = 0, have = 0;

		if (!memcmp(got + i * size, expected + at, size))
			continue;
		memcpy(&a, operand_a + at, size);
		memcpy(&b, operand_b + at, size);
		memcpy(&want, expected + at, size);
		memcpy(&have, got + i * size, size);
		tap_note("element %zu: %#llx, %#llx: %#llx, not %#llx", i,
			 (unsigned long long)a, (unsigned long long)b,
			 (unsigned long long)have, (unsigned long long)want);
		break;
	}
}

static bool piece_run(const struct piece *piece)
{
	const int size = reference_types[piece->type].size;
	const size_t bytes = piece->count * size;
	const u8 *from_a = operand_a + piece->first * size;
	const u8 *from_b = operand_b + piece->first * size;
	const u8 *want = expected + piece->first * size;
	u8 *a = arena_a + piece->offset_a;
	u8 *b = arena_b + piece->offset_b;
	u8 *dst = arena_dst + piece->offset_dst;
	bool clean, right;

	place_fill(arena_a, a, from_a, bytes);
	place_fill(arena_b, b, from_b, bytes);
	place_fill(arena_dst, dst, NULL, bytes);
	if (piece->sharing == SHARE_A)
		dst = a;
	if (piece->sharing == SHARE_B)
		dst = b;

	coll_reduce(piece->impl, piece->type, piece->reduction, dst, a, b, piece->count,
		    piece->divisor);

	right = !memcmp(dst, want, bytes);
	clean = place_check(arena_a, a, dst == a ? NULL : from_a, bytes) &&
		place_check(arena_b, b, dst == b ? NULL : from_b, bytes) &&
		place_check(arena_dst, arena_dst + piece->offset_dst, NULL, bytes);
	if (!right)
		piece_report(piece, dst, "wrong result");
	else if (!clean)
		piece_report(piece, dst, "wrote elsewhere");
	return right && clean;
}

/* Compare one implementation of one reduction with expected[]. */
static bool reduction_run(const struct coll_reduce_impl *impl, int type, int reduction,
			  u32 divisor)
{
	const size_t size = reference_types[type].size;
	struct piece piece = {
		.impl = impl, .type = type, .reduction = reduction, .divisor = divisor,
	};
	size_t i;

	/* Every element of the table, with aligned operands */
	piece.count = ELEMENTS;
	piece.offset_a = GUARD;
	piece.offset_b = GUARD;
	piece.offset_dst = GUARD;
	for (i = 0; i < SHARE_COUNT; i++) {
		piece.sharing = i;
		if (!piece_run(&piece))
			return false;
	}

	/* Every length, up to the last byte that may be touched */
	for (i = 0; i < LENGTHS * SHARE_COUNT; i++) {
		piece.sharing = i % SHARE_COUNT;
		piece.count = i / SHARE_COUNT;
		piece.first = random_bits() % (ELEMENTS - piece.count);
		piece.offset_a = ARENA - piece.count * size;
		piece.offset_b = ARENA - piece.count * size;
		piece.offset_dst = ARENA - piece.count * size;
		if (!piece_run(&piece))
			return false;
	}

	/* Every misalignment of each pointer, the others at random */
	for (i = 0; i < OFFSETS * 3 * SHARE_COUNT; i++) {
		size_t offsets[3];
		size_t which;

		for (which = 0; which < 3; which++)
			offsets[which] = GUARD + random_bits() % OFFSETS;
		offsets[i % 3] = GUARD + i / 3 % OFFSETS;
		piece.sharing = i / 3 / OFFSETS;
		piece.count = 64 + random_bits() % 128;
		piece.first = random_bits() % (ELEMENTS - piece.count);
		piece.offset_a = offsets[0];
		piece.offset_b = offsets[1];
		piece.offset_dst = offsets[2];
		if (!piece_run(&piece))
			return false;
	}
	return true;
}

/* One NaN among numbers is found at every position, and infinities are not taken for NaNs. */
static bool lone_nan_run(const struct coll_reduce_impl *impl, int type, int reduction)
{
	const struct reference_type *t = &reference_types[type];
	const u64 nan = reference_encode(t, NAN) + 1 + (1ULL << (8 * t->size - 1));
	struct piece piece = {
		.impl = impl, .type = type, .reduction = reduction, .divisor = 3,
		.count = LONE_NAN_ELEMENTS, .offset_a = GUARD, .offset_b = GUARD,
		.offset_dst = GUARD,
	};
	size_t at;

	for (at = 0; at < LONE_NAN_ELEMENTS; at += reduction == COLLECTIVE_SUM ? 1 : 7) {
		u8 *place = (at % 2 ? operand_a : operand_b) + at * t->size;
		u8 *want = expected + at * t->size;
		u64 canonical = reference_encode(t, NAN);
		u8 number[8], result[8];
		bool right;

		memcpy(number, place, t->size);
		memcpy(result, want, t->size);
		memcpy(place, &nan, t->size);
		memcpy(want, &canonical, t->size);
		piece.sharing = at % SHARE_COUNT;
		right = piece_run(&piece);
		memcpy(place, number, t->size);
		memcpy(want, result, t->size);
		if (!right)
			return false;
	}
	return true;
}

static void test_lone_nan(void)
{
	static const int reductions[] = { COLLECTIVE_SUM, COLLECTIVE_PROD, COLLECTIVE_AVG };
	int type;
	size_t i, r;

	for (type = COLLECTIVE_FLOAT16; type <= COLLECTIVE_FLOAT64; type++) {
		const struct reference_type *t = &reference_types[type];
		bool passed = true;

		for (i = 0; i < ELEMENTS; i++) {
			u64 a = reference_encode(t, i % 1000 == 3 ? INFINITY : 1 + i % 9);
			u64 b = reference_encode(t, i % 1000 == 4 ? -INFINITY : 2 + i % 5);

			memcpy(operand_a + i * t->size, &a, t->size);
			memcpy(operand_b + i * t->size, &b, t->size);
		}
		for (r = 0; r < ARRAY_SIZE(reductions); r++) {
			expected_make(type, reductions[r], 3);
			for (i = 0; i < ARRAY_SIZE(impls); i++)
				if (impl_runs_here(impls[i]))
					passed &= lone_nan_run(impls[i], type, reductions[r]);
		}
		tap_ok(passed, "%s with one NaN", t->name);
	}
}

/* Wide sums: operand_a has @type; operand_b and expected may be binary32. */
struct wide {
	const struct coll_reduce_impl *impl;
	int type;
	bool in_wide;
	bool dst_wide;
	u32 divisor;
};

static const struct reference_type *wide_type(int type, bool wide)
{
	return &reference_types[wide ? COLLECTIVE_FLOAT32 : type];
}

static void wide_make(const struct wide *wide)
{
	const struct reference_type *own = wide_type(wide->type, false);
	const struct reference_type *in = wide_type(wide->type, wide->in_wide);
	const struct reference_type *out = wide_type(wide->type, wide->dst_wide);
	size_t i;

	for (i = 0; i < ELEMENTS; i++) {
		const u64 a = i & reference_mask(own);
		u64 b = random_operand(in, a) & reference_mask(in);
		float sum;
		u64 result;

		/* Often close to the other operand, so that both affect the sum */
		if (wide->in_wide && random_bits() % 2)
			b = reference_encode(in, reference_decode(own, b)) ^ b % 4096;
		sum = reference_decode(own, a) + reference_decode(in, b);
		if (wide->divisor > 1)
			sum = (double)sum / (float)wide->divisor;
		result = reference_encode(out, sum);
		memcpy(operand_a + i * own->size, &a, own->size);
		memcpy(operand_b + i * in->size, &b, in->size);
		memcpy(expected + i * out->size, &result, out->size);
	}
}

static bool wide_piece(const struct wide *wide, size_t first, size_t count,
		       enum sharing sharing, const size_t offsets[3])
{
	const size_t in_size = wide_type(wide->type, wide->in_wide)->size;
	const size_t out_size = wide_type(wide->type, wide->dst_wide)->size;
	const u8 *from_a = operand_a + first * 2, *from_b = operand_b + first * in_size;
	u8 *a = arena_a + offsets[0], *b = arena_b + offsets[1], *dst = arena_dst + offsets[2];
	bool passed;

	place_fill(arena_a, a, from_a, count * 2);
	place_fill(arena_b, b, from_b, count * in_size);
	place_fill(arena_dst, dst, NULL, count * out_size);
	if (sharing == SHARE_A && !wide->dst_wide)
		dst = a;
	if (sharing == SHARE_B && wide->dst_wide == wide->in_wide)
		dst = b;

	coll_reduce_wide(wide->impl, wide->type, dst, wide->dst_wide, a, b, wide->in_wide,
			 count, wide->divisor);

	passed = !memcmp(dst, expected + first * out_size, count * out_size) &&
		 place_check(arena_a, a, dst == a ? NULL : from_a, count * 2) &&
		 place_check(arena_b, b, dst == b ? NULL : from_b, count * in_size) &&
		 place_check(arena_dst, arena_dst + offsets[2], NULL, count * out_size);
	if (!passed)
		tap_note("%s: in %d, dst %d, divisor %u, first %zu, count %zu, sharing %d",
			 wide->impl->name, wide->in_wide, wide->dst_wide, wide->divisor, first,
			 count, sharing);
	return passed;
}

static bool wide_run(const struct wide *wide)
{
	const size_t in_size = wide_type(wide->type, wide->in_wide)->size;
	const size_t out_size = wide_type(wide->type, wide->dst_wide)->size;
	const size_t begin[3] = { GUARD, GUARD, GUARD };
	size_t i, which;

	for (i = 0; i < SHARE_COUNT; i++)
		if (!wide_piece(wide, 0, ELEMENTS, i, begin))
			return false;

	/* Every length, up to the last byte that may be touched */
	for (i = 0; i < LENGTHS * SHARE_COUNT; i++) {
		const size_t count = i / SHARE_COUNT;
		const size_t end[3] = {
			ARENA - count * 2, ARENA - count * in_size, ARENA - count * out_size,
		};

		if (!wide_piece(wide, random_bits() % (ELEMENTS - count), count,
				i % SHARE_COUNT, end))
			return false;
	}

	/* Every misalignment of each pointer, the others at random */
	for (i = 0; i < OFFSETS * 3 * SHARE_COUNT; i++) {
		const size_t count = 64 + random_bits() % 128;
		size_t offsets[3];

		for (which = 0; which < 3; which++)
			offsets[which] = GUARD + random_bits() % OFFSETS;
		offsets[i % 3] = GUARD + i / 3 % OFFSETS;
		if (!wide_piece(wide, random_bits() % (ELEMENTS - count), count,
				i / 3 / OFFSETS, offsets))
			return false;
	}
	return true;
}

static void test_wide(int type)
{
	static const u32 divisors[] = { 0, 1, 2, 3, 7, 1024, 65537, U32_MAX };
	struct wide wide = { .type = type };
	bool passed[ARRAY_SIZE(impls)];
	size_t i, d;
	int widths;

	for (i = 0; i < ARRAY_SIZE(impls); i++)
		passed[i] = true;
	for (widths = 0; widths < 4; widths++) {
		wide.in_wide = widths & 1;
		wide.dst_wide = widths & 2;
		for (d = 0; d < ARRAY_SIZE(divisors); d++) {
			wide.divisor = divisors[d];
			wide_make(&wide);
			for (i = 0; i < ARRAY_SIZE(impls); i++) {
				wide.impl = impls[i];
				if (impl_runs_here(impls[i]))
					passed[i] &= wide_run(&wide);
			}
		}
	}
	for (i = 0; i < ARRAY_SIZE(impls); i++) {
		if (impl_runs_here(impls[i]))
			tap_ok(passed[i], "%s %s wide", reference_types[type].name,
			       impls[i]->name);
		else
			tap_skip("this CPU cannot", "%s %s wide", reference_types[type].name,
				 impls[i]->name);
	}
}

static void test_type(int type)
{
	static const u32 divisors[] = { 0, 1, 2, 3, 7, 255, 1024, 65537, U32_MAX };
	bool passed[ARRAY_SIZE(impls)];
	int reduction;
	size_t i, d;

	for (i = 0; i < ARRAY_SIZE(impls); i++)
		passed[i] = true;
	operands_make(type);
	for (reduction = 0; reduction < COLLECTIVE_REDUCTION_COUNT; reduction++) {
		if (!coll_reduce_valid(type, reduction))
			continue;
		for (d = 0; d < ARRAY_SIZE(divisors); d++) {
			/* Only the average uses the divisor. */
			if (reduction != COLLECTIVE_AVG && d != 3)
				continue;
			expected_make(type, reduction, divisors[d]);
			for (i = 0; i < ARRAY_SIZE(impls); i++)
				if (impl_runs_here(impls[i]))
					passed[i] &= reduction_run(impls[i], type, reduction,
								   divisors[d]);
		}
	}
	for (i = 0; i < ARRAY_SIZE(impls); i++) {
		if (impl_runs_here(impls[i]))
			tap_ok(passed[i], "%s %s", reference_types[type].name, impls[i]->name);
		else
			tap_skip("this CPU cannot", "%s %s", reference_types[type].name,
				 impls[i]->name);
	}
}

static bool copy_piece(coll_copy_fn copy, size_t from, size_t to, size_t len)
{
	u8 *src = arena_a + from, *dst = arena_dst + to;

	place_fill(arena_a, src, operand_a, len);
	place_fill(arena_dst, dst, NULL, len);
	copy(dst, src, len);
	if (place_check(arena_a, src, operand_a, len) &&
	    place_check(arena_dst, dst, operand_a, len))
		return true;
	tap_note("from %zu, to %zu, %zu bytes", from, to, len);
	return false;
}

/* Every length up to the shortest that all copies treat as long, and every misalignment. */
static bool copy_pieces(coll_copy_fn copy)
{
	bool passed = true;
	size_t len, off;

	for (len = 0; len < 1500; len++)
		passed &= copy_piece(copy, ARENA - len, ARENA - len, len);
	for (off = 0; off < OFFSETS * OFFSETS; off++)
		passed &= copy_piece(copy, GUARD + off / OFFSETS, GUARD + off % OFFSETS,
				     500 + random_bits() % (ELEMENTS * sizeof(u64) - 500));
	return passed;
}

static void test_copy(void)
{
	size_t i;

	operands_make(COLLECTIVE_UINT64);
	for (i = 0; i < ARRAY_SIZE(impls); i++) {
		if (impl_runs_here(impls[i]))
			tap_ok(copy_pieces(impls[i]->copy), "copy %s", impls[i]->name);
		else
			tap_skip("this CPU cannot", "copy %s", impls[i]->name);
	}
	tap_ok(copy_pieces(coll_copy_nontemporal), "copy with non-temporal stores");
}

static void test_table(void)
{
	bool sizes = true, valid = true, wide = true, full = true;
	unsigned int type, reduction;
	size_t i;

	for (type = 0; type <= U8_MAX; type++) {
		const bool known = type < COLLECTIVE_TYPE_COUNT;

		sizes &= coll_type_size(type) == (known ? (size_t)reference_types[type].size : 0);
		for (reduction = 0; reduction <= U8_MAX; reduction++) {
			const bool bitwise = reduction == COLLECTIVE_BAND ||
					     reduction == COLLECTIVE_BOR ||
					     reduction == COLLECTIVE_BXOR;
			const bool offered = known && reduction < COLLECTIVE_REDUCTION_COUNT &&
				!(bitwise && reference_types[type].kind == REFERENCE_FLOAT);

			valid &= coll_reduce_valid(type, reduction) == offered;
			wide &= coll_reduce_wide_valid(type, reduction) ==
				((type == COLLECTIVE_FLOAT16 || type == COLLECTIVE_BFLOAT16) &&
				 (reduction == COLLECTIVE_SUM || reduction == COLLECTIVE_AVG));
			for (i = 0; i < ARRAY_SIZE(impls); i++)
				full &= !offered || impls[i]->fn[type][reduction];
		}
	}
	tap_ok(sizes, "sizes of types");
	tap_ok(valid, "valid types and reductions");
	tap_ok(wide, "valid wide sums");
	tap_ok(full, "no implementation lacks a reduction");
	tap_ok(coll_reduce_select(0) == &coll_reduce_scalar, "select without features");
#if defined(__x86_64__)
	tap_ok(coll_reduce_select(COLL_REDUCE_HAS_AVX2) == &coll_reduce_avx2 &&
	       coll_reduce_select(COLL_REDUCE_HAS_AVX2 | COLL_REDUCE_HAS_AVX512) ==
	       &coll_reduce_avx512, "select the widest");
#else
	tap_skip("not x86-64", "select the widest");
#endif
}

int main(int argc, char **argv)
{
	int type;

	if (argc > 1)
		random_state = strtoull(argv[1], NULL, 0);
	arena_a = arena_make();
	arena_b = arena_make();
	arena_dst = arena_make();

	tap_plan(11 + (COLLECTIVE_TYPE_COUNT + 3) * ARRAY_SIZE(impls));
	test_table();
	test_copy();
	for (type = 0; type < COLLECTIVE_TYPE_COUNT; type++)
		test_type(type);
	test_lone_nan();
	test_wide(COLLECTIVE_FLOAT16);
	test_wide(COLLECTIVE_BFLOAT16);
	return tap_exit();
}
