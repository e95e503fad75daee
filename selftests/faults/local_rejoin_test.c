// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ranks of one kernel change: a rank leaves and its number joins again, a file goes to another
 * process, a rank becomes another user or another program. No rank is reached by what was known of
 * an earlier one, and no memory of another process is used.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/any_transport.h"
#include "lib/group.h"
#include "lib/machine.h"
#include "kselftest_harness.h"
#include "lib/timed.h"
#include "lib/call.h"
#include "lib/local_only.h"
#include "lib/pass_file.h"
#include "lib/open_device.h"
#include "lib/two_ranks.h"

#define LOCAL	COLLECTIVE_TRANSPORT_LOCAL
#define NOBODY	65534
#define BYTES	(16 << 20)

/* For machines under load. */
#define TOLD_MS	8000

static int reason_check(int fd, unsigned int rank, unsigned int kind)
{
	struct collective_status status;

	CHECK_EQ(0, member_status(fd, &status));
	CHECK_EQ(COLLECTIVE_STATE_ABORTED, status.state);
	CHECK_EQ(kind, status.group.kind);
	CHECK_EQ(rank, status.group.rank_a);
	return 0;
}

/* A new rank 1 takes the place of one that was connected: the group of the old one has failed. */
TEST_F_TIMEOUT(two_ranks, joined_again_after_connect, 60)
{
	struct sockaddr_storage addr[2];
	struct links links;

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, links_get(self->name, 0, &links));
	ASSERT_EQ(2, links.local);
	ASSERT_EQ(0, links.tcp);
	close(self->fd[1]);
	memcpy(addr, self->addr, sizeof(addr));
	self->fd[1] = member_open();
	ASSERT_EQ(0, member_join(self->fd[1], self->name, self->id, 1, 2, &addr[1]));
	EXPECT_EQ(-ECONNRESET, member_barrier(self->fd[0]));
	EXPECT_EQ(0, reason_check(self->fd[0], 1, COLLECTIVE_REASON_LEFT));
	EXPECT_NE(0, member_connect(self->fd[1], addr, 2, 500));
	EXPECT_GT(0, member_barrier(self->fd[1]));
}

/* Rank 0 has called a rank 1 that leaves, and is not taken for a peer by the next rank 1. */
TEST_F_TIMEOUT(two_ranks, joined_again_after_call, 60)
{
	struct sockaddr_storage addr[2];
	int err;

	fcntl(self->fd[0], F_SETFL, O_NONBLOCK);
	ASSERT_EQ(-EINPROGRESS, member_connect(self->fd[0], self->addr, 2, 5000));
	fcntl(self->fd[0], F_SETFL, 0);
	close(self->fd[1]);
	memcpy(addr, self->addr, sizeof(addr));
	self->fd[1] = member_open();
	ASSERT_EQ(0, member_join(self->fd[1], self->name, self->id, 1, 2, &addr[1]));
	EXPECT_NE(0, member_connect(self->fd[1], addr, 2, 500));
	err = member_connect(self->fd[0], self->addr, 2, 5000);
	EXPECT_NE(0, err);
	EXPECT_NE(-EISCONN, err);
}

static int join_at(int fd, const char *name, __u64 id, unsigned int rank, unsigned int transport,
		   const struct sockaddr_storage *at, struct sockaddr_storage *addr)
{
	struct collective_join join;
	int err;

	join_valid(&join, name, id);
	join.rank = rank;
	join.transport = transport;
	memcpy(join.addr, at, sizeof(*at));
	err = member_ioctl(fd, COLLECTIVE_IOC_JOIN, &join);
	memcpy(addr, join.addr, sizeof(*addr));
	return err;
}

static int both_add(const int *fd, __u8 *const *area)
{
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_UINT32,
		.count = BYTES / 4,
	};
	__u64 request;

	op.send = (uintptr_t)area[0];
	op.recv = (uintptr_t)(area[0] + BYTES);
	CHECK_EQ(0, member_start(fd[0], &op, &request));
	op.send = (uintptr_t)area[1];
	op.recv = (uintptr_t)(area[1] + BYTES);
	CHECK_EQ(0, member_submit(fd[1], &op));
	CHECK_EQ(0, member_wait(fd[0], request, 0));
	CHECK(all_are(area[0] + BYTES, area[0][0] + area[1][0], BYTES));
	CHECK(all_are(area[1] + BYTES, area[0][0] + area[1][0], BYTES));
	return 0;
}

