/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory: the test says when there is none. */
#ifndef COLL_KERNEL_SLAB_H
#define COLL_KERNEL_SLAB_H

#include "env.h"

#include <stdlib.h>

/* linux/compiler_types.h */
#define __rcu

typedef unsigned int gfp_t;

#define GFP_ATOMIC		1U
#define GFP_KERNEL		2U
#define GFP_KERNEL_ACCOUNT	4U
#define GFP_NOWAIT		8U
#define __GFP_ACCOUNT		16U
#define __GFP_NOWARN		32U

/* So many allocations, less one, succeed, and all that follow fail; 0: all succeed. */
static u32 kernel_fails_after __maybe_unused;

/* Locks that are held; what sleeps asserts that there are none. */
static u32 kernel_locks_held __maybe_unused;

static inline bool kernel_memory_fails(void)
{
	if (kernel_fails_after <= 1)
		return kernel_fails_after;
	kernel_fails_after--;
	return false;
}

static inline void *kernel_alloc(size_t size, gfp_t gfp)
{
	assert(!kernel_locks_held || !(gfp & (GFP_KERNEL | GFP_KERNEL_ACCOUNT)));
	return kernel_memory_fails() ? NULL : calloc(1, size);
}

static inline void kernel_free(const void *memory)
{
	free((void *)memory);
}

/* The content of memory that is not zeroed is not 0. */
static inline void *kmalloc(size_t size, gfp_t gfp)
{
	void *memory = kernel_alloc(size, gfp);

	if (memory)
		memset(memory, 0xa5, size);
	return memory;
}

#define kvmalloc		kmalloc
#define kzalloc			kernel_alloc
#define kvzalloc		kernel_alloc
#define kmalloc_array(n, size, gfp)	kmalloc((n) * (size), gfp)
#define kcalloc(n, size, gfp)	kernel_alloc((n) * (size), gfp)
#define kvcalloc(n, size, gfp)	kernel_alloc((n) * (size), gfp)
#define kfree			kernel_free
#define kvfree			kernel_free

#define kfree_sensitive		kernel_free

struct kmem_cache {
	size_t size;
};

#define KMEM_CACHE(type, flags)		kmem_cache_new(sizeof(struct type), flags)
#define SLAB_ACCOUNT			1

static inline struct kmem_cache *kmem_cache_new(size_t size, int flags)
{
	struct kmem_cache *cache = malloc(sizeof(*cache));

	(void)flags;
	cache->size = size;
	return cache;
}

#define kmem_cache_destroy(cache)	free(cache)

static inline void *kmem_cache_zalloc(const struct kmem_cache *cache, gfp_t gfp)
{
	return kernel_alloc(cache->size, gfp);
}

static inline void kmem_cache_free(const struct kmem_cache *cache, void *object)
{
	(void)cache;
	free(object);
}

/* linux/string.h */

#define memzero_explicit(p, n)		memset(p, 0, n)

/* The first byte that is not @c; NULL: all are. */
static inline const void *memchr_inv(const void *memory, int c, size_t n)
{
	const u8 *byte = memory;

	for (; n; n--, byte++)
		if (*byte != c)
			return byte;
	return NULL;
}

static inline void strscpy(char *to, const char *from, size_t n)
{
	size_t len = strnlen(from, n - 1);

	memcpy(to, from, len);
	to[len] = '\0';
}

/* linux/overflow.h */
#define struct_size_t(type, member, n)	offsetof(type, member[n])
#define struct_size(p, member, n)	struct_size_t(__typeof__(*(p)), member, n)

#endif /* COLL_KERNEL_SLAB_H */
