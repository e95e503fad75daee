/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Kernel memory of the groups of this process.
 *
 * Programs may have hundreds of communicators.  The kernel limits the memory of a user's groups,
 * but beyond that limit operations of older groups fail, too.  So a communicator gets no group
 * if those of this host's ranks may exceed a lower limit.  A group's memory depends on the
 * number of its ranks and on what it has done, and the kernel tells it.
 */
#ifndef CM_MEMORY_H
#define CM_MEMORY_H

#include <stdbool.h>

struct cm_group;

/**
 * cm_memory_allows - may this process have another group?
 * @size: number of its ranks
 * @local: number of processes of this program on this host, which share the limit
 *
 * Only this rank's answer.
 */
bool cm_memory_allows(int size, int local);

/** cm_memory_add - account for a group that is up */
void cm_memory_add(struct cm_group *group);

/** cm_memory_remove - undo cm_memory_add(), if it was called */
void cm_memory_remove(struct cm_group *group);

#endif /* CM_MEMORY_H */
