// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Settings of a group, from the caller's configuration and the launcher's environment.
 *
 * Rank and size are taken together from the first complete pair of: the library's own
 * variables, torchrun, Open MPI, MVAPICH2, PMI (MPICH and Intel MPI), Slurm.  More specific
 * ones come first: under mpirun inside a Slurm job both pairs are set, and only Open MPI's are
 * about this process. An incomplete environment is an error that names what is missing, not a
 * group of one.
 *
 * The rendezvous is COLL_RENDEZVOUS, or else MASTER_ADDR with the port after MASTER_PORT, since
 * the store of torch listens on MASTER_PORT itself.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/address.h"
#include "bootstrap/secret.h"
#include "comm/config.h"
#include "comm/deadline.h"
#include "error/names.h"

#define INIT_TIMEOUT_MS	60000
#define NAME_CHARACTERS	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

/**
 * struct launcher - environment variables of a launcher
 * @name: name in messages
 * @rank: variable with the rank
 * @size: variable with the number of ranks
 * @jobs: variables that are equal in all processes of a job and differ between jobs; unset ones
 *	are ignored
 */
static const struct launcher {
	const char *name;
	const char *rank;
	const char *size;
	const char *jobs[2];
} launchers[] = {
	{ "libcollective", "COLL_RANK", "COLL_SIZE", { NULL } },
	{ "torchrun", "RANK", "WORLD_SIZE", { "TORCHELASTIC_RUN_ID" } },
	{ "Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", { "PMIX_NAMESPACE" } },
	{ "MVAPICH2", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", { NULL } },
	{ "PMI", "PMI_RANK", "PMI_SIZE", { "PMI_JOBID" } },
	{ "Slurm", "SLURM_PROCID", "SLURM_NTASKS", { "SLURM_JOB_ID", "SLURM_STEP_ID" } },
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

static const char *raw(const char *name)
{
	return secure_getenv(name);
}

/* Value of a variable; NULL if it is not set, or empty. */
static const char *text(const char *name)
{
	const char *value = raw(name);

	return value && *value ? value : NULL;
}

static int read_number(const char *name, unsigned long max, unsigned long *value,
		       struct coll_detail *detail)
{
	const char *at = text(name);
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

static int copy_text(char *to, size_t size, const char *from, const char *what,
		     struct coll_detail *detail)
{
	if (strlen(from) >= size)
		return coll_fail(detail, -EINVAL, "%s is too long: %s", what,
				 from);
	strcpy(to, from);
	return 0;
}

bool coll_config_name_valid(const char *name)
{
	size_t length = strlen(name);

	return length && length <= COLLECTIVE_NAME_MAX &&
	       strcmp(name, ".") && strcmp(name, "..") &&
	       strspn(name, NAME_CHARACTERS) == length;
}

/* One variable of the pair is missing or empty: say which. */
static int incomplete_pair(const struct launcher *launcher, struct coll_detail *detail)
{
	const char *there = text(launcher->rank) ? launcher->rank : launcher->size;
	const char *missing = there == launcher->rank ? launcher->size : launcher->rank;

	if (!text(there))
		return coll_fail(detail, -EINVAL,
				 "%s is %s and %s is %s: set both, or neither",
				 launcher->rank, raw(launcher->rank) ? "empty" : "not set",
				 launcher->size, raw(launcher->size) ? "empty" : "not set");
	return coll_fail(detail, -EINVAL,
			 "%s=%s is set (as by %s), but %s is %s: set both, or COLL_RANK and COLL_SIZE",
			 there, text(there), launcher->name, missing,
			 raw(missing) ? "empty" : "not set");
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

		if (text(at->rank) && text(at->size)) {
			*found = at;
			return 0;
		}
		/* The library's own variables are set on purpose, so half a pair is an error. */
		if (!i && (raw(at->rank) || raw(at->size)))
			return incomplete_pair(at, detail);
	}
	for (i = 0; i < N_LAUNCHERS; i++)
		if (raw(launchers[i].rank) || raw(launchers[i].size))
			return incomplete_pair(&launchers[i], detail);
	if (config->rendezvous)
		return coll_fail(detail, -EINVAL,
				 "there is a rendezvous, %s, but neither rank nor size: set COLL_RANK and COLL_SIZE",
				 config->rendezvous);
	if (config->rank)
		return coll_fail(detail, -EINVAL,
				 "the configuration has rank %d, but no number of ranks",
				 config->rank);
	for (i = 0; i < SIZE(launch_hints); i++)
		if (raw(launch_hints[i]))
			return coll_fail(detail, -EINVAL,
					 "%s is %s, but neither rank nor size is known: set COLL_RANK and COLL_SIZE (0 and 1 for a group of one)",
					 launch_hints[i], text(launch_hints[i]) ? "set" : "empty");
	return 0;
}

/* Number of the job: FNV-1a hash of its variables; 0: unknown. */
static uint64_t job_number(const struct launcher *launcher)
{
	uint64_t hash = 14695981039346656037ULL;
	bool known = false;
	const char *at;
	size_t i;

	/* Components of a heterogeneous Slurm job have different numbers. */
	if (raw("SLURM_HET_SIZE"))
		return 0;
	for (i = 0; i < 2; i++) {
		at = launcher->jobs[i] ? text(launcher->jobs[i]) : NULL;
		known |= !!at;
		for (; at && *at; at++)
			hash = (hash ^ (unsigned char)*at) * 1099511628211ULL;
		hash *= 1099511628211ULL;
	}
	return known ? hash | 1 : 0;
}

static int read_identity(struct coll_settings *settings, const struct coll_config *config,
			 const char **launcher, struct coll_detail *detail)
{
	unsigned long rank = 0, size = 0;
	const struct launcher *found;
	int err;

	*launcher = NULL;
	if (config->nranks) {
		settings->rank = config->rank;
		settings->nranks = config->nranks;
	} else {
		err = find_launcher(config, &found, detail);
		if (err)
			return err;
		if (!found) {
			settings->rank = 0;
			settings->nranks = 1;
			return 0;
		}
		*launcher = found->name;
		err = read_number(found->rank, INT_MAX, &rank, detail) ?:
		      read_number(found->size, INT_MAX, &size, detail);
		if (err)
			return err;
		settings->rank = rank;
		settings->nranks = size;
		settings->job = job_number(found);
	}
	if (settings->nranks < 1 || settings->nranks > COLLECTIVE_RANKS_MAX)
		return coll_fail(detail, -EINVAL,
				 "%d ranks: a group has 1 to %d", settings->nranks,
				 COLLECTIVE_RANKS_MAX);
	if (settings->rank < 0 || settings->rank >= settings->nranks)
		return coll_fail(detail, -EINVAL,
				 "rank %d is outside a group of %d",
				 settings->rank, settings->nranks);
	return 0;
}

static int empty_variable(const char *name, struct coll_detail *detail)
{
	return coll_fail(detail, -EINVAL, "%s is empty", name);
}

static int read_root_address(struct coll_settings *settings, const struct coll_config *config,
			     const char *launcher, struct coll_detail *detail)
{
	const char *rendezvous = config->rendezvous ?: raw("COLL_RENDEZVOUS");
	const char *master = raw("MASTER_ADDR");
	unsigned long port = COLL_PORT_DEFAULT - 1;
	int err;

	if (settings->nranks == 1)
		return 0;
	if (rendezvous) {
		if (!*rendezvous)
			return empty_variable(config->rendezvous ?
					      "the configuration's rendezvous" :
					      "COLL_RENDEZVOUS", detail);
		settings->root_port = coll_address_split(rendezvous, settings->root_host,
							 sizeof(settings->root_host));
		if (settings->root_port < 0)
			return coll_fail(detail, -EINVAL,
					 "rendezvous %s is not host:port or [address]:port",
					 rendezvous);
		return 0;
	}
	if (!master)
		return coll_fail(detail, -EINVAL,
				 "rank %d of %d comes from %s: say where rank 0 is with COLL_RENDEZVOUS=host:port",
				 settings->rank, settings->nranks,
				 launcher ?: "the configuration");
	if (!*master)
		return empty_variable("MASTER_ADDR", detail);
	if (raw("MASTER_PORT") && !text("MASTER_PORT"))
		return empty_variable("MASTER_PORT", detail);
	err = copy_text(settings->root_host, sizeof(settings->root_host), master, "MASTER_ADDR",
			detail) ?:
	      read_number("MASTER_PORT", 65534, &port, detail);
	settings->root_port = port + 1;
	return err;
}

/* Index of a word in @names, or -1. */
static int find_word(const char * const *names, size_t n, const char *word, size_t length)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (names[i] && strlen(names[i]) == length && !strncmp(names[i], word, length))
			return i;
	return -1;
}

static int read_algorithm(struct coll_settings *settings, const char *item, size_t length)
{
	const char *colon = memchr(item, ':', length);
	const char *word = colon ? colon + 1 : item;
	int algorithm = find_word(coll_names_algorithms, SIZE(coll_names_algorithms), word,
				  item + length - word);
	int opcode;

	if (algorithm < 0)
		return -EINVAL;
	if (!colon) {
		memset(settings->algorithm, algorithm, COLLECTIVE_OPCODE_COUNT);
		return 0;
	}
	opcode = find_word(coll_names_opcodes, SIZE(coll_names_opcodes), item, colon - item);
	if (opcode < 0)
		return -EINVAL;
	settings->algorithm[opcode] = algorithm;
	return 0;
}

static int read_algorithms(struct coll_settings *settings, const char *text,
			   struct coll_detail *detail)
{
	const char *item = text;
	size_t length;

	for (;; item += length + 1) {
		length = strcspn(item, ",");
		if (read_algorithm(settings, item, length))
			return coll_fail(detail, -EINVAL,
					 "algorithm %.*s is not ring, tree or direct, or such after COLLECTIVE:",
					 (int)length, item);
		if (!item[length])
			return 0;
	}
}

static int read_transport(struct coll_settings *settings, const char *text,
			  struct coll_detail *detail)
{
	settings->transport = find_word(coll_names_transports, SIZE(coll_names_transports), text,
					strlen(text));
	if (settings->transport < 0)
		return coll_fail(detail, -EINVAL, "transport %s is not auto, local or tcp", text);
	if (settings->transport == COLLECTIVE_TRANSPORT_RDMA)
		return coll_fail(detail, -EOPNOTSUPP,
				 "transport rdma is not offered yet: choose auto, local or tcp");
	return 0;
}

int coll_config_read(struct coll_settings *settings, const struct coll_config *config,
		     struct coll_detail *detail)
{
	unsigned long lanes = 0, init_ms = INIT_TIMEOUT_MS, ms = 0, beat = 0;
	unsigned long insecure = 0, reproducible = 0, wide = 0;
	const char *name = config->name ?: text("COLL_NAME");
	const char *local = config->local_addr ?: text("COLL_LOCAL_ADDR");
	const char *algorithm = config->algorithm ?: text("COLL_ALGORITHM");
	const char *transport = config->transport ?: text("COLL_TRANSPORT") ?: "auto";
	const char *launcher;
	int err;

	memset(settings, 0, sizeof(*settings));
	settings->rejoin_fd = -1;
	err = read_identity(settings, config, &launcher, detail) ?:
	      read_root_address(settings, config, launcher, detail) ?:
	      read_number("COLL_LANES", COLLECTIVE_LANES_MAX, &lanes, detail) ?:
	      read_number("COLL_INIT_TIMEOUT_MS", INT_MAX, &init_ms, detail) ?:
	      read_number("COLL_TIMEOUT_MS", UINT_MAX, &ms, detail) ?:
	      read_number("COLL_HEARTBEAT_MS", UINT_MAX, &beat, detail) ?:
	      read_number("COLL_INSECURE", 1, &insecure, detail) ?:
	      read_number("COLL_REPRODUCIBLE", 1, &reproducible, detail) ?:
	      read_number("COLL_WIDE", 1, &wide, detail);
	if (err)
		return err;
	if (config->lanes < 0 || config->lanes > COLLECTIVE_LANES_MAX)
		return coll_fail(detail, -EINVAL, "%d lanes: there must be 1 to %d",
				 config->lanes, COLLECTIVE_LANES_MAX);
	if (name && !coll_config_name_valid(name))
		return coll_fail(detail, -EINVAL,
				 "group name %s is not 1 to %d of [A-Za-z0-9._-]",
				 name, COLLECTIVE_NAME_MAX);
	err = copy_text(settings->name, sizeof(settings->name), name ?: "", "name",
			detail) ?:
	      copy_text(settings->local_addr, sizeof(settings->local_addr), local ?: "",
			"local address", detail) ?:
	      read_transport(settings, transport, detail);
	if (!err && algorithm)
		err = read_algorithms(settings, algorithm, detail);
	settings->lanes = config->lanes ?: (int)lanes;
	settings->insecure = insecure || config->flags & COLL_CONFIG_INSECURE;
	settings->reproducible = reproducible ||
			      config->flags & COLL_CONFIG_REPRODUCIBLE;
	settings->wide = wide || config->flags & COLL_CONFIG_WIDE;
	settings->init_timeout_ms = config->init_timeout_ms ?: init_ms;
	/* 0 in either place means the default. */
	if (!settings->init_timeout_ms)
		settings->init_timeout_ms = INIT_TIMEOUT_MS;
	if (settings->init_timeout_ms > INT_MAX)
		settings->init_timeout_ms = INT_MAX;
	settings->timeout_ms = config->timeout_ms ?: ms;
	settings->heartbeat_ms = config->heartbeat_ms ?: beat;
	settings->deadline = coll_deadline_in(settings->init_timeout_ms);
	/* Last, so that no failure has to put the reference. */
	return err ?: coll_secret_fill(settings, config, detail);
}
