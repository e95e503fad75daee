// SPDX-License-Identifier: GPL-2.0-only
#include "lib/uring.h"

#include <errno.h>

#include "lib/group.h"

#define DEPTH	64

int ring_open(struct io_uring *ring, unsigned int flags)
{
	return -io_uring_queue_init(DEPTH, ring, flags | IORING_SETUP_SQE128);
}

struct io_uring_sqe *next_sqe(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	if (!sqe) {
		io_uring_submit(ring);
		sqe = io_uring_get_sqe(ring);
	}
	return sqe;
}

int ring_wait(struct io_uring *ring, __u64 *data)
{
	struct __kernel_timespec limit = { .tv_sec = 30 };
	struct io_uring_cqe *cqe;
	int res = io_uring_wait_cqe_timeout(ring, &cqe, &limit);

	if (res)
		return res == -ETIME ? -ETIMEDOUT : res;
	res = cqe->res;
	*data = cqe->user_data;
	io_uring_cqe_seen(ring, cqe);
	return res;
}

void values_make(__u32 *to, size_t count, __u32 rank, __u32 round)
{
	size_t i;

	for (i = 0; i < count; i++)
		to[i] = i * 7 + rank * 1000 + round;
}

int values_summed(const __u32 *from, size_t count, __u32 nranks, __u32 round)
{
	size_t i;

	for (i = 0; i < count; i++)
		CHECK_EQ(nranks * (i * 7 + round) + 1000 * (nranks * (nranks - 1) / 2), from[i]);
	return 0;
}
