/* SPDX-License-Identifier: GPL-2.0-only */
/* Arrays of pointers by a small number. */
#ifndef COLL_KERNEL_XARRAY_H
#define COLL_KERNEL_XARRAY_H

#include <linux/slab.h>

#define XA_FLAGS_ALLOC1		1
#define XA_SLOTS		8192

/* struct xarray - @slots: NULL until the first entry; @entries: number of them */
struct xarray {
	bool locked;
	u32 entries;
	void **slots;
};

#define DEFINE_XARRAY(name)	struct xarray name
#define xa_init_flags(xa, flags)	((void)(flags), memset(xa, 0, sizeof(*(xa))))
#define xa_err(result)		(result)

static inline void xa_lock(struct xarray *xa)
{
	assert(!xa->locked);
	xa->locked = true;
}

static inline void xa_unlock(struct xarray *xa)
{
	assert(xa->locked);
	xa->locked = false;
}

struct xa_limit {
	u32 min, max;
};

#define XA_LIMIT(first, last)	((struct xa_limit){ first, last })

static inline void *xa_load(struct xarray *xa, unsigned long i)
{
	return xa->slots && i < XA_SLOTS ? xa->slots[i] : NULL;
}

/* Return: 0 or -ENOMEM. */
static inline int xa_store(struct xarray *xa, unsigned long i, void *entry, gfp_t gfp)
{
	(void)gfp;
	assert(i < XA_SLOTS && entry && !xa->locked);
	if (kernel_memory_fails())
		return -ENOMEM;
	if (!xa->slots)
		xa->slots = calloc(XA_SLOTS, sizeof(*xa->slots));
	xa->entries += !xa->slots[i];
	xa->slots[i] = entry;
	return 0;
}

static inline int xa_alloc(struct xarray *xa, u32 *id, void *entry, struct xa_limit limit,
			   gfp_t gfp)
{
	u32 i;

	for (i = limit.min; i <= limit.max && xa_load(xa, i); i++)
		;
	if (i > limit.max)
		return -EBUSY;
	*id = i;
	return xa_store(xa, i, entry, gfp);
}

static inline void *xa_erase(struct xarray *xa, unsigned long i)
{
	void *entry = xa_load(xa, i);

	assert(!xa->locked);
	if (!entry)
		return NULL;
	xa->slots[i] = NULL;
	if (!--xa->entries) {
		free(xa->slots);
		xa->slots = NULL;
	}
	return entry;
}

/* The entry at *@i or behind it; NULL: none. */
static inline void *xa_find(struct xarray *xa, unsigned long *i)
{
	while (*i < XA_SLOTS && !xa_load(xa, *i))
		++*i;
	return xa_load(xa, *i);
}

#define xa_for_each(xa, i, entry)					\
	for (i = 0, entry = xa_find(xa, &i); entry; i++, entry = xa_find(xa, &i))

#endif /* COLL_KERNEL_XARRAY_H */
