// SPDX-License-Identifier: GPL-2.0-only
#include "core/schedule/partition.h"
#include "core/wire/wire.h"

/* Below this many bytes a lane costs more than it gains. */
#define COLL_LANE_MIN		(256 * 1024ULL)

#define COLL_CUT_PAGE		4096

/* How much longer than the others a chunk may be: one such part of them. */
#define COLL_CUT_UNEVEN		32

/**
 * coll_partition_piece() - one of several nearly equal pieces
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

/*
 * Of how many bytes all chunks but the first one are; 0: as coll_partition_piece() cuts them.
 *
 * A packet costs as much as moving some ten thousand bytes, and a round number of bytes with a
 * header is a little more than so many packets hold.  That little goes to the first chunk,
 * if it is not much of a chunk even for all the others.
 */
static u64 partition_packets(u64 bytes, u32 chunks)
{
	u64 packets = div_u64(div_u64(bytes, chunks) + COLL_DATA_SIZE, COLL_PACKET);
	u64 each, more;

	if (!packets || packets > COLL_DATA_PACKETS)
		return 0;
	each = COLL_PACKETS((u32)packets);
	more = bytes - each * chunks;
	return more >= 2 * COLL_CUT_LINE && more <= each / COLL_CUT_UNEVEN ? each : 0;
}

/**
 * coll_partition_chunk() - one of several nearly equal pieces, to be sent one by one
 * @count: elements to cut
 * @size: bytes of an element, a power of two up to 64
 * @chunks: how many pieces, not 0
 * @index: which one, below @chunks
 * @same_host: between ranks of one host
 *
 * As coll_partition_piece() cuts them, or, on one host, so that each fills packets: cut at
 * multiples of a cache line.  No piece is longer than the first one.
 *
 * Return: the elements of piece @index.
 */
struct coll_range coll_partition_chunk(u64 count, size_t size, u32 chunks, u32 index,
				       bool same_host)
{
	u64 bytes = same_host && chunks > 1 ? partition_packets(count * size, chunks) : 0;
	u64 each, tail, first;

	if (!bytes)
		return coll_partition_piece(count, size, chunks, index);

	/* What is not a line is the last one's. */
	each = div_u64(bytes, size);
	tail = count & (COLL_CUT_LINE / size - 1);
	first = count - tail - each * (chunks - 1);
	if (!index)
		return (struct coll_range){ .count = first };
	return (struct coll_range){
		.first = first + each * (index - 1),
		.count = each + (index == chunks - 1 ? tail : 0),
	};
}

/**
 * coll_partition_lanes() - how many of a group's lanes an operation uses
 * @bytes: size of the operation
 * @lanes: lanes that the group has
 *
 * Return: 1 .. @lanes, always the first ones.
 */
u32 coll_partition_lanes(u64 bytes, u32 lanes)
{
	u64 worth = bytes / COLL_LANE_MIN;

	return clamp_t(u64, worth, 1, lanes);
}
