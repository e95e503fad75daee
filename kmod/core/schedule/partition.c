// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
#include "core/schedule/partition.h"

/* Minimum part of an operation that is worth a lane, in bytes. */
#define COLL_LANE_MIN		(256 * 1024ULL)

/* Units in which vectors are cut, in bytes. */
#define COLL_CUT_LINE		64U
#define COLL_CUT_PAGE		4096

/**
 * coll_partition_piece() - one of several nearly equal pieces
 * @count: number of elements to cut
 * @size: bytes of an element, a power of two up to 64
 * @pieces: number of pieces, not 0
 * @index: number of the piece
 *
 * Pieces are cut at multiples of a page if they are several pages long, of a cache line if they
 * are several lines long, and of an element otherwise.  The last pieces may be shorter or empty.
 *
 * Return: the elements of piece @index.
 */
struct coll_range coll_partition_piece(u64 count, size_t size, u32 pieces, u32 index)
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
 * coll_partition_lanes() - number of lanes that an operation uses
 * @bytes: size of the operation
 * @lanes: number of lanes of the group
 *
 * Return: 1 .. @lanes, always the first lanes.
 */
u32 coll_partition_lanes(u64 bytes, u32 lanes)
{
	u64 worth = bytes / COLL_LANE_MIN;

	return clamp_t(u64, worth, 1, lanes);
}
