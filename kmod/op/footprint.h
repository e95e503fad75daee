/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_FOOTPRINT_H
#define COLL_FOOTPRINT_H

#include <linux/collective.h>

#include "core/schedule/schedule.h"

struct coll_block_layout;
struct coll_requests;

/**
 * struct coll_byte_range - what is touched of a buffer
 * @skip: bytes from its address to the first one touched
 * @bytes: from there to behind the last one; 0: nothing
 */
struct coll_byte_range {
	u64 skip;
	u64 bytes;
};

/**
 * struct coll_footprint - what an operation does with its two buffers
 * @range: what it reads of its input and writes of its result, by enum coll_area
 * @block: bytes of the vector, or of the longest block that we know of
 * @total: elements of the vector or of a block, on which ranks must agree; where
 *	blocks differ, of all of them, or 0 when some are known to some ranks only
 * @digest: of blocks that differ and are known to all ranks; else 0
 * @own: where our input is in the result when it is in place (or our result in the
 *	input); bytes, the blocks one after the other
 * @in_place: it is
 */
struct coll_footprint {
	struct coll_byte_range range[COLL_AREA_COUNT];
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
