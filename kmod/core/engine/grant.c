// SPDX-License-Identifier: GPL-2.0-only
#include "core/engine/grant.h"

/* Find the entry of an instance, or the free entry where it would go. */
static struct coll_grant *grant_find(const struct coll_grants *grants, u64 instance)
{
	u32 at = coll_instance_hash(instance, grants->size);

	/* Ends, because at least one entry is free. */
	while (grants->entry[at].instance && grants->entry[at].instance != instance + 1)
		at = (at + 1) & (grants->size - 1);
	return &grants->entry[at];
}

/**
 * coll_grants_get() - look up a grant
 * @grants: the table
 * @instance: instance of the operation
 *
 * Return: the grant; its @limit is 0 if there is none.
 */
const struct coll_grant *coll_grants_get(const struct coll_grants *grants, u64 instance)
{
	return grant_find(grants, instance);
}

/**
 * coll_grants_raise() - add a grant, or raise its limit
 * @grants: the table
 * @instance: instance of the operation
 * @limit: new limit of the run: see struct coll_grant
 * @digest: digest of the peer's call
 *
 * Return: 0, -EPROTO if @limit is below the present one, or -ENOSPC if the table is full.
 */
int coll_grants_raise(struct coll_grants *grants, u64 instance, u64 limit, u64 digest)
{
	struct coll_grant *grant = grant_find(grants, instance);

	if (limit < grant->limit)
		return -EPROTO;
	if (!grant->instance) {
		if (grants->count + 1 == grants->size)
			return -ENOSPC;
		grants->count++;
	}
	*grant = (struct coll_grant){
		.instance = instance + 1,
		.limit = limit,
		.digest = digest,
	};
	return 0;
}

/**
 * coll_grants_space() - number of grants that may be added
 * @grants: the table
 */
u32 coll_grants_space(const struct coll_grants *grants)
{
	return grants->size - 1 - grants->count;
}

/**
 * coll_grants_move() - give a table other memory
 * @grants: the table
 * @entry: zeroed entries
 * @size: number of these entries; a power of two, larger than the number of grants
 *
 * Return: the old entries.
 */
struct coll_grant *coll_grants_move(struct coll_grants *grants, struct coll_grant *entry, u32 size)
{
	struct coll_grants old = *grants;
	u32 i;

	grants->entry = entry;
	grants->size = size;
	for (i = 0; i < old.size; i++)
		if (old.entry[i].instance)
			*grant_find(grants, old.entry[i].instance - 1) = old.entry[i];
	return old.entry;
}

/**
 * coll_grants_drop() - remove a grant
 * @grants: the table
 * @instance: instance of the operation; there need not be a grant
 */
void coll_grants_drop(struct coll_grants *grants, u64 instance)
{
	struct coll_grant *hole = grant_find(grants, instance);
	u32 mask = grants->size - 1;
	u32 at = hole - grants->entry, gap = at;

	if (!hole->instance)
		return;
	grants->count--;
	/* Move later entries into the gap where their search would otherwise end too early. */
	for (;;) {
		struct coll_grant *next;
		u32 home;

		at = (at + 1) & mask;
		next = &grants->entry[at];
		if (!next->instance)
			break;
		home = coll_instance_hash(next->instance - 1, grants->size);
		if (((at - home) & mask) < ((at - gap) & mask))
			continue;
		grants->entry[gap] = *next;
		gap = at;
	}
	grants->entry[gap] = (struct coll_grant){ 0 };
}
