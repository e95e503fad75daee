// SPDX-License-Identifier: GPL-2.0-only
/* ABORT in each state of a member, by both ranks at once, and beside LEAVE. */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "lib/two_ranks.h"

#define ROUNDS	50

static int member_abort(int fd)
{
	struct collective_abort abort = { .size = sizeof(abort) };

	return member_ioctl(fd, COLLECTIVE_IOC_ABORT, &abort);
}

/* Has a rank aborted the group, and is it told so?  0: no. */
static int aborted_by(int fd, unsigned int rank)
{
	struct collective_status status;

	return !member_status(fd, &status) && status.state == COLLECTIVE_STATE_ABORTED &&
	       status.group.kind == COLLECTIVE_REASON_CANCELLED &&
	       status.group.error == ECANCELED && status.group.rank_a == rank &&
	       status.group.rank_b == rank && status.group.instance == ~0ULL;
}

TEST_F(two_ranks, flags)
{
	struct collective_abort abort = { .size = sizeof(abort), .flags = 1 };

	EXPECT_EQ(-EINVAL, member_ioctl(self->fd[0], COLLECTIVE_IOC_ABORT, &abort));
	EXPECT_EQ(0, two_ranks_connect(self->fd, self->addr));
	EXPECT_EQ(-EINVAL, member_ioctl(self->fd[0], COLLECTIVE_IOC_ABORT, &abort));
}

TEST_F(two_ranks, joined)
{
	EXPECT_EQ(0, member_abort(self->fd[1]));
	EXPECT_EQ(-EALREADY, member_abort(self->fd[1]));
	EXPECT_TRUE(aborted_by(self->fd[1], 1));
	EXPECT_EQ(-ECANCELED, member_connect(self->fd[1], self->addr, 2, 5000));
	EXPECT_EQ(0, member_leave(self->fd[1]));
	EXPECT_EQ(-ENOTCONN, member_abort(self->fd[1]));
}

static void *abort_later(void *fd)
{
	sleep_ms(50);
	return (void *)(long)member_abort(*(int *)fd);
}

/* The other rank has not joined: a socket that does not answer has its address. */
TEST(connecting)
{
	struct sockaddr_storage addr[2];
	socklen_t length = sizeof(addr[1]);
	int fd, silent = socket(AF_INET, SOCK_STREAM, 0);
	pthread_t thread;
	char name[33];
	void *result;
	__u64 id;

	group_unique(name, sizeof(name), &id);
	fd = member_open();
	ASSERT_EQ(0, member_join(fd, name, id, 0, 2, &addr[0]));
	ASSERT_EQ(0, listen(silent, 1));
	ASSERT_EQ(0, getsockname(silent, (struct sockaddr *)&addr[1], &length));
	memcpy(&((struct sockaddr_in *)&addr[1])->sin_addr, "\x7f\0\0\1", 4);

	ASSERT_EQ(0, pthread_create(&thread, NULL, abort_later, &fd));
	EXPECT_EQ(-ECANCELED, member_connect(fd, addr, 2, 5000));
	ASSERT_EQ(0, pthread_join(thread, &result));
	EXPECT_EQ(NULL, result);
	EXPECT_TRUE(aborted_by(fd, 0));
	close(fd);
	close(silent);
}

TEST_F(two_ranks, connected)
{
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	EXPECT_EQ(0, member_abort(self->fd[1]));
	EXPECT_EQ(-ECANCELED, member_barrier(self->fd[0]));
	EXPECT_EQ(-ECANCELED, member_barrier(self->fd[1]));
	EXPECT_TRUE(aborted_by(self->fd[0], 1));
	EXPECT_TRUE(aborted_by(self->fd[1], 1));
	EXPECT_EQ(0, member_leave(self->fd[1]));
	EXPECT_TRUE(aborted_by(self->fd[0], 1));
}

static void *abort_now(void *fd)
{
	return (void *)(long)member_abort(*(int *)fd);
}

static void *leave_now(void *fd)
{
	return (void *)(long)member_leave(*(int *)fd);
}

/* The rank that the group is told of is the same on both, the lower one, if both abort at once. */
TEST(both)
{
	struct sockaddr_storage addr[2];
	int i, rank, fd[2];
	pthread_t thread;
	char name[33];
	void *result;
	__u64 id;

	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, two_ranks_join(fd, addr, name, &id));
		ASSERT_EQ(0, two_ranks_connect(fd, addr));
		ASSERT_EQ(0, pthread_create(&thread, NULL, abort_now, &fd[0]));
		rank = member_abort(fd[1]) ? 0 : 1;
		ASSERT_EQ(0, pthread_join(thread, &result));
		if (!result)
			rank = 0;
		EXPECT_TRUE(aborted_by(fd[0], rank));
		EXPECT_TRUE(aborted_by(fd[1], rank));
		close(fd[0]);
		close(fd[1]);
	}
}

/* LEAVE of another thread at the same time: each succeeds, or says that it comes too late. */
TEST(beside_leave)
{
	struct sockaddr_storage addr[2];
	pthread_t thread;
	char name[33];
	void *result;
	int i, err, fd[2];
	__u64 id;

	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, two_ranks_join(fd, addr, name, &id));
		ASSERT_EQ(0, two_ranks_connect(fd, addr));
		ASSERT_EQ(0, pthread_create(&thread, NULL, leave_now, &fd[1]));
		err = member_abort(fd[1]);
		EXPECT_TRUE(!err || err == -ENOTCONN);
		ASSERT_EQ(0, pthread_join(thread, &result));
		EXPECT_EQ(NULL, result);
		close(fd[0]);
		close(fd[1]);
	}
}

TEST_HARNESS_MAIN
