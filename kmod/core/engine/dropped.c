// SPDX-License-Identifier: GPL-2.0-only
#include "core/engine/dropped.h"

/* Return: the place of an operation with a key; @nkeyed: it is not listed. */
static u32 keyed_find(const struct coll_dropped *dropped, u64 instance)
{
	u32 i = 0;

	/* COLL_DROPPED_KEYED at most. */
	while (i < dropped->nkeyed && dropped->keyed[i] != instance)
		i++;
	return i;
}

static void keyed_add(struct coll_dropped *dropped, u64 instance)
{
	if (keyed_find(dropped, instance) < dropped->nkeyed)
		return;
	if (dropped->nkeyed == COLL_DROPPED_KEYED)
		dropped->more_keyed = true;
	else
		dropped->keyed[dropped->nkeyed++] = instance;
}

/* Return: true if it was listed. */
static bool keyed_remove(struct coll_dropped *dropped, u64 instance)
{
	u32 i = keyed_find(dropped, instance);

	if (i == dropped->nkeyed)
		return false;
	dropped->keyed[i] = dropped->keyed[--dropped->nkeyed];
	return true;
}

/**
 * coll_dropped_add() - a request was dropped
 * @dropped: of its sender
 * @instance: of the operation
 */
void coll_dropped_add(struct coll_dropped *dropped, u64 instance)
{
	if (instance & COLL_INSTANCE_KEYED)
		keyed_add(dropped, instance);
	else if (coll_instance_is_counted(instance))
		dropped->counted = max(dropped->counted, instance + 1);
	else
		dropped->message = max(dropped->message, instance + 1);
}

/**
 * coll_dropped_take() - may the request of a run that starts have been dropped?
 * @dropped: of the sender
 * @instance: of the operation
 *
 * Return: true if the sender is to be asked for it again, which the caller does.
 */
bool coll_dropped_take(struct coll_dropped *dropped, u64 instance)
{
	if (instance & COLL_INSTANCE_KEYED)
		return keyed_remove(dropped, instance) || dropped->more_keyed;
	return instance < (coll_instance_is_counted(instance) ? dropped->counted :
								dropped->message);
}

/**
 * coll_dropped_forget() - an operation has failed: its sender is not asked again
 * @dropped: of the sender
 * @instance: of the operation
 */
void coll_dropped_forget(struct coll_dropped *dropped, u64 instance)
{
	/* Of the others the latest one is known, and instances after it say nothing of it. */
	if (instance & COLL_INSTANCE_KEYED)
		keyed_remove(dropped, instance);
}
