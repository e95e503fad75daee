/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory whose blocks lie apart, as if they followed one another.
 *
 * Schedules, and all that executes them, know blocks only as the ranks' blocks one
 * after the other: that is the view's memory.  A view says where in another memory
 * a byte of it is, in one of two ways:
 *
 *  - strided: every block is as large as every other, and as far from the next;
 *    it consists of rows, which are equally far from one another too.  The part of
 *    a row-major array that has some of the indices of one axis looks like this;
 *  - placed: blocks of any lengths begin anywhere.
 *
 * Nothing is remembered from one look to the next, so that lanes may share a view.
 */
#ifndef COLL_VIEW_H
#define COLL_VIEW_H

#include "core/data/mem.h"

/**
 * struct coll_stride - blocks at equal distances, in any unit
 * @blocks: how many, not 0
 * @rows: pieces of a block, not 0
 * @row: length of a row
 * @stride: from the beginning of a row to that of the next
 * @distance: from the beginning of a block to that of the next
 */
struct coll_stride {
	u32 blocks;
	u64 rows;
	u64 row;
	u64 stride;
	u64 distance;
};

/**
 * struct coll_view - blocks one after the other
 * @mem: they are
 * @under: the memory in which they are not
 * @base: added to every offset there, modulo 2^64
 * @stride: of a strided view, in bytes
 * @blocks: how many, of a placed view
 * @shift: binary logarithm of the bytes of an element
 * @first: elements before each block, and after the last one: @blocks + 1 numbers
 * @place: where each block begins, in elements: @blocks numbers
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
