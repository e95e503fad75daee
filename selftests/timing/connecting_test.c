// SPDX-License-Identifier: GPL-2.0-only
/*
 * Members of a process that sleeps cost no CPU time, however short a heartbeat they have: those
 * that wait in CONNECT, by a call that is not answered or for one that does not come, and those of
 * groups that have failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>

#include "lib/any_transport.h"
#include "lib/group.h"
#include "lib/idle_cost.h"
#include "kselftest_harness.h"
#include "lib/machine.h"

#define MEMBERS		(slow_machine() ? 100 : 300)
#define MEMBERS_MAX	300
#define SLEEP_MS	3000
#define SETTLE_MS	1500

/* Context switches of the whole machine in that time, beyond twice those of an idle one. */
#define SWITCHES	60

static int join(int fd, unsigned int rank, unsigned int nranks, unsigned int heartbeat_ms,
		struct sockaddr_storage *addr)
{
	struct collective_join join = {
		.rank = rank, .nranks = nranks, .transport = COLLECTIVE_TRANSPORT_TCP,
		.heartbeat_ms = heartbeat_ms,
	};
	char name[33];

	group_unique(name, sizeof(name), (__u64 *)&join.id);
	return member_join_as(fd, &join, name, addr);
}

/* Sleep.  Return: the context switches of the machine meanwhile. */
static long switches(void)
{
	long before;

	sleep_ms(SETTLE_MS);
	before = proc_number("/proc/stat", "ctxt", " ");
	sleep_ms(SLEEP_MS);
	return proc_number("/proc/stat", "ctxt", " ") - before;
}

FIXTURE(connecting) {
	int fd[MEMBERS_MAX];
	unsigned int n;
	int listener;
	long idle;
};

FIXTURE_SETUP(connecting)
{
	struct rlimit files = { 4096, 4096 };

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &files));
	self->n = 0;
	self->listener = -1;
	self->idle = switches();
}

FIXTURE_TEARDOWN(connecting)
{
	while (self->n)
		close(self->fd[--self->n]);
	if (self->listener >= 0)
		close(self->listener);
}

/* Add members of two ranks that connect; the other one is at @other, or never comes. */
static int add_members(int *fd, unsigned int *n, unsigned int rank,
		       const struct sockaddr_storage *other, unsigned int timeout_ms)
{
	struct sockaddr_storage addr[2];

	while (*n < (unsigned int)MEMBERS) {
		fd[*n] = member_open();
		CHECK(fd[*n] >= 0);
		++*n;
		CHECK_EQ(0, fcntl(fd[*n - 1], F_SETFL, O_RDWR | O_NONBLOCK));
		CHECK_EQ(0, join(fd[*n - 1], rank, 2, COLLECTIVE_HEARTBEAT_MIN_MS, &addr[rank]));
		addr[!rank] = other ? *other : addr[rank];
		CHECK_EQ(-EINPROGRESS, member_connect(fd[*n - 1], addr, 2, timeout_ms));
	}
	return 0;
}

static int sleep_costs_nothing(const char *what, unsigned int n, long idle)
{
	long count = switches();

	printf("# %u members %s: %ld context switches in %u ms, %ld before\n", n, what, count,
	       SLEEP_MS, idle);
	CHECK(count < 2 * idle + SWITCHES);
	return 0;
}

TEST_F_TIMEOUT(connecting, for_a_call, 60)
{
	ASSERT_EQ(0, add_members(self->fd, &self->n, 1, NULL, ~0U));
	EXPECT_EQ(0, sleep_costs_nothing("that wait for a call", self->n, self->idle));
}

TEST_F_TIMEOUT(connecting, for_an_answer, 60)
{
	struct sockaddr_storage addr = { .ss_family = AF_INET };
	socklen_t size = sizeof(struct sockaddr_in);

	((struct sockaddr_in *)&addr)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	self->listener = socket(AF_INET, SOCK_STREAM, 0);
	ASSERT_LE(0, self->listener);
	ASSERT_EQ(0, bind(self->listener, (struct sockaddr *)&addr, size));
	ASSERT_EQ(0, listen(self->listener, 4096));
	ASSERT_EQ(0, getsockname(self->listener, (struct sockaddr *)&addr, &size));
	ASSERT_EQ(0, add_members(self->fd, &self->n, 0, &addr, ~0U));
	EXPECT_EQ(0, sleep_costs_nothing("that wait for an answer", self->n, self->idle));
}

/* The end of CONNECT comes in time, though nothing ticks before. */
TEST_F(connecting, until_its_deadline)
{
	struct collective_status status;
	struct sockaddr_storage addr[2];
	__u64 begin;

	self->fd[0] = member_open();
	ASSERT_LE(0, self->fd[0]);
	self->n = 1;
	ASSERT_EQ(0, fcntl(self->fd[0], F_SETFL, O_RDWR | O_NONBLOCK));
	ASSERT_EQ(0, join(self->fd[0], 1, 2, COLLECTIVE_HEARTBEAT_MAX_MS, &addr[1]));
	addr[0] = addr[1];
	begin = now_ms();
	ASSERT_EQ(-EINPROGRESS, member_connect(self->fd[0], addr, 2, 1000));
	do {
		sleep_ms(20);
		ASSERT_EQ(0, member_status(self->fd[0], &status));
	} while (status.state == COLLECTIVE_STATE_CONNECTING && now_ms() < begin + 10000);
	EXPECT_EQ(COLLECTIVE_STATE_ABORTED, status.state);
	EXPECT_LE(1000, now_ms() - begin);
	EXPECT_GT(10000, now_ms() - begin);
}

TEST_F_TIMEOUT(connecting, in_vain, 60)
{
	struct collective_status status = { .state = COLLECTIVE_STATE_CONNECTING };

	ASSERT_EQ(0, add_members(self->fd, &self->n, 1, NULL, 100));
	while (status.state != COLLECTIVE_STATE_ABORTED) {
		sleep_ms(20);
		ASSERT_EQ(0, member_status(self->fd[self->n - 1], &status));
	}
	EXPECT_EQ(0, sleep_costs_nothing("of groups that have failed", self->n, self->idle));
}

TEST(heartbeat_limits)
{
	static const struct { unsigned int ms; int err; } cases[] = {
		{ 1, -EINVAL },
		{ COLLECTIVE_HEARTBEAT_MIN_MS - 1, -EINVAL },
		{ COLLECTIVE_HEARTBEAT_MAX_MS + 1, -EINVAL },
		{ ~0U, -EINVAL },
		{ COLLECTIVE_HEARTBEAT_MIN_MS, 0 },
		{ COLLECTIVE_HEARTBEAT_MAX_MS, 0 },
		{ 0, 0 },
	};
	struct sockaddr_storage addr;
	unsigned int i;
	int fd;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		fd = member_open();
		ASSERT_LE(0, fd);
		EXPECT_EQ(cases[i].err, join(fd, 0, 1, cases[i].ms, &addr));
		close(fd);
	}
}

TEST_HARNESS_MAIN
