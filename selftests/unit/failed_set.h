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

static inline u64 *failed_set_at(const struct failed_set *names, u64 name)
{
	u32 at = coll_instance_hash(name, names->size);

	while (names->entry[at] && names->entry[at] != name + 1)
		at = (at + 1) & (names->size - 1);
	return &names->entry[at];
}

static inline bool failed_set_have(const struct failed_set *names, u64 name)
{
	return names->size && *failed_set_at(names, name);
}

static inline void failed_set_add(struct failed_set *names, u64 name)
{
	struct failed_set grown = { .size = names->size ? 2 * names->size : 64 };
	u32 i;

	if (failed_set_have(names, name))
		return;
	if (2 * (names->count + 1) > names->size) {
		grown.entry = calloc(grown.size, sizeof(*grown.entry));
		for (i = 0; i < names->size; i++)
			if (names->entry[i])
				*failed_set_at(&grown, names->entry[i] - 1) = names->entry[i];
		grown.count = names->count;
		free(names->entry);
		*names = grown;
	}
	*failed_set_at(names, name) = name + 1;
	names->count++;
}

static inline void failed_set_free(struct failed_set *names)
{
	free(names->entry);
	*names = (struct failed_set){ 0 };
}

#endif /* COLL_FAILED_SET_H */
