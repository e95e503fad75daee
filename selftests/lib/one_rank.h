/* SPDX-License-Identifier: GPL-2.0-only */
/* Fixture: a connected group of one rank, and memory. Include after kselftest_harness.h. */
#ifndef COLL_ONE_RANK_H
#define COLL_ONE_RANK_H

#include "lib/group.h"

FIXTURE(one_rank) {
	int fd;
	struct sockaddr_storage addr;
	__u8 *memory;
};

#define ONE_RANK_MEMORY	(64 * 1024)

FIXTURE_SETUP(one_rank)
{
	char name[33];
	__u64 id;

	group_unique(name, sizeof(name), &id);
	self->fd = member_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, member_join(self->fd, name, id, 0, 1, &self->addr));
	ASSERT_EQ(0, member_connect(self->fd, &self->addr, 1, 1000));
	self->memory = mmap(NULL, ONE_RANK_MEMORY, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->memory);
}

FIXTURE_TEARDOWN(one_rank)
{
	close(self->fd);
	munmap(self->memory, ONE_RANK_MEMORY);
}

#endif /* COLL_ONE_RANK_H */
