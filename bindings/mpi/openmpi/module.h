/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The module of a communicator: its functions, and those that they replace. */
#ifndef OMPI_MODULE_H
#define OMPI_MODULE_H

#include "compat.h"

#include "common/group.h"
#include "common/profile.h"
#include "common/task.h"

/**
 * struct collective_module - module of a communicator
 * @super: of Open MPI
 * @communicator: the communicator
 * @group: its group
 * @previous: functions and modules that this one replaces; a reference to each module
 * @enabled: true if @previous and @group are set
 */
struct collective_module {
	mca_coll_base_module_t super;
	struct ompi_communicator_t *communicator;
	struct cm_group group;
	mca_coll_base_comm_coll_t previous;
	bool enabled;
};

/* The macros of Open MPI want the name of a type. */
typedef struct collective_module collective_module_t;

OBJ_CLASS_DECLARATION(collective_module_t);

/** mca_coll_collective_component - the component, which Open MPI finds by this name */
extern coll_component_t mca_coll_collective_component;

/**
 * collective_profile_withheld - why does this process tell no profile, so that it has no group?
 *
 * Return: NULL: it tells one.
 */
const char *collective_profile_withheld(void);

/** collective_profile_tell - tell the profile of this process; the settings are read */
void collective_profile_tell(void);

/**
 * collective_profile_of - profile of a rank of a communicator
 *
 * Return: NULL: it has told none, so that it need not have this component.
 */
const struct cm_profile *collective_profile_of(struct ompi_communicator_t *communicator, int rank);

/** collective_profile_end - forget all profiles */
void collective_profile_end(void);

/** collective_set_functions - set the functions of a module */
void collective_set_functions(struct collective_module *module);

/**
 * collective_query - make a module for a communicator
 * @communicator: the communicator
 * @priority: set to the component's priority
 *
 * Return: the module, or NULL: all its collectives are left to Open MPI.
 */
mca_coll_base_module_t *collective_query(struct ompi_communicator_t *communicator, int *priority);

/**
 * collective_blocking - cm_group_blocking() for the communicator of a module
 * @module: the module
 * @call: the collective
 */
bool collective_blocking(struct collective_module *module, const struct cm_call *call);

/** collective_initializing - cm_group_initializing() for the communicator of a module */
bool collective_initializing(struct collective_module *module, const struct cm_call *call);

/**
 * collective_request_new - make a request for a call
 * @module: module of its communicator
 * @call: the call
 * @key: key of its operation
 * @form: CM_PERSISTENT if it is started by MPI_Start(), otherwise CM_NONBLOCKING
 * @request: set to the request
 *
 * Return: MPI_SUCCESS or an error code.
 */
int collective_request_new(struct collective_module *module, const struct cm_call *call,
			   unsigned long long key, enum cm_form form, ompi_request_t **request);

/** collective_request_end - leave Open MPI's progress */
void collective_request_end(void);

#endif /* OMPI_MODULE_H */
