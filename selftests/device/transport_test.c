// SPDX-License-Identifier: GPL-2.0-only
/* The choice of a transport: at JOIN, by ranks that differ in it, and what is refused. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/every.h"
#include "lib/machine.h"
#include "lib/open_device.h"

#define TCP	COLLECTIVE_TRANSPORT_TCP
#define RDMA	COLLECTIVE_TRANSPORT_RDMA
#define LOCAL	COLLECTIVE_TRANSPORT_LOCAL
#define AUTO	COLLECTIVE_TRANSPORT_AUTO

#define CONNECT_MS	20000

/* Larger than what is sent eagerly. */
#define COUNT	40000

TEST_F(open_device, values)
{
	static const char * const names[] = {
		[TCP] = "tcp\n", [RDMA] = "rdma\n", [LOCAL] = "local\n", [AUTO] = "auto\n",
	};
	struct collective_query query = { .size = sizeof(query) };
	struct collective_join join;
	struct links links;
	unsigned int i;
	char text[16];
	int fd;

	ASSERT_EQ(0, member_ioctl(self->fd, COLLECTIVE_IOC_QUERY, &query));
	for (i = 0; i < COLLECTIVE_TRANSPORT_COUNT; i++) {
		fd = member_open();
		join_valid(&join, self->name, self->id);
		join.transport = i;
		own_address((struct sockaddr_storage *)join.addr, AF_INET, i);
		if (!(query.transports & 1U << i)) {
			EXPECT_EQ(-EOPNOTSUPP, member_ioctl(fd, COLLECTIVE_IOC_JOIN, &join));
			close(fd);
			continue;
		}
		EXPECT_EQ(0, member_ioctl(fd, COLLECTIVE_IOC_JOIN, &join));
		EXPECT_EQ(0, member_get(self->name, 0, "transport", text, sizeof(text)));
		EXPECT_EQ(0, strcmp(names[i], text)) TH_LOG("%u: %s", i, text);
		/* Nothing is connected. */
		EXPECT_EQ(0, links_get(self->name, 0, &links));
		EXPECT_EQ(0, links.local | links.tcp | links.rdma);
		close(fd);
	}
	EXPECT_EQ(1U << TCP | 1U << LOCAL | 1U << AUTO | (unsigned int)rdma_offered() << RDMA,
		  query.transports);
}

/* The program that the kernel runs to load a module, and what takes its place. */
#define MODPROBE	"/proc/sys/kernel/modprobe"
#define LOADS		20

static const char loader[] = "#!/bin/sh\necho load >>/tmp/collective_loads\n";

static int write_loader(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	CHECK(fd >= 0);
	CHECK_EQ(sizeof(loader) - 1, write(fd, loader, sizeof(loader) - 1));
	close(fd);
	return 0;
}

/* JOINs by RDMA, one after the other, do not run a program each. */
TEST_F(open_device, loads_seldom)
{
	static const char path[] = "/tmp/collective_loader";
	char before[256], text[512] = "";
	struct collective_join join;
	unsigned int i;
	int fd;

	if (rdma_offered())
		SKIP(return, "collective_rdma.ko is loaded");
	ASSERT_EQ(0, file_get(MODPROBE, before, sizeof(before)));
	unlink("/tmp/collective_loads");
	ASSERT_EQ(0, write_loader(path));
	ASSERT_EQ(0, file_set(MODPROBE, path));
	for (i = 0; i < LOADS; i++) {
		fd = member_open();
		join_valid(&join, self->name, self->id);
		join.transport = RDMA;
		own_address((struct sockaddr_storage *)join.addr, AF_INET, RDMA);
		EXPECT_EQ(-EOPNOTSUPP, member_ioctl(fd, COLLECTIVE_IOC_JOIN, &join));
		close(fd);
	}
	EXPECT_EQ(0, file_set(MODPROBE, before));
	/* Not even once if another test has tried a moment ago. */
	if (!file_get("/tmp/collective_loads", text, sizeof(text)))
		EXPECT_STREQ("load\n", text);
	unlink("/tmp/collective_loads");
	unlink(path);
}

/*
 * Ranks that choose differently
 */

static int submit(void *ctx, const struct collective_op *op)
{
	const struct rank *r = ctx;

	return member_submit(r->fd, op);
}

