// SPDX-License-Identifier: LGPL-2.1-or-later
/* Limits of the bytes of calls. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/limits.h"

/* @function: CM_FUNCTION_COUNT: all; @sharing: lowest level. */
static void set(struct cm_limits *limits, int function, unsigned int sharing, size_t bytes)
{
	const int all = function == CM_FUNCTION_COUNT;
	const int first = all ? 0 : function, end = all ? CM_FUNCTION_COUNT : function + 1;
	unsigned int i;

	for (function = first; function < end; function++)
		for (i = sharing; i < CM_SHARING_COUNT; i++)
			limits->bytes[function][i] = bytes;
}

void cm_limits_fill(struct cm_limits *limits, size_t bytes)
{
	set(limits, CM_FUNCTION_COUNT, 0, bytes);
}

unsigned int cm_limits_sharing(int ranks, long cpus)
{
	unsigned int sharing = 0;

	while (sharing < CM_SHARING_COUNT - 1 && ranks >= cpus << (sharing + 1))
		sharing++;
	return sharing;
}

/*
 * Read the name of a function, or nothing: all of them.  Return: whether there is such a function;
 * @end: set to the end of the name.
 */
static bool read_function(const char *text, const char **end, int *function)
{
	const size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz_");

	*end = text + length;
	*function = 0;
	while (length && *function < CM_FUNCTION_COUNT &&
	       (strlen(cm_function_name(*function)) != length ||
		strncmp(cm_function_name(*function), text, length)))
		++*function;
	if (!length)
		*function = CM_FUNCTION_COUNT;
	return length ? *function < CM_FUNCTION_COUNT : **end == '@';
}

/* Read "@RANKS".  Return: the level of sharing, or CM_SHARING_COUNT. */
static unsigned int read_sharing(const char *text, const char **end)
{
	unsigned int sharing = 0;
	unsigned long ranks;

	ranks = strtoul(text + 1, (char **)end, 10);
	while (sharing < CM_SHARING_COUNT && ranks != 1UL << sharing)
		sharing++;
	return sharing;
}

/* Read "BYTES", "BYTESK" and so on, or "none".  Return: whether that is all of the text. */
static bool read_bytes(const char *text, size_t length, size_t *bytes)
{
	static const char units[] = "KMG";
	const char *unit;
	char *end;

	if (length == strlen("none") && !strncmp(text, "none", length)) {
		*bytes = SIZE_MAX;
		return true;
	}
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*bytes = strtoull(text, &end, 0);
	if (errno)
		return false;
	unit = *end ? strchr(units, *end) : NULL;
	if (unit) {
		const unsigned int shift = 10 * (unit - units + 1);

		if (*bytes > SIZE_MAX >> shift)
			return false;
		*bytes <<= shift;
		end++;
	}
	return end == text + length;
}

static int read_limit(struct cm_limits *limits, const char *text, size_t length)
{
	int function = CM_FUNCTION_COUNT;
	unsigned int sharing = 0;
	const char *end = text;
	size_t bytes;

	if (memchr(text, ':', length)) {
		if (!read_function(text, &end, &function))
			return -EINVAL;
		if (*end == '@')
			sharing = read_sharing(end, &end);
		if (*end++ != ':' || sharing == CM_SHARING_COUNT)
			return -EINVAL;
	}
	if (!read_bytes(end, length - (end - text), &bytes))
		return -EINVAL;
	set(limits, function, sharing, bytes);
	return 0;
}

int cm_limits_read(struct cm_limits *limits, const char *text)
{
	size_t length;
	int err = 0;

	while (!err && *text) {
		length = strcspn(text, ",");
		err = read_limit(limits, text, length);
		text += length;
		text += *text == ',';
	}
	return err;
}
