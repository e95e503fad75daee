// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Operations under way.
 *
 * The kernel knows them by numbers that are never used again.  A handle is in its
 * communicator's list until it is done, so that coll_finalize() finds what nobody
 * waited for.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "deadline.h"
#include "device.h"
#include "operation.h"

/**
 * struct coll_request - an operation under way, or to be
 * @comm: communicator
 * @number: the kernel's; 0: it is not under way
 * @persistent: it can be begun again
 * @buffer: registered for it alone, for @operation.op.send and recv; 0: was not needed
 * @operation: what it is
 * @next: in the communicator's list
 * @prev: likewise, where the one before points here
 */
struct coll_request {
	struct coll_comm *comm;
	__u64 number;
	bool persistent;
	__u32 buffer[2];
	struct coll_operation operation;
	struct coll_request *next;
	struct coll_request **prev;
};

static void request_link(struct coll_request *request)
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

static void request_unlink(struct coll_request *request)
{
	struct coll_comm *comm = request->comm;

	pthread_mutex_lock(&comm->lock);
	*request->prev = request->next;
	if (request->next)
		request->next->prev = request->prev;
	pthread_mutex_unlock(&comm->lock);
}

int coll_operation_start(struct coll_comm *comm, struct coll_operation *operation,
			 struct coll_request **request, int err)
{
	struct coll_request *new;

	if (err)
		return coll_operation_refused(comm, operation, err);
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	coll_operation_begin(comm, operation);
	err = coll_device_start(comm->fd, &operation->op, &new->number);
	if (err) {
		free(new);
		return coll_operation_refused(comm, operation, err);
	}
	new->comm = comm;
	new->operation = *operation;
	request_link(new);
	*request = new;
	return 0;
}

/* The kernel's number of memory of an operation that nobody else has registered. */
static int request_register(struct coll_request *request, int which, __u64 addr, size_t size,
			    bool writable, __u32 *number)
{
	int err;

	if (!size || *number)
		return 0;
	err = coll_device_register(request->comm->fd, (void *)(uintptr_t)addr, size,
				   writable ? 0 : COLL_REGISTER_READ_ONLY,
				   &request->buffer[which]);
	*number = request->buffer[which];
	return err;
}

static void request_unregister(struct coll_request *request)
{
	int i;

	for (i = 0; i < 2; i++)
		if (request->buffer[i])
			coll_device_unregister(request->comm->fd, request->buffer[i]);
}

int coll_operation_init(struct coll_comm *comm, struct coll_operation *operation,
			struct coll_request **request, int err)
{
	struct coll_operation *mine;
	struct coll_request *new;
	struct collective_op *op;

	if (err)
		return coll_operation_refused(comm, operation, err);
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	new->comm = comm;
	new->persistent = true;
	new->operation = *operation;
	mine = &new->operation;
	op = &mine->op;
	coll_operation_begin(comm, mine);
	err = request_register(new, 0, op->recv, mine->recv_size, true, &op->recv_buffer);
	if (!err && mine->send_size && !op->send_buffer && op->send == op->recv &&
	    mine->send_size <= mine->recv_size)
		op->send_buffer = op->recv_buffer;
	else if (!err)
		err = request_register(new, 1, op->send, mine->send_size, false,
				       &op->send_buffer);
	if (err) {
		request_unregister(new);
		free(new);
		return coll_operation_refused(comm, operation, err);
	}
	request_link(new);
	*request = new;
	return 0;
}

int coll_start(struct coll_request *request)
{
	struct coll_operation *operation;
	int err;

	if (!request || !request->persistent)
		return -EINVAL;
	if (request->number)
		return -EBUSY;
	operation = &request->operation;
	err = coll_device_start(request->comm->fd, &operation->op, &request->number);
	return coll_operation_refused(request->comm, operation, err);
}

int coll_cancel(struct coll_request *request)
{
	if (!request || !request->number)
		return -ENOENT;
	return coll_device_cancel(request->comm->fd, request->number);
}

int coll_request_free(struct coll_request *request)
{
	if (!request)
		return 0;
	if (!request->persistent)
		return -EINVAL;
	if (request->number)
		return -EBUSY;
	request_unregister(request);
	request_unlink(request);
	free(request);
	return 0;
}

int coll_req_fd(const struct coll_request *request)
{
	return request ? request->comm->fd : -EINVAL;
}

/* The end of an operation; unless it is persistent, the memory of its handle is gone. */
static void request_done(struct coll_request *request, int err, __u64 received)
{
	coll_operation_end(&request->operation, err, received);
	request->number = 0;
	if (request->persistent)
		return;
	request_unlink(request);
	free(request);
}

void coll_request_free_all(struct coll_comm *comm)
{
	struct coll_request *request;

	while ((request = comm->requests)) {
		comm->requests = request->next;
		free(request);
	}
}

int coll_test(struct coll_request *request, int *done)
{
	int index, err;

	err = coll_wait_any(&request, 1, &index, 0);
	*done = !request || !request->number;
	return err == -EINPROGRESS ? 0 : err;
}

int coll_wait(struct coll_request *request)
{
	int index;

	return coll_wait_any(&request, 1, &index, -1);
}

int coll_wait_all(struct coll_request **requests, int count)
{
	int i, index, err, first = 0;

	for (i = 0; i < count; i++) {
		err = coll_wait_any(&requests[i], 1, &index, -1);
		if (!first)
			first = err;
	}
	return first;
}

/* The numbers of those that there are, at most @count, all of one communicator. */
static int request_numbers(struct coll_request **requests, int count,
			   __u64 *numbers, struct coll_comm **comm)
{
	int i, n = 0;

	for (i = 0; i < count; i++) {
		if (!requests[i] || !requests[i]->number)
			continue;
		if (n && requests[i]->comm != *comm)
			return -EINVAL;
		*comm = requests[i]->comm;
		numbers[n++] = requests[i]->number;
	}
	return n;
}

static int request_find(struct coll_request **requests, __u64 number)
{
	int i = 0;

	while (!requests[i] || requests[i]->number != number)
		i++;
	return i;
}

int coll_wait_any(struct coll_request **requests, int count, int *index,
		  int timeout_ms)
{
	struct coll_comm *comm = NULL;
	__u64 few[8], *numbers = few, which = 0, received = 0;
	bool again;
	int n, err;

	*index = -1;
	if (count < 0)
		return -EINVAL;
	if ((size_t)count > sizeof(few) / sizeof(*few)) {
		numbers = calloc(count, sizeof(*numbers));
		if (!numbers)
			return -ENOMEM;
	}
	n = request_numbers(requests, count, numbers, &comm);
	err = n > 0 ? coll_device_wait(comm->fd, numbers, n, timeout_ms, &which,
				       &received) : n;
	if (numbers != few)
		free(numbers);
	if (!which)
		return err;

	*index = request_find(requests, which);
	again = requests[*index]->persistent;
	request_done(requests[*index], err, received);
	if (!again)
		requests[*index] = NULL;
	return err;
}
