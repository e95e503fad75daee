// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Requests: operations under way, and persistent ones.
 *
 * The kernel knows them by numbers that are never used again.  The caller knows them by handles
 * (handle.h): coll_cancel() may run while another thread waits, and the handle of a finished
 * operation is recognized.  The communicator owns its requests and has them in a list.  A
 * request leaves the list when a wait or test reports completion; a persistent one at
 * coll_request_free(); all of them at coll_finalize().
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "comm/deadline.h"
#include "comm/device.h"
#include "comm/handle.h"
#include "comm/operation.h"

/**
 * struct request - operation under way, or persistent operation
 * @comm: communicator
 * @handle: handle of the caller
 * @number: the kernel's number; 0: not under way; coll_cancel() reads it at any time
 * @persistent: true if it can be started again
 * @buffer: registrations of this request's own, for @operation.op.recv and send; 0: none
 * @operation: the operation
 * @next: next in the communicator's list
 * @prev: pointer of the list that points to this
 */
struct request {
	struct coll_comm *comm;
	struct coll_request *handle;
	atomic_ullong number;
	bool persistent;
	__u32 buffer[2];
	struct coll_operation operation;
	struct request *next;
	struct request **prev;
};

/* Make a request that is in no list yet; NULL: no memory. */
static struct request *request_new(struct coll_comm *comm, const struct coll_operation *operation)
{
	struct request *request = calloc(1, sizeof(*request));

	if (!request)
		return NULL;
	request->comm = comm;
	request->operation = *operation;
	request->handle = coll_handle_new(request);
	if (request->handle)
		return request;
	free(request);
	return NULL;
}

static void request_put(struct request *request)
{
	if (request && coll_handle_put(request->handle))
		free(request);
}

static void request_retire(struct request *request)
{
	if (coll_handle_retire(request->handle))
		free(request);
}

/* Context: @comm is not foreign, so its lock can be taken. */
static void request_link(struct request *request)
{
	struct coll_comm *comm = request->comm;

	pthread_mutex_lock(&comm->lock);
	request->next = comm->requests;
	request->prev = &comm->requests;
	if (request->next)
		request->next->prev = &request->next;
	comm->requests = request;
	pthread_mutex_unlock(&comm->lock);
}

static void request_unlink(struct request *request)
{
	struct coll_comm *comm = request->comm;

	pthread_mutex_lock(&comm->lock);
	*request->prev = request->next;
	if (request->next)
		request->next->prev = request->prev;
	pthread_mutex_unlock(&comm->lock);
}

int coll_operation_run_for(struct coll_comm *comm, struct coll_operation *operation,
			   int timeout_ms, struct coll_request **request)
{
	struct request *new;
	__u64 number;
	int err;

	*request = NULL;
	if (coll_comm_is_foreign(comm))
		return -EPERM;
	/* Before the submission, which cannot be undone. */
	new = request_new(comm, operation);
	if (!new)
		return coll_operation_failed(comm, operation, -ENOMEM);
	err = coll_operation_execute(comm, &new->operation, timeout_ms, &number);
	if (number && err == -EINPROGRESS) {
		new->number = number;
		request_link(new);
		*request = new->handle;
		return err;
	}
	request_retire(new);
	return coll_operation_failed(comm, operation, err);
}

int (coll_operation_start)(struct coll_comm *comm, struct coll_operation *operation,
			   struct coll_request **request, int err)
{
	struct coll_request *started;

	if (err)
		return coll_comm_is_foreign(comm) ? -EPERM :
		       coll_operation_failed(comm, operation, err);
	err = coll_operation_run_for(comm, operation, 0, &started);
	if (err != -EINPROGRESS)
		return err;
	*request = started;
	return 0;
}

/* Register a buffer for this request alone, unless it has a registration. */
static int request_register(struct request *request, int which, __u64 addr, size_t size,
			    bool writable, __u32 *number)
{
	int err = 0;

	if (!size || *number)
		return 0;
	if (!request->buffer[which])
		err = coll_device_register(request->comm->fd, (void *)(uintptr_t)addr, size,
					   writable ? 0 : COLL_REGISTER_READ_ONLY,
					   &request->buffer[which]);
	if (err)
		request->buffer[which] = 0;
	*number = request->buffer[which];
	return err;
}

/*
 * Set the registrations of the buffers of @operation: those of the caller, which may have
 * changed since the last start, otherwise those of this request.
 */
static int request_buffers(struct request *request, struct coll_operation *operation)
{
	struct collective_op *op = &operation->op;
	int err;

	coll_operation_begin(request->comm, operation);
	err = request_register(request, 0, op->recv, operation->recv_size, true,
			       &op->recv_buffer);
	if (err)
		return err;
	if (operation->send_size && !op->send_buffer && op->send == op->recv &&
	    operation->send_size <= operation->recv_size) {
		op->send_buffer = op->recv_buffer;
		return 0;
	}
	return request_register(request, 1, op->send, operation->send_size, false,
				&op->send_buffer);
}

