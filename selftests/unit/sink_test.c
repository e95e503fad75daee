// SPDX-License-Identifier: GPL-2.0-only
/* Sinks: received bytes become elements, however the frame and the memory are divided. */
#include "core/data/sink.h"
#include "tap.h"

#include <stdlib.h>

#define BYTES	48	/* payload of a frame */
#define PIECES	4

/* Memory in pieces of odd lengths, each of which is an allocation of its own */
struct pieces {
	struct coll_mem mem;
	size_t len[PIECES];
	u8 *at[PIECES];
};

static void *pieces_at(const struct coll_mem *mem, u64 off, size_t *len)
{
	const struct pieces *p = container_of(mem, struct pieces, mem);
	int i = 0;

	while (off >= p->len[i])
		off -= p->len[i++];
	*len = p->len[i] - off;
	return p->at[i] + off;
}

static void pieces_init(struct pieces *p, size_t unit, u32 cut)
{
	size_t left = 128;
	int i;

	p->mem.at = pieces_at;
	p->mem.length = left;
	for (i = 0; i < PIECES; i++) {
		p->len[i] = i + 1 < PIECES ? unit * (1 + (cut >> 2 * i) % 4) : left;
		left -= p->len[i];
		p->at[i] = memset(malloc(p->len[i]), 0x11, p->len[i]);
	}
}

static void pieces_free(struct pieces *p)
{
	int i;

	for (i = 0; i < PIECES; i++)
		free(p->at[i]);
}

static u8 *piece_byte(struct pieces *p, u64 off)
{
	size_t len;

	return pieces_at(&p->mem, off, &len);
}

static void put(struct pieces *p, u64 off, const void *from, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		*piece_byte(p, off + i) = ((const u8 *)from)[i];
}

static void get(struct pieces *p, u64 off, void *to, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		((u8 *)to)[i] = *piece_byte(p, off + i);
}

/* Give the sink @len bytes, @align bytes behind the start of memory that ends with them. */
static bool feed(struct coll_sink *sink, const u8 *bytes, size_t len, u32 align)
{
	u8 *heap = malloc(align + len);
	size_t taken;

	memcpy(heap + align, bytes, len);
	taken = coll_sink(sink, heap + align, len);
	free(heap);
	return taken == len;
}

static bool feed_split(struct coll_sink *sink, const u8 *bytes, size_t a, size_t b, u32 align)
{
	bool passed = feed(sink, bytes, a, align) && feed(sink, bytes + a, b - a, align + 3);

	passed &= coll_sink_pending(sink) == BYTES - b + b % sink->size;
	return passed && feed(sink, bytes + b, BYTES - b, align + 1) && !coll_sink_pending(sink);
}

static u32 element_sum(u32 size, const u8 *own, const u8 *in, u8 *out)
{
	u64 x = 0, y = 0;

	memcpy(&x, own, size);
	memcpy(&y, in, size);
	x += y;
	memcpy(out, &x, size);
	return size;
}

static const u8 type_of[] = {
	[1] = COLLECTIVE_UINT8, [2] = COLLECTIVE_UINT16,
	[4] = COLLECTIVE_UINT32, [8] = COLLECTIVE_UINT64,
};

static u32 helped;

/* A copier with a helper, every other time; the second half is copied first. */
static bool copy_by_two(struct coll_copier *copier, const struct coll_mem *dst, u64 off,
			const void *ptr, size_t len, const struct coll_copy_hint *hint)
{
	size_t half = len / 2;

	(void)copier;
	if (hint->left >= BYTES || helped++ % 2)
		return false;
	coll_mem_store(coll_copy_words, dst, off + half, ptr + half, len - half);
	coll_mem_store(coll_copy_words, dst, off, ptr, half);
	return true;
}

static struct coll_copier two = { .store = copy_by_two };
/* The copier of all frames; NULL: none */
static struct coll_copier *copier;

/* Take one frame, split at @a and @b; @in_place: the own operand is in the destination. */
static bool frame(u8 kind, u32 size, u32 cut, size_t a, size_t b, bool in_place)
{
	u8 bytes[BYTES], mine[BYTES], want[BYTES], got[128];
	struct pieces dst, own;
	struct coll_sink sink = {
		.kind = kind, .type = type_of[size], .reduction = COLLECTIVE_SUM,
		.own_first = cut & 1, .size = size,
		.dst = &dst.mem, .own = in_place ? &dst.mem : &own.mem,
		.dst_off = 16, .own_off = in_place ? 16 : 24, .left = BYTES,
		.impl = &coll_reduce_scalar, .copier = copier,
	};
	bool passed;
	u32 i;

	pieces_init(&dst, size, cut);
	pieces_init(&own, size, cut / 3);
	for (i = 0; i < BYTES; i++) {
		bytes[i] = 37 * i + 11;
		mine[i] = 91 * i + 200;
	}
	put(in_place ? &dst : &own, sink.own_off, mine, BYTES);
	memcpy(want, bytes, BYTES);
	if (kind == COLL_SINK_REDUCE)
		for (i = 0; i < BYTES; i += size)
			element_sum(size, mine + i, bytes + i, want + i);

	passed = feed_split(&sink, bytes, a, b, cut % 9);
	get(&dst, 0, got, sizeof(got));
	passed &= !memcmp(got + 16, want, BYTES);
	for (i = 0; i < sizeof(got); i++)
		passed &= (i >= 16 && i < 16 + BYTES) || got[i] == 0x11;
	if (!in_place) {
		get(&own, 24, got, BYTES);
		passed &= !memcmp(got, mine, BYTES);
	}
	pieces_free(&dst);
	pieces_free(&own);
	return passed;
}

