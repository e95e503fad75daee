// SPDX-License-Identifier: GPL-2.0-only
/* Views, compared with arrays of the address of every byte. */
#include <stdio.h>
#include <stdlib.h>

#include "core/reduce/reduce.h"
#include "tap.h"
#include "core/data/view.h"

#define BYTES	4096
#define NOWHERE	U32_MAX

static u64 seed = 88172645463325252ULL;

static u32 rnd(u32 below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 11) % below;
}

/*
 * Memory in pieces of at most @piece bytes, a multiple of the element.  @strayed is set by an
 * access beyond its end.
 */
struct cut {
	struct coll_mem mem;
	u8 *byte;
	u32 piece;
	bool strayed;
};

static void *cut_at(const struct coll_mem *mem, u64 off, size_t *len)
{
	struct cut *cut = container_of(mem, struct cut, mem);

	if (off >= mem->length) {
		cut->strayed = true;
		*len = 1;
		return cut->byte;
	}
	*len = min_t(u64, cut->piece - off % cut->piece, mem->length - off);
	return cut->byte + off;
}

/*
 * Return: true if at() of the view gives, for every byte i, the address of byte @map[i] of the
 * memory below, and a length of whole elements for which this holds.
 */
static bool view_is(const struct coll_view *view, const struct cut *cut, const u32 *map,
		    u32 bytes, u32 size)
{
	const struct coll_mem *mem = &view->mem;
	u32 off, i;

	if (mem->length != bytes)
		return false;
	for (off = 0; off < bytes; off++) {
		size_t len = 0;
		const u8 *at = mem->at(mem, off, &len);

		if (!len || len > bytes - off || (off + len) % size)
			return false;
		for (i = 0; i < len; i++)
			if (at + i != cut->byte + map[off + i])
				return false;
	}
	return !cut->strayed;
}

/* Fill the map with the rows, in order.  Return: false if two of them share a byte. */
static bool stride_map(const struct coll_stride *s, u32 *map, bool *used)
{
	bool apart = true;
	u64 b, r, i, n = 0;

	memset(used, 0, BYTES * sizeof(*used));
	for (b = 0; b < s->blocks; b++)
		for (r = 0; r < s->rows; r++)
			for (i = 0; i < s->row; i++) {
				u64 at = b * s->distance + r * s->stride + i;

				apart &= !used[at];
				used[at] = true;
				map[n++] = at;
			}
	return apart;
}

static void test_strided(void)
{
	static u32 map[BYTES];
	static bool used[BYTES];
	static u8 byte[BYTES];
	bool where = true, spans = true, apart = true, plain = true;
	u32 overlaps = 0, plains = 0, round, i;

	for (round = 0; round < 30000; round++) {
		const u32 size = 1 << rnd(4), base = rnd(8) * size;
		struct coll_stride s = {
			.blocks = 1 + rnd(5),
			.rows = 1 + rnd(5),
			.row = (1 + rnd(6)) * size,
			.stride = rnd(30) * size,
			.distance = rnd(60) * size,
		};
		struct cut cut = {
			.mem = { .at = cut_at }, .byte = byte, .piece = size << rnd(6),
		};
		struct coll_view view;
		bool dense = true;
		u64 span, top = 0;
		u32 bytes;

		if (!rnd(4))
			s.stride = s.row;
		if (!rnd(4))
			s.distance = s.rows * s.row;
		bytes = s.blocks * s.rows * s.row;
		apart &= stride_map(&s, map, used) == coll_stride_apart(&s);
		overlaps += !coll_stride_apart(&s);
		for (i = 0; i < bytes; i++) {
			top = max_t(u64, top, map[i] + 1);
			dense &= map[i] == i;
		}
		spans &= !coll_stride_span(&s, &span) && span == top;
		plain &= dense == coll_stride_plain(&s);
		plains += dense;

		for (i = 0; i < bytes; i++)
			map[i] += base;
		cut.mem.length = base + span;
		coll_view_strided(&view, &s);
		coll_view_over(&view, &cut.mem, base);
		where &= view_is(&view, &cut, map, bytes, size);
	}
	tap_ok(where, "every byte of a strided view has the right address");
	tap_ok(spans, "the span ends behind the last byte");
	tap_ok(apart && overlaps > 1000, "rows that share a byte are detected");
	tap_ok(plain && plains > 500, "rows that follow one another need no view");
}

