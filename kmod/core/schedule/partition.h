/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * How the elements of an operation are cut: first into lanes, then into chunks.
 *
 * Both cuts are pure functions of numbers that are equal on every rank, so no rank has to tell
 * them.  Large pieces are cut at multiples of a page, so that a chunk of a page-aligned buffer is
 * sent as whole pages.
 */
#ifndef COLL_PARTITION_H
#define COLL_PARTITION_H

#include "core/env.h"

/**
 * struct coll_range - consecutive elements
 * @first: index of the first one
 * @count: number of elements; may be 0
 */
struct coll_range {
	u64 first;
	u64 count;
};

struct coll_range coll_partition_piece(u64 count, size_t size, u32 pieces, u32 index);
u32 coll_partition_lanes(u64 bytes, u32 lanes);

#endif /* COLL_PARTITION_H */
