// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdio.h>

#include "comm/comm.h"
#include "comm/device.h"

int coll_abort(struct coll_comm *comm, const char *why)
{
	int err;

	if (!comm)
		return -EINVAL;
	/* Locked until the text is there: other threads ask for it as soon as the group fails. */
	err = coll_comm_lock(comm);
	if (err)
		return err;
	err = coll_device_abort(comm->fd);
	if (!err)
		snprintf(comm->why_aborted, sizeof(comm->why_aborted), "%s", why ?: "");
	coll_comm_unlock(comm);
	return err;
}
