// SPDX-License-Identifier: LGPL-2.1-or-later
/* Settings. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "collective.h"
#include "common/digest.h"
#include "common/settings.h"

struct cm_settings cm_settings = {
	/* Making a group takes as long as hundreds of small collectives. */
	.calls = 100,
	.timeout_ms = UINT_MAX,
	.transport = "auto",
	.ring = true,
	.wait_ms = 1,
	.spin_us = 50,
	.sleep_us = 200,
};

/* Changes when ranks with different versions of this would not understand each other. */
#define VERSION	8

long long cm_settings_digest(void)
{
	/* The library's own exchange differs by its version, and its header's structs do. */
	const unsigned int versions[] = { VERSION, COLL_VERSION, coll_version() };
	unsigned long long value = CM_DIGEST_INIT;

	value = cm_digest(value, versions, sizeof(versions));
	value = cm_digest(value, &cm_settings.priority, sizeof(cm_settings.priority));
	value = cm_digest(value, &cm_settings.calls, sizeof(cm_settings.calls));
	value = cm_digest(value, &cm_settings.min_bytes, sizeof(cm_settings.min_bytes));
	value = cm_digest(value, &cm_settings.small_bytes, sizeof(cm_settings.small_bytes));
	value = cm_digest(value, &cm_settings.max_bytes, sizeof(cm_settings.max_bytes));
	value = cm_digest(value, &cm_settings.reproducible, sizeof(cm_settings.reproducible));
	value = cm_digest(value, &cm_settings.timeout_ms, sizeof(cm_settings.timeout_ms));
	value = cm_digest(value, cm_settings.transport, strlen(cm_settings.transport));
	return cm_digest_value(value);
}

void cm_say(int level, const char *format, ...)
{
	char text[512];
	va_list args;

	if (cm_settings.verbose < level)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(stderr, "collective: %s\n", text);
}
