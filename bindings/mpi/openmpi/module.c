// SPDX-License-Identifier: LGPL-2.1-or-later
/* The module of a communicator: it replaces the functions of another one, which it keeps. */
#include <string.h>

#include "compat.h"

#include "common/settings.h"
#include "module.h"

/* ---- the ranks, by the functions that are replaced ---- */

static int peers_min(void *context, long long *values, int count)
{
	struct collective_module *module = context;

	return module->previous.coll_allreduce(MPI_IN_PLACE, values, count, MPI_LONG_LONG, MPI_MIN,
					       module->communicator,
					       module->previous.coll_allreduce_module);
}

static int peers_gather(void *context, const void *mine, size_t size, void *all)
{
	struct collective_module *module = context;

	return module->previous.coll_allgather(mine, size, MPI_BYTE, all, size, MPI_BYTE,
					       module->communicator,
					       module->previous.coll_allgather_module);
}

static const struct cm_profile *peers_profile(void *context, int rank)
{
	struct collective_module *module = context;

	return collective_profile_of(module->communicator, rank);
}

static struct cm_peers peers_of(struct collective_module *module)
{
	return (struct cm_peers){
		.context = module,
		.profile = peers_profile,
		.min = peers_min,
		.gather = peers_gather,
		.local = ompi_process_info.num_local_peers + 1,
	};
}

bool collective_blocking(struct collective_module *module, const struct cm_call *call)
{
	const struct cm_peers peers = peers_of(module);

	return cm_group_blocking(&module->group, &peers, call);
}

bool collective_initializing(struct collective_module *module, const struct cm_call *call)
{
	const struct cm_peers peers = peers_of(module);

	return cm_group_initializing(&module->group, &peers, call);
}

int cm_error_class(int class)
{
	return class;
}

/* ---- life ---- */

static bool keep(mca_coll_base_module_t *module)
{
	if (module)
		OBJ_RETAIN(module);
	return module;
}

static void drop(mca_coll_base_module_t *module)
{
	if (module)
		OBJ_RELEASE(module);
}

/* A function that replaces none is not offered. */
#define KEEP(field)							\
	if (!keep(module->previous.coll_##field##_module))		\
		module->super.coll_##field = NULL;

#define KEEP_FORMS(NAME, name, Name)	\
	KEEP(name)			\
	KEEP(i##name)			\
	KEEP(name##_init)

static int module_enable(mca_coll_base_module_t *base, struct ompi_communicator_t *communicator)
{
	struct collective_module *module = (struct collective_module *)base;

	module->communicator = communicator;
	module->previous = *communicator->c_coll;
	CM_FUNCTIONS(KEEP_FORMS)
	cm_group_init(&module->group, ompi_comm_rank(communicator), ompi_comm_size(communicator));
	module->enabled = true;
	return OMPI_SUCCESS;
}

static void module_construct(struct collective_module *module)
{
	memset((char *)module + sizeof(module->super), 0,
	       sizeof(*module) - sizeof(module->super));
	module->super.coll_module_enable = module_enable;
	collective_set_functions(module);
}

#define DROP_FORMS(NAME, name, Name)				\
	drop(module->previous.coll_##name##_module);		\
	drop(module->previous.coll_i##name##_module);		\
	drop(module->previous.coll_##name##_init_module);

static void module_destruct(struct collective_module *module)
{
	if (!module->enabled)
		return;
	cm_group_destroy(&module->group);
	CM_FUNCTIONS(DROP_FORMS)
}

OBJ_CLASS_INSTANCE(collective_module_t, mca_coll_base_module_t, module_construct, module_destruct);

mca_coll_base_module_t *collective_query(struct ompi_communicator_t *communicator, int *priority)
{
	struct collective_module *module;

	if (OMPI_COMM_IS_INTER(communicator) || ompi_comm_size(communicator) < 2)
		return NULL;
	module = OBJ_NEW(collective_module_t);
	if (!module)
		return NULL;
	*priority = cm_settings.priority;
	return &module->super;
}
