// SPDX-License-Identifier: GPL-2.0-only
/* Random operations through io_uring. */
#include <errno.h>
#include <liburing.h>
#include <string.h>

#include "lib/group.h"
#include "faults/random_calls.h"
#include "faults/malformed.h"

#define DEPTH		16

/* The low bits of user_data hold the kind of the entry. */
#define RING_CALLS	32

static bool ring_begin(struct random_thread *t, struct io_uring *ring)
{
	static const unsigned int flags[] = {
		IORING_SETUP_SQE128, IORING_SETUP_SQE128, IORING_SETUP_SQE128,
		IORING_SETUP_SQE128 | IORING_SETUP_CQE32, IORING_SETUP_SQE128 | IORING_SETUP_CQE32,
		IORING_SETUP_SQE128 | IORING_SETUP_SQPOLL, 0,
		IORING_SETUP_SQE128 | IORING_SETUP_IOPOLL,
	};
	struct io_uring_params params = {
		.flags = flags[rng_below(&t->rng, ARRAY_SIZE(flags))],
		.sq_thread_idle = 1,
	};
	struct iovec iovec = { t->process->memory.arena, RANDOM_ARENA };

	if (io_uring_queue_init_params(DEPTH, ring, &params))
		return false;
	if (rng_once_in(&t->rng, 2))
		io_uring_register_buffers(ring, &iovec, 1);
	return true;
}

static void ring_spoil(struct rng *rng, struct io_uring_sqe *sqe, size_t len)
{
	static const __u8 flags[] = {
		IOSQE_ASYNC, IOSQE_IO_LINK, IOSQE_IO_DRAIN, IOSQE_IO_HARDLINK, IOSQE_FIXED_FILE,
		IOSQE_CQE_SKIP_SUCCESS,
	};
	__u64 value = boundary_number(rng);
	size_t at;

	switch (rng_below(rng, 6)) {
	case 0:
		sqe->flags |= flags[rng_below(rng, sizeof(flags))];
		break;
	case 1:
		sqe->uring_cmd_flags = rng_once_in(rng, 2) ? IORING_URING_CMD_FIXED : value;
		break;
	case 2:
		sqe->buf_index = value;
		break;
	case 3:
		sqe->ioprio = value;
		break;
	default:
		/* Change the operation, but not its timeout, which is at offset 12. */
		at = 4 * rng_below(rng, len / 4);
		if (at != 12)
			memcpy(sqe->cmd + at, &value, 4);
	}
}

static void ring_put(struct random_thread *t, struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	const bool wide = ring->flags & IORING_SETUP_SQE128;
	struct collective_cancel cancel = {
		.size = sizeof(cancel),
		.flags = rng_once_in(&t->rng, 2),
		.request = rng_below(&t->rng, 8 * RING_CALLS),
	};
	enum random_call call = RANDOM_SQE_SUBMIT;
	struct collective_op op;

	if (!sqe)
		return;
	memset(sqe, 0, wide ? 128 : 64);
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = random_file(t);
	sqe->cmd_op = COLLECTIVE_IOC_SUBMIT;
	switch (rng_below(&t->rng, 8)) {
	case 0:
		call = RANDOM_SQE_CANCEL;
		sqe->cmd_op = COLLECTIVE_IOC_CANCEL;
		memcpy(sqe->cmd, &cancel, sizeof(cancel));
		break;
	case 1:
		call = RANDOM_SQE_NONE;
		sqe->cmd_op = rng_once_in(&t->rng, 2) ? COLLECTIVE_IOC_JOIN :
							  boundary_number(&t->rng) & 0xff;
		break;
	default:
		random_op(t, &op);
		if (wide)
			memcpy(sqe->cmd, &op, sizeof(op));
		if (rng_once_in(&t->rng, 3))
			ring_spoil(&t->rng, sqe, wide ? sizeof(op) : 16);
		break;
	}
	sqe->user_data = call + RING_CALLS * rng_below(&t->rng, 8);
}

/* Errnos of io_uring itself, and of files that are not the device. */
static bool ring_itself(int res)
{
	return res == -EBADF || res == -EOPNOTSUPP || res == -EINVAL || res == -ECANCELED ||
	       res == -EFAULT || res == -ENOTTY || res == -ENOPROTOOPT;
}

static void ring_reap(struct random_thread *t, struct io_uring *ring)
{
	struct io_uring_cqe *cqe;

	while (!io_uring_peek_cqe(ring, &cqe)) {
		enum random_call call = cqe->user_data % RING_CALLS;

		if (call < RANDOM_CALLS)
			random_call_end(t, call, ring_itself(cqe->res) ? -EBADF : cqe->res);
		io_uring_cqe_seen(ring, cqe);
	}
}

void *random_uring(void *arg)
{
	struct random_thread *t = arg;
	struct io_uring ring;
	unsigned int n, k;

	while (now_ms() < t->process->end) {
		if (!ring_begin(t, &ring))
			break;
		for (n = rng_below(&t->rng, 60); n && now_ms() < t->process->end; n--) {
			for (k = rng_below(&t->rng, 6); k; k--)
				ring_put(t, &ring);
			random_call_begin(t, RANDOM_RING);
			io_uring_submit(&ring);
			random_call_end(t, RANDOM_RING, 0);
			ring_reap(t, &ring);
			if (rng_once_in(&t->rng, 4))
				sleep_ms(rng_below(&t->rng, 4));
		}
		/* Exit with operations in flight. */
		random_call_begin(t, RANDOM_RING);
		io_uring_queue_exit(&ring);
		random_call_end(t, RANDOM_RING, 0);
	}
	return NULL;
}
