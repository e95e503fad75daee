// SPDX-License-Identifier: GPL-2.0-only
/*
 * What ranks of one kernel may read of each other: the bytes that an operation lends, and no
 * others, whatever the other ranks have called. Processes of other users are no members, also where
 * a user namespace shows them as this user. Memory of a rank does not grow by what its peers do.
 *
 * Environment: LOCAL_SPAN_ROUNDS (per variant).
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/local_only.h"
#include "lib/machine.h"
#include "lib/two_ranks.h"
#include "lib/values.h"

#define RANKS		3
#define OTHER_USER	65534

/* Bytes of the call that lends little, and of all others; a block of both is not sent eagerly. */
#define LITTLE		(4 * COLLECTIVE_EAGER_LIMIT)
#define MUCH		(4 << 20)

/* What follows the bytes that are lent. */
#define PRIVATE		0xee

/**
 * struct span - operations in which one rank lends less than the others expect
 * @opcode: enum collective_opcode
 * @registered: true if the rank's memory goes on behind the bytes that it lends, in one buffer
 */
struct span {
	int opcode;
	bool registered;
};

FIXTURE(span) {
};

FIXTURE_VARIANT(span) {
	struct span span;
};

#define SPAN(_name, ...)						\
FIXTURE_VARIANT_ADD(span, _name) {					\
	.span = { __VA_ARGS__ },					\
}

SPAN(allreduce, COLLECTIVE_ALLREDUCE, false);
SPAN(allreduce_registered, COLLECTIVE_ALLREDUCE, true);
SPAN(reduce, COLLECTIVE_REDUCE, false);
SPAN(reduce_registered, COLLECTIVE_REDUCE, true);
SPAN(reduce_scatter, COLLECTIVE_REDUCE_SCATTER, false);
SPAN(reduce_scatter_registered, COLLECTIVE_REDUCE_SCATTER, true);
SPAN(broadcast, COLLECTIVE_BROADCAST, false);
SPAN(broadcast_registered, COLLECTIVE_BROADCAST, true);
SPAN(allgather, COLLECTIVE_ALLGATHER, false);
SPAN(allgather_registered, COLLECTIVE_ALLGATHER, true);
SPAN(alltoall, COLLECTIVE_ALLTOALL, false);
SPAN(alltoall_registered, COLLECTIVE_ALLTOALL, true);
SPAN(scan, COLLECTIVE_SCAN, false);
SPAN(scan_registered, COLLECTIVE_SCAN, true);

FIXTURE_SETUP(span)
{
}

FIXTURE_TEARDOWN(span)
{
}

/* Input and result have room for a block of each rank. */
static __u64 count_of(const struct span *span, size_t bytes)
{
	return span->opcode == COLLECTIVE_ALLREDUCE || span->opcode == COLLECTIVE_REDUCE ||
	       span->opcode == COLLECTIVE_BROADCAST || span->opcode == COLLECTIVE_SCAN ?
	       bytes : bytes / RANKS;
}

/* One operation. Return: 0 if it fails as it must, and nothing private was read. */
static int span_round(struct rank *r, const struct span *span, unsigned int round, __u8 *area,
		      __u32 buffer)
{
	const unsigned int little = round % RANKS;
	const size_t bytes = r->rank == little ? LITTLE : MUCH;
	struct collective_op op = {
		.opcode = span->opcode,
		.type = COLLECTIVE_UINT8,
		.reduction = span->opcode == COLLECTIVE_ALLREDUCE ||
			     span->opcode == COLLECTIVE_REDUCE ||
			     span->opcode == COLLECTIVE_REDUCE_SCATTER ||
			     span->opcode == COLLECTIVE_SCAN ? COLLECTIVE_BOR : 0,
		.root = span->opcode == COLLECTIVE_REDUCE || span->opcode == COLLECTIVE_BROADCAST ?
			(little + round / RANKS) % RANKS : 0,
		.count = count_of(span, bytes),
		.send = (uintptr_t)area,
		.recv = (uintptr_t)(area + MUCH),
		.send_buffer = buffer,
		.recv_buffer = buffer,
	};

	if (span->opcode == COLLECTIVE_BROADCAST)
		op.recv = op.send;
	memset(area, 0, 2 * MUCH);
	if (r->rank == little) {
		memset(area + LITTLE, PRIVATE, MUCH - LITTLE);
		memset(area + MUCH + LITTLE, PRIVATE, MUCH - LITTLE);
	}
	CHECK_EQ(0, member_barrier(r->fd));
	/* The calls meet in each order. */
	if (round % 4 == r->rank)
		usleep(1000 * (round % 3));
	CHECK_EQ(-EBADMSG, member_submit(r->fd, &op));
	if (r->rank != little)
		CHECK(!memchr(area, PRIVATE, 2 * MUCH));
	return 0;
}

