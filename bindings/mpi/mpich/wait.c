// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The functions by which a program completes requests.
 *
 * A generalized request has no communicator, so MPICH would give its failure to MPI_COMM_WORLD.
 * These functions hide the failure from MPICH, and give it to the communicator themselves.
 */
#include <sched.h>
#include <stdlib.h>

#include "common/progress.h"
#include "common/queue.h"
#include "mpich.h"

/**
 * struct completion - a function that completes requests, under way
 * @failed: requests that have failed; a reference each
 * @handles: copy of the array of the function's requests, or NULL
 * @waits: it does not return before a request is complete
 * @pace: pace of its looks, if it waits
 * @outer: that of a function that is under way in this thread, or NULL
 */
struct completion {
	struct request *failed;
	MPI_Request *handles;
	bool waits;
	struct cm_pace pace;
	struct completion *outer;
};

static __thread struct completion *current;

int request_failed(struct request *request)
{
	if (!current)
		return request->error;
	/* MPICH may ask more than once. */
	if (request->is_listed)
		return MPI_SUCCESS;
	request->is_listed = true;
	request->references++;
	request->next_failed = current->failed;
	current->failed = request;
	return MPI_SUCCESS;
}

void completion_idle(void)
{
	if (current && current->waits)
		cm_pace_sleep(&current->pace);
	else
		sched_yield();
}

/* Return: false: MPICH's own function does all. */
static bool begin(struct completion *completion, bool waits, int count, const MPI_Request *handles)
{
	int i;

	library_load();
	if (!requests_pending())
		return false;
	*completion = (struct completion){ .waits = waits, .outer = current };
	if (count > 0) {
		completion->handles = malloc(count * sizeof(*handles));
		for (i = 0; completion->handles && i < count; i++)
			completion->handles[i] = handles[i];
	}
	current = completion;
	return true;
}

bool completion_looks_again(int err, int done)
{
	if (err != MPI_SUCCESS || done || !cm_queue_waits())
		return false;
	if (!cm_progress())
		completion_idle();
	return true;
}

/* Set the error of a failed request in the statuses of an array function. */
static void set_status(const struct completion *completion, const struct request *request,
		       int count, const int *indices, MPI_Status *statuses)
{
	int i;

	for (i = 0; i < count; i++)
		if (completion->handles[indices ? indices[i] : i] == request->handle)
			statuses[i].MPI_ERROR = request->error;
}

/* End a function that completes nothing: its failed requests are failed when they are completed. */
static int end_without(struct completion *completion, int err)
{
	struct request *request = completion->failed, *next;

	current = completion->outer;
	for (; request; request = next) {
		next = request->next_failed;
		request->is_listed = false;
		request_put(request);
	}
	free(completion->handles);
	return err;
}

/*
 * End a function that has returned @err.  @count: number of @statuses, of an array function;
 * @indices: of the requests to which these belong, or NULL: of all.
 */
static int end(struct completion *completion, int err, int count, const int *indices,
	       MPI_Status *statuses)
{
	struct request *request = completion->failed, *next;
	const bool array = completion->handles;
	int i, code = err;

	current = completion->outer;
	if (array && request && statuses != MPI_STATUSES_IGNORE && err == MPI_SUCCESS)
		for (i = 0; i < count; i++)
			statuses[i].MPI_ERROR = MPI_SUCCESS;
	for (; request; request = next) {
		next = request->next_failed;
		code = array ? MPI_ERR_IN_STATUS : request->error;
		if (array && statuses != MPI_STATUSES_IGNORE)
			set_status(completion, request, count, indices, statuses);
		communicator_error(request->communicator, request->error);
		request->is_listed = false;
		request_put(request);
	}
	free(completion->handles);
	return code;
}

EXPORT int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
	struct completion completion;
	int err = MPI_SUCCESS, done = false;

	if (!begin(&completion, true, 0, NULL))
		return mpich.Wait(request, status);
	while (completion_looks_again(err, done))
		err = mpich.Test(request, &done, status);
	if (err == MPI_SUCCESS && !done)
		err = mpich.Wait(request, status);
	return end(&completion, err, 0, NULL, NULL);
}

EXPORT int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	struct completion completion;

	if (!begin(&completion, false, 0, NULL))
		return mpich.Test(request, flag, status);
	return end(&completion, mpich.Test(request, flag, status), 0, NULL, NULL);
}

EXPORT int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
	struct completion completion;
	int err = MPI_SUCCESS, done = false;

	if (!begin(&completion, true, 0, NULL))
		return mpich.Waitany(count, requests, index, status);
	while (completion_looks_again(err, done))
		err = mpich.Testany(count, requests, index, &done, status);
	if (err == MPI_SUCCESS && !done)
		err = mpich.Waitany(count, requests, index, status);
	return end(&completion, err, 0, NULL, NULL);
}

