// SPDX-License-Identifier: GPL-2.0-only
/* SUBMIT: refused calls change nothing. */
#include <errno.h>

#include "lib/group.h"
#include "kselftest_harness.h"
#include "lib/open_device.h"
#include "lib/one_rank.h"

TEST_F(open_device, submit_before_connect)
{
	struct sockaddr_storage addr;

	ASSERT_EQ(0, member_join(self->fd, self->name, self->id, 0, 2, &addr));
	EXPECT_EQ(-ENOTCONN, member_barrier(self->fd));
	EXPECT_EQ(0, member_leave(self->fd));
	EXPECT_EQ(-ENOTCONN, member_leave(self->fd));
	EXPECT_EQ(-ENOTCONN, member_barrier(self->fd));
}

TEST_F(one_rank, life)
{
	struct collective_status status;
	int *send = (int *)self->memory, *recv = send + 5000, i;

	EXPECT_EQ(0, member_barrier(self->fd));
	for (i = 0; i < 5000; i++)
		send[i] = i - 2500;
	EXPECT_EQ(0, member_allreduce(self->fd, send, recv, 5000, COLLECTIVE_INT32,
				      COLLECTIVE_SUM));
	EXPECT_EQ(0, memcmp(send, recv, 5000 * sizeof(int)));
	EXPECT_EQ(0, member_allreduce(self->fd, send, send, 5000, COLLECTIVE_INT32,
				      COLLECTIVE_AVG));
	EXPECT_EQ(0, memcmp(send, recv, 5000 * sizeof(int)));
	EXPECT_EQ(0, member_allreduce(self->fd, NULL, NULL, 0, COLLECTIVE_INT32, COLLECTIVE_SUM));
	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(4, status.submitted);
	EXPECT_EQ(4, status.completed);
	EXPECT_EQ(1, status.nranks);
	EXPECT_EQ(0, member_leave(self->fd));
}

TEST_F(one_rank, bad_operations)
{
	struct collective_status before, after;
	const __u64 send = (uintptr_t)self->memory, recv = send + ONE_RANK_MEMORY / 2;
	struct collective_op op;

	ASSERT_EQ(0, member_status(self->fd, &before));
#define EXPECT_OP(_error, _change) do {							\
	op = (struct collective_op) {							\
		.opcode = COLLECTIVE_ALLREDUCE,						\
		.type = COLLECTIVE_FLOAT64,						\
		.count = 8,								\
		.send = send,								\
		.recv = recv,								\
	};										\
	_change;									\
	EXPECT_EQ(_error, member_submit(self->fd, &op))					\
		TH_LOG("%s", #_change);							\
} while (0)
	EXPECT_OP(-EINVAL, op.opcode = COLLECTIVE_OPCODE_COUNT);
	EXPECT_OP(-EINVAL, op.opcode = 0xff);
	EXPECT_OP(-EOPNOTSUPP, (op.opcode = COLLECTIVE_SEND, op.recv = 0,
				op.algorithm = COLLECTIVE_ALGORITHM_RING));
	EXPECT_OP(-EINVAL, (op.opcode = COLLECTIVE_EXSCAN, op.reduction = COLLECTIVE_AVG));
	EXPECT_OP(-EINVAL, (op.opcode = COLLECTIVE_BROADCAST, op.flags = COLLECTIVE_F_WIDE));
	EXPECT_OP(-EOPNOTSUPP, (op.opcode = COLLECTIVE_SCAN, op.flags = COLLECTIVE_F_WIDE,
				op.type = COLLECTIVE_BFLOAT16));
	EXPECT_OP(-EOPNOTSUPP, (op.algorithm = COLLECTIVE_ALGORITHM_TREE, op.recv = send,
				op.count = COLLECTIVE_EAGER_LIMIT / 8 + 1));
	EXPECT_OP(-EINVAL, op.type = COLLECTIVE_TYPE_COUNT);
	EXPECT_OP(-EINVAL, op.type = 0xff);
	EXPECT_OP(-EINVAL, op.reduction = COLLECTIVE_REDUCTION_COUNT);
	EXPECT_OP(-EINVAL, op.reduction = 0xff);
	EXPECT_OP(-EINVAL, op.algorithm = COLLECTIVE_ALGORITHM_COUNT);
	EXPECT_OP(-EINVAL, op.algorithm = 0xff);
	EXPECT_OP(-EINVAL, op.flags = ~COLLECTIVE_F_ALL);
	EXPECT_OP(-EINVAL, op.flags = 1U << 31);
	EXPECT_OP(-EINVAL, (op.flags = COLLECTIVE_F_KEYED, op.key = COLLECTIVE_KEY_MAX + 1));
	EXPECT_OP(-EINVAL, op.key = 1);
	EXPECT_OP(-EINVAL, op.root = 1);
	EXPECT_OP(-EINVAL, op.root = ~0U);
	EXPECT_OP(-EINVAL, op.layout = send);
	EXPECT_OP(-EINVAL, op.reserved[0] = 1);
	EXPECT_OP(-EINVAL, op.reserved[1] = 1ULL << 63);
	/* Fields that exclude each other. */
	EXPECT_OP(-EINVAL, op.reduction = COLLECTIVE_BAND);
	EXPECT_OP(-EINVAL, (op.reduction = COLLECTIVE_BOR, op.type = COLLECTIVE_FLOAT16));
	EXPECT_OP(-EINVAL, (op.reduction = COLLECTIVE_BXOR, op.type = COLLECTIVE_BFLOAT16));
	EXPECT_OP(-EINVAL, (op.reduction = COLLECTIVE_BXOR, op.type = COLLECTIVE_FLOAT32));
	EXPECT_OP(-EINVAL, op.opcode = COLLECTIVE_BARRIER);
	/* Counts that are too large. */
	EXPECT_OP(-EOVERFLOW, op.count = ~0ULL);
	EXPECT_OP(-EOVERFLOW, op.count = 1ULL << 61);
	EXPECT_OP(-EOVERFLOW, op.count = (1ULL << 61) + 1);
	EXPECT_OP(-EOVERFLOW, op.count = 1ULL << 60);
	EXPECT_OP(-EFAULT, (op.send = op.recv = ~0xfffULL, op.count = 4096));
	/* Addresses. */
	EXPECT_OP(-EINVAL, op.send += 1);
	EXPECT_OP(-EINVAL, op.send += 4);
	EXPECT_OP(-EINVAL, op.recv += 2);
	EXPECT_OP(-EINVAL, (op.type = COLLECTIVE_INT16, op.recv += 1));
	EXPECT_OP(-EINVAL, (op.type = COLLECTIVE_FLOAT32, op.recv += 2));
	EXPECT_OP(-EINVAL, op.recv = send + 8);
	EXPECT_OP(-EINVAL, op.recv = send + 56);
	EXPECT_OP(-EINVAL, (op.send = recv + 56, op.recv = recv));
	EXPECT_OP(-ENOENT, op.send_buffer = 1);
	EXPECT_OP(-ENOENT, op.recv_buffer = 1);
	EXPECT_OP(-ENOENT, op.recv_buffer = ~0U);
	EXPECT_OP(-EFAULT, op.send = 0);
	EXPECT_OP(-EFAULT, op.recv = 0);
	EXPECT_OP(-EFAULT, op.recv = 0x1000);
	EXPECT_OP(-EFAULT, op.send = 0xffff800000000000ULL);
	EXPECT_OP(-EFAULT, op.recv = 0xffff888000000000ULL);

	ASSERT_EQ(0, member_status(self->fd, &after));
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));
	/* A valid call still succeeds. */
	EXPECT_OP(0, (void)0);
	EXPECT_OP(0, op.recv = send);
	EXPECT_OP(0, op.recv = send + 64);
	EXPECT_OP(0, op.algorithm = COLLECTIVE_ALGORITHM_RING);
	EXPECT_OP(0, (op.count = 0, op.send = 1, op.recv = 1));
	EXPECT_OP(0, op.timeout_ms = ~0U);
}

