// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registered buffers: pinned once, and found by their numbers in each operation.
 */
#include "limits.h"
#include "mem/pin.h"
#include "mem/registry.h"

/**
 * coll_registry_init() - initialise an empty registry
 * @registry: the registry, zeroed
 */
void coll_registry_init(struct coll_registry *registry)
{
	xa_init_flags(&registry->buffers, XA_FLAGS_ALLOC1);
}

/**
 * coll_registry_add() - add a buffer
 * @registry: the registry; takes over the caller's reference on success
 * @buffer: the buffer
 * @id: out: its number, from 1
 *
 * Context: process; may sleep.
 * Return: 0, -EMFILE (COLL_BUFFERS_MAX are registered) or -ENOMEM.
 */
int coll_registry_add(struct coll_registry *registry, struct coll_buffer *buffer, u32 *id)
{
	int err = xa_alloc(&registry->buffers, id, buffer, XA_LIMIT(1, COLL_BUFFERS_MAX),
			   GFP_KERNEL_ACCOUNT);

	return err == -EBUSY ? -EMFILE : err;
}

/**
 * coll_registry_remove() - remove a buffer
 * @registry: the registry
 * @id: number of the buffer
 *
 * Return: the buffer with the registry's reference, or NULL: there is no such buffer.
 */
struct coll_buffer *coll_registry_remove(struct coll_registry *registry, u32 id)
{
	return xa_erase(&registry->buffers, id);
}

/**
 * coll_registry_get() - find a buffer
 * @registry: the registry
 * @id: number of the buffer, not 0
 *
 * Return: the buffer with a reference for the caller, or NULL: there is no such buffer.
 */
struct coll_buffer *coll_registry_get(struct coll_registry *registry, u32 id)
{
	struct coll_buffer *buffer;

	/* Under the lock the buffer in the registry keeps the registry's reference. */
	xa_lock(&registry->buffers);
	buffer = xa_load(&registry->buffers, id);
	if (buffer)
		refcount_inc(&buffer->refs);
	xa_unlock(&registry->buffers);
	return buffer;
}

/**
 * coll_registry_clear() - remove and put all buffers
 * @registry: the registry; a thread may still use it for an operation that is about to be refused
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
