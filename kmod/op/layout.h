/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_OP_LAYOUT_H
#define COLL_OP_LAYOUT_H

#include <linux/collective.h>

#include "core/schedule/schedule.h"
#include "core/data/view.h"

struct coll_charges;

/* What one of an operation's buffers holds on this rank. */
enum coll_holds {
	COLL_HOLDS_NOTHING,
	COLL_HOLDS_BLOCK,	/* a vector, or a block */
	COLL_HOLDS_BLOCKS,	/* a block of each rank */
};

/**
 * struct coll_area_layout - where the blocks of one buffer are
 * @skip: bytes from its address to the first one that is touched
 * @span: bytes from there to behind the last one
 * @needs_view: its blocks do not follow one another: @view is needed
 * @view: of them
 * @first: with VECTOR, of a buffer that has a block of each rank: elements before
 *	each, and in all
 * @longest: elements of the longest of them
 */
struct coll_area_layout {
	u64 skip;
	u64 span;
	bool needs_view;
	struct coll_view view;
	const u64 *first;
	u64 longest;
};

/**
 * struct coll_block_layout - the layout of an operation, checked
 * @area: of each enum coll_area; of one that holds nothing, zero
 * @digest: of the counts that all ranks must have given; 0: there are none
 * @charges: its memory is charged to; outlives it
 * @charged: bytes charged for it; returned when it is freed
 * @numbers: that @area points to
 *
 * Belongs to one request, whose lanes read it, and is freed with it.
 */
struct coll_block_layout {
	struct coll_area_layout area[COLL_AREA_COUNT];
	u64 digest;
	struct coll_charges *charges;
	u32 charged;
	u64 numbers[];
};

int coll_block_layout_read(struct coll_block_layout **layout, const struct collective_op *op,
			   struct coll_charges *charges, u32 rank, u32 nranks,
			   const u8 *holds);
void coll_block_layout_free(struct coll_block_layout *layout);
bool coll_block_layout_vector(const struct coll_block_layout *layout);
bool coll_block_layout_own(const struct coll_block_layout *layout, u32 rank, u64 *off);
bool coll_block_layout_alike(const struct coll_block_layout *layout, u32 nranks);
const struct coll_mem *coll_block_layout_over(struct coll_block_layout *layout, u32 area,
					      const struct coll_mem *under, u64 off);

#endif /* COLL_OP_LAYOUT_H */
