/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of pipes share: a pipe with a ring of exact size, and memory in pieces. */
#ifndef PIPE_FIXTURE_H
#define PIPE_FIXTURE_H

#include "core/data/mem.h"

#include <stdlib.h>

#define MEM_BYTES	1024U
#define MEM_PIECE	96U	/* contiguous bytes */

struct memory {
	struct coll_mem mem;
	u8 bytes[MEM_BYTES];
};

static void *memory_at(const struct coll_mem *mem, u64 off, size_t *len)
{
	struct memory *memory = container_of(mem, struct memory, mem);

	*len = min(MEM_PIECE - off % MEM_PIECE, MEM_BYTES - off);
	return memory->bytes + off;
}

static void memory_init(struct memory *memory)
{
	memory->mem = (struct coll_mem){ memory_at, MEM_BYTES };
}

/* Byte @at of a stream; no value of a scribbled byte. */
#define SCRIBBLE	0xee

static u8 pattern(u64 seed, u64 at)
{
	u64 x = (seed + at) * 0x9e3779b97f4a7c15ULL;

	return (x ^ x >> 29) >> 13 & 0x7f;
}

static void fill(u8 *ptr, u64 seed, u64 at, u32 len)
{
	u32 i;

	for (i = 0; i < len; i++)
		ptr[i] = pattern(seed, at + i);
}

static bool verify(const u8 *ptr, u64 seed, u64 at, u32 len)
{
	u32 i;

	for (i = 0; i < len; i++)
		if (ptr[i] != pattern(seed, at + i))
			return false;
	return true;
}

/* An empty pipe, of which @at bytes were written and released. */
static void pipe_open(struct coll_pipe *pipe, u32 size, u32 at)
{
	coll_pipe_init(pipe, malloc(size), size);
	pipe->head = at;
	pipe->tail = at;
	pipe->tail_seen = at;
}

/* Let a pipe grow, if the reader has left the ring before and there is space to say so. */
static bool pipe_grow(struct coll_pipe *pipe, u32 size)
{
	void *ring;

	if (!coll_pipe_may_grow(pipe))
		return false;
	/* A reader that still used it would read freed memory. */
	free(coll_pipe_take_old(pipe));
	ring = malloc(size);
	if (coll_pipe_grow(pipe, ring, size))
		return true;
	free(ring);
	return false;
}

static void pipe_free(struct coll_pipe *pipe)
{
	free(pipe->old_ring);
	free(pipe->ring);
}

#endif /* PIPE_FIXTURE_H */
