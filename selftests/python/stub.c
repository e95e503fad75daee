// SPDX-License-Identifier: GPL-2.0
/*
 * A stand-in of libcollective.so.0 that needs no module: a group of one rank, whose calls succeed
 * at once.  What a call of the Python package takes with it is the package's own time.
 *
 * An operation that was started is complete at once, and is counted until it is waited for.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define VERSION	((0 << 16) | 2)

/* More than operations under way. */
#define SLOTS	1024

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uintptr_t started;
static unsigned int complete;
static bool is_complete[SLOTS];
static int descriptor = -1;

/* Readable while an operation is complete that was not waited for. */
static int start(void **request)
{
	pthread_mutex_lock(&lock);
	started++;
	*request = (void *)started;
	is_complete[started % SLOTS] = true;
	if (!complete++)
		eventfd_write(descriptor, 1);
	pthread_mutex_unlock(&lock);
	return 0;
}

/* Return: false if another thread has waited for it. */
static bool end(const void *request)
{
	bool *const is_here = &is_complete[(uintptr_t)request % SLOTS];
	eventfd_t value;
	bool ended;

	pthread_mutex_lock(&lock);
	ended = *is_here;
	*is_here = false;
	if (ended && !--complete)
		eventfd_read(descriptor, &value);
	pthread_mutex_unlock(&lock);
	return ended;
}

unsigned int coll_version(void)
{
	return VERSION;
}

int coll_init(void **comm, const void *config)
{
	(void)config;
	descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	*comm = &descriptor;
	return descriptor < 0 ? -errno : 0;
}

int coll_finalize(void *comm)
{
	(void)comm;
	close(descriptor);
	return 0;
}

int coll_size(void *comm)
{
	(void)comm;
	return 1;
}

const char *coll_name(void *comm)
{
	(void)comm;
	return "stub";
}

const char *coll_strerror(int error)
{
	(void)error;
	return "an error of the stub";
}

int coll_submit_wait(void *comm, const void *operation, int timeout_ms, void **request)
{
	(void)comm;
	(void)operation;
	(void)timeout_ms;
	*request = NULL;
	return 0;
}

int coll_isubmit(void *comm, const void *operation, void **request)
{
	(void)comm;
	(void)operation;
	return start(request);
}

int coll_iallreduce(void *comm, const void *send, void *recv, size_t count, int type, int op,
		    void **request)
{
	(void)comm;
	(void)send;
	(void)recv;
	(void)count;
	(void)type;
	(void)op;
	return start(request);
}

int coll_wait_any(void **requests, int count, int *index, int timeout_ms)
{
	(void)timeout_ms;
	for (*index = 0; *index < count; ++*index) {
		if (!requests[*index])
			continue;
		if (!end(requests[*index])) {
			*index = -1;
			return -ENOENT;
		}
		requests[*index] = NULL;
		return 0;
	}
	*index = -1;
	return 0;
}

int coll_req_fd(void *request)
{
	(void)request;
	return descriptor;
}

/* What is only looked up, or succeeds without doing anything. */
static int nothing(void)
{
	return 0;
}

#define NOTHING(name) extern __typeof__(nothing) coll_##name __attribute__((alias("nothing")))

NOTHING(split);
NOTHING(dup);
NOTHING(shrink_flags);
NOTHING(rank);
NOTHING(abort);
NOTHING(comm_failed);
NOTHING(start);
NOTHING(cancel);
NOTHING(request_free);
NOTHING(register);
NOTHING(unregister);
NOTHING(mem_number);
NOTHING(error_detail_r);
NOTHING(allreduce_init);
NOTHING(ibarrier);
NOTHING(ireduce);
NOTHING(ibroadcast);
NOTHING(iallgather);
NOTHING(ireduce_scatter);
NOTHING(igather);
NOTHING(iscatter);
NOTHING(ialltoall);
NOTHING(iscan);
NOTHING(iexscan);
NOTHING(isend);
NOTHING(irecv);
NOTHING(iallgather_axis);
NOTHING(ireduce_scatter_axis);
NOTHING(ialltoall_axis);
NOTHING(iallgatherv);
NOTHING(igatherv);
NOTHING(iscatterv);
NOTHING(ialltoallv);
NOTHING(ireduce_scatterv);
NOTHING(barrier_init);
NOTHING(reduce_init);
NOTHING(broadcast_init);
NOTHING(allgather_init);
NOTHING(reduce_scatter_init);
NOTHING(gather_init);
NOTHING(scatter_init);
NOTHING(alltoall_init);
NOTHING(scan_init);
NOTHING(exscan_init);
NOTHING(send_init);
NOTHING(recv_init);
