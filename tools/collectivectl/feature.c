// SPDX-License-Identifier: GPL-2.0-only
/* feature: what the module of this kernel offers. */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ctl.h"
#include "table.h"

enum {
	FEATURE_NAME,
	FEATURE_VALUE,
};

static const struct column feature_columns[] = {
	[FEATURE_NAME]	= { .name = "FEATURE" },
	[FEATURE_VALUE]	= { .name = "VALUE" },
};

static void row(struct table *table, const char *name, const char *value)
{
	table_row(table);
	table_text(table, FEATURE_NAME, name);
	table_text(table, FEATURE_VALUE, value);
}

static void number_row(struct table *table, const char *name, unsigned int number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	row(table, name, text);
}

/* A row with the names of the bits that are set. */
static void names_row(struct table *table, const char *name, enum coll_admin_names names,
		      uint64_t bits)
{
	char text[512] = "";
	size_t length = 0;
	unsigned int i;

	for (i = 0; i < 64; i++)
		if (bits >> i & 1 && length < sizeof(text))
			length += snprintf(text + length, sizeof(text) - length, "%s%s",
					   length ? " " : "", coll_admin_name(names, i));
	row(table, name, text);
}

int ctl_feature(int argc, char **argv)
{
	struct coll_admin_features features;
	struct table *table;
	int error;

	(void)argv;
	if (argc)
		ctl_usage("too many arguments");
	error = coll_admin_features(&features);
	if (error)
		errx(CTL_FAILED, "%s: %s", CTL_DEVICE, strerror(-error));
	table = table_new("features", feature_columns, ARRAY_SIZE(feature_columns));
	number_row(table, "abi-version", features.abi_version);
	number_row(table, "lanes-max", features.lanes_max);
	number_row(table, "ranks-max", features.ranks_max);
	number_row(table, "inflight-max", features.inflight_max);
	number_row(table, "eager-limit", features.eager_limit);
	names_row(table, "transports", COLL_ADMIN_TRANSPORT, features.transports);
	names_row(table, "opcodes", COLL_ADMIN_OPCODE, features.opcodes);
	names_row(table, "types", COLL_ADMIN_TYPE, features.types);
	names_row(table, "reductions", COLL_ADMIN_REDUCTION, features.reductions);
	table_print(table);
	return 0;
}
