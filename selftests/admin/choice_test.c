// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which transport a link has where a rank has chosen AUTO, and why, as the administration library
 * and collectivectl say.
 *
 * The machine has soft-RoCE on its interface dummy0: selftests/vm/run --rdma.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <collective_admin.h>
#include <linux/collective_netlink.h>

#include "lib/group.h"
#include "kselftest_harness.h"

#define TCP	COLLECTIVE_TRANSPORT_TCP
#define RDMA	COLLECTIVE_TRANSPORT_RDMA
#define LOCAL	COLLECTIVE_TRANSPORT_LOCAL
#define AUTO	COLLECTIVE_TRANSPORT_AUTO

#define MODULE	"collective_rdma"

#define CONNECT_MS	30000

/* Time in which connections by RDMA have to stand, with a heartbeat, and for a slow machine. */
#define TRY_MS		(5000 + 1000 + 4000)

/* A new device learns its addresses from a work item; a connection lingers. */
#define END_MS		20000

/**
 * struct pair - two ranks of this process
 * @fd: their files
 * @name: of their group
 * @id: likewise
 * @addr: their addresses
 */
struct pair {
	int fd[2];
	char name[33];
	__u64 id;
	struct sockaddr_storage addr[2];
};

static int pair_open(struct pair *pair)
{
	group_unique(pair->name, sizeof(pair->name), &pair->id);
	pair->fd[0] = member_open();
	pair->fd[1] = member_open();
	return pair->fd[0] < 0 || pair->fd[1] < 0;
}

static void pair_close(const struct pair *pair)
{
	close(pair->fd[0]);
	close(pair->fd[1]);
}

/* Join with a choice, on an address. */
static int join_at(struct pair *pair, unsigned int rank, unsigned int transport)
{
	struct sockaddr_storage *addr = &pair->addr[rank];
	struct collective_join join = {
		.size = sizeof(join),
		.transport = transport,
		.nranks = 2,
		.rank = rank,
		.id = pair->id,
		.addr_len = sizeof(*addr),
	};
	int err;

	memcpy(join.name, pair->name, strlen(pair->name));
	memcpy(join.addr, addr, sizeof(*addr));
	err = member_ioctl(pair->fd[rank], COLLECTIVE_IOC_JOIN, &join);
	memcpy(addr, join.addr, sizeof(*addr));
	return err;
}

/* The same on the address of the RDMA device, or on 127.0.0.1. */
static int pair_join(struct pair *pair, unsigned int rank, unsigned int transport, bool at_device)
{
	own_address(&pair->addr[rank], AF_INET, at_device ? RDMA : TCP);
	return join_at(pair, rank, transport);
}

static int pair_join_at(struct pair *pair, unsigned int rank, unsigned int transport,
			const char *text)
{
	struct sockaddr_in *addr = (struct sockaddr_in *)&pair->addr[rank];

	memset(&pair->addr[rank], 0, sizeof(pair->addr[rank]));
	addr->sin_family = AF_INET;
	inet_pton(AF_INET, text, &addr->sin_addr);
	return join_at(pair, rank, transport);
}

static __u32 offers(const struct sockaddr_storage *addr)
{
	__u32 value;

	memcpy(&value, (const char *)addr + COLLECTIVE_ADDR_OFFERS, sizeof(value));
	return value;
}

static void offer_rdma(struct sockaddr_storage *addr)
{
	const __u32 value = COLLECTIVE_OFFERS_RDMA;

	memcpy((char *)addr + COLLECTIVE_ADDR_OFFERS, &value, sizeof(value));
}

/* Connect both ranks, and have them do something. */
static int pair_connect(const struct pair *pair, unsigned int ms)
{
	const struct collective_op barrier = { .opcode = COLLECTIVE_BARRIER };
	const struct sockaddr_storage *addr = pair->addr;
	const int *fd = pair->fd;
	__u64 request;
	int i, err;

	for (i = 0; i < 2; i++) {
		fcntl(fd[i], F_SETFL, O_NONBLOCK);
		err = member_connect(fd[i], addr, 2, ms);
		if (err && err != -EINPROGRESS)
			return err;
	}
	for (i = 0; i < 2; i++) {
		fcntl(fd[i], F_SETFL, 0);
		err = member_connect(fd[i], addr, 2, ms);
		if (err && err != -EISCONN)
			return err;
	}
	err = member_start(fd[0], &barrier, &request);
	return err ?: member_submit(fd[1], &barrier) ?: member_wait(fd[0], request, 0);
}

struct found {
	unsigned int n;
	char text[64];
};

static int find_link(const struct coll_admin_link *link, void *arg)
{
	struct found *found = arg;

	found->n++;
	snprintf(found->text, sizeof(found->text), "%s: %s",
		 coll_admin_name(COLL_ADMIN_TRANSPORT, link->transport),
		 coll_admin_name(COLL_ADMIN_LINK_CHOICE, link->choice));
	return 0;
}