static bool frames(u8 kind, bool in_place)
{
	bool passed = true;
	size_t a, b;
	u32 size, cut;

	for (size = 1; size <= 8; size *= 2)
		for (a = 0; a <= BYTES; a++)
			for (b = a; b <= BYTES; b++)
				for (cut = 7 * a; cut < 7 * a + 4; cut++)
					passed &= frame(kind, size, cut * 29 + b, a, b, in_place);
	return passed;
}

/* A frame arrives in parts of 1 to 11 bytes. */
static bool test_drip(void)
{
	u8 bytes[BYTES], got[BYTES];
	bool passed = true;
	u32 n, at, i;

	for (i = 0; i < BYTES; i++)
		bytes[i] = 5 * i + 1;
	for (n = 1; n < 12; n++) {
		struct pieces dst;
		struct coll_sink sink = {
			.kind = COLL_SINK_COPY, .size = 8, .dst = &dst.mem, .left = BYTES,
			.impl = &coll_reduce_scalar,
		};

		pieces_init(&dst, 8, n);
		for (at = 0; at < BYTES; at += n) {
			passed &= feed(&sink, bytes + at, min(n, BYTES - at), n % 5);
			passed &= sink.dst_off == (at + min(n, BYTES - at)) / 8 * 8;
		}
		get(&dst, 0, got, BYTES);
		passed &= !memcmp(got, bytes, BYTES);
		pieces_free(&dst);
	}
	return passed;
}

static void test_bounds(void)
{
	u8 *unexp_buf = malloc(BYTES), bytes[BYTES + 9];
	struct coll_sink sink = { .kind = COLL_SINK_UNEXP, .unexp = unexp_buf, .left = BYTES };
	bool passed;

	memset(bytes, 0x33, sizeof(bytes));
	passed = coll_sink(&sink, bytes, 5) == 5 && sink.unexp == unexp_buf + 5;
	passed &= coll_sink(&sink, bytes + 5, sizeof(bytes) - 5) == BYTES - 5;
	passed &= !sink.left && !memcmp(unexp_buf, bytes, BYTES) && sink.unexp == unexp_buf + BYTES;
	tap_ok(passed && !coll_sink(&sink, bytes, 3),
	       "the unexpected buffer takes one frame and no more");
	free(unexp_buf);

	sink = (struct coll_sink){ .kind = COLL_SINK_DISCARD, .left = 7 };
	tap_ok(coll_sink(&sink, bytes, 3) == 3 && coll_sink(&sink, bytes, 9) == 4 && !sink.left,
	       "one frame is discarded and no more");
}

static void test_divisor(void)
{
	s32 own[2] = { 7, -9 }, in[2] = { 4, -4 }, got[2];
	struct pieces dst;
	struct coll_sink sink = {
		.kind = COLL_SINK_REDUCE, .type = COLLECTIVE_INT32, .reduction = COLLECTIVE_AVG,
		.size = 4, .dst = &dst.mem, .own = &dst.mem, .left = 8, .divisor = 3,
		.impl = &coll_reduce_scalar,
	};

	pieces_init(&dst, 4, 0);
	put(&dst, 0, own, 8);
	feed(&sink, (const u8 *)in, 8, 0);
	get(&dst, 0, got, 8);
	tap_ok(got[0] == 3 && got[1] == -4, "an average divides in the last step");
	pieces_free(&dst);
}

