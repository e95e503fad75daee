// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pinned memory: which limit it counts against, how it is counted, and that it is unpinned in
 * every way that a member ends.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/memlock.h"

#define KIB	1024UL
#define MIB	(1024 * KIB)

static long long pinned_kib(void)
{
	return process_value(0, "VmPin:");
}

FIXTURE(one_rank) {
	struct rank rank;
	struct group group;
	struct sockaddr_storage addr;
	size_t page;
	__u8 *memory;
};

#define SIZE	(4 * MIB)

FIXTURE_SETUP(one_rank)
{
	group_unique(self->group.name, sizeof(self->group.name), &self->group.id);
	self->rank.group = &self->group;
	self->rank.fd = member_open();
	ASSERT_LE(0, self->rank.fd);
	ASSERT_EQ(0, member_join(self->rank.fd, self->group.name, self->group.id, 0, 1,
				 &self->addr));
	ASSERT_EQ(0, member_connect(self->rank.fd, &self->addr, 1, 1000));
	self->page = getpagesize();
	self->memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->memory);
	/* A huge page would count whole (folio_test.c). */
	(void)madvise(self->memory, SIZE, MADV_NOHUGEPAGE);
}

FIXTURE_TEARDOWN(one_rank)
{
	close(self->rank.fd);
	EXPECT_EQ(0, pinned_kib());
}

TEST_F(one_rank, accounting)
{
	const int fd = self->rank.fd;
	__u32 a, b, c;

	EXPECT_EQ(0, pinned_kib());
	EXPECT_EQ(0, rank_value(&self->rank, "pinned_bytes"));
	ASSERT_EQ(0, member_register(fd, self->memory, MIB, 0, &a));
	EXPECT_EQ(1024, pinned_kib());
	EXPECT_EQ(MIB, rank_value(&self->rank, "pinned_bytes"));
	/* Two bytes in two pages. */
	ASSERT_EQ(0, member_register(fd, self->memory + 2 * MIB - 1, 2, 0, &b));
	EXPECT_EQ(1024 + 8, pinned_kib());
	/* A second registration of the same memory counts again. */
	ASSERT_EQ(0, member_register(fd, self->memory, MIB, COLLECTIVE_REGISTER_READ_ONLY, &c));
	EXPECT_EQ(2048 + 8, pinned_kib());
	EXPECT_NE(a, b);
	EXPECT_NE(a, c);
	EXPECT_EQ(0, member_unregister(fd, a));
	EXPECT_EQ(0, member_unregister(fd, b));
	EXPECT_EQ(1024, pinned_kib());
	EXPECT_EQ(0, member_unregister(fd, c));
	EXPECT_EQ(0, pinned_kib());
	EXPECT_EQ(0, rank_value(&self->rank, "pinned_bytes"));
	/* Memory that is not registered counts while its operation lasts. */
	EXPECT_EQ(0, member_allreduce(fd, self->memory, self->memory + MIB, MIB,
				      COLLECTIVE_UINT8, COLLECTIVE_SUM));
	EXPECT_EQ(0, pinned_kib());
}

TEST_F(one_rank, failure_pins_nothing)
{
	__u32 buffer;

	ASSERT_EQ(0, munmap(self->memory + 3 * MIB, MIB));
	EXPECT_EQ(-EFAULT, member_register(self->rank.fd, self->memory, SIZE, 0, &buffer));
	EXPECT_EQ(0, pinned_kib());
	EXPECT_EQ(-EFAULT, member_allreduce(self->rank.fd, self->memory + 2 * MIB, self->memory,
					    MIB + 1, COLLECTIVE_UINT8, COLLECTIVE_SUM));
	EXPECT_EQ(0, pinned_kib());
	EXPECT_EQ(0, rank_value(&self->rank, "pinned_bytes"));
}

TEST_F(one_rank, close_unpins)
{
	__u32 buffer;
	int i;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, member_register(self->rank.fd, self->memory + i * MIB, MIB, 0,
					     &buffer));
	EXPECT_EQ(4096, pinned_kib());
}

TEST_F(one_rank, leave_unpins)
{
	__u32 buffer;

	ASSERT_EQ(0, member_register(self->rank.fd, self->memory, SIZE, 0, &buffer));
	EXPECT_EQ(0, member_leave(self->rank.fd));
	EXPECT_EQ(0, pinned_kib());
}

