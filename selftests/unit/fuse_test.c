// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fused reductions of memories in pieces: the result is that of one operand after the other,
 * whatever the pieces are, and each byte is counted once.
 */
#include <stdlib.h>

#include "core/data/fuse.h"
#include "tap.h"

#define BYTES		6000
#define MARGIN		64
#define CANARY		0xa5

static u8 part[COLL_REDUCE_PART];

/**
 * struct pieces - memory in pieces of random lengths, each an allocation of its own
 * @mem: the memory
 * @first: by byte: the piece that the byte is in
 * @piece: address of byte 0 of each piece; @begin: its offset; @count: number of pieces
 */
struct pieces {
	struct coll_mem mem;
	u16 first[BYTES];
	u8 *piece[BYTES];
	u32 begin[BYTES + 1];
	u32 count;
};

static u64 random_state = 88172645463325252ULL;

static u32 random_below(u32 n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % n;
}

static void *pieces_at(const struct coll_mem *mem, u64 off, size_t *len)
{
	const struct pieces *p = container_of(mem, struct pieces, mem);
	u32 i = p->first[off];

	*len = p->begin[i + 1] - off;
	return p->piece[i] + off - p->begin[i];
}

/* Cut at multiples of an element; @longest: bytes of the longest piece. */
static struct pieces *pieces_new(u32 longest)
{
	struct pieces *p = calloc(1, sizeof(*p));
	u32 at = 0, i;

	p->mem.at = pieces_at;
	p->mem.length = BYTES;
	while (at < BYTES) {
		u32 len = min(8 * (1 + random_below(longest / 8)), BYTES - at);

		p->piece[p->count] = malloc(len);
		p->begin[p->count] = at;
		for (i = 0; i < len; i++)
			p->first[at + i] = p->count;
		p->count++;
		at += len;
	}
	p->begin[p->count] = BYTES;
	return p;
}

static void pieces_free(struct pieces *p)
{
	while (p->count)
		free(p->piece[--p->count]);
	free(p);
}

static u8 *byte_of(const struct pieces *p, u64 off)
{
	size_t len;

	return pieces_at(&p->mem, off, &len);
}

static void pieces_write(struct pieces *p, u64 off, const u8 *from, u64 len)
{
	while (len--)
		*byte_of(p, off++) = *from++;
}

static bool pieces_equal(const struct pieces *p, u64 off, const u8 *to, u64 len)
{
	while (len--)
		if (*byte_of(p, off++) != *to++)
			return false;
	return true;
}

static bool pieces_untouched(const struct pieces *p, u64 from, u64 to)
{
	for (; from < to; from++)
		if (*byte_of(p, from) != CANARY)
			return false;
	return true;
}

/* The result of one operand after the other, in contiguous memory */
static void expected_make(const struct coll_fuse *fuse, u8 operand[][BYTES], u8 *out, u64 len)
{
	size_t size = coll_type_size(fuse->type), count = len / size, i;
	static float sum[2][BYTES];
	u32 s, last = fuse->sources - 1;

	if (fuse->wide) {
		coll_reduce_wide(&coll_reduce_scalar, fuse->type, last > 1 ? (void *)sum[1] : out,
				 last > 1, operand[0], operand[1], false, count,
				 last > 1 ? 0 : fuse->divisor);
		for (s = 2; s <= last; s++)
			coll_reduce_wide(&coll_reduce_scalar, fuse->type,
					 s < last ? (void *)sum[s & 1] : out, s < last, operand[s],
					 sum[!(s & 1)], true, count, s < last ? 0 : fuse->divisor);
		return;
	}
	memcpy(out, operand[0], len);
	for (s = 1; s <= last; s++)
		for (i = 0; i < count; i++)
			coll_reduce(&coll_reduce_scalar, fuse->type, fuse->reduction,
				    out + i * size, out + i * size, operand[s] + i * size, 1,
				    s < last ? 0 : fuse->divisor);
}

static void operands_make(u8 operand[][BYTES], const struct coll_fuse *fuse, u64 len)
{
	u64 i;
	u32 s;

	/* Bytes that are a normal number in every type, and vary */
	for (s = 0; s < fuse->sources; s++)
		for (i = 0; i < len; i++)
			operand[s][i] = i % 2 ? 0x38 + random_below(8) : random_below(256);
}

