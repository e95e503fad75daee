// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes every allocation of a call fail in turn (fail-nth of the kernel's fault injection; debug
 * kernel only). Either the call succeeds, or it fails and has changed nothing: the same call then
 * succeeds, and nothing leaks.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/fail_nth.h"
#include "lib/open_device.h"
#include "lib/memlock.h"
#include "lib/two_ranks.h"
#include "lib/lib_group.h"

#define COUNT	(1 << 18)

TEST_F_TIMEOUT(open_device, join, 100)
{
	struct collective_join join;
	unsigned int nth, failed = 0;
	bool more = true;
	int err, fd;

	if (!fail_nth_available())
		SKIP(return, "no fault injection in this kernel");
	for (nth = 1; more && nth < MOST; nth++) {
		fd = member_open();
		join_valid(&join, self->name, self->id);
		join.nranks = 9;
		fail_nth_arm(nth);
		err = member_ioctl(fd, COLLECTIVE_IOC_JOIN, &join);
		more = fail_nth_disarm();
		failed += !!err;
		if (err) {
			ASSERT_TRUE(no_memory(err)) TH_LOG("allocation %u: %d", nth, err);
			join_valid(&join, self->name, self->id);
			join.nranks = 9;
			ASSERT_EQ(0, member_ioctl(fd, COLLECTIVE_IOC_JOIN, &join))
				TH_LOG("after allocation %u", nth);
		}
		close(fd);
		ASSERT_EQ(0, group_count());
	}
	EXPECT_FALSE(more);
	EXPECT_LT(10, failed);
	TH_LOG("%u allocations, %u of them needed", nth - 2, failed);
}

/* CONNECT, called again, continues where the failed call has stopped. */
TEST_F_TIMEOUT(open_device, connect, 200)
{
	struct sockaddr_storage addr[2];
	unsigned int nth, failed = 0;
	bool more = true;
	int err, fd[2];
	char name[33];
	__u64 id;

	if (!fail_nth_available())
		SKIP(return, "no fault injection in this kernel");
	for (nth = 1; more && nth < MOST; nth++) {
		ASSERT_EQ(0, two_ranks_join(fd, addr, name, &id));
		fcntl(fd[0], F_SETFL, O_NONBLOCK);
		fail_nth_arm(nth);
		err = member_connect(fd[0], addr, 2, 20000);
		more = fail_nth_disarm();
		if (err && err != -EINPROGRESS) {
			failed++;
			ASSERT_TRUE(no_memory(err)) TH_LOG("allocation %u: %d", nth, err);
		}
		if (err) {
			err = two_ranks_connect(fd, addr);
			/* A packet that could not be allocated is sent again. */
			ASSERT_EQ(0, err) TH_LOG("allocation %u", nth);
		}
		ASSERT_EQ(0, links_check(name, 0, links_local()));
		close(fd[0]);
		close(fd[1]);
		ASSERT_EQ(0, group_count());
	}
	EXPECT_FALSE(more);
	EXPECT_LE(2, failed);
	TH_LOG("%u allocations, %u of them needed", nth - 2, failed);
}

/* Among this many ranks, the first has no link to the fourth before it needs one. */
#define RANKS	6

/*
 * Send a message that needs a new link, with the @nth allocation failing; if the call failed,
 * send it again.
 */
static int demand(const int *fd, unsigned int nth, bool *more, unsigned int *failed)
{
	__s32 data[2] = { 42, 0 };
	struct collective_op send = {
		.opcode = COLLECTIVE_SEND,
		.type = COLLECTIVE_INT32,
		.root = 3,
		.count = 1,
		.timeout_ms = 10000,
		.send = (uintptr_t)&data[0],
	};
	struct collective_op recv = {
		.opcode = COLLECTIVE_RECV,
		.type = COLLECTIVE_INT32,
		.count = 1,
		.timeout_ms = 10000,
		.recv = (uintptr_t)&data[1],
	};
	__u64 request, other;
	int err;

	CHECK_EQ(0, member_start(fd[3], &recv, &other));
	fail_nth_arm(nth);
	err = member_start(fd[0], &send, &request);
	*more = fail_nth_disarm();
	if (err) {
		++*failed;
		CHECK(no_memory(err));
		CHECK_EQ(0, member_start(fd[0], &send, &request));
	}
	CHECK_EQ(0, member_wait(fd[0], request, 0));
	CHECK_EQ(0, member_wait(fd[3], other, 0));
	CHECK_EQ(42, data[1]);
	return 0;
}

