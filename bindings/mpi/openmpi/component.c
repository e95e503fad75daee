// SPDX-License-Identifier: LGPL-2.1-or-later
/* The component "collective" of Open MPI's framework "coll", and its parameters. */
#include <stdint.h>
#include <stdio.h>

#include "compat.h"

#include "common/progress.h"
#include "common/settings.h"
#include "module.h"

/*
 * Calls of which the kernel was at least as fast as Open MPI's shared memory, in figures of
 * Documentation/user/mpi.rst, with a CPU for each rank, and with two and four ranks on a CPU.
 */
#define ALONE	"none,allreduce:64K,reduce_scatter:4M,reduce_scatter_block:256K,scan:16M"
#define TWO	"allgatherv@2:4M,allreduce@2:4M,bcast@2:4M,exscan@2:16M"
#define TWO_MORE "reduce@2:1M,reduce_scatter@2:256K,scan@2:4M"
#define FOUR	"allgather@4:1M,allgatherv@4:64K,allreduce@4:8K,bcast@4:1M,exscan@4:4M,"	\
		"gather@4:16M,reduce@4:64K"

static const char default_min_bytes[] = ALONE "," TWO "," TWO_MORE "," FOUR;

/**
 * struct parameters - parameters that are not used as Open MPI stores them
 * @min_bytes: lower limits of calls
 * @max_bytes: upper limits of calls
 * @transport: transport of links
 * @stats: print counters at the end
 */
static struct parameters {
	const char *min_bytes;
	const char *max_bytes;
	const char *transport;
	bool stats;
} parameters = {
	.min_bytes = default_min_bytes,
	.max_bytes = "none",
	.transport = "auto",
};

static void parameter(const char *name, const char *help, mca_base_var_type_t type, void *value)
{
	mca_base_component_var_register(&mca_coll_collective_component.collm_version, name, help,
					type, NULL, 0, 0, OPAL_INFO_LVL_6,
					MCA_BASE_VAR_SCOPE_READONLY, value);
}

static int component_register(void)
{
	cm_settings.priority = 80;
	parameter("priority", "Priority among components, 0 to 100",
		  MCA_BASE_VAR_TYPE_INT, &cm_settings.priority);
	parameter("calls",
		  "Number of the blocking collective in which a communicator gets its group",
		  MCA_BASE_VAR_TYPE_INT, &cm_settings.calls);
	parameter("min_bytes",
		  "Smallest calls that are taken on one host; 0: all; else a list (allreduce:4K,bcast@2:none)",
		  MCA_BASE_VAR_TYPE_STRING, &parameters.min_bytes);
	parameter("small_bytes",
		  "Largest calls, bytes a rank, that are taken where they need no system call; 0: none",
		  MCA_BASE_VAR_TYPE_UNSIGNED_INT, &cm_settings.small_bytes);
	parameter("max_bytes", "Largest calls that are taken, likewise",
		  MCA_BASE_VAR_TYPE_STRING, &parameters.max_bytes);
	parameter("reproducible", "Sums are in the order of ranks",
		  MCA_BASE_VAR_TYPE_BOOL, &cm_settings.reproducible);
	parameter("timeout_ms", "Deadline of an operation in ms; 4294967295: none",
		  MCA_BASE_VAR_TYPE_UNSIGNED_INT, &cm_settings.timeout_ms);
	parameter("transport", "Transport of a group: auto, local, rdma or tcp",
		  MCA_BASE_VAR_TYPE_STRING, &parameters.transport);
	parameter("ring", "Completion is seen in memory, by io_uring",
		  MCA_BASE_VAR_TYPE_BOOL, &cm_settings.ring);
	parameter("wait_ms", "Time in ms that a blocking call waits in the kernel at first",
		  MCA_BASE_VAR_TYPE_UNSIGNED_INT, &cm_settings.wait_ms);
	parameter("spin_us", "Time in us after which a waiting rank sleeps between looks",
		  MCA_BASE_VAR_TYPE_UNSIGNED_INT, &cm_settings.spin_us);
	parameter("sleep_us", "Longest such sleep in us; 0: none",
		  MCA_BASE_VAR_TYPE_UNSIGNED_INT, &cm_settings.sleep_us);
	parameter("memory_mib",
		  "Limit in MiB for the kernel memory of a host's groups; 0: a tenth of its memory",
		  MCA_BASE_VAR_TYPE_UNSIGNED_INT, &cm_settings.memory_mib);
	parameter("verbose", "1: say why a communicator has no group; 2: say which has one",
		  MCA_BASE_VAR_TYPE_INT, &cm_settings.verbose);
	parameter("stats", "Print at the end which calls were taken, and why others were not",
		  MCA_BASE_VAR_TYPE_BOOL, &parameters.stats);
	return OMPI_SUCCESS;
}

/* Open MPI has NULL for an empty text. */
static void limits(const char *name, const char *text, struct cm_limits *limits)
{
	if (text && cm_limits_read(limits, text))
		cm_say(0, "coll_collective_%s: \"%s\" is not understood", name, text);
}

static int component_open(void)
{
	cm_limits_fill(&cm_settings.max_bytes, SIZE_MAX);
	limits("min_bytes", default_min_bytes, &cm_settings.min_bytes);
	limits("min_bytes", parameters.min_bytes, &cm_settings.min_bytes);
	limits("max_bytes", parameters.max_bytes, &cm_settings.max_bytes);
	if (parameters.transport)
		cm_settings.transport = parameters.transport;
	collective_profile_tell();
	return OMPI_SUCCESS;
}

static int component_close(void)
{
	const char *withheld = collective_profile_withheld();
	char prefix[64];

	collective_request_end();
	cm_progress_end();
	collective_profile_end();
	if (parameters.stats) {
		snprintf(prefix, sizeof(prefix), "collective: rank %u", OMPI_PROC_MY_NAME->vpid);
		if (withheld)
			fprintf(stderr, "%s: all calls are left: %s\n", prefix, withheld);
		cm_counters_print(prefix);
	}
	return OMPI_SUCCESS;
}

static void poll_mpi(void)
{
	opal_progress();
}

static int component_init(bool enable_progress_threads, bool enable_mpi_threads)
{
	(void)enable_progress_threads;
	cm_progress_init(poll_mpi,
			 enable_mpi_threads || ompi_mpi_thread_provided >= MPI_THREAD_SERIALIZED);
	return OMPI_SUCCESS;
}

__attribute__((visibility("default")))
coll_component_t mca_coll_collective_component = {
	.collm_version = {
		COLL_COMPONENT_VERSION,
		.mca_component_name = "collective",
		MCA_BASE_MAKE_VERSION(component, VERSION_MAJOR, VERSION_MINOR, VERSION_PATCH),
		.mca_open_component = component_open,
		.mca_close_component = component_close,
		.mca_register_component_params = component_register,
	},
	/* Restarted processes would have no group. */
	.collm_data.param_field = MCA_BASE_METADATA_PARAM_NONE,
	.collm_init_query = component_init,
	.collm_comm_query = collective_query,
};
