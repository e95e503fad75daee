/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef COLL_COMM_H
#define COLL_COMM_H

#include <pthread.h>

#include "collective.h"
#include "setup.h"

struct coll_region;

/**
 * struct coll_comm - a member of a group
 * @fd: /dev/collective
 * @rank: mine
 * @nranks: how many there are
 * @reproducible: every allreduce reduces in the order of ranks
 * @name: the group's
 * @lock: protects the fields below
 * @regions: memory known to mem.c, in no order
 * @nregions: how many
 * @room: how many @regions has room for
 * @detail: what coll_error_detail() returned last
 */
struct coll_comm {
	int fd;
	int rank;
	int nranks;
	bool reproducible;
	char name[COLLECTIVE_NAME_MAX + 1];

	pthread_mutex_t lock;
	struct coll_region *regions;
	size_t nregions;
	size_t room;
	char detail[COLL_DETAIL_SIZE];
};

/* The registered buffer that holds all of this memory, or 0. */
__u32 coll_mem_buffer(struct coll_comm *comm, const void *addr, size_t size,
		      bool write);

/* Free everything that mem.c knows, once the device is closed. */
void coll_mem_free_all(struct coll_comm *comm);

#endif /* COLL_COMM_H */