/* Sums of 16-bit floats, with received operands and results of either width. */
static bool wide_frame(u8 type, u8 reduction, size_t size, size_t stored, bool in_place,
		       u32 cut, size_t a, size_t b)
{
	u8 bytes[BYTES], mine[BYTES], want[2 * BYTES], got[128];
	const size_t count = BYTES / size;
	struct pieces dst, own, tee;
	struct coll_sink sink = {
		.kind = COLL_SINK_REDUCE, .type = type, .reduction = reduction,
		.own_first = cut & 1, .size = size, .stored = stored, .divisor = 3,
		.dst = &dst.mem, .own = in_place ? &dst.mem : &own.mem,
		.tee = cut & 2 ? &tee.mem : NULL, .tee_off = 32,
		.dst_off = 16, .own_off = in_place ? 16 : 24, .left = BYTES,
		.impl = &coll_reduce_scalar,
	};
	bool passed;
	size_t i;

	pieces_init(&dst, 4, cut);
	pieces_init(&own, 2, cut / 3);
	pieces_init(&tee, size, cut / 5);
	for (i = 0; i < BYTES; i++) {
		bytes[i] = i % 2 ? 0x3e + i % 3 : 37 * i + 11;
		mine[i] = i % 2 ? 0x3d + i % 5 : 91 * i + 200;
	}
	put(in_place ? &dst : &own, sink.own_off, mine, 2 * count);
	coll_reduce_wide(sink.impl, type, want, stored == 4, mine, bytes, size == 4, count,
			 reduction == COLLECTIVE_AVG ? 3 : 0);

	passed = feed_split(&sink, bytes, a, b, cut % 9);
	get(&dst, 0, got, sizeof(got));
	passed &= !memcmp(got + 16, want, stored * count);
	for (i = 0; i < sizeof(got); i++)
		passed &= (i >= 16 && i < 16 + stored * count) || got[i] == 0x11;
	passed &= sink.dst_off == 16 + stored * count &&
		  sink.own_off == (in_place ? 16 : 24) + 2 * count;
	get(&tee, 0, got, sizeof(got));
	if (sink.tee)
		passed &= !memcmp(got + 32, bytes, BYTES);
	else
		passed &= got[32] == 0x11;
	pieces_free(&dst);
	pieces_free(&own);
	pieces_free(&tee);
	return passed;
}

static bool wide_frames(u8 type)
{
	bool passed = true;
	size_t a, b, in, out;
	u32 cut = 0;

	for (in = 2; in <= 4; in += 2)
		for (out = 2; out <= 4; out += 2)
			for (a = 0; a <= BYTES; a++)
				for (b = a; b <= BYTES; b++, cut++)
					passed &= wide_frame(type, cut & 4 ? COLLECTIVE_SUM :
							     COLLECTIVE_AVG, in, out,
							     out == 2 && cut & 8, cut * 29, a, b);
	return passed;
}

/* Keep the received bytes, too; @in_place: in place of the own operand. */
static bool tee_frame(u8 kind, u32 size, u32 cut, size_t a, size_t b, bool in_place)
{
	u8 bytes[BYTES], mine[BYTES], want[BYTES], got[128];
	struct pieces dst, own, tee;
	struct pieces *copy = in_place ? &own : &tee;
	struct coll_sink sink = {
		.kind = kind, .type = type_of[size], .reduction = COLLECTIVE_SUM, .size = size,
		.dst = &dst.mem, .own = &own.mem, .tee = &copy->mem,
		.dst_off = 16, .own_off = 24, .tee_off = 24, .left = BYTES,
		.impl = &coll_reduce_scalar, .copier = copier,
	};
	bool passed;
	u32 i;

	pieces_init(&dst, size, cut);
	pieces_init(&own, size, cut / 3);
	pieces_init(&tee, size, cut / 7);
	for (i = 0; i < BYTES; i++) {
		bytes[i] = 37 * i + 11;
		mine[i] = 91 * i + 200;
	}
	put(&own, 24, mine, BYTES);
	memcpy(want, bytes, BYTES);
	if (kind == COLL_SINK_REDUCE)
		for (i = 0; i < BYTES; i += size)
			element_sum(size, mine + i, bytes + i, want + i);

	passed = feed_split(&sink, bytes, a, b, cut % 9);
	get(&dst, 16, got, BYTES);
	passed &= !memcmp(got, want, BYTES);
	get(copy, 0, got, sizeof(got));
	passed &= !memcmp(got + 24, bytes, BYTES) && sink.tee_off == 24 + BYTES;
	for (i = 0; i < sizeof(got); i++)
		passed &= (i >= 24 && i < 24 + BYTES) || got[i] == 0x11;
	pieces_free(&dst);
	pieces_free(&own);
	pieces_free(&tee);
	return passed;
}

static bool tee_frames(u8 kind, bool in_place)
{
	bool passed = true;
	size_t a, b;
	u32 size;

	for (size = 1; size <= 8; size *= 2)
		for (a = 0; a <= BYTES; a++)
			for (b = a; b <= BYTES; b++)
				passed &= tee_frame(kind, size, 29 * a + b, a, b, in_place);
	return passed;
}

static bool overlap_seen;

