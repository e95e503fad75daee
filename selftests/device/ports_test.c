// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ports: how many a group needs, and operations for which none is free.
 *
 * Each test has a network namespace of its own, with few ports.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/open_device.h"
#include "lib/machine.h"
#include "lib/tcp_only.h"

/* The first of the ports that the kernel may choose. */
#define FIRST	20000

/* Ranks, all in one process. */
#define RANKS	64

/**
 * struct ranks - many ranks in one process
 * @n: number of ranks
 * @family: family of their addresses; 0: AF_INET
 * @fd: files, by rank
 * @addr: addresses, by rank
 */
struct ranks {
	unsigned int n;
	int family;
	int fd[RANKS];
	struct sockaddr_storage addr[RANKS];
};

FIXTURE(ports) {
	struct ranks ranks;
};

static int ports_set(unsigned int first, unsigned int n)
{
	char text[32];

	snprintf(text, sizeof(text), "%u %u", first, first + n - 1);
	return file_set("/proc/sys/net/ipv4/ip_local_port_range", text);
}

FIXTURE_SETUP(ports)
{
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	ASSERT_EQ(0, loopback_set(true));
}

FIXTURE_TEARDOWN(ports)
{
	unsigned int i;

	for (i = 0; i < self->ranks.n; i++)
		close(self->ranks.fd[i]);
}

static int ranks_join(struct ranks *ranks, unsigned int n, unsigned int lanes)
{
	struct collective_join join;
	char name[33];
	__u64 id;
	unsigned int i;

	group_unique(name, sizeof(name), &id);
	for (i = 0; i < n; i++) {
		ranks->fd[i] = member_open();
		CHECK(ranks->fd[i] >= 0);
		ranks->n++;
		join_valid(&join, name, id);
		join.rank = i;
		join.nranks = n;
		join.lanes = lanes;
		join.addr_len = sizeof(ranks->addr[i]);
		loopback(&ranks->addr[i], ranks->family ?: AF_INET);
		memcpy(join.addr, &ranks->addr[i], sizeof(ranks->addr[i]));
		CHECK_EQ(0, member_ioctl(ranks->fd[i], COLLECTIVE_IOC_JOIN, &join));
		memcpy(&ranks->addr[i], join.addr, sizeof(ranks->addr[i]));
	}
	return 0;
}

static int ranks_connect(struct ranks *ranks)
{
	unsigned int i;
	int err;

	for (i = 0; i < ranks->n; i++) {
		fcntl(ranks->fd[i], F_SETFL, O_NONBLOCK);
		err = member_connect(ranks->fd[i], ranks->addr, ranks->n,
				     60000);
		if (err)
			CHECK_EQ(-EINPROGRESS, err);
	}
	for (i = 0; i < ranks->n; i++) {
		struct pollfd poll_fd = { .fd = ranks->fd[i], .events = POLLOUT };

		CHECK_EQ(1, poll(&poll_fd, 1, 60000));
		CHECK_EQ(POLLOUT, poll_fd.revents);
	}
	return 0;
}

/* Every rank exchanges data with every other one. */
static int ranks_alltoall(struct ranks *ranks)
{
	static int send[RANKS][RANKS], recv[RANKS][RANKS];
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLTOALL,
		.type = COLLECTIVE_INT32,
		.count = 1,
	};
	__u64 request[RANKS];
	unsigned int i, j;

	for (i = 0; i < ranks->n; i++) {
		for (j = 0; j < ranks->n; j++)
			send[i][j] = 1000 * i + j;
		op.send = (uintptr_t)send[i];
		op.recv = (uintptr_t)recv[i];
		CHECK_EQ(0, member_start(ranks->fd[i], &op, &request[i]));
	}
	for (i = 0; i < ranks->n; i++) {
		CHECK_EQ(0, member_wait(ranks->fd[i], request[i], 0));
		for (j = 0; j < ranks->n; j++)
			CHECK_EQ(1000 * j + i, recv[i][j]);
	}
	return 0;
}

/* Return: the memory of this machine; MiB. */
static unsigned long memory_mib(void)
{
	struct sysinfo info;

	return sysinfo(&info) ? 0 : info.totalram * info.mem_unit >> 20;
}

/* Only neighbours exchange data. */
static int ranks_barrier(struct ranks *ranks)
{
	struct collective_op op = { .opcode = COLLECTIVE_BARRIER };
	__u64 request[RANKS];
	unsigned int i;

	for (i = 0; i < ranks->n; i++)
		CHECK_EQ(0, member_start(ranks->fd[i], &op, &request[i]));
	for (i = 0; i < ranks->n; i++)
		CHECK_EQ(0, member_wait(ranks->fd[i], request[i], 0));
	return 0;
}

static int ranks_works(struct ranks *ranks, unsigned int n, unsigned int lanes,
		       unsigned int nports, int (*work)(struct ranks *ranks))
{
	const __u64 begun = now_ms();

	CHECK_EQ(0, ports_set(FIRST, nports));
	CHECK_EQ(0, ranks_join(ranks, n, lanes));
	CHECK_EQ(0, ranks_connect(ranks));
	CHECK_EQ(0, work(ranks));
	CHECK_EQ(0, work(ranks));
	dprintf(STDOUT_FILENO, "# %u ranks, %u ports, %llu ms\n", n, nports,
		(unsigned long long)(now_ms() - begun));
	return 0;
}

