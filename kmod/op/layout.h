/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_OP_LAYOUT_H
#define COLL_OP_LAYOUT_H

#include <linux/collective.h>

#include "core/schedule/schedule.h"
#include "core/data/view.h"

struct coll_charges;

/* Content of one of an operation's buffers on this rank. */
enum coll_holds {
	COLL_HOLDS_NOTHING,
	COLL_HOLDS_BLOCK,	/* one block, or the vector */
	COLL_HOLDS_BLOCKS,	/* one block for each rank */
};

/**
 * struct coll_area_layout - where the blocks of one buffer lie
 * @skip: bytes from the address of the buffer to the first one touched
 * @span: bytes from the first one touched to behind the last one
 * @needs_view: true if the blocks do not follow one another, so that @view is used
 * @view: presents the blocks as if they followed one another
 * @first: with VECTOR, of a buffer with a block for each rank: number of elements before each
 *	block, and in all; else NULL
 * @longest: elements of the longest block; set with @first
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
 * @area: by enum coll_area; zero if the buffer holds nothing
 * @digest: hash of the counts that must be the same on all ranks; 0: there are none
 * @charges: account that the memory is charged to; outlives the layout
 * @charged: bytes charged; uncharged when the layout is freed
 * @numbers: counts and displacements that @area refers to
 *
 * Owned by one request, and freed with it.  The request's lanes read it.
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