static bool fuse_run(u32 round)
{
	static const u8 types[] = { COLLECTIVE_FLOAT32, COLLECTIVE_FLOAT64, COLLECTIVE_INT8,
				    COLLECTIVE_BFLOAT16, COLLECTIVE_FLOAT16, COLLECTIVE_UINT16 };
	static u8 operand[COLL_FUSE_MAX][BYTES], expected[BYTES];
	struct pieces *source[COLL_FUSE_MAX], *dst;
	struct coll_fuse_stats stats = { 0 };
	struct coll_fuse fuse = {
		.type = types[round % ARRAY_SIZE(types)],
		.reduction = random_below(2) ? COLLECTIVE_SUM : COLLECTIVE_AVG,
		.sources = 2 + random_below(random_below(4) ? 6 : COLL_FUSE_MAX - 1),
		.impl = &coll_reduce_scalar,
		.part = part,
	};
	u32 in_place = random_below(2) ? random_below(fuse.sources) : COLL_FUSE_MAX, s;
	u64 len = 8 * random_below(random_below(8) ? 300 : 600) + 8, done = 0, off;
	bool passed = true;

	fuse.wide = coll_reduce_wide_valid(fuse.type, fuse.reduction) && random_below(2);
	fuse.own = random_below(fuse.sources);
	if (fuse.reduction == COLLECTIVE_AVG)
		fuse.divisor = fuse.sources;
	operands_make(operand, &fuse, len);
	expected_make(&fuse, operand, expected, len);
	for (s = 0; s < fuse.sources; s++) {
		source[s] = pieces_new(random_below(2) ? 16 : 2000);
		fuse.source[s].mem = &source[s]->mem;
		fuse.source[s].off = MARGIN + 8 * random_below(100);
		pieces_write(source[s], fuse.source[s].off, operand[s], len);
	}
	dst = in_place < fuse.sources ? source[in_place] : pieces_new(random_below(2) ? 16 : 2000);
	off = in_place < fuse.sources ? fuse.source[in_place].off : 8 * random_below(100) + MARGIN;
	fuse.dst = &dst->mem;
	fuse.dst_off = off;
	if (in_place == COLL_FUSE_MAX)
		for (done = 0; done < BYTES; done++)
			*byte_of(dst, done) = CANARY;

	for (done = 0; done < len; ) {
		u64 want = 8 + 8 * random_below((len - done) / 8);
		u64 n = coll_fuse(&fuse, want, &stats);

		passed &= n && n <= want && fuse.cost >= n * fuse.sources;
		done += n;
	}
	passed &= done == len && pieces_equal(dst, off, expected, len) &&
		  stats.peers == (fuse.sources - 1) * len && stats.own == len &&
		  stats.stored == len;
	if (in_place == COLL_FUSE_MAX) {
		passed &= pieces_untouched(dst, 0, off) && pieces_untouched(dst, off + len, BYTES);
		pieces_free(dst);
	}
	for (s = 0; s < fuse.sources; s++) {
		passed &= s == in_place ||
			  pieces_equal(source[s], fuse.source[s].off - len, operand[s], len);
		pieces_free(source[s]);
	}
	if (!passed)
		tap_note("round %u: type %u, %u operands, wide %d, %llu bytes, in place %u", round,
			 fuse.type, fuse.sources, fuse.wide, (unsigned long long)len, in_place);
	return passed;
}

/* Many short pieces are reduced some at a time, and cost more than their bytes. */
static void test_bounds(void)
{
	struct pieces *a = pieces_new(8), *b = pieces_new(2000), *dst = pieces_new(2000);
	struct coll_fuse_stats stats = { 0 };
	struct coll_fuse fuse = {
		.type = COLLECTIVE_UINT8,
		.reduction = COLLECTIVE_MAX,
		.sources = 2,
		.source = { { .mem = &a->mem }, { .mem = &b->mem } },
		.dst = &dst->mem,
		.impl = &coll_reduce_scalar,
		.part = part,
	};
	u64 n = coll_fuse(&fuse, BYTES, &stats);

	tap_ok(n == 8 * COLL_PIECES_MAX / 2,
	       "pieces of 8 bytes: COLL_PIECES_MAX of them at a time, of all operands");
	tap_ok(fuse.cost == COLL_PIECES_MAX * COLL_PIECE_COST, "and their cost is that of pieces");
	pieces_free(a);
	pieces_free(b);
	pieces_free(dst);
}

int main(void)
{
	bool passed = true;
	u32 round;

	tap_plan(3);
	for (round = 0; round < 3000; round++)
		passed &= fuse_run(round);
	tap_ok(passed, "the result, the counters and the memory around it");
	test_bounds();
	return tap_exit();
}