static int rank_span(struct rank *r)
{
	const unsigned int rounds = env_number("LOCAL_SPAN_ROUNDS", slow_machine() ? 9 : 30);
	const struct span *span = r->arg;
	struct collective_status status;
	__u8 *area = memory(2 * MUCH);
	__u32 buffer = 0;
	unsigned int i;

	CHECK(area);
	if (span->registered)
		CHECK_EQ(0, member_register(r->fd, area, 2 * MUCH, 0, &buffer));
	for (i = 0; i < rounds; i++)
		CHECK_EQ(0, span_round(r, span, i, area, buffer));
	CHECK_EQ(0, member_barrier(r->fd));
	CHECK_EQ(0, local_links_check(r));
	CHECK_EQ(0, member_status(r->fd, &status));
	CHECK_EQ(COLLECTIVE_STATE_UP, status.state);
	return member_barrier(r->fd);
}

TEST_F_TIMEOUT(span, is_not_exceeded, 200)
{
	const struct group_config config = { .nranks = RANKS };

	EXPECT_EQ(0, group_run(&config, rank_span, (void *)&variant->span));
}

/*
 * Users
 */

/* Become user @user, and then root of a user namespace of its own. */
static int user_namespace_enter(unsigned int user)
{
	const struct rlimit most = { RLIM_INFINITY, RLIM_INFINITY };
	char map[32];

	CHECK_EQ(0, setrlimit(RLIMIT_MEMLOCK, &most));
	if (user)
		CHECK(!setresgid(user, user, user) && !setresuid(user, user, user));
	/* The files of this process in /proc belong to its user again. */
	CHECK_EQ(0, prctl(PR_SET_DUMPABLE, 1));
	CHECK_EQ(0, unshare(CLONE_NEWUSER));
	snprintf(map, sizeof(map), "0 %u 1", user);
	CHECK_EQ(0, file_set("/proc/self/uid_map", map));
	CHECK_EQ(0, getuid());
	return 0;
}

/* A namespace that gives the user another name, and no rights outside of it, changes nothing. */
static int rank_in_namespace(struct rank *r)
{
	__u8 *area = memory(2 * MUCH);

	CHECK(area);
	memset(area, 1 << r->rank, MUCH);
	CHECK_EQ(0, member_allreduce(r->fd, area, area + MUCH, MUCH, COLLECTIVE_UINT8,
				     COLLECTIVE_BOR));
	CHECK(all_are(area + MUCH, (1 << r->nranks) - 1, MUCH));
	CHECK_EQ(0, local_links_check(r));
	return member_barrier(r->fd);
}

static int member_enter(unsigned int rank)
{
	return rank ? user_namespace_enter(0) : 0;
}

TEST_F_TIMEOUT(two_ranks, same_user_in_namespace, 60)
{
	const struct group_config config = { .nranks = 3, .enter = member_enter };

	if (access("/proc/self/ns/user", F_OK))
		SKIP(return, "no user namespaces in this kernel");
	EXPECT_EQ(0, group_run(&config, rank_in_namespace, NULL));
}

/* The group is one of its own: the rank is free there, and the other one is not. */
static int other_user_join(const char *name, __u64 id, struct sockaddr_storage *peer)
{
	struct sockaddr_storage addr[2];
	int fd;

	CHECK_EQ(0, user_namespace_enter(OTHER_USER));
	fd = member_open();
	CHECK(fd >= 0);
	CHECK_EQ(0, member_join(fd, name, id, 1, 2, &addr[1]));
	addr[0] = *peer;
	CHECK(member_connect(fd, addr, 2, 1000));
	return 0;
}