TEST_F(one_rank, numbers)
{
	__u32 buffer[64], again;
	int i;

	for (i = 0; i < 64; i++) {
		ASSERT_EQ(0, member_register(self->rank.fd, self->memory + i * 64, 64, 0,
					     &buffer[i]));
		EXPECT_NE(0, buffer[i]);
	}
	EXPECT_EQ(0, member_unregister(self->rank.fd, buffer[7]));
	EXPECT_EQ(-ENOENT, member_unregister(self->rank.fd, buffer[7]));
	EXPECT_EQ(0, member_register(self->rank.fd, self->memory, 64, 0, &again));
}

TEST_F(one_rank, too_many)
{
	int i, err = 0;
	__u32 buffer;

	for (i = 0; i < 4097 && !err; i++)
		err = member_register(self->rank.fd, self->memory, 1, 0, &buffer);
	EXPECT_EQ(-EMFILE, err);
	EXPECT_EQ(4096 * 4, pinned_kib());
}

TEST_F(one_rank, registered_operations)
{
	const int fd = self->rank.fd;
	const __u64 at = (uintptr_t)self->memory;
	__u32 half, read_only;
	struct collective_op op;

	ASSERT_EQ(0, member_register(fd, self->memory + 64 * KIB, 64 * KIB, 0, &half));
	ASSERT_EQ(0, member_register(fd, self->memory, MIB, COLLECTIVE_REGISTER_READ_ONLY,
				     &read_only));
#define EXPECT_OP(_error, _change) do {							\
	op = (struct collective_op) {							\
		.opcode = COLLECTIVE_ALLREDUCE,						\
		.type = COLLECTIVE_UINT8,						\
		.count = 64 * KIB,							\
		.send = at,								\
		.recv = at + 64 * KIB,							\
		.send_buffer = read_only,						\
		.recv_buffer = half,							\
	};										\
	_change;									\
	EXPECT_EQ(_error, member_submit(fd, &op))					\
		TH_LOG("%s", #_change);							\
} while (0)
	EXPECT_OP(0, (void)0);
	EXPECT_OP(-EFAULT, op.recv_buffer = read_only);
	EXPECT_OP(-EINVAL, op.recv += 1);
	EXPECT_OP(-EINVAL, (op.recv -= 1, op.count--, op.send++));
	EXPECT_OP(-EINVAL, (op.send = at + MIB, op.count = 1));
	EXPECT_OP(-EINVAL, op.recv = at + 2 * MIB);
	EXPECT_OP(-EINVAL, op.send_buffer = half);
	EXPECT_OP(-ENOENT, op.send_buffer = 77);
	EXPECT_OP(-ENOENT, op.recv_buffer = 4097);
	EXPECT_OP(0, (op.recv += 64 * KIB - 1, op.count = 1));
	EXPECT_OP(0, (op.send_buffer = 0, op.send = at + 3 * MIB));
	EXPECT_OP(0, (op.recv_buffer = 0, op.recv = at + 3 * MIB));
	EXPECT_EQ(64 + 1024, pinned_kib());
}

TEST_F(one_rank, limit)
{
	const int fd = self->rank.fd;
	__u32 a, b;

	ASSERT_TRUE(memlock_limit(MIB));
	/* A process with CAP_IPC_LOCK has no limit. */
	ASSERT_EQ(0, member_register(fd, self->memory, 2 * MIB, 0, &a));
	EXPECT_EQ(0, member_unregister(fd, a));

	ASSERT_TRUE(drop_ipc_lock());
	EXPECT_EQ(-EDQUOT, member_register(fd, self->memory, 2 * MIB, 0, &a));
	EXPECT_EQ(-EDQUOT, member_register(fd, self->memory, MIB + 1, 0, &a));
	EXPECT_EQ(0, member_register(fd, self->memory, MIB, 0, &a));
	EXPECT_EQ(-EDQUOT, member_register(fd, self->memory, 1, 0, &b));
	EXPECT_EQ(-EDQUOT, member_allreduce(fd, self->memory, self->memory, 1, COLLECTIVE_UINT8,
					    COLLECTIVE_SUM));
	EXPECT_EQ(1024, pinned_kib());
	EXPECT_EQ(0, member_unregister(fd, a));
	EXPECT_EQ(0, member_register(fd, self->memory, MIB - self->page, 0, &a));
	EXPECT_EQ(0, member_allreduce(fd, self->memory, self->memory, 1, COLLECTIVE_UINT8,
				      COLLECTIVE_SUM));
	EXPECT_EQ(-EDQUOT, member_allreduce(fd, self->memory, self->memory + 2 * MIB, 1,
					    COLLECTIVE_UINT8, COLLECTIVE_SUM));
	EXPECT_EQ(0, member_unregister(fd, a));
	EXPECT_EQ(0, pinned_kib());
}

struct refused {
	int fd;
	__u8 *memory;
	bool ended;
	int err;
};

