// SPDX-License-Identifier: GPL-2.0-only
/* How elements are cut into lanes and chunks. */
#include "core/schedule/partition.h"
#include "tap.h"

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
	tap_plan(5);
	test_pieces();
	test_small();
	test_lanes();
	return tap_exit();
}
