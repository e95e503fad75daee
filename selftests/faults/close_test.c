// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file is closed while a peer may still read the memory of its operations.  Only the process that
 * joined waits for that, and can be killed.  No other process waits: neither a child, nor one that
 * the file was passed to.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/group.h"
#include "lib/machine.h"
#include "kselftest_harness.h"
#include "lib/pass_file.h"
#include "lib/raw_peer.h"
#include "lib/tcp_only.h"

enum { FILES = 3, REQUESTS = 4, BYTES = 65536 };

/* The memory is released after the fence, which is five heartbeats. */
enum { FENCE_BEATS = 5, CLOSE_BEATS = 6 };

/* More than a call takes that does not wait for the fence. */
static unsigned int at_once_ms(void)
{
	return emulated() ? 2500 : 2000;
}

/**
 * struct busy - rank 1 of two, with operations whose memory is in use
 * @fd: its file
 * @name: name of its group
 * @peer: rank 0, which does not say that it has released the memory
 */
struct busy {
	int fd;
	char name[33];
	struct raw_peer peer;
};

static int busy_connect(struct busy *busy, unsigned int heartbeat_ms)
{
	struct collective_join join = {
		.rank = 1, .nranks = 2, .transport = COLLECTIVE_TRANSPORT_TCP,
		.heartbeat_ms = heartbeat_ms,
	};
	struct collective_query query = { .size = sizeof(query) };
	struct sockaddr_storage addr[2];
	struct raw_peer_config call = {
		.addr = &addr[1], .name = busy->name, .to = 1, .nranks = 2,
	};

	group_unique(busy->name, sizeof(busy->name), &join.id);
	busy->fd = member_open();
	CHECK(busy->fd >= 0);
	CHECK_EQ(0, member_ioctl(busy->fd, COLLECTIVE_IOC_QUERY, &query));
	call.id = join.id;
	call.inflight = query.inflight_max;
	loopback(&addr[0], AF_INET);
	CHECK_EQ(0, member_join_as(busy->fd, &join, busy->name, &addr[1]));
	fcntl(busy->fd, F_SETFL, O_NONBLOCK);
	CHECK_EQ(-EINPROGRESS, member_connect(busy->fd, addr, 2, 10000));
	CHECK_EQ(0, raw_peer_connect(&busy->peer, &call));
	return members_await_up(&busy->fd, 1);
}

static int busy_begin(struct busy *busy, unsigned int heartbeat_ms)
{
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLREDUCE, .type = COLLECTIVE_UINT8, .count = BYTES,
	};
	void *area = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	unsigned int i;
	__u64 request;

	CHECK(area != MAP_FAILED);
	op.send = (uintptr_t)area;
	op.recv = (uintptr_t)area;
	CHECK_EQ(0, busy_connect(busy, heartbeat_ms));
	for (i = 0; i < REQUESTS; i++) {
		CHECK_EQ(0, raw_peer_grant(&busy->peer, i, &op));
		CHECK_EQ(0, member_start(busy->fd, &op, &request));
	}
	/* What was granted is on its way. */
	sleep_ms(50);
	return 0;
}

static bool rank_gone(const struct busy *busy, unsigned int ms)
{
	const __u64 end = now_ms() + ms;

	while (member_value(busy->name, 1, "inflight") >= 0 && now_ms() < end)
		sleep_ms(10);
	return member_value(busy->name, 1, "inflight") < 0;
}

/*
 * The process that joined lives
 */

FIXTURE(passed) {
	struct busy busy[FILES];
	unsigned int heartbeat_ms;
	int pair[2];
};

FIXTURE_VARIANT(passed) {
	bool inherited;
};

FIXTURE_VARIANT_ADD(passed, to_child) { true };
FIXTURE_VARIANT_ADD(passed, by_socket) { false };

FIXTURE_SETUP(passed)
{
	int i;

	self->heartbeat_ms = emulated() ? 1500 : 600;
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, self->pair));
	for (i = 0; i < FILES; i++)
		ASSERT_EQ(0, busy_begin(&self->busy[i], self->heartbeat_ms));
}

FIXTURE_TEARDOWN(passed)
{
	int i;

	for (i = 0; i < FILES; i++)
		raw_peer_close(&self->busy[i].peer);
}

