// SPDX-License-Identifier: GPL-2.0-only
#include "core/data/view.h"

/**
 * coll_stride_span() - how much memory blocks and what lies between them take
 * @stride: the blocks
 * @span: out: from the first to behind the last; 0: they are empty
 *
 * Return: 0 or -EOVERFLOW.
 */
int coll_stride_span(const struct coll_stride *stride, u64 *span)
{
	u64 rows, blocks;

	*span = 0;
	if (!stride->row)
		return 0;
	if (check_mul_overflow(stride->rows - 1, stride->stride, &rows) ||
	    check_mul_overflow((u64)stride->blocks - 1, stride->distance, &blocks) ||
	    check_add_overflow(rows, blocks, span) ||
	    check_add_overflow(*span, stride->row, span))
		return -EOVERFLOW;
	return 0;
}

/**
 * coll_stride_apart() - is no byte in two rows?
 * @stride: blocks whose span is known not to overflow
 *
 * The rows of one block are apart when their stride is a row or more.  Those of two
 * blocks lie like those of the first block and of one shifted by a multiple of the
 * distance: only the two rows next to where that begins can touch it.
 *
 * Return: true when all rows are disjoint.
 */
bool coll_stride_apart(const struct coll_stride *stride)
{
	u64 last = stride->rows - 1, shift = 0;
	u32 i;

	if (!stride->row)
		return true;
	if (last && stride->stride < stride->row)
		return false;
	for (i = 1; i < stride->blocks; i++) {
		u64 row = 0;

		shift += stride->distance;
		if (last)
			row = min(last, div64_u64(shift, stride->stride));
		if (shift - row * stride->stride < stride->row)
			return false;
		if (row < last && (row + 1) * stride->stride - shift < stride->row)
			return false;
	}
	return true;
}

/**
 * coll_stride_plain() - do the rows follow one another anyway?
 * @stride: the blocks
 *
 * Return: true when no view is needed.
 */
bool coll_stride_plain(const struct coll_stride *stride)
{
	return (stride->rows == 1 || stride->stride == stride->row) &&
	       (stride->blocks == 1 || stride->distance == stride->rows * stride->row);
}

static const struct coll_view *view_of(const struct coll_mem *mem)
{
	return container_of(mem, struct coll_view, mem);
}

/* The byte at @at below, of which @left follow in one piece of the view. */
static void *view_under(const struct coll_view *view, u64 at, u64 left, size_t *len)
{
	void *ptr = view->under->at(view->under, view->base + at, len);

	*len = min_t(u64, *len, left);
	return ptr;
}

static void *strided_at(const struct coll_mem *mem, u64 off, size_t *len)
{
	const struct coll_view *view = view_of(mem);
	const struct coll_stride *stride = &view->stride;
	u64 block, row, at;

	/* Rows are counted through all blocks, then through theirs. */
	row = div64_u64_rem(off, stride->row, &at);
	block = div64_u64_rem(row, stride->rows, &row);
	return view_under(view, block * stride->distance + row * stride->stride + at,
			  stride->row - at, len);
}

static void *placed_at(const struct coll_mem *mem, u64 off, size_t *len)
{
	const struct coll_view *view = view_of(mem);
	u64 element = off >> view->shift;
	u32 low = 0, high = view->blocks;
	u64 at;

	/* The last block that begins here or before: it has the element. */
	while (high - low > 1) {
		u32 middle = low + (high - low) / 2;

		if (view->first[middle] <= element)
			low = middle;
		else
			high = middle;
	}
	at = off - (view->first[low] << view->shift);
	return view_under(view, (view->place[low] << view->shift) + at,
			  (view->first[low + 1] << view->shift) - off, len);
}

/**
 * coll_view_strided() - blocks at equal distances
 * @view: made
 * @stride: the blocks, in bytes, not empty; their span does not overflow
 */
void coll_view_strided(struct coll_view *view, const struct coll_stride *stride)
{
	*view = (struct coll_view){
		.mem.at = strided_at,
		.mem.length = stride->blocks * stride->rows * stride->row,
		.stride = *stride,
	};
}

/**
 * coll_view_placed() - blocks anywhere
 * @view: made
 * @blocks: how many, not 0
 * @size: bytes of an element, a power of two
 * @first: elements before each block, and in all: @blocks + 1 numbers; used as long
 *	as the view
 * @place: where each block begins, in elements, of blocks that are not empty;
 *	likewise
 */
void coll_view_placed(struct coll_view *view, u32 blocks, u32 size, const u64 *first,
		      const u64 *place)
{
	*view = (struct coll_view){
		.mem.at = placed_at,
		.mem.length = first[blocks] * size,
		.blocks = blocks,
		.first = first,
		.place = place,
	};
	while (1U << view->shift < size)
		view->shift++;
}

/**
 * coll_view_over() - say in which memory the blocks are
 * @view: a view
 * @under: the memory; used as long as the view.  Its pieces hold whole elements
 * @base: its byte that is byte 0 of a strided view, or element 0 of where blocks are
 *	placed; modulo 2^64, for the latter need not be in it
 */
void coll_view_over(struct coll_view *view, const struct coll_mem *under, u64 base)
{
	view->under = under;
	view->base = base;
}