TEST_F_TIMEOUT(open_device, demand, 200)
{
	unsigned int nth, i, failed = 0;
	bool more = true;
	struct sockaddr_storage addr[RANKS];
	int fd[RANKS];

	if (!fail_nth_available())
		SKIP(return, "no fault injection in this kernel");
	for (nth = 1; more && nth < MOST; nth++) {
		ASSERT_EQ(0, members_make(fd, addr, RANKS, self->name, self->id + nth));
		ASSERT_EQ(0, demand(fd, nth, &more, &failed)) TH_LOG("allocation %u", nth);
		ASSERT_EQ(0, links_check(self->name, 0, links_local()));
		for (i = 0; i < RANKS; i++)
			close(fd[i]);
		ASSERT_EQ(0, group_count());
	}
	EXPECT_FALSE(more);
	EXPECT_LT(5, failed);
	TH_LOG("%u allocations, %u of them needed", nth - 2, failed);
}

static float *area(void)
{
	void *p = mmap(NULL, COUNT * sizeof(float), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Register until no allocation fails; *@failed counts the failures. */
static void register_each(struct __test_metadata *_metadata, int fd, float *memory,
			  unsigned int *failed)
{
	bool more = true;
	unsigned int nth;
	__u32 buffer;
	int err;

	*failed = 0;
	for (nth = 1; more && nth < MOST; nth++) {
		fail_nth_arm(nth);
		err = member_register(fd, memory, COUNT * sizeof(float), 0, &buffer);
		more = fail_nth_disarm();
		*failed += !!err;
		if (err) {
			ASSERT_TRUE(no_memory(err)) TH_LOG("allocation %u: %d", nth, err);
			ASSERT_EQ(0, process_value(0, "VmPin:"));
		} else {
			ASSERT_EQ(0, member_unregister(fd, buffer));
		}
	}
	EXPECT_FALSE(more);
	EXPECT_EQ(0, process_value(0, "VmPin:"));
	TH_LOG("%u allocations, %u of them needed", nth - 2, *failed);
}

TEST_F_TIMEOUT(two_ranks, register, 100)
{
	unsigned int round, failed = 0;
	float *memory = area();

	if (!fail_nth_available())
		SKIP(return, "no fault injection in this kernel");
	/* A slab that needs pages falls back to a smaller order if that allocation fails. */
	for (round = 0; round < 5 && failed < 2; round++)
		register_each(_metadata, self->fd[0], memory, &failed);
	EXPECT_LE(2, failed);
}

/* With a memlock limit, so that pages that stay counted after a failure show. */
TEST_F_TIMEOUT(two_ranks, map, 100)
{
	const size_t size = 4 << 20;
	unsigned int nth, failed = 0;
	bool more = true;
	void *at;

	if (!fail_nth_available())
		SKIP(return, "no fault injection in this kernel");
	ASSERT_TRUE(memlock_limit(size) && drop_ipc_lock());
	for (nth = 1; more && nth < MOST; nth++) {
		fail_nth_arm(nth);
		at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd[0], 0);
		more = fail_nth_disarm();
		if (at == MAP_FAILED) {
			failed++;
			ASSERT_EQ(ENOMEM, errno) TH_LOG("allocation %u", nth);
			at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd[0], 0);
		}
		ASSERT_NE(MAP_FAILED, at) TH_LOG("after allocation %u: %d", nth, errno);
		memset(at, 1, size);
		ASSERT_EQ(0, munmap(at, size));
	}
	EXPECT_FALSE(more);
	EXPECT_LE(2, failed);
	TH_LOG("%u allocations, %u of them needed", nth - 2, failed);
}

static struct collective_op sum_op(float *send, float *recv)
{
	return (struct collective_op){
		.opcode = COLLECTIVE_ALLREDUCE,
		.type = COLLECTIVE_FLOAT32,
		.count = COUNT,
		.send = (uintptr_t)send,
		.recv = (uintptr_t)recv,
	};
}

/* Both ranks do an allreduce; check the result. */
static int sum_together(const int *fd, float *const *send, float *const *recv)
{
	struct collective_op op;
	__u64 request[2];
	int i;

	for (i = 0; i < 2; i++) {
		op = sum_op(send[i], recv[i]);
		CHECK_EQ(0, member_start(fd[i], &op, &request[i]));
	}
	for (i = 0; i < 2; i++) {
		CHECK_EQ(0, member_wait(fd[i], request[i], 0));
		CHECK_EQ(3, (int)recv[i][COUNT - 1]);
	}
	return 0;
}