/* The transport of a rank's only link, and why it has it; what collectivectl says is the same. */
static const char *link_text(const struct pair *pair, unsigned int rank)
{
	static struct found found;
	struct coll_admin *admin;
	char command[256];
	int err;

	found.n = 0;
	if (coll_admin_open(&admin))
		return "no netlink";
	err = coll_admin_links(admin, pair->name, rank, find_link, &found);
	coll_admin_close(admin);
	if (err || found.n != 1)
		return "not one link";
	snprintf(command, sizeof(command),
		 "collectivectl -j link show %s %u | jq -e '%s == \"%s\"' >/dev/null", pair->name,
		 rank, ".links[0] | .transport + \": \" + .why", found.text);
	return system(command) ? "collectivectl says something else" : found.text;
}

/*
 * Choices
 */

FIXTURE(choice) {
	struct pair pair;
};

FIXTURE_VARIANT(choice) {
	unsigned int transport[2];
	const char *at;
	bool offered[2];
	const char *text[2];
};

FIXTURE_VARIANT_ADD(choice, auto_calls_rdma) {
	.transport = { AUTO, RDMA },
	.offered = { true, true },
	.text = { "rdma: offered", "rdma: called" },
};

FIXTURE_VARIANT_ADD(choice, rdma_calls_auto) {
	.transport = { RDMA, AUTO },
	.offered = { true, true },
	.text = { "rdma: wished", "rdma: called" },
};

FIXTURE_VARIANT_ADD(choice, auto_calls_tcp) {
	.transport = { AUTO, TCP },
	.offered = { true, false },
	.text = { "tcp: not-offered", "tcp: called" },
};

FIXTURE_VARIANT_ADD(choice, tcp_calls_auto) {
	.transport = { TCP, AUTO },
	.offered = { false, true },
	.text = { "tcp: wished", "tcp: called" },
};

FIXTURE_VARIANT_ADD(choice, no_device) {
	.transport = { AUTO, TCP },
	.at = "127.0.0.1",
	.text = { "tcp: no-device", "tcp: called" },
};

FIXTURE_VARIANT_ADD(choice, same_kernel) {
	.transport = { AUTO, AUTO },
	.offered = { true, true },
	.text = { "local: same-kernel", "local: called" },
};

FIXTURE_VARIANT_ADD(choice, local) {
	.transport = { LOCAL, AUTO },
	.offered = { false, true },
	.text = { "local: wished", "local: called" },
};

/* That of a device is among them. */
FIXTURE_VARIANT_ADD(choice, all_interfaces) {
	.transport = { AUTO, TCP },
	.at = "0.0.0.0",
	.text = { "tcp: no-device", "tcp: called" },
};

FIXTURE_SETUP(choice)
{
	if (!rdma_offered())
		SKIP(return, "no " MODULE ".ko");
	ASSERT_EQ(0, pair_open(&self->pair));
}

FIXTURE_TEARDOWN(choice)
{
	pair_close(&self->pair);
}

TEST_F_TIMEOUT(choice, is_told, 100)
{
	struct pair *pair = &self->pair;
	int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, variant->at ?
			     pair_join_at(pair, i, variant->transport[i], variant->at) :
			     pair_join(pair, i, variant->transport[i], true));
		EXPECT_EQ(variant->offered[i], offers(&pair->addr[i]) == COLLECTIVE_OFFERS_RDMA);
	}
	ASSERT_EQ(0, pair_connect(pair, CONNECT_MS));
	for (i = 0; i < 2; i++)
		EXPECT_STREQ(variant->text[i], link_text(pair, i));
}

/*
 * What a device has stored
 */

#define PAYLOAD		(256 * 1024)

FIXTURE(stored) {
	struct pair pair;
};

FIXTURE_SETUP(stored)
{
	if (!rdma_offered())
		SKIP(return, "no " MODULE ".ko");
	ASSERT_EQ(0, pair_open(&self->pair));
}

FIXTURE_TEARDOWN(stored)
{
	pair_close(&self->pair);
}

static int find_member(const struct coll_admin_member *member, void *arg)
{
	*(__u64 *)arg = member->placed_bytes;
	return 0;
}

static int add_lane(const struct coll_admin_lane *lane, void *arg)
{
	*(__u64 *)arg += lane->placed_bytes;
	return 0;
}

static int add_link(const struct coll_admin_link *link, void *arg)
{
	unsigned int i;

	for (i = 0; i < link->n; i++)
		if (!link->peer && link->connection[i].lane != COLL_ADMIN_NONE)
			*(__u64 *)arg += link->placed_bytes[i];
	return 0;
}