static void request_unregister(struct request *request)
{
	int i;

	for (i = 0; i < 2; i++)
		if (request->buffer[i])
			coll_device_unregister(request->comm->fd, request->buffer[i]);
}

int (coll_operation_init)(struct coll_comm *comm, struct coll_operation *operation,
			  struct coll_request **request, int err)
{
	struct request *new = NULL;

	if (coll_comm_is_foreign(comm))
		return -EPERM;
	if (!err) {
		new = request_new(comm, operation);
		err = new ? request_buffers(new, operation) : -ENOMEM;
	}
	if (err) {
		if (new) {
			request_unregister(new);
			request_retire(new);
		}
		return coll_operation_failed(comm, operation, err);
	}
	new->persistent = true;
	request_link(new);
	*request = new->handle;
	return 0;
}

static int request_start(struct request *request)
{
	struct coll_operation operation = request->operation;
	__u64 number, received;
	int err;

	if (coll_comm_is_foreign(request->comm))
		return -EPERM;
	if (!request->persistent)
		return -EINVAL;
	if (request->number)
		return -EBUSY;
	/* Errors are ignored: the operation then pins the buffer itself, or fails. */
	request_buffers(request, &operation);
	err = coll_device_submit(request->comm->fd, &operation.op, 0, &number, &received);
	if (!number)
		return coll_operation_failed(request->comm, &operation, err);
	request->number = number;
	return 0;
}

int coll_start(struct coll_request *handle)
{
	struct request *request;
	int err;

	if (!handle)
		return -EINVAL;
	request = coll_handle_get(handle);
	err = request ? request_start(request) : -ENOENT;
	request_put(request);
	return err;
}

int coll_cancel(struct coll_request *handle)
{
	struct request *request;
	int err = -ENOENT;
	__u64 number;

	if (!handle)
		return -EINVAL;
	request = coll_handle_get(handle);
	number = request ? request->number : 0;
	if (number)
		err = coll_comm_is_foreign(request->comm) ? -EPERM :
		      coll_device_cancel(request->comm->fd, number);
	request_put(request);
	return err;
}

int coll_request_free(struct coll_request *handle)
{
	struct request *request;
	int err = 0;

	if (!handle)
		return 0;
	request = coll_handle_get(handle);
	if (!request)
		return -ENOENT;
	if (coll_comm_is_foreign(request->comm))
		err = -EPERM;
	else if (!request->persistent)
		err = -EINVAL;
	else if (request->number)
		err = -EBUSY;
	if (!err) {
		request_unregister(request);
		request_unlink(request);
		request_retire(request);
	}
	request_put(request);
	return err;
}

int coll_req_fd(const struct coll_request *handle)
{
	struct request *request;
	int fd;

	if (!handle)
		return -EINVAL;
	request = coll_handle_get(handle);
	if (!request)
		return -ENOENT;
	fd = coll_comm_is_foreign(request->comm) ? -EPERM : request->comm->fd;
	request_put(request);
	return fd;
}

/* Complete a request with the result @err; ends the handle unless it is persistent. */
static int request_done(struct request *request, int err, __u64 received)
{
	err = coll_operation_end(&request->operation, err, received);
	coll_operation_failed(request->comm, &request->operation, err);
	request->number = 0;
	if (request->persistent)
		return err;
	request_unlink(request);
	request_retire(request);
	return err;
}

void coll_request_free_all(struct coll_comm *comm)
{
	struct request *request;

	while ((request = comm->requests)) {
		comm->requests = request->next;
		/* A child may have the file, too: then the kernel is still at what goes on. */
		if (!request->number || coll_comm_is_foreign(comm))
			free(request->operation.stage);
		request_retire(request);
	}
}

int coll_test(struct coll_request *request, int *done)
{
	int index, err;

	if (!done)
		return -EINVAL;
	err = coll_wait_any(&request, 1, &index, 0);
	/* Complete, or there is no operation to wait for. */
	*done = !index || !err || err == -ENOENT;
	return err == -EINPROGRESS ? 0 : err;
}

int coll_wait(struct coll_request *request)
{
	int index;

	return coll_wait_any(&request, 1, &index, -1);
}

/* Set a handle that has ended to NULL wherever it is. */
static void handles_forget(struct coll_request **handles, int count,
			   const struct coll_request *ended)
{
	int i;

	for (i = 0; i < count; i++)
		if (handles[i] == ended)
			handles[i] = NULL;
}

