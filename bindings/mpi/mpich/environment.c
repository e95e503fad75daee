// SPDX-License-Identifier: LGPL-2.1-or-later
/* Settings out of the environment. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <strings.h>

#include "common/settings.h"
#include "mpich.h"

#define PREFIX	"COLL_MPI_"

/*
 * Calls of which the kernel was at least as fast as MPICH's shared memory, in figures of
 * Documentation/user/mpi.rst, with a CPU for each rank, and with two ranks on a CPU.
 */
#define ALONE	"none,allgather:4M,allgatherv:1M,allreduce:256K,exscan:64K,reduce:64K,scan:64K"
#define TWO	"@2:0,bcast@2:64K,gatherv@2:none,scatter@2:64K,scatterv@2:none"

static const char default_min_bytes[] = ALONE "," TWO;

static bool stats;
static bool alias_check = true;

bool environment_stats(void)
{
	return stats;
}

bool environment_alias_check(void)
{
	return alias_check;
}

static const char *value_of(const char *variable)
{
	const char *text = getenv(variable);

	return text && *text ? text : NULL;
}

static void not_understood(const char *variable, const char *text)
{
	cm_say(0, "%s: \"%s\" is not understood", variable, text);
}

/* Return: the number of @variable, or @value if it is not set. */
static unsigned int number(const char *variable, unsigned int value)
{
	const char *text = value_of(variable);
	unsigned long long n;
	char *end;

	if (!text)
		return value;
	errno = 0;
	n = strtoull(text, &end, 0);
	if (*end || errno || *text == '-' || n > ~0U) {
		not_understood(variable, text);
		return value;
	}
	return n;
}

static void limits(const char *variable, const char *text, struct cm_limits *limits)
{
	if (text && cm_limits_read(limits, text))
		not_understood(variable, text);
}

/* A truth value of MPICH's own; MPICH, too, leaves it as it is for another word. */
static void mpich_truth(const char *variable, bool *value)
{
	static const char *const words[][2] = {
		{ "0", "1" }, { "no", "yes" }, { "false", "true" }, { "off", "on" },
	};
	const char *text = value_of(variable);
	size_t i, truth;

	for (i = 0; text && i < sizeof(words) / sizeof(*words); i++)
		for (truth = 0; truth < 2; truth++)
			if (!strcasecmp(text, words[i][truth]))
				*value = truth;
}

void environment_read(void)
{
	struct cm_settings *s = &cm_settings;

	s->calls = number(PREFIX "CALLS", s->calls);
	cm_limits_fill(&s->max_bytes, SIZE_MAX);
	limits(PREFIX "MIN_BYTES", default_min_bytes, &s->min_bytes);
	limits(PREFIX "MIN_BYTES", value_of(PREFIX "MIN_BYTES"), &s->min_bytes);
	s->small_bytes = number(PREFIX "SMALL_BYTES", s->small_bytes);
	limits(PREFIX "MAX_BYTES", value_of(PREFIX "MAX_BYTES"), &s->max_bytes);
	s->reproducible = number(PREFIX "REPRODUCIBLE", s->reproducible);
	s->timeout_ms = number(PREFIX "TIMEOUT_MS", s->timeout_ms);
	s->transport = value_of(PREFIX "TRANSPORT") ?: s->transport;
	s->ring = number(PREFIX "RING", s->ring);
	s->wait_ms = number(PREFIX "WAIT_MS", s->wait_ms);
	s->spin_us = number(PREFIX "SPIN_US", s->spin_us);
	s->sleep_us = number(PREFIX "SLEEP_US", s->sleep_us);
	s->memory_mib = number(PREFIX "MEMORY_MIB", s->memory_mib);
	s->verbose = number(PREFIX "VERBOSE", s->verbose);
	stats = number(PREFIX "STATS", false);
	/* In the order in which MPICH reads them. */
	mpich_truth("MPICH_COLL_ALIAS_CHECK", &alias_check);
	mpich_truth("MPIR_PARAM_COLL_ALIAS_CHECK", &alias_check);
	mpich_truth("MPIR_CVAR_COLL_ALIAS_CHECK", &alias_check);
}
