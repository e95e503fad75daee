// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registered buffers: pinned once, found by their numbers.
 */
#include "limits.h"
#include "mem/pin.h"
#include "mem/registry.h"

/**
 * coll_registry_init() - make an empty one out of zeroed memory
 * @registry: the registry
 */
void coll_registry_init(struct coll_registry *registry)
{
	xa_init_flags(&registry->buffers, XA_FLAGS_ALLOC1);
}

/**
 * coll_registry_add() - give a buffer a number
 * @registry: the registry; it has the caller's reference afterwards
 * @buffer: the buffer
 * @id: out: the number
 *
 * Context: process; may sleep.
 * Return: 0, -EMFILE (too many) or -ENOMEM.
 */
int coll_registry_add(struct coll_registry *registry, struct coll_buffer *buffer, u32 *id)
{
	int err = xa_alloc(&registry->buffers, id, buffer, XA_LIMIT(1, COLL_BUFFERS_MAX),
			   GFP_KERNEL_ACCOUNT);

	return err == -EBUSY ? -EMFILE : err;
}

/**
 * coll_registry_remove() - take a buffer out
 * @registry: the registry
 * @id: its number
 *
 * Return: the buffer, whose reference is the caller's, or NULL: there is none.
 */
struct coll_buffer *coll_registry_remove(struct coll_registry *registry, u32 id)
{
	struct coll_buffer *buffer;
	u32 i;

	xa_lock(&registry->buffers);
	buffer = __xa_erase(&registry->buffers, id);
	for (i = 0; i < ARRAY_SIZE(registry->recent); i++)
		if (registry->recent[i].id == id)
			registry->recent[i].id = 0;
	xa_unlock(&registry->buffers);
	return buffer;
}

/**
 * coll_registry_get() - find a buffer
 * @registry: the registry
 * @area: what it is to be used for, which says what was found last
 * @id: its number, not 0
 *
 * Return: the buffer, with a reference for the caller, or NULL: there is none.
 */
struct coll_buffer *coll_registry_get(struct coll_registry *registry, enum coll_area area,
				      u32 id)
{
	struct coll_buffer *buffer;

	xa_lock(&registry->buffers);
	buffer = registry->recent[area].buffer;
	if (registry->recent[area].id != id) {
		buffer = xa_load(&registry->buffers, id);
		if (buffer) {
			registry->recent[area].id = id;
			registry->recent[area].buffer = buffer;
		}
	}
	if (buffer)
		refcount_inc(&buffer->refs);
	xa_unlock(&registry->buffers);
	return buffer;
}

/**
 * coll_registry_clear() - take all of them out, and put them
 * @registry: the registry; a thread that is refused its operation may still look there
 *
 * Context: may sleep.
 */
void coll_registry_clear(struct coll_registry *registry)
{
	struct coll_buffer *buffer;
	unsigned long id;

	xa_for_each(&registry->buffers, id, buffer)
		coll_buffer_put(coll_registry_remove(registry, id));
}
