// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file is closed while peers cannot be reached. When close() returns, the rank, its port and
 * its pages are free. Frames sent last arrive when the network is back. Only the exit of the
 * module waits for that.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/two_ranks.h"
#include "lib/tcp_only.h"

/* A peer is declared dead after six periods; ms. */
#define HEARTBEAT_MS	20000

#define MEMORY		(1024 * 1024)

FIXTURE(unreachable) {
	int fd[2];
	struct sockaddr_storage addr[2];
	char name[33];
	__u64 id;
	void *memory;
};

static int far_join(int fd, const char *name, __u64 id, unsigned int rank,
		    unsigned int heartbeat_ms, struct sockaddr_storage *addr)
{
	struct collective_join join = {
		.id = id,
		.rank = rank,
		.nranks = 2,
		.transport = COLLECTIVE_TRANSPORT_TCP,
		.heartbeat_ms = heartbeat_ms,
	};

	return member_join_as(fd, &join, name, addr);
}

/* Two ranks in a network namespace with a loopback device that can be set down. */
FIXTURE_SETUP(unreachable)
{
	__u32 buffer;
	int i;

	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	ASSERT_EQ(0, loopback_set(true));
	group_unique(self->name, sizeof(self->name), &self->id);
	for (i = 0; i < 2; i++) {
		self->fd[i] = member_open();
		ASSERT_EQ(0, far_join(self->fd[i], self->name, self->id, i, HEARTBEAT_MS,
				      &self->addr[i]));
	}
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	self->memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	ASSERT_NE(MAP_FAILED, self->memory);
	ASSERT_EQ(0, member_register(self->fd[0], self->memory, MEMORY, 0, &buffer));
}

FIXTURE_TEARDOWN(unreachable)
{
	/* Lingering connections can end. */
	loopback_set(true);
	close(self->fd[0]);
	close(self->fd[1]);
	munmap(self->memory, MEMORY);
}

static bool listens(const struct sockaddr_storage *addr)
{
	unsigned int port, state, wanted = ntohs(((const struct sockaddr_in *)addr)->sin_port);
	char line[512];
	FILE *file = fopen("/proc/self/net/tcp", "r");
	bool found = false;

	while (file && fgets(line, sizeof(line), file))
		found |= sscanf(line, " %*u: %*x:%x %*x:%*x %x", &port, &state) == 2 &&
			 port == wanted && state == 0x0a;
	if (file)
		fclose(file);
	return found;
}

/* Wait until the other rank has acknowledged all that was sent.  No more is sent then for 20 s. */
static bool all_acknowledged(void)
{
	unsigned int busy = 1, queue, i;
	char line[512];
	FILE *file;

	sleep_ms(200);
	for (i = 0; i < 2000 && busy; i++) {
		sleep_ms(10);
		file = fopen("/proc/self/net/tcp", "r");
		for (busy = 0; file && fgets(line, sizeof(line), file);)
			busy |= sscanf(line, " %*u: %*x:%*x %*x:%*x 01 %x:", &queue) == 1 && queue;
		if (file)
			fclose(file);
	}
	return !busy;
}

/* The member has ended for the process; its sockets still exist. */
TEST_F_TIMEOUT(unreachable, close_does_not_wait, 200)
{
	struct sockaddr_storage addr;
	__u64 begin, took;
	int again;

	EXPECT_TRUE(listens(&self->addr[0]));
	EXPECT_LE(MEMORY / 1024, process_value(0, "VmPin:"));
	ASSERT_TRUE(all_acknowledged());
	ASSERT_EQ(0, loopback_set(false));
	begin = now_ms();
	ASSERT_EQ(0, close(self->fd[0]));
	took = now_ms() - begin;
	self->fd[0] = -1;
	EXPECT_GT(5000, took);
	TH_LOG("close() took %llu ms", took);
	EXPECT_FALSE(listens(&self->addr[0]));
	EXPECT_EQ(0, process_value(0, "VmPin:"));
	EXPECT_GT(0, member_value(self->name, 0, "state"));

	/* The rank can be joined again. */
	ASSERT_EQ(0, loopback_set(true));
	again = member_open();
	EXPECT_EQ(0, far_join(again, self->name, self->id, 0, HEARTBEAT_MS, &addr));
	close(again);
}