TEST_F(one_rank, bad_submit)
{
	struct collective_submit submit = {
		.size = sizeof(submit),
		.op.opcode = COLLECTIVE_BARRIER,
	};
	struct collective_status status;

	submit.flags = ~COLLECTIVE_SUBMIT_NOWAIT;
	EXPECT_EQ(-EINVAL, member_ioctl(self->fd, COLLECTIVE_IOC_SUBMIT, &submit));
	submit.flags = 0;
	submit.request = 1;
	EXPECT_EQ(-ENOENT, member_ioctl(self->fd, COLLECTIVE_IOC_SUBMIT, &submit));
	submit.request = ~0ULL;
	EXPECT_EQ(-ENOENT, member_ioctl(self->fd, COLLECTIVE_IOC_SUBMIT, &submit));
	ASSERT_EQ(0, member_status(self->fd, &status));
	EXPECT_EQ(0, status.submitted);
	submit.request = 0;
	EXPECT_EQ(0, member_ioctl(self->fd, COLLECTIVE_IOC_SUBMIT, &submit));
	EXPECT_EQ(0, submit.request);
	submit.request = 1;
	EXPECT_EQ(-ENOENT, member_ioctl(self->fd, COLLECTIVE_IOC_SUBMIT, &submit));
}

TEST_F(one_rank, bad_memory)
{
	const size_t page = getpagesize();
	struct collective_status before, after;
	__u8 *memory = self->memory;
	long long pinned = process_value(0, "VmPin:");

	memset(memory, 1, ONE_RANK_MEMORY);
	ASSERT_EQ(0, member_status(self->fd, &before));
	/* The second page is read-only, the fourth is not mapped. */
	ASSERT_EQ(0, mprotect(memory + page, page, PROT_READ));
	ASSERT_EQ(0, munmap(memory + 3 * page, page));
#define REDUCE(_send, _recv, _count) \
	member_allreduce(self->fd, memory + (_send), memory + (_recv), _count, \
			 COLLECTIVE_UINT8, COLLECTIVE_SUM)
	EXPECT_EQ(-EFAULT, REDUCE(0, page, 1));
	EXPECT_EQ(-EFAULT, REDUCE(page, page, page));
	EXPECT_EQ(-EFAULT, REDUCE(8 * page, page - 1, 2));
	EXPECT_EQ(-EFAULT, REDUCE(3 * page, 0, 1));
	EXPECT_EQ(-EFAULT, REDUCE(2 * page, 8 * page, page + 1));
	EXPECT_EQ(-EFAULT, REDUCE(8 * page, 2 * page, 3 * page));
	ASSERT_EQ(0, member_status(self->fd, &after));
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));
	EXPECT_EQ(pinned, process_value(0, "VmPin:"));

	EXPECT_EQ(0, REDUCE(page, 0, page));
	EXPECT_EQ(0, REDUCE(2 * page, 8 * page, page));
	EXPECT_EQ(1, memory[0]);
	EXPECT_EQ(pinned, process_value(0, "VmPin:"));
}

TEST_HARNESS_MAIN
