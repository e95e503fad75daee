/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_FOOTPRINT_H
#define COLL_FOOTPRINT_H

#include <linux/collective.h>

#include "core/schedule/schedule.h"

struct coll_block_layout;
struct coll_requests;

/**
 * struct coll_byte_range - bytes of a buffer that an operation touches
 * @skip: bytes from the address of the buffer to the first one touched
 * @bytes: length of the range; 0: nothing is touched
 */
struct coll_byte_range {
	u64 skip;
	u64 bytes;
};

/**
 * struct coll_footprint - use that an operation makes of its two buffers
 * @range: bytes that it reads of the input and writes of the result, by enum coll_area
 * @block: bytes of the vector, or of the longest block that this rank knows of
 * @total: elements of the vector or of one block, which must be the same on all ranks.  Where
 *	blocks differ: elements of all blocks, or 0 if only some ranks know some of the counts
 * @digest: hash of the counts of blocks that differ, if all ranks know all of them; else 0
 * @own: offset of this rank's input in the result, or of its result in the input, if in place;
 *	bytes, as if the blocks lay one after the other
 * @in_place: true if input and result share memory
 */
struct coll_footprint {
	struct coll_byte_range range[COLL_AREA_SCRATCH];
	u64 block;
	u64 total;
	u64 digest;
	u64 own;
	bool in_place;
};

int coll_validate(const struct collective_op *op, struct coll_requests *reqs,
		  struct coll_plan *plan, struct coll_footprint *footprint,
		  struct coll_block_layout **layout);

#endif /* COLL_FOOTPRINT_H */
