// SPDX-License-Identifier: GPL-2.0-only
/*
 * Small operations that the thread of SUBMIT executes: without locked memory; with wrong buffers,
 * which leave the order as it was; counted; beside other threads; while there is no memory for a
 * request, until the other ranks call, the deadline is over, or the process is killed.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "lib/as_user.h"
#include "lib/local_only.h"
#include "lib/memlock.h"
#include "lib/two_ranks.h"

#define RANKS	2
#define COUNT	4

FIXTURE_VARIANT(immediate) {
	__u8 opcode;
	__u32 root;
};

FIXTURE(immediate) {
	int fd[RANKS];
	struct sockaddr_storage addr[RANKS];
	char name[33];
	__u64 id;
	__s64 *memory;
	size_t page;
};

FIXTURE_SETUP(immediate)
{
	self->page = getpagesize();
	self->memory = mmap(NULL, 4 * self->page, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->memory);
	ASSERT_EQ(0, two_ranks_join(self->fd, self->addr, self->name, &self->id));
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
}

FIXTURE_TEARDOWN(immediate)
{
	close(self->fd[0]);
	close(self->fd[1]);
	munmap(self->memory, 4 * self->page);
}

FIXTURE_VARIANT_ADD(immediate, allreduce) { COLLECTIVE_ALLREDUCE, 0 };
FIXTURE_VARIANT_ADD(immediate, reduce) { COLLECTIVE_REDUCE, 1 };
FIXTURE_VARIANT_ADD(immediate, reduce_scatter) { COLLECTIVE_REDUCE_SCATTER, 0 };
FIXTURE_VARIANT_ADD(immediate, scan) { COLLECTIVE_SCAN, 0 };
FIXTURE_VARIANT_ADD(immediate, exscan) { COLLECTIVE_EXSCAN, 0 };
FIXTURE_VARIANT_ADD(immediate, broadcast) { COLLECTIVE_BROADCAST, 0 };
FIXTURE_VARIANT_ADD(immediate, allgather) { COLLECTIVE_ALLGATHER, 0 };
FIXTURE_VARIANT_ADD(immediate, gather) { COLLECTIVE_GATHER, 1 };
FIXTURE_VARIANT_ADD(immediate, scatter) { COLLECTIVE_SCATTER, 0 };
FIXTURE_VARIANT_ADD(immediate, alltoall) { COLLECTIVE_ALLTOALL, 0 };

/* Rank @rank's call: its input is 10 * rank + i + 1, @memory has input and result. */
static struct collective_op call_of(__u8 opcode, __u32 root, int rank, __s64 *memory, size_t count)
{
	const bool reduces = opcode == COLLECTIVE_ALLREDUCE || opcode == COLLECTIVE_REDUCE ||
			     opcode == COLLECTIVE_REDUCE_SCATTER || opcode == COLLECTIVE_SCAN ||
			     opcode == COLLECTIVE_EXSCAN;
	size_t i;

	for (i = 0; i < RANKS * count; i++) {
		memory[i] = 10 * rank + i + 1;
		memory[RANKS * count + i] = -1;
	}
	return (struct collective_op){
		.opcode = opcode,
		.type = COLLECTIVE_INT64,
		.reduction = reduces ? COLLECTIVE_SUM : 0,
		.root = root,
		.count = count,
		.send = (uintptr_t)memory,
		.recv = (uintptr_t)(memory + RANKS * count),
	};
}

/* Element @i of the result of @rank; -1: it is not stored. */
static __s64 expected(__u8 opcode, __s64 root, __s64 rank, __s64 count, __s64 i)
{
	const __s64 from = i / count;
	const __s64 own = 10 * rank + i + 1, sum = 10 + 2 * (i + 1);

	switch (opcode) {
	case COLLECTIVE_ALLREDUCE:
		return i < count ? sum : -1;
	case COLLECTIVE_REDUCE:
		return i < count && rank == root ? sum : -1;
	case COLLECTIVE_REDUCE_SCATTER:
		return i < count ? 10 + 2 * (rank * count + i + 1) : -1;
	case COLLECTIVE_SCAN:
		return i < count ? (rank ? sum : own) : -1;
	case COLLECTIVE_EXSCAN:
		return i < count && rank ? i + 1 : -1;
	case COLLECTIVE_BROADCAST:
		return i < count ? 10 * root + i + 1 : -1;
	case COLLECTIVE_ALLGATHER:
		return 10 * from + i % count + 1;
	case COLLECTIVE_GATHER:
		return rank == root ? 10 * from + i % count + 1 : -1;
	case COLLECTIVE_SCATTER:
		return i < count ? 10 * root + rank * count + i + 1 : -1;
	default:
		return 10 * from + rank * count + i % count + 1;
	}
}

