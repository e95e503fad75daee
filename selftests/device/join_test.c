// SPDX-License-Identifier: GPL-2.0-only
/* JOIN: arguments, and which user and process may join which rank. */
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/time.h>

#include <collective.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/open_device.h"
#include "lib/machine.h"

TEST_F(open_device, join_names)
{
	static const char * const bad[] = {
		"", ".", "..", "a b", "a/b", "/", "a\n", "\x7f", "\xc3\xa9", "\xe9", "caf\xe9",
		"\xc3\xc3", "\xff", "a:b", "%s", "~",
		"012345678901234567890123456789012", "0123456789012345678901234567890123456789",
	};
	static const char * const good[] = {
		"a", "...", ".a", "-", "_", "A-Za-z0-9._-", "01234567890123456789012345678901",
	};
	struct collective_status before, after;
	struct collective_join join;
	unsigned int i;
	int fd;

	ASSERT_EQ(0, member_status(self->fd, &before));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		join_valid(&join, "", self->id);
		memcpy(join.name, bad[i], strnlen(bad[i], sizeof(join.name)));
		EXPECT_EQ(-EINVAL, member_ioctl(self->fd, COLLECTIVE_IOC_JOIN, &join))
			TH_LOG("name \"%s\"", bad[i]);
	}
	/* A byte after the terminating NUL. */
	join_valid(&join, "a", self->id);
	join.name[39] = 'x';
	EXPECT_EQ(-EINVAL, member_ioctl(self->fd, COLLECTIVE_IOC_JOIN, &join));
	ASSERT_EQ(0, member_status(self->fd, &after));
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		fd = member_open();
		join_valid(&join, good[i], self->id);
		EXPECT_EQ(0, member_ioctl(fd, COLLECTIVE_IOC_JOIN, &join))
			TH_LOG("name \"%s\"", good[i]);
		close(fd);
	}
}

TEST_F(open_device, join_values)
{
	struct collective_status before, after;
	struct collective_join join;

	ASSERT_EQ(0, member_status(self->fd, &before));
#define EXPECT_JOIN(_error, _change) do {						\
	join_valid(&join, self->name, self->id);						\
	_change;									\
	EXPECT_EQ(_error, member_ioctl(self->fd, COLLECTIVE_IOC_JOIN, &join))		\
		TH_LOG("%s", #_change);							\
} while (0)
	EXPECT_JOIN(-EINVAL, join.rank = 2);
	EXPECT_JOIN(-EINVAL, join.rank = ~0U);
	EXPECT_JOIN(-EINVAL, join.nranks = 0);
	EXPECT_JOIN(-EINVAL, join.nranks = COLLECTIVE_RANKS_MAX + 1);
	EXPECT_JOIN(-EINVAL, join.nranks = ~0U);
	EXPECT_JOIN(-EINVAL, join.lanes = COLLECTIVE_LANES_MAX + 1);
	EXPECT_JOIN(-EINVAL, join.lanes = ~0U);
	if (!rdma_offered())
		EXPECT_JOIN(-EOPNOTSUPP, join.transport = COLLECTIVE_TRANSPORT_RDMA);
	EXPECT_JOIN(-EINVAL, join.transport = COLLECTIVE_TRANSPORT_COUNT);
	EXPECT_JOIN(-EINVAL, join.transport = ~0U);
	EXPECT_JOIN(-EINVAL, join.algorithm[0] = COLLECTIVE_ALGORITHM_COUNT);
	EXPECT_JOIN(-EINVAL, join.algorithm[COLLECTIVE_RECV] = 255);
	EXPECT_JOIN(-EINVAL, join.algorithm[COLLECTIVE_OPCODES_MAX - 1] = 1);
	EXPECT_JOIN(-EINVAL, join.reserved = 1);
	EXPECT_JOIN(-EINVAL, join.addr_len = 0);
	EXPECT_JOIN(-EINVAL, join.addr_len = 1);
	EXPECT_JOIN(-EINVAL, join.addr_len = sizeof(sa_family_t));
	EXPECT_JOIN(-EINVAL, join.addr_len = sizeof(struct sockaddr_in) - 1);
	EXPECT_JOIN(-EINVAL, join.addr_len = COLLECTIVE_ADDR_SIZE + 1);
	EXPECT_JOIN(-EINVAL, join.addr_len = ~0U);
	EXPECT_JOIN(-EAFNOSUPPORT, join.addr[0] = AF_UNIX);
	EXPECT_JOIN(-EAFNOSUPPORT, join.addr[0] = AF_UNSPEC);
	/* 192.0.2.1 is the address of no host. */
	EXPECT_JOIN(-EADDRNOTAVAIL, memcpy(join.addr + 4, "\xc0\x00\x02\x01", 4));
	ASSERT_EQ(0, member_status(self->fd, &after));
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));

	EXPECT_JOIN(0, join.lanes = COLLECTIVE_LANES_MAX);
	EXPECT_EQ(COLLECTIVE_LANES_MAX, join.lanes);
	EXPECT_EQ(sizeof(struct sockaddr_in), join.addr_len);
	EXPECT_NE(0, ((struct sockaddr_in *)join.addr)->sin_port);
	EXPECT_JOIN(-EISCONN, (void)0);
	ASSERT_EQ(0, member_status(self->fd, &after));
	EXPECT_EQ(COLLECTIVE_STATE_JOINED, after.state);
	EXPECT_EQ(COLLECTIVE_LANES_MAX, after.lanes);
}

