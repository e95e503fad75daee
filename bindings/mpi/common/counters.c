// SPDX-License-Identifier: LGPL-2.1-or-later
/* Counters of calls. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "common/functions.h"

static atomic_ulong counters[CM_FUNCTION_COUNT][CM_FORM_COUNT][CM_REASON_COUNT];

#define FUNCTION_NAME(NAME, name, Name)	[CM_##NAME] = #name,

static const char * const function_names[CM_FUNCTION_COUNT] = {
	CM_FUNCTIONS(FUNCTION_NAME)
};

static const char * const form_names[CM_FORM_COUNT] = {
	[CM_BLOCKING]		= "",
	[CM_NONBLOCKING]	= "i",
	[CM_PERSISTENT]		= "init ",
};

static const char * const reason_names[CM_REASON_COUNT] = {
	[CM_TAKEN]		= "taken",
	[CM_EARLY]		= "early",
	[CM_NO_GROUP]		= "no-group",
	[CM_REDUCTION]		= "reduction",
	[CM_SMALL]		= "small",
	[CM_LARGE]		= "large",
	[CM_LOCKED_MEMORY]	= "locked-memory",
	[CM_MANY]		= "many",
	[CM_BITS]		= "bits",
	[CM_OF_MPI]		= "of-mpi",
	[CM_UNSUPPORTED]	= "unsupported",
};

const char *cm_function_name(enum cm_function function)
{
	return function_names[function];
}

void cm_count(enum cm_function function, enum cm_form form, enum cm_reason reason)
{
	atomic_fetch_add_explicit(&counters[function][form][reason], 1, memory_order_relaxed);
}

static void print_line(const char *prefix, enum cm_function function, enum cm_form form)
{
	char line[256];
	int reason, length;
	bool called = false;

	length = snprintf(line, sizeof(line), "%s: %s%s:", prefix, form_names[form],
			  function_names[function]);
	for (reason = 0; reason < CM_REASON_COUNT; reason++) {
		unsigned long count = counters[function][form][reason];

		if (!count || length >= (int)sizeof(line))
			continue;
		called = true;
		length += snprintf(line + length, sizeof(line) - length, " %s %lu",
				   reason_names[reason], count);
	}
	if (called)
		fprintf(stderr, "%s\n", line);
}

void cm_counters_print(const char *prefix)
{
	int function, form;

	for (function = 0; function < CM_FUNCTION_COUNT; function++)
		for (form = 0; form < CM_FORM_COUNT; form++)
			print_line(prefix, function, form);
}
