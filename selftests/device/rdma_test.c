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
#include <sys/wait.h>

#include "lib/group.h"
#include "kselftest_harness.h"

#define RDMA	COLLECTIVE_TRANSPORT_RDMA

#define MODULE	"collective_rdma"

/* Enough for an emulated machine; a connection that lingers ends in some seconds. */
#define END_MS	20000

enum { FLAG_BUSY, FLAG_ENOUGH };

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

#define NRANKS	3

/* Bytes of a block of each rank. */
#define BLOCK	(256 * 1024)

/* Each of these has a group that calls it again and again. */
static const unsigned int opcodes[] = {
	COLLECTIVE_BARRIER, COLLECTIVE_ALLREDUCE, COLLECTIVE_BROADCAST, COLLECTIVE_ALLGATHER,
	COLLECTIVE_ALLTOALL, COLLECTIVE_REDUCE_SCATTER,
};

#define GROUPS	ARRAY_SIZE(opcodes)

static int call(const struct rank *r, unsigned int opcode, __u8 *area)
{
	const struct collective_op op = {
		.opcode = opcode,
		.type = COLLECTIVE_UINT32,
		.reduction = opcode == COLLECTIVE_ALLREDUCE ||
			     opcode == COLLECTIVE_REDUCE_SCATTER ? COLLECTIVE_SUM : 0,
		.count = BLOCK / 4,
		.send = (uintptr_t)area,
		.recv = (uintptr_t)area + NRANKS * BLOCK,
	};

	return opcode == COLLECTIVE_BARRIER ? member_barrier(r->fd) : member_submit(r->fd, &op);
}

