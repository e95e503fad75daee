// SPDX-License-Identifier: GPL-2.0-only
/*
 * Callers that are not open yet: which of them lose their place, how they learn that they have had
 * their time, and a rank that calls again while no port is free.
 *
 * Each test has a network namespace of its own.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/group.h"
#include "lib/machine.h"
#include "lib/tcp_only.h"
#include "kselftest_harness.h"

/* More calls than there are places. */
#define CALLS		200

static struct sockaddr_storage address(const char *text, unsigned int port)
{
	struct sockaddr_storage addr = { .ss_family = strchr(text, ':') ? AF_INET6 : AF_INET };
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&addr;
	struct sockaddr_in *in = (struct sockaddr_in *)&addr;

	/* The port has the same offset in both. */
	in->sin_port = htons(port);
	inet_pton(addr.ss_family, text, addr.ss_family == AF_INET6 ? (void *)&in6->sin6_addr :
								       (void *)&in->sin_addr);
	return addr;
}

/* Call @to from an address of this host.  Return: a socket, or a negative errno. */
static int call_from(const char *from, const struct sockaddr_storage *to)
{
	struct sockaddr_storage addr = address(from, 0);
	int fd = socket(addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(fd, (struct sockaddr *)&addr, sizeof(struct sockaddr_in6)) ||
	    connect(fd, (const struct sockaddr *)to, sizeof(struct sockaddr_in6))) {
		close(fd);
		return -errno;
	}
	return fd;
}

/* Return: 0, or how a connection has ended within @ms: a negative errno; 1: in order. */
static int call_end(int fd, int ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	char byte;

	if (!poll(&poll_fd, 1, ms))
		return 0;
	return recv(fd, &byte, 1, MSG_DONTWAIT) < 0 ? -errno : 1;
}

/* Close a connection by a reset. */
static void reset(int fd)
{
	const struct linger linger = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(fd);
}

/**
 * struct member - a rank of two; the other one is made of sockets, or does not come
 * @name: name of the group
 * @id: identifier of the group
 * @fd: its file
 * @addr: addresses, by rank
 */
struct member {
	char name[33];
	__u64 id;
	int fd;
	struct sockaddr_storage addr[2];
};

FIXTURE(callers) {
	struct member member;
};

FIXTURE_SETUP(callers)
{
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	ASSERT_EQ(0, loopback_set(true));
	group_unique(self->member.name, sizeof(self->member.name), &self->member.id);
	self->member.fd = member_open();
	ASSERT_LE(0, self->member.fd);
}

FIXTURE_TEARDOWN(callers)
{
	close(self->member.fd);
}

/* JOIN as a rank of two, and listen at the address of that rank. */
static int member_join_at(struct member *member, unsigned int rank, unsigned int heartbeat_ms)
{
	struct collective_join join = {
		.size = sizeof(join),
		.transport = COLLECTIVE_TRANSPORT_TCP,
		.rank = rank,
		.nranks = 2,
		.id = member->id,
		.heartbeat_ms = heartbeat_ms,
		.addr_len = sizeof(member->addr[rank]),
	};

	memcpy(join.name, member->name, strlen(member->name));
	memcpy(join.addr, &member->addr[rank], sizeof(member->addr[rank]));
	CHECK_EQ(0, member_ioctl(member->fd, COLLECTIVE_IOC_JOIN, &join));
	memcpy(&member->addr[rank], join.addr, sizeof(member->addr[rank]));
	return 0;
}

/* JOIN, and begin to connect. */
static int member_begin(struct member *member, unsigned int rank, unsigned int heartbeat_ms)
{
	CHECK_EQ(0, member_join_at(member, rank, heartbeat_ms));
	fcntl(member->fd, F_SETFL, O_NONBLOCK);
	CHECK_EQ(-EINPROGRESS, member_connect(member->fd, member->addr, 2, 60000));
	return 0;
}

/*
 * Hosts that call again and again
 */

/**
 * struct crowd - addresses of a test
 * @at: of the rank that is called
 * @one: calls once, first
 * @many: call in turn, until there are no places; NULL: no further one
 */
struct crowd {
	const char *at;
	const char *one;
	const char *many[4];
};

/* The call of @one keeps its place, and @many end their own calls. */
static int crowd_spares(struct member *member, const struct crowd *crowd)
{
	int one, many[CALLS], i, n = 0;

	while (n < 4 && crowd->many[n])
		n++;
	member->addr[0] = address(crowd->at, 1);
	member->addr[1] = address(crowd->at, 0);
	CHECK_EQ(0, member_begin(member, 1, 1000));
	one = call_from(crowd->one, &member->addr[1]);
	CHECK(one >= 0);
	/* Accepted before the others. */
	sleep_ms(100);
	for (i = 0; i < CALLS; i++) {
		many[i] = call_from(crowd->many[i % n], &member->addr[1]);
		CHECK(many[i] >= 0);
	}
	CHECK_EQ(-ECONNRESET, call_end(many[0], 5000));
	CHECK_EQ(0, call_end(one, 0));
	for (i = 0; i < CALLS; i++)
		close(many[i]);
	close(one);
	return 0;
}

TEST_F(callers, host_ends_its_own)
{
	const struct crowd crowd = { "127.0.0.1", "127.0.0.2", { "127.0.0.3" } };

	EXPECT_EQ(0, crowd_spares(&self->member, &crowd));
}