/* Close all files as their last user. */
static int stranger_run(struct busy *busy, int from, bool inherited)
{
	__u64 begin;
	char byte;
	int i;

	for (i = 0; !inherited && i < FILES; i++) {
		close(busy[i].fd);
		busy[i].fd = file_receive(from);
		CHECK(busy[i].fd >= 0);
	}
	CHECK_EQ(1, read(from, &byte, 1));
	begin = now_ms();
	for (i = 0; i < FILES; i++)
		close(busy[i].fd);
	CHECK(now_ms() < begin + at_once_ms());
	return 0;
}

TEST_F(passed, stranger_does_not_wait)
{
	int i, status;
	__u64 begin;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(stranger_run(self->busy, self->pair[1], variant->inherited));
	for (i = 0; i < FILES; i++) {
		if (!variant->inherited)
			ASSERT_EQ(0, file_send(self->pair[0], self->busy[i].fd));
		close(self->busy[i].fd);
	}
	begin = now_ms();
	ASSERT_EQ(1, write(self->pair[0], "", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);

	/* The memory stays pinned, and charged to its owner, until the fence. */
	EXPECT_LT(0, process_value(0, "VmPin:"));
	for (i = 0; i < FILES; i++)
		EXPECT_TRUE(rank_gone(&self->busy[i], 1000 + 2 * CLOSE_BEATS * self->heartbeat_ms));
	EXPECT_LT(FENCE_BEATS * self->heartbeat_ms - at_once_ms(), now_ms() - begin);
	EXPECT_EQ(0, process_value(0, "VmPin:"));
}

/*
 * The process that joined is killed
 */

enum { FLAG_FIRST, FLAG_CLOSES, FLAG_CLOSED };

/**
 * struct killed - memory that the processes share
 * @flags: of the process that closes the file first, and of the one that closes it last
 * @busy: the rank
 * @child: child of the process that joined; keeps the sockets of the peer open; 0: none yet
 */
struct killed {
	struct group_shared flags;
	struct busy busy;
	pid_t child;
};

FIXTURE(killed) {
	struct killed *killed;
};

FIXTURE_SETUP(killed)
{
	self->killed = mmap(NULL, sizeof(*self->killed), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->killed);
}

FIXTURE_TEARDOWN(killed)
{
	if (self->killed->child)
		kill(self->killed->child, SIGKILL);
	munmap(self->killed, sizeof(*self->killed));
}

/* The process that joins, and a child of it: one closes the file first, the other one last. */
static int owner_run(struct killed *killed, bool owner_is_last)
{
	pid_t pid;

	CHECK_EQ(0, busy_begin(&killed->busy, emulated() ? 3000 : 1500));
	pid = fork();
	if (pid)
		killed->child = pid;
	if (owner_is_last == !pid) {
		close(killed->busy.fd);
		flag_set(&killed->flags, FLAG_FIRST, 1);
	} else {
		CHECK(flag_wait(&killed->flags, FLAG_FIRST, 1, 10000));
		flag_set(&killed->flags, FLAG_CLOSES, 1);
		close(killed->busy.fd);
		flag_set(&killed->flags, FLAG_CLOSED, 1);
	}
	pause();
	return 1;
}

static pid_t owner_start(struct killed *killed, bool owner_is_last)
{
	pid_t pid = fork();

	if (!pid)
		_exit(owner_run(killed, owner_is_last));
	return flag_wait(&killed->flags, FLAG_CLOSES, 1, 20000) ? pid : -1;
}

/* Return: true if the process died at once, and its rank with it. */
static bool owner_dies(const struct killed *killed, pid_t owner)
{
	const __u64 begin = now_ms();
	int status;

	kill(owner, SIGKILL);
	return waitpid(owner, &status, 0) == owner && now_ms() < begin + at_once_ms() &&
	       rank_gone(&killed->busy, at_once_ms());
}

TEST_F(killed, in_close)
{
	pid_t owner = owner_start(self->killed, true);

	ASSERT_LT(0, owner);
	/* It waits for the fence. */
	EXPECT_FALSE(flag_wait(&self->killed->flags, FLAG_CLOSED, 1, 300));
	EXPECT_LE(0, member_value(self->killed->busy.name, 1, "inflight"));
	EXPECT_TRUE(owner_dies(self->killed, owner));
}

TEST_F(killed, after_close_by_child)
{
	pid_t owner = owner_start(self->killed, false);

	ASSERT_LT(0, owner);
	EXPECT_TRUE(flag_wait(&self->killed->flags, FLAG_CLOSED, 1, at_once_ms()));
	sleep_ms(100);
	EXPECT_LE(0, member_value(self->killed->busy.name, 1, "inflight"));
	EXPECT_TRUE(owner_dies(self->killed, owner));
}

TEST_HARNESS_MAIN