/* A sum that checks the operands' places: each is exactly @dst, or does not overlap it. */
static void careful_sum(u32 size, void *dst, const void *a, const void *b, size_t count)
{
	const u8 *to = dst, *x = a, *y = b;
	const size_t len = size * count;

	if (count > 1 && ((to != x && to < x + len && x < to + len) ||
			  (to != y && to < y + len && y < to + len)))
		overlap_seen = true;
	coll_reduce_scalar.fn[type_of[size]][COLLECTIVE_SUM](dst, a, b, count, 0);
}

static void careful_sum_8(void *dst, const void *a, const void *b, size_t count, u32 divisor)
{
	(void)divisor;
	careful_sum(1, dst, a, b, count);
}

static void careful_sum_32(void *dst, const void *a, const void *b, size_t count, u32 divisor)
{
	(void)divisor;
	careful_sum(4, dst, a, b, count);
}

static void careful_sum_f16(void *dst, const void *a, const void *b, size_t count, u32 divisor)
{
	(void)divisor;
	careful_sum(2, dst, a, b, count);
}

/* The result begins @distance bytes before the own operand, in the same memory. */
static bool overlap_frame(u32 size, bool wide, size_t distance, u32 cut, size_t a)
{
	static struct coll_reduce_impl impl;
	u8 bytes[BYTES], mine[BYTES], want[BYTES], got[BYTES];
	struct pieces dst;
	struct coll_sink sink = {
		.kind = COLL_SINK_REDUCE, .type = wide ? COLLECTIVE_FLOAT16 : type_of[size],
		.reduction = COLLECTIVE_SUM, .own_first = cut & 1, .size = size,
		.stored = wide ? size : 0, .dst = &dst.mem, .own = &dst.mem, .dst_off = 8,
		.own_off = 8 + distance, .left = BYTES, .impl = &impl,
	};
	bool passed;
	u32 i;

	impl = coll_reduce_scalar;
	impl.fn[COLLECTIVE_UINT8][COLLECTIVE_SUM] = careful_sum_8;
	impl.fn[COLLECTIVE_UINT32][COLLECTIVE_SUM] = careful_sum_32;
	impl.wide[0][0][0][0] = careful_sum_f16;
	pieces_init(&dst, size, cut);
	for (i = 0; i < BYTES; i++) {
		bytes[i] = 37 * i + 11;
		mine[i] = 91 * i + 200;
	}
	put(&dst, sink.own_off, mine, BYTES);
	for (i = 0; i < BYTES; i += size)
		element_sum(size, mine + i, bytes + i, want + i);

	overlap_seen = false;
	passed = feed_split(&sink, bytes, a, BYTES - a / 2, cut % 9);
	get(&dst, 8, got, BYTES);
	passed &= !memcmp(got, want, BYTES) && !overlap_seen;
	pieces_free(&dst);
	return passed;
}

static bool overlap_frames(u32 size, bool wide)
{
	bool passed = true;
	size_t distance, a;
	u32 cut;

	for (distance = 0; distance <= BYTES + 2 * size; distance += size)
		for (a = 0; a <= BYTES / 2; a++)
			for (cut = 0; cut < 64; cut++)
				passed &= overlap_frame(size, wide, distance, cut, a);
	return passed;
}

int main(void)
{
	tap_plan(18);
	tap_ok(frames(COLL_SINK_COPY, false), "copy, split anywhere");
	tap_ok(frames(COLL_SINK_REDUCE, true), "reduce in place, split anywhere");
	tap_ok(frames(COLL_SINK_REDUCE, false), "reduce to other memory, split anywhere");
	tap_ok(test_drip(), "an element is stored when all its bytes have arrived");
	test_bounds();
	test_divisor();
	tap_ok(wide_frames(COLLECTIVE_FLOAT16), "wide sums of binary16, split anywhere");
	tap_ok(wide_frames(COLLECTIVE_BFLOAT16), "wide sums of bfloat16, split anywhere");
	tap_ok(tee_frames(COLL_SINK_COPY, false), "copy to two places");
	tap_ok(tee_frames(COLL_SINK_REDUCE, false), "reduce, and keep the received bytes");
	tap_ok(tee_frames(COLL_SINK_REDUCE, true),
	       "reduce, and keep the received bytes in the own operand's place");
	copier = &two;
	tap_ok(frames(COLL_SINK_COPY, false) && helped, "copy with a helper");
	helped = 0;
	tap_ok(tee_frames(COLL_SINK_COPY, false) && helped, "copy to two places with a helper");
	helped = 0;
	tap_ok(tee_frames(COLL_SINK_REDUCE, true) && !helped, "reduce without the helper");
	tap_ok(overlap_frames(1, false), "reduce to overlapping memory, bytes");
	tap_ok(overlap_frames(4, false), "reduce to overlapping memory, words");
	tap_ok(overlap_frames(2, true), "reduce to overlapping memory, wide");
	return tap_exit();
}
