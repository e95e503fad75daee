/* SPDX-License-Identifier: GPL-2.0-only */
/* Fixture: an open file of the device, of no group yet. Include after kselftest_harness.h. */
#ifndef COLL_OPEN_DEVICE_H
#define COLL_OPEN_DEVICE_H

#include <netinet/in.h>
#include <string.h>

#include "lib/group.h"

FIXTURE(open_device) {
	int fd;
	char name[33];
	__u64 id;
};

FIXTURE_SETUP(open_device)
{
	self->fd = member_open();
	ASSERT_LE(0, self->fd);
	group_unique(self->name, sizeof(self->name), &self->id);
}

FIXTURE_TEARDOWN(open_device)
{
	close(self->fd);
}

/* Fill in arguments that JOIN accepts: rank 0 of two. */
static inline void join_valid(struct collective_join *join, const char *name, __u64 id)
{
	struct sockaddr_storage addr;

	memset(join, 0, sizeof(*join));
	join->size = sizeof(*join);
	memcpy(join->name, name, strlen(name));
	join->id = id;
	join->nranks = 2;
	join->transport = transport_choice(NULL);
	join->addr_len = sizeof(struct sockaddr_in);
	loopback(&addr, AF_INET);
	memcpy(join->addr, &addr, sizeof(addr));
}

#endif /* COLL_OPEN_DEVICE_H */
