// SPDX-License-Identifier: GPL-2.0-only
#include "core/data/fuse.h"

/* Most cost of the pieces that are reduced at once, unless they are long. */
#define FUSE_COST_MAX	(COLL_PIECES_MAX * COLL_PIECE_COST)

/* Reduce the bytes that are contiguous in every memory.  Return: their number. */
static size_t fuse_contiguous(struct coll_fuse *fuse, u64 left)
{
	size_t len, space;
	void *dst = fuse->dst->at(fuse->dst, fuse->dst_off, &len);
	u32 i;

	len = min_t(u64, len, left);
	for (i = 0; i < fuse->sources; i++) {
		const struct coll_fuse_source *source = &fuse->source[i];

		fuse->ptr[i] = source->mem->at(source->mem, source->off, &space);
		len = min(len, space);
	}
	coll_reduce_many(fuse->impl, fuse->type, fuse->reduction, fuse->wide, dst, fuse->ptr,
			 fuse->sources, len / coll_type_size(fuse->type), fuse->divisor,
			 fuse->part);
	for (i = 0; i < fuse->sources; i++)
		fuse->source[i].off += len;
	fuse->dst_off += len;
	return len;
}

/**
 * coll_fuse() - reduce the next bytes of all operands
 * @fuse: the reduction
 * @len: bytes of each operand, in whole elements; not 0
 * @stats: counts what is moved
 *
 * A piece costs at least COLL_PIECE_COST for each operand.  The pieces of different operands need
 * not end together, so each part that is contiguous in all of them counts as a piece.
 *
 * Context: any; between kernel_fpu_begin() and kernel_fpu_end().
 * Return: number of bytes of each operand that were reduced: @len, or fewer if the memory is in
 * many short pieces.
 */
u64 coll_fuse(struct coll_fuse *fuse, u64 len, struct coll_fuse_stats *stats)
{
	const u64 least = (u64)fuse->sources * COLL_PIECE_COST;
	u64 done = 0;

	fuse->cost = 0;
	do {
		size_t n = fuse_contiguous(fuse, len - done);

		done += n;
		fuse->cost += max_t(u64, fuse->sources * n, least);
	} while (done < len && fuse->cost + least <= FUSE_COST_MAX);
	stats->peers += (fuse->sources - 1) * done;
	stats->own += done;
	stats->stored += done;
	return done;
}
