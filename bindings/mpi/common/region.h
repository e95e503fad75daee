/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory of a group that is pinned when the group is made, and stays so.
 *
 * Where a process may lock a limited amount (RLIMIT_MEMLOCK), that is the amount of its user, whose
 * other programs lock memory, too.  So it cannot tell whether the kernel will pin the buffers of
 * its next operation, and an operation that is refused on one rank would end the job.  There,
 * operations pin nothing: they work on copies in the region, of which each form has a part.
 */
#ifndef CM_REGION_H
#define CM_REGION_H

#include <stddef.h>

#include "common/functions.h"

struct coll_comm;

/* Buffers in the region begin at multiples of this, which suffices for elements of all types. */
#define CM_REGION_ALIGN	64

/**
 * struct cm_region - region of a group
 * @addr: its beginning; NULL: there is none, since no rank has a limit
 * @bytes: its size, the same on all ranks
 * @number: number of its registration, for struct collective_op
 * @reserved: what cm_region_reserve() has counted for it
 */
struct cm_region {
	char *addr;
	size_t bytes;
	unsigned int number;
	long long reserved;
};

/**
 * cm_region_reserve - how large may the region of a new group be?
 * @region: region that is not made yet; cm_region_free() must follow
 * @local: number of processes of this program on this host, which share the limit
 *
 * Only this rank's answer, which the kernel may refuse all the same.
 *
 * Return: size in bytes; LLONG_MAX: this process has no limit, and needs none.
 */
long long cm_region_reserve(struct cm_region *region, int local);

/**
 * cm_region_make - pin the region
 * @region: region with @bytes, on which the ranks have agreed
 * @comm: communicator whose operations work on it
 *
 * Return: 0 or a negative errno.
 */
int cm_region_make(struct cm_region *region, struct coll_comm *comm);

/** cm_region_free - free a region, whose communicator has ended, and give back what was reserved */
void cm_region_free(struct cm_region *region);

/** cm_region_room - size of the part of a form; SIZE_MAX: there is no region */
size_t cm_region_room(const struct cm_region *region, enum cm_form form);

/** cm_region_at - address of the byte @offset of the part of a form */
char *cm_region_at(const struct cm_region *region, enum cm_form form, size_t offset);

#endif /* CM_REGION_H */
