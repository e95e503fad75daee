/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * A fused reduction: the elements of several memories are reduced at once.
 *
 * Each operand is read once and each result is stored once, however many operands there are.
 */
#ifndef COLL_FUSE_H
#define COLL_FUSE_H

#include "core/data/mem.h"
#include "core/reduce/reduce.h"

/* Most operands of a fused reduction. */
#define COLL_FUSE_MAX	64

/**
 * struct coll_fuse_source - one operand
 * @mem: memory of the elements
 * @off: offset of the next element; bytes
 */
struct coll_fuse_source {
	const struct coll_mem *mem;
	u64 off;
};

/**
 * struct coll_fuse_stats - what fused reductions and the copies after them moved; bytes
 * @peers: loaded from memory of other ranks
 * @own: loaded from own memory
 * @stored: stored
 */
struct coll_fuse_stats {
	u64 peers;
	u64 own;
	u64 stored;
};

/**
 * struct coll_fuse - a fused reduction
 * @type: enum collective_type
 * @reduction: enum collective_reduction
 * @wide: true if sums are rounded once, at the end; coll_reduce_wide_valid()
 * @sources: number of operands, 2 to COLL_FUSE_MAX
 * @own: index of this rank's operand
 * @divisor: number to divide the result by (AVG); 0: none
 * @source: the operands, in the order in which they are reduced
 * @dst: memory of the result; may be that of an operand, at the same offset
 * @dst_off: offset of the next byte to store in @dst
 * @cost: cost of what coll_fuse() did last, for a budget: see coll_piece_cost()
 * @impl: functions that reduce
 * @part: memory of COLL_REDUCE_PART bytes that coll_fuse() uses
 * @ptr: addresses of the operands; set by coll_fuse()
 */
struct coll_fuse {
	u8 type;
	u8 reduction;
	bool wide;
	u32 sources;
	u32 own;
	u32 divisor;
	struct coll_fuse_source source[COLL_FUSE_MAX];
	const struct coll_mem *dst;
	u64 dst_off;
	u64 cost;
	const struct coll_reduce_impl *impl;
	void *part;
	const void *ptr[COLL_FUSE_MAX];
};

u64 coll_fuse(struct coll_fuse *fuse, u64 len, struct coll_fuse_stats *stats);

#endif /* COLL_FUSE_H */
