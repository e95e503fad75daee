/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COLL_REGISTRY_H
#define COLL_REGISTRY_H

#include <linux/types.h>
#include <linux/xarray.h>

#include "core/schedule/schedule.h"

struct coll_buffer;

/**
 * struct coll_registry - the buffers that a member has registered
 * @buffers: struct coll_buffer by number; its lock protects @recent, too
 * @recent: the buffer that was found last, by enum coll_area; the next operation most often uses
 *	the same memory
 * @recent.id: its number; 0: none
 * @recent.buffer: the buffer, without a reference of its own: it is in @buffers
 */
struct coll_registry {
	struct xarray buffers;
	struct {
		u32 id;
		struct coll_buffer *buffer;
	} recent[COLL_AREA_SCRATCH];
};

void coll_registry_init(struct coll_registry *registry);
int coll_registry_add(struct coll_registry *registry, struct coll_buffer *buffer, u32 *id);
struct coll_buffer *coll_registry_remove(struct coll_registry *registry, u32 id);
struct coll_buffer *coll_registry_get(struct coll_registry *registry, enum coll_area area,
				      u32 id);
void coll_registry_clear(struct coll_registry *registry);

#endif /* COLL_REGISTRY_H */