/* Return: 0 if the addresses of the test are those of this host. */
static int addresses_add(void)
{
	const char *const add[] = { "fd98::1", "fd99::1", "fd99::2", "fd99::3" };
	char command[64];
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < 4; i++) {
		snprintf(command, sizeof(command), "ip -6 addr add %s/64 dev lo", add[i]);
		err = system(command);
	}
	return err;
}

/* Both hosts are of one network. */
TEST_F(callers, host_ends_its_own_ipv6)
{
	const struct crowd crowd = { "fd99::1", "fd99::2", { "fd99::3" } };

	ASSERT_EQ(0, addresses_add());
	EXPECT_EQ(0, crowd_spares(&self->member, &crowd));
}

/* No address of the network has most of the places. */
TEST_F(callers, network_ends_its_own)
{
	const struct crowd crowd = { "fd99::1", "fd98::1", { "fd99::1", "fd99::2", "fd99::3" } };

	ASSERT_EQ(0, addresses_add());
	EXPECT_EQ(0, crowd_spares(&self->member, &crowd));
}

/*
 * Time limits
 */

/* Time for a HELLO. */
#define HELLO_MS	10000

/* The caller says nothing. */
static int has_its_time(struct member *member)
{
	int fd = call_from("127.0.0.1", &member->addr[1]);
	__u64 begin = now_ms();

	CHECK(fd >= 0);
	/* A caller that knows the secret takes a reset for a reason to call again. */
	CHECK_EQ(-ECONNRESET, call_end(fd, 40000));
	CHECK(now_ms() - begin >= HELLO_MS - 500);
	CHECK(now_ms() - begin <= HELLO_MS + enough_ms(3000));
	close(fd);
	return 0;
}

TEST_F_TIMEOUT(callers, time_with_seldom_heartbeats, 60)
{
	self->member.addr[0] = address("127.0.0.1", 1);
	self->member.addr[1] = address("127.0.0.1", 0);
	ASSERT_EQ(0, member_begin(&self->member, 1, 30000));
	EXPECT_EQ(0, has_its_time(&self->member));
}

/* There are no heartbeats yet. */
TEST_F_TIMEOUT(callers, time_before_connect, 60)
{
	self->member.addr[1] = address("127.0.0.1", 0);
	ASSERT_EQ(0, member_join_at(&self->member, 1, 0));
	EXPECT_EQ(0, has_its_time(&self->member));
}

/*
 * A rank that calls again
 */

/* Ports that the kernel may choose, and how many of them the test takes. */
#define FIRST		20000
#define PORTS_TAKEN	4

static int ports_set(unsigned int first, unsigned int n)
{
	char text[32];

	snprintf(text, sizeof(text), "%u %u", first, first + n - 1);
	return file_set("/proc/sys/net/ipv4/ip_local_port_range", text);
}

static int ports_take(int *fd)
{
	struct sockaddr_storage addr;
	unsigned int i;

	CHECK_EQ(0, ports_set(FIRST, PORTS_TAKEN));
	for (i = 0; i < PORTS_TAKEN; i++) {
		addr = address("0.0.0.0", FIRST + i);
		fd[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		CHECK_EQ(0, bind(fd[i], (struct sockaddr *)&addr, sizeof(struct sockaddr_in)));
	}
	return 0;
}

/* Make a listener the peer.  Return: its socket, or a negative errno. */
static int peer_listen(struct sockaddr_storage *addr)
{
	socklen_t len = sizeof(*addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*addr = address("127.0.0.1", 0);
	if (bind(fd, (struct sockaddr *)addr, sizeof(struct sockaddr_in)) || listen(fd, 8) ||
	    getsockname(fd, (struct sockaddr *)addr, &len)) {
		close(fd);
		return -errno;
	}
	return fd;
}

/* Return: a connection to a listener that comes within @ms, or a negative errno. */
static int peer_accept(int listener, int ms)
{
	struct pollfd poll_fd = { .fd = listener, .events = POLLIN };
	int fd = poll(&poll_fd, 1, ms) == 1 ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;

	return fd < 0 ? -ETIMEDOUT : fd;
}

/* Its place is lost, and no port is free for a while. */
static int calls_again(struct member *member)
{
	int listener = peer_listen(&member->addr[1]), conn[2], taken[PORTS_TAKEN], i;
	struct collective_status status;
	char byte;

	CHECK(listener >= 0);
	CHECK_EQ(0, ports_set(30000, 1000));
	member->addr[0] = address("127.0.0.1", 0);
	CHECK_EQ(0, member_begin(member, 0, 1000));
	for (i = 0; i < 2; i++) {
		conn[i] = peer_accept(listener, 5000);
		CHECK(conn[i] >= 0);
	}
	CHECK_EQ(0, ports_take(taken));
	reset(conn[0]);
	CHECK_EQ(-ETIMEDOUT, peer_accept(listener, 2500));
	CHECK_EQ(0, member_status(member->fd, &status));
	CHECK_EQ(COLLECTIVE_STATE_CONNECTING, status.state);
	CHECK_EQ(0, ports_set(30000, 1000));
	conn[0] = peer_accept(listener, 5000);
	CHECK(conn[0] >= 0);
	CHECK_EQ(1, recv(conn[0], &byte, 1, 0));
	for (i = 0; i < 2; i++)
		close(conn[i]);
	for (i = 0; i < PORTS_TAKEN; i++)
		close(taken[i]);
	close(listener);
	return 0;
}

TEST_F(callers, again_without_a_port)
{
	EXPECT_EQ(0, calls_again(&self->member));
}

TEST_HARNESS_MAIN
