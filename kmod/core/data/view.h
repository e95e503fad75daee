/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The view: memory in which blocks lie apart, seen as if they were contiguous.
 *
 * Schedules and the engine know only contiguous blocks, one for each rank: that is the memory of
 * the view.  A view maps each of its bytes to another memory, in one of two ways:
 *
 *  - strided: all blocks have the same length and the same distance.  A block consists of rows
 *    at equal distances, such as the part of a row-major array with some indices of one axis;
 *  - placed: blocks of any lengths begin anywhere.
 *
 * A view keeps no state between two calls, so lanes may share it.
 */
#ifndef COLL_VIEW_H
#define COLL_VIEW_H

#include "core/data/mem.h"

/**
 * struct coll_stride - blocks at equal distances, in any unit
 * @blocks: number of blocks, not 0
 * @rows: number of rows of a block, not 0
 * @row: length of a row
 * @stride: distance between the beginnings of two rows
 * @distance: distance between the beginnings of two blocks
 */
struct coll_stride {
	u32 blocks;
	u64 rows;
	u64 row;
	u64 stride;
	u64 distance;
};

/**
 * struct coll_view - contiguous blocks, mapped to another memory
 * @mem: memory of the view
 * @under: memory that the blocks are in
 * @base: number added to every offset in @under, modulo 2^64
 * @stride: of a strided view, in bytes
 * @blocks: of a placed view: number of blocks
 * @shift: binary logarithm of the bytes of an element
 * @first: number of elements before each block, and of all: @blocks + 1 numbers
 * @place: beginning of each block in elements: @blocks numbers
 */
struct coll_view {
	struct coll_mem mem;
	const struct coll_mem *under;
	u64 base;
	struct coll_stride stride;
	u32 blocks;
	u32 shift;
	const u64 *first;
	const u64 *place;
};

int coll_stride_span(const struct coll_stride *stride, u64 *span);
bool coll_stride_apart(const struct coll_stride *stride);
bool coll_stride_plain(const struct coll_stride *stride);

void coll_view_strided(struct coll_view *view, const struct coll_stride *stride);
void coll_view_placed(struct coll_view *view, u32 blocks, u32 size, const u64 *first,
		      const u64 *place);
void coll_view_over(struct coll_view *view, const struct coll_mem *under, u64 base);

#endif /* COLL_VIEW_H */