/* Register more than the limit allows, again and again. */
static void *register_too_much(void *arg)
{
	struct refused *refused = arg;
	__u32 buffer;

	do {
		refused->err = member_register(refused->fd, refused->memory, 2 * MIB, 0, &buffer);
	} while (refused->err == -EDQUOT && !__atomic_load_n(&refused->ended, __ATOMIC_RELAXED));
	return NULL;
}

/* A registration that is refused does not count against the limit, not even for a moment. */
TEST_F(one_rank, limit_beside)
{
	struct refused refused = { .fd = member_open(), .memory = self->memory };
	const __u64 end = now_ms() + 2000;
	struct sockaddr_storage addr;
	pthread_t thread;
	__u32 buffer;
	char name[33];
	int err = 0;
	__u64 id;

	group_unique(name, sizeof(name), &id);
	ASSERT_EQ(0, member_join(refused.fd, name, id, 0, 1, &addr));
	ASSERT_TRUE(memlock_limit(MIB));
	ASSERT_TRUE(drop_ipc_lock());
	ASSERT_EQ(0, pthread_create(&thread, NULL, register_too_much, &refused));
	while (!err && now_ms() < end) {
		err = member_register(self->rank.fd, self->memory, MIB, 0, &buffer) ?:
		      member_unregister(self->rank.fd, buffer);
	}
	__atomic_store_n(&refused.ended, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, err);
	EXPECT_EQ(-EDQUOT, refused.err);
	close(refused.fd);
}

/* Memory that was pinned under a limit is returned to it, whichever process closes the file. */
TEST_F(one_rank, limit_comes_back)
{
	int i, fd;
	__u32 buffer;

	ASSERT_TRUE(memlock_limit(MIB));
	ASSERT_TRUE(drop_ipc_lock());
	for (i = 0; i < 8; i++) {
		char name[33];
		struct sockaddr_storage addr;
		__u64 id;

		group_unique(name, sizeof(name), &id);
		fd = member_open();
		ASSERT_EQ(0, member_join(fd, name, id, 0, 1, &addr));
		EXPECT_EQ(0, member_register(fd, self->memory, MIB, 0, &buffer));
		close(fd);
	}
}

/* The pages found at REGISTER are used, even if others are mapped there later. */
TEST_F(one_rank, unmapped_while_registered)
{
	const int fd = self->rank.fd;
	__u8 *memory = self->memory;
	__u32 buffer;
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_UINT8,
		.count = MIB,
		.send = (uintptr_t)memory,
		.recv = (uintptr_t)memory + 2 * MIB,
	};

	memset(memory, 0x77, MIB);
	ASSERT_EQ(0, member_register(fd, memory, MIB, 0, &buffer));
	ASSERT_EQ(0, munmap(memory, MIB));
	op.send_buffer = buffer;
	EXPECT_EQ(0, member_submit(fd, &op));
	EXPECT_EQ(0x77, memory[2 * MIB]);
	EXPECT_EQ(0x77, memory[3 * MIB - 1]);
	EXPECT_EQ(0, member_unregister(fd, buffer));
	EXPECT_EQ(-EFAULT, (op.send_buffer = 0, member_submit(fd, &op)));
}

TEST_F(one_rank, kinds_of_memory)
{
	const int fd = self->rank.fd;
	__u8 *shared, *file, *mine = self->memory;
	int shm = memfd_create("memory_test", 0);
	__u32 buffer;

	shared = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, shared);
	ASSERT_EQ(0, ftruncate(shm, MIB));
	file = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, shm, 0);
	ASSERT_NE(MAP_FAILED, file);
	memset(mine, 0x42, MIB);
	EXPECT_EQ(0, member_allreduce(fd, mine, shared, MIB, COLLECTIVE_UINT8, COLLECTIVE_MAX));
	EXPECT_EQ(0, memcmp(mine, shared, MIB));
	ASSERT_EQ(0, member_register(fd, file, MIB, 0, &buffer));
	EXPECT_EQ(0, member_allreduce(fd, shared, file, MIB, COLLECTIVE_UINT8, COLLECTIVE_MAX));
	EXPECT_EQ(0, memcmp(mine, file, MIB));
	EXPECT_EQ(0, member_unregister(fd, buffer));
	/* Beyond the end of the file. */
	ASSERT_EQ(0, ftruncate(shm, MIB / 2));
	EXPECT_EQ(-EFAULT, member_allreduce(fd, file, file, MIB, COLLECTIVE_UINT8,
					    COLLECTIVE_MAX));
	EXPECT_EQ(0, pinned_kib());
	munmap(shared, MIB);
	munmap(file, MIB);
	close(shm);
}

