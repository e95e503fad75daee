/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_REGISTRY_H
#define COLL_REGISTRY_H

#include <linux/types.h>
#include <linux/xarray.h>

struct coll_buffer;

/**
 * struct coll_registry - the buffers that a member has registered
 * @buffers: struct coll_buffer by number
 */
struct coll_registry {
	struct xarray buffers;
};

void coll_registry_init(struct coll_registry *registry);
int coll_registry_add(struct coll_registry *registry, struct coll_buffer *buffer, u32 *id);
struct coll_buffer *coll_registry_remove(struct coll_registry *registry, u32 id);
struct coll_buffer *coll_registry_get(struct coll_registry *registry, u32 id);
void coll_registry_clear(struct coll_registry *registry);

#endif /* COLL_REGISTRY_H */