/*
 * Both ranks are replaced again and again, at the same addresses, one while the other lends its
 * memory to an operation. Neither that operation nor the new ranks get anything of the old ones.
 */
TEST_F_TIMEOUT(two_ranks, joined_again_at_the_same_address, 100)
{
	__u8 *area[2] = { memory(2 * BYTES), memory(2 * BYTES) };
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_UINT32,
		.count = BYTES / 4,
	};
	struct sockaddr_storage addr;
	struct links links;
	unsigned int i, gone;
	__u64 request;

	ASSERT_TRUE(area[0] && area[1]);
	for (i = 0; i < 8; i++) {
		gone = i % 2;
		ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr)) TH_LOG("round %u", i);
		memset(area[0], 1 + i, BYTES);
		memset(area[1], 101 + i, BYTES);
		ASSERT_EQ(0, both_add(self->fd, area)) TH_LOG("round %u", i);
		ASSERT_EQ(0, links_get(self->name, 0, &links));
		ASSERT_EQ(2, links.local);
		op.send = (uintptr_t)area[!gone];
		op.recv = (uintptr_t)(area[!gone] + BYTES);
		ASSERT_EQ(0, member_start(self->fd[!gone], &op, &request));
		close(self->fd[gone]);
		self->fd[gone] = member_open();
		ASSERT_EQ(0, join_at(self->fd[gone], self->name, self->id, gone, LOCAL,
				     &self->addr[gone], &addr));
		ASSERT_EQ(0, memcmp(&addr, &self->addr[gone], sizeof(struct sockaddr_in)));
		fcntl(self->fd[gone], F_SETFL, O_NONBLOCK);
		member_connect(self->fd[gone], self->addr, 2, 10000);
		fcntl(self->fd[gone], F_SETFL, 0);
		EXPECT_EQ(-ECONNRESET, member_wait(self->fd[!gone], request, 0));
		EXPECT_EQ(0, reason_check(self->fd[!gone], gone, COLLECTIVE_REASON_LEFT));
		/* The new rank had nothing to do with that. */
		close(self->fd[0]);
		close(self->fd[1]);
		self->fd[0] = member_open();
		self->fd[1] = member_open();
		ASSERT_EQ(0, join_at(self->fd[0], self->name, self->id, 0, LOCAL,
				     &self->addr[0], &addr));
		ASSERT_EQ(0, join_at(self->fd[1], self->name, self->id, 1, LOCAL,
				     &self->addr[1], &addr));
	}
	munmap(area[0], 2 * BYTES);
	munmap(area[1], 2 * BYTES);
}

#define SMALL		12	/* elements: they fit a slot of the board */
#define SMALL_ROUNDS	100

/*
 * A rank leaves and joins again as soon as its small operation is complete.  The other one may not
 * have looked yet, and gets the result all the same.
 */
TEST_F_TIMEOUT(two_ranks, joined_again_before_the_other_looks, 100)
{
	const unsigned int rounds = slow_machine() ? SMALL_ROUNDS / 5 : SMALL_ROUNDS;
	__u32 send[2][SMALL], recv[2][SMALL];
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_UINT32,
		.count = SMALL,
	};
	unsigned int i, k;
	__u64 request;

	for (i = 0; i < rounds; i++) {
		ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr)) TH_LOG("round %u", i);
		for (k = 0; k < SMALL; k++) {
			send[0][k] = i + k;
			send[1][k] = 1000 * k;
		}
		op.send = (uintptr_t)send[0];
		op.recv = (uintptr_t)recv[0];
		ASSERT_EQ(0, member_start(self->fd[0], &op, &request));
		op.send = (uintptr_t)send[1];
		op.recv = (uintptr_t)recv[1];
		ASSERT_EQ(0, member_submit(self->fd[1], &op));
		close(self->fd[1]);
		self->fd[1] = member_open();
		ASSERT_EQ(0, member_join(self->fd[1], self->name, self->id, 1, 2, &self->addr[1]));
		ASSERT_EQ(0, member_wait(self->fd[0], request, 0)) TH_LOG("round %u", i);
		for (k = 0; k < SMALL; k++)
			ASSERT_EQ(i + 1001 * k, recv[0][k]) TH_LOG("round %u", i);
		close(self->fd[0]);
		self->fd[0] = member_open();
		ASSERT_EQ(0, member_join(self->fd[0], self->name, self->id, 0, 2, &self->addr[0]));
	}
}