/* The read-only text of the program can be sent. */
TEST_F(one_rank, read_only_memory)
{
	static const __u8 constant[4096] = { [0 ... 4095] = 9 };

	EXPECT_EQ(0, member_allreduce(self->rank.fd, constant, self->memory, sizeof(constant),
				      COLLECTIVE_UINT8, COLLECTIVE_SUM));
	EXPECT_EQ(9, self->memory[4095]);
	EXPECT_EQ(-EFAULT, member_allreduce(self->rank.fd, self->memory, (void *)constant,
					    sizeof(constant), COLLECTIVE_UINT8, COLLECTIVE_SUM));
}

/*
 * Between ranks
 */

enum { FLAG_UNREGISTERED };

struct unregistering {
	struct rank *rank;
	__u32 buffer;
	__u8 *memory;
	bool unmap;
};

static void *unregister_soon(void *arg)
{
	struct unregistering *u = arg;
	struct collective_status status;

	do {
		usleep(1000);
	} while (!member_status(u->rank->fd, &status) && !status.inflight);
	member_unregister(u->rank->fd, u->buffer);
	if (u->unmap)
		munmap(u->memory, 2 * MIB);
	flag_add(u->rank->shared, FLAG_UNREGISTERED);
	return NULL;
}

/* Another thread unregisters and unmaps the buffer during an operation. */
static int rank_unregister(struct rank *r)
{
	const bool unmap = *(bool *)r->arg;
	__u8 *memory = mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct unregistering u = { .rank = r, .memory = memory, .unmap = unmap };
	struct collective_op op = {
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_UINT8,
		.count = 2 * MIB,
		.send = (uintptr_t)memory,
		.recv = (uintptr_t)memory,
	};
	pthread_t thread;

	CHECK(memory != MAP_FAILED);
	memset(memory, r->rank + 1, 2 * MIB);
	if (!r->rank) {
		CHECK(flag_wait(r->shared, FLAG_UNREGISTERED, r->nranks - 1, 20000));
		CHECK_EQ(0, member_submit(r->fd, &op));
		CHECK(memory[0] == 6 && memory[2 * MIB - 1] == 6);
		return 0;
	}
	CHECK_EQ(0, member_register(r->fd, memory, 2 * MIB, 0, &u.buffer));
	op.send_buffer = u.buffer;
	op.recv_buffer = u.buffer;
	CHECK_EQ(0, pthread_create(&thread, NULL, unregister_soon, &u));
	CHECK_EQ(0, member_submit(r->fd, &op));
	pthread_join(thread, NULL);
	if (!unmap)
		CHECK(memory[0] == 6 && memory[2 * MIB - 1] == 6);
	CHECK_EQ(0, pinned_kib());
	CHECK_EQ(0, rank_value(r, "pinned_bytes"));
	CHECK_EQ(-ENOENT, member_unregister(r->fd, u.buffer));
	return 0;
}

TEST(unregister_in_operation)
{
	const struct group_config config = { .nranks = 3 };
	bool unmap = false;

	EXPECT_EQ(0, group_run(&config, rank_unregister, &unmap));
	unmap = true;
	EXPECT_EQ(0, group_run(&config, rank_unregister, &unmap));
}

/* The memory of a killed process no longer counts against the user. */
static int rank_killed(struct rank *r)
{
	__u8 *memory = mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	__u32 buffer;

	CHECK(memory != MAP_FAILED);
	CHECK_EQ(0, member_register(r->fd, memory, MIB, 0, &buffer));
	flag_set(r->shared, r->rank, 1);
	for (;;)
		if (member_allreduce(r->fd, memory + MIB, memory + MIB, MIB, COLLECTIVE_UINT8,
				     COLLECTIVE_SUM))
			sleep_ms(10);
	return 0;
}

TEST(killed)
{
	const struct group_config config = { .nranks = 2 };
	struct group group;
	int round, i;

	/* Two operations at a time use the whole limit. */
	ASSERT_TRUE(drop_ipc_lock());
	ASSERT_TRUE(memlock_limit(4 * MIB));
	for (round = 0; round < 4; round++) {
		ASSERT_EQ(0, group_start(&group, &config, rank_killed, NULL));
		for (i = 0; i < 2; i++)
			ASSERT_TRUE(flag_wait(group.shared, i, 1, 10000));
		usleep(round * 20000);
		for (i = 0; i < 2; i++)
			kill(group.pid[i], SIGKILL);
		EXPECT_EQ(2, group_wait(&group));
	}
}

TEST_HARNESS_MAIN
