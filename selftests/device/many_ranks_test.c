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
#include "lib/tcp_only.h"

#define PEERS		300
#define BLOCK		COLLECTIVE_EAGER_LIMIT

/* Buffer sizes of the sockets, in bytes: less than a block. */
#define SMALL_BUFFERS		"4096 8192 8192"

/**
 * struct hub - a rank and its peers
 * @fd: file of the rank
 * @npeers: number of peers that are connected
 * @peer: these peers
 * @scattered: request of the scatter
 * @send: a block for each peer and for the rank
 * @recv: a block
 */
struct hub {
	int fd;
	unsigned int npeers;
	struct raw_peer peer[PEERS];
	__u64 scattered;
	__u8 *send;
	__u8 *recv;
};

FIXTURE(many_ranks) {
	struct hub hub;
};

FIXTURE_SETUP(many_ranks)
{
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	ASSERT_EQ(0, loopback_set(true));
	ASSERT_EQ(0, file_set("/proc/sys/net/ipv4/tcp_rmem", SMALL_BUFFERS));
	ASSERT_EQ(0, file_set("/proc/sys/net/ipv4/tcp_wmem", SMALL_BUFFERS));
	self->hub.send = mmap(NULL, (PEERS + 2UL) * BLOCK, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->hub.send);
	self->hub.recv = self->hub.send + (PEERS + 1UL) * BLOCK;
	self->hub.fd = member_open();
	ASSERT_LE(0, self->hub.fd);
}

FIXTURE_TEARDOWN(many_ranks)
{
	unsigned int i;

	close(self->hub.fd);
	for (i = 0; i < self->hub.npeers; i++)
		raw_peer_close(&self->hub.peer[i]);
	munmap(self->hub.send, (PEERS + 2UL) * BLOCK);
}

/* The rank has the highest number, so that all others call it. */
static int hub_connect(struct hub *hub, unsigned int heartbeat_ms)
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
	CHECK_EQ(0, member_ioctl(hub->fd, COLLECTIVE_IOC_QUERY, &query));
	CHECK_EQ(0, member_ioctl(hub->fd, COLLECTIVE_IOC_JOIN, &join));
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
	for (; hub->npeers < PEERS; hub->npeers++) {
		call.from = hub->npeers;
		CHECK_EQ(0, raw_peer_connect(&hub->peer[hub->npeers], &call));
		/* For a block: the rank sends part of it at once. */
		CHECK_EQ(0, raw_peer_give_credit(&hub->peer[hub->npeers]));
	}
	CHECK_EQ(0, member_connect(hub->fd, addr, PEERS + 1, 60000));
	return 0;
}

/*
 * Scatter a block to each peer; all have announced it. No frame is complete before its peer
 * reads.
 */
static int hub_scatter(struct hub *hub)
{
	struct collective_op op = {
		.opcode = COLLECTIVE_SCATTER,
		.type = COLLECTIVE_UINT8,
		.algorithm = COLLECTIVE_ALGORITHM_DIRECT,
		.root = PEERS,
		.count = BLOCK,
		.timeout_ms = 120000,
		.send = (uintptr_t)hub->send,
		.recv = (uintptr_t)hub->recv,
	};

	for (unsigned int round = 0; 1 << round <= PEERS; round++)
		CHECK_EQ(0, raw_peer_announce_op(&hub->peer[PEERS - (1 << round)], round, &op));
	for (unsigned int i = 0; i <= PEERS; i++)
		memset(hub->send + i * BLOCK, i * 7 + 1, BLOCK);
	CHECK_EQ(0, member_start(hub->fd, &op, &hub->scattered));
	return 0;
}

static int parts_leave(struct hub *hub)
{
	static __u8 block[BLOCK];

	CHECK_EQ(0, hub_connect(hub, 60000));
	CHECK_EQ(0, hub_scatter(hub));
	for (unsigned int i = 0; i < PEERS; i++) {
		/* Wait, so that a rank with a wrong count would complete. */
		if (i % 50 == 0)
			sleep_ms(200);
		CHECK_EQ(-EINPROGRESS, member_wait(hub->fd, hub->scattered,
						   COLLECTIVE_WAIT_NOWAIT));
		CHECK_EQ(0, raw_peer_receive(&hub->peer[i], block, BLOCK));
		CHECK(!memcmp(hub->send + i * BLOCK, block, BLOCK));
	}
	CHECK_EQ(0, member_wait(hub->fd, hub->scattered, 0));
	CHECK(!memcmp(hub->send + PEERS * BLOCK, hub->recv, BLOCK));
	return 0;
}

TEST_F_TIMEOUT(many_ranks, parts_of_frames, 240)
{
	EXPECT_EQ(0, parts_leave(&self->hub));
}

/* The peers close, each with an incomplete frame: the operation fails and nothing leaks. */
static int peers_end(struct hub *hub)
{
	int err;

	CHECK_EQ(0, hub_connect(hub, 3000));
	CHECK_EQ(0, hub_scatter(hub));
	sleep_ms(200);
	for (; hub->npeers; hub->npeers--)
		raw_peer_close(&hub->peer[hub->npeers - 1]);
	err = member_wait(hub->fd, hub->scattered, 0);
	CHECK(err == -ECONNRESET || err == -EHOSTDOWN || err == -ECONNABORTED);
	return 0;
}

TEST_F_TIMEOUT(many_ranks, peers_end, 240)
{
	EXPECT_EQ(0, peers_end(&self->hub));
}

/* The file is closed with incomplete frames to all peers. */
static int file_closes(struct hub *hub)
{
	CHECK_EQ(0, hub_connect(hub, 3000));
	CHECK_EQ(0, hub_scatter(hub));
	sleep_ms(200);
	return 0;
}

TEST_F_TIMEOUT(many_ranks, file_closes, 240)
{
	EXPECT_EQ(0, file_closes(&self->hub));
}

TEST_HARNESS_MAIN
