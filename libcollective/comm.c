// SPDX-License-Identifier: LGPL-2.1-or-later
#include <stdlib.h>
#include <unistd.h>

#include "comm.h"
#include "device.h"

int coll_rank(const struct coll_comm *comm)
{
	return comm->rank;
}

int coll_size(const struct coll_comm *comm)
{
	return comm->nranks;
}

const char *coll_name(const struct coll_comm *comm)
{
	return comm->name;
}

int coll_finalize(struct coll_comm *comm)
{
	int err;

	if (!comm)
		return 0;
	err = coll_device_leave(comm->fd);
	close(comm->fd);
	coll_mem_free_all(comm);
	pthread_mutex_destroy(&comm->lock);
	free(comm);
	return err;
}
