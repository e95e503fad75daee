// SPDX-License-Identifier: LGPL-2.1-or-later
/* Requests of nonblocking and persistent calls. */
#include <errno.h>
#include <stddef.h>

#include "compat.h"

#include "common/call.h"
#include "common/progress.h"
#include "module.h"

/**
 * struct collective_request - request of a call
 * @super: of Open MPI, which keeps types and operators in it
 * @module: module of its communicator, of which it has a reference
 * @task: its operation
 */
struct collective_request {
	ompi_coll_base_nbc_request_t super;
	struct collective_module *module;
	struct cm_task task;
};

typedef struct collective_request collective_request_t;

static OBJ_CLASS_INSTANCE(collective_request_t, ompi_coll_base_nbc_request_t, NULL, NULL);

static atomic_bool registered;

static void poll_registered(void)
{
	if (!atomic_exchange(&registered, true))
		opal_progress_register(cm_progress);
}

void collective_request_end(void)
{
	if (atomic_exchange(&registered, false))
		opal_progress_unregister(cm_progress);
}

/* The operation is complete.  MPI may free the request as soon as it knows. */
static void request_complete(struct cm_task *task)
{
	struct collective_request *request;
	ompi_request_t *super;

	request = (struct collective_request *)((char *)task -
						offsetof(struct collective_request, task));
	super = &request->super.super;
	super->req_status.MPI_ERROR = task->result ?
				      cm_group_error(&request->module->group, task->result) :
				      MPI_SUCCESS;
	ompi_request_complete(super, true);
}

static void request_activate(struct collective_request *request)
{
	ompi_request_t *super = &request->super.super;

	super->req_complete = REQUEST_PENDING;
	super->req_state = OMPI_REQUEST_ACTIVE;
	super->req_status.MPI_ERROR = MPI_SUCCESS;
	cm_task_start(&request->task);
}

static int request_start(size_t count, ompi_request_t **requests)
{
	size_t i;

	for (i = 0; i < count; i++)
		request_activate((struct collective_request *)requests[i]);
	return OMPI_SUCCESS;
}

/*
 * Open MPI frees a request that has failed, and gives the failure to the error handler of its
 * communicator after that.  If the program has freed that one, it stays until MPI_Finalize() frees
 * it.  That counts those of processes that were started separately (dynamic), among which this one
 * no longer is.
 */
static void communicator_drop(struct ompi_communicator_t *communicator, bool failed)
{
	if (!failed || ((opal_object_t *)communicator)->obj_reference_count > 1)
		OBJ_RELEASE(communicator);
	else
		communicator->c_flags &= ~OMPI_COMM_DYNAMIC;
}

static void request_destroy(struct collective_request *request)
{
	struct ompi_communicator_t *communicator = request->module->communicator;
	const bool failed = request->super.super.req_status.MPI_ERROR != MPI_SUCCESS;

	cm_task_end(&request->task);
	OMPI_REQUEST_FINI(&request->super.super);
	OBJ_RELEASE(request);
	communicator_drop(communicator, failed);
}

static int request_free(ompi_request_t **super)
{
	struct collective_request *request = (struct collective_request *)*super;

	if (!REQUEST_COMPLETE(*super))
		return MPI_ERR_REQUEST;
	request_destroy(request);
	*super = MPI_REQUEST_NULL;
	return OMPI_SUCCESS;
}

static void request_init(struct collective_request *request, struct collective_module *module,
			 enum cm_form form)
{
	ompi_request_t *super = &request->super.super;

	OMPI_REQUEST_INIT(super, form == CM_PERSISTENT);
	super->req_type = COLL_REQUEST_TYPE;
	super->req_mpi_object.comm = module->communicator;
	super->req_status = ompi_status_empty;
	super->req_start = request_start;
	super->req_free = request_free;
	super->req_cancel = NULL;
	request->module = module;
	/* It keeps the module, too. */
	OBJ_RETAIN(module->communicator);
}

int collective_request_new(struct collective_module *module, const struct cm_call *call,
			   unsigned long long key, enum cm_form form, ompi_request_t **request)
{
	struct collective_request *new = OBJ_NEW(collective_request_t);
	int err;

	if (!new)
		return cm_call_fail(&module->group, call, -ENOMEM);
	request_init(new, module, form);
	err = cm_task_build(&new->task, &module->group, call, form);
	cm_task_keep_types(&new->task);
	if (err) {
		err = cm_call_fail(&module->group, call, err);
		request_destroy(new);
		return err;
	}
	new->task.op.flags |= COLLECTIVE_F_KEYED;
	new->task.op.key = key;
	new->task.complete = request_complete;
	poll_registered();
	*request = &new->super.super;
	if (form == CM_NONBLOCKING)
		request_activate(new);
	return MPI_SUCCESS;
}