static void test_overflow(void)
{
	static const struct coll_stride bad[] = {
		{ .blocks = 3, .rows = 1, .row = 1, .distance = 1ULL << 63 },
		{ .blocks = 1, .rows = 3, .row = 1, .stride = 1ULL << 63 },
		{ .blocks = 2, .rows = 2, .row = 1, .stride = 1ULL << 63, .distance = 1ULL << 63 },
		{ .blocks = 2, .rows = 2, .row = 2, .stride = 1, .distance = U64_MAX - 2 },
		{ .blocks = 1, .rows = U64_MAX, .row = 1, .stride = 2 },
	};
	struct coll_stride s = { .blocks = 4, .rows = U64_MAX, .stride = 9, .distance = U64_MAX };
	bool passed = true;
	u64 span;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		passed &= coll_stride_span(&bad[i], &span) == -EOVERFLOW;
	passed &= !coll_stride_span(&s, &span) && !span && coll_stride_apart(&s);
	s = (struct coll_stride){ .blocks = 2, .rows = 1, .row = 1, .distance = U64_MAX - 1 };
	passed &= !coll_stride_span(&s, &span) && span == U64_MAX && coll_stride_apart(&s);
	tap_ok(passed, "a span that overflows 64 bits is refused");
}

static void test_placed(void)
{
	static u32 map[BYTES];
	static u8 byte[BYTES];
	bool passed = true;
	u32 round, b, i;

	for (round = 0; round < 30000; round++) {
		const u32 size = 1 << rnd(4), blocks = 1 + rnd(9);
		/* All blocks may lie far behind the address that their places count from. */
		const u64 far = rnd(2) ? 1ULL << 40 : 0;
		struct cut cut = {
			.mem = { .at = cut_at, .length = BYTES }, .byte = byte,
			.piece = size << rnd(6),
		};
		u64 first[10] = { 0 }, place[9];
		struct coll_view view;
		u32 bytes = 0;

		for (b = 0; b < blocks; b++) {
			u64 count = rnd(3) ? rnd(20) : 0;

			first[b + 1] = first[b] + count;
			/* The place of an empty block does not matter. */
			place[b] = count ? far + rnd(BYTES / 8 - 20) : rnd(2) ? U64_MAX : 0;
			for (i = 0; i < count * size; i++)
				map[bytes++] = (place[b] - far) * size + i;
		}
		coll_view_placed(&view, blocks, size, first, place);
		coll_view_over(&view, &cut.mem, -(far * size));
		passed &= view_is(&view, &cut, map, bytes, size);
	}
	tap_ok(passed, "every byte of a placed view has the right address");
}

/* A strided view as the axis of an array: blocks are gathered along it. */
static void test_axis(void)
{
	/* Two arrays of 2x3, one of each rank, make one of 2x6 along axis 1. */
	static const int want[12] = { 0, 1, 2, 10, 11, 12, 3, 4, 5, 13, 14, 15 };
	const struct coll_stride s = {
		.blocks = 2, .rows = 2, .row = 3 * 4, .stride = 6 * 4, .distance = 3 * 4,
	};
	int part[12], array[12];
	struct cut from = {
		.mem = { .at = cut_at, .length = 48 }, .byte = (u8 *)part, .piece = 20,
	};
	struct cut to = {
		.mem = { .at = cut_at, .length = 48 }, .byte = (u8 *)array, .piece = 8,
	};
	struct coll_view view;
	int i;

	for (i = 0; i < 12; i++)
		part[i] = i / 6 * 10 + i % 6;
	coll_view_strided(&view, &s);
	coll_view_over(&view, &to.mem, 0);
	coll_mem_copy(coll_copy_words, &view.mem, 0, &from.mem, 0, 48);
	tap_ok(!memcmp(array, want, sizeof(want)),
	       "two arrays of 2x3 make one of 2x6 along axis 1");

	memset(part, 0, sizeof(part));
	coll_mem_copy(coll_copy_words, &from.mem, 4, &view.mem, 4, 40);
	for (i = 1; i < 11; i++)
		if (part[i] != i / 6 * 10 + i % 6)
			break;
	tap_ok(i == 11 && !part[0] && !part[11], "an array of 2x6 is split into two of 2x3");
}

int main(void)
{
	tap_plan(8);
	test_strided();
	test_overflow();
	test_placed();
	test_axis();
	return tap_exit();
}