/*
 * The network is cut before LEAVE is sent, and restored: the other rank receives LEAVE and
 * reports no failure.
 */
TEST_F_TIMEOUT(unreachable, leave_arrives, 200)
{
	struct collective_status status;

	ASSERT_TRUE(all_acknowledged());
	ASSERT_EQ(0, loopback_set(false));
	ASSERT_EQ(0, member_leave(self->fd[0]));
	ASSERT_EQ(0, close(self->fd[0]));
	self->fd[0] = -1;
	sleep_ms(500);
	ASSERT_EQ(0, member_status(self->fd[1], &status));
	EXPECT_EQ(COLLECTIVE_STATE_UP, status.state);
	ASSERT_EQ(0, loopback_set(true));
	EXPECT_EQ(-ECONNRESET, member_barrier(self->fd[1]));
	ASSERT_EQ(0, member_status(self->fd[1], &status));
	EXPECT_EQ(COLLECTIVE_REASON_LEFT, status.group.kind);
	EXPECT_EQ(0, status.group.rank_a);
}

/*
 * Files that a kernel thread closes
 */

/*
 * Send the file over a socket that only the socket itself refers to. The kernel's garbage
 * collector closes it.
 */
static int close_as_garbage(int fd)
{
	int pair[2], fds[2], err = 0;
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(fds))];
	} control = { .head = {
		.cmsg_len = CMSG_LEN(sizeof(fds)),
		.cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS,
	} };
	struct msghdr msg = {
		.msg_iov = &(struct iovec) { "", 1 },
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.bytes),
	};

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return -errno;
	fds[0] = fd;
	fds[1] = pair[0];
	memcpy(CMSG_DATA(&control.head), fds, sizeof(fds));
	if (sendmsg(pair[1], &msg, 0) != 1)
		err = -errno;
	close(fd);
	close(pair[0]);
	close(pair[1]);
	return err;
}

static bool rank_gone(const char *name, unsigned int rank, unsigned int ms)
{
	const __u64 end = now_ms() + ms;

	while (member_value(name, rank, "state") >= 0 && now_ms() < end)
		sleep_ms(10);
	return member_value(name, rank, "state") < 0;
}

TEST_F_TIMEOUT(unreachable, thrown_away, 200)
{
	ASSERT_EQ(0, close_as_garbage(self->fd[0]));
	self->fd[0] = -1;
	EXPECT_TRUE(rank_gone(self->name, 0, 10000));
}

/* The last test: sockets linger, nothing else uses the module; it must be possible to unload it. */
TEST(exit_waits)
{
	struct sockaddr_storage addr[2];
	char name[33], line[512];
	unsigned int i, state, waits = 0;
	__u64 id, begin;
	FILE *file;
	int fd[2];

	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	ASSERT_EQ(0, loopback_set(true));
	group_unique(name, sizeof(name), &id);
	for (i = 0; i < 2; i++) {
		fd[i] = member_open();
		ASSERT_EQ(0, far_join(fd[i], name, id, i, 2000, &addr[i]));
	}
	ASSERT_EQ(0, two_ranks_connect(fd, addr));
	ASSERT_TRUE(all_acknowledged());
	ASSERT_EQ(0, loopback_set(false));
	begin = now_ms();
	close(fd[0]);
	EXPECT_GT(5000, now_ms() - begin);
	file = fopen("/proc/self/net/tcp", "r");
	ASSERT_NE(NULL, file);
	while (fgets(line, sizeof(line), file))
		waits += sscanf(line, " %*u: %*x:%*x %*x:%*x %x", &state) == 1 && state == 0x04;
	fclose(file);
	/* FIN_WAIT1: a control and a data connection. */
	EXPECT_EQ(2, waits);
	close(fd[1]);
}

TEST_HARNESS_MAIN
