/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fixture: two ranks in one process, joined but not connected. Include after kselftest_harness.h.
 */
#ifndef COLL_TWO_RANKS_H
#define COLL_TWO_RANKS_H

#include <errno.h>
#include <fcntl.h>

#include "lib/group.h"

FIXTURE(two_ranks) {
	int fd[2];
	struct sockaddr_storage addr[2];
	char name[33];
	__u64 id;
};

/* Join two ranks to a new group with a unique name, which is stored in @name. */
static int two_ranks_join(int *fd, struct sockaddr_storage *addr, char name[33], __u64 *id)
{
	int i, err = 0;

	group_unique(name, 33, id);
	for (i = 0; !err && i < 2; i++) {
		fd[i] = member_open();
		err = fd[i] < 0 ? fd[i] : member_join(fd[i], name, *id, i, 2, &addr[i]);
	}
	return err;
}

FIXTURE_SETUP(two_ranks)
{
	ASSERT_EQ(0, two_ranks_join(self->fd, self->addr, self->name, &self->id));
}

FIXTURE_TEARDOWN(two_ranks)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, links_check(self->name, i, links_local()));
	close(self->fd[0]);
	close(self->fd[1]);
}

static int two_ranks_connect(const int *fd, const struct sockaddr_storage *addr)
{
	int err;

	fcntl(fd[0], F_SETFL, O_NONBLOCK);
	err = member_connect(fd[0], addr, 2, 5000);
	fcntl(fd[0], F_SETFL, 0);
	if (err && err != -EINPROGRESS)
		return err;
	err = member_connect(fd[1], addr, 2, 5000);
	if (err)
		return err;
	err = member_connect(fd[0], addr, 2, 5000);
	return err == -EISCONN ? 0 : err;
}

#endif /* COLL_TWO_RANKS_H */
