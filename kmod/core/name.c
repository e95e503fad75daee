// SPDX-License-Identifier: GPL-2.0-only
#include "name.h"

u64 coll_name_factor = 0x9e3779b97f4a7c15ULL;

static u16 *failed_head(struct coll_failed *failed, u64 name)
{
	return &failed->head[coll_name_hash(name, COLL_FAILED_MAX)];
}

/**
 * coll_failed_find() - has an operation failed?
 * @failed: those that have
 * @name: its name
 *
 * Return: its index, or -ENOENT.
 */
int coll_failed_find(const struct coll_failed *failed, u64 name)
{
	u16 at = failed->head[coll_name_hash(name, COLL_FAILED_MAX)];

	while (at && failed->name[at - 1] != name)
		at = failed->next[at - 1];
	return at ? at - 1 : -ENOENT;
}

/* Forget the oldest one, which is at @index. */
static void failed_evict(struct coll_failed *failed, u32 index)
{
	u16 *link = failed_head(failed, failed->name[index]);

	while (*link != index + 1)
		link = &failed->next[*link - 1];
	*link = failed->next[index];
}

/**
 * coll_failed_add() - remember that an operation has failed
 * @failed: those that have; the oldest is forgotten when it is full
 * @name: its name
 *
 * Return: its index.
 */
u32 coll_failed_add(struct coll_failed *failed, u64 name)
{
	u32 index = failed->count % COLL_FAILED_MAX;
	int known = coll_failed_find(failed, name);
	u16 *head;

	if (known >= 0)
		return known;
	if (failed->count >= COLL_FAILED_MAX)
		failed_evict(failed, index);
	failed->count++;
	head = failed_head(failed, name);
	failed->name[index] = name;
	failed->next[index] = *head;
	*head = index + 1;
	return index;
}