int coll_wait_all(struct coll_request **requests, int count)
{
	int i, index, err, first = 0;

	if (!requests && count)
		return -EINVAL;
	for (i = 0; i < count; i++) {
		const struct coll_request *handle = requests[i];

		err = coll_wait_any(&requests[i], 1, &index, -1);
		if (!first)
			first = err;
		if (handle && !requests[i])
			handles_forget(requests + i + 1, count - i - 1, handle);
	}
	return first;
}

/* Maximum number of requests for which a wait needs no memory. */
#define ON_STACK	8

/**
 * struct wait_set - requests for which a thread waits
 * @requests: requests with a reference, by the caller's index; NULL: skipped
 * @numbers: the kernel's numbers of those that are under way
 * @count: number of @requests
 * @n: number of @numbers
 * @comm: communicator of all of them
 * @repeats: true if a handle is among them more than once
 */
struct wait_set {
	struct request **requests;
	__u64 *numbers;
	int count;
	int n;
	struct coll_comm *comm;
	bool repeats;
};

/* Get a reference to each request.  The caller must call wait_set_put(), also after an error. */
static int wait_set_get(struct wait_set *wait_set, struct coll_request **handles, int count)
{
	struct request *request;
	__u64 number;
	int i;

	for (i = 0; i < count; i++) {
		request = handles[i] ? coll_handle_get(handles[i]) : NULL;
		wait_set->requests[wait_set->count++] = request;
		if (handles[i] && !request)
			return -ENOENT;
		number = request ? request->number : 0;
		if (!number)
			continue;
		if (wait_set->n && request->comm != wait_set->comm)
			return -EINVAL;
		if (coll_comm_is_foreign(request->comm))
			return -EPERM;
		wait_set->comm = request->comm;
		wait_set->numbers[wait_set->n++] = number;
	}
	return 0;
}

static void wait_set_put(struct wait_set *wait_set)
{
	int i;

	for (i = 0; i < wait_set->count; i++)
		request_put(wait_set->requests[i]);
}

/* Wait for each operation once.  Return: true if a handle was given more than once. */
static bool wait_set_drop_repeats(struct wait_set *wait_set)
{
	int i, j, n = 0;

	for (i = 0; i < wait_set->n; i++) {
		for (j = 0; j < n && wait_set->numbers[j] != wait_set->numbers[i]; j++)
			;
		if (j == n)
			wait_set->numbers[n++] = wait_set->numbers[i];
	}
	wait_set->repeats = n < wait_set->n;
	wait_set->n = n;
	return wait_set->repeats;
}

static int wait_set_wait(struct wait_set *wait_set, int timeout_ms, __u64 *which,
			 __u64 *received)
{
	int err = coll_device_wait(wait_set->comm->fd, wait_set->numbers, wait_set->n, timeout_ms,
				   which, received);

	/* The kernel knows no repeats: the operation is taken already, by this wait itself. */
	if (err == -EBUSY && !*which && wait_set_drop_repeats(wait_set))
		err = coll_device_wait(wait_set->comm->fd, wait_set->numbers, wait_set->n,
				       timeout_ms, which, received);
	return err;
}

static int wait_set_index(const struct wait_set *wait_set, __u64 number)
{
	int i = 0;

	while (!wait_set->requests[i] || wait_set->requests[i]->number != number)
		i++;
	return i;
}

/* The handle at @index ends. */
static void wait_set_end(const struct wait_set *wait_set, struct coll_request **handles, int index)
{
	if (wait_set->repeats)
		handles_forget(handles, wait_set->count, handles[index]);
	else
		handles[index] = NULL;
}

int coll_wait_any(struct coll_request **requests, int count, int *index,
		  int timeout_ms)
{
	struct request *held[ON_STACK];
	__u64 numbers[ON_STACK], which = 0, received = 0;
	struct wait_set wait_set = { .requests = held, .numbers = numbers };
	void *allocated = NULL;
	int err;

	if (!index)
		return -EINVAL;
	*index = -1;
	if (count < 0 || (!requests && count))
		return -EINVAL;
	if (count > ON_STACK) {
		allocated = calloc(count, sizeof(*held) + sizeof(*numbers));
		if (!allocated)
			return -ENOMEM;
		wait_set.numbers = allocated;
		wait_set.requests = (void *)(wait_set.numbers + count);
	}
	err = wait_set_get(&wait_set, requests, count);
	if (!err && wait_set.n)
		err = wait_set_wait(&wait_set, timeout_ms, &which, &received);
	if (which) {
		struct request *request;

		*index = wait_set_index(&wait_set, which);
		request = wait_set.requests[*index];
		if (!request->persistent)
			wait_set_end(&wait_set, requests, *index);
		err = request_done(request, err, received);
	}
	wait_set_put(&wait_set);
	free(allocated);
	return err;
}