/* Each rank has links to all others, of the transport that both ends allow. */
static int rank_mixed(struct rank *r)
{
	static const size_t counts[] = { 1, 3000, COUNT };
	const unsigned int *transport = r->group->config.transport;
	const unsigned int n = r->nranks, all = (1U << n) - 1;
	static __u32 send[16 * COUNT], recv[16 * COUNT];
	struct every e = {
		.rank = r->rank,
		.nranks = n,
		.submit = submit,
		.ctx = r,
		.send = send,
		.recv = recv,
	};
	struct links links;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		e.count = counts[i];
		CHECK_EQ(0, every_run(&e, e.count == COUNT && emulated() ? 2 : n));
	}
	/* The fixture checks that each is of the right transport. */
	CHECK_EQ(0, links_get(r->group->name, r->rank, &links));
	CHECK_EQ(all & ~(1U << r->rank), links.local | links.tcp | links.rdma);
	CHECK_EQ(0, links.local & links.tcp);
	CHECK(transport[r->rank] != LOCAL || !links.tcp);
	return member_barrier(r->fd);
}

FIXTURE(mixed) {};

FIXTURE_VARIANT(mixed) {
	unsigned int nranks;
	unsigned int lanes;
	unsigned int transport[8];
};

#define MIXED(_name, _nranks, _lanes, ...)				\
FIXTURE_VARIANT_ADD(mixed, _name) {					\
	.nranks = _nranks, .lanes = _lanes, .transport = { __VA_ARGS__ },	\
}

MIXED(all_tcp, 4, 1, TCP, TCP, TCP, TCP);
MIXED(all_local, 4, 1, LOCAL, LOCAL, LOCAL, LOCAL);
MIXED(all_auto, 4, 2, AUTO, AUTO, AUTO, AUTO);
MIXED(local_and_auto, 4, 1, AUTO, LOCAL, LOCAL, AUTO);
MIXED(tcp_calls, 4, 1, TCP, AUTO, AUTO, AUTO);
MIXED(tcp_is_called, 4, 1, AUTO, AUTO, AUTO, TCP);
MIXED(tcp_between, 5, 2, AUTO, AUTO, TCP, AUTO, AUTO);
MIXED(pairs, 4, 1, TCP, TCP, AUTO, AUTO);
MIXED(all_rdma, 4, 1, RDMA, RDMA, RDMA, RDMA);
MIXED(rdma_lanes, 3, 2, RDMA, RDMA, RDMA);
MIXED(rdma_calls, 4, 1, RDMA, AUTO, AUTO, AUTO);
MIXED(rdma_is_called, 4, 1, AUTO, AUTO, AUTO, RDMA);
MIXED(rdma_between, 4, 2, AUTO, RDMA, AUTO, RDMA);
MIXED(eight, 8, 1, AUTO, TCP, AUTO, AUTO, TCP, AUTO, AUTO, AUTO);

FIXTURE_SETUP(mixed)
{
}

FIXTURE_TEARDOWN(mixed)
{
}

TEST_F_TIMEOUT(mixed, runs, 100)
{
	struct group_config config = {
		.nranks = variant->nranks,
		.lanes = variant->lanes,
		.transport = variant->transport,
	};
	unsigned int i;

	for (i = 0; i < variant->nranks; i++)
		if (variant->transport[i] == RDMA && !rdma_offered())
			SKIP(return, "no collective_rdma.ko");
	EXPECT_EQ(0, group_run(&config, rank_mixed, NULL));
}

/*
 * Links that would have to be local
 */

#define PAIR_RANKS_MOST	100

FIXTURE(pair) {
	int fd[PAIR_RANKS_MOST];
	char name[33];
	__u64 id;
	unsigned int nranks;
	struct sockaddr_storage addr[PAIR_RANKS_MOST];
};

FIXTURE_VARIANT(pair) {
	unsigned int transport[2];
	bool many;	/* these two are neighbours among many ranks; the others have chosen AUTO */
};

FIXTURE_VARIANT_ADD(pair, local_calls_tcp) { .transport = { LOCAL, TCP } };
FIXTURE_VARIANT_ADD(pair, tcp_calls_local) { .transport = { TCP, LOCAL } };
FIXTURE_VARIANT_ADD(pair, tcp_calls_rdma) { .transport = { TCP, RDMA } };
FIXTURE_VARIANT_ADD(pair, rdma_calls_tcp) { .transport = { RDMA, TCP } };
FIXTURE_VARIANT_ADD(pair, rdma_calls_local) { .transport = { RDMA, LOCAL } };
FIXTURE_VARIANT_ADD(pair, local_calls_tcp_of_many) { .transport = { LOCAL, TCP }, .many = true };
FIXTURE_VARIANT_ADD(pair, tcp_calls_local_of_many) { .transport = { TCP, LOCAL }, .many = true };

