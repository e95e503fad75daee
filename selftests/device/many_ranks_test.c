// SPDX-License-Identifier: GPL-2.0-only
/*
 * One rank with more peers than eight bits can count. The peers are sockets with small buffers,
 * in a network namespace of the test. Each receives part of a frame, and the rest when the test
 * reads it.
 */
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/open_device.h"
#include "lib/raw_peer.h"

#define PEERS		300
#define BLOCK		COLLECTIVE_EAGER_LIMIT

/* Buffer sizes of the sockets, in bytes: less than a block. */
#define LITTLE		"4096 8192 8192"

/**
 * struct crowd - a rank and its peers
 * @fd: file of the rank
 * @npeers: number of peers that are connected
 * @peer: these peers
 * @scattered: request of the scatter
 * @send: a block for each peer and for the rank
 * @recv: a block
 */
struct crowd {
	int fd;
	unsigned int npeers;
	struct raw_peer peer[PEERS];
	__u64 scattered;
	__u8 *send;
	__u8 *recv;
};

FIXTURE(many_ranks) {
	struct crowd crowd;
};

FIXTURE_SETUP(many_ranks)
{
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	ASSERT_EQ(0, loopback_set(true));
	ASSERT_EQ(0, file_set("/proc/sys/net/ipv4/tcp_rmem", LITTLE));
	ASSERT_EQ(0, file_set("/proc/sys/net/ipv4/tcp_wmem", LITTLE));
	self->crowd.send = mmap(NULL, (PEERS + 2UL) * BLOCK, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->crowd.send);
	self->crowd.recv = self->crowd.send + (PEERS + 1UL) * BLOCK;
	self->crowd.fd = member_open();
	ASSERT_LE(0, self->crowd.fd);
}

FIXTURE_TEARDOWN(many_ranks)
{
	unsigned int i;

	close(self->crowd.fd);
	for (i = 0; i < self->crowd.npeers; i++)
		raw_peer_close(&self->crowd.peer[i]);
	munmap(self->crowd.send, (PEERS + 2UL) * BLOCK);
}

/* The rank has the highest number, so that all others call it. */
static int crowd_meet(struct crowd *crowd, unsigned int heartbeat_ms)
{
	struct sockaddr_storage addr[PEERS + 1];
	struct collective_query query = { .size = sizeof(query) };
	struct collective_join join;
	struct raw_peer_config call;
	char name[33];
	__u64 id;

	group_unique(name, sizeof(name), &id);
	join_valid(&join, name, id);
	join.rank = PEERS;
	join.nranks = PEERS + 1;
	join.lanes = 1;
	join.heartbeat_ms = heartbeat_ms;
	CHECK_EQ(0, member_ioctl(crowd->fd, COLLECTIVE_IOC_QUERY, &query));
	CHECK_EQ(0, member_ioctl(crowd->fd, COLLECTIVE_IOC_JOIN, &join));
	for (unsigned int i = 0; i <= PEERS; i++)
		memcpy(&addr[i], join.addr, sizeof(addr[i]));
	call = (struct raw_peer_config){
		.addr = &addr[PEERS],
		.name = name,
		.id = id,
		.to = PEERS,
		.nranks = PEERS + 1,
		.inflight = query.inflight_max,
	};
	for (; crowd->npeers < PEERS; crowd->npeers++) {
		call.from = crowd->npeers;
		CHECK_EQ(0, raw_peer_connect(&crowd->peer[crowd->npeers], &call));
	}
	CHECK_EQ(0, member_connect(crowd->fd, addr, PEERS + 1, 60000));
	return 0;
}

/*
 * Scatter a block to each peer; all have announced it. No frame is complete before its peer
 * reads.
 */
static int crowd_scatter(struct crowd *crowd)
{
	struct collective_op op = {
		.opcode = COLLECTIVE_SCATTER,
		.type = COLLECTIVE_UINT8,
		.algorithm = COLLECTIVE_ALGORITHM_DIRECT,
		.root = PEERS,
		.count = BLOCK,
		.timeout_ms = 120000,
		.send = (uintptr_t)crowd->send,
		.recv = (uintptr_t)crowd->recv,
	};

	for (unsigned int round = 0; 1 << round <= PEERS; round++)
		CHECK_EQ(0, raw_peer_announce_op(&crowd->peer[PEERS - (1 << round)], round, &op));
	for (unsigned int i = 0; i <= PEERS; i++)
		memset(crowd->send + i * BLOCK, i * 7 + 1, BLOCK);
	CHECK_EQ(0, member_start(crowd->fd, &op, &crowd->scattered));
	return 0;
}

static int parts_leave(struct crowd *crowd)
{
	static __u8 block[BLOCK];

	CHECK_EQ(0, crowd_meet(crowd, 60000));
	CHECK_EQ(0, crowd_scatter(crowd));
	for (unsigned int i = 0; i < PEERS; i++) {
		/* Wait, so that a rank with a wrong count would complete. */
		if (i % 50 == 0)
			sleep_ms(200);
		CHECK_EQ(-EINPROGRESS, member_wait(crowd->fd, crowd->scattered,
						   COLLECTIVE_WAIT_NOWAIT));
		CHECK_EQ(0, raw_peer_receive(&crowd->peer[i], block, BLOCK));
		CHECK(!memcmp(crowd->send + i * BLOCK, block, BLOCK));
	}
	CHECK_EQ(0, member_wait(crowd->fd, crowd->scattered, 0));
	CHECK(!memcmp(crowd->send + PEERS * BLOCK, crowd->recv, BLOCK));
	return 0;
}

TEST_F_TIMEOUT(many_ranks, parts_of_frames, 240)
{
	EXPECT_EQ(0, parts_leave(&self->crowd));
}

/* The peers close, each with an incomplete frame: the operation fails and nothing leaks. */
static int peers_end(struct crowd *crowd)
{
	int err;

	CHECK_EQ(0, crowd_meet(crowd, 3000));
	CHECK_EQ(0, crowd_scatter(crowd));
	sleep_ms(200);
	for (; crowd->npeers; crowd->npeers--)
		raw_peer_close(&crowd->peer[crowd->npeers - 1]);
	err = member_wait(crowd->fd, crowd->scattered, 0);
	CHECK(err == -ECONNRESET || err == -EHOSTDOWN || err == -ECONNABORTED);
	return 0;
}

TEST_F_TIMEOUT(many_ranks, peers_end, 240)
{
	EXPECT_EQ(0, peers_end(&self->crowd));
}

/* The file is closed with incomplete frames to all peers. */
static int file_closes(struct crowd *crowd)
{
	CHECK_EQ(0, crowd_meet(crowd, 3000));
	CHECK_EQ(0, crowd_scatter(crowd));
	sleep_ms(200);
	return 0;
}

TEST_F_TIMEOUT(many_ranks, file_closes, 240)
{
	EXPECT_EQ(0, file_closes(&self->crowd));
}

TEST_HARNESS_MAIN
