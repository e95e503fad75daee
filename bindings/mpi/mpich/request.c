// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Requests of nonblocking calls: generalized requests, with MPICH's extension by which it asks for
 * progress where a program waits for or tests them.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "common/call.h"
#include "common/progress.h"
#include "mpich.h"

/* Requests that the program has. */
static atomic_int pending;

bool requests_pending(void)
{
	return pending;
}

void request_put(struct request *request)
{
	if (--request->references)
		return;
	communicator_put(request->communicator);
	free(request);
}

/* The operation is complete. */
static void complete(struct cm_task *task)
{
	struct request *request;

	request = (struct request *)((char *)task - offsetof(struct request, task));
	if (task->result)
		request->error = cm_group_error(&request->communicator->group, task->result);
	/* Not in request_put(), which MPICH calls under its lock: this calls MPI to free types. */
	cm_task_end(task);
	PMPI_Grequest_complete(request->handle);
	request_put(request);
}

/* ---- what MPICH calls ---- */

static int query(void *state, MPI_Status *status)
{
	struct request *request = state;

	PMPI_Status_set_elements(status, MPI_BYTE, 0);
	PMPI_Status_set_cancelled(status, 0);
	status->MPI_SOURCE = MPI_ANY_SOURCE;
	status->MPI_TAG = MPI_ANY_TAG;
	return request->error ? request_failed(request) : MPI_SUCCESS;
}

static int release(void *state)
{
	pending--;
	request_put(state);
	return MPI_SUCCESS;
}

/* A collective cannot be cancelled. */
static int cancel(void *state, int complete)
{
	(void)state;
	(void)complete;
	return MPI_SUCCESS;
}

/* MPICH calls this in a loop, and does nothing else in some. */
static int poll(void *state, MPI_Status *status)
{
	(void)state;
	(void)status;
	if (!cm_progress()) {
		poll_mpi();
		completion_idle();
	}
	return MPI_SUCCESS;
}

static int wait_all(int count, void **states, double timeout, MPI_Status *status)
{
	struct request *request;
	int i;

	(void)timeout;
	(void)status;
	for (i = 0; i < count; i++) {
		request = states[i];
		cm_task_wait(&request->task);
	}
	return MPI_SUCCESS;
}

/* ---- start ---- */

int request_start(struct communicator *communicator, const struct cm_call *call,
		  unsigned long long key, MPI_Request *handle)
{
	struct request *request = calloc(1, sizeof(*request));
	int err;

	if (!request)
		return cm_call_fail(&communicator->group, call, -ENOMEM);
	request->references = 1;
	request->communicator = communicator;
	communicator->references++;
	err = cm_task_build(&request->task, &communicator->group, call, CM_NONBLOCKING);
	if (!err && PMPIX_Grequest_start(query, release, cancel, poll, wait_all, request,
					 &request->handle) != MPI_SUCCESS)
		err = -ENOMEM;
	if (err) {
		err = cm_call_fail(&communicator->group, call, err);
		cm_task_end(&request->task);
		request_put(request);
		return err;
	}
	cm_task_keep_types(&request->task);
	request->task.op.flags |= COLLECTIVE_F_KEYED;
	request->task.op.key = key;
	request->task.complete = complete;
	request->references++;
	pending++;
	*handle = request->handle;
	cm_task_start(&request->task);
	return MPI_SUCCESS;
}
