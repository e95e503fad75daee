// SPDX-License-Identifier: LGPL-2.1-or-later
/* Settings. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/digest.h"
#include "common/settings.h"

struct cm_settings cm_settings = {
	/* Making a group takes as long as hundreds of small collectives. */
	.calls = 100,
	.margin = 64,
	.max_bytes = { [0 ... CM_FUNCTION_COUNT - 1] = SIZE_MAX },
	.timeout_ms = UINT_MAX,
	.transport = "auto",
	.ring = true,
	.wait_ms = 1,
	.spin_us = 50,
	.sleep_us = 200,
};

/* Changes when ranks with different versions of this would not understand each other. */
#define VERSION	3

static int function_of(const char *name, size_t length)
{
	int function;

	for (function = 0; function < CM_FUNCTION_COUNT; function++)
		if (strlen(cm_function_name(function)) == length &&
		    !strncmp(cm_function_name(function), name, length))
			return function;
	return -1;
}

static int read_limit(const char *text, size_t length, size_t *limits)
{
	const char *colon = memchr(text, ':', length);
	const char *digits = colon ? colon + 1 : text;
	int function = -1;
	char *end;
	size_t limit;

	if (colon) {
		function = function_of(text, colon - text);
		if (function < 0)
			return -EINVAL;
	}
	if (*digits < '0' || *digits > '9')
		return -EINVAL;
	limit = strtoull(digits, &end, 0);
	if (end != text + length)
		return -EINVAL;
	if (colon) {
		limits[function] = limit;
		return 0;
	}
	for (function = 0; function < CM_FUNCTION_COUNT; function++)
		limits[function] = limit;
	return 0;
}

int cm_settings_limits(const char *text, size_t *limits)
{
	size_t length;
	int err = 0;

	while (!err && *text) {
		length = strcspn(text, ",");
		err = read_limit(text, length, limits);
		text += length;
		text += *text == ',';
	}
	return err;
}

long long cm_settings_digest(void)
{
	const int version = VERSION;
	unsigned long long value = CM_DIGEST_INIT;

	value = cm_digest(value, &version, sizeof(version));
	value = cm_digest(value, &cm_settings.calls, sizeof(cm_settings.calls));
	value = cm_digest(value, &cm_settings.margin, sizeof(cm_settings.margin));
	value = cm_digest(value, cm_settings.min_bytes, sizeof(cm_settings.min_bytes));
	value = cm_digest(value, cm_settings.max_bytes, sizeof(cm_settings.max_bytes));
	value = cm_digest(value, &cm_settings.reproducible, sizeof(cm_settings.reproducible));
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
