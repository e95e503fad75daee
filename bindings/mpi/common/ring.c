// SPDX-License-Identifier: LGPL-2.1-or-later
/* The io_uring of the process. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/io_uring.h>
#include <linux/time_types.h>

#include "collective.h"
#include "collective_uring.h"
#include "common/ring.h"

/* One is submitted at a time. */
#define SUBMISSIONS	8
/* Completions; the kernel keeps more elsewhere and tells so. */
#define COMPLETIONS	1024
#define SQE_SIZE	128

/* Set while the kernel has completions that are not in the ring. */
#define FLAGS_ENTER	(IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)

/**
 * struct ring - a ring that is mapped
 * @fd: its file; -1: there is none.  Set when all else is, and then read without @lock
 * @lock: serializes submission, and taking completions
 * @submissions: memory of the two queues' words
 * @submissions_size: its size in bytes
 * @sqes: memory of the SQEs
 * @sq_tail: number of SQEs that were submitted
 * @sq_flags: IORING_SQ_*
 * @sq_mask: of an index of @sqes
 * @cq_head: number of completions that were taken
 * @cq_tail: number of completions that the kernel has written
 * @cq_mask: of an index of @cqes
 * @cqes: completions
 */
static struct ring {
	int fd;
	pthread_mutex_t lock;
	char *submissions;
	size_t submissions_size;
	char *sqes;
	unsigned int *sq_tail;
	unsigned int *sq_flags;
	unsigned int sq_mask;
	unsigned int *cq_head;
	unsigned int *cq_tail;
	unsigned int cq_mask;
	struct io_uring_cqe *cqes;
} ring = { .fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER };

static int enter(unsigned int submit, unsigned int wait, unsigned int flags, void *arg,
		 size_t size)
{
	long n = syscall(__NR_io_uring_enter, ring.fd, submit, wait, flags, arg, size);

	return n < 0 ? -errno : n;
}

static int map_ring(int fd, const struct io_uring_params *params)
{
	unsigned int i, *array;

	ring.submissions_size = params->cq_off.cqes +
				params->cq_entries * sizeof(struct io_uring_cqe);
	if (ring.submissions_size < params->sq_off.array + params->sq_entries * sizeof(*array))
		ring.submissions_size = params->sq_off.array +
					params->sq_entries * sizeof(*array);
	ring.submissions = mmap(NULL, ring.submissions_size, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQ_RING);
	if (ring.submissions == MAP_FAILED)
		return -errno;
	ring.sqes = mmap(NULL, params->sq_entries * SQE_SIZE, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQES);
	if (ring.sqes == MAP_FAILED) {
		int err = -errno;

		munmap(ring.submissions, ring.submissions_size);
		return err;
	}
	ring.sq_tail = (unsigned int *)(ring.submissions + params->sq_off.tail);
	ring.sq_flags = (unsigned int *)(ring.submissions + params->sq_off.flags);
	ring.sq_mask = params->sq_entries - 1;
	ring.cq_head = (unsigned int *)(ring.submissions + params->cq_off.head);
	ring.cq_tail = (unsigned int *)(ring.submissions + params->cq_off.tail);
	ring.cq_mask = params->cq_entries - 1;
	ring.cqes = (struct io_uring_cqe *)(ring.submissions + params->cq_off.cqes);
	/* SQEs are used in turn, so the array of indices does not change. */
	array = (unsigned int *)(ring.submissions + params->sq_off.array);
	for (i = 0; i < params->sq_entries; i++)
		array[i] = i;
	return 0;
}

static int make_ring(void)
{
	const unsigned int features = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP |
				      IORING_FEAT_EXT_ARG;
	struct io_uring_params params = {
		.flags = IORING_SETUP_SQE128 | IORING_SETUP_CQSIZE | IORING_SETUP_COOP_TASKRUN |
			 IORING_SETUP_TASKRUN_FLAG,
		.cq_entries = COMPLETIONS,
	};
	int fd, err;

	fd = syscall(__NR_io_uring_setup, SUBMISSIONS, &params);
	if (fd < 0)
		return -errno;
	err = (params.features & features) == features ? map_ring(fd, &params) : -EOPNOTSUPP;
	if (err)
		close(fd);
	else
		__atomic_store_n(&ring.fd, fd, __ATOMIC_RELEASE);
	return err;
}

int cm_ring_open(void)
{
	int err = 0;

	pthread_mutex_lock(&ring.lock);
	if (ring.fd < 0)
		err = make_ring();
	pthread_mutex_unlock(&ring.lock);
	return err;
}

bool cm_ring_ready(void)
{
	return __atomic_load_n(&ring.fd, __ATOMIC_ACQUIRE) >= 0;
}

void cm_ring_close(void)
{
	if (!cm_ring_ready())
		return;
	munmap(ring.sqes, (ring.sq_mask + 1) * SQE_SIZE);
	munmap(ring.submissions, ring.submissions_size);
	close(ring.fd);
	ring.fd = -1;
}

int cm_ring_submit(struct coll_comm *comm, const struct collective_op *op, void *context)
{
	struct io_uring_sqe *sqe;
	unsigned int tail;
	int err;

	pthread_mutex_lock(&ring.lock);
	tail = *ring.sq_tail;
	sqe = (struct io_uring_sqe *)(ring.sqes + (tail & ring.sq_mask) * SQE_SIZE);
	err = coll_prep_submit(sqe, comm, op);
	if (err)
		goto unlock;
	sqe->user_data = (uintptr_t)context;
	__atomic_store_n(ring.sq_tail, tail + 1, __ATOMIC_RELEASE);
	do {
		err = enter(1, 0, 0, NULL, 0);
		/* Completions that did not fit are moved to the ring, then there is room. */
		if (err == -EBUSY)
			enter(0, 0, IORING_ENTER_GETEVENTS, NULL, 0);
	} while (err == -EINTR || err == -EBUSY || err == -EAGAIN);
	if (err != 1)
		__atomic_store_n(ring.sq_tail, tail, __ATOMIC_RELEASE);
	err = err == 1 ? 0 : err ?: -EIO;
unlock:
	pthread_mutex_unlock(&ring.lock);
	return err;
}

static bool anything(void)
{
	return __atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE) !=
	       __atomic_load_n(ring.cq_head, __ATOMIC_RELAXED) ||
	       __atomic_load_n(ring.sq_flags, __ATOMIC_RELAXED) & FLAGS_ENTER;
}

int cm_ring_reap(struct cm_completion *completions, int count)
{
	unsigned int head;
	int n = 0;

	if (!cm_ring_ready() || !anything())
		return 0;
	pthread_mutex_lock(&ring.lock);
	if (__atomic_load_n(ring.sq_flags, __ATOMIC_RELAXED) & FLAGS_ENTER)
		enter(0, 0, IORING_ENTER_GETEVENTS, NULL, 0);
	head = *ring.cq_head;
	while (n < count && head != __atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE)) {
		const struct io_uring_cqe *cqe = &ring.cqes[head++ & ring.cq_mask];

		completions[n].context = (void *)(uintptr_t)cqe->user_data;
		completions[n++].result = cqe->res;
	}
	__atomic_store_n(ring.cq_head, head, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&ring.lock);
	return n;
}

void cm_ring_sleep(unsigned int us)
{
	struct __kernel_timespec limit = {
		.tv_sec = us / 1000000,
		.tv_nsec = us % 1000000 * 1000,
	};
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&limit };

	enter(0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &arg, sizeof(arg));
}