/* A rank that joins again, at the same address, and asks for TCP is not read by memory. */
TEST_F_TIMEOUT(open_device, joined_again_by_tcp, 60)
{
	__u8 *area[2] = { memory(2 * BYTES), memory(2 * BYTES) };
	struct sockaddr_storage any, addr[2];
	int fd[2] = { self->fd, member_open() };
	struct links links;

	ASSERT_TRUE(area[0] && area[1]);
	loopback(&any, AF_INET);
	ASSERT_EQ(0, join_at(fd[0], self->name, self->id, 0, COLLECTIVE_TRANSPORT_AUTO, &any,
			     &addr[0]));
	ASSERT_EQ(0, join_at(fd[1], self->name, self->id, 1, COLLECTIVE_TRANSPORT_AUTO, &any,
			     &addr[1]));
	close(fd[1]);
	fd[1] = member_open();
	ASSERT_EQ(0, join_at(fd[1], self->name, self->id, 1, COLLECTIVE_TRANSPORT_TCP, &addr[1],
			     &any));
	ASSERT_EQ(0, memcmp(&any, &addr[1], sizeof(struct sockaddr_in)));
	ASSERT_EQ(0, two_ranks_connect(fd, addr));
	memset(area[0], 1, BYTES);
	memset(area[1], 2, BYTES);
	EXPECT_EQ(0, both_add(fd, area));
	ASSERT_EQ(0, links_get(self->name, 0, &links));
	EXPECT_EQ(0, links.local);
	EXPECT_EQ(2, links.tcp);
	EXPECT_EQ(0, member_value(self->name, 0, "bytes_read"));
	close(fd[1]);
	munmap(area[0], 2 * BYTES);
	munmap(area[1], 2 * BYTES);
}

/* The addresses are valid in both processes, with other contents. */
static int use_received(int from, const struct collective_op *op, bool as_nobody)
{
	struct collective_cancel cancel = { .size = sizeof(cancel), .request = 1 };
	__u32 buffer;
	int fd;

	if (as_nobody)
		CHECK(!setresgid(NOBODY, NOBODY, NOBODY) && !setresuid(NOBODY, NOBODY, NOBODY));
	memset((void *)(uintptr_t)op->send, 0x5a, BYTES);
	fd = file_receive(from);
	CHECK(fd >= 0);
	CHECK_EQ(-EPERM, member_submit(fd, op));
	CHECK_EQ(-EPERM, member_wait(fd, 1, 0));
	CHECK_EQ(-EPERM, member_ioctl(fd, COLLECTIVE_IOC_CANCEL, &cancel));
	CHECK_EQ(-EPERM, member_register(fd, (void *)(uintptr_t)op->send, BYTES, 0, &buffer));
	CHECK_EQ(-EPERM, member_leave(fd));
	CHECK(all_are((void *)(uintptr_t)op->recv, 0, BYTES));
	return 0;
}

