// SPDX-License-Identifier: GPL-2.0-only
/* CONNECT: arguments, absent peers, and interrupted or nonblocking calls. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/time.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/open_device.h"
#include "lib/two_ranks.h"

TEST_F(open_device, connect_values)
{
	struct sockaddr_storage peers[3] = {}, bad[2];
	struct collective_status before, after;
	struct collective_connect connect = { .size = sizeof(connect) };

	ASSERT_EQ(0, member_join(self->fd, self->name, self->id, 0, 2, &peers[0]));
	loopback(&peers[1], AF_INET);
	ASSERT_EQ(0, member_status(self->fd, &before));
	EXPECT_EQ(-EINVAL, member_connect(self->fd, peers, 0, 100));
	EXPECT_EQ(-EINVAL, member_connect(self->fd, peers, 1, 100));
	EXPECT_EQ(-EINVAL, member_connect(self->fd, peers, 3, 100));
	EXPECT_EQ(-EINVAL, member_connect(self->fd, peers, ~0U, 100));
	EXPECT_EQ(-EFAULT, member_connect(self->fd, NULL, 2, 100));
	EXPECT_EQ(-EFAULT, member_connect(self->fd, (void *)~0xfffUL, 2, 100));
	connect.npeers = 2;
	connect.peers = 1ULL << 63;
	EXPECT_EQ(-EFAULT, member_ioctl(self->fd, COLLECTIVE_IOC_CONNECT, &connect));
	memcpy(bad, peers, sizeof(bad));
	bad[1].ss_family = AF_UNIX;
	EXPECT_EQ(-EINVAL, member_connect(self->fd, bad, 2, 100));
	bad[1].ss_family = 0;
	EXPECT_EQ(-EINVAL, member_connect(self->fd, bad, 2, 100));
	ASSERT_EQ(0, member_status(self->fd, &after));
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));
	EXPECT_EQ(COLLECTIVE_STATE_JOINED, after.state);
}

/* No rank listens at the address of rank 1.  With LOCAL nothing is sent there. */
TEST_F(open_device, connect_refused)
{
	const bool local = transport_choice(NULL) == COLLECTIVE_TRANSPORT_LOCAL;
	struct sockaddr_storage peers[2];
	struct collective_status status;
	int other = member_open();

	ASSERT_EQ(0, member_join(self->fd, self->name, self->id, 0, 2, &peers[0]));
	ASSERT_EQ(0, member_join(other, self->name, self->id, 1, 2, &peers[1]));
	close(other);
	EXPECT_EQ(local ? -EOPNOTSUPP : -ECONNRESET, member_connect(self->fd, peers, 2, 5000));
	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(COLLECTIVE_STATE_ABORTED, status.state);
	EXPECT_EQ(local ? COLLECTIVE_REASON_PROTOCOL : COLLECTIVE_REASON_RESET,
		  status.group.kind);
	EXPECT_EQ(1, status.group.rank_a);
}

/* A rank of another group listens at the address. */
TEST_F(open_device, connect_to_another_group)
{
	const bool local = transport_choice(NULL) == COLLECTIVE_TRANSPORT_LOCAL;
	struct sockaddr_storage peers[2];
	struct collective_status status;
	char name[40];
	int other = member_open();

	snprintf(name, sizeof(name), "%.30s.b", self->name);
	ASSERT_EQ(0, member_join(self->fd, self->name, self->id, 0, 2, &peers[0]));
	ASSERT_EQ(0, member_join(other, name, self->id, 1, 2, &peers[1]));
	EXPECT_EQ(local ? -EOPNOTSUPP : -EACCES, member_connect(self->fd, peers, 2, 5000));
	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(COLLECTIVE_STATE_ABORTED, status.state);
	EXPECT_EQ(1, status.group.rank_a);
	ASSERT_EQ(0, member_status(other, &status));
	EXPECT_EQ(COLLECTIVE_STATE_JOINED, status.state);
	close(other);
}

TEST_F(two_ranks, nonblocking_connect)
{
	struct pollfd poll_fd = { .fd = self->fd[1], .events = POLLOUT };
	struct collective_status status;

	fcntl(self->fd[1], F_SETFL, O_NONBLOCK);
	EXPECT_EQ(-EINPROGRESS, member_connect(self->fd[1], self->addr, 2, 0));
	EXPECT_EQ(-EINPROGRESS, member_connect(self->fd[1], self->addr, 2, 0));
	EXPECT_EQ(0, poll(&poll_fd, 1, 50));
	ASSERT_EQ(0, member_status(self->fd[1], &status));
	EXPECT_EQ(COLLECTIVE_STATE_CONNECTING, status.state);
	EXPECT_EQ(-ENOTCONN, member_barrier(self->fd[1]));

	EXPECT_EQ(0, member_connect(self->fd[0], self->addr, 2, 5000));
	EXPECT_EQ(1, poll(&poll_fd, 1, 5000));
	EXPECT_EQ(POLLOUT, poll_fd.revents);
	EXPECT_EQ(0, member_connect(self->fd[1], self->addr, 2, 0));
	EXPECT_EQ(-EISCONN, member_connect(self->fd[1], self->addr, 2, 0));
	EXPECT_EQ(-EISCONN, member_connect(self->fd[0], self->addr, 2, 0));
}

TEST_F(two_ranks, connect_timeout)
{
	struct pollfd poll_fd = { .fd = self->fd[1], .events = POLLOUT };
	struct collective_status status;
	__u64 begin = now_ms();

	EXPECT_EQ(-ETIMEDOUT, member_connect(self->fd[1], self->addr, 2, 200));
	EXPECT_LE(190, now_ms() - begin);
	EXPECT_GE(20000, now_ms() - begin);
	ASSERT_EQ(0, member_status(self->fd[1], &status));
	EXPECT_EQ(COLLECTIVE_STATE_ABORTED, status.state);
	EXPECT_EQ(COLLECTIVE_REASON_DEADLINE, status.group.kind);
	EXPECT_EQ(ETIMEDOUT, status.group.error);
	EXPECT_EQ(1, status.group.rank_a);
	EXPECT_EQ(0, status.group.rank_b);
	EXPECT_EQ(1, poll(&poll_fd, 1, 0));
	EXPECT_TRUE(poll_fd.revents & POLLERR);
	EXPECT_EQ(-ETIMEDOUT, member_connect(self->fd[1], self->addr, 2, 200));
	EXPECT_EQ(-ETIMEDOUT, member_barrier(self->fd[1]));
	EXPECT_EQ(0, member_leave(self->fd[1]));
}

static void on_signal(int signal)
{
}

TEST_F(two_ranks, connect_interrupted)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct itimerval timer = { .it_value.tv_usec = 100000 };
	struct collective_status status;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	EXPECT_EQ(-EINTR, member_connect(self->fd[1], self->addr, 2, 5000));
	ASSERT_EQ(0, member_status(self->fd[1], &status));
	EXPECT_EQ(COLLECTIVE_STATE_CONNECTING, status.state);
	EXPECT_EQ(0, two_ranks_connect(self->fd, self->addr));
}

TEST_HARNESS_MAIN
