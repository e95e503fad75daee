// SPDX-License-Identifier: GPL-2.0-only
#include "layout.h"

/* Below this many bytes a lane costs more than it gains. */
#define COLL_LANE_MIN		(256 * 1024ULL)

#define COLL_CUT_PAGE		4096
#define COLL_CUT_LINE		64

/**
 * coll_layout_piece() - one of several nearly equal pieces
 * @count: elements to cut
 * @size: bytes of an element, a power of two up to 64
 * @pieces: how many pieces, not 0
 * @index: which one, below @pieces
 *
 * Pieces are cut at multiples of a page where they are several pages long, of
 * a cache line where they are several lines, and of an element otherwise; the
 * last ones may be shorter or empty.
 *
 * Return: the elements of piece @index.
 */
struct coll_range coll_layout_piece(u64 count, size_t size, u32 pieces, u32 index)
{
	u64 unit = 1, units, each, rest, first, last;

	if (pieces == 1)
		return (struct coll_range){ .count = count };

	each = div_u64(count, pieces);
	if (each * size >= 4 * COLL_CUT_PAGE)
		unit = COLL_CUT_PAGE / size;
	else if (each * size >= 4 * COLL_CUT_LINE)
		unit = COLL_CUT_LINE / size;

	/* Both are powers of two: the division is a shift. */
	units = (count + unit - 1) / unit;
	each = div_u64(units, pieces);
	rest = units - each * pieces;

	first = (each * index + min_t(u64, index, rest)) * unit;
	last = (each * (index + 1) + min_t(u64, index + 1, rest)) * unit;
	first = min(first, count);
	last = min(last, count);

	return (struct coll_range){ .first = first, .count = last - first };
}

/**
 * coll_layout_lanes() - how many of a group's lanes an operation uses
 * @bytes: size of the operation
 * @lanes: lanes that the group has
 *
 * Return: 1 .. @lanes, always the first ones.
 */
u32 coll_layout_lanes(u64 bytes, u32 lanes)
{
	u64 worth = bytes / COLL_LANE_MIN;

	return clamp_t(u64, worth, 1, lanes);
}
