/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory as the core sees it: bytes 0 .. length, in pieces.
 *
 * Who embeds this knows what is behind it: pinned pages in the kernel, an
 * array in user space.  An element never straddles two pieces.
 */
#ifndef COLL_MEM_H
#define COLL_MEM_H

#include "env.h"

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

void coll_mem_copy(const struct coll_mem *dst, u64 dst_off,
		   const struct coll_mem *src, u64 src_off, u64 len);

#endif /* COLL_MEM_H */
