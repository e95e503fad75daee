/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory as the core sees it: bytes 0 .. length, in pieces.
 *
 * Who embeds this knows what is behind it: pinned pages in the kernel, an
 * array in user space.  An element never straddles two pieces.
 */
#ifndef COLL_MEM_H
#define COLL_MEM_H

#include "core/env.h"
#include "core/reduce/copy.h"

/**
 * struct coll_mem - some memory
 * @at: gives the address of byte @off and, in @len, how many bytes follow there
 *	without a break (at least one); callable in any context
 * @length: bytes in all
 */
struct coll_mem {
	void *(*at)(const struct coll_mem *mem, u64 off, size_t *len);
	u64 length;
};

/**
 * struct coll_out - what may leave next on a stream
 * @ptr: bytes to copy: of a header; or NULL, then it is payload:
 * @mem: memory it is in
 * @off: where in it
 * @len: bytes
 * @copy: payload must be copied, for nobody will wait until it is consumed
 * @more: bytes of payload that follow a header, at @mem and @off, and may leave with it
 */
struct coll_out {
	const u8 *ptr;
	const struct coll_mem *mem;
	u64 off;
	u32 len;
	u32 more;
	bool copy;
};

/*
 * Memory may be in pieces as short as an element, each of which takes as long as some hundred
 * bytes do that follow one another.  So what is done at a time is bounded by pieces, too: a
 * piece costs COLL_PIECE_COST bytes of any budget at least, and COLL_PIECES_MAX are done at
 * once.
 */
#define COLL_PIECE_COST		256U
#define COLL_PIECES_MAX		256U

/**
 * coll_piece_bound() - how many bytes are done at once
 * @piece: bytes that follow one another, in the shortest of the memories they are in
 * @len: bytes in all
 *
 * Return: @len, or what is in COLL_PIECES_MAX such pieces.
 */
static inline u64 coll_piece_bound(u64 piece, u64 len)
{
	return piece >= COLL_PIECE_COST ? len : min(len, piece * COLL_PIECES_MAX);
}

/**
 * coll_piece_cost() - what that costs of a budget
 * @piece: see coll_piece_bound(), not 0
 * @len: bytes
 *
 * Return: bytes, @len at least.
 */
static inline u64 coll_piece_cost(u64 piece, u64 len)
{
	return piece >= COLL_PIECE_COST ? len : div64_u64(len * COLL_PIECE_COST, piece);
}

/**
 * coll_mem_piece() - how many bytes follow one another
 * @mem: the memory
 * @off: from where on
 *
 * The end of a page or of a row may be near, though all others are long: so of the piece that
 * begins there and the next one it is the longer.  Rows are as long as one another, and of
 * blocks of any lengths there are no more than ranks.
 *
 * Return: bytes, not 0.
 */
static inline u64 coll_mem_piece(const struct coll_mem *mem, u64 off)
{
	size_t len, next = 0;

	mem->at(mem, off, &len);
	if (len < COLL_PIECE_COST && off + len < mem->length)
		mem->at(mem, off + len, &next);
	return max(len, next);
}

void coll_mem_store(coll_copy_fn copy, const struct coll_mem *dst, u64 off, const void *ptr,
		    size_t len);
void coll_mem_copy(coll_copy_fn copy, const struct coll_mem *dst, u64 dst_off,
		   const struct coll_mem *src, u64 src_off, u64 len);

#endif /* COLL_MEM_H */