EXPORT int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag,
		       MPI_Status *status)
{
	struct completion completion;

	if (!begin(&completion, false, 0, NULL))
		return mpich.Testany(count, requests, index, flag, status);
	return end(&completion, mpich.Testany(count, requests, index, flag, status), 0, NULL, NULL);
}

EXPORT int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
	struct completion completion;
	int err = MPI_SUCCESS, done = false;

	if (!begin(&completion, true, count, requests))
		return mpich.Waitall(count, requests, statuses);
	while (completion_looks_again(err, done))
		err = mpich.Testall(count, requests, &done, statuses);
	if (err == MPI_SUCCESS && !done)
		err = mpich.Waitall(count, requests, statuses);
	return end(&completion, err, count, NULL, statuses);
}

EXPORT int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
	struct completion completion;
	int err;

	if (!begin(&completion, false, count, requests))
		return mpich.Testall(count, requests, flag, statuses);
	err = mpich.Testall(count, requests, flag, statuses);
	if (err == MPI_SUCCESS && !*flag)
		return end_without(&completion, err);
	return end(&completion, err, count, NULL, statuses);
}

EXPORT int MPI_Waitsome(int count, MPI_Request requests[], int *completed, int indices[],
			MPI_Status statuses[])
{
	struct completion completion;
	int err = MPI_SUCCESS;

	if (!begin(&completion, true, count, requests))
		return mpich.Waitsome(count, requests, completed, indices, statuses);
	*completed = 0;
	while (completion_looks_again(err, *completed))
		err = mpich.Testsome(count, requests, completed, indices, statuses);
	if (err == MPI_SUCCESS && !*completed)
		err = mpich.Waitsome(count, requests, completed, indices, statuses);
	return end(&completion, err, *completed, indices, statuses);
}

EXPORT int MPI_Testsome(int count, MPI_Request requests[], int *completed, int indices[],
			MPI_Status statuses[])
{
	struct completion completion;
	int err;

	if (!begin(&completion, false, count, requests))
		return mpich.Testsome(count, requests, completed, indices, statuses);
	err = mpich.Testsome(count, requests, completed, indices, statuses);
	return end(&completion, err, *completed, indices, statuses);
}

/* ---- looks that complete nothing ---- */

/* MPICH does not ask for progress here.  Return: are there requests of this library? */
static bool look_begin(struct completion *completion)
{
	if (!begin(completion, false, 0, NULL))
		return false;
	cm_progress();
	return true;
}

EXPORT int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
	struct completion completion;

	if (!look_begin(&completion))
		return mpich.Request_get_status(request, flag, status);
	return end_without(&completion, mpich.Request_get_status(request, flag, status));
}

EXPORT int MPI_Request_get_status_any(int count, MPI_Request requests[], int *index, int *flag,
				      MPI_Status *status)
{
	struct completion completion;

	library_load();
	if (!mpich.Request_get_status_any)
		return MPI_ERR_UNSUPPORTED_OPERATION;
	if (!look_begin(&completion))
		return mpich.Request_get_status_any(count, requests, index, flag, status);
	return end_without(&completion,
			   mpich.Request_get_status_any(count, requests, index, flag, status));
}

EXPORT int MPI_Request_get_status_all(int count, MPI_Request requests[], int *flag,
				      MPI_Status statuses[])
{
	struct completion completion;

	library_load();
	if (!mpich.Request_get_status_all)
		return MPI_ERR_UNSUPPORTED_OPERATION;
	if (!look_begin(&completion))
		return mpich.Request_get_status_all(count, requests, flag, statuses);
	return end_without(&completion,
			   mpich.Request_get_status_all(count, requests, flag, statuses));
}

EXPORT int MPI_Request_get_status_some(int count, MPI_Request requests[], int *completed,
				       int indices[], MPI_Status statuses[])
{
	struct completion completion;

	library_load();
	if (!mpich.Request_get_status_some)
		return MPI_ERR_UNSUPPORTED_OPERATION;
	if (!look_begin(&completion))
		return mpich.Request_get_status_some(count, requests, completed, indices,
						       statuses);
	return end_without(&completion,
			   mpich.Request_get_status_some(count, requests, completed, indices,
							 statuses));
}

REPLACE_TWICE(Wait)
REPLACE_TWICE(Waitany)
REPLACE_TWICE(Waitall)
REPLACE_TWICE(Waitsome)
REPLACE_TWICE(Test)
REPLACE_TWICE(Testany)
REPLACE_TWICE(Testall)
REPLACE_TWICE(Testsome)
REPLACE_TWICE(Request_get_status)
REPLACE_TWICE(Request_get_status_any)
REPLACE_TWICE(Request_get_status_all)
REPLACE_TWICE(Request_get_status_some)