static __u8 *area_map(void)
{
	void *area = mmap(NULL, 2 * NRANKS * BLOCK, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return area == MAP_FAILED ? NULL : area;
}

/* Call a collective until the group fails; check why. */
static int rank_until_failed(struct rank *r)
{
	const unsigned int *opcode = r->arg;
	__u8 *area = area_map();
	struct collective_status status;
	unsigned int n = 0;
	int err;

	CHECK(area);
	do {
		err = call(r, *opcode, area);
		if (++n == 3)
			__atomic_add_fetch(&r->shared->flag[FLAG_BUSY], 1, __ATOMIC_SEQ_CST);
	} while (!err);
	CHECK_EQ(0, member_status(r->fd, &status));
	CHECK_EQ(COLLECTIVE_STATE_ABORTED, status.state);
	CHECK_EQ(-(int)status.group.error, err);
	CHECK(status.group.kind == COLLECTIVE_REASON_RESET ||
	      status.group.kind == COLLECTIVE_REASON_SILENCE);
	/* Both ends of a link: each may be the culprit. */
	CHECK(status.group.rank_a < NRANKS);
	CHECK(status.group.rank_b < NRANKS);
	CHECK(status.group.rank_a != status.group.rank_b);
	CHECK_EQ(0, rank_value(r, "pinned_bytes"));
	return 0;
}

static const struct group_config pair = {
	.nranks = 2,
	.transport = (const unsigned int []){ RDMA, RDMA },
};

static const struct group_config all = {
	.nranks = NRANKS,
	.transport = (const unsigned int []){ RDMA, RDMA, RDMA },
};

/* Start a group for each collective, and wait until all are busy.  Return: 0 or 1. */
static int groups_start(struct group *groups, rank_fn fn)
{
	unsigned int i;

	for (i = 0; i < GROUPS; i++)
		CHECK_EQ(0, group_start(&groups[i], &all, fn, (void *)&opcodes[i]));
	for (i = 0; i < GROUPS; i++)
		CHECK(flag_wait(groups[i].shared, FLAG_BUSY, NRANKS, 3 * END_MS));
	return 0;
}

static int groups_wait(struct group *groups)
{
	unsigned int i, failed = 0;

	for (i = 0; i < GROUPS; i++)
		failed += !!group_wait(&groups[i]);
	return failed;
}

/* Call a collective until the test says that it is enough. */
static int rank_until_told(struct rank *r)
{
	const unsigned int *opcode = r->arg;
	unsigned int n = 0, enough = 0, sum;
	__u8 *area = area_map();

	CHECK(area);
	do {
		CHECK_EQ(0, call(r, *opcode, area));
		if (++n == 3)
			__atomic_add_fetch(&r->shared->flag[FLAG_BUSY], 1, __ATOMIC_SEQ_CST);
		/* All ranks stop after the same call. */
		enough = __atomic_load_n(&r->shared->flag[FLAG_ENOUGH], __ATOMIC_SEQ_CST);
		CHECK_EQ(0, member_allreduce(r->fd, &enough, &sum, 1, COLLECTIVE_UINT32,
					     COLLECTIVE_SUM));
	} while (!sum);
	return 0;
}

/* The module stays while operations use it, and these go on. */
TEST_F_TIMEOUT(machine, module_in_use, 200)
{
	struct group groups[GROUPS];
	unsigned int i;

	ASSERT_EQ(0, groups_start(groups, rank_until_told));
	for (i = 0; i < 20; i++) {
		EXPECT_EQ(-EWOULDBLOCK, module_remove());
		sleep_ms(10);
	}
	for (i = 0; i < GROUPS; i++)
		flag_set(groups[i].shared, FLAG_ENOUGH, 1);
	EXPECT_EQ(0, groups_wait(groups));
	EXPECT_TRUE(wait_references(0));
}

/* The device is deleted while operations use it; that does not wait for the processes. */
TEST_F_TIMEOUT(machine, device_goes, 300)
{
	struct group groups[GROUPS];
	__u64 begin;
	int fd;

	ASSERT_EQ(0, groups_start(groups, rank_until_failed));
	begin = now_ms();
	EXPECT_EQ(0, device_delete());
	EXPECT_GE(END_MS, now_ms() - begin);
	EXPECT_EQ(0, groups_wait(groups));

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

TEST_F_TIMEOUT(machine, network_goes, 300)
{
	struct group groups[GROUPS];
	int fd;

	ASSERT_EQ(0, groups_start(groups, rank_until_failed));
	EXPECT_EQ(0, system("ip link set dummy0 down"));
	EXPECT_EQ(0, groups_wait(groups));
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

/* Join and connect two ranks of this process again and again, while the device comes and goes. */
static int join_again_and_again(const unsigned int *enough)
{
	struct sockaddr_storage addr[2];
	char name[33];
	int fd[2], i;
	__u64 id;

	while (!__atomic_load_n(enough, __ATOMIC_SEQ_CST)) {
		struct collective_join join = { .transport = RDMA, .nranks = 2 };
		int err = 0;

		group_unique(name, sizeof(name), &id);
		for (i = 0; i < 2; i++) {
			fd[i] = member_open();
			CHECK(fd[i] >= 0);
			fcntl(fd[i], F_SETFL, O_NONBLOCK);
			join.rank = i;
			join.id = id;
			err = err ?: member_join_as(fd[i], &join, name, &addr[i]);
		}
		for (i = 0; !err && i < 2; i++)
			member_connect(fd[i], addr, 2, 1000);
		close(fd[0]);
		close(fd[1]);
	}
	return 0;
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

#define JOINERS	3

/* An identifier is bound, or resolves an address, just when its device goes. */
TEST_F_TIMEOUT(machine, device_goes_at_join, 300)
{
	unsigned int *enough, i;
	pid_t pid[JOINERS];
	int fd, status;

	enough = mmap(NULL, sizeof(*enough), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	ASSERT_NE(MAP_FAILED, enough);
	for (i = 0; i < JOINERS; i++) {
		pid[i] = fork();
		if (!pid[i])
			_exit(join_again_and_again(enough));
	}
	for (i = 0; i < 30; i++) {
		EXPECT_EQ(0, device_delete());
		EXPECT_EQ(0, device_add());
		/* Until its addresses are known, and a little longer. */
		fd = member_open();
		EXPECT_EQ(0, join_when_ready(self->name, self->id, fd, &self->addr));
		close(fd);
		sleep_ms(i * 3);
	}
	__atomic_store_n(enough, 1, __ATOMIC_SEQ_CST);
	for (i = 0; i < JOINERS; i++) {
		EXPECT_EQ(pid[i], waitpid(pid[i], &status, 0));
		EXPECT_EQ(0, status);
	}
	EXPECT_TRUE(wait_references(0));
}

TEST_HARNESS_MAIN
