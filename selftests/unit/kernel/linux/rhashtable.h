/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables by a key of bytes: one list a table, and the allocation can fail. */
#ifndef COLL_KERNEL_RHASHTABLE_H
#define COLL_KERNEL_RHASHTABLE_H

#include <linux/rcupdate.h>
#include <linux/slab.h>

struct rhash_head {
	struct rhash_head *next;
};

struct rhashtable_params {
	u32 head_offset;
	u32 key_offset;
	u32 key_len;
	bool automatic_shrinking;
};

/* struct rhashtable - @entries: number of them; @buckets: by a hash of the key */
struct rhashtable {
	u32 entries;
	struct rhash_head *buckets[4096];
};

static inline int rhashtable_init(struct rhashtable *table, const struct rhashtable_params *params)
{
	(void)params;
	memset(table, 0, sizeof(*table));
	return 0;
}

static inline void rhashtable_destroy(struct rhashtable *table)
{
	assert(!table->entries);
}

static inline struct rhash_head **rhashtable_bucket(struct rhashtable *table, const void *key,
						    struct rhashtable_params params)
{
	const u8 *byte = key;
	u32 hash = 0, i;

	for (i = 0; i < params.key_len; i++)
		hash = hash * 31 + byte[i];
	return &table->buckets[hash % ARRAY_SIZE(table->buckets)];
}

static inline void *rhashtable_lookup_fast(struct rhashtable *table, const void *key,
					   struct rhashtable_params params)
{
	struct rhash_head *node;
	u8 *object;

	for (node = *rhashtable_bucket(table, key, params); node; node = node->next) {
		object = (u8 *)node - params.head_offset;
		if (!memcmp(object + params.key_offset, key, params.key_len))
			return object;
	}
	return NULL;
}

/* Return: 0; -EEXIST; -ENOMEM if allocations fail. */
static inline int rhashtable_insert_fast(struct rhashtable *table, struct rhash_head *node,
					 struct rhashtable_params params)
{
	const u8 *key = (u8 *)node - params.head_offset + params.key_offset;
	struct rhash_head **bucket = rhashtable_bucket(table, key, params);

	if (kernel_memory_fails())
		return -ENOMEM;
	if (rhashtable_lookup_fast(table, key, params))
		return -EEXIST;
	node->next = *bucket;
	*bucket = node;
	table->entries++;
	return 0;
}

static inline void rhashtable_remove_fast(struct rhashtable *table, struct rhash_head *node,
					  struct rhashtable_params params)
{
	const u8 *key = (u8 *)node - params.head_offset + params.key_offset;
	struct rhash_head **at = rhashtable_bucket(table, key, params);

	while (*at && *at != node)
		at = &(*at)->next;
	assert(*at);
	*at = node->next;
	table->entries--;
}

#endif /* COLL_KERNEL_RHASHTABLE_H */