TEST_F(open_device, join_largest)
{
	struct collective_join join;

	join_valid(&join, self->name, self->id);
	join.nranks = COLLECTIVE_RANKS_MAX;
	join.rank = COLLECTIVE_RANKS_MAX - 1;
	EXPECT_EQ(0, member_ioctl(self->fd, COLLECTIVE_IOC_JOIN, &join));
	EXPECT_EQ(0, member_leave(self->fd));
}

TEST_F(open_device, join_ports)
{
	struct sockaddr_in *addr;
	struct collective_join join;
	char name[40];
	int fd = member_open();

	join_valid(&join, self->name, self->id);
	ASSERT_EQ(0, member_ioctl(fd, COLLECTIVE_IOC_JOIN, &join));
	addr = (struct sockaddr_in *)join.addr;
	/* Another group, the same port. */
	snprintf(name, sizeof(name), "%.30s.b", self->name);
	memset(join.name, 0, sizeof(join.name));
	memcpy(join.name, name, strlen(name));
	join.rank = 1;
	EXPECT_NE(0, addr->sin_port);
	EXPECT_EQ(-EADDRINUSE, member_ioctl(self->fd, COLLECTIVE_IOC_JOIN, &join));
	close(fd);
	EXPECT_EQ(0, member_ioctl(self->fd, COLLECTIVE_IOC_JOIN, &join));
}

/* Two files join the same rank; their addresses do not matter. */
TEST_F(open_device, join_taken)
{
	struct collective_status status;
	struct collective_join join;
	int other = member_open();
	int code;
	pid_t pid;

	join_valid(&join, self->name, self->id);
	ASSERT_EQ(0, member_ioctl(self->fd, COLLECTIVE_IOC_JOIN, &join));

	pid = fork();
	if (!pid) {
		int fd = member_open();

		join_valid(&join, self->name, self->id);
		_exit(member_ioctl(fd, COLLECTIVE_IOC_JOIN, &join) == -EBUSY ? 0 : 1);
	}
	ASSERT_EQ(pid, waitpid(pid, &code, 0));
	EXPECT_EQ(0, code);

	join_valid(&join, self->name, self->id);
	EXPECT_EQ(-EBUSY, member_ioctl(other, COLLECTIVE_IOC_JOIN, &join));
	join_valid(&join, self->name, self->id + 1);
	join.rank = 1;
	EXPECT_EQ(-EEXIST, member_ioctl(other, COLLECTIVE_IOC_JOIN, &join));
	join_valid(&join, self->name, self->id);
	join.rank = 1;
	join.nranks = 3;
	EXPECT_EQ(-EEXIST, member_ioctl(other, COLLECTIVE_IOC_JOIN, &join));
	join_valid(&join, self->name, self->id);
	join.rank = 1;
	join.lanes = 2;
	EXPECT_EQ(-EEXIST, member_ioctl(other, COLLECTIVE_IOC_JOIN, &join));
	ASSERT_EQ(0, member_status(other, &status));
	EXPECT_EQ(COLLECTIVE_STATE_NEW, status.state);

	/* The refused file can join another rank. */
	join_valid(&join, self->name, self->id);
	join.rank = 1;
	EXPECT_EQ(0, member_ioctl(other, COLLECTIVE_IOC_JOIN, &join));
	/* A rank is free again when its file is closed, or after LEAVE. */
	EXPECT_EQ(0, member_leave(other));
	close(other);
	other = member_open();
	join_valid(&join, self->name, self->id);
	join.rank = 1;
	EXPECT_EQ(0, member_ioctl(other, COLLECTIVE_IOC_JOIN, &join));
	close(other);
}

TEST_F(open_device, join_two_names)
{
	struct sockaddr_storage addr;
	char name[40];
	int other = member_open();

	snprintf(name, sizeof(name), "%.30s.b", self->name);
	EXPECT_EQ(0, member_join(self->fd, self->name, self->id, 0, 2, &addr));
	EXPECT_EQ(0, member_join(other, name, self->id, 0, 2, &addr));
	close(other);
}

static int signals;

static void on_signal(int signal)
{
	__atomic_add_fetch(&signals, 1, __ATOMIC_SEQ_CST);
}

/* Send signals periodically; @flags are those of sigaction(). */
static int signals_begin(int flags)
{
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };
	const struct timeval often = { .tv_usec = slow_machine() ? 20000 : 2000 };
	const struct itimerval timer = { often, often };

	signals = 0;
	CHECK_EQ(0, sigaction(SIGALRM, &action, NULL));
	return setitimer(ITIMER_REAL, &timer, NULL);
}

#define SIGNALS	50

/* With SA_RESTART, a signal during JOIN is not seen by the caller. */
TEST(join_signalled)
{
	struct sockaddr_storage addr;
	char name[33];
	__u64 id;
	int fd;

	ASSERT_EQ(0, signals_begin(SA_RESTART));
	while (__atomic_load_n(&signals, __ATOMIC_SEQ_CST) < SIGNALS) {
		group_unique(name, sizeof(name), &id);
		loopback(&addr, AF_INET);
		fd = member_open();
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, member_join(fd, name, id, 0, 1, &addr)) TH_LOG("%d", signals);
		close(fd);
	}
}

/* The library repeats JOIN, with and without SA_RESTART. */
TEST(init_signalled)
{
	struct coll_config config = { .size = sizeof(config), .nranks = 1 };
	struct coll_comm *comm;
	char name[33];
	__u64 id;

	ASSERT_EQ(0, signals_begin(0));
	while (__atomic_load_n(&signals, __ATOMIC_SEQ_CST) < SIGNALS) {
		group_unique(name, sizeof(name), &id);
		config.name = name;
		ASSERT_EQ(0, coll_init(&comm, &config)) TH_LOG("%d", signals);
		ASSERT_EQ(0, coll_finalize(comm));
	}
}

TEST_HARNESS_MAIN