/* The number of wrong elements of both results. */
static int wrong_elements(__u8 opcode, __u32 root, __s64 *const *memory, size_t count)
{
	int rank, wrong = 0;
	size_t i;

	for (rank = 0; rank < RANKS; rank++)
		for (i = 0; i < RANKS * count; i++)
			wrong += memory[rank][RANKS * count + i] !=
				 expected(opcode, root, rank, count, i);
	return wrong;
}

/* One operation: rank 0 calls and does not wait, then rank 1, then rank 0 waits. */
static int in_turn(const int *fd, const struct collective_op *op)
{
	__u64 request;
	int err = member_start(fd[0], &op[0], &request);

	if (err)
		return err;
	err = member_submit(fd[1], &op[1]);
	return member_wait(fd[0], request, 0) ?: err;
}

/* Results, and the counters of the rank that executes its part itself. */
TEST_F(immediate, results)
{
	__s64 *memory[RANKS] = { self->memory, self->memory + self->page / 8 };
	const size_t counts[] = { 1, COUNT, 64 };
	struct collective_status before, after;
	struct collective_op op[RANKS];
	unsigned int i, rank;

	ASSERT_EQ(0, member_status(self->fd[1], &before));
	for (i = 0; i < 3; i++) {
		for (rank = 0; rank < RANKS; rank++)
			op[rank] = call_of(variant->opcode, variant->root, rank, memory[rank],
					   counts[i]);
		ASSERT_EQ(0, in_turn(self->fd, op));
		EXPECT_EQ(0, wrong_elements(variant->opcode, variant->root, memory, counts[i]));
	}
	ASSERT_EQ(0, member_status(self->fd[1], &after));
	EXPECT_EQ(before.submitted + 3, after.submitted);
	EXPECT_EQ(before.completed + 3, after.completed);
	EXPECT_EQ(0, after.inflight);
}

/* A wrong buffer is refused before the call has its place: the next one is in step. */
TEST_F(immediate, wrong_buffers)
{
	__s64 *memory[RANKS] = { self->memory, self->memory + self->page / 8 };
	__s64 *guard = self->memory + 3 * self->page / 8;
	struct collective_op op[RANKS], wrong;
	unsigned int rank;

	if (variant->opcode != COLLECTIVE_ALLREDUCE)
		SKIP(return, "allreduce has both buffers");
	for (rank = 0; rank < RANKS; rank++)
		op[rank] = call_of(variant->opcode, variant->root, rank, memory[rank], COUNT);
	wrong = op[1];
	wrong.send = 8;
	EXPECT_EQ(-EFAULT, member_submit(self->fd[1], &wrong));
	wrong = op[1];
	wrong.recv = 8;
	EXPECT_EQ(-EFAULT, member_submit(self->fd[1], &wrong));
	wrong.recv = 1ULL << 63;
	EXPECT_EQ(-EFAULT, member_submit(self->fd[1], &wrong));
	/* The last element is in a page that cannot be written. */
	ASSERT_EQ(0, mprotect(guard, self->page, PROT_READ));
	wrong.recv = (uintptr_t)(guard - COUNT + 1);
	EXPECT_EQ(-EFAULT, member_submit(self->fd[1], &wrong));
	wrong = op[1];
	wrong.recv += 4;
	EXPECT_EQ(-EINVAL, member_submit(self->fd[1], &wrong));
	ASSERT_EQ(0, in_turn(self->fd, op));
	EXPECT_EQ(0, wrong_elements(variant->opcode, variant->root, memory, COUNT));
}