/* Does a command print the number?  Return: 0 or not. */
static int prints(const struct pair *pair, const char *format)
{
	char command[256];

	snprintf(command, sizeof(command), format, pair->name);
	return system(command);
}

TEST_F_TIMEOUT(stored, is_told, 100)
{
	static const char json[] =
		"collectivectl -j member show %s 1 | jq -e '.members[0].placed == 262144' >&2";
	static const char link_json[] =
		"collectivectl -j link show %s 1 | jq -e '.links[-1].placed == 262144' >&2";
	static const char metrics[] =
		"collectivectl metrics | grep 'collective_placed_bytes_total{.*%s.*} 262144$' >&2";
	static const char link_metrics[] =
		"collectivectl metrics | grep 'link_placed_bytes_total{.*%s.*\"1\",.*} 262144' >&2";
	__u8 *payload = aligned_alloc(4096, 2 * PAYLOAD);
	struct pair *pair = &self->pair;
	struct collective_op op = {
		.opcode = COLLECTIVE_BROADCAST,
		.type = COLLECTIVE_UINT8,
		.count = PAYLOAD,
	};
	__u64 request, member = 0, lanes = 0, links = 0;
	struct coll_admin *admin;
	int i;

	ASSERT_NE(NULL, payload);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pair_join(pair, i, RDMA, true));
	ASSERT_EQ(0, pair_connect(pair, CONNECT_MS));
	op.send = (uintptr_t)payload;
	op.recv = (uintptr_t)payload;
	ASSERT_EQ(0, member_start(pair->fd[0], &op, &request));
	op.send = (uintptr_t)payload + PAYLOAD;
	op.recv = (uintptr_t)payload + PAYLOAD;
	ASSERT_EQ(0, member_submit(pair->fd[1], &op));
	ASSERT_EQ(0, member_wait(pair->fd[0], request, 0));

	ASSERT_EQ(0, coll_admin_open(&admin));
	EXPECT_LE(0, coll_admin_members(admin, pair->name, 1, find_member, &member));
	EXPECT_LE(0, coll_admin_lanes(admin, pair->name, 1, add_lane, &lanes));
	EXPECT_LE(0, coll_admin_links(admin, pair->name, 1, add_link, &links));
	coll_admin_close(admin);
	EXPECT_EQ(PAYLOAD, member);
	EXPECT_EQ(PAYLOAD, lanes);
	EXPECT_EQ(PAYLOAD, links);
	EXPECT_EQ(PAYLOAD, member_value(pair->name, 1, "bytes_placed"));
	EXPECT_EQ(0, prints(pair, json));
	EXPECT_EQ(0, prints(pair, link_json));
	EXPECT_EQ(0, prints(pair, metrics));
	EXPECT_EQ(0, prints(pair, link_metrics));
	free(payload);
}

/*
 * RDMA is tried in vain
 */

FIXTURE(vain) {
	struct pair pair;
};

FIXTURE_SETUP(vain)
{
	if (!rdma_offered())
		SKIP(return, "no " MODULE ".ko");
	ASSERT_EQ(0, pair_open(&self->pair));
}

FIXTURE_TEARDOWN(vain)
{
	pair_close(&self->pair);
}

/* The peer listens by TCP only, although its address says something else. */
TEST_F_TIMEOUT(vain, refused, 100)
{
	struct pair *pair = &self->pair;
	__u64 begin;

	ASSERT_EQ(0, pair_join(pair, 0, AUTO, true));
	ASSERT_EQ(0, pair_join(pair, 1, TCP, true));
	offer_rdma(&pair->addr[1]);
	begin = now_ms();
	ASSERT_EQ(0, pair_connect(pair, CONNECT_MS));
	EXPECT_GE(TRY_MS, now_ms() - begin);
	EXPECT_STREQ("tcp: refused", link_text(pair, 0));
	EXPECT_STREQ("tcp: called", link_text(pair, 1));
	EXPECT_EQ(0, member_value(pair->name, 1, "refused_connections"));
}

/* Packets of RDMA to 127.0.0.1 reach no device. */
static int unanswered(struct pair *pair, unsigned int ms)
{
	int err = pair_join(pair, 0, AUTO, true) ?: pair_join(pair, 1, TCP, false);

	offer_rdma(&pair->addr[1]);
	return err ?: pair_connect(pair, ms);
}

TEST_F_TIMEOUT(vain, no_answer, 100)
{
	struct pair *pair = &self->pair;
	__u64 begin = now_ms();

	ASSERT_EQ(0, unanswered(pair, CONNECT_MS));
	EXPECT_GE(TRY_MS, now_ms() - begin);
	EXPECT_STREQ("tcp: no-answer", link_text(pair, 0));
}

/* Half of the time of CONNECT is left to TCP. */
TEST_F_TIMEOUT(vain, short_time, 100)
{
	struct pair *pair = &self->pair;

	ASSERT_EQ(0, unanswered(pair, 6000));
	EXPECT_STREQ("tcp: no-answer", link_text(pair, 0));
}

