// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Operations under way.
 *
 * The kernel knows them by numbers that are never used again.  A handle is in its
 * communicator's list until it is done, so that coll_finalize() finds what nobody
 * waited for.
 */
#include <errno.h>
#include <stdlib.h>

#include "deadline.h"
#include "device.h"
#include "operation.h"

/**
 * struct coll_request - an operation under way
 * @comm: communicator
 * @number: the kernel's
 * @operation: what it is
 * @next: in the communicator's list
 * @prev: likewise, where the one before points here
 */
struct coll_request {
	struct coll_comm *comm;
	__u64 number;
	struct coll_operation operation;
	struct coll_request *next;
	struct coll_request **prev;
};

int coll_operation_start(struct coll_comm *comm, struct coll_operation *operation,
			 struct coll_request **request)
{
	struct coll_request *new = malloc(sizeof(*new));
	int err;

	if (!new)
		return -ENOMEM;
	coll_operation_begin(comm, operation);
	err = coll_device_start(comm->fd, &operation->op, &new->number);
	if (err) {
		free(new);
		return err;
	}
	new->comm = comm;
	new->operation = *operation;

	pthread_mutex_lock(&comm->lock);
	new->next = comm->requests;
	new->prev = &comm->requests;
	if (new->next)
		new->next->prev = &new->next;
	comm->requests = new;
	pthread_mutex_unlock(&comm->lock);
	*request = new;
	return 0;
}

/* The end of a request; its memory is gone. */
static void request_done(struct coll_request *request, int err, __u64 received)
{
	struct coll_comm *comm = request->comm;

	coll_operation_end(&request->operation, err, received);
	pthread_mutex_lock(&comm->lock);
	*request->prev = request->next;
	if (request->next)
		request->next->prev = request->prev;
	pthread_mutex_unlock(&comm->lock);
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
	*done = !request;
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
		if (!requests[i])
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
	request_done(requests[*index], err, received);
	requests[*index] = NULL;
	return err;
}
