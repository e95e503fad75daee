/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How an operation's elements are cut: first into lanes, then into chunks.
 *
 * Both cuts are pure functions of numbers that are the same on every rank, so
 * nobody has to tell anybody.  Large pieces are cut at page multiples, so that
 * a chunk of a page-aligned buffer is sent as whole pages; on one host chunks fill
 * packets instead, where that is possible.
 */
#ifndef COLL_PARTITION_H
#define COLL_PARTITION_H

#include "core/env.h"

/**
 * struct coll_range - some consecutive elements
 * @first: index of the first one
 * @count: how many, may be 0
 */
struct coll_range {
	u64 first;
	u64 count;
};

struct coll_range coll_partition_piece(u64 count, size_t size, u32 pieces, u32 index);
struct coll_range coll_partition_chunk(u64 count, size_t size, u32 chunks, u32 index,
				       bool same_host);
u32 coll_partition_lanes(u64 bytes, u32 lanes);

#endif /* COLL_PARTITION_H */
