// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Rank and size are taken together from the first complete pair of: the library's own variables,
 * torchrun, Open MPI, MVAPICH2, PMI (MPICH and Intel MPI), Slurm.  More specific ones come first:
 * under mpirun inside a Slurm job both pairs are set, and only Open MPI's are about this process.
 * An incomplete environment is an error that names what is missing, not a group of one.
 *
 * Of Slurm's variables only those of a step, which srun starts, are about this process: a batch
 * script and a shell in an allocation also have SLURM_PROCID and SLURM_NTASKS, and are alone.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "comm/launcher.h"

/**
 * struct launcher - environment variables of a launcher
 * @kind: which one
 * @name: name in messages
 * @rank: variable with the rank
 * @size: variable with the number of ranks
 * @jobs: variables that are equal in all processes of a job and differ between jobs; unset ones
 *	are ignored
 */
static const struct launcher {
	enum coll_launcher kind;
	const char *name;
	const char *rank;
	const char *size;
	const char *jobs[3];
} launchers[] = {
	{ COLL_LAUNCHER_NONE, "libcollective", "COLL_RANK", "COLL_SIZE", { NULL } },
	{ COLL_LAUNCHER_TORCHRUN, "torchrun", "RANK", "WORLD_SIZE", { "TORCHELASTIC_RUN_ID" } },
	{ COLL_LAUNCHER_MPI, "Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
	  { "PMIX_NAMESPACE" } },
	{ COLL_LAUNCHER_MPI, "MVAPICH2", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", { NULL } },
	{ COLL_LAUNCHER_MPI, "PMI", "PMI_RANK", "PMI_SIZE", { "PMI_JOBID" } },
	{ COLL_LAUNCHER_SLURM, "Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
	  { "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT" } },
};

#define SIZE(array) (sizeof(array) / sizeof(*(array)))
#define N_LAUNCHERS	SIZE(launchers)

/* Variables that reveal a launched process, but have neither its rank nor the number of ranks. */
static const char * const launch_hints[] = {
	"PMIX_RANK", "PALS_RANKID", "ALPS_APP_PE", "FLUX_TASK_RANK", "JSM_NAMESPACE_RANK",
	"LOCAL_RANK", "MPI_LOCALRANKID",
	"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
	"MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE",
	"COLL_RENDEZVOUS", "MASTER_ADDR", "MASTER_PORT",
};

const char *coll_env_raw(const char *name)
{
	return secure_getenv(name);
}

const char *coll_env_text(const char *name)
{
	const char *value = coll_env_raw(name);

	return value && *value ? value : NULL;
}

int coll_env_number(const char *name, unsigned long max, unsigned long *value,
		    struct coll_detail *detail)
{
	const char *at = coll_env_text(name);
	char *end;

	if (!at)
		return 0;
	errno = 0;
	*value = strtoul(at, &end, 10);
	if (*at < '0' || *at > '9' || *end || errno || *value > max)
		return coll_fail(detail, -EINVAL,
				 "%s=%s is not a number from 0 to %lu", name,
				 at, max);
	return 0;
}

/* Is this a process of a Slurm job that srun has not started? */
static bool is_alone_in_job(void)
{
	return coll_env_raw("SLURM_JOB_ID") && !coll_env_raw("SLURM_STEP_NUM_TASKS");
}

/* Is one variable of the pair set, while both are not? */
static bool is_incomplete(const struct launcher *launcher)
{
	if (launcher->kind == COLL_LAUNCHER_SLURM && is_alone_in_job())
		return false;
	return coll_env_raw(launcher->rank) || coll_env_raw(launcher->size);
}

static const char *empty_or_not_set(const char *name)
{
	return coll_env_raw(name) ? "empty" : "not set";
}

/* One variable of the pair is missing or empty: say which. */
static int incomplete_pair(const struct launcher *launcher, struct coll_detail *detail)
{
	const char *there = coll_env_text(launcher->rank) ? launcher->rank : launcher->size;
	const char *missing = there == launcher->rank ? launcher->size : launcher->rank;

	if (!coll_env_text(there))
		return coll_fail(detail, -EINVAL,
				 "%s is %s and %s is %s: set both, or neither",
				 launcher->rank, empty_or_not_set(launcher->rank),
				 launcher->size, empty_or_not_set(launcher->size));
	if (launcher->kind == COLL_LAUNCHER_NONE)
		return coll_fail(detail, -EINVAL,
				 "%s=%s is set, but %s is %s: set both, or neither", there,
				 coll_env_text(there), missing, empty_or_not_set(missing));
	return coll_fail(detail, -EINVAL,
			 "%s=%s is set (by %s), but %s is %s: set both, or COLL_RANK and COLL_SIZE",
			 there, coll_env_text(there), launcher->name, missing,
			 empty_or_not_set(missing));
}

/*
 * Find the launcher of which both variables are set.  If there is none, the process is a group
 * of one, unless something reveals that it is one of several.
 */
static int find_launcher(const struct coll_config *config, const struct launcher **found,
			 struct coll_detail *detail)
{
	size_t i;

	*found = NULL;
	for (i = 0; i < N_LAUNCHERS; i++) {
		const struct launcher *at = &launchers[i];

		if (coll_env_text(at->rank) && coll_env_text(at->size)) {
			*found = at;
			return 0;
		}
		/* The library's own variables are set on purpose, so half a pair is an error. */
		if (!i && (coll_env_raw(at->rank) || coll_env_raw(at->size)))
			return incomplete_pair(at, detail);
	}
	for (i = 0; i < N_LAUNCHERS; i++)
		if (is_incomplete(&launchers[i]))
			return incomplete_pair(&launchers[i], detail);
	if (config->rendezvous)
		return coll_fail(detail, -EINVAL,
				 "there is a rendezvous, %s, but neither rank nor size: set COLL_RANK and COLL_SIZE",
				 config->rendezvous);
	if (config->rank)
		return coll_fail(detail, -EINVAL,
				 "the configuration has rank %d, but no number of ranks",
				 config->rank);
	for (i = 0; i < SIZE(launch_hints); i++) {
		const char *hint = launch_hints[i];

		/* A batch script may set it for the steps that it starts. */
		if (!coll_env_raw(hint) || (!strncmp(hint, "MASTER_", 7) && is_alone_in_job()))
			continue;
		return coll_fail(detail, -EINVAL,
				 "%s is %s, but neither rank nor size is known: set COLL_RANK and COLL_SIZE (0 and 1 for a group of one)",
				 hint, coll_env_text(hint) ? "set" : "empty");
	}
	return 0;
}

/*
 * Have all ranks the same number of restarts?  An agent of torchrun counts those that it asked for
 * itself, so the numbers of two hosts may differ in one attempt.
 */
static bool restarts_together(const struct coll_settings *settings)
{
	const char *here = coll_env_text("LOCAL_WORLD_SIZE");

	return !here || strtol(here, NULL, 10) == settings->nranks;
}

/* Number of the job: FNV-1a hash of its variables; 0: unknown. */
static uint64_t job_number(const struct coll_settings *settings, const struct launcher *launcher)
{
	uint64_t hash = 14695981039346656037ULL;
	bool known = false;
	const char *at;
	size_t i;

	/* Components of a heterogeneous Slurm job have different numbers. */
	if (coll_env_raw("SLURM_HET_SIZE"))
		return 0;
	for (i = 0; i < SIZE(launcher->jobs); i++) {
		at = launcher->jobs[i] ? coll_env_text(launcher->jobs[i]) : NULL;
		known |= !!at;
		for (; at && *at; at++)
			hash = (hash ^ (unsigned char)*at) * 1099511628211ULL;
		hash *= 1099511628211ULL;
	}
	if (settings->restart && restarts_together(settings))
		hash = (hash ^ settings->restart) * 1099511628211ULL;
	return known ? hash | 1 : 0;
}

/* Read the rank: a number, or "auto" in the library's own variable. */
static int read_rank(struct coll_settings *settings, const struct launcher *launcher,
		     struct coll_detail *detail)
{
	unsigned long rank = 0;
	int err;

	if (launcher->kind == COLL_LAUNCHER_NONE &&
	    !strcmp(coll_env_text(launcher->rank), "auto")) {
		settings->rank = COLL_RANK_AUTO;
		return 0;
	}
	err = coll_env_number(launcher->rank, INT_MAX, &rank, detail);
	settings->rank = rank;
	return err;
}

static int read_launcher(struct coll_settings *settings, const struct launcher *launcher,
			 struct coll_detail *detail)
{
	unsigned long size = 0, restart = 0;
	int err = read_rank(settings, launcher, detail) ?:
		  coll_env_number(launcher->size, INT_MAX, &size, detail);

	settings->nranks = size;
	settings->launcher = launcher->kind;
	settings->launcher_name = launcher->name;
	if (!err && launcher->kind == COLL_LAUNCHER_TORCHRUN)
		err = coll_env_number("TORCHELASTIC_RESTART_COUNT", INT_MAX, &restart, detail);
	settings->restart = restart;
	settings->job = job_number(settings, launcher);
	return err;
}

int coll_launcher_find(struct coll_settings *settings, const struct coll_config *config,
		       struct coll_detail *detail)
{
	const struct launcher *launcher = NULL;
	int err = 0;

	settings->rank = config->rank;
	settings->nranks = config->nranks;
	settings->launcher_name = "the configuration";
	if (!config->nranks) {
		err = find_launcher(config, &launcher, detail);
		settings->nranks = 1;
	}
	if (!err && launcher)
		err = read_launcher(settings, launcher, detail);
	if (err)
		return err;
	if (settings->nranks < 1 || settings->nranks > COLLECTIVE_RANKS_MAX)
		return coll_fail(detail, -EINVAL,
				 "%d ranks: a group has 1 to %d", settings->nranks,
				 COLLECTIVE_RANKS_MAX);
	if (settings->rank == COLL_RANK_AUTO && settings->nranks == 1)
		settings->rank = 0;
	settings->auto_rank = settings->rank == COLL_RANK_AUTO;
	if (settings->rank != COLL_RANK_AUTO &&
	    (settings->rank < 0 || settings->rank >= settings->nranks))
		return coll_fail(detail, -EINVAL,
				 "rank %d is outside a group of %d",
				 settings->rank, settings->nranks);
	return 0;
}
