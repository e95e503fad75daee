// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
#include "core/data/mem.h"

/**
 * coll_mem_store() - copy to memory
 * @copy: how
 * @dst: where to
 * @off: in bytes
 * @ptr: where from
 * @len: bytes
 */
void coll_mem_store(coll_copy_fn copy, const struct coll_mem *dst, u64 off, const void *ptr,
		    size_t len)
{
	while (len) {
		size_t n;
		void *to = dst->at(dst, off, &n);

		n = min(n, len);
		copy(to, ptr, n);
		off += n;
		ptr += n;
		len -= n;
	}
}

/**
 * coll_mem_load() - copy from memory
 * @copy: how
 * @ptr: where to
 * @src: where from
 * @off: in bytes
 * @len: bytes
 */
void coll_mem_load(coll_copy_fn copy, void *ptr, const struct coll_mem *src, u64 off, size_t len)
{
	while (len) {
		size_t n;
		const void *from = src->at(src, off, &n);

		n = min(n, len);
		copy(ptr, from, n);
		off += n;
		ptr += n;
		len -= n;
	}
}

/**
 * coll_mem_copy() - copy between two memories, or within one
 * @copy: how
 * @dst: where to
 * @dst_off: in bytes
 * @src: where from; the spans must not overlap
 * @src_off: in bytes
 * @len: bytes
 */
void coll_mem_copy(coll_copy_fn copy, const struct coll_mem *dst, u64 dst_off,
		   const struct coll_mem *src, u64 src_off, u64 len)
{
	while (len) {
		size_t n;
		const void *from = src->at(src, src_off, &n);

		n = min_t(u64, n, len);
		coll_mem_store(copy, dst, dst_off, from, n);
		dst_off += n;
		src_off += n;
		len -= n;
	}
}