/* Another user is none, although the namespace shows it as the same one. */
TEST_F_TIMEOUT(two_ranks, other_user_in_namespace, 60)
{
	struct links links;
	int status;
	pid_t pid;

	if (access("/proc/self/ns/user", F_OK))
		SKIP(return, "no user namespaces in this kernel");
	close(self->fd[1]);
	pid = fork();
	if (!pid)
		_exit(other_user_join(self->name, self->id, &self->addr[0]));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	self->fd[1] = member_open();
	EXPECT_EQ(0, member_join(self->fd[1], self->name, self->id, 1, 2, &self->addr[1]));
	EXPECT_EQ(0, two_ranks_connect(self->fd, self->addr));
	ASSERT_EQ(0, links_get(self->name, 0, &links));
	EXPECT_EQ(2, links.local);
	EXPECT_EQ(0, links.tcp);
}

/*
 * Memory
 */

/* As many as a rank accepts without a handshake. It accepts no other call for a second then. */
#define CLIENTS		64
#define BUSY_MS		800

static int lanes_join(int fd, const char *name, __u64 id, unsigned int rank,
		      struct sockaddr_storage *addr)
{
	struct collective_join join = {
		.id = id,
		.rank = rank,
		.nranks = 2,
		.transport = COLLECTIVE_TRANSPORT_LOCAL,
		.lanes = COLLECTIVE_LANES_MAX,
	};

	return member_join_as(fd, &join, name, addr);
}

/* A rank calls a busy one, leaves, and calls again: no call stays. */
TEST(calls_do_not_stay)
{
	struct sockaddr_storage addr[2];
	int client[CLIENTS], fd, peer = member_open(), err = 0;
	unsigned int i, calls = 0;
	long long refused;
	__u64 begin;
	char name[33];
	__u64 id;

	group_unique(name, sizeof(name), &id);
	ASSERT_EQ(0, lanes_join(peer, name, id, 1, &addr[1]));
	begin = now_ms();
	for (i = 0; i < CLIENTS; i++) {
		client[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		ASSERT_EQ(0, connect(client[i], (void *)&addr[1], sizeof(struct sockaddr_in)));
	}
	/* They occupy all places. */
	sleep_ms(100);
	for (; now_ms() < begin + BUSY_MS && (!err || err == -EINPROGRESS); calls++) {
		fd = member_open();
		ASSERT_EQ(0, lanes_join(fd, name, id, 0, &addr[0]));
		fcntl(fd, F_SETFL, O_NONBLOCK);
		err = member_connect(fd, addr, 2, 20000);
		close(fd);
	}
	EXPECT_EQ(-EINPROGRESS, err);
	/* The rank accepts what still waits then, and finds that it has ended. */
	for (i = 0; i < CLIENTS; i++)
		close(client[i]);
	sleep_ms(500);
	refused = member_value(name, 1, "refused_connections");
	TH_LOG("%u calls, each of %u connections: %lld refused, with those of %u clients", calls,
	       1 + COLLECTIVE_LANES_MAX, refused, CLIENTS);
	EXPECT_LE(CLIENTS, refused);
	EXPECT_GE(CLIENTS + 1 + COLLECTIVE_LANES_MAX, refused);
	close(peer);
}

/*
 * A rank sends what its peer does not receive: there is credit for a buffer of 144 KiB, and the
 * stream is made when bytes come.
 */
#define EARLY_MOST	((144 + 8) * 1024)

TEST_F_TIMEOUT(two_ranks, messages_do_not_grow, 100)
{
	static __u8 data[LITTLE];
	struct collective_op op = {
		.opcode = COLLECTIVE_SEND,
		.type = COLLECTIVE_UINT8,
		.root = 1,
		.send = (uintptr_t)data,
	};
	unsigned int i, started = 0;
	long long before;
	__u64 request;

	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	before = member_value(self->name, 1, "memory_bytes");
	ASSERT_LT(0, before);
	for (i = 0; i < 500; i++) {
		op.count = i % 3 ? 1 + i : LITTLE;
		started += !member_start(self->fd[0], &op, &request);
	}
	EXPECT_LT(100, started);
	sleep_ms(100);
	EXPECT_GE(before + EARLY_MOST, member_value(self->name, 1, "memory_bytes"));
}

TEST_HARNESS_MAIN
