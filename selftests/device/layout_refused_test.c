// SPDX-License-Identifier: GPL-2.0-only
/* Layouts that SUBMIT refuses. */
#include <errno.h>
#include <stdint.h>

#include "kselftest_harness.h"
#include "device/layout.h"
#include "lib/sizes.h"

FIXTURE_OF_SIZES(layout);

static int rank_refused(struct rank *r)
{
	const size_t page = 4096;
	const __u64 n = r->nranks;
	struct { struct collective_layout layout; __u64 tail; } large;
	struct collective_status before, after;
	struct collective_layout layout;
	__u64 counts[GROUP_RANKS_MAX], displs[GROUP_RANKS_MAX], zeros[GROUP_RANKS_MAX] = { 0 };
	__u8 *area = memory(64 * page), *recv = area + 32 * page;
	struct collective_op op;
	__u32 buffer;
	u32 i;

	CHECK(area);
	CHECK_EQ(0, member_status(r->fd, &before));
#define REFUSED(_error, _opcode, _flags, _change) do {					\
	op = (struct collective_op){							\
		.opcode = COLLECTIVE_##_opcode, .type = COLLECTIVE_INT32,		\
		.flags = _flags, .count = 12, .send = (uintptr_t)area,			\
		.recv = (uintptr_t)recv, .layout = (uintptr_t)&layout,			\
	};										\
	memset(&layout, 0, sizeof(layout));						\
	layout.size = sizeof(layout);							\
	for (i = 0; i < n; i++) {							\
		counts[i] = 12;								\
		displs[i] = 12 * (n - 1 - i);						\
	}										\
	_change;									\
	CHECK_EQ(_error, member_submit(r->fd, &op));					\
} while (0)
#define VIEW(_side, ...) \
	(layout._side = (struct collective_view){ __VA_ARGS__ })