/* What the rank that calls last needs is there already, and it pins nothing. */
static int without_locked_memory(const void *arg)
{
	const __u8 opcode = *(const __u8 *)arg;
	static __s64 memory[RANKS][2 * RANKS * COUNT];
	__s64 *all[RANKS] = { memory[0], memory[1] };
	struct sockaddr_storage addr[RANKS];
	struct collective_op op[RANKS];
	int fd[RANKS], rank;
	__u64 id, request;
	char name[33];

	for (rank = 0; rank < RANKS; rank++)
		op[rank] = call_of(opcode, 0, rank, memory[rank], COUNT);
	CHECK(!two_ranks_join(fd, addr, name, &id));
	CHECK(!two_ranks_connect(fd, addr));
	/* Pinned once, so that the call of rank 0 has what it needs. */
	CHECK(!in_turn(fd, op));
	for (rank = 0; rank < RANKS; rank++)
		op[rank] = call_of(opcode, 0, rank, memory[rank], COUNT);
	CHECK(!member_start(fd[0], &op[0], &request));
	CHECK(memlock_limit(0));
	CHECK(!member_submit(fd[1], &op[1]));
	CHECK(!member_wait(fd[0], request, 0));
	CHECK(!wrong_elements(opcode, 0, all, COUNT));
	close(fd[0]);
	close(fd[1]);
	return 0;
}

TEST_F(immediate, without_locked_memory)
{
	if (variant->root)
		SKIP(return, "the same with another root");
	EXPECT_EQ(0, as_other_user(without_locked_memory, &variant->opcode));
}

/* Two ranks, of which the second may lock no memory, and calls first. */
struct poor {
	int fd[RANKS];
	__s64 memory[RANKS][2 * RANKS * COUNT];
	struct collective_op op[RANKS];
};

static int poor_make(struct poor *poor)
{
	struct sockaddr_storage addr[RANKS];
	char name[33];
	int rank;
	__u64 id;

	CHECK(!two_ranks_join(poor->fd, addr, name, &id));
	CHECK(!two_ranks_connect(poor->fd, addr));
	for (rank = 0; rank < RANKS; rank++)
		poor->op[rank] = call_of(COLLECTIVE_REDUCE_SCATTER, 0, rank, poor->memory[rank],
					 COUNT);
	CHECK(!in_turn(poor->fd, poor->op));
	CHECK(memlock_limit(0));
	return 0;
}

struct late_call {
	struct poor *poor;
	pthread_t thread;
	int err;
};

static void *call_late(void *arg)
{
	struct late_call *late = arg;

	sleep_ms(300);
	late->err = member_submit(late->poor->fd[0], &late->poor->op[0]);
	return NULL;
}

static int awaited_child(const void *arg)
{
	static struct poor poor;
	__s64 *all[RANKS] = { poor.memory[0], poor.memory[1] };
	struct late_call late = { .poor = &poor };

	(void)arg;
	CHECK(!poor_make(&poor));
	CHECK(!pthread_create(&late.thread, NULL, call_late, &late));
	CHECK(!member_submit(poor.fd[1], &poor.op[1]));
	pthread_join(late.thread, NULL);
	CHECK(!late.err);
	CHECK(!wrong_elements(COLLECTIVE_REDUCE_SCATTER, 0, all, COUNT));
	return 0;
}

/* Without memory for a request the thread waits itself. */
TEST(awaited)
{
	EXPECT_EQ(0, as_other_user(awaited_child, NULL));
}

static int overdue_child(const void *arg)
{
	const struct collective_op barrier[RANKS] = {
		{ .opcode = COLLECTIVE_BARRIER }, { .opcode = COLLECTIVE_BARRIER },
	};
	static struct poor poor;

	(void)arg;
	CHECK(!poor_make(&poor));
	poor.op[1].timeout_ms = 200;
	CHECK(member_submit(poor.fd[1], &poor.op[1]) == -ETIMEDOUT);
	/* The other rank hears of it, whatever it calls, and both go on. */
	CHECK(member_submit(poor.fd[0], &barrier[0]) == -ETIMEDOUT);
	CHECK(!in_turn(poor.fd, barrier));
	return 0;
}

