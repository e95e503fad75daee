// SPDX-License-Identifier: GPL-2.0-only
/* How elements are cut into lanes and chunks. */
#include "core/schedule/partition.h"
#include "tap.h"
#include "core/wire/wire.h"

static const u64 counts[] = {
	0, 1, 2, 3, 5, 31, 63, 64, 65, 127, 255, 256, 1000, 1021, 4095, 4096, 4097,
	10007, 65536, 65537, 1000003, 1ULL << 32, (1ULL << 40) + 7, (1ULL << 50) - 1,
};

static const u32 pieces[] = { 1, 2, 3, 4, 5, 7, 8, 16, 17, 31, 33, 64, 100, 1023, 1024 };

/* Return: true if the pieces follow one another and together have all elements. */
static bool is_partition(u64 count, size_t size, u32 n)
{
	u64 at = 0;
	u32 i;

	for (i = 0; i < n; i++) {
		struct coll_range piece = coll_partition_piece(count, size, n, i);

		if (piece.first != at || piece.count > count - at)
			return false;
		at += piece.count;
	}
	return at == count;
}

/* Return: true if the lengths of the pieces differ by at most two units of the cut. */
static bool is_even(u64 count, size_t size, u32 n)
{
	u64 low = count, high = 0, unit = 1, each = count / n;
	u32 i;

	if (each * size >= 4 * 4096)
		unit = 4096 / size;
	else if (each * size >= 4 * 64)
		unit = 64 / size;
	for (i = 0; i < n; i++) {
		struct coll_range piece = coll_partition_piece(count, size, n, i);

		low = min(low, piece.count);
		high = max(high, piece.count);
	}
	/* The last piece may also be short by a part of a unit. */
	return high - low <= 2 * unit;
}

/* Return: true if the pieces are small, or begin at pages. */
static bool is_aligned(u64 count, size_t size, u32 n)
{
	u32 i;

	if (count / n * size < 4 * 4096)
		return true;
	for (i = 0; i < n; i++)
		if (coll_partition_piece(count, size, n, i).first * size % 4096)
			return false;
	return true;
}

static void test_pieces(void)
{
	bool partition = true, even = true, aligned = true;
	size_t c, p, size;

	for (c = 0; c < ARRAY_SIZE(counts); c++) {
		for (p = 0; p < ARRAY_SIZE(pieces); p++) {
			for (size = 1; size <= 8; size *= 2) {
				partition &= is_partition(counts[c], size, pieces[p]);
				even &= is_even(counts[c], size, pieces[p]);
				aligned &= is_aligned(counts[c], size, pieces[p]);
			}
		}
	}
	tap_ok(partition, "the pieces have all elements");
	tap_ok(even, "the pieces have nearly the same length");
	tap_ok(aligned, "large pieces begin at pages");
}

/* Return: the bytes free in the last packet of a frame with @bytes of payload. */
static u64 packets_left(u64 bytes)
{
	return COLL_PACKET - 1 - (bytes + COLL_DATA_SIZE + COLL_PACKET - 1) % COLL_PACKET;
}

/* Check the chunks of ranks on one host; *@fills is set if one is cut to fill its packets. */
static bool is_chunked(u64 count, size_t size, u32 n, bool *fills)
{
	u64 longest = coll_partition_chunk(count, size, n, 0, true).count, at = 0;
	u32 i;

	for (i = 0; i < n; i++) {
		struct coll_range chunk = coll_partition_chunk(count, size, n, i, true);
		struct coll_range piece = coll_partition_piece(count, size, n, i);
		struct coll_range far = coll_partition_chunk(count, size, n, i, false);

		if (far.first != piece.first || far.count != piece.count)
			return false;
		if (chunk.first != at || chunk.count > longest || chunk.count > count - at)
			return false;
		at += chunk.count;
		if (chunk.first == piece.first && chunk.count == piece.count)
			continue;
		*fills = true;
		if (chunk.first * size % 64 || chunk.count * n > count + count / 16)
			return false;
		/* All but the first and the last fill packets, to a cache line. */
		if (i && i < n - 1 && packets_left(chunk.count * size) >= 64)
			return false;
	}
	return at == count;
}

static u64 chunk_bytes(u64 bytes, u32 n, u32 index)
{
	return coll_partition_chunk(bytes / 4, 4, n, index, true).count * 4;
}

static void test_chunks(void)
{
	bool passed = true, fills = false;
	size_t c, p, size;
	u64 bytes;

	for (p = 0; p < ARRAY_SIZE(pieces); p++) {
		for (size = 1; size <= 8; size *= 2) {
			for (c = 0; c < ARRAY_SIZE(counts); c++)
				passed &= is_chunked(counts[c], size, pieces[p], &fills);
			for (bytes = 60000; bytes < 3 << 20; bytes += 4093)
				passed &= is_chunked(bytes / size, size, pieces[p], &fills);
			for (bytes = 65536; bytes <= 32 << 20; bytes *= 2)
				passed &= is_chunked(bytes / size, size, pieces[p], &fills);
		}
	}
	tap_ok(passed && fills, "the chunks have all elements, and fill packets where they can");
	tap_ok(chunk_bytes(1 << 20, 2, 1) == 523648 && chunk_bytes(1 << 20, 2, 0) == 524928 &&
	       chunk_bytes(1 << 20, 8, 5) == 130880 && chunk_bytes(1 << 20, 8, 0) == 132416,
	       "chunks of 1 MiB on 2 and 8 ranks of a host");
	tap_ok(chunk_bytes(64 << 20, 2, 1) == 32 << 20 && chunk_bytes(300000, 3, 1) == 102400,
	       "chunks longer than a frame, or uneven ones, are cut at pages");
}

static void test_small(void)
{
	struct coll_range piece;
	bool passed = true;
	u32 i;

	for (i = 0; i < 8; i++) {
		piece = coll_partition_piece(5, 4, 8, i);
		passed &= piece.count == (i < 5) && (i >= 5 || piece.first == i);
	}
	tap_ok(passed, "with fewer elements than pieces the first pieces have one each");
}

static void test_lanes(void)
{
	bool passed = true;
	u64 bytes;
	u32 lanes;

	for (lanes = 1; lanes <= 8; lanes++) {
		u32 before = 1;

		for (bytes = 0; bytes < 4 << 20; bytes += 4093) {
			u32 used = coll_partition_lanes(bytes, lanes);

			passed &= used >= before && used <= lanes;
			passed &= used == 1 || bytes / used >= 256 * 1024;
			before = used;
		}
		passed &= coll_partition_lanes(U64_MAX, lanes) == lanes;
	}
	tap_ok(passed, "every lane in use has at least 256 KiB");
}

int main(void)
{
	tap_plan(8);
	test_pieces();
	test_chunks();
	test_small();
	test_lanes();
	return tap_exit();
}
