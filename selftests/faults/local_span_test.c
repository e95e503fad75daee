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
#include <linux/capability.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
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

/* A rank that may have no more memory accepts no call. */
#define LIMIT		"/sys/module/collective/parameters/user_memory_mib"
#define LIMIT_BYTES	(1 << 20)
/* Members of the same user that have as much, at most so many; and how long the rank is called. */
#define OTHERS		64
#define BUSY_MS		400

/* The limit of memory applies to members that join without this right. */
static bool may_exceed(bool may)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return false;
	data[0].effective &= ~(1U << CAP_SYS_RESOURCE);
	data[0].effective |= may << CAP_SYS_RESOURCE;
	return !syscall(SYS_capset, &header, data);
}

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

/* Join groups until their members have the memory that the user may have.  Return: the number. */
static unsigned int others_join(int *fds)
{
	struct sockaddr_storage addr;
	long long bytes = 0;
	unsigned int n;
	char name[33];
	__u64 id;

	for (n = 0; n < OTHERS && bytes <= LIMIT_BYTES; n++) {
		group_unique(name, sizeof(name), &id);
		fds[n] = member_open();
		if (lanes_join(fds[n], name, id, 1, &addr))
			break;
		bytes += member_value(name, 1, "memory_bytes");
	}
	return bytes > LIMIT_BYTES ? n : 0;
}

/* Let a rank that accepts nothing look at its calls again. */
static void call_once(const struct sockaddr_storage *addr)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	connect(fd, (const void *)addr, sizeof(struct sockaddr_in));
	sleep_ms(100);
	close(fd);
}

FIXTURE(busy) {
	char limit[32];
};

FIXTURE_SETUP(busy)
{
	ASSERT_EQ(0, file_get(LIMIT, self->limit, sizeof(self->limit)));
}

FIXTURE_TEARDOWN(busy)
{
	EXPECT_EQ(0, file_set(LIMIT, self->limit));
}

/* A rank calls a busy one, leaves, and calls again: no call stays. */
TEST_F(busy, calls_do_not_stay)
{
	struct sockaddr_storage addr[2];
	int others[OTHERS], fd, peer = member_open(), err = 0;
	unsigned int n, calls = 0, looks = 0;
	long long before, refused;
	__u64 begin;
	char name[33];
	__u64 id;

	group_unique(name, sizeof(name), &id);
	ASSERT_TRUE(may_exceed(false));
	ASSERT_EQ(0, lanes_join(peer, name, id, 1, &addr[1]));
	ASSERT_TRUE(may_exceed(true));
	ASSERT_EQ(0, file_set(LIMIT, "1"));
	n = others_join(others);
	ASSERT_LT(0, n);
	before = member_value(name, 1, "memory_bytes");
	for (begin = now_ms(); now_ms() < begin + BUSY_MS && (!err || err == -EINPROGRESS);
	     calls++) {
		fd = member_open();
		ASSERT_EQ(0, lanes_join(fd, name, id, 0, &addr[0]));
		fcntl(fd, F_SETFL, O_NONBLOCK);
		err = member_connect(fd, addr, 2, 20000);
		close(fd);
	}
	EXPECT_EQ(-EINPROGRESS, err);
	EXPECT_LE(4, calls);
	/* It has accepted none. */
	EXPECT_EQ(before, member_value(name, 1, "memory_bytes"));
	/* The rank accepts what still waits then, and finds that it has ended. */
	while (n)
		close(others[--n]);
	do {
		call_once(&addr[1]);
		looks++;
	} while (member_value(name, 1, "refused_connections") < 1 && looks < 100);
	sleep_ms(200);
	refused = member_value(name, 1, "refused_connections");
	TH_LOG("%u calls, each of %u connections: %lld refused", calls, 1 + COLLECTIVE_LANES_MAX,
	       refused);
	EXPECT_LE(1, refused);
	EXPECT_GE(looks + 1 + COLLECTIVE_LANES_MAX, refused);
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
