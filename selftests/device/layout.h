/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Blocks that are not contiguous, for tests of layouts: the input, and the expected result computed
 * from array indices.
 */
#ifndef COLL_LAYOUT_H
#define COLL_LAYOUT_H

#include <stdint.h>

#include "lib/group.h"
#include "lib/values.h"

#define EAGER	COLLECTIVE_EAGER_LIMIT
#define GAP	0x5c

/* Ranks use different offsets in a page. */
#define SHIFT	(3 * 8 * GROUP_RANKS_MAX)
#define SLACK	(GUARD + SHIFT)

static const int types[] = {
	COLLECTIVE_UINT8, COLLECTIVE_INT16, COLLECTIVE_UINT32, COLLECTIVE_INT64,
};

static const int opcodes[] = {
	COLLECTIVE_ALLGATHER, COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_GATHER, COLLECTIVE_SCATTER,
	COLLECTIVE_ALLTOALL,
};

static const char * const names[] = {
	[COLLECTIVE_ALLGATHER] = "allgather",
	[COLLECTIVE_REDUCE_SCATTER] = "reduce_scatter",
	[COLLECTIVE_GATHER] = "gather",
	[COLLECTIVE_SCATTER] = "scatter",
	[COLLECTIVE_ALLTOALL] = "alltoall",
};

/**
 * struct part - places of the blocks of one buffer
 * @dim: dimensions of one block
 * @blocks: number of blocks
 * @axis: axis along which the blocks follow one another, if there are several
 * @pitch: elements from one row to the next, if there is one block
 */
struct part {
	size_t dim[3];
	u32 blocks;
	u32 axis;
	size_t pitch;
};

/**
 * struct call - one collective with views, on all ranks
 * @opcode: enum collective_opcode
 * @type: enum collective_type, an integer
 * @root: root rank
 * @in_place: true if the own block, or the result, is in the other buffer
 * @send: buffer of a rank that sends
 * @recv: buffer of a rank that receives
 */
struct call {
	int opcode;
	int type;
	u32 root;
	bool in_place;
	struct part send;
	struct part recv;
};

static inline int call_size(const struct call *c)
{
	return reference_types[c->type].size;
}

static inline bool sends(const struct rank *r, const struct call *c)
{
	return c->opcode != COLLECTIVE_SCATTER || r->rank == c->root;
}

static inline bool receives(const struct rank *r, const struct call *c)
{
	return c->opcode != COLLECTIVE_GATHER || r->rank == c->root;
}

static inline u64 element(const struct call *c, u32 rank, u32 block, size_t e)
{
	u64 h = (rank * 16ULL + block + 1) * 0x9e3779b97f4a7c15ULL + e * 0xbf58476d1ce4e5b9ULL;

	return (h ^ h >> 29) & reference_mask(&reference_types[c->type]);
}

/* Return: the expected element of a block of the result. */
static inline u64 result(const struct rank *r, const struct call *c, u32 block, size_t e)
{
	u64 sum = 0;
	u32 k;

	switch (c->opcode) {
	case COLLECTIVE_ALLTOALL:
		return element(c, block, r->rank, e);
	case COLLECTIVE_SCATTER:
		return element(c, c->root, r->rank, e);
	case COLLECTIVE_REDUCE_SCATTER:
		for (k = 0; k < r->nranks; k++)
			sum += element(c, k, r->rank, e);
		return sum & reference_mask(&reference_types[c->type]);
	default:
		return element(c, block, 0, e);
	}
}

static inline void put(__u8 *at, size_t i, u64 value, int size)
{
	memcpy(at + i * size, &value, size);
}

#endif /* COLL_LAYOUT_H */
