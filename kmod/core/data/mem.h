/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Memory as the core sees it: bytes 0 .. length, in pieces.
 *
 * The embedding object knows what is behind it: pinned pages in the kernel, an array in user
 * space.  An element never crosses the boundary of two pieces.
 */
#ifndef COLL_MEM_H
#define COLL_MEM_H

#include "core/env.h"
#include "core/reduce/copy.h"

/**
 * struct coll_mem - some memory
 * @at: returns the address of byte @off and sets @len to the number of bytes (at least one)
 *	that follow without a break; callable in any context
 * @length: number of bytes
 */
struct coll_mem {
	void *(*at)(const struct coll_mem *mem, u64 off, size_t *len);
	u64 length;
};

/**
 * struct coll_out - the next bytes to send on a stream
 * @ptr: bytes of a header, to be copied; NULL: the bytes are payload in @mem
 * @mem: memory of the payload
 * @off: offset in @mem; bytes
 * @len: number of bytes
 * @copy: true if the payload must be copied, because no rank waits until it is consumed
 * @more: bytes of payload after a header, at @mem and @off, that may be sent with it
 * @position: number of payload bytes of the stream up to the end of these
 * @owner: owner of the memory, for a transport that sends references; only compared
 */
struct coll_out {
	const u8 *ptr;
	const struct coll_mem *mem;
	u64 off;
	u32 len;
	u32 more;
	bool copy;
	u64 position;
	const void *owner;
};

/**
 * struct coll_place - where bytes go that a transport stores itself
 * @mem: the memory; NULL: the bytes are dropped
 * @off: offset of the first byte in @mem
 * @len: number of bytes
 */
struct coll_place {
	const struct coll_mem *mem;
	u64 off;
	u64 len;
};

/* Memory in shorter pieces is not worth a descriptor for each of them: bytes for it are copied. */
#define COLL_PLACE_PIECE_MIN	1024U

/*
 * Memory may be in pieces as short as an element, and a piece takes as long as some hundred
 * contiguous bytes.  So budgets count pieces, too: a piece costs at least COLL_PIECE_COST bytes,
 * and at most COLL_PIECES_MAX pieces are processed at once.
 */
#define COLL_PIECE_COST		256U
#define COLL_PIECES_MAX		256U

/**
 * coll_piece_bound() - number of bytes that are processed at once
 * @piece: contiguous bytes in the most fragmented memory involved
 * @len: number of bytes in all
 *
 * Return: @len, or the bytes of COLL_PIECES_MAX such pieces.
 */
static inline u64 coll_piece_bound(u64 piece, u64 len)
{
	return piece >= COLL_PIECE_COST ? len : min(len, piece * COLL_PIECES_MAX);
}

/**
 * coll_piece_cost() - cost of bytes for a budget
 * @piece: see coll_piece_bound(); not 0
 * @len: number of bytes
 *
 * Return: bytes, at least @len.
 */
static inline u64 coll_piece_cost(u64 piece, u64 len)
{
	return piece >= COLL_PIECE_COST ? len : div64_u64(len * COLL_PIECE_COST, piece);
}

/**
 * coll_mem_piece() - number of contiguous bytes
 * @mem: the memory
 * @off: offset of the first byte
 *
 * The end of a page or of a row may be near although the other pieces are long.  So the longer
 * one of this piece and the next counts.  All rows have the same length, and there are at most as
 * many blocks of other lengths as ranks.
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
void coll_mem_load(coll_copy_fn copy, void *ptr, const struct coll_mem *src, u64 off, size_t len);
void coll_mem_copy(coll_copy_fn copy, const struct coll_mem *dst, u64 dst_off,
		   const struct coll_mem *src, u64 src_off, u64 len);

#endif /* COLL_MEM_H */
