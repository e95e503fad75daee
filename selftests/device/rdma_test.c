// SPDX-License-Identifier: GPL-2.0-only
/*
 * What concerns links by RDMA only: the module and its references, the device that goes, and the
 * network that goes.  The other tests run with COLL_TRANSPORT=rdma.
 *
 * The machine has soft-RoCE on its interface dummy0: selftests/vm/run --rdma.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "lib/group.h"
#include "kselftest_harness.h"

#define RDMA	COLLECTIVE_TRANSPORT_RDMA

#define MODULE	"collective_rdma"

/* Enough for an emulated machine; a connection that lingers ends in some seconds. */
#define END_MS	20000

enum { FLAG_BUSY };

static long long references(void)
{
	char text[32];

	return file_get("/sys/module/" MODULE "/refcnt", text, sizeof(text)) ? -1 : atoll(text);
}

static bool wait_references(long long want)
{
	__u64 end = now_ms() + END_MS;

	while (references() != want && now_ms() < end)
		sleep_ms(20);
	return references() == want;
}

static int module_remove(void)
{
	return syscall(SYS_delete_module, MODULE, O_NONBLOCK) ? -errno : 0;
}

/* RDMA_MODULE is what the machine has loaded. */
static int module_load(void)
{
	int fd = open(getenv("RDMA_MODULE") ?: "", O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
	close(fd);
	return err;
}

static int device_delete(void)
{
	return system("rdma link delete rxe0");
}

static int device_add(void)
{
	return system("rdma link add rxe0 type rxe netdev dummy0");
}

FIXTURE(machine) {
	char name[33];
	__u64 id;
	struct sockaddr_storage addr;
};

FIXTURE_SETUP(machine)
{
	if (!rdma_offered())
		SKIP(return, "no collective_rdma.ko");
	group_unique(self->name, sizeof(self->name), &self->id);
	/* Connections of an earlier test may linger. */
	ASSERT_TRUE(wait_references(0));
}

FIXTURE_TEARDOWN(machine)
{
}

static int join_rdma(const char *name, __u64 id, int fd, struct sockaddr_storage *addr)
{
	struct collective_join join = { .transport = RDMA, .nranks = 2, .id = id };

	return member_join_as(fd, &join, name, addr);
}

/* A new device learns its addresses from a work item. */
static int join_when_ready(const char *name, __u64 id, int fd, struct sockaddr_storage *addr)
{
	__u64 end = now_ms() + END_MS;
	int err;

	do {
		err = join_rdma(name, id, fd, addr);
		sleep_ms(20);
	} while (err == -ENODEV && now_ms() < end);
	return err;
}

static __u32 transports(int fd)
{
	struct collective_query query = { .size = sizeof(query) };

	return member_ioctl(fd, COLLECTIVE_IOC_QUERY, &query) ? 0 : query.transports;
}

TEST_F_TIMEOUT(machine, module, 100)
{
	int fd = member_open();

	ASSERT_LE(0, fd);
	EXPECT_TRUE(transports(fd) & 1U << RDMA);
	ASSERT_EQ(0, join_rdma(self->name, self->id, fd, &self->addr));
	EXPECT_EQ(1, references());
	EXPECT_EQ(-EWOULDBLOCK, module_remove());
	EXPECT_EQ(0, member_leave(fd));
	close(fd);
	EXPECT_TRUE(wait_references(0));

	/* Without the module JOIN fails, and everything else works. */
	ASSERT_EQ(0, module_remove());
	fd = member_open();
	EXPECT_FALSE(transports(fd) & 1U << RDMA);
	EXPECT_EQ(-EOPNOTSUPP, join_rdma(self->name, self->id, fd, &self->addr));
	ASSERT_EQ(0, module_load());
	EXPECT_TRUE(transports(fd) & 1U << RDMA);
	EXPECT_EQ(0, join_rdma(self->name, self->id, fd, &self->addr));
	close(fd);
	EXPECT_TRUE(wait_references(0));
}

/* Reduce until the group fails; store why. */
static int rank_until_failed(struct rank *r)
{
	const size_t bytes = 256 * 1024;
	struct collective_status status;
	unsigned int n = 0;
	__u8 *area;
	int err;

	area = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	CHECK(area != MAP_FAILED);
	do {
		err = member_allreduce(r->fd, area, area + bytes, bytes / 4, COLLECTIVE_FLOAT32,
				       COLLECTIVE_SUM);
		if (++n == 3)
			__atomic_add_fetch(&r->shared->flag[FLAG_BUSY], 1, __ATOMIC_SEQ_CST);
	} while (!err);
	CHECK_EQ(0, member_status(r->fd, &status));
	CHECK_EQ(COLLECTIVE_STATE_ABORTED, status.state);
	CHECK(status.group.kind == COLLECTIVE_REASON_RESET ||
	      status.group.kind == COLLECTIVE_REASON_SILENCE);
	/* Each end of the link may be the culprit. */
	CHECK_EQ(0, status.group.rank_a);
	CHECK_EQ(1, status.group.rank_b);
	CHECK_EQ(0, rank_value(r, "pinned_bytes"));
	return 0;
}

static const struct group_config pair = {
	.nranks = 2,
	.heartbeat_ms = 200,
	.transport = (const unsigned int []){ RDMA, RDMA },
};

/* The device is deleted while operations use it; that does not wait for the processes. */
TEST_F_TIMEOUT(machine, device_goes, 200)
{
	struct group group;
	__u64 begin;
	int fd;

	ASSERT_EQ(0, group_start(&group, &pair, rank_until_failed, NULL));
	EXPECT_TRUE(flag_wait(group.shared, FLAG_BUSY, 2, END_MS));
	begin = now_ms();
	EXPECT_EQ(0, device_delete());
	EXPECT_GE(END_MS, now_ms() - begin);
	EXPECT_EQ(0, group_wait(&group));

	/* No device has the address. */
	fd = member_open();
	EXPECT_EQ(-ENODEV, join_rdma(self->name, self->id, fd, &self->addr));
	EXPECT_EQ(0, references());
	ASSERT_EQ(0, device_add());
	EXPECT_EQ(0, join_when_ready(self->name, self->id, fd, &self->addr));
	/* It goes while a rank only listens. */
	EXPECT_EQ(0, device_delete());
	close(fd);
	EXPECT_TRUE(wait_references(0));
	ASSERT_EQ(0, device_add());
	fd = member_open();
	EXPECT_EQ(0, join_when_ready(self->name, self->id, fd, &self->addr));
	close(fd);
}

TEST_F_TIMEOUT(machine, network_goes, 200)
{
	struct group group;
	int fd;

	ASSERT_EQ(0, group_start(&group, &pair, rank_until_failed, NULL));
	EXPECT_TRUE(flag_wait(group.shared, FLAG_BUSY, 2, END_MS));
	EXPECT_EQ(0, system("ip link set dummy0 down"));
	EXPECT_EQ(0, group_wait(&group));
	/* The IPv6 address is gone with the interface. */
	EXPECT_EQ(0, system("ip link set dummy0 up"));
	EXPECT_EQ(0, system("ip -6 addr replace fd88::1/64 dev dummy0 nodad"));
	EXPECT_TRUE(wait_references(0));
	/* After that soft-RoCE makes no new connections any more, for any user of it. */
	EXPECT_EQ(0, device_delete());
	ASSERT_EQ(0, device_add());
	fd = member_open();
	EXPECT_EQ(0, join_when_ready(self->name, self->id, fd, &self->addr));
	close(fd);
}

/* The last message arrives although its sender leaves at once. */
static int rank_hurries(struct rank *r)
{
	static __u8 block[16 * 1024];
	struct collective_op op = {
		.opcode = r->rank ? COLLECTIVE_RECV : COLLECTIVE_SEND,
		.type = COLLECTIVE_UINT8,
		.root = !r->rank,
		.count = sizeof(block),
		.send = r->rank ? 0 : (uintptr_t)block,
		.recv = r->rank ? (uintptr_t)block : 0,
	};

	if (!r->rank)
		memset(block, 0x5a, sizeof(block));
	CHECK_EQ(0, member_barrier(r->fd));
	if (r->rank)
		sleep_ms(300);
	CHECK_EQ(0, member_submit(r->fd, &op));
	CHECK_EQ(0x5a, block[0]);
	CHECK_EQ(0x5a, block[sizeof(block) - 1]);
	return 0;
}

TEST_F_TIMEOUT(machine, last_message, 100)
{
	EXPECT_EQ(0, group_run(&pair, rank_hurries, NULL));
	EXPECT_TRUE(wait_references(0));
}

#define IDLE_BYTES	(64 * 1024)

/* Store the memory that a rank of a group is charged, of which nothing is in flight. */
static int rank_memory(struct rank *r)
{
	r->shared->value[r->rank] = member_memory(r->group->name, r->rank);
	/* No rank leaves while another one looks. */
	CHECK(flag_barrier(r->shared, FLAG_BUSY, r->nranks));
	return 0;
}

static long long memory_of(unsigned int lanes, bool connected)
{
	struct group_config config = pair;
	struct group group;
	long long bytes;

	config.lanes = lanes;
	config.unconnected = !connected;
	if (group_start(&group, &config, rank_memory, NULL) ||
	    !flag_wait(group.shared, FLAG_BUSY, 2, END_MS))
		return -1;
	bytes = group.shared->value[0];
	return group_wait(&group) ? -1 : bytes;
}

/* What a data connection adds that is idle, without what its lane needs anyway. */
TEST_F_TIMEOUT(machine, idle_memory, 100)
{
	long long one = memory_of(1, true), two = memory_of(2, true);
	long long lane = memory_of(2, false) - memory_of(1, false);

	EXPECT_LT(0, one);
	EXPECT_LT(one, two);
	EXPECT_LT(0, lane);
	TH_LOG("%lld bytes", two - one - lane);
	EXPECT_GE(IDLE_BYTES, two - one - lane);
}

TEST_HARNESS_MAIN