/* A file is handed over with an operation in flight, which keeps the memory of the sender. */
TEST_F_TIMEOUT(two_ranks, handed_over, 60)
{
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_UINT32,
		.reduction = COLLECTIVE_BOR,
		.count = BYTES / 4,
	};
	__u8 *area[2] = { memory(2 * BYTES), memory(2 * BYTES) };
	int pair[2], status, i;
	struct links links;
	__u64 request;
	pid_t pid;

	ASSERT_TRUE(area[0] && area[1]);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	memset(area[0], 1, BYTES);
	memset(area[1], 2, BYTES);
	for (i = 0; i < 2; i++) {
		op.send = (uintptr_t)area[0];
		op.recv = (uintptr_t)(area[0] + BYTES);
		memset(area[0] + BYTES, 0, BYTES);
		pid = fork();
		if (!pid)
			_exit(use_received(pair[1], &op, i));
		ASSERT_EQ(0, member_start(self->fd[0], &op, &request));
		ASSERT_EQ(0, file_send(pair[0], self->fd[0]));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status);
		op.send = (uintptr_t)area[1];
		op.recv = (uintptr_t)(area[1] + BYTES);
		EXPECT_EQ(0, member_submit(self->fd[1], &op));
		EXPECT_EQ(0, member_wait(self->fd[0], request, 0));
		EXPECT_TRUE(all_are(area[0] + BYTES, 3, BYTES));
		EXPECT_TRUE(all_are(area[1] + BYTES, 3, BYTES));
	}
	ASSERT_EQ(0, links_get(self->name, 0, &links));
	EXPECT_EQ(2, links.local);
	EXPECT_EQ(0, links.tcp);
	close(pair[0]);
	close(pair[1]);
	for (i = 0; i < 2; i++)
		munmap(area[i], 2 * BYTES);
}

TIMED_TESTS(changed)

static int add(const struct rank *r, __u8 *area)
{
	return member_allreduce(r->fd, area, area + BYTES, BYTES / 4, COLLECTIVE_UINT32,
				COLLECTIVE_SUM);
}

/* The process that joined stays the owner, whatever its user. */
static int rank_set_user(struct rank *r)
{
	const struct rlimit most = { RLIM_INFINITY, RLIM_INFINITY };
	__u8 *area = memory(2 * BYTES);

	CHECK(area);
	CHECK_EQ(0, setrlimit(RLIMIT_MEMLOCK, &most));
	memset(area, 1, BYTES);
	if (r->rank)
		CHECK(!setresgid(NOBODY, NOBODY, NOBODY) && !setresuid(NOBODY, NOBODY, NOBODY));
	CHECK_EQ(0, add(r, area));
	CHECK(all_are(area + BYTES, r->nranks, BYTES));
	CHECK_EQ(0, local_links_check(r));
	return member_barrier(r->fd);
}

TEST_F_TIMEOUT(changed, user, 60)
{
	const struct group_config config = { .nranks = 3 };

	EXPECT_EQ(0, group_run(&config, rank_set_user, NULL));
}

/* The last rank becomes a program that inherits the file and lives on: the rank has died. */
static int rank_exec(struct rank *r)
{
	__u8 *area = memory(2 * BYTES);
	const unsigned int last = r->nranks - 1;
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_UINT32,
		.count = BYTES / 4,
		.send = (uintptr_t)area,
		.recv = (uintptr_t)(area + BYTES),
	};
	__u64 request, begin;
	int err;

	CHECK(area);
	CHECK_EQ(0, add(r, area));
	CHECK_EQ(0, local_links_check(r));
	CHECK_EQ(0, member_barrier(r->fd));
	if (r->rank == last) {
		CHECK_EQ(0, fcntl(r->fd, F_SETFD, 0));
		CHECK_EQ(0, member_start(r->fd, &op, &request));
		usleep(2000);
		execl("/bin/sleep", "sleep", "20", NULL);
		return 1;
	}
	begin = now_ms();
	do {
		err = add(r, area);
	} while (!err);
	CHECK_EQ(-ECONNRESET, err);
	CHECK(now_ms() < begin + enough_ms(TOLD_MS));
	CHECK_EQ(0, reason_check(r->fd, last, COLLECTIVE_REASON_DEATH));
	CHECK_EQ(0, rank_value(r, "pinned_bytes"));
	CHECK(flag_barrier(r->shared, 0, last));
	return 0;
}

TEST_F_TIMEOUT(changed, program, 60)
{
	const struct group_config config = { .nranks = 3 };
	struct group group;
	int i;

	ASSERT_EQ(0, group_start(&group, &config, rank_exec, NULL));
	for (i = 0; i < 3; i++) {
		if (i == 2)
			kill(group.pid[i], SIGKILL);
		waitpid(group.pid[i], &group.status[i], 0);
		EXPECT_EQ(i == 2 ? SIGKILL : 0, group.status[i]);
	}
	munmap(group.shared, sizeof(*group.shared));
}

TEST_HARNESS_MAIN
