// SPDX-License-Identifier: LGPL-2.1-or-later
/* What the module offers, as its device says. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "admin.h"

int coll_admin_features(struct coll_admin_features *features)
{
	struct collective_query query = { .size = sizeof(query) };
	const char *path = secure_getenv("COLL_DEVICE");
	int fd, err;

	fd = open(path && *path ? path : "/dev/collective", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = ioctl(fd, COLLECTIVE_IOC_QUERY, &query) ? -errno : 0;
	close(fd);
	if (err)
		return err;
	*features = (struct coll_admin_features){
		.abi_version = query.abi_version,
		.lanes_max = query.lanes_max,
		.ranks_max = query.ranks_max,
		.inflight_max = query.inflight_max,
		.eager_limit = query.eager_limit,
		.transports = query.transports,
		.opcodes = query.opcodes,
		.types = query.types,
		.reductions = query.reductions,
	};
	return 0;
}