TEST(overdue)
{
	EXPECT_EQ(0, as_other_user(overdue_child, NULL));
}

static int killed_child(const void *arg)
{
	static struct poor poor;

	(void)arg;
	CHECK(!poor_make(&poor));
	alarm(1);
	return member_submit(poor.fd[1], &poor.op[1]) ? 2 : 3;
}

TEST(killed)
{
	const int status = as_other_user(killed_child, NULL);

	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) TH_LOG("%x", status);
}

/* Memory that cannot be pinned, whichever rank is late: the other one never succeeds alone. */
TEST_F(immediate, memory_that_cannot_be_pinned)
{
	int file = syscall(SYS_memfd_secret, 0), i;
	__s64 *memory[RANKS] = { self->memory };
	struct collective_op op[RANKS];
	struct poor late = { .fd = { self->fd[0], self->fd[1] } };
	struct late_call call = { .poor = &late };

	if (variant->root)
		SKIP(return, "the same with another root");
	if (file < 0 || ftruncate(file, self->page))
		SKIP(return, "no memory that cannot be pinned");
	memory[1] = mmap(NULL, self->page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	ASSERT_NE(MAP_FAILED, memory[1]);
	for (i = 0; i < 2; i++) {
		op[0] = call_of(variant->opcode, 0, 0, memory[0], COUNT);
		op[1] = call_of(variant->opcode, 0, 1, memory[1], COUNT);
		if (i) {
			ASSERT_EQ(0, in_turn(self->fd, op));
		} else {
			late.op[0] = op[0];
			ASSERT_EQ(0, pthread_create(&call.thread, NULL, call_late, &call));
			EXPECT_EQ(0, member_submit(self->fd[1], &op[1]));
			pthread_join(call.thread, NULL);
			EXPECT_EQ(0, call.err);
		}
		EXPECT_EQ(0, wrong_elements(variant->opcode, 0, memory, COUNT));
	}
	munmap(memory[1], self->page);
}

struct caller {
	const int *fd;
	int rank;
	pthread_t thread;
	int err;
};

#define ROUNDS	500

static void *call_often(void *arg)
{
	struct caller *caller = arg;
	__s64 in, out;
	int i;

	for (i = 0; !caller->err && i < ROUNDS; i++) {
		struct collective_op op = {
			.opcode = COLLECTIVE_ALLREDUCE, .type = COLLECTIVE_INT64, .count = 1,
			.send = (uintptr_t)&in, .recv = (uintptr_t)&out,
		};

		/* Which call of the other rank it meets is not known, but all add the same. */
		in = caller->rank + 1;
		caller->err = member_submit(caller->fd[caller->rank], &op) ?:
			      (out == 3 ? 0 : -EBADMSG);
	}
	return NULL;
}

/* Two threads of each rank: calls of one wait for their turn behind those of the other. */
TEST(threads)
{
	struct sockaddr_storage addr[RANKS];
	struct caller caller[2 * RANKS];
	struct collective_status status;
	int fd[RANKS], i;
	char name[33];
	__u64 id;

	ASSERT_EQ(0, two_ranks_join(fd, addr, name, &id));
	ASSERT_EQ(0, two_ranks_connect(fd, addr));
	for (i = 0; i < 2 * RANKS; i++) {
		caller[i] = (struct caller){ .fd = fd, .rank = i % RANKS };
		ASSERT_EQ(0, pthread_create(&caller[i].thread, NULL, call_often, &caller[i]));
	}
	for (i = 0; i < 2 * RANKS; i++) {
		pthread_join(caller[i].thread, NULL);
		EXPECT_EQ(0, caller[i].err);
	}
	for (i = 0; i < RANKS; i++) {
		ASSERT_EQ(0, member_status(fd[i], &status));
		EXPECT_EQ(2 * ROUNDS, status.submitted);
		EXPECT_EQ(2 * ROUNDS, status.completed);
		close(fd[i]);
	}
}

TEST_HARNESS_MAIN
