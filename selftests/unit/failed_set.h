/* SPDX-License-Identifier: GPL-2.0-only */
/* A set of failed instances, for tests: the engine asks its caller for them. */
#ifndef COLL_FAILED_SET_H
#define COLL_FAILED_SET_H

#include <stdlib.h>

#include "core/engine/instance.h"

/**
 * struct failed_set - a hash table of instances
 * @entry: instance plus one, at its hash or behind it; 0: empty
 * @size: number of entries; a power of two, at least twice @count; 0: none
 * @count: number of instances
 */
struct failed_set {
	u64 *entry;
	u32 size;
	u32 count;
};

static inline u64 *failed_set_at(const struct failed_set *set, u64 instance)
{
	u32 at = coll_instance_hash(instance, set->size);

	while (set->entry[at] && set->entry[at] != instance + 1)
		at = (at + 1) & (set->size - 1);
	return &set->entry[at];
}

static inline bool failed_set_have(const struct failed_set *set, u64 instance)
{
	return set->size && *failed_set_at(set, instance);
}

static inline void failed_set_add(struct failed_set *set, u64 instance)
{
	struct failed_set grown = { .size = set->size ? 2 * set->size : 64 };
	u32 i;

	if (failed_set_have(set, instance))
		return;
	if (2 * (set->count + 1) > set->size) {
		grown.entry = calloc(grown.size, sizeof(*grown.entry));
		for (i = 0; i < set->size; i++)
			if (set->entry[i])
				*failed_set_at(&grown, set->entry[i] - 1) = set->entry[i];
		grown.count = set->count;
		free(set->entry);
		*set = grown;
	}
	*failed_set_at(set, instance) = instance + 1;
	set->count++;
}

static inline void failed_set_free(struct failed_set *set)
{
	free(set->entry);
	*set = (struct failed_set){ 0 };
}

#endif /* COLL_FAILED_SET_H */
