// SPDX-License-Identifier: GPL-2.0-only
#include "core/data/view.h"

/**
 * coll_stride_span() - memory that blocks and the gaps between them take
 * @stride: the blocks
 * @span: set to the distance from the first byte to the end of the last row; 0: the blocks
 *	are empty
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
 * coll_stride_apart() - are all rows disjoint?
 * @stride: blocks with a span that does not overflow
 *
 * The rows of one block are disjoint if their stride is at least a row.  The rows of two blocks
 * lie like those of the first block and of a copy shifted by a multiple of the distance: only the
 * two rows next to the beginning of the copy can touch it.
 *
 * Return: true if no byte is in two rows.
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
 * coll_stride_plain() - are the rows contiguous?
 * @stride: the blocks
 *
 * Return: true if no view is needed.
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

/* Address of byte @at of the memory below; @left bytes of the view follow contiguously. */
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

	/* Rows are counted over all blocks. */
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

	/* The last block that begins at or before the element contains it. */
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
 * coll_view_strided() - make a view of blocks at equal distances
 * @view: filled in
 * @stride: the blocks in bytes, not empty; their span does not overflow
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
 * coll_view_placed() - make a view of blocks anywhere
 * @view: filled in
 * @blocks: number of blocks, not 0
 * @size: bytes of an element, a power of two
 * @first: number of elements before each block, and of all: @blocks + 1 numbers; used as
 *	long as the view
 * @place: beginning of each block that is not empty, in elements; used as long as the view
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
 * coll_view_over() - set the memory that the blocks are in
 * @view: a view
 * @under: the memory, used as long as the view; each piece holds whole elements
 * @base: offset in @under of byte 0 of a strided view, or of element 0 of a placed view;
 *	modulo 2^64, because the latter need not be in @under
 */
void coll_view_over(struct coll_view *view, const struct coll_mem *under, u64 base)
{
	view->under = under;
	view->base = base;
}