static int device_delete(void)
{
	return system("rdma link delete rxe0");
}

static int device_add(void)
{
	return system("rdma link add rxe0 type rxe netdev dummy0");
}

/* Wait until a rank can join by RDMA again. */
static bool device_wait(void)
{
	__u64 end = now_ms() + END_MS;
	struct pair pair;
	int err;

	do {
		if (pair_open(&pair))
			return false;
		err = pair_join(&pair, 0, RDMA, true);
		pair_close(&pair);
		sleep_ms(20);
	} while (err == -ENODEV && now_ms() < end);
	return !err;
}

/* The device goes after JOIN. */
TEST_F_TIMEOUT(vain, device_goes, 100)
{
	struct pair *pair = &self->pair;

	ASSERT_EQ(0, pair_join(pair, 0, AUTO, true));
	ASSERT_EQ(0, pair_join(pair, 1, TCP, true));
	offer_rdma(&pair->addr[1]);
	ASSERT_EQ(0, device_delete());
	EXPECT_EQ(0, pair_connect(pair, CONNECT_MS));
	EXPECT_STREQ("tcp: no-route", link_text(pair, 0));
	ASSERT_EQ(0, device_add());
	EXPECT_TRUE(device_wait());
}

static bool wait_unused(void)
{
	__u64 end = now_ms() + END_MS;
	char text[32];

	do {
		if (!file_get("/sys/module/" MODULE "/refcnt", text, sizeof(text)) && !atoi(text))
			return true;
		sleep_ms(20);
	} while (now_ms() < end);
	return false;
}

/* AUTO does not load the module. */
TEST_F_TIMEOUT(vain, not_loaded, 100)
{
	struct pair *pair = &self->pair;
	int fd;

	ASSERT_TRUE(wait_unused());
	ASSERT_EQ(0, syscall(SYS_delete_module, MODULE, O_NONBLOCK));
	EXPECT_EQ(0, pair_join(pair, 0, AUTO, true));
	EXPECT_EQ(0, pair_join(pair, 1, TCP, true));
	EXPECT_NE(COLLECTIVE_OFFERS_RDMA, offers(&pair->addr[0]));
	EXPECT_EQ(0, pair_connect(pair, CONNECT_MS));
	EXPECT_STREQ("tcp: not-loaded", link_text(pair, 0));
	/* RDMA_MODULE is what the machine has loaded. */
	fd = open(getenv("RDMA_MODULE") ?: "", O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, syscall(SYS_finit_module, fd, "", 0));
	close(fd);
}

/*
 * An iWARP device
 */

#define IWARP_ADDR	"10.89.0.1"

FIXTURE(iwarp) {
	struct pair pair;
};

FIXTURE_SETUP(iwarp)
{
	if (!rdma_offered())
		SKIP(return, "no " MODULE ".ko");
	/* It may be loaded from elsewhere, because distributions leave it out. */
	if (access("/sys/module/siw", F_OK) && system("modprobe -q siw"))
		SKIP(return, "no siw.ko");
	ASSERT_EQ(0, system("ip link add dummy1 type dummy"));
	ASSERT_EQ(0, system("ip link set dummy1 up"));
	ASSERT_EQ(0, system("ip addr add " IWARP_ADDR "/24 dev dummy1"));
	ASSERT_EQ(0, system("rdma link add siw0 type siw netdev dummy1"));
	ASSERT_EQ(0, pair_open(&self->pair));
}

FIXTURE_TEARDOWN(iwarp)
{
	pair_close(&self->pair);
	EXPECT_EQ(0, system("rdma link delete siw0 && ip link delete dummy1"));
}

/* Wait until the device has its address.  Return: the errno of a JOIN by RDMA. */
static int iwarp_join(struct pair *pair)
{
	__u64 end = now_ms() + END_MS;
	int err;

	do {
		err = pair_join_at(pair, 0, RDMA, IWARP_ADDR);
		sleep_ms(20);
	} while (err == -ENODEV && now_ms() < end);
	return err;
}

TEST_F_TIMEOUT(iwarp, is_refused, 100)
{
	struct pair *pair = &self->pair;

	EXPECT_EQ(-EPROTONOSUPPORT, iwarp_join(pair));
	EXPECT_EQ(0, pair_join_at(pair, 0, AUTO, IWARP_ADDR));
	EXPECT_NE(COLLECTIVE_OFFERS_RDMA, offers(&pair->addr[0]));
	EXPECT_EQ(0, pair_join_at(pair, 1, TCP, IWARP_ADDR));
	EXPECT_EQ(0, pair_connect(pair, CONNECT_MS));
	EXPECT_STREQ("tcp: iwarp", link_text(pair, 0));
}

TEST_HARNESS_MAIN