static int join_group_as(int fd, const char *name, __u64 id, unsigned int rank,
			 unsigned int nranks, unsigned int transport,
			 struct sockaddr_storage *addr)
{
	struct collective_join join;
	int err;

	join_valid(&join, name, id);
	join.rank = rank;
	join.nranks = nranks;
	join.transport = transport;
	own_address((struct sockaddr_storage *)join.addr, AF_INET, transport);
	err = member_ioctl(fd, COLLECTIVE_IOC_JOIN, &join);
	memcpy(addr, join.addr, sizeof(*addr));
	return err;
}

static int join_as(int fd, const char *name, __u64 id, unsigned int rank, unsigned int transport,
		   struct sockaddr_storage *addr)
{
	return join_group_as(fd, name, id, rank, 2, transport, addr);
}

FIXTURE_SETUP(pair)
{
	unsigned int i;

	if ((variant->transport[0] == RDMA || variant->transport[1] == RDMA) && !rdma_offered())
		SKIP(return, "no collective_rdma.ko");
	group_unique(self->name, sizeof(self->name), &self->id);
	self->nranks = variant->many ? PAIR_RANKS_MOST : 2;
	for (i = 0; i < self->nranks; i++) {
		self->fd[i] = member_open();
		ASSERT_LE(0, self->fd[i]);
		ASSERT_EQ(0, join_group_as(self->fd[i], self->name, self->id, i, self->nranks,
					   i < 2 ? variant->transport[i] : AUTO, &self->addr[i]));
	}
}

FIXTURE_TEARDOWN(pair)
{
	unsigned int i;

	for (i = 0; i < self->nranks; i++)
		close(self->fd[i]);
}

/* Check that a rank has failed because @rank has no transport in common with @peer. */
static int check_refused(int fd, unsigned int rank, unsigned int peer)
{
	struct collective_status status;

	CHECK_EQ(0, member_status(fd, &status));
	CHECK_EQ(COLLECTIVE_STATE_ABORTED, status.state);
	CHECK_EQ(COLLECTIVE_REASON_PROTOCOL, status.group.kind);
	CHECK_EQ(EOPNOTSUPP, status.group.error);
	CHECK_EQ(peer, status.group.rank_a);
	CHECK_EQ(rank, status.group.rank_b);
	return 0;
}

/* Both ranks fail at once, also if the other one is not there any more. */
TEST_F(pair, refused)
{
	__u64 begin = now_ms();
	unsigned int i;

	for (i = 0; i < 2; i++) {
		EXPECT_EQ(-EOPNOTSUPP,
			  member_connect(self->fd[i], self->addr, self->nranks, CONNECT_MS));
		EXPECT_EQ(0, check_refused(self->fd[i], 0, 1));
		EXPECT_EQ(-EOPNOTSUPP, member_barrier(self->fd[i]));
		if (!i)
			EXPECT_EQ(0, member_leave(self->fd[0]));
	}
	EXPECT_GE(2000, now_ms() - begin);
}

/* Rank 1 would be called by rank 0, but does not wait for that either. */
static int join_far(const char *name, __u64 id, int *pipe_fd)
{
	struct sockaddr_storage addr[2];
	__u64 begin;
	int fd;

	CHECK_EQ(0, unshare(CLONE_NEWNET));
	CHECK_EQ(0, loopback_set(true));
	fd = member_open();
	CHECK_EQ(0, join_as(fd, name, id, 1, LOCAL, &addr[1]));
	CHECK_EQ(sizeof(addr[1]), write(pipe_fd[1], &addr[1], sizeof(addr[1])));
	close(pipe_fd[1]);
	/* When rank 0 has failed. */
	CHECK_EQ(sizeof(addr[0]), read(pipe_fd[0], &addr[0], sizeof(addr[0])));
	begin = now_ms();
	CHECK_EQ(-EOPNOTSUPP, member_connect(fd, addr, 2, CONNECT_MS));
	CHECK(now_ms() - begin < CONNECT_MS / 2);
	CHECK_EQ(0, check_refused(fd, 0, 1));
	close(fd);
	return 0;
}