/* 66 pairs with two connections each, and 12 listeners. */
TEST_F_TIMEOUT(ports, twelve_ranks, 120)
{
	EXPECT_EQ(0, ranks_works(&self->ranks, 12, 1, 132, ranks_alltoall));
}

TEST_F_TIMEOUT(ports, twelve_ranks_ipv6, 120)
{
	self->ranks.family = AF_INET6;
	EXPECT_EQ(0, ranks_works(&self->ranks, 12, 1, 132, ranks_alltoall));
}

/* 384 pairs of neighbours with three connections each, and 64 listeners. */
TEST_F_TIMEOUT(ports, host_full_of_ranks, 300)
{
	EXPECT_EQ(0, ranks_works(&self->ranks, RANKS, 2, 1024, ranks_barrier));
}

/* All 2,016 pairs. */
TEST_F_TIMEOUT(ports, host_full_of_links, 300)
{
	if (slow_machine() || memory_mib() < 5000)
		SKIP(return, "takes long, and 5 GiB");
	EXPECT_EQ(0, ranks_works(&self->ranks, RANKS, 1, 1024, ranks_alltoall));
}

/*
 * No port is free
 */

/* Number of ports that the test takes. */
#define PORTS_TAKEN	4

static int ports_take(int *fd)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	unsigned int i;

	CHECK_EQ(0, ports_set(FIRST, PORTS_TAKEN));
	for (i = 0; i < PORTS_TAKEN; i++) {
		addr.sin_port = htons(FIRST + i);
		fd[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		CHECK_EQ(0, bind(fd[i], (struct sockaddr *)&addr, sizeof(addr)));
	}
	return 0;
}

static bool no_port(int err)
{
	return err == -EADDRNOTAVAIL || err == -EADDRINUSE;
}

static struct collective_op message(int opcode, unsigned int peer, int *data)
{
	return (struct collective_op){
		.opcode = opcode,
		.type = COLLECTIVE_INT32,
		.root = peer,
		.count = 1,
		.timeout_ms = 20000,
		.send = opcode == COLLECTIVE_SEND ? (uintptr_t)data : 0,
		.recv = opcode == COLLECTIVE_RECV ? (uintptr_t)data : 0,
	};
}

/* Of 8 ranks, rank 0 has no link to rank 3 before it needs one. */
static int new_link_fails(struct ranks *ranks)
{
	int data[2] = { 42, 0 }, taken[PORTS_TAKEN], i;
	struct collective_op send = message(COLLECTIVE_SEND, 3, &data[0]);
	struct collective_op recv = message(COLLECTIVE_RECV, 0, &data[1]);
	struct collective_status status;
	__u64 request, begun;

	CHECK_EQ(0, ports_set(30000, 1000));
	CHECK_EQ(0, ranks_join(ranks, 8, 1));
	CHECK_EQ(0, ranks_connect(ranks));
	CHECK_EQ(0, ports_take(taken));

	/* It fails at once, each time, and names no other rank. */
	CHECK_EQ(0, member_start(ranks->fd[3], &recv, &request));
	for (i = 0; i < 3; i++) {
		begun = now_ms();
		CHECK(no_port(member_submit(ranks->fd[0], &send)));
		CHECK(now_ms() - begun < 5000);
	}
	CHECK_EQ(0, member_status(ranks->fd[0], &status));
	CHECK_EQ(COLLECTIVE_STATE_UP, status.state);
	CHECK_EQ(COLLECTIVE_REASON_NONE, status.last.kind);
	CHECK_EQ(0, status.submitted);

	/* A port is free again. */
	CHECK_EQ(0, ports_set(30000, 1000));
	CHECK_EQ(0, member_submit(ranks->fd[0], &send));
	CHECK_EQ(0, member_wait(ranks->fd[3], request, 0));
	CHECK_EQ(42, data[1]);
	CHECK_EQ(0, ranks_alltoall(ranks));
	for (i = 0; i < PORTS_TAKEN; i++)
		close(taken[i]);
	return 0;
}

TEST_F_TIMEOUT(ports, none_for_operation, 120)
{
	EXPECT_EQ(0, new_link_fails(&self->ranks));
}

/* CONNECT fails, but not the group; it succeeds when it is called again. */
static int connect_fails(struct ranks *ranks)
{
	struct collective_status status;
	int taken[PORTS_TAKEN], i;

	CHECK_EQ(0, ports_set(30000, 1000));
	CHECK_EQ(0, ranks_join(ranks, 3, 1));
	CHECK_EQ(0, ports_take(taken));
	fcntl(ranks->fd[0], F_SETFL, 0);
	for (i = 0; i < 3; i++) {
		CHECK(no_port(member_connect(ranks->fd[0], ranks->addr, 3, 60000)));
		CHECK_EQ(0, member_status(ranks->fd[0], &status));
		CHECK_EQ(COLLECTIVE_STATE_CONNECTING, status.state);
		CHECK_EQ(COLLECTIVE_REASON_NONE, status.group.kind);
	}
	CHECK_EQ(0, ports_set(30000, 1000));
	CHECK_EQ(0, ranks_connect(ranks));
	CHECK_EQ(0, ranks_alltoall(ranks));
	for (i = 0; i < PORTS_TAKEN; i++)
		close(taken[i]);
	return 0;
}

TEST_F_TIMEOUT(ports, none_for_connect, 120)
{
	EXPECT_EQ(0, connect_fails(&self->ranks));
}

TEST_HARNESS_MAIN
