// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Who am I?  The caller's configuration says, or the launcher's environment.
 *
 * Rank and size are taken together from the first of our own variables,
 * torchrun, Open MPI, PMI (MPICH and Intel MPI), Slurm.  The more specific come
 * first: under mpirun inside a Slurm job both sets are there, and only Open
 * MPI's are about this process.
 *
 * Where rank 0 is: COLL_RENDEZVOUS, or else MASTER_ADDR with the port *after*
 * MASTER_PORT, since torch's own store listens on MASTER_PORT itself.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"
#include "deadline.h"
#include "secret.h"
#include "setup.h"

#define INIT_TIMEOUT_MS	60000
#define NAME_CHARACTERS	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

static const struct launcher {
	const char *name;
	const char *rank;
	const char *size;
} launchers[] = {
	{ "libcollective", "COLL_RANK", "COLL_SIZE" },
	{ "torchrun", "RANK", "WORLD_SIZE" },
	{ "Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
	{ "PMI", "PMI_RANK", "PMI_SIZE" },
	{ "Slurm", "SLURM_PROCID", "SLURM_NTASKS" },
};

/* A variable's text; one that is set but empty counts as not set. */
static const char *text(const char *name)
{
	const char *value = secure_getenv(name);

	return value && *value ? value : NULL;
}

static int number(const char *name, unsigned long max, unsigned long *value,
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

static int copy(char *to, size_t size, const char *from, const char *what,
		struct coll_detail *detail)
{
	if (strlen(from) >= size)
		return coll_fail(detail, -EINVAL, "%s is too long: %s", what,
				 from);
	strcpy(to, from);
	return 0;
}

bool coll_setup_name_ok(const char *name)
{
	size_t length = strlen(name);

	return length && length <= COLLECTIVE_NAME_MAX &&
	       strcmp(name, ".") && strcmp(name, "..") &&
	       strspn(name, NAME_CHARACTERS) == length;
}

static int identity(struct coll_setup *setup, const struct coll_config *config,
		    const char **launcher, struct coll_detail *detail)
{
	unsigned long rank = 0, size = 0;
	size_t i;
	int err;

	*launcher = NULL;
	if (config->nranks) {
		setup->rank = config->rank;
		setup->nranks = config->nranks;
	} else {
		for (i = 0; i < sizeof(launchers) / sizeof(*launchers); i++) {
			const struct launcher *at = &launchers[i];

			if (!i && !text(at->rank) != !text(at->size))
				return coll_fail(detail, -EINVAL,
						 "%s and %s must be set together",
						 at->rank, at->size);
			if (text(at->rank) && text(at->size))
				break;
		}
		if (i == sizeof(launchers) / sizeof(*launchers)) {
			setup->rank = 0;
			setup->nranks = 1;
			return 0;
		}
		*launcher = launchers[i].name;
		err = number(launchers[i].rank, INT_MAX, &rank, detail) ?:
		      number(launchers[i].size, INT_MAX, &size, detail);
		if (err)
			return err;
		setup->rank = rank;
		setup->nranks = size;
	}
	if (setup->nranks < 1 || setup->nranks > COLLECTIVE_RANKS_MAX)
		return coll_fail(detail, -EINVAL,
				 "%d ranks: a group has 1 to %d", setup->nranks,
				 COLLECTIVE_RANKS_MAX);
	if (setup->rank < 0 || setup->rank >= setup->nranks)
		return coll_fail(detail, -EINVAL,
				 "rank %d is outside a group of %d",
				 setup->rank, setup->nranks);
	return 0;
}

static int where(struct coll_setup *setup, const struct coll_config *config,
		 const char *launcher, struct coll_detail *detail)
{
	const char *rendezvous = config->rendezvous ?: text("COLL_RENDEZVOUS");
	const char *master = text("MASTER_ADDR");
	unsigned long port = COLL_PORT_DEFAULT - 1;
	int err;

	if (setup->nranks == 1)
		return 0;
	if (rendezvous) {
		setup->port = coll_address_split(rendezvous, setup->host,
						 sizeof(setup->host));
		if (setup->port < 0)
			return coll_fail(detail, -EINVAL,
					 "rendezvous %s is not host:port or [address]:port",
					 rendezvous);
		return 0;
	}
	if (!master)
		return coll_fail(detail, -EINVAL,
				 "rank %d of %d comes from %s: say where rank 0 is with COLL_RENDEZVOUS=host:port",
				 setup->rank, setup->nranks,
				 launcher ?: "the configuration");
	err = copy(setup->host, sizeof(setup->host), master, "MASTER_ADDR",
		   detail) ?:
	      number("MASTER_PORT", 65534, &port, detail);
	setup->port = port + 1;
	return err;
}

int coll_setup_fill(struct coll_setup *setup, const struct coll_config *config,
		    struct coll_detail *detail)
{
	unsigned long lanes = 0, init_ms = INIT_TIMEOUT_MS, ms = 0, beat = 0;
	unsigned long insecure = 0, reproducible = 0, wide = 0;
	const char *name = config->name ?: text("COLL_NAME");
	const char *local = config->local_addr ?: text("COLL_LOCAL_ADDR");
	const char *algorithm = config->algorithm ?: text("COLL_ALGORITHM");
	const char *launcher;
	int err;

	memset(setup, 0, sizeof(*setup));
	setup->door = -1;
	err = coll_secret_fill(setup, config, detail) ?:
	      identity(setup, config, &launcher, detail) ?:
	      where(setup, config, launcher, detail) ?:
	      number("COLL_LANES", COLLECTIVE_LANES_MAX, &lanes, detail) ?:
	      number("COLL_INIT_TIMEOUT_MS", INT_MAX, &init_ms, detail) ?:
	      number("COLL_TIMEOUT_MS", UINT_MAX, &ms, detail) ?:
	      number("COLL_HEARTBEAT_MS", UINT_MAX, &beat, detail) ?:
	      number("COLL_INSECURE", 1, &insecure, detail) ?:
	      number("COLL_REPRODUCIBLE", 1, &reproducible, detail) ?:
	      number("COLL_WIDE", 1, &wide, detail);
	if (err)
		return err;
	if (config->lanes < 0 || config->lanes > COLLECTIVE_LANES_MAX)
		return coll_fail(detail, -EINVAL, "%d lanes: 1 to %d can be had",
				 config->lanes, COLLECTIVE_LANES_MAX);
	if (name && !coll_setup_name_ok(name))
		return coll_fail(detail, -EINVAL,
				 "group name %s is not 1 to %d of [A-Za-z0-9._-]",
				 name, COLLECTIVE_NAME_MAX);
	err = copy(setup->name, sizeof(setup->name), name ?: "", "name",
		   detail) ?:
	      copy(setup->local, sizeof(setup->local), local ?: "",
		   "local address", detail);
	if (!err && algorithm)
		err = coll_setup_algorithms(setup, algorithm, detail);
	setup->lanes = config->lanes ?: (int)lanes;
	setup->insecure = insecure || config->flags & COLL_CONFIG_INSECURE;
	setup->reproducible = reproducible ||
			      config->flags & COLL_CONFIG_REPRODUCIBLE;
	setup->wide = wide || config->flags & COLL_CONFIG_WIDE;
	setup->init_timeout_ms = config->init_timeout_ms ?: init_ms;
	if (setup->init_timeout_ms > INT_MAX)
		setup->init_timeout_ms = INT_MAX;
	setup->timeout_ms = config->timeout_ms ?: ms;
	setup->heartbeat_ms = config->heartbeat_ms ?: beat;
	setup->deadline = coll_deadline_in(setup->init_timeout_ms);
	return err;
}