TEST_F_TIMEOUT(two_ranks, submit, 200)
{
	float *send[2] = { area(), area() }, *recv[2] = { area(), area() };
	unsigned int nth, failed = 0;
	struct collective_op op;
	__u64 request, other;
	bool more = true;
	int err;

	if (!fail_nth_available())
		SKIP(return, "no fault injection in this kernel");
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	send[0][COUNT - 1] = 1;
	send[1][COUNT - 1] = 2;
	for (nth = 1; more && nth < MOST; nth++) {
		op = sum_op(send[0], recv[0]);
		fail_nth_arm(nth);
		err = member_start(self->fd[0], &op, &request);
		more = fail_nth_disarm();
		failed += !!err;
		if (err) {
			ASSERT_TRUE(no_memory(err)) TH_LOG("allocation %u: %d", nth, err);
			ASSERT_EQ(0, process_value(0, "VmPin:"));
		} else {
			op = sum_op(send[1], recv[1]);
			ASSERT_EQ(0, member_start(self->fd[1], &op, &other));
			ASSERT_EQ(0, member_wait(self->fd[0], request, 0))
				TH_LOG("allocation %u", nth);
			ASSERT_EQ(0, member_wait(self->fd[1], other, 0));
			ASSERT_EQ(3, (int)recv[0][COUNT - 1]);
		}
	}
	EXPECT_FALSE(more);
	EXPECT_LE(2, failed);
	EXPECT_EQ(0, sum_together(self->fd, send, recv));
	EXPECT_EQ(0, process_value(0, "VmPin:"));
	TH_LOG("%u allocations, %u of them needed", nth - 2, failed);
}

/* Through a ring; allocations of io_uring itself fail, too. */
TEST_F_TIMEOUT(two_ranks, uring, 200)
{
	float *send[2] = { area(), area() }, *recv[2] = { area(), area() };
	unsigned int nth, failed = 0;
	struct io_uring_cqe *cqe;
	struct collective_op op;
	struct io_uring_sqe *sqe;
	struct io_uring ring;
	bool more = true;
	__u64 other;
	int err;

	if (!fail_nth_available())
		SKIP(return, "no fault injection in this kernel");
	ASSERT_EQ(0, two_ranks_connect(self->fd, self->addr));
	send[0][COUNT - 1] = 1;
	send[1][COUNT - 1] = 2;
	for (nth = 1; more && nth < MOST; nth++) {
		ASSERT_EQ(0, io_uring_queue_init(8, &ring, IORING_SETUP_SQE128));
		op = sum_op(send[0], recv[0]);
		sqe = io_uring_get_sqe(&ring);
		memset(sqe, 0, 2 * sizeof(*sqe));
		sqe->opcode = IORING_OP_URING_CMD;
		sqe->fd = self->fd[0];
		sqe->cmd_op = COLLECTIVE_IOC_SUBMIT;
		memcpy(sqe->cmd, &op, sizeof(op));
		fail_nth_arm(nth);
		err = io_uring_submit(&ring);
		more = fail_nth_disarm();
		/* If io_uring itself cannot allocate, it returns one of several errors. */
		if (err == 1 && !io_uring_peek_cqe(&ring, &cqe) && cqe->res < 0)
			err = cqe->res;
		if (err != 1) {
			failed++;
			ASSERT_TRUE(no_memory(err) || err == -EAGAIN || !err)
				TH_LOG("allocation %u: %d", nth, err);
		} else {
			op = sum_op(send[1], recv[1]);
			ASSERT_EQ(0, member_start(self->fd[1], &op, &other));
			ASSERT_EQ(0, member_wait(self->fd[1], other, 0));
			ASSERT_EQ(0, io_uring_wait_cqe(&ring, &cqe));
			ASSERT_EQ(0, cqe->res) TH_LOG("allocation %u", nth);
			ASSERT_EQ(3, (int)recv[0][COUNT - 1]);
		}
		io_uring_queue_exit(&ring);
	}
	EXPECT_FALSE(more);
	EXPECT_LE(2, failed);
	EXPECT_EQ(0, sum_together(self->fd, send, recv));
	EXPECT_EQ(0, process_value(0, "VmPin:"));
	TH_LOG("%u allocations, %u of them needed", nth - 2, failed);
}

TEST_HARNESS_MAIN