/* Another network namespace is another group, although its kernel is the same. */
TEST_F(open_device, other_namespace)
{
	struct sockaddr_storage addr[2];
	int there[2], back[2], pipe_fd[2], code;
	pid_t pid;

	ASSERT_EQ(0, join_as(self->fd, self->name, self->id, 0, LOCAL, &addr[0]));
	ASSERT_EQ(0, pipe(there));
	ASSERT_EQ(0, pipe(back));
	pid = fork();
	if (!pid) {
		close(there[1]);
		close(back[0]);
		pipe_fd[0] = there[0];
		pipe_fd[1] = back[1];
		_exit(join_far(self->name, self->id, pipe_fd));
	}
	close(there[0]);
	close(back[1]);
	ASSERT_EQ(sizeof(addr[1]), read(back[0], &addr[1], sizeof(addr[1])));
	EXPECT_EQ(-EOPNOTSUPP, member_connect(self->fd, addr, 2, CONNECT_MS));
	EXPECT_EQ(0, check_refused(self->fd, 0, 1));
	EXPECT_EQ(sizeof(addr[0]), write(there[1], &addr[0], sizeof(addr[0])));
	close(there[1]);
	close(back[0]);
	ASSERT_EQ(pid, waitpid(pid, &code, 0));
	EXPECT_EQ(0, code);
}

/* A rank that has joined again listens elsewhere, so an old address does not find it. */
TEST_F(open_device, joined_again)
{
	struct sockaddr_storage addr[2], again;
	int other = member_open();

	ASSERT_EQ(0, join_as(self->fd, self->name, self->id, 0, LOCAL, &addr[0]));
	ASSERT_EQ(0, join_as(other, self->name, self->id, 1, LOCAL, &addr[1]));
	close(other);
	other = member_open();
	do {
		ASSERT_EQ(0, join_as(other, self->name, self->id, 1, LOCAL, &again));
		if (memcmp(&addr[1], &again, sizeof(again)))
			break;
		close(other);
		other = member_open();
	} while (1);
	EXPECT_EQ(-EOPNOTSUPP, member_connect(self->fd, addr, 2, CONNECT_MS));
	EXPECT_EQ(0, check_refused(self->fd, 0, 1));
	close(other);
}

/*
 * Rank 0 and rank 3 of eight are neither neighbours nor partners of matching, so only an operation
 * needs a link between them.
 */
#define FAR	3

enum { FLAG_UP, FLAG_FAILED };

static int rank_far(struct rank *r)
{
	static __u32 block[COUNT];
	struct collective_op op = {
		.opcode = r->rank ? COLLECTIVE_RECV : COLLECTIVE_SEND,
		.type = COLLECTIVE_UINT32,
		.root = r->rank ? 0 : FAR,
		.count = COUNT,
		.timeout_ms = 20000,
		.send = r->rank ? 0 : (uintptr_t)block,
		.recv = r->rank ? (uintptr_t)block : 0,
	};

	CHECK_EQ(0, member_barrier(r->fd));
	/* All have returned from it before the group fails. */
	CHECK(flag_barrier(r->shared, FLAG_UP, r->nranks));
	/* All ranks get the same answer. */
	CHECK_EQ(-EOPNOTSUPP, r->rank && r->rank != FAR ? member_barrier(r->fd) :
							   member_submit(r->fd, &op));
	CHECK_EQ(0, check_refused(r->fd, 0, FAR));
	/* No rank leaves before all know. */
	CHECK(flag_barrier(r->shared, FLAG_FAILED, r->nranks));
	return 0;
}

FIXTURE(far_pair) {};

FIXTURE_VARIANT(far_pair) {
	unsigned int transport[8];
};

FIXTURE_VARIANT_ADD(far_pair, local_calls_tcp) {
	.transport = { LOCAL, AUTO, AUTO, TCP, AUTO, AUTO, AUTO, AUTO },
};

FIXTURE_VARIANT_ADD(far_pair, tcp_calls_local) {
	.transport = { TCP, AUTO, AUTO, LOCAL, AUTO, AUTO, AUTO, AUTO },
};

FIXTURE_SETUP(far_pair)
{
}

FIXTURE_TEARDOWN(far_pair)
{
}

TEST_F_TIMEOUT(far_pair, refused, 100)
{
	struct group_config config = { .nranks = 8, .transport = variant->transport };

	EXPECT_EQ(0, group_run(&config, rank_far, NULL));
}

TEST_HARNESS_MAIN
