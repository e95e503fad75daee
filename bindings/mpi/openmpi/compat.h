/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Open MPI's own headers, and what differs between its versions 4.1 and 5.0. */
#ifndef OMPI_COMPAT_H
#define OMPI_COMPAT_H

#include "ompi_config.h"

#include "mpi.h"
#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/group/group.h"
#include "ompi/op/op.h"
#include "ompi/proc/proc.h"
#include "ompi/runtime/mpiruntime.h"
#include "opal/datatype/opal_convertor.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/runtime/opal_progress.h"

#if OMPI_MAJOR_VERSION >= 5
#include "ompi/runtime/params.h"
#include "opal/mca/accelerator/base/base.h"
#include "opal/mca/pmix/pmix-internal.h"
/* Buffers may be in memory of a GPU, also where the program has none there. */
#define mpi_accelerator		opal_accelerator_base_selected_component.base_version
#define mpi_has_gpus()		(mpi_accelerator.mca_component_name[0] &&			\
				 strcmp(mpi_accelerator.mca_component_name, "null"))
#define mpi_has_ulfm()		ompi_ftmpi_enabled
#define PMIX_SCOPE_ALL		PMIX_GLOBAL
#define pmix_ready()		PMIx_Initialized()
typedef mca_coll_base_component_2_4_0_t coll_component_t;
#define COLL_COMPONENT_VERSION	MCA_COLL_BASE_VERSION_2_4_0
#define COLL_REQUEST_TYPE	OMPI_REQUEST_COLL
#else
#include "opal/mca/pmix/pmix.h"
#include "opal/runtime/opal_params.h"
#define mpi_has_gpus()		opal_cuda_support
#define mpi_has_ulfm()		false
#define PMIX_SCOPE_ALL		OPAL_PMIX_GLOBAL
#define pmix_ready()		(opal_pmix.initialized && opal_pmix.initialized())
typedef mca_coll_base_component_2_0_0_t coll_component_t;
#define COLL_COMPONENT_VERSION	MCA_COLL_BASE_VERSION_2_0_0
/* Errors of the other type go to MPI_COMM_WORLD, whatever the communicator. */
#define COLL_REQUEST_TYPE	OMPI_REQUEST_PML
#endif

#endif /* OMPI_COMPAT_H */
