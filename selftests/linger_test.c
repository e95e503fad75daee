// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file is closed while peers cannot be reached: rank, listener and pages are free when
 * close() returns, and what was said last arrives when it can.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "group.h"
#include "kselftest_harness.h"
#include "pair.h"

/* After six of them a peer is given up. */
#define HEARTBEAT_MS	20000

#define MEMORY		(1024 * 1024)

FIXTURE(far) {
	int fd[2];
	struct sockaddr_storage addr[2];
	char name[33];
	__u64 id;
	void *memory;
};

static int far_join(int fd, const char *name, __u64 id, unsigned int rank,
		    struct sockaddr_storage *addr)
{
	struct collective_join join = {
		.size = sizeof(join),
		.id = id,
		.rank = rank,
		.nranks = 2,
		.heartbeat_ms = HEARTBEAT_MS,
		.addr_len = sizeof(*addr),
	};
	int err;

	memcpy(join.name, name, strlen(name));
	loopback(addr, AF_INET);
	memcpy(join.addr, addr, sizeof(*addr));
	err = member_ioctl(fd, COLLECTIVE_IOC_JOIN, &join);
	memcpy(addr, join.addr, sizeof(*addr));
	return err;
}

/* Two ranks in a network of their own, which can be cut. */
FIXTURE_SETUP(far)
{
	__u32 buffer;
	int i;

	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	ASSERT_EQ(0, loopback_set(true));
	group_unique(self->name, sizeof(self->name), &self->id);
	for (i = 0; i < 2; i++) {
		self->fd[i] = member_open();
		ASSERT_EQ(0, far_join(self->fd[i], self->name, self->id, i, &self->addr[i]));
	}
	ASSERT_EQ(0, pair_connect(self->fd, self->addr));
	self->memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	ASSERT_NE(MAP_FAILED, self->memory);
	ASSERT_EQ(0, member_register(self->fd[0], self->memory, MEMORY, 0, &buffer));
}

FIXTURE_TEARDOWN(far)
{
	/* What lingers can end. */
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

/* The whole of its life is over for the process, but for its sockets. */
TEST_F_TIMEOUT(far, close_does_not_wait, 200)
{
	struct sockaddr_storage addr;
	__u64 begin, took;
	int again;

	EXPECT_TRUE(listens(&self->addr[0]));
	EXPECT_LE(MEMORY / 1024, process_value(0, "VmPin:"));
	/* What has been sent so far is acknowledged. */
	sleep_ms(300);
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

	/* The rank is free. */
	ASSERT_EQ(0, loopback_set(true));
	again = member_open();
	EXPECT_EQ(0, far_join(again, self->name, self->id, 0, &addr));
	close(again);
}

/* Cut before the goodbye, and back: the other rank hears it, and takes it for no failure. */
TEST_F_TIMEOUT(far, goodbye_arrives, 200)
{
	struct collective_status status;

	sleep_ms(300);
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

TEST_HARNESS_MAIN
