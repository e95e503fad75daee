/* SPDX-License-Identifier: GPL-2.0-only */
/* Who copies what is much: maybe by two CPUs, or past the caches. */
#ifndef COLL_COPIER_H
#define COLL_COPIER_H

#include "core/data/nt_policy.h"
#include "core/data/mem.h"

/**
 * struct coll_copy_hint - what some bytes are part of
 * @volume: bytes of the operation whose result they are; 0: they are none
 * @left: how many follow at once
 * @source: enum coll_nt_policy_source
 */
struct coll_copy_hint {
	u64 volume;
	u64 left;
	u8 source;
};

/**
 * struct coll_copier - who copies what is much
 * @store: copy bytes to a memory; false: that is not for the copier
 */
struct coll_copier {
	bool (*store)(struct coll_copier *copier, const struct coll_mem *dst, u64 off,
		      const void *ptr, size_t len, const struct coll_copy_hint *hint);
};

/**
 * coll_copier_store() - copy to memory, much or little
 * @copier: who copies what is much, or NULL
 * @copy: how to copy all else
 * @dst: where to
 * @off: in bytes
 * @ptr: where from
 * @len: bytes
 * @hint: what they are part of
 */
static inline void coll_copier_store(struct coll_copier *copier, coll_copy_fn copy,
				     const struct coll_mem *dst, u64 off, const void *ptr,
				     size_t len, const struct coll_copy_hint *hint)
{
	if (!copier || !copier->store(copier, dst, off, ptr, len, hint))
		coll_mem_store(copy, dst, off, ptr, len);
}

#endif /* COLL_COPIER_H */
