// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many connections to one rank by RDMA at a time, each rank making all of its link, while as many
 * callers as a rank always has a slot for say nothing.
 *
 * The calling ranks have chosen AUTO, so each tries RDMA: it says nothing on its connections before
 * all of them stand, and makes them by TCP if they do not.
 *
 * The machine has soft-RoCE on its interface dummy0: selftests/vm/run --rdma.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "faults/rdma_peer.h"
#include "lib/group.h"
#include "lib/machine.h"
#include "kselftest_harness.h"
#include "lib/open_device.h"

/* The called rank has the highest number. */
#define RANKS		16
#define CALLED		(RANKS - 1)
#define LANES		8

/* COLL_CALLS_LEAST */
#define SILENT		64

#define CONNECT_MS	60000

FIXTURE(storm) {
	unsigned int n;
	int fd[RANKS];
	char name[33];
	__u64 id;
	struct sockaddr_storage addr[RANKS];
	struct rdma_peer *silent;
};

/* At the address of the device, also with AUTO. */
static int join_at_device(int fd, const char *name, __u64 id, unsigned int rank,
			  struct sockaddr_storage *addr)
{
	struct collective_join join;
	int err;

	join_valid(&join, name, id);
	join.transport = rank < CALLED ? COLLECTIVE_TRANSPORT_AUTO : COLLECTIVE_TRANSPORT_RDMA;
	join.lanes = LANES;
	join.nranks = RANKS;
	join.rank = rank;
	own_address((struct sockaddr_storage *)join.addr, AF_INET, COLLECTIVE_TRANSPORT_RDMA);
	join.addr_len = sizeof(*addr);
	err = member_ioctl(fd, COLLECTIVE_IOC_JOIN, &join);
	memcpy(addr, join.addr, sizeof(*addr));
	return err;
}

FIXTURE_SETUP(storm)
{
	unsigned int i;

	if (!rdma_offered())
		SKIP(return, "no collective_rdma.ko");
	ASSERT_EQ(0, system("modprobe rdma_ucm"));
	self->silent = calloc(SILENT, sizeof(*self->silent));
	ASSERT_NE(NULL, self->silent);
	group_unique(self->name, sizeof(self->name), &self->id);
	for (i = 0; i < RANKS; i++) {
		self->fd[i] = member_open();
		ASSERT_LE(0, self->fd[i]);
		self->n++;
		ASSERT_EQ(0, join_at_device(self->fd[i], self->name, self->id, i, &self->addr[i]));
		fcntl(self->fd[i], F_SETFL, O_NONBLOCK);
	}
}

static void end_silence(struct rdma_peer *silent)
{
	unsigned int i;

	for (i = 0; silent && i < SILENT; i++)
		rdma_peer_close(&silent[i]);
}

FIXTURE_TEARDOWN(storm)
{
	end_silence(self->silent);
	free(self->silent);
	while (self->n)
		close(self->fd[--self->n]);
}

static int start(int fd, unsigned int opcode, unsigned int peer, __u64 *request)
{
	static __s32 value[RANKS];
	const struct collective_op op = {
		.opcode = opcode,
		.type = COLLECTIVE_INT32,
		.root = peer,
		.count = 1,
		.send = opcode == COLLECTIVE_SEND ? (uintptr_t)&value[peer] : 0,
		.recv = opcode == COLLECTIVE_RECV ? (uintptr_t)&value[peer] : 0,
	};

	return member_start(fd, &op, request);
}

/* Each of these ranks sends something to the called one. */
static int send_all(const int *fd, unsigned int n)
{
	__u64 sent[RANKS], received[RANKS];
	unsigned int i;

	for (i = 0; i < n; i++)
		CHECK_EQ(0, start(fd[i], COLLECTIVE_SEND, CALLED, &sent[i]));
	for (i = 0; i < n; i++)
		CHECK_EQ(0, start(fd[CALLED], COLLECTIVE_RECV, i, &received[i]));
	for (i = 0; i < n; i++) {
		CHECK_EQ(0, member_wait(fd[i], sent[i], 0));
		CHECK_EQ(0, member_wait(fd[CALLED], received[i], 0));
	}
	return 0;
}

/* No link has fallen back. */
TEST_F_TIMEOUT(storm, stands, 100)
{
	struct links links;
	unsigned int i;

	ASSERT_EQ(-EINPROGRESS,
		  member_connect(self->fd[CALLED], self->addr, RANKS, CONNECT_MS));
	for (i = 0; i < SILENT; i++)
		ASSERT_EQ(RDMA_CM_EVENT_ESTABLISHED,
			  rdma_peer_connect(&self->silent[i], &self->addr[CALLED],
					    &rdma_hello_good, sizeof(rdma_hello_good)));
	for (i = 0; i < CALLED; i++)
		member_connect(self->fd[i], self->addr, RANKS, CONNECT_MS);
	ASSERT_EQ(0, members_await_up(self->fd, RANKS));
	end_silence(self->silent);
	/* On a slow machine so many do not stand within five seconds. */
	if (!slow_machine())
		EXPECT_EQ(0, send_all(self->fd, CALLED));
	ASSERT_EQ(0, links_get(self->name, CALLED, &links));
	EXPECT_NE(0, links.rdma);
	EXPECT_EQ(0, links.tcp);
}

TEST_HARNESS_MAIN