#define COUNTS(_side) (layout._side##_counts = (uintptr_t)counts)
#define DISPLS(_side) (layout._side##_displs = (uintptr_t)displs)
	/* A layout where none is allowed. */
	REFUSED(-EINVAL, ALLREDUCE, 0, (void)0);
	REFUSED(-EINVAL, BROADCAST, 0, (void)0);
	REFUSED(-EINVAL, SCAN, COLLECTIVE_F_VECTOR, op.layout = 0);
	/* The struct. */
	REFUSED(-EFAULT, ALLGATHER, 0, op.layout = 8);
	REFUSED(-EFAULT, ALLGATHER, 0, op.layout = ~0ULL - 7);
	REFUSED(-EINVAL, ALLGATHER, 0, layout.size = 0);
	REFUSED(-EINVAL, ALLGATHER, 0, layout.size--);
	REFUSED(-EINVAL, ALLGATHER, 0, layout.flags = 1);
	REFUSED(-E2BIG, ALLGATHER, 0, layout.size = 4097);
	memset(&large, 0, sizeof(large));
	large.layout.size = sizeof(large);
	large.tail = 1;
	REFUSED(-E2BIG, ALLGATHER, 0, op.layout = (uintptr_t)&large);
	/* Views. */
	REFUSED(-EINVAL, ALLGATHER, 0, VIEW(recv, 5, 100, 10));
	REFUSED(-EINVAL, ALLGATHER, 0, VIEW(recv, 3, 3, 12));
	REFUSED(-EINVAL, ALLGATHER, 0, VIEW(send, 3, 3, 0));
	REFUSED(-EINVAL, ALLGATHER, 0, VIEW(send, 3, 4, 1));
	REFUSED(-EINVAL, ALLGATHER, 0, COUNTS(recv));
	REFUSED(-EINVAL, ALLGATHER, 0, DISPLS(recv));
	REFUSED(-EINVAL, ALLGATHER, 0, op.recv += 2);
	if (n > 1) {
		REFUSED(-EINVAL, ALLGATHER, 0, VIEW(recv, 1, 0, 11));
		REFUSED(-EINVAL, ALLGATHER, 0, VIEW(recv, 3, 8, 3));
		REFUSED(-EINVAL, ALLTOALL, 0, VIEW(recv, 3, 8, 18));
		REFUSED(-EOVERFLOW, ALLTOALL, 0, VIEW(send, 1, 0, 1ULL << 62));
		REFUSED(-EOVERFLOW, ALLTOALL, 0, VIEW(send, 1, 0, ~0ULL));
	}
	REFUSED(-EOVERFLOW, ALLTOALL, 0, VIEW(send, 3, 1ULL << 62, 4));
	REFUSED(-EOVERFLOW, ALLTOALL, 0, VIEW(send, 3, ~0ULL, 4));
	REFUSED(-EOVERFLOW, ALLTOALL, 0, op.count = 1ULL << 61);
	/* More memory than any machine has. */
	REFUSED(-ENOMEM, ALLGATHER, 0, VIEW(recv, 2, 1ULL << 43, 6));
	/* In place, the own block must be where the other view has it. */
	REFUSED(-EINVAL, ALLGATHER, 0, (op.send = op.recv, VIEW(send, 3, 5, 0)));
	/* The ranges from first to last element must not overlap, not even between rows. */
	REFUSED(-EINVAL, ALLGATHER, 0, (op.send = op.recv + 16, VIEW(recv, 3, 4 * n + 20, 4)));
	/* Counts. */
	REFUSED(-EINVAL, ALLGATHER, COLLECTIVE_F_VECTOR, op.layout = 0);
	REFUSED(-EINVAL, ALLGATHER, COLLECTIVE_F_VECTOR, (void)0);
	REFUSED(-EINVAL, ALLGATHER, COLLECTIVE_F_VECTOR, (COUNTS(recv), COUNTS(send)));
	REFUSED(-EINVAL, ALLGATHER, COLLECTIVE_F_VECTOR, (COUNTS(recv), DISPLS(send)));
	REFUSED(-EINVAL, ALLGATHER, COLLECTIVE_F_VECTOR, (COUNTS(recv), VIEW(recv, 1, 0, 12)));
	REFUSED(-EINVAL, ALLGATHER, COLLECTIVE_F_VECTOR, (COUNTS(recv), op.count = 11));
	REFUSED(-EINVAL, REDUCE_SCATTER, COLLECTIVE_F_VECTOR, COUNTS(send));
	REFUSED(-EINVAL, REDUCE_SCATTER, COLLECTIVE_F_VECTOR, (COUNTS(recv), DISPLS(recv)));
	REFUSED(-EINVAL, ALLTOALL, COLLECTIVE_F_VECTOR, (COUNTS(recv), COUNTS(send)));
	REFUSED(-EINVAL, ALLTOALL, COLLECTIVE_F_VECTOR, (COUNTS(recv), op.count = 0));
	REFUSED(-EINVAL, ALLTOALL, COLLECTIVE_F_VECTOR,
		(COUNTS(recv), layout.send_counts = (uintptr_t)zeros, op.count = 0));
	REFUSED(-EFAULT, ALLGATHER, COLLECTIVE_F_VECTOR, layout.recv_counts = 8);
	REFUSED(-EFAULT, ALLGATHER, COLLECTIVE_F_VECTOR, (COUNTS(recv), layout.recv_displs = 8));
	REFUSED(-EOVERFLOW, ALLGATHER, COLLECTIVE_F_VECTOR,
		(COUNTS(recv), op.count = counts[r->rank] = 1ULL << 62));
	REFUSED(-EOVERFLOW, ALLGATHER, COLLECTIVE_F_VECTOR,
		(COUNTS(recv), DISPLS(recv), displs[0] = ~0ULL));
	REFUSED(-EOVERFLOW, ALLGATHER, COLLECTIVE_F_VECTOR,
		(COUNTS(recv), DISPLS(recv), displs[0] = 1ULL << 60));
	REFUSED(n > 1 ? -ENOMEM : -EFAULT, ALLGATHER, COLLECTIVE_F_VECTOR,
		(COUNTS(recv), DISPLS(recv), displs[0] = 1ULL << 43));
	if (n > 1) {
		REFUSED(-EINVAL, ALLGATHER, COLLECTIVE_F_VECTOR,
			(COUNTS(recv), DISPLS(recv), displs[0] = displs[1]));
		REFUSED(-EINVAL, ALLGATHER, COLLECTIVE_F_VECTOR,
			(COUNTS(recv), DISPLS(recv), displs[0] = displs[1] + 11));
		REFUSED(-EOVERFLOW, ALLGATHER, COLLECTIVE_F_VECTOR,
			(COUNTS(recv), counts[0] = ~0ULL, counts[1] = 2,
			 op.count = counts[r->rank]));
	}
	/* The range from first to last element must be in the registered buffer, and mapped. */
	CHECK_EQ(0, member_register(r->fd, recv, page, 0, &buffer));
	REFUSED(-EINVAL, ALLGATHER, 0, (op.recv_buffer = buffer, VIEW(recv, 3, 600, 4)));
	CHECK_EQ(0, member_unregister(r->fd, buffer));
	CHECK_EQ(0, munmap(recv + 8 * page, page));
	REFUSED(-EFAULT, ALLGATHER, 0, VIEW(recv, 2, 16 * page / 4, 6));
	CHECK_EQ(0, member_status(r->fd, &after));
	CHECK_EQ(before.submitted, after.submitted);
	CHECK_EQ(0, process_value(0, "VmPin:"));

	/* A valid call still succeeds. */
	REFUSED(0, ALLGATHER, 0, VIEW(recv, 3, 4 * n, 4));
	REFUSED(0, ALLGATHER, COLLECTIVE_F_VECTOR, (COUNTS(recv), DISPLS(recv)));
	REFUSED(0, ALLTOALL, COLLECTIVE_F_VECTOR,
		(COUNTS(recv), COUNTS(send), DISPLS(send), op.count = 0));
	REFUSED(0, ALLTOALL, 0, VIEW(send, 1, 0, 0));
	CHECK_EQ(0, process_value(0, "VmPin:"));
	return 0;
}

TEST_F(layout, refused)
{
	EXPECT_EQ(0, group_run(&variant->config, rank_refused, NULL));
}

TEST_HARNESS_MAIN
