/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/* The copier: copies large results, perhaps with non-temporal stores. */
#ifndef COLL_COPIER_H
#define COLL_COPIER_H

#include "core/data/nt_policy.h"
#include "core/data/mem.h"

/**
 * struct coll_copy_hint - the operation that some bytes belong to
 * @volume: bytes of the result that they are part of; 0: they are part of none
 * @source: enum coll_nt_policy_source
 */
struct coll_copy_hint {
	u64 volume;
	u8 source;
};

/**
 * struct coll_copier - copier for large results
 * @store: copy bytes to a memory; returns false if the copier does not take them
 */
struct coll_copier {
	bool (*store)(struct coll_copier *copier, const struct coll_mem *dst, u64 off,
		      const void *ptr, size_t len, const struct coll_copy_hint *hint);
};

/**
 * coll_copier_store() - copy to memory, by the copier or directly
 * @copier: the copier, or NULL
 * @copy: function that copies the bytes which the copier does not take
 * @dst: destination
 * @off: offset in @dst; bytes
 * @ptr: source
 * @len: number of bytes
 * @hint: the operation that they belong to
 */
static inline void coll_copier_store(struct coll_copier *copier, coll_copy_fn copy,
				     const struct coll_mem *dst, u64 off, const void *ptr,
				     size_t len, const struct coll_copy_hint *hint)
{
	if (!copier || !copier->store(copier, dst, off, ptr, len, hint))
		coll_mem_store(copy, dst, off, ptr, len);
}

#endif /* COLL_COPIER_H */
