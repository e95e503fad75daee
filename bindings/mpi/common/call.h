/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The arguments of each function of MPI as a call, and what becomes of it. */
#ifndef CM_CALL_H
#define CM_CALL_H

#include <stdbool.h>

#include "common/forms.h"
#include "common/functions.h"
#include "common/task.h"

struct cm_group;

/*
 * cm_call_allgather(ARGUMENTS, rank) and so on - describe a call
 *
 * Arrays of counts are those of int; cm_call_large() tells that they are not.
 */
#define CM_CALL_PROTOTYPE(NAME, name, Name) \
	struct cm_call cm_call_##name(CM_PARAMS(NAME, CM_TYPES_ANY) int rank);

CM_FUNCTIONS(CM_CALL_PROTOTYPE)

/** cm_call_large - arrays of counts and displacements of a call are of MPI_Count and MPI_Aint */
void cm_call_large(struct cm_call *call);

/**
 * cm_call_take - should the call be an operation of the kernel?  It is counted.
 * @group: group of its communicator
 * @call: the call
 * @form: its form, which is not CM_BLOCKING
 * @up: @group can be used for it
 */
bool cm_call_take(struct cm_group *group, const struct cm_call *call, enum cm_form form, bool up);

/**
 * cm_call_fail - this rank cannot do its part of a call that is taken
 * @group: group of its communicator
 * @call: the call
 * @err: why: a negative errno
 *
 * It leaves the group, so that the others do not wait for it.
 *
 * Return: error code of MPI.
 */
int cm_call_fail(struct cm_group *group, const struct cm_call *call, int err);

/**
 * cm_call_run - do a blocking call, if it is to be an operation of the kernel; it is counted
 * @group: group of its communicator
 * @call: the call
 * @up: @group can be used for it
 * @err: set to its result if it is done: MPI_SUCCESS or an error code of MPI
 *
 * Return: false: it is left to MPI, on all ranks.
 */
bool cm_call_run(struct cm_group *group, const struct cm_call *call, bool up, int *err);

#endif /* CM_CALL_H */
